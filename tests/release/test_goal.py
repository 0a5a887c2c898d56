"""Accuracy goals by themselves. Their answers are tested in `test_within.py` and `test_within_tables.py`."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from noisycount.ledger.entries import Request
from noisycount.ledger.ledger import Ledger
from noisycount.release.goal import AccuracyGoal, parse_cells_share

GOAL = AccuracyGoal(Fraction(1, 5), Fraction(19, 20), Fraction(1, 2), "largest")


@pytest.mark.parametrize("goal", [GOAL, replace(GOAL, scope=""), replace(GOAL, scope="90%-of-cells")])
def test_a_goal_is_read_as_it_was_stored(ledger: Ledger, goal: AccuracyGoal) -> None:
    """A ledger returns the goal of an entry, with or without a scope."""
    question = json.dumps({"within": goal.to_json()})
    entry, _ = ledger.reserve("key", Request("survey", question, Fraction(1)), Fraction(1))
    assert AccuracyGoal.from_entry(entry) == goal


def test_an_entry_of_a_fixed_price_has_no_goal(ledger: Ledger) -> None:
    """A question without a goal gives None."""
    entry, _ = ledger.reserve("key", Request("survey", "{}", Fraction(1)), Fraction(1))
    assert AccuracyGoal.from_entry(entry) is None


def test_goals_of_equal_accuracy_may_differ_in_their_largest_price() -> None:
    """Only the largest price is left out of the comparison."""
    assert GOAL.has_same_accuracy(replace(GOAL, at_most=Fraction(2)))
    assert not GOAL.has_same_accuracy(replace(GOAL, within=Fraction(1, 10)))
    assert not GOAL.has_same_accuracy(replace(GOAL, scope="total"))
    assert not GOAL.has_same_accuracy(None)


@pytest.mark.parametrize(
    ("change", "is_implied"),
    [
        ({}, True),
        ({"within": Fraction(3, 10)}, True),
        ({"within": Fraction(1, 10)}, False),
        ({"confidence": Fraction(9, 10)}, True),
        ({"confidence": Fraction(99, 100)}, False),
        ({"at_most": Fraction(1, 100)}, True),
        ({"scope": "total"}, False),
    ],
)
def test_a_goal_implies_every_goal_that_is_no_stricter(change: dict[str, object], *, is_implied: bool) -> None:
    """Another goal follows if its error is as large, its confidence as small, and its scope equal."""
    assert GOAL.implies(replace(GOAL, **change)) is is_implied


@pytest.mark.parametrize(
    ("scope", "share"),
    [("90%-of-cells", Fraction(9, 10)), ("0.5-of-cells", Fraction(1, 2)), ("total", None), ("", None)],
)
def test_a_scope_of_cells_states_a_share(scope: str, share: Fraction | None) -> None:
    """Only a scope of cells has a share of the answers."""
    assert parse_cells_share(scope) == share
