import csv
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from noisycount.charts.answer_picture import CountInterval, CountPicture
from noisycount.config.config import Config
from noisycount.config.places import sqlite_url
from noisycount.ledger.budget import ApproximateBudget
from noisycount.service.pages.answer import CountEstimate, ReleasedAnswer
from noisycount.service.pages.answer_files import answer_csv
from noisycount.service.pages.stored_answer import ReleasedRow, add_sums, complete_from_ledger
from noisycount.service.state import ServiceState
from noisycount.tasks.refine.published import RefineQuery
from noisycount.tasks.refine.readers import opened_table, table_of_entry
from noisycount.tasks.refine.refined import refined_table
from noisycount.tasks.show import entry_json
from tests.helpers.service_callers import BO, OWNER, calling, configured, serving

COUNT = {"where": "age >= 65", "epsilon": "0.15"}
AGES = {"by": "age:0,10,20,30,40,50,60,70,80", "epsilon": "1", "margins": ["total"], "groups_per_unit": 1}
TOWNS = {"by": ["town"], "keys": {"town": ["Bern", "=cmd()", None]}, "epsilon": "1", "groups_per_unit": 1}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceState]:
    """Give a service that the tests of this file share."""
    with serving(configured(tmp_path_factory.mktemp("state"), budget="500")) as opened:
        yield opened


def asked(state: ServiceState, body: object) -> tuple[str, str]:
    """Give the address of an answer, and its page."""
    key = re.sub(r"\W", "", json.dumps(body))[:80]
    reply = calling(state).ask(body, key)
    assert reply.status_code == 201, reply.text
    place = f"/releases/{reply.json()['key']}"
    return place, unescape(calling(state).get(place).text)


def told(state: ServiceState, place: str) -> dict[str, Any]:
    """Give the stored reply."""
    return dict(calling(state).get(f"/v1{place}").json())


def test_a_picture_leads_and_details_are_folded(state: ServiceState) -> None:
    """The number, its range, the line from 0, then the price; all else is folded away."""
    place, page = asked(state, COUNT)
    answer = told(state, place)
    order = ["age is at least 65", f"{answer['answer']} ", "lies between", "<svg", "ε = 0.15 charged", "<details"]
    places = [page.index(words) for words in order]
    assert places == sorted(places)
    assert f"the answer: {answer['answer']}, from {answer['low']} to {answer['high']}" in page
    assert "more like it" in page
    for folded in ("discrete Laplace", "noisycount count", "curl"):
        assert page.index("<details") < page.index(folded)
    assert not re.search(r"--(?!data-binary|where|epsilon|confidence)[a-z]", page)


def test_a_refined_count_is_told_where_it_says_more(state: ServiceState) -> None:
    """Not beside an answer in the middle; beside one of which half the range is impossible."""
    _, page = asked(state, COUNT)
    assert "With what is public" not in page
    assert "refined: " not in page
    half = {"answer": -5, "low": -65, "high": 55, "error": 60, "mechanism": "discrete Laplace", "scale": "20"}
    below = ReleasedAnswer(half, estimate=CountEstimate.from_reply(half, 1317))
    assert below.refined is not None
    assert 0 <= below.refined.count.low <= below.refined.count.value <= below.refined.count.high
    assert isinstance(below.picture, CountPicture)
    assert "; refined: " in below.picture.description
    (row,) = csv.DictReader(StringIO(answer_csv(below)))
    assert row["refined"] == str(int(below.refined.count.value))


def test_what_is_said_of_privacy_follows_from_all_answers(tmp_path: Path) -> None:
    """In odds, with the words of the command, the preview and the report, whoever asked; not from one price alone."""
    with serving(configured(tmp_path)) as opened:
        place, first = asked(opened, {"where": "age >= 40", "epsilon": "0.1"})
        sentence = "ll answers so far, ε = 0.1: a 50:50 guess about one person becomes at most 53:47"
        assert f"<strong>All answers so far: at most 53:47</strong> A{sentence}. This answer alone, ε = 0.1: " in first
        calling(opened, OWNER).ask({"where": "age >= 50", "epsilon": "1"}, "another")
        sentence = "ll answers so far, ε = 1.1: a 50:50 guess about one person becomes at most 76:24"
        page = unescape(calling(opened).get(place).text)
        assert f"<strong>All answers so far: at most 76:24</strong> A{sentence}." in page
        assert f"a{sentence}" in unescape(calling(opened, OWNER).get("/report").text)
        preview = unescape(calling(opened).get(f"{place}?within=5").text)
        assert "all answers with this one, ε = " in preview


