"""Tests of `tasks/preview.py`."""

import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from noisycount.analysis.within import mean_price, price_grid, rule_of_prices
from noisycount.query.impossible import impossible_hints
from noisycount.query.normal_form import parse_predicate
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.release import query_plan
from noisycount.release.results import Release
from noisycount.tasks.answer import count_interval, guess_hints
from tests.helpers.commands import Refused, Run, configure, contents

WHERE = ("--where", "age >= 40", "--unit", "person")
GOAL = ("--within", "20%", "--guess", "100")


def test_a_dry_run_tells_the_price_and_touches_nothing(run: Run, here: Path) -> None:
    """Question, ±, odds, price and what is left; no ledger is made, and no file changes."""
    before = contents(here.parent)
    told = run("count", "survey.parquet", *WHERE, *GOAL, "--dry-run")
    shown = told.words
    assert (told.status, told.errors) == (0, "")
    for part in (
        "question age >= 40.0 (age is at least 40)",
        "would be within ±20 of the true count with 95 % confidence",
        "ε = 0.15: a 50:50 guess about one person becomes at most 54:46",
        "price ε = 0.15 would be charged",
        "charged nothing: this was a dry run; 2 of 2 left",
    ):
        assert part in shown
    assert contents(here.parent) == before


@pytest.mark.thorough
@pytest.mark.parametrize(
    "table", [(), ("--by", "health", "--keys", "health=poor,good", "--groups-per-unit", "1", "--of", "largest")]
)
def test_where_a_price_is_left_open_noise_and_privacy_are_those_of_the_most(run: Run, table: tuple[str, ...]) -> None:
    """And say so: a large count is told with more noise, at a lower price."""
    goal = ("--within", "20%", "--at-most", "0.5", "--dry-run")
    shown = run("count", "survey.parquet", "--unit", "person", *table, *goal).words
    for part in (
        "discrete Laplace, scale 2 or more",
        "privacy at most ε = 0.5: a 50:50 guess",
        "at most ε = 0.5 would be charged",
    ):
        assert part in shown


def test_an_answer_within_a_share_has_the_confidence_of_its_goal_whoever_asks_for_it_again(run: Run) -> None:
    """At a lower price and with more confidence, which noise alone would have; in words, JSON and the dry run."""
    count = ("count", "survey.parquet", "--unit", "person", "--json")
    told = run(*count, "--within", "50%", "--confidence", "90%", "--at-most", "0.5").object
    price = ("--epsilon", "0.0001", "--confidence", "99%")
    for again in (run(*count, *price).object, run(*count, *price, "--dry-run").object):
        assert (again["confidence"], again["error"], again["repeated"]) == (0.9, told["error"], True)
    assert "with 90 % confidence the true count is in this range" in run(*count[:-1], *price).words


def test_a_dry_run_knows_what_is_free_and_what_is_too_dear(run: Run, here: Path) -> None:
    """A reworded repeat costs nothing, and a price above the budget would be refused."""
    configure(here, 'unit = "person"\nbudget = "1"')
    trial = ("count", "survey", "--dry-run", "--json", "--epsilon", "0.75", "--where")
    first = run(*trial, "age >= 40").object
    assert (first["repeated"], first["cost"], first["affordable"]) == (False, "0.75", True)
    paid = run("count", "survey", "--where", "age >= 40", "--epsilon", "0.75", "--json").object
    again = run(*trial, "not age < 40").object
    assert (again["repeated"], again["cost"], again["remaining"]) == (True, "0", "0.25")
    assert (again["answer"], again["charged"], again["error"]) == (None, "0", paid["error"])
    dear = run(*trial, "age >= 50").object
    assert (dear["affordable"], dear["remaining"]) == (False, "0.25")
    words = run(*(word for word in trial if word != "--json"), "age >= 50").output
    assert "it would be refused: ε = 0.75 exceeds the remaining budget" in words
    assert run("ledger", "show", "--json").object["datasets"][0]["spent"] == "0.75"


