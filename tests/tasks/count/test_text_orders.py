"""Texts are not ordered as numbers or dates in silence, and a day counts whole, through every door."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import polars as pl
import pytest

import noisycount as nc
from noisycount.config.config import load_config
from noisycount.errors import PredicateError
from noisycount.query.normal_form import parse_predicate
from noisycount.query.predicate import quoted_text
from noisycount.query.schema import Kind
from noisycount.release import query_plan
from noisycount.release.text_orders import reading_hints, text_order_refusals
from noisycount.service.keys import Role, User
from tests.helpers.commands import Run
from tests.helpers.service_callers import calling, serving

ROWS = [
    *("glucose,5.5,2024-01-01,2024-01-01 00:00:00", "glucose,104.0,2024-01-31,2024-01-31 10:30:00"),
    *("glucose,95,2024-02-01,2024-02-01 00:00:00", "glucose,<5,unknown,2024-01-31 23:59:59"),
    *("sodium, 140 ,2024-01-15,2024-01-15 12:00:00", "sodium,1e3,15.01.2024,2023-12-31 23:59:59", "sodium,n/a,,"),
]
CONFIGURATION = """
[ledger]
url = "sqlite:///ledger.db"

[datasets.labs]
source = "labs.csv"
unit = "row"
budget = "100000"