def test_the_running_total_is_for_the_worst_relation_where_the_size_is_not_public(tmp_path: Path) -> None:
    """It follows from what was spent alone: whether others asked for tables is not shown."""
    configuration = configured(tmp_path)
    stay = replace(configuration.datasets["stay"], size=None)
    pages = []
    for number, body in enumerate([{"where": "age >= 50", "epsilon": "1"}, {**TOWNS, "epsilon": "1"}]):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        url = sqlite_url(folder / "ledger.db")
        with serving(replace(configuration, ledger_url=url, datasets={"stay": stay})) as opened:
            place, _ = asked(opened, {"where": "age >= 40", "epsilon": "0.1"})
            calling(opened, OWNER).ask(body, "another")
            pages.append(unescape(calling(opened).get(place).text))
    (line,) = {re.findall(r"<strong>All answers so far.*?</li>", page)[0] for page in pages}
    assert "All answers so far: at most 91:9</strong>" in line
    assert (
        "whether one person is in the records becomes at most 76:24; a guess about the group of a person known to be in"
        in line
    )


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceState]:
    """Give a service over persons of whom each has a day."""
    folder = tmp_path_factory.mktemp("dated")
    rows = (f"{i},{i % 90},{2015 + i % 11}-{i % 12 + 1:02d}-03" for i in range(1317))
    (folder / "stay.csv").write_text("person,age,day\n" + "\n".join(rows) + "\n", encoding="utf-8")
    with serving(configured(folder, budget="500")) as opened:
        yield opened


MONTHS = [f"2025-{month:02d}" for month in range(1, 13)]
GROUPED = {"epsilon": "1", "groups_per_unit": 1}
RIBBON = 'fill-opacity=".2"'
LINES = [
    {"by": "day:month", "keys": {"day": [*MONTHS, None]}, "margins": ["total"]},
    {"by": "day:quarter", "keys": {"day": ["2025-Q3", "2025-Q1", "2025-Q2"]}},
    {"by": "day:year", "keys": {"day": ["2015", "2016", "2017"]}},
    {"by": ["age:0,40", "day:month"], "keys": {"day": MONTHS}},
]


@pytest.mark.parametrize("body", LINES, ids=["months", "quarters", "years", "two lines"])
def test_equal_steps_of_time_are_lines(dated: ServiceState, body: dict[str, object]) -> None:
    """With bands and named axes; every class of a picture is one of the style sheet; bars stand below."""
    _, page = asked(dated, {**body, **GROUPED})
    lines = 1 + (body["by"] == ["age:0,40", "day:month"])
    assert page.count(RIBBON) == 2 * lines  # narrow and wide
    assert f">day, by {str(body['by']).rpartition(':')[2].strip(chr(39) + ']')}</text>" in page
    assert ">persons</text>" in page
    style = calling(dated).get("/static/noisycount.css").text
    kinds = {kind for kinds in re.findall(r'<(?:path|circle|rect) class="([^"]+)"', page) for kind in kinds.split()}
    assert [kind for kind in kinds if not re.search(rf"svg\.chart \.{kind} \{{", style)] == []
    assert "^=" not in style
    assert 'class="chart spark' in page


@pytest.mark.parametrize(
    "body",
    [
        AGES,
        {"by": "day:month", "keys": {"day": ["2025-01", "2025-02", "2025-03", "2025-07"]}, **GROUPED},
        {"by": "day", "keys": {"day": ["2015-01-03", "2016-02-03", "2017-03-03"]}, **GROUPED},
        {"by": "age", "keys": {"age": [2023, 2024, 2025, 2026]}, **GROUPED},
    ],
    ids=["ranges", "a gap", "days", "numbers"],
)
def test_other_rows_are_bars(dated: ServiceState, body: dict[str, object]) -> None:
    """Ranges of unequal width, months with a gap and plain numbers are no line; each row has its whole label."""
    place, page = asked(dated, body)
    assert RIBBON not in page
    cells = [row for row in told(dated, place)["rows"] if row["level"] != "total"]
    labels = [str(label) for row in cells for label in row["keys"].values()]
    assert [label for label in labels if f'<th scope="row">{label}</th>' not in page] == []
    assert page.count('class="chart spark') == len(cells)