@pytest.mark.parametrize(
    ("price", "words"),
    [
        (("--epsilon", "0.5"), "all answers with this one, ε = 0.9: "),
        (("--within", "20%", "--at-most", "0.5"), "all answers with this one at its highest price, ε = 0.9: "),
    ],
)
def test_a_dry_run_states_the_running_total_with_its_price(run: Run, price: tuple[str, ...], words: str) -> None:
    """And a count the total so far; the first of a data set is all of it, and has no such sentence."""
    first = run("count", "survey.parquet", *WHERE, "--epsilon", "0.4").words
    assert "all answers" not in first
    question = ("count", "survey.parquet", "--where", "age >= 20", "--unit", "person")
    odds = "a 50:50 guess whether one person is in the records becomes at most 72:28; a guess about the group of"
    assert f"{words}{odds}" in run(*question, *price, "--dry-run").words
    assert f"all answers so far, ε = 0.9: {odds}" in run(*question, "--epsilon", "0.5").words


def test_a_dry_run_asks_as_an_analyst(run: Run, here: Path) -> None:
    """The smaller of the two budgets binds."""
    configure(here, '[analysts.alice]\nbudget = "0.5"')
    words = ("count", "survey", "--where", "age >= 40", "--epsilon", "0.75", "--dry-run", "--json")
    told = run(*words, "--analyst", "alice").object
    assert (told["analyst"], told["remaining"], told["affordable"]) == ("alice", "0.5", False)


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize(
    "words", [("--where", "age >= 40"), ("--where", "age >= 40", "--where", "age < 20"), ("--by", "age:0,40")]
)
def test_a_dry_run_is_silent_of_what_only_others_asked(run: Run, here: Path, words: tuple[str, ...]) -> None:
    """It tells the full price until the analyst has asked, which is free and written down."""
    configure(
        here, 'unit = "person"\n[analysts.alice]\n[analysts.bob]\nbudget = "0.3"\n[analysts.carol]\nbudget = "0.2"'
    )
    asked = ("count", "survey", *words, "--epsilon", "0.3", "--json", "--analyst")
    refused = run(*asked, "carol")
    assert "exceeds the 0.2 that is left" in refused.errors
    paid = run(*asked, "alice").object
    assert run(*asked, "alice", "--dry-run").object["repeated"]
    told = run(*asked, "bob", "--dry-run").object
    cost = told["cost"] if isinstance(told["cost"], str) else told["cost"]["epsilon"]
    assert (told["repeated"], told["affordable"], cost) == (False, True, "0.3")
    again = run(*asked, "bob").object
    assert (again["repeated"], again.get("answer")) == (True, paid.get("answer"))
    assert run(*asked, "bob", "--dry-run").object["repeated"]
    assert run(*asked, "carol").errors == refused.errors
    (entry,) = run("ledger", "show", "--json").object["entries"]
    assert [each["analyst"] for each in entry["repeats"]] == ["bob"]


def test_a_dry_run_tells_no_answer_that_only_others_bought(run: Run, here: Path) -> None:
    """Another's answer has its full price in a dry run, and is then given for nothing."""
    configure(here, 'unit = "person"\n[analysts.alice]\n[analysts.bob]')
    asked = ("count", "survey", "--where", "age >= 40", "--json", "--analyst")
    best = run(*asked, "alice", "--epsilon", "0.3").object
    trial = run(*asked, "bob", "--epsilon", "0.4", "--dry-run").object
    assert (trial["cost"], trial["repeated"]) == ("0.4", False)
    assert "you have" not in run("count", *asked[1:4], "--analyst", "bob", "--epsilon", "0.4", "--dry-run").output
    given = run(*asked, "bob", "--epsilon", "0.1").object
    assert (given["answer"], given["charged"], given["epsilon"]) == (best["answer"], "0", "0.3")
    assert run(*asked, "bob", "--epsilon", "0.4", "--dry-run").object["cost"] == "0.1"


