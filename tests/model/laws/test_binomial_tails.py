import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from tests.layers import examples
from tests.oracles.posterior import binomial_log_pmf

SIZES = st.one_of(st.integers(1, 1000), st.integers(1, 10**12), st.just(10**12))
RATES = st.sampled_from([1e-12, 1e-9, 1e-4, 0.017, 0.3, 0.5, 0.999, 1 - 1e-12])
DEVIATIONS = st.one_of(st.floats(-9, 9), st.floats(-500, 500))


def count_at(size: int, rate: float, deviations: float) -> int:
    """The count that lies so many standard deviations above the mean, within 0..size."""
    count = size * rate + deviations * math.sqrt(size * rate * (1 - rate))
    return round(min(size, max(0, count)))


def log_upper_tail(size: int, rate: mpf, count: int) -> mpf:
    """Ln P[K >= count], count above the mean: ∫ t^(count−1)·(1−t)^(size−count) dt over 0..rate.

    The integrand falls from `rate` down to 0; it is integrated in pieces that double in length
    until one adds nothing to 25 digits.
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
@given(size=SIZES, rate=RATES, deviations=DEVIATIONS)
@example(size=10**12, rate=0.3, deviations=500)
@example(size=10**12, rate=0.3, deviations=-500)
@example(size=10**12, rate=1e-12, deviations=500)
def test_log_probabilities_keep_twelve_digits(size: int, rate: float, deviations: float) -> None:
    """Ln P[K = k] to 1e-12 of max(1, |ln P|) out to 500 standard deviations."""
    count = count_at(size, rate, deviations)
    exact = binomial_log_pmf(size, mpf(rate), count)
    fast = float(nc.Binomial(size, rate).law().log_pmf(count))
    assert abs(fast - exact) <= 1e-12 * max(1, abs(exact))


@examples(40)
@given(size=SIZES, rate=RATES, deviations=DEVIATIONS)
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