def test_towns_are_bars(state: ServiceState) -> None:
    """Each in the order in which it was listed."""
    _, towns = asked(state, TOWNS)
    assert RIBBON not in towns
    assert re.findall(r'<th scope="row">(.*?)</th>', towns) == ["Bern", "=cmd()", "(missing)"]


@pytest.mark.thorough
def test_a_cumulative_table_shows_its_sums(state: ServiceState) -> None:
    """The page, the file and the chart have the sums of the reply with their standard errors."""
    body = {"by": "age:0,10,20,30,40,50,60,70,80", "epsilon": "1", "cumulative": True, "groups_per_unit": 1}
    place, page = asked(state, body)
    rows = [row for row in told(state, place)["rows"] if "sum_so_far" in row]
    assert len(rows) == 9
    entry = state.ledger.entry(told(state, place)["key"])
    assert entry is not None
    without = [{name: value for name, value in row.items() if not name.startswith("sum_so")} for row in rows]
    assert list(add_sums({"rows": without}, entry)["rows"]) == rows  # of a reply of an older release
    assert all(0 < row["sum_so_far_standard_error"] < 40 for row in rows)
    words = [f"{row['sum_so_far']:,.1f} (s.e. {row['sum_so_far_standard_error']:#.3g}" for row in rows]
    shown = re.findall(r'class="sum">sum so far ([^<]+)\)<', page.replace("\N{NO-BREAK SPACE}", " "))
    assert [each.replace("−", "-") for each in shown] == [each.rstrip(".") for each in words]
    assert page.count('<tr><th scope="row">') == 9
    assert "least squares estimate from all ranges" in page
    sheet = [*csv.DictReader(StringIO(calling(state).get(f"{place}/file").text))]
    assert [float(row["sum_so_far"]) for row in sheet if row["sum_so_far"]] == [row["sum_so_far"] for row in rows]
    assert sheet[0]["sum_so_far_standard_error"] == str(rows[0]["sum_so_far_standard_error"])
    assert len(sheet) == len(told(state, place)["rows"]) > 9
    drawn = calling(state).get(f"{place}/file?form=svg").text
    assert ">Sum so far<" in drawn
    for row in rows:
        assert drawn.count(f">{row['keys']['age']}</text>") == 2


ORDERED = [
    {"where": ["age >= 65", "age < 9", "town = 'Bern'", "age >= 10"], "epsilon": "0.4"},
    {"by": ["town"], "keys": {"town": ["Genf", "Bern", None, "Aarau"]}, "margins": ["total"], **GROUPED},
]


@pytest.mark.thorough
@pytest.mark.parametrize("body", ORDERED, ids=["questions", "keys"])
def test_a_list_keeps_its_order(state: ServiceState, body: dict[str, Any]) -> None:
    """On the page, in its file and picture, in the call that asks the same, and in a nearer answer."""
    listed = body.get("where") or ["(missing)" if key is None else key for key in body["keys"]["town"]]
    place, page = asked(state, body)
    assert re.findall(r'<th scope="row">(.*?)</th>', page)[:4] == listed
    drawn = re.findall(r"<text[^>]*>([^<]+)</text>", calling(state).get(f"{place}/file?form=svg").text)
    assert [text for text in map(unescape, drawn) if text in listed] == listed
    command = page[page.index("noisycount count") :]
    words = [word.split(" = ")[0] if "where" in body else "null" if word == "(missing)" else word for word in listed]
    places = [command.index(word) for word in words]
    assert places == sorted(places)
    page = unescape(calling(state).get(f"{place}?within=3").text)
    sent = {name: re.findall(rf'name="{name}" value="(.*?)">', page)[0] for name in ("question", "key")}
    reply = calling(state).request("POST", "/ask/stay/spend", data=sent)
    nearer = unescape(calling(state).get(reply.headers["Location"]).text)
    assert re.findall(r'<th scope="row">(.*?)</th>', nearer)[:4] == listed


