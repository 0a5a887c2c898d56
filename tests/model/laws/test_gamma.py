import math

import numpy as np
import pytest
from flint import arb
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.laws.gamma import binomial_expansion, log_gamma_bends
from tests.helpers.cases import examples
from tests.oracles.posterior import beta_binomial_law, binomial_law, binomial_log_pmf

RATES = st.sampled_from([1e-12, 1e-4, 0.017, 0.3, 0.5, 0.999, 1 - 1e-12])


@given(point=st.floats(1, 1e15), share=st.floats(-0.999, 5))
def test_log_gamma_differences_keep_their_digits(point: float, share: float) -> None:
    """Ln Γ(x + d) − ln Γ(x) − d·ln x to 4e-15 of itself plus 2e-15."""
    offset = max(1.0 - point, share * point)
    exact = mp.loggamma(mpf(point) + mpf(offset)) - mp.loggamma(point) - mpf(offset) * mp.log(point)
    fast = float(log_gamma_bends([point], np.array([[offset]]))[0])
    ulps_of_the_ratio = abs(math.log1p(offset / point)) * math.ulp(offset)
    assert abs(fast - exact) <= 8e-15 * abs(exact) + 4e-15 + ulps_of_the_ratio


@given(size=st.integers(1, 10**12), rate=RATES, data=st.data())
def test_expansions_match_the_definition_in_fifty_digits(size: int, rate: float, data: st.DataObject) -> None:
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
    """An impossible count has probability 0, without a warning."""
    assert nc.Binomial(10, 0.3).law().pmf(counts).tolist() == [0.0]


@pytest.mark.parametrize("shapes", [(5e-324, 1.0), (1e-320, 1e-300), (1.0, 5e-324), (1e300, 1e-310)])
@pytest.mark.parametrize("size", [1, 2, 20])
def test_shapes_whose_inverse_is_no_double_have_a_law(shapes: tuple[float, float], size: int) -> None:
    """Shapes whose inverse overflows keep their digits, without a warning."""
    law, exact = nc.BetaBinomial(size, *shapes).law(), beta_binomial_law(size, *shapes)
    logs = [float((weight / exact.total).log()) for weight in exact.weights]
    assert law.log_pmf(np.arange(size + 1)) == pytest.approx(logs, rel=1e-13, abs=1e-12)


@pytest.mark.parametrize("shapes", [(1e-308, 2.0), (2.0, 1e-308), (1e308, 1e308), (3.0, 7.0)])
def test_unlike_pairs_are_there_though_a_quotient_of_shapes_is_none(shapes: tuple[float, float]) -> None:
    """E[K(n − K)] = n(n − 1)·αβ/((α + β)(α + β + 1))."""
    alpha, beta = map(arb, shapes)
    exact = 380 * alpha * beta / ((alpha + beta) * (alpha + beta + 1))
    assert nc.BetaBinomial(20, *shapes).moments.discordant == pytest.approx(float(exact), rel=1e-14)


SIZES = st.one_of(st.integers(1, 1000), st.integers(1, 10**12), st.just(10**12))
TAIL_RATES = st.sampled_from([1e-12, 1e-9, 1e-4, 0.017, 0.3, 0.5, 0.999, 1 - 1e-12])
DEVIATIONS = st.one_of(st.floats(-9, 9), st.floats(-500, 500))


def count_at(size: int, rate: float, deviations: float) -> int:
    """The count that lies so many standard deviations above the mean, within 0..size."""
    count = size * rate + deviations * math.sqrt(size * rate * (1 - rate))
    return round(min(size, max(0, count)))


def log_upper_tail(size: int, rate: mpf, count: int) -> mpf:
    """Ln P[K >= count], count above the mean: ∫ t^(count−1)·(1−t)^(size−count) dt over 0..rate.

    The integrand falls from `rate` down to 0; it is integrated in pieces that double in length until one adds nothing
    to 25 digits.
    """
    up, down = count - 1, size - count
    slope = up / rate - down / (1 - rate)
    bend = up / rate**2 + down / (1 - rate) ** 2
    length = rate / (1 + rate * (abs(slope) + mp.sqrt(bend)))

    def change(below: mpf) -> mpf:
        """The integrand at rate − below relative to that at rate."""
        steps = up * mp.log1p(-below / rate) if below < rate else (-mp.inf if up else 0)
        return mp.exp(steps + down * mp.log1p(below / (1 - rate)))

    total, start = mpf(0), mpf(0)
    with mp.workdps(34):
        while start < rate:
            stop = min(rate, start + length)
            part = mp.quad(change, [start, stop])
            total, start, length = total + part, stop, 2 * length
            if part < mpf(10) ** -25 * total:
                break
    # the density of the beta law at the rate is count/rate times the probability of the count
    return mp.log(total * count / rate) + binomial_log_pmf(size, rate, count)


def log_probability_from(size: int, rate: mpf, count: int) -> mpf:
    """Ln P[K >= count], as the complement of the lower tail where that is the smaller one."""
    if count > size * rate:
        return log_upper_tail(size, rate, count)
    if count == 0:
        return mpf(0)
    return mp.log1p(-mp.exp(log_upper_tail(size, 1 - rate, size - count + 1)))


@examples(200)
@given(size=SIZES, rate=TAIL_RATES, deviations=DEVIATIONS)
@example(size=10**12, rate=0.3, deviations=500)
@example(size=10**12, rate=0.3, deviations=-500)
@example(size=10**12, rate=1e-12, deviations=500)
def test_log_probabilities_keep_twelve_digits(size: int, rate: float, deviations: float) -> None:
    """Ln P[K = k] to 1e-12 of max(1, |ln P|) out to 500 standard deviations."""
    count = count_at(size, rate, deviations)
    exact = binomial_log_pmf(size, mpf(rate), count)
    fast = float(nc.Binomial(size, rate).law().log_pmf(count))
    assert abs(fast - exact) <= 1e-12 * max(1, abs(exact))


@pytest.mark.thorough
@examples(40)
@given(size=SIZES, rate=TAIL_RATES, deviations=DEVIATIONS)
@example(size=10**12, rate=0.3, deviations=500)
@example(size=10**12, rate=0.3, deviations=-500)
@example(size=10**12, rate=0.5, deviations=0)
@example(size=10**12, rate=1e-12, deviations=500)
@example(size=10**9, rate=1 - 1e-12, deviations=-500)
def test_log_tails_keep_twelve_digits(size: int, rate: float, deviations: float) -> None:
    """Ln P[K >= k] and ln P[K <= k] to 1e-12 of max(1, |ln P|) out to 500 standard deviations."""
    count = count_at(size, rate, deviations)
    law = nc.Binomial(size, rate).law()
    above = log_probability_from(size, mpf(rate), count)
    below = log_probability_from(size, 1 - mpf(rate), size - count)
    assert abs(law.log_probability(count, math.inf) - above) <= 1e-12 * max(1, abs(above))
    assert abs(law.log_probability(-math.inf, count) - below) <= 1e-12 * max(1, abs(below))


@pytest.mark.parametrize("count", [37, 400, 1000])
def test_the_oracle_is_the_sum_of_the_probabilities(count: int) -> None:
    """The integral that the tails are compared with equals the sum of the definition."""
    direct = mp.fsum(mp.exp(binomial_log_pmf(1000, mpf(0.3), k)) for k in range(count, 1001))
    assert abs(log_probability_from(1000, mpf(0.3), count) - mp.log(direct)) <= mpf(10) ** -20