@pytest.mark.parametrize("where", ["aeg > 40", "age + 1 > 40"])
def test_a_dry_run_refuses_what_a_count_refuses(refused: Refused, where: str) -> None:
    """A question outside the language or about another column, in the same words."""
    words = ("count", "survey.parquet", "--where", where, "--epsilon", "0.1")
    assert refused(*words, "--dry-run") == refused(*words)


@pytest.mark.parametrize("is_file_first", [False, True])
def test_a_file_of_one_question_is_that_question(run: Run, here: Path, *, is_file_first: bool) -> None:
    """Asked by --where or from a file: one price, one answer; and a dry run of both knows it."""
    configure(here, 'unit = "person"')
    (here / "one.txt").write_text("# one\nnot age < 40\n", encoding="utf-8")
    words = [("--where", "age >= 40"), ("--questions", "one.txt")]
    words = words[::-1] if is_file_first else words
    asked = ("count", "survey", "--epsilon", "0.3", "--json")
    first = run(*asked, *words[0]).object
    for each in words:
        assert run(*asked, *each, "--dry-run").object["repeated"]
    second = run(*asked, *words[1]).object
    assert (first["repeated"], second["repeated"]) == (False, True)
    answers = {told.get("answer", told.get("rows", [{}])[0].get("answer")) for told in (first, second)}
    assert len(answers) == 1
    errors = {told["error"] if "error" in told else told["rows"][0]["error"] for told in (first, second)}
    assert len(errors) == 1
    (entry,) = run("ledger", "show", "--json").object["entries"]
    assert [entry["answer"]] == [*answers]
    assert run("refine", "--key", entry["key"][:8], "--size", "5912").status == 0


def published(number: int, error: int, epsilon: Fraction = Fraction(1, 100)) -> Release:
    """Return a stand-in for a published count, with the members that its interval and its hints need."""
    members = SimpleNamespace(answer=number, error=error, epsilon=epsilon, bounds=None, confidence=0.95)
    return cast("Release", members)


def hints_of(release: Release, guess: float | None, within: float | None = None) -> list[str]:
    """Return the hints about the guess of a count."""
    return [*guess_hints(release, Query(wheres=["true"], guess=guess, within=within), None)]


@pytest.mark.parametrize(
    ("number", "error", "size", "interval"),
    [
        (57, 20, None, (37, 77)),
        (-54, 300, None, (0, 246)),
        (-54, 20, None, (0, 0)),
        (980, 30, 1000, (950, 1000)),
        (1100, 30, 1000, (1000, 1000)),
    ],
)
def test_an_interval_holds_what_a_count_can_be(
    number: int, error: int, size: int | None, interval: tuple[int, int]
) -> None:
    """Not below 0, and not above a public size."""
    assert count_interval(published(number, error), size) == interval


@pytest.mark.parametrize(
    ("number", "guess", "told"),
    [
        (1000, 100, "the guess of 100 was far off: ±20 % of 1,000 needs only ε = 0.015"),
        (310, 1000, "the guess of 1,000 was far off: ±20 % of 310 needs ε = 0.049"),
        (-54, 1000, "the guess of 1,000 was far off: ±20 % of 246, the largest count in the interval, needs"),
        (-400, 1000, "the count is hardly above 0"),
    ],
)
def test_a_guess_that_was_far_off_is_told(number: int, guess: float, told: str) -> None:
    """With the ε that the goal needs for this answer."""
    price = Fraction(15, 1000) if number < guess else Fraction(15, 100)
    error = 20 if number == 310 else 300
    (hint,) = hints_of(published(number, error, price), guess, 0.2)
    assert told in hint


def test_a_goal_that_is_missed_is_told() -> None:
    """A hint appears if the error exceeds the goal for every count in the interval."""
    (hint,) = hints_of(published(65, 18, Fraction(17, 100)), 120, 0.15)
    assert hint == ("the guess of 120 was too large, and the goal is missed: ±15 % of 65 needs ε = 0.32")
    assert hints_of(published(102, 18), 120, 0.15) == []  # it may be 120


