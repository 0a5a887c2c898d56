import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.half_width import epsilon_within, error_within

mp.dps = 50

CONFIDENCES = st.sampled_from([0.01, 0.5, 0.8, 0.95, 0.99, 1 - 1e-9])


@pytest.mark.parametrize("error", [Fraction(15), 15, 15.9, 0.5, 1000.25])
@pytest.mark.parametrize("confidence", [1e-9, 0.5, 0.95, 1 - 1e-9])
@pytest.mark.parametrize("queries", [1, 10])
def test_the_readable_epsilon_keeps_all_answers_within(
    error: float, confidence: float, queries: int
) -> None:
    """In 50 digits; one step of the second digit less breaks the promise or the formula."""
    epsilon = nc.readable_epsilon_within(error, confidence, queries)
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


@given(
    epsilon=st.fractions(Fraction(1, 1000), 5), confidence=CONFIDENCES, queries=st.integers(1, 9)
)
def test_the_width_is_the_smallest_that_is_kept(
    epsilon: Fraction, confidence: float, queries: int
) -> None:
    """All answers lie within ±m often enough, and not within ±(m − 1), in 50 digits."""
    noise = nc.DiscreteLaplace.for_epsilon(epsilon)
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
        nc.readable_epsilon_within(0, 0.95)
    with pytest.raises(ValueError, match=r"^confidence must lie strictly between 0 and 1, got 1"):
        nc.readable_epsilon_within(3, 1)
    with pytest.raises(ValueError, match=r"^queries must be a whole number from 1 to 2"):
        error_within(nc.DiscreteLaplace(3), 0.95, 0)
