"""Tests of `cli/figures.py`."""

import csv
import json
import re
import struct
from html.parser import HTMLParser
from pathlib import Path

import pytest

from noisycount.charts.plot import Axis, Line, Panel
from noisycount.charts.theme import STYLES
from noisycount.papers.figure import Claim, Figure, Paper, Verdict
from noisycount.tasks.figures import FORMATS, Section, page
from tests.helpers.commands import Refused, Run
from tests.papers.test_papers import figure

ONLY = ("figures", "--only", "naldi2015,breutigam.7")
KEYS = ["naldi2015.1", "naldi2015.2", "breutigam.7"]
VOID = {"meta", "br", "rect", "path", "line", "link", "img"}


class Page(HTMLParser):
    """Elements and text of a page; every element must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element, remembered."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """The end of the last that is open."""
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every such element."""
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.mark.thorough
def test_each_figure_is_written_with_its_data_and_one_page(run: Run, here: Path) -> None:
    """The pictures and data of the figures that were chosen, and the page."""
    told = run(*ONLY)
    assert (told.status, told.errors) == (0, "")
    files = {f"{key}.{kind}" for key in KEYS for kind in ("svg", "csv")} | {"index.html"}
    assert {path.name for path in (here / "figures").iterdir()} == files
    for words in (*KEYS, "figures/index.html", "7 in figures", "Iso-λ curves"):
        assert words in told.output
    assert max(map(len, told.output.splitlines())) <= 80


@pytest.mark.thorough
def test_the_table_adds_up_to_the_claims_of_the_page(run: Run, here: Path) -> None:
    """Claims outside the figures have a line of their own, and the sum is told as on the page."""
    told = run(*ONLY).output
    rows = [line.split("│")[3:6] for line in told.splitlines() if line.startswith("│")]
    total = sum(int(cell) for row in rows for cell in row if cell.strip())
    assert "Numbers outside the figures" in told
    found = re.search(r"^claims +(\d+): (.*)$", told, re.MULTILINE)
    assert found is not None
    assert int(found[1]) == total
    assert f"Of {total} claims {found[2]}." in (here / "figures/index.html").read_text("utf-8")


