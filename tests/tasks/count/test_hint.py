from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from noisycount.config.config import DatasetConfig
from noisycount.ledger.entries import Analyst
from noisycount.query.query import Query
from noisycount.tasks.answer import Answer
from tests.commands import Run, configure


def answer_of(  # noqa: PLR0913, PLR0917 - all that a hint rests on
    number: int,
    error: int,
    size: int | None = None,
    epsilon: Fraction = Fraction(1, 100),
    guess: float | None = None,
    within: float | None = None,
) -> Answer:
    """An answer of which no more is asked than its number, its error and its price."""

    class Stated(Answer):
        count: Any = SimpleNamespace(answer=number, epsilon=epsilon)
        error: Any = property(lambda _: error)

    unused: Any = None
    return Stated(
        query=Query(wheres=["true"], guess=guess, within=within),
        plan=unused,
        dataset=DatasetConfig(name="survey", source=Path("/survey.csv"), size=size),
        unit=None,
        analyst=Analyst(),
        ledger=None,
        remains=unused,
        release=Stated.count,
    )


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
    assert answer_of(number, error, size).interval == interval


@pytest.mark.parametrize(
    ("number", "guess", "told"),
    [
        (1000, 100, "the guess of 100 was far off: ±20 % of 1,000 needs only ε = 0.015"),
        (310, 1000, "the guess of 1,000 was far off: ±20 % of 310 needs ε = 0.049"),
        (-54, 1000, "the guess of 1,000 was far off: ±20 % of 246, the most that it may be, needs"),
        (-400, 1000, "the count is hardly above 0"),
    ],
)
def test_a_guess_that_was_far_off_is_told(number: int, guess: float, told: str) -> None:
    """With the ε that the goal needs for this answer."""
    price = Fraction(15, 1000) if number < guess else Fraction(15, 100)
    error = 20 if number == 310 else 300
    (hint,) = answer_of(number, error, None, price, guess, 0.2).hints
    assert told in hint


def test_a_goal_that_is_missed_is_told() -> None:
    """Where the error is more than the share of all that the count may be."""
    (hint,) = answer_of(65, 18, None, Fraction(17, 100), 120, 0.15).hints
    assert hint == (
        "the guess of 120 was too large, and the goal is missed: ±15 % of 65 needs ε = 0.32"
    )
    assert answer_of(102, 18, guess=120, within=0.15).hints == []  # it may be 120


@pytest.mark.parametrize(("number", "guess"), [(80, 100), (100, 100), (150, 100)])
def test_a_guess_that_was_near_needs_no_hint(number: int, guess: float) -> None:
    """Up to twice or half of what the count may be."""
    assert answer_of(number, 20, guess=guess, within=0.2).hints == []
    assert answer_of(number, 20).hints == []


def test_a_better_answer_is_not_overlooked(run: Run, here: Path) -> None:
    """One at a larger ε to the same question in other words is free; a worse one is not told."""
    configure(here, 'unit = "person"\nbudget = "9"')
    words = ("count", "survey", "--json", "--where")
    best = run(*words, "age >= 40", "--epsilon", "2").object
    assert (best["better"], best["hints"]) == (None, [])
    free = (
        f"a better answer to this question is stored, and free with --epsilon 2: {best['answer']:,}"
    )
    trial = run(*words, "not age < 40", "--epsilon", "0.5", "--dry-run").object
    assert [hint.startswith(free) for hint in trial["hints"]] == [True]  # before it is paid for
    again = run(*words, "not age < 40", "--epsilon", "0.5").object
    assert again["better"] == {
        "answer": best["answer"],
        "error": best["error"],
        "epsilon": "2",
        "key": best["key"],
    }
    assert again["hints"] == [f"{free} ±{best['error']}"]
    assert run(*words, "age >= 50", "--epsilon", "0.5").object["better"] is None
    shown = run("count", "survey", "--where", "age >= 40", "--epsilon", "0.5").output
    assert "hint      a better answer to this question is stored, and free" in shown
    assert run(*words, "age >= 40", "--epsilon", "2").object["charged"] == "0"


def test_an_answer_near_0_bounds_the_count(run: Run, here: Path) -> None:
    """Nobody is 400 years old: the answer says what the count is at most, for machines too."""
    configure(here, 'unit = "person"')
    words = ("count", "survey", "--where", "age > 400", "--epsilon", "0.01")
    told = run(*words, "--json").object
    assert (told["low"], told["high"]) == (
        max(0, told["answer"] - told["error"]),
        max(0, told["answer"] + told["error"]),
    )
    bound = f"±{told['error']}, so at most {told['high']:,}"
    assert (bound in run(*words).output) is (told["answer"] < told["error"])


def test_a_count_near_all_has_a_least(run: Run, here: Path) -> None:
    """Where everybody knows how many there are, an answer above that is cut."""
    configure(here, 'unit = "person"\nsize = 5912\nbudget = "1000"')
    told = run("count", "survey", "--where", "age > 0", "--epsilon", "0.01", "--json").object
    assert told["high"] <= 5912