[datasets.labs.kinds]
test = "text"
value = "text"
visit = "text"
seen = "timestamp"
"""
NEAR = ("--epsilon", "1000", "--json")
ORDER = "value >= '100'"
ORDERED = "where orders column 'value' (text) by '100', and texts are ordered by their characters ('9' is after '10')"
RELEASES = "/v1/datasets/labs/releases"
OWNERS = {
    "number": "let its owner state a kind for the column in noisycount.toml, or store them as numbers",
    "date": "let its owner state the form of its dates in noisycount.toml, or store them as dates",
}
WRITTEN = {"number": "12.5", "date": "2024-02-01"}
ASKED = "if they are written as {}, write {}, in which all others are missing values; if not, {}"
UNREAD = "{}; {} reads only texts written as {}, and all others are missing values"
REMEDY = ASKED.format("12.5", "number(value) >= 100", OWNERS["number"])
TRUTHS = {
    "number(value) >= 100": 3,
    "number(value) between 5 and 100": 2,
    "number(value) is null and test = 'glucose'": 1,
    "not number(value) < 100": 3,
    "value = '104.0'": 1,
    "value like '1%'": 2,
    "date(visit) between '2024-01-01' and '2024-01-31'": 3,
    "date(visit) > '2024-01-31'": 1,
    "date(visit) is null": 3,
    "seen between '2024-01-01' and '2024-01-31'": 4,
    "seen not between '2024-01-01' and '2024-01-31'": 2,
    "seen <= '2024-01-31'": 5,
    "seen > '2024-01-31'": 1,
    "seen = '2024-01-31'": 2,
    "seen in ('2024-01-01', '2024-02-01')": 2,
    "seen <= '2024-01-31 00:00'": 3,
    "seen >= '2024-01-31' and number(value) >= 100": 1,
}
ORDERS = [
    *(ORDER, "value < '5'", "'100' <= value", "value between '5' and '100'", "not value > '5'", "value > '1,000'"),
    *("visit >= '2024-01-31'", "visit < '31.01.2024'", "visit >= '2024-01'", "visit > '2024-02-30'", "value >= ' 5 '"),
    *(
        "visit < '02/14/2024 01:30:00 PM'",
        "visit > '14-Feb-2024'",
        "visit > 'Jan-24'",
        "value > '5 %'",
        "value < '(1.5)'",
    ),
    *("test = 'sodium' and (value >= '5' or test is null)", "value >= '1e400'", "visit > '2024-01-31 10:00'"),
]
# Literals that only begin like a number, behind signs and marks; digits of other scripts; and times without a day.
BEGINNINGS = [
    *("50-59", "10 mg", "<5", "> 5", "≥5", "100-", "100+", "-5 °C", "+ 5", "€5", "£ 1.50", "$<5"),
    *(
        "\u0661\u0660",
        "\uff11\uff10",
        "²",
        "½ tablet",
        "(1-5)",
        "[10, 20)",
        ".5 mg",
        "5",
        "–5",
        "1'000",
        "\u00a07 days",
        *("inf", "-inf", "+Infinity", "NaN", "\u2212\u221e", "-NAN", "1e5", "\u0663", "\u2163", "\uff0e5"),
        *("'5", '"5"', "\u20185\u2019", "\u200b5", "\ufeff-5", "CHF 5", "-EUR5", "Fr. 5", "US$5", "\u06f5", "\u0be7"),
    ),
]
ADVICE = {  # an order, and the question to ask; a function alone: it does not read the literal
    "value >= '100'": "number(value) >= 100",
    "value >= ' +1e2 '": "number(value) >= 1e2",
    "value > '-.5'": "number(value) > -.5",
    "value between '5' and '100'": "number(value) between 5 and 100",
    "value >= '1,000'": "number(value)",
    "value >= '50%'": "number(value)",
    "value >= '(5)'": "number(value)",
    "value < '1e400'": "number(value)",
    "value between 'a' and '100'": "number(value)",
    "value between '5' and '10 mg'": "number(value)",
    "visit >= '2024-01-31'": "date(visit) >= '2024-01-31'",
    "visit >= '2024-01-31 10:00'": "date(visit)",
    "visit >= '01/02/2024'": "date(visit)",
    "visit >= 'Jan-24'": "date(visit)",
    "visit >= '2024-02-30'": "date(visit)",
    "visit between '2024-01-01' and '2024'": "date(visit)",
}


@pytest.fixture
def labs(here: Path) -> Path:
    """A folder with laboratory values, of which some are no numbers."""
    (here / "labs.csv").write_text("\n".join(["test,value,visit,seen", *ROWS, ""]), encoding="utf-8")
    (here / "noisycount.toml").write_text(CONFIGURATION, encoding="utf-8")
    return here


Before = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Before:
    """A version that did not refuse such orders yet."""

    @contextmanager
    def without_refusals() -> Iterator[None]:
        with monkeypatch.context() as earlier:
            earlier.setattr(query_plan, "text_order_refusals", lambda _: [])
            yield

    return without_refusals


@pytest.mark.parametrize("where", TRUTHS)
def test_what_texts_spell_and_whole_days_are_counted(run: Run, labs: Path, where: str) -> None:
    """At a price so high that the answer is the true count."""
    assert run("count", "labs", "--where", where, *NEAR).object["answer"] == TRUTHS[where], labs


@pytest.mark.parametrize("where", ORDERS)
def test_texts_are_not_ordered_by_numbers_or_dates(run: Run, labs: Path, where: str) -> None:
    """At the command, in a dry run too, before any ledger is made."""
    for trial in ([], ["--dry-run"]):
        told = run("count", "labs", "--where", where, "--epsilon", "1", *trial)
        assert (told.status, told.output) == (2, "")
        assert re.match("error: where orders column .* by .*, and texts are ordered by their characters", told.errors)
        assert re.search(r"(number|date)\(\w+\) ", told.errors)
        assert any(owners in told.errors for owners in OWNERS.values())
    assert not (labs / "ledger.db").exists()


def _refusals(where: str) -> list[str]:
    return text_order_refusals([parse_predicate(where, dict.fromkeys(("value", "visit"), Kind.TEXT)).normal])


@pytest.mark.parametrize("text", BEGINNINGS)
def test_texts_are_not_ordered_by_what_begins_like_a_number(text: str) -> None:
    """Whatever follows the digits; texts are equal to it as before."""
    literal = quoted_text(text)
    for where in (f"value > {literal}", f"value between 'a' and {literal}", f"not value <= {literal}"):
        assert re.search(r"number\(value\) .*missing values", *_refusals(where))
    assert _refusals(f"value = {literal} or value <> {literal} or value in ('a', {literal})") == []


@pytest.mark.parametrize(
    "text",
    ["", " ", "-", "C18", "<b", "a1", "%", "(x)", "IV", "$", "no. 5", "Nan", "info", "infinite", "EUR", "\u4e09\u660e"],
)
def test_texts_are_ordered_by_what_begins_otherwise(text: str) -> None:
    """Words and codes with a letter first."""
    assert _refusals(f"value >= {quoted_text(text)}") == []


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "="])
def test_orders_of_two_columns_of_texts_have_a_hint(operator: str) -> None:
    """With the question that compares numbers, which has no hint of its own but how it reads texts."""
    kinds = {"high": Kind.TEXT, "low": Kind.TEXT, "n": Kind.INTEGER, "m": Kind.REAL}
    hints = reading_hints([parse_predicate(f"high {operator} low or n {operator} m", kinds).normal])
    assert [hint.partition(" orders texts")[0] for hint in hints] == (
        [] if operator == "=" else [f"high {operator} low"]
    )
    for hint in hints:
        assert f"write number(high) {operator} number(low), or date()" in hint
        numbers = reading_hints([parse_predicate(f"number(high) {operator} number(low)", kinds).normal])
        assert all("reads texts written as" in each for each in numbers)


@pytest.mark.parametrize("where", ADVICE)
def test_the_remedy_has_the_values_of_the_question_or_none(where: str) -> None:
    """It is advised only if the function reads the literal; the owner's remedy is always named."""
    (refusal,) = _refusals(where)
    advice = ADVICE[where]
    function, is_whole = advice.partition("(")[0], not advice.endswith(")")
    owners, written = OWNERS[function], WRITTEN[function]
    remedy = ASKED.format(written, advice, owners) if is_whole else UNREAD.format(owners, advice, written)
    assert refusal.endswith(f"('9' is after '10'): {remedy}")
    if is_whole:
        assert _refusals(advice) == []