def test_many_rows_are_folded(state: ServiceState) -> None:
    """Thirty lead, the rest is there: 500 rows in all."""
    body = {"by": "age:" + ",".join(map(str, range(500))), "epsilon": "1", "groups_per_unit": 1}
    place, page = asked(state, body)
    assert "Show all 500 rows" in page
    assert page.count('<tr><th scope="row">') == 500
    assert len(page) < 500_000
    files = re.findall(r"file\?form=(\w+)", page)
    assert files == ["csv"]  # nobody reads so many bars
    assert len(calling(state).get(f"{place}/file?form=csv").text.splitlines()) == 501


@pytest.mark.thorough
@pytest.mark.parametrize("body", [COUNT, AGES, TOWNS], ids=["count", "line", "bars"])
def test_files_are_those_of_the_page(state: ServiceState, body: dict[str, object]) -> None:
    """The picture as SVG without names of colours, as PNG, and the numbers; for no other analyst."""
    place, _ = asked(state, body)
    svg = calling(state).get(f"{place}/file?form=svg")
    assert svg.headers["content-type"].startswith("image/svg+xml")
    assert svg.text.startswith("<svg")
    assert "var(" not in svg.text
    png = calling(state).get(f"{place}/file?form=png")
    assert png.content.startswith(b"\x89PNG")
    assert re.fullmatch(r'attachment; filename="noisycount-[\w-]+\.png"', png.headers["content-disposition"])
    assert calling(state, BO).get(f"{place}/file?form=csv").status_code == 404
    assert calling(state).get(f"{place}/file?form=exe").status_code == 422


def test_a_sheet_of_a_count_has_its_numbers(state: ServiceState) -> None:
    """The file of a count has the numbers of the reply."""
    place, _ = asked(state, COUNT)
    answer = told(state, place)
    (row,) = csv.DictReader(StringIO(calling(state).get(f"{place}/file").text))
    for name in ("where", "answer", "error", "low", "high", "epsilon", "scale"):
        assert row[name] == str(answer[name])


def test_a_sheet_of_a_table_can_be_refined(state: ServiceState, tmp_path: Path) -> None:
    """`refine` reads it, and finds what stands in it; a key that a spreadsheet would run is a text."""
    place, _ = asked(state, {**TOWNS, "margins": ["total"]})
    file = tmp_path / "towns.csv"
    file.write_text(calling(state).get(f"{place}/file").text, encoding="utf-8")
    assert "'=cmd()" in file.read_text(encoding="utf-8")
    with ExitStack() as opened:
        asking = RefineQuery(file=file)
        published = opened_table(asking, Config(None, sqlite_url(tmp_path / "no.db"), {}), opened)[0]
        rows = told(state, place)["rows"]
        assert published.answers.tolist() == [row["answer"] for row in rows]
        assert [level.mechanism.scale for level in published.levels] == [
            Fraction(level["scale"]) for level in told(state, place)["levels"]
        ]


NEARER = [
    (COUNT, 5, "you have [−0-9]+ ±20 at ε = 0.15"),
    ({"where": "age >= 60", "within": "50%", "at_most": "0.1"}, 5, r"you have [−0-9,]+ ±[0-9,]+ at ε = [0-9./]+"),
    ({"where": ["age >= 65", "age < 9"], "epsilon": "0.2"}, 9, "you have it at ε = 0.2, each count ±"),
    (AGES, 3, "you have it at ε = 1, each count ±"),
    ({**AGES, "epsilon": None, "noise": "gaussian", "rho": "0.1"}, 3, "you have it at ρ = 0.1, each count ±"),
    ({"by": "town", "delta": "1e-6", "epsilon": "1", "groups_per_unit": 1}, 2, "you have it at ε = 1"),
]


