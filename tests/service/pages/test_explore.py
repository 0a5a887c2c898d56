import csv
import json
import re
from collections.abc import Iterator
from html import unescape
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.release.reply_tick import ReplyTick
from noisycount.service.pages.explore import boxes, form_values, fragment
from noisycount.tasks.explore.sliders import QUANTITIES, Sliders
from noisycount.tasks.explore.views import VIEWS, chart_json, view
from tests.helpers.cases import examples
from tests.helpers.random_sliders import sliders
from tests.helpers.service_callers import Caller, calling, configured, serving

START = Sliders()


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Give an analyst at an application."""
    with serving(configured(tmp_path_factory.mktemp("explore"))) as state:
        yield calling(state)


def test_page_shows_every_chart(caller: Caller) -> None:
    """Without an address all charts stand in the page, each with its sentence and its numbers."""
    page = caller.get("/explore")
    assert page.status_code == 200
    for name in VIEWS:
        assert f'data-chart="{name}"' in page.text
        assert view(name, START).plot.title in page.text
    assert page.text.count('role="img"') == page.text.count("The numbers") == len(VIEWS)
    assert re.findall(r"<style| style=| on\w+=|<script(?! src)", page.text) == []


def test_same_address_same_bytes(caller: Caller) -> None:
    """An address shows the same for ever."""
    address = f"/explore/fragment?chart=delta&{START.query}"
    first, second = caller.get(address), caller.get(address)
    fragment.cache_clear()
    assert first.content == second.content == caller.get(address).content


def test_address_is_made_canonical(caller: Caller) -> None:
    """Another spelling leads to the one address, which leads nowhere else."""
    reply = caller.get("/explore?epsilon=0.15&rate=0.10")
    assert reply.status_code == 303
    onwards = reply.headers["Location"]
    assert onwards == f"/explore?{Sliders.from_query({'epsilon': '0.15'}).query}"
    assert caller.get(onwards).status_code == 200


def test_moved_slider_counts_without_a_script(caller: Caller) -> None:
    """A form whose slider was moved and whose box was not says what the slider says."""
    fields = {"from": START.query, **START.texts}
    fields |= {box.slider: str(box.stop) for box in boxes(START, {})}
    assert caller.get("/explore", params=fields).headers["Location"] == f"/explore?{START.query}"
    fields["size-slider"] = "0"
    found = caller.get("/explore", params=fields).headers["Location"]
    assert found == f"/explore?{Sliders(size=10).query}"


@examples(100)
@given(sliders(), st.sampled_from(sorted(QUANTITIES)), st.data())
def test_box_beats_slider(placed: Sliders, name: str, data: st.DataObject) -> None:
    """The typed value counts; a slider counts only if it was moved and its box was not changed."""
    quantity = QUANTITIES[name]
    stop = data.draw(st.integers(0, len(quantity.stops) - 1))
    form = {"from": placed.query, **placed.texts, f"{name}-slider": str(stop)}
    place = quantity.nearest(getattr(placed, name))
    said = Sliders.from_query(form_values(form))
    expected = getattr(placed, name) if stop == place else quantity.stops[stop]
    assert getattr(said, name) == expected
    typed = data.draw(st.sampled_from(quantity.stops).filter(lambda one: one != getattr(placed, name)))
    said = Sliders.from_query(form_values(form | {name: str(typed)}))
    assert getattr(said, name) == typed


@pytest.mark.parametrize("odd", ["", "99", "-1", "x", "²", "1" * 400], ids=["none", "far", "-1", "x", "²", "long"])
def test_odd_sliders_are_left_alone(odd: str) -> None:
    """A slider that says nothing sensible says nothing."""
    form = {"from": START.query, **START.texts, "size-slider": odd}
    assert Sliders.from_query(form_values(form)) == START
    assert form_values({"from": "size=x", "size": "5", "size-slider": "1"}) == {"size": "5"}


def test_refusal_keeps_what_was_typed(caller: Caller) -> None:
    """A form that is refused says why in one line, and still has what was typed, escaped."""
    reply = caller.get("/explore", params={"size": '"><b>1', "rate": "0.2"})
    assert reply.status_code == 422
    told = r'id="size-wrong">size must be a whole number from 2 to 1,000,000, got[^<]*</p>\s*<div class="slide-both">'
    assert re.search(told, reply.text)
    assert 'aria-describedby="size-wrong size-hint"' in reply.text
    assert "<b>" not in reply.text
    assert 'value="0.2"' in reply.text
    assert 'role="img"' not in reply.text


def test_fragment_is_the_piece_of_the_page(caller: Caller) -> None:
    """A chart that a script fetches is what the page has."""
    page = caller.get(f"/explore?{START.query}").text
    for name in VIEWS:
        piece = caller.get(f"/explore/fragment?chart={name}&{START.query}").text
        assert piece.strip() in page
        picture = piece[piece.index("<svg") : piece.index("</svg>") + 6]
        assert ET.fromstring(picture).tag == "svg"  # noqa: S314  (our own)


def test_numbers_come_as_json(caller: Caller) -> None:
    """The table's numbers are there for programs, all digits of them."""
    reply = caller.get(f"/explore/data?chart=utility&{START.query}")
    assert reply.json() == json.loads(json.dumps(chart_json("utility", START, view("utility", START))))


@pytest.mark.parametrize("name", VIEWS)
def test_charts_are_files(caller: Caller, name: str) -> None:
    """Files have all numbers, and the picture has its meaning and the sliders, in lines that fit."""
    address = f"/explore/data?chart={name}&{START.query}"
    shown, files = view(name, START), {form: caller.get(f"{address}&form={form}") for form in ("csv", "svg", "png")}
    header, *rows = csv.reader(StringIO(files["csv"].text))
    assert tuple(header) == shown.header
    assert [[float(cell) for cell in row[-2:]] for row in rows] == [list(row[-2:]) for row in shown.rows()]
    svg = ET.fromstring(files["svg"].text)  # noqa: S314  (our own)
    told = " ".join(text.text or "" for text in svg.findall("{*}text"))
    assert shown.sentence in told
    assert "size: 1000" in told
    assert max(len(text.text or "") for text in svg.findall("{*}text")) * 7 < float(svg.attrib["width"])
    assert files["png"].content.startswith(b"\x89PNG")
    for form, reply in files.items():
        assert reply.headers["Content-Disposition"] == f'attachment; filename="noisycount-{name}.{form}"'
        assert f"{address}&amp;form={form}".replace("&amp;", "&") in unescape(caller.get("/explore").text)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("chart=pie", "chart must be posterior or error or delta or utility, got 'pie'"),
        ("", "chart must be posterior"),
        ("chart=error&size=0", "size must be a whole number from 2 to 1,000,000, got 0"),
        ("chart=error&dataset=stay", "'dataset' is no parameter of Explore"),
    ],
)
def test_refused_fragments_are_problems(caller: Caller, query: str, words: str) -> None:
    """A chart that cannot be drawn is reported to the script as a problem document."""
    reply = caller.get(f"/explore/fragment?{query}")
    assert (reply.status_code, reply.headers["Content-Type"]) == (422, "application/problem+json")
    assert words in reply.json()["detail"]


def test_explore_needs_no_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies leave at once, also where replies about data sets wait for a tick."""
    asked: list[object] = []
    with serving(configured(tmp_path), slots=True) as state:
        monkeypatch.setattr(ReplyTick, "hold_until_tick", lambda *work: asked.append(work))
        assert calling(state).get("/explore").status_code == 200
    assert asked == []