def test_questions_with_functions_say_which_texts_are_read(run: Run, labs: Path) -> None:
    """In a dry run, an answer and its repeat; by the question alone."""
    asked = ("count", "labs", "--where", "number(value) >= 100 and date(visit) is not null", "--epsilon", "1")
    missing = "all others count as missing values"
    expected = [
        f"date(visit) reads texts written as 2024-02-01; {missing}",
        f"number(value) reads texts written as 12.5; {missing}",
    ]
    for trial in (["--dry-run"], [], []):
        assert sorted(run(*asked, "--json", *trial).object["hints"]) == expected, labs
        assert expected[1] in " ".join(run(*asked, *trial).output.split())
    several = ("count", "labs", "--where", "number(value) > 5", "--where", "test = 'sodium'", "--epsilon", "1")
    assert expected[1] in run(*several, "--json", "--dry-run").object["hints"]


@pytest.mark.parametrize(
    "where", ["test >= 'm'", "test between 'a' and 'h'", "value = '100'", "value in ('5', '95')", "test > 'C18'"]
)
def test_words_are_ordered_and_texts_are_equal_as_before(run: Run, labs: Path, where: str) -> None:
    """Texts that are neither numbers nor dates are ordered by their characters."""
    assert run("count", "labs", "--where", where, *NEAR).object["hints"] == [], labs


def test_lists_and_tables_refuse_such_orders_too(run: Run, labs: Path) -> None:
    """The refusal also holds for a list of questions and for the condition of a table."""
    several = ("--where", "test = 'sodium'", "--where", ORDER)
    for asked in (several, ("--by", "test", "--keys", "test=sodium,glucose", "--where", ORDER)):
        for trial in ([], ["--dry-run"]):
            told = run("count", "labs", *asked, "--epsilon", "1", *trial)
            assert (told.status, REMEDY in told.errors) == (2, True), labs


@pytest.mark.parametrize("texts", [[], ["1"], ["9", "100"], ["a", None]])
def test_the_refusal_follows_from_schema_and_question_alone(here: Path, texts: list[str | None]) -> None:
    """Whatever the records are; from Python, where nothing is charged either."""
    frame = pl.DataFrame({"value": pl.Series(texts, dtype=pl.String)})
    with nc.open_desk(frame, unit="row", ledger=here / "ledger.db", name="labs") as desk:
        with pytest.raises(PredicateError) as caught:
            desk.release(ORDER, 1)
        assert str(caught.value) == f"{ORDERED}: {REMEDY}"
        with pytest.raises(PredicateError, match="are ordered by their characters"):
            desk.release_many(["value = '1'", ORDER], 1)
        assert desk.remaining == 2