@pytest.mark.parametrize(("number", "guess"), [(80, 100), (100, 100), (150, 100)])
def test_a_guess_that_was_near_needs_no_hint(number: int, guess: float) -> None:
    """Up to twice or half of what the count may be."""
    assert hints_of(published(number, 20), guess, 0.2) == []


def test_a_dry_run_is_free_at_a_price_that_was_paid_whoever_topped_it_up(run: Run, here: Path) -> None:
    """An analyst's own answer decides; another's top-up stays hidden."""
    configure(here, 'unit = "person"\n[analysts.alice]\n[analysts.bob]')
    asked = ("count", "survey", "--where", "age >= 40", "--json", "--analyst")
    run(*asked, "alice", "--epsilon", "0.3")
    alone = run(*asked, "alice", "--epsilon", "0.2", "--dry-run").object
    run(*asked, "bob", "--epsilon", "0.4", "--purpose", "care")
    trial = run(*asked, "alice", "--epsilon", "0.2", "--dry-run").object
    shown = ("cost", "repeated", "epsilon", "error")
    assert [trial[name] for name in shown] == [alone[name] for name in shown] == ["0", True, "0.3", alone["error"]]


def test_the_best_answer_is_given_and_topped_up(run: Run, here: Path) -> None:
    """In other words too: at a lower price for nothing, at a higher one for the difference, as a dry run says."""
    configure(here, 'unit = "person"\nbudget = "9"')
    words = ("count", "survey", "--where")
    first = run(*words, "age >= 40", "--epsilon", "0.5", "--json").object
    lower = run(*words, "not age < 40", "--epsilon", "0.25", "--json").object
    assert [lower[name] for name in ("answer", "epsilon", "charged", "key")] == [
        first["answer"],
        "0.5",
        "0",
        first["key"],
    ]
    assert (
        "charged nothing: the best answer known is given, of ε = 0.5;"
        in run(*words, "age >= 40", "--epsilon", "0.25").words
    )
    trial = run(*words, "not age < 40", "--epsilon", "2", "--dry-run")
    assert f"ε = 1.5 would be charged: you have {first['answer']:,} ±6 at ε = 0.5, which becomes ±1" in trial.words
    assert run(*words, "age >= 40", "--epsilon", "2", "--dry-run", "--json").object["cost"] == "1.5"
    finer = run(*words, "age >= 40", "--epsilon", "2")
    assert "charged 1.5: it tops up an earlier answer to ε = 2; 7 of 9 left" in finer.words
    again = run(*words, "age >= 40", "--epsilon", "2", "--json").object
    assert (again["replaces"], again["charged"], again["error"], again["better"]) == ([first["key"]], "0", 1, None)
    shown = run("ledger", "show")
    assert "│ +1.5 │" in shown.words
    entries = run("ledger", "show", "--json").object["entries"]
    assert [(each["epsilon"], each.get("epsilon_in_all"), each.get("replaces")) for each in entries] == [
        ("0.5", None, None),
        ("1.5", "2", first["key"]),
    ]


def test_an_answer_near_0_bounds_the_count(run: Run, here: Path) -> None:
    """Nobody is 400 years old: the answer says what the count is at most, for machines too; not above all."""
    configure(here, 'unit = "person"')
    words = ("count", "survey", "--where", "age > 400", "--epsilon", "0.01")
    told = run(*words, "--json").object
    assert (told["low"], told["high"]) == (
        max(0, told["answer"] - told["error"]),
        max(0, told["answer"] + told["error"]),
    )
    bound = f"±{told['error']}, so at most {told['high']:,}"
    assert (bound in run(*words).output) is (told["answer"] < told["error"])
    configure(here, 'unit = "person"\nsize = 5912\nbudget = "1000"')
    assert run("count", "survey", "--where", "age > 0", "--epsilon", "0.01", "--json").object["high"] <= 5912


COLUMNS = {"age": Kind.INTEGER, "health": Kind.TEXT}
REVERSED = "age between 64 and 1"
HINT = "no record can satisfy age between 64.0 and 1.0: write the smaller end first"
COUNT = ("count", "survey", "--epsilon", "0.1", "--json")
BY_HEALTH = ("--by", "health", "--keys", "health=good,poor", "--groups-per-unit", "1")


