"""Phrases of answers and previews. Whole answers are tested in `count/test_count.py` and `table/test_table.py`."""

from fractions import Fraction
from pathlib import Path

import pytest

from noisycount.ledger.budget import ApproximateBudget, Budget, PureBudget
from noisycount.ledger.entries import Analyst
from noisycount.tasks.answer_display import (
    certainty_words,
    draws_words,
    estimate_words,
    hidden_key_words,
    ledger_words,
    remaining_words,
)


@pytest.mark.parametrize(
    ("file", "words"),
    [(None, "on a server"), (Path("/home/ana/ledger.db"), "ledger.db"), (Path("ledger.db"), "ledger.db")],
)
def test_a_ledger_is_named_without_its_folder(file: Path | None, words: str) -> None:
    """A path stays hidden, and a ledger on a server has no name."""
    assert ledger_words(file) == words


@pytest.mark.parametrize(
    ("budget", "analyst", "words"),
    [
        (PureBudget(Fraction(2)), Analyst(), "0.5 of 2 left"),
        (PureBudget(Fraction(2)), Analyst("ana", PureBudget(Fraction(1))), "(budget 2, and ana's own 1)"),
        (ApproximateBudget(Fraction(2), Fraction(1, 10**6)), Analyst(), "(budget ε = 2 at δ = 1e-06"),
    ],
)
def test_the_remaining_budget_names_each_budget_that_limits_it(budget: Budget, analyst: Analyst, words: str) -> None:
    """A sum of ε states its remainder, other budgets the largest next price, and an analyst's budget is named."""
    assert words in remaining_words(Fraction(1, 2), budget, analyst)


@pytest.mark.parametrize(
    ("counts", "errors", "end"),
    [
        (1, {"town": 37}, "is in its range"),
        (19, {}, "is in its range"),
        (10, {"town": 37}, "is in its range; all 10 within ±37 at once"),
        (100, {"town": 37}, "about 5 of 100 may lie outside; all 100 within ±37 at once"),
        (10, {"town": 37, "total": 5}, "all 10 at once within ±37 (town), ±5 (total)"),
        (10, {str(error): error for error in range(1, 8)}, "all 10 within ±1 to ±7 at once"),
    ],
)
def test_the_confidence_is_for_each_count_and_for_all(counts: int, errors: dict[str, int], end: str) -> None:
    """A table states the counts that may be farther off, and the errors that hold for all counts at once."""
    words = certainty_words(0.95, counts, errors)
    assert words.startswith("with 95 % confidence each true count is in its range")
    assert words.endswith(end)


@pytest.mark.parametrize(("error", "words"), [(1.25, "12.3 (s.e. 1.25)"), (100.0, "12.3 (s.e. 100)")])
def test_an_estimate_has_its_standard_error(error: float, words: str) -> None:
    """The standard error has three digits, without a point at its end."""
    assert estimate_words(12.34, error) == words


@pytest.mark.parametrize(
    ("chance", "surely", "unit", "words"),
    [
        (
            Fraction(1, 10**6),
            30,
            "person",
            (
                "shown from a noisy count of 20 on: one of a single person with a probability of 1e-06 at most,"
                " one of 30 persons with 95 % at least"
            ),
        ),
        (None, 30, None, "shown from a noisy count of 20 on: one of 30 rows with 95 % at least"),
        (None, None, None, "those that the first, coarser answer showed, from a noisy count of 20 on"),
    ],
)
def test_hidden_keys_state_which_of_them_are_shown(
    chance: Fraction | None, surely: int | None, unit: str | None, words: str
) -> None:
    """The threshold, the risk of a single unit, and the count that is shown with confidence are stated if known."""
    assert hidden_key_words(20, chance, surely, unit, 0.95) == words


def test_a_combined_answer_states_its_draws() -> None:
    """The sentence has the number of draws, and warns of the earlier answers."""
    assert "the mean of 3 independent draws" in draws_words(3)
    assert draws_words(3).endswith("use it in place of the earlier answers, not beside them")