@pytest.mark.thorough
@pytest.mark.parametrize("order", [ORDER, "value >= '10 mg'"])
def test_an_answer_that_was_paid_for_before_stays(run: Run, labs: Path, before: Before, order: str) -> None:
    """Its repeat is free and says what it is; a better one is refused; everything that reads the ledger goes on."""
    asked = ("count", "labs", "--where", order, "--json")
    with before():
        paid = run(*asked, "--epsilon", "1").object
    for trial in ([], ["--dry-run"]):
        again = run(*asked, "--epsilon", "1", *trial).object
        assert again["repeated"] is True
        assert again["hints"] == _refusals(order)
    assert again["where"] == paid["where"] == order
    assert _refusals(order)[0] in run(*asked[:-1], "--epsilon", "2").errors
    assert order in run("ledger", "show").output
    assert run("ledger", "verify").status == 0
    assert run("ledger", "report", "--format", "md", "--out", "report.md").status == 0
    assert order.replace(">", "&gt;") in (labs / "report.md").read_text(encoding="utf-8")
    assert run("refine", "--key", paid["key"], "--size", "7", "--rate", "0.5").status == 0


@pytest.mark.thorough
def test_an_answer_at_midnight_is_no_answer_of_the_day(run: Run, labs: Path) -> None:
    """The text of an older question has the midnight: its meaning stays, and no other question tops it up."""
    midnight = "seen between '2024-01-01 00:00' and '2024-01-31 00:00'"
    paid = run("count", "labs", "--where", midnight, *NEAR).object
    assert (paid["where"], paid["answer"]) == ("seen between '2024-01-01 00:00:00' and '2024-01-31 00:00:00'", 2)
    day = run("count", "labs", "--where", "seen between '2024-01-01' and '2024-01-31'", *NEAR).object
    assert (day["repeated"], day["answer"], day["charged"]) == (False, 4, "1000")
    half_open = "seen >= '2024-01-01' and seen < '2024-02-01'"
    assert run("count", "labs", "--where", half_open, *NEAR).object["key"] == day["key"]
    assert run("count", "labs", "--where", midnight, *NEAR).object["key"] == paid["key"], labs


@pytest.mark.thorough
@pytest.mark.always
def test_the_service_and_its_form_refuse_such_orders(labs: Path) -> None:
    """With the remedy, before anything is charged; what texts spell is counted there too."""
    with serving(load_config(labs / "noisycount.toml")) as state:
        caller = calling(state, User("ana", Role.ANALYST, frozenset({"labs"})))
        body = {"where": ORDER, "epsilon": "1"}
        for reply in (caller.post("/v1/datasets/labs/plan", body), caller.post(RELEASES, body, "one")):
            assert (reply.status_code, REMEDY in reply.text) == (422, True)
        assert caller.get("/v1/datasets/labs").json()["remaining"] == "100000"
        form = {"where": ORDER, "goal": "epsilon", "epsilon": "1", "confidence": "95%", "preview": "1"}
        assert "write number(value) &gt;= 100" in caller.request("POST", "/ask/labs", data=form).text
        for number, where in enumerate(["number(value) >= 100", "seen <= '2024-01-31'"]):
            reply = caller.post(RELEASES, {"where": where, "epsilon": "1000"}, f"key-{number}")
            assert reply.json()["answer"] == TRUTHS[where]
        page = caller.request("POST", "/ask/labs", data={**form, "where": "number(value) >= 100"}).text
        assert "the number in value is at least 100" in page
        row = {"column": "seen", "operator": "between", "low": "2024-01-01", "high": "2024-01-31"}
        page = caller.request("POST", "/ask/labs", data={**form, **row, "where": ""}).text
        assert "2024-02-01 00:00:00" in page
