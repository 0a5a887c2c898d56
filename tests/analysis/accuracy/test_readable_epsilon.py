import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc

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
    epsilon = nc.readable_epsilon(guess, within, confidence)
    width = math.floor(Fraction(str(within)) * guess)
    x = mp.exp(-mpf(epsilon.numerator) / epsilon.denominator)
    assert 1 - 2 * x ** (width + 1) / (1 + x) >= mpf(confidence)
    assert epsilon >= Fraction(nc.epsilon_for_relative_error(guess, within, confidence))


@given(guess=GUESSES, within=WIDTHS, confidence=CONFIDENCES)
def test_the_readable_epsilon_is_the_next_decimal_of_two_digits(
    guess: int, within: float, confidence: float
) -> None:
    """Two significant digits, and one step less would break the promise or eq. (10)."""
    epsilon = nc.readable_epsilon(guess, within, confidence)
    decimal = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
    assert len(decimal.normalize().as_tuple().digits) <= 2
    step = Fraction(10) ** (decimal.adjusted() - 1)
    lower = epsilon - step
    if lower > 0:
        width = math.floor(Fraction(str(within)) * guess)
        x = mp.exp(-mpf(lower.numerator) / lower.denominator)
        keeps = 1 - 2 * x ** (width + 1) / (1 + x) >= mpf(confidence)
        enough = lower >= Fraction(nc.epsilon_for_relative_error(guess, within, confidence))
        assert not (keeps and enough)


def test_discrete_noise_needs_more_where_the_width_is_not_whole() -> None:
    """±20 % of 9 is ±1.8, so an integer answer has to lie within ±1."""
    continuous = nc.epsilon_for_relative_error(9, 0.2, 0.95)
    assert float(nc.readable_epsilon(9, 0.2, 0.95)) > 1.05 * continuous


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
        nc.readable_epsilon(*arguments)


def test_an_absolute_goal_is_the_relative_one_of_the_same_width() -> None:
    """±20 % of 100 and ±20 are one goal."""
    assert nc.readable_epsilon_within(20, 0.95) == nc.readable_epsilon(100, 0.2, 0.95)
    assert nc.readable_epsilon_within(Fraction(3, 10), 0.95) == nc.readable_epsilon(3, 0.1, 0.95)
