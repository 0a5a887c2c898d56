from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.query.query import Query
from noisycount.release.query_plan import count_price
from noisycount.tasks.plan import planned, planned_error


@given(
    guess=st.integers(1, 10**6),
    percent=st.integers(1, 100),
    confidence=st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_the_price_is_that_of_the_plan(guess: int, percent: int, confidence: float) -> None:
    """However the share is written, and as an error too."""
    price = planned(guess, percent / 100, confidence).epsilon
    texts = (
        f"{percent}%",
        f"±{percent} %",
        f"{percent / 100}",
        percent / 100,
        Fraction(percent, 100),
    )
    for within in texts:
        assert count_price(Query(within=within, guess=guess, confidence=confidence)) == price
    error = Fraction(percent * guess, 100)
    assert count_price(Query(error=error, confidence=confidence)) == price
    assert planned_error(error, confidence).epsilon == price


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({}, r"^one of epsilon, within and error must be given, got none: such as "),
        ({"epsilon": 1, "error": 3}, r"^one of .*, got epsilon and error: "),
        ({"within": 0.2}, r"^guess must be given with within, and only then, got None with within"),
        ({"epsilon": 1, "guess": 5}, r"^guess must be .* got 5 with epsilon"),
        ({"error": 1, "guess": 5}, r"^guess must be .* got 5 with error"),
        ({"epsilon": "a tenth"}, r"^epsilon must be a decimal"),
        ({"within": "20 percent", "guess": 5}, r"^within must be .* got '20 percent'$"),
        ({"within": "120%", "guess": 5}, r"^within must be .* got '120%'$"),
        ({"within": True, "guess": 5}, r"^within must be .* got True$"),
        ({"within": 0, "guess": 5}, r"^within must be positive and finite, got 0$"),
        ({"within": "20%", "guess": 0}, r"^guess must be positive and finite, got 0$"),
        ({"error": -1}, r"^error must be positive and finite, got -1$"),
        ({"error": 1, "confidence": 95}, r"^confidence must lie strictly between 0 and 1, got 95$"),
        ({"error": 1e-9}, r"^error must need an ε from 1e-9 to 1e6, got ±1e-09 units, which need"),
        ({"within": 1, "guess": 1e13}, r"^within must need an ε from .* ±1e\+13 units, .* another"),
    ],
)
def test_a_goal_that_cannot_be_is_refused_by_name(goal: dict[str, Any], message: str) -> None:
    """One line that tells what was asked, and what would do."""
    with pytest.raises(ValueError, match=message):
        count_price(Query(**goal))
