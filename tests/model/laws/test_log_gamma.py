import math

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.laws.gamma import binomial_expansion, log_gamma_bend
from tests.oracles.posterior import beta_binomial_law, binomial_law

RATES = st.sampled_from([1e-12, 1e-4, 0.017, 0.3, 0.5, 0.999, 1 - 1e-12])


@given(point=st.floats(1, 1e15), share=st.floats(-0.999, 5))
def test_log_gamma_differences_keep_their_digits(point: float, share: float) -> None:
    """Ln Γ(x + d) − ln Γ(x) − d·ln x to 4e-15 of itself plus 2e-15."""
    offset = max(1.0 - point, share * point)
    exact = mp.loggamma(mpf(point) + mpf(offset)) - mp.loggamma(point) - mpf(offset) * mp.log(point)
    fast = float(log_gamma_bend(point, np.array([offset]))[0])
    ulps_of_the_ratio = abs(math.log1p(offset / point)) * math.ulp(offset)
    assert abs(fast - exact) <= 8e-15 * abs(exact) + 4e-15 + ulps_of_the_ratio


@given(size=st.integers(1, 10**12), rate=RATES, data=st.data())
def test_expansions_match_the_definition_in_fifty_digits(
    size: int, rate: float, data: st.DataObject
) -> None:
    """Ln P[c + d] − ln P[c] near the mode of a binomial of any size."""
    mean = size * rate
    spread = math.sqrt(mean * (1 - rate)) + 1
    centre = min(size, max(0, round(mean + data.draw(st.floats(-5, 5)) * spread)))
    offset = min(size - centre, max(-centre, round(data.draw(st.floats(-5, 5)) * spread)))
    log_pmf = [
        mp.loggamma(size + 1)
        - mp.loggamma(k + 1)
        - mp.loggamma(size - k + 1)
        + k * mp.log(mpf(rate))
        + (size - k) * mp.log(1 - mpf(rate))
        for k in (centre, centre + offset)
    ]
    fast = float(binomial_expansion(size, rate, centre)(np.array([float(offset)]))[0])
    assert abs(fast - (log_pmf[1] - log_pmf[0])) <= 1e-12 * max(1, abs(fast))


@given(size=st.integers(0, 400), rate=st.one_of(RATES, st.sampled_from([0.0, 1.0])))
def test_the_law_of_a_binomial_count_is_exact(size: int, rate: float) -> None:
    """Mean, variance, mode, median and probabilities against the direct sum."""
    fast, exact = nc.Binomial(size, rate).law(), binomial_law(size, rate)
    assert fast.mean == pytest.approx(float(exact.mean), rel=1e-13, abs=1e-300)
    assert fast.variance == pytest.approx(float(exact.variance), rel=1e-12, abs=1e-300)
    assert (fast.mode, fast.median) == (exact.mode, exact.quantile(0.5))
    chances = fast.pmf(range(size + 1))
    for chance, weight in zip(chances, exact.weights, strict=True):
        digits = 1e-12 * max(1, abs(mp.log(weight))) if weight != 0 else 0
        assert abs(chance - weight) <= digits * weight + mpf(5e-324)


@pytest.mark.parametrize("counts", [[-1], [0.5], [11], [float("nan")]])
def test_impossible_counts_have_probability_zero(counts: list[float]) -> None:
    """What a count cannot be has probability 0, without a warning."""
    assert nc.Binomial(10, 0.3).law().pmf(counts).tolist() == [0.0]


@pytest.mark.parametrize("size", [-1, 1.5, float("nan"), float("inf"), 2**53 + 1, True, "10"])
def test_a_size_that_is_no_whole_number_is_refused(size: object) -> None:
    """The refusal names the size and its value."""
    with pytest.raises(ValueError, match=r"^size must be a whole number from 0 to 2\*\*53, got "):
        nc.Binomial(size, 0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), True, "0.5"])
def test_a_rate_outside_the_unit_interval_is_refused(rate: object) -> None:
    """The refusal names the rate and its value."""
    with pytest.raises(ValueError, match=r"^rate must be a probability between 0 and 1, got "):
        nc.Binomial(10, rate)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "shapes", [(5e-324, 1.0), (1e-320, 1e-300), (1.0, 5e-324), (1e300, 1e-310)]
)
@pytest.mark.parametrize("size", [1, 2, 20])
def test_shapes_whose_inverse_is_no_double_have_a_law(
    shapes: tuple[float, float], size: int
) -> None:
    """Where 1/shape overflows logarithms are taken apart: no warning, and the digits are there."""
    law, exact = nc.BetaBinomial(size, *shapes).law(), beta_binomial_law(size, *shapes)
    logs = [float((weight / exact.total).log()) for weight in exact.weights]
    assert law.log_pmf(np.arange(size + 1)) == pytest.approx(logs, rel=1e-13, abs=1e-12)


@pytest.mark.parametrize("shapes", [(1e-308, 2.0), (2.0, 1e-308), (1e308, 1e308), (3.0, 7.0)])
def test_unlike_pairs_are_there_though_a_quotient_of_shapes_is_none(
    shapes: tuple[float, float],
) -> None:
    """E[K(n − K)] = n(n − 1)·αβ/((α + β)(α + β + 1))."""
    alpha, beta = map(arb, shapes)
    exact = 380 * alpha * beta / ((alpha + beta) * (alpha + beta + 1))
    assert nc.BetaBinomial(20, *shapes).moments.discordant == pytest.approx(float(exact), rel=1e-14)