@pytest.fixture(scope="module")
def approximate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceState]:
    """Give a service whose budget pays for Gaussian noise and for hidden keys too."""
    configuration = configured(tmp_path_factory.mktemp("state"))
    stay = replace(
        configuration.datasets["stay"], budget=ApproximateBudget(Fraction(900), Fraction(1, 10), Fraction(1, 20))
    )
    with serving(replace(configuration, datasets={"stay": stay})) as opened:
        yield opened


@pytest.mark.parametrize(("body", "within", "words"), NEARER, ids=["count", "stopped", "list", "table", "ρ", "hidden"])
def test_a_nearer_answer_costs_the_difference(
    approximate: ServiceState, body: dict[str, object], within: int, words: str
) -> None:
    """The page tells its price before it is charged, and that is what it costs in all less what was paid."""
    place, page = asked(approximate, {name: of for name, of in body.items() if of})
    assert re.search(r"More accurate than ±[0-9,]+\? Within ±", page)
    before, first = len(approximate.ledger.entries()), told(approximate, place)
    page = unescape(calling(approximate).get(f"{place}?within={within}").text)
    assert re.search(words, page)
    assert len(approximate.ledger.entries()) == before
    sent = {name: re.findall(rf'name="{name}" value="(.*?)">', page)[0] for name in ("question", "key")}
    reply = calling(approximate).request("POST", "/ask/stay/spend", data=sent)
    nearer = told(approximate, reply.headers["Location"])
    charged = nearer["charged"] if isinstance(nearer["charged"], dict) else {"epsilon": nearer["charged"]}
    symbol, name = ("ρ", "rho") if charged["epsilon"] is None else ("ε", "epsilon")
    assert f"Ask and spend {symbol} = {charged[name]}<" in page
    paid, price = (Fraction(each.get("price", each)[name]) for each in (first, nearer))
    assert Fraction(charged[name]) == price - paid
    assert within / 2 <= nearer.get("levels", [nearer])[0]["error"] <= within
    page = unescape(calling(approximate).get(reply.headers["Location"]).text)
    assert f"{symbol} = {charged[name]} charged</strong> The rest was paid for the coarser answer" in page


def test_a_nearer_answer_is_asked_for_as_numbers_are_written(state: ServiceState) -> None:
    """With ± before it, or with a comma after thousands."""
    place, _ = asked(state, {"where": "age >= 64", "epsilon": "0.001"})
    pages = [calling(state).get(place, params={"within": typed}).text for typed in ("1000", "1,000", " ±1,000")]
    assert len({re.findall("Ask and spend.*<", page)[0] for page in pages}) == 1


def test_an_answer_stays_when_its_data_set_is_gone(tmp_path: Path) -> None:
    """It is shown as it was, and nothing on its page asks more."""
    configuration = configured(tmp_path)
    with serving(configuration) as state:
        place, page = asked(state, COUNT)
    assert "More accurate than" in page
    assert "Ask more of stay" in page
    stay = replace(configuration.datasets["stay"], name="other", account="other")
    with serving(replace(configuration, datasets={"other": stay})) as state:
        page = unescape(calling(state).get(place).text)
    assert "age is at least 65" in page
    assert "More accurate than" not in page
    assert "Ask more" not in page


NO_NUMBER = "within must be a number above 0, such as 20"


@pytest.mark.parametrize(
    ("typed", "words"),
    [("", NO_NUMBER), ("x", NO_NUMBER), ("0", NO_NUMBER), ("nan", NO_NUMBER), ("20", "± must be below 20")],
)
def test_what_is_no_nearer_is_refused_beside_its_field(state: ServiceState, typed: str, words: str) -> None:
    """With what was typed, and nothing to confirm."""
    place, _ = asked(state, COUNT)
    reply = calling(state).get(place, params={"within": typed})
    page = unescape(reply.text)
    assert reply.status_code == 422
    assert f'id="within-wrong">{words}, got' in page
    assert re.search(rf'value="{re.escape(typed)}" aria-invalid="true" autofocus aria-describedby="within-wrong"', page)
    assert "Ask and spend" not in page
    assert calling(state, BO).get(f"{place}?within=5").status_code == 404