def test_what_a_part_asks_of_one_record_at_once_may_be_meant_otherwise() -> None:
    """A person has many rows, but each of them is one record."""
    (told,) = impossible_hints([parse_predicate("health = 'poor' and health = 'good'", COLUMNS).normal])
    assert told == (
        "no record can satisfy health = 'good' and health = 'poor', all at once: "
        "join them by `or` if one of them is enough"
    )


def test_few_of_many_questions_are_told() -> None:
    """Each once, and how many more there are."""
    wheres = [f"age > {age} and age < 3" for age in (4, 4, 5, 6, 7, 8)]
    *told, more = impossible_hints(parse_predicate(where, COLUMNS).normal for where in wheres)
    assert [hint.partition(", ")[0] for hint in told] == [
        f"no record can satisfy age < 3 and age > {age}" for age in (4, 5, 6)
    ]
    assert more == "nor 2 other parts of the questions"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "asked", [["--where", REVERSED], ["--where", REVERSED, "--where", "age > 40"], ["--where", REVERSED, *BY_HEALTH]]
)
def test_a_question_that_matches_nothing_says_so(
    run: Run, refused: Refused, here: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    """Before it is paid for, in counts and in tables; what was paid for once is free for ever."""
    configure(here, 'unit = "person"')
    told = run(*COUNT, *asked, "--dry-run").object
    assert (told["hints"][0], told["affordable"]) == (HINT, True)
    assert f"hint {HINT}" in run(*COUNT[:-1], *asked, "--dry-run").words
    assert f"no record can match: {HINT}" in refused(*COUNT[:-1], *asked)
    assert not (here / "ledger.db").exists()
    with monkeypatch.context() as before:
        before.setattr(query_plan, "impossible_hints", lambda *_: [])
        paid = run(*COUNT, *asked).object
    again = run(*COUNT, *asked).object
    assert (again["key"], again["repeated"], HINT in again["hints"]) == (paid["key"], True, True)


def test_a_question_that_may_match_says_nothing(run: Run, here: Path) -> None:
    """A question without matches in the data has no hint."""
    configure(here, 'unit = "person"')
    for trial in ([], ["--dry-run"]):
        assert run(*COUNT, "--where", "age > 400", *trial).object["hints"] == []


TABLE = (
    "--by",
    "health",
    "--keys",
    "health=poor,good",
    "--groups-per-unit",
    "1",
    "--margins",
    "total",
    "--of",
    "largest",
)


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize(("table", "failing"), [((), Fraction(1, 20)), (TABLE, Fraction(3, 160))])
def test_a_dry_run_of_a_top_up_states_what_is_left_to_pay(run: Run, table: tuple[str, ...], failing: Fraction) -> None:
    """On average, for three counts: the price at which the chain stops, less what was paid for the answer below it.

    `failing`: the probability with which one of the cells that decide may fail.
    """
    paid, most = Fraction(1, 50), Fraction(3, 2)
    words = ("count", "survey.parquet", "--unit", "person", *table)
    asked = run(*words[: len(words) - 2 * bool(table)], "--epsilon", "0.02", "--json").object
    assert asked["repeated"] is False
    unit = 1 / Fraction(asked["levels"][0]["share"]) if table else Fraction(1)  # of the price, for an ε of one cell
    grid = (paid, *(price for price in price_grid(most) if price >= Fraction(103, 100) * paid))
    rule = rule_of_prices(Fraction(1, 50), 1 - failing, tuple(price / unit for price in grid), anytime=True)
    expected = [f"{float(unit) * mean_price(rule, count) - float(paid):.2g}" for count in (100, 1000, 10_000)]
    told = run(*words, "--within", "2%", "--at-most", "1.5", "--dry-run").words
    found = re.search(r"; on average (\S+) for a (?:deciding )?count of 100, (\S+) for 1,000, (\S+) for 10,000", told)
    assert found is not None
    assert list(found.groups()) == expected
