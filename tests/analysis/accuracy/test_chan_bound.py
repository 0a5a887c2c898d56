import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import noisycount as nc
from tests.oracles.sum_tails import equal_laplace, unequal_laplace

SCALES = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)
BETAS = st.one_of(st.floats(1e-300, 0.01), st.floats(0.01, 1 - 1e-12))


def printed(scales: list[float], beta: float) -> float:
    """The bound as the blog prints it: √(Σb²)·ln(1/β)."""
    return math.hypot(*scales) * math.log(1 / beta)


@given(scales=SCALES, beta=BETAS)
@settings(deadline=None)
def test_the_bound_holds(scales: list[float], beta: float) -> None:
    """The exact alpha of the sum is never above it."""
    noise = nc.NoiseSum([nc.Laplace(scale) for scale in scales])
    assert nc.accuracy(noise, beta) <= nc.chan_bound(scales, beta)


@given(scales=SCALES, beta=BETAS)
def test_the_bound_is_the_formula(scales: list[float], beta: float) -> None:
    """ν·√(8·ln(2/β)) with ν = max(√(Σb²), b_max·√(ln(2/β)))."""
    odds = math.log(2 / beta)
    width = max(math.sqrt(sum(scale**2 for scale in scales)), max(scales) * math.sqrt(odds))
    assert nc.chan_bound(scales, beta) == pytest.approx(width * math.sqrt(8 * odds), rel=1e-13)


@pytest.mark.parametrize(("count", "beta", "told"), [(2, 0.3, 0.3373), (20, 0.5, 0.618)])
def test_the_bound_without_constants_does_not_hold(count: int, beta: float, told: float) -> None:
    """Of two scales at β = 0.3 the printed error is reached with 0.337, of 20 at 0.5 with 0.618."""
    reached = float(equal_laplace(count, 1.0)(mpf(printed([1.0] * count, beta))))
    assert round(reached, 4) == told > beta
    assert nc.accuracy(nc.NoiseSum([nc.Laplace(1.0)] * count), beta) > printed([1.0] * count, beta)


@pytest.mark.parametrize(("count", "crossing"), [(2, 0.0918934), (20, 0.093478), (1000, 0.0928966)])
def test_the_printed_bound_fails_from_a_beta_on(count: int, crossing: float) -> None:
    """On both sides of the crossing, which is near 0.09 for any number of equal scales."""
    noise, scales = nc.NoiseSum([nc.Laplace(1.0)] * count), [1.0] * count
    assert nc.accuracy(noise, crossing - 1e-6) < printed(scales, crossing - 1e-6)
    assert nc.accuracy(noise, crossing + 1e-6) > printed(scales, crossing + 1e-6)


def test_unequal_scales_break_the_printed_bound_too() -> None:
    """Scales 1 and 3 at β = 0.5, in 300 digits."""
    assert unequal_laplace([1.0, 3.0])(mpf(printed([1.0, 3.0], 0.5))) > 0.5


@pytest.mark.parametrize(
    ("scales", "beta", "message"),
    [
        ([], 0.05, r"^scales must hold at least one scale, got \[\]"),
        ([1.0, 0.0], 0.05, r"^each of scales must be positive and finite, got 0.0"),
        ([-1.0], 0.05, r"^each of scales must be positive and finite, got -1.0"),
        ([math.nan], 0.05, r"^each of scales must be positive and finite, got nan"),
        ([1.0], 0.0, r"^beta must lie strictly between 0 and 1, got 0.0"),
        ([1.0], 1, r"^beta must lie strictly between 0 and 1, got 1"),
    ],
)
def test_bad_scales_and_betas_are_refused(scales: list[float], beta: float, message: str) -> None:
    """No scale, one that is not positive, or a beta that is no probability."""
    with pytest.raises(ValueError, match=message):
        nc.chan_bound(scales, beta)