@pytest.mark.thorough
def test_the_page_says_how_many_counts_lie_farther_off_and_what_all_keep(state: ServiceState) -> None:
    """A table of 100 counts states that 5 may be off, and the error that all keep at once."""
    body = {"by": "age:" + ",".join(map(str, range(0, 200, 2))), "epsilon": "1", "groups_per_unit": 1}
    place, page = asked(state, body)
    (error,) = {row["error_of_all"] for row in told(state, place)["rows"]}
    assert f"about 5 of 100 may lie outside; all 100 within ±{error} at once." in page
    _, few = asked(state, TOWNS)
    assert "may lie outside" not in few
    assert "all 3 within ±" in few


@pytest.mark.thorough
def test_estimates_keep_to_the_public_size(state: ServiceState) -> None:
    """Of everybody the total is that size; of some it is at most that. Persons are whole."""
    everybody = {"by": "age:0,30,60", "epsilon": "0.02", "groups_per_unit": 1, "margins": ["total"], "other": True}
    _, page = asked(state, everybody)
    totals = re.findall(r'all.*?class="estimate">([^<]+)<', page.rpartition("<tbody>")[2])
    assert "the total is 1,317, the public number of persons" in page
    assert totals[-1].startswith("1,317, from 1,317 to 1,317")
    _, page = asked(state, {**everybody, "other": False, "margins": []})  # who has no age is in no row
    assert "the total is at most 1,317, the public number of persons" in page
    some = {**everybody, "where": "age >= 0", "other": False}
    place, page = asked(state, some)
    entry = state.ledger.entry(told(state, place)["key"])
    assert entry is not None
    refined = refined_table(RefineQuery(key=entry.key), table_of_entry(entry, entry.key), lambda _: None, 1317)
    tails = refined.estimates["high"] - refined.estimates["low"]
    shorter = [high - low - tails[row] for row, low, high in refined.intervals()]
    assert max(shorter) <= 0
    assert min(shorter) < 0
    assert "the total is at most 1,317, the public number of persons" in page
    for words in re.findall(r'class="estimate">([−\d][^<]+)<', page):
        value, low, high = (int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", words))
        assert 0 <= low <= value <= high <= 1317
        assert "." not in words


def test_an_interval_is_the_shortest_and_has_the_most_probable_count() -> None:
    """Equal tails leave 0 out where it is the most probable count."""
    half = {"answer": -5, "low": 0, "high": 295, "error": 300, "mechanism": "discrete Laplace", "scale": "100"}
    found = CountEstimate.from_reply(half, 1317)
    assert found is not None
    law = found.refined.posterior
    low, high = law.interval(0.95)
    assert found.count.low == law.mode == 0 < low
    assert found.count.high < high
    assert law.probability(found.count.low, found.count.high) >= 0.95 > law.probability(0, found.count.high - 1)


def test_an_estimate_outside_its_answer_says_so() -> None:
    """In words beside it."""
    row = ReleasedRow("town", ["Bern"], ["Bern"], CountInterval(50, 40, 60), 10, CountInterval(61, 52, 70), (0, 80))
    assert row.estimate == "61, from 52 to 70, outside the ±"
    assert replace(row, refined=CountInterval(60, 52, 70)).estimate == "60, from 52 to 70"


def test_hidden_keys_have_their_threshold(approximate: ServiceState) -> None:
    """And what a key that is missing means; also if the service did not give the answer."""
    body = {"by": ["town"], "where": "age >= 1", "epsilon": "1", "delta": "1e-6", "groups_per_unit": 1}
    place, page = asked(approximate, body)
    reply = told(approximate, place)
    first = f"Keys are shown from a noisy count of {reply['threshold']} on:"
    chance = "one of a single person with a probability of 1e-06 at most,"
    surely = f"one of {reply['surely_shown']} persons with 95 % at least."
    words = f"{first} {chance} {surely} A key that is missing may have a few persons: it does not mean 0."
    assert words in page
    entry = approximate.ledger.entry(reply["key"])
    assert entry is not None
    stored = ReleasedAnswer(complete_from_ledger({"dataset": "stay", **entry_json(entry)}, entry))
    assert (
        stored.hidden_keys
        == f"{first} {chance} {surely} A key that is missing may have a few persons: it does not mean 0."
    )