@pytest.mark.thorough
def test_every_format_holds_the_figure(run: Run, here: Path) -> None:
    """CSV and JSON have the data of the library; SVG and PNG are pictures of some size."""
    out = here / "deep" / "pictures"
    assert run(*ONLY, "--format", " SVG,png,csv,json,svg", "--out", str(out)).status == 0
    assert len(list(out.iterdir())) == len(KEYS) * len(FORMATS) + 1
    for key in KEYS:
        shown = figure(key)
        with (out / f"{key}.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        assert header[2:] == [shown.x.header, shown.y.header]
        assert [(float(x), float(y)) for *_, x, y in rows] == [row[2:] for row in shown.rows()]
        told = json.loads((out / f"{key}.json").read_text(encoding="utf-8"))
        assert told["figure"] == key
        for panel, found in zip(shown.panels, told["panels"], strict=True):
            assert found["title"] == panel.title
            for line, each in zip(panel.lines, found["lines"], strict=True):
                assert each == {"name": line.name, "x": list(line.xs), "y": list(line.ys)}
        assert [each["verdict"] for each in told["claims"]] == [claim.verdict.value for claim in shown.claims]
        picture = (out / f"{key}.svg").read_text(encoding="utf-8")
        assert picture.startswith("<svg")
        assert shown.title in picture
        width, height = struct.unpack(">II", (out / f"{key}.png").read_bytes()[16:24])
        assert 700 < width < 1000
        assert height > 500


@pytest.mark.thorough
def test_json_holds_figures_claims_and_files(run: Run, here: Path) -> None:
    """The JSON object has each paper, its figures as in the library, and the written files."""
    told = run(*ONLY, "--json").object
    assert told["page"] == "figures/index.html"
    assert told["files"] == [f"figures/{key}.{kind}" for key in KEYS for kind in ("svg", "csv")]
    assert {*told["files"], told["page"]} == {str(path.relative_to(here)) for path in (here / "figures").iterdir()}
    assert [paper["paper"] for paper in told["papers"]] == ["naldi2015", "breutigam"]
    shown = [each for paper in told["papers"] for each in paper["figures"]]
    assert shown == [json.loads(json.dumps(figure(key).to_dict())) for key in KEYS]
    assert shown[0]["claims"][0]["verdict"] == figure(KEYS[0]).claims[0].verdict.value
    whole, part = (paper["claims"] for paper in told["papers"])
    assert [claim["source"] for claim in whole] == ["eq. (3)"]
    assert part == []


@pytest.mark.thorough
def test_the_page_shows_claims_numbers_and_verdicts(run: Run, here: Path) -> None:
    """Each claim of each figure that was chosen, our finding, and the verdict beside it."""
    run(*ONLY)
    text = (here / "figures/index.html").read_text(encoding="utf-8")
    shown = Page(text)
    words = shown.words.replace("\N{NO-BREAK SPACE}", " ")
    for key in KEYS:
        assert any(each.get("id") == key for each in shown.all("article"))
        for claim in figure(key).claims:
            assert claim.says in words
            assert claim.found[1:] in words
    verdicts = [each["class"] for each in shown.all("li") if "class" in each]
    assert set(verdicts) <= {"holds", "partly", "fails"}
    assert "eq. (3)" in words  # all of 2015 was chosen, so its other numbers are shown too
    assert "Lemma 5" not in words


@pytest.mark.thorough
def test_the_page_stands_alone(run: Run, here: Path) -> None:
    """No script, no file, no network; pictures have descriptions; links lead somewhere."""
    run(*ONLY)
    text = (here / "figures/index.html").read_text(encoding="utf-8")
    shown = Page(text)
    assert not shown.all("script")
    assert not shown.all("img")
    assert not shown.all("link")
    assert not re.search(r"url\(|@import|\bon\w+=", text)
    ids = [each["id"] for _, each in shown.elements if "id" in each]
    assert len(set(ids)) == len(ids)
    for link in (each["href"] or "" for each in shown.all("a")):
        assert link.startswith("data:text/csv;base64,") or link.removeprefix("#") in ids
    pictures = shown.all("svg")
    assert len(pictures) == len(KEYS)
    for picture, key in zip(pictures, KEYS, strict=True):
        assert picture["role"] == "img"
        assert picture["aria-label"] == figure(key).description
        assert "viewbox" in picture
        assert "width" not in picture
    assert 'name="viewport" content="width=device-width' in text
    assert "prefers-color-scheme: dark" in text
    assert [tag for tag, _ in shown.elements if re.fullmatch(r"h\d", tag)][:3] == ["h1", "h2", "h3"]


def test_what_a_page_says_is_escaped() -> None:
    """A claim is text, never markup."""
    line = Line("<b>", STYLES["answer"], (0.0, 1.0), (0.0, 1.0))
    claim = Claim("<i>", 'a < "b" & c.', "x < 1.", Verdict.HOLDS)
    shown = Figure("a.1", "A", "Fig. 1", "<u>", "<s>", Axis("x"), Axis("y"), (Panel("", (line,)),))
    paper = Paper("a", "<q>", "<p>", {})
    parsed = Page(page([Section(paper, (shown,), (claim,))]))
    assert not {"b", "i", "u", "s", "q"} & {tag for tag, _ in parsed.elements}
    for words in ("<q>", "<i>", "<s>", 'a < "b" & c.', "x < 1."):
        assert words in parsed.words


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--only", "naldi2014.9"), "got 'naldi2014.9': use naldi2014 (naldi2014.1 to"),
        (("--only", "naldi2015,"), "got ''"),
        (("--format", "svg,pdf"), "must be some of svg,png,csv,json, got 'pdf'"),
        (("--format", ""), "must be some of svg,png,csv,json, got ''"),
        (("--out", "survey.parquet"), "survey.parquet"),
        (("--out", "survey.parquet/x"), "survey.parquet"),
    ],
)
def test_bad_input_is_refused_in_one_line(refused: Refused, words: tuple[str, ...], told: str) -> None:
    """The message quotes what was given and says what may be given; nothing is written."""
    only = () if "--only" in words else ("--only", "naldi2015")
    assert told in refused("figures", *only, *words)


def test_written_files_are_replaced(run: Run, here: Path) -> None:
    """A second run draws and writes the same files again, to the last byte."""
    first, second = ("figures", "--only", "naldi2015.1"), here / "figures"
    run(*first)
    before = {path.name: path.read_bytes() for path in second.iterdir()}
    run(*first)
    assert {path.name: path.read_bytes() for path in second.iterdir()} == before
