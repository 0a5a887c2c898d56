import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from noisycount.analysis.accuracy.readable_epsilon import (
    epsilon_within,
    error_within,
    readable_epsilon,
    readable_epsilon_within,
)
from noisycount.analysis.accuracy.relative_error import epsilon_for_relative_error
from noisycount.model.noises.discrete_laplace import DiscreteLaplace

mp.dps = 50

GUESSES = st.integers(1, 10**6)
WIDTHS = st.sampled_from([0.001, 0.01, 0.1, 0.199, 0.2, 0.5, 1.0, 3.0])
CONFIDENCES = st.sampled_from([0.01, 0.5, 0.8, 0.95, 0.99, 1 - 1e-9])


def test_the_interval_of_equation_3_follows_from_epsilon() -> None:
    """Naldi and D'Acquisto (2015), eq. (3): at ε = 0.01 the ratio lies in [0.99, 1.01]."""
    assert [round(math.exp(sign * 0.01), 2) for sign in (-1, 1)] == [0.99, 1.01]


@given(guess=GUESSES, within=WIDTHS, confidence=CONFIDENCES)
def test_the_readable_epsilon_keeps_the_promise_for_the_discrete_noise(
    guess: int, within: float, confidence: float
) -> None:
    """P[|Z| <= ⌊w·c⌋] >= confidence, in 50 digits, and ε is not below eq. (10)."""
    epsilon = readable_epsilon(guess, within, confidence)
    width = math.floor(Fraction(str(within)) * guess)
    x = mp.exp(-mpf(epsilon.numerator) / epsilon.denominator)
    assert 1 - 2 * x ** (width + 1) / (1 + x) >= mpf(confidence)
    assert epsilon >= Fraction(epsilon_for_relative_error(guess, within, confidence))


@given(guess=GUESSES, within=WIDTHS, confidence=CONFIDENCES)
def test_the_readable_epsilon_is_the_next_decimal_of_two_digits(
    guess: int, within: float, confidence: float
) -> None:
    """Two significant digits, and one step less would break the promise or eq. (10)."""
    epsilon = readable_epsilon(guess, within, confidence)
    decimal = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
    assert len(decimal.normalize().as_tuple().digits) <= 2
    step = Fraction(10) ** (decimal.adjusted() - 1)
    lower = epsilon - step
    if lower > 0:
        width = math.floor(Fraction(str(within)) * guess)
        x = mp.exp(-mpf(lower.numerator) / lower.denominator)
        keeps = 1 - 2 * x ** (width + 1) / (1 + x) >= mpf(confidence)
        enough = lower >= Fraction(epsilon_for_relative_error(guess, within, confidence))
        assert not (keeps and enough)


def test_discrete_noise_needs_more_where_the_width_is_not_whole() -> None:
    """±20 % of 9 is ±1.8, so an integer answer has to lie within ±1."""
    continuous = epsilon_for_relative_error(9, 0.2, 0.95)
    assert float(readable_epsilon(9, 0.2, 0.95)) > 1.05 * continuous


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((0, 0.2, 0.95), "count"),
        ((-5, 0.2, 0.95), "count"),
        ((float("nan"), 0.2, 0.95), "count"),
        ((100, 0, 0.95), "within"),
        ((100, -0.2, 0.95), "within"),
        ((100, 0.2, 0), "confidence"),
        ((100, 0.2, 1), "confidence"),
        ((100, 0.2, 95), "confidence"),
    ],
)
def test_bad_goals_are_refused_by_name(arguments: tuple[float, float, float], name: str) -> None:
    """A guess, width or confidence that cannot be is named with its value."""
    with pytest.raises(ValueError, match=rf"^{name} must .*, got "):
        readable_epsilon(*arguments)


@pytest.mark.parametrize("error", [Fraction(15), 15, 15.9, 0.5, 1000.25])
@pytest.mark.parametrize("confidence", [1e-9, 0.5, 0.95, 1 - 1e-9])
@pytest.mark.parametrize("queries", [1, 10])
def test_the_readable_epsilon_keeps_all_answers_within(
    error: float, confidence: float, queries: int
) -> None:
    """In 50 digits; one step of the second digit less breaks the promise or the formula."""
    epsilon = readable_epsilon_within(error, confidence, queries)
    width = math.floor(error)
    formula = -mp.log1p(-(mpf(confidence) ** (mpf(1) / queries))) / mpf(float(error))

    def kept(price: Fraction) -> bool:
        fall = mp.exp(-mpf(price.numerator) / price.denominator)
        inside = (1 - 2 * fall ** (width + 1) / (1 + fall)) ** queries
        return bool(inside >= confidence and price >= formula)

    step = Fraction(10) ** (math.floor(math.log10(epsilon)) - 1)
    assert (epsilon / step).denominator == 1
    assert kept(epsilon)
    assert not kept(epsilon - step)


def test_an_absolute_goal_is_the_relative_one_of_the_same_width() -> None:
    """±20 % of 100 and ±20 are one goal."""
    assert readable_epsilon_within(20, 0.95) == readable_epsilon(100, 0.2, 0.95)
    assert readable_epsilon_within(Fraction(3, 10), 0.95) == readable_epsilon(3, 0.1, 0.95)


@given(
    epsilon=st.fractions(Fraction(1, 1000), 5), confidence=CONFIDENCES, queries=st.integers(1, 9)
)
def test_the_width_is_the_smallest_that_is_kept(
    epsilon: Fraction, confidence: float, queries: int
) -> None:
    """All answers lie within ±m often enough, and not within ±(m − 1), in 50 digits."""
    noise = DiscreteLaplace.for_epsilon(epsilon)
    fall = mp.exp(-mpf(noise.scale.denominator) / noise.scale.numerator)

    def inside(width: int) -> mpf:
        return (1 - 2 * fall ** (width + 1) / (1 + fall)) ** queries

    width = error_within(noise, confidence, queries)
    assert inside(width) >= confidence - mpf(1e-12)
    assert width == 0 or inside(width - 1) < confidence + mpf(1e-12)


@pytest.mark.parametrize("confidence", [1e-20, 0.5, 0.95, 1 - 1e-12])
@pytest.mark.parametrize("queries", [1, 10_000])
def test_the_formula_holds_for_several_answers(confidence: float, queries: int) -> None:
    """(1 − e^(−ε·error))^k is the confidence."""
    epsilon = epsilon_within(15, confidence, queries)
    outside = mp.exp(-15 * mpf(epsilon))
    exact = -mp.log(-mp.expm1(mp.log(mpf(confidence)) / queries)) / 15
    assert abs(epsilon / exact - 1) < 1e-13
    assert 0 < outside < 1


def test_widths_and_confidences_that_cannot_be_are_refused() -> None:
    """No interval has a width of 0, and nothing is sure."""
    with pytest.raises(ValueError, match=r"^error must be positive and finite, got 0"):
        readable_epsilon_within(0, 0.95)
    with pytest.raises(ValueError, match=r"^confidence must lie strictly between 0 and 1, got 1"):
        readable_epsilon_within(3, 1)
    with pytest.raises(ValueError, match=r"^queries must be a whole number from 1 to 2"):
        error_within(DiscreteLaplace(3), 0.95, 0)
