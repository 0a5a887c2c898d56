import itertools
import math
from collections.abc import Callable
from operator import mul

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import binomial, log, mp, mpf

import noisycount as nc
from noisycount.model.populations.binomial_sums import RateGroups, deep_sum_of_binomials, sum_of_binomials
from tests.helpers.cases import examples
from tests.oracles.posterior import (
    Law,
    assert_exact,
    binomial_window,
    gaussian_likelihood,
    laplace_likelihood,
    reweighted,
    sample_likelihood,
    strata_law,
)

RATES = st.sampled_from([0.0, 1e-12, 1e-4, 0.017, 0.3, 0.5, 0.999, 1 - 1e-12, 1.0])
BITS = 300


def fixed_point(law: Law) -> list[int]:
    """The probabilities in units of 2^−300."""
    total = law.total
    return [int(mp.ldexp(weight / total, BITS)) for weight in law.weights]


def sum_law(one: Law, other: Law) -> Law:
    """The law of a sum of two counts: the convolution, to an absolute 1e-80."""
    long, short = sorted([one, other], key=lambda law: len(law.weights))[::-1]
    values, turned = fixed_point(long), fixed_point(short)[::-1]
    padding = [0] * (len(turned) - 1)
    padded = [*padding, *values, *padding]
    sums = (
        sum(map(mul, turned, itertools.islice(padded, start, start + len(turned))))
        for start in range(len(values) + len(padding))
    )
    return Law(one.first + other.first, [mp.ldexp(value, -2 * BITS) for value in sums])


def bulk(size: int, rate: float, reach: float = 13) -> Law:
    """The binomial law within so many standard deviations of its mean."""
    mean, deviation = size * rate, math.sqrt(size * rate * (1 - rate))
    first, last = mean - reach * deviation - 9, mean + reach * deviation + 9
    return binomial_window(size, rate, max(0, round(first)), min(size, round(last)))


@pytest.fixture(scope="module")
def million() -> tuple[nc.Strata, Law]:
    """A million records of two kinds, and a few of certain and rare ones."""
    strata = nc.Strata([900_000, 99_990, 7, 3], [0.02, 1e-3, 1.0, 0.0])
    law = sum_law(bulk(900_000, 0.02), bulk(99_990, 1e-3))
    return strata, Law(law.first + 7, law.weights)


@examples(60)
@given(groups=st.lists(st.tuples(st.sampled_from([0, 1, 1, 2, 25]), RATES), min_size=1, max_size=6))
def test_the_law_of_a_sum_is_exact(groups: list[tuple[int, float]]) -> None:
    """Every probability of narrow laws to 1e-12 of itself, against the convolution."""
    sizes, rates = zip(*groups, strict=True)
    law, exact = nc.Strata(sizes, rates).law(), strata_law(sizes, rates)
    expected = [float(weight) for weight in exact.weights]
    assert law.pmf(range(sum(sizes) + 1)) == pytest.approx(expected, rel=1e-12, abs=1e-290)
    assert law.mean == pytest.approx(float(exact.mean), rel=1e-14, abs=1e-300)


@examples(20)
@given(
    rates=st.lists(st.floats(0.02, 0.98), min_size=120, max_size=300),
    answer=st.floats(-50, 350),
    noise=st.sampled_from([nc.Laplace(0.5), nc.Laplace(20), nc.Gaussian(3), nc.Gaussian(1e4)]),
)
def test_single_records_of_unequal_rates_are_exact(
    rates: list[float], answer: float, noise: nc.Laplace | nc.Gaussian
) -> None:
    """Wide Poisson-binomial laws come by their frequencies; the answer may lie in their tails."""
    sizes = [1] * len(rates)
    likelihood = laplace_likelihood if isinstance(noise, nc.Laplace) else gaussian_likelihood
    exact = reweighted(strata_law(sizes, rates), likelihood(answer, noise.scale))
    assert_exact(nc.posterior(answer, nc.Strata(sizes, rates), noise), exact)


@pytest.mark.parametrize(
    ("deviations", "noise", "likelihood"),
    [
        (0.3, nc.Laplace(0.01), laplace_likelihood),
        (-2, nc.Laplace(30), laplace_likelihood),
        (1.5, nc.Laplace(1e9), laplace_likelihood),
        (2, nc.Gaussian(0.5), gaussian_likelihood),
        (6, nc.Gaussian(200), gaussian_likelihood),
        (0, nc.Gaussian(1e6), gaussian_likelihood),
    ],
)
def test_a_million_records_are_exact(
    million: tuple[nc.Strata, Law],
    deviations: float,
    noise: nc.Laplace | nc.Gaussian,
    likelihood: Callable[[float, float], Callable[[int], mpf]],
) -> None:
    """Against a convolution in integers of 300 bits."""
    strata, law = million
    answer = 18_107 + 0.25 + deviations * 133
    exact = reweighted(law, likelihood(answer, noise.scale))
    assert_exact(nc.posterior(answer, strata, noise), exact)


def test_a_sample_of_a_million_records_is_exact(million: tuple[nc.Strata, Law]) -> None:
    """A tenth of the records were drawn without noise."""
    strata, law = million
    exact = reweighted(law, sample_likelihood(1850, 100_000, 10**6))
    assert_exact(nc.posterior(1850, strata, nc.Subsample(100_000)), exact)


def test_the_law_of_a_million_records_keeps_digits_far_out(million: tuple[nc.Strata, Law]) -> None:
    """Log-probabilities of the prior law within its depth, to 1e-10."""
    strata, exact = million
    law = strata.law()
    assert law.depth >= 70
    counts = np.arange(18_107 - 1400, 18_107 + 1500, 50)
    total = mp.log(exact.total)
    for count, log_pmf in zip(counts.tolist(), law.log_pmf(counts).tolist(), strict=True):
        expected = mp.log(exact.weights[count - exact.first]) - total
        assert log_pmf == pytest.approx(float(expected), rel=1e-10)


def test_knowing_twice_is_knowing_the_sum() -> None:
    """Known records that are stated in two steps equal their sum in a single step."""
    strata = nc.Strata([4, 5], [0.25, 0.75])
    twice = strata.given([1, 1], [1, 0]).given([0, 1], [0, 1])
    once = strata.given([1, 2], [1, 1])
    assert (twice.known, twice.positives, twice.records) == (3, 2, 9)
    assert twice.law().pmf(range(10)).tolist() == once.law().pmf(range(10)).tolist()


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_group_of_a_certain_property_has_no_neighbours(rate: float) -> None:
    """Beside others it is as if known; alone it is refused with its rate."""
    (pair,) = nc.Strata([2, 3], [0.5, rate]).neighbours()
    assert pair.positive.law().mean == 1.5 + 3 * rate
    with pytest.raises(ValueError, match=rf"^rates must lie between 0 and 1 .*, got \[{rate}\]: "):
        list(nc.Strata([3], [rate]).neighbours())


@pytest.mark.parametrize("spread", [0.01, 1.0, 6.0])
@pytest.mark.parametrize("tilt", [-3.0, 0.0, 0.7, 5.0])
def test_few_kinds_have_the_law_of_many(spread: float, tilt: float) -> None:
    """The law, its moments and its growth are those of all rates, to rounding."""
    log_odds = np.sort(np.random.default_rng(7).normal(-1.0, spread, 3000))
    sizes = 1.0 + np.arange(3000) % 4
    kinds = RateGroups(sizes, log_odds)
    rates = 1 / (1 + np.exp(-log_odds - tilt))
    first, logs = sum_of_binomials(sizes, rates, 1 / (1 + np.exp(log_odds + tilt)))
    few_first, few_logs = kinds.law(tilt)
    assert few_first == first
    assert np.exp(few_logs) == pytest.approx(np.exp(logs), abs=1e-13)
    assert kinds.moments(tilt)[0] == pytest.approx(float(sizes @ rates), rel=1e-14)
    assert kinds.gauss.shape[1] <= 16 * (2 + np.ptp(log_odds) // 2)


def test_few_kinds_are_all_kinds() -> None:
    """Few kinds of records are not merged."""
    sizes, log_odds = np.array([3.0, 5.0]), np.array([-1.0, 0.5])
    assert (RateGroups(sizes, log_odds).gauss == [sizes, log_odds]).all()


def test_equal_log_odds_are_one_kind() -> None:
    """Rates that are the same but for rounding leave a single node."""
    log_odds = np.sort(-1.0 + 1e-15 * np.arange(40))
    few = RateGroups(np.ones(40), log_odds).gauss
    assert few[0].sum() == pytest.approx(40, rel=1e-14)
    assert few[1] == pytest.approx(np.full(few.shape[1], -1.0), rel=1e-13)


mp.dps = 50


def exact_logs(sizes: list[int], rates: list[float], count: int) -> mpf:
    """The logarithm of the probability of a count of one or two kinds."""
    first, rate = sizes[0], mpf(rates[0])
    if len(sizes) == 1:
        return log(binomial(first, count) * rate**count * (1 - rate) ** (first - count))
    second, other = sizes[1], mpf(rates[1])
    return log(
        mp.fsum(
            binomial(first, i)
            * rate**i
            * (1 - rate) ** (first - i)
            * binomial(second, count - i)
            * other ** (count - i)
            * (1 - other) ** (second - count + i)
            for i in range(max(0, count - second), min(first, count) + 1)
        )
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sizes", "rates"),
    [
        ([300, 200], [0.1, 0.4]),
        ([36000], [0.001]),
        ([2000, 3000], [0.01, 0.004]),
        ([400, 400], [0.999, 0.6]),
        ([20], [0.5]),
    ],
)
def test_probabilities_keep_their_digits_to_the_ends(sizes: list[int], rates: list[float]) -> None:
    """Down to e^−700, and to a count of 0 or of all where they are nearer."""
    weights, odds = np.array(sizes, dtype=np.float64), np.array(rates)
    kinds = RateGroups(weights, np.log(odds) - np.log1p(-odds))
    first, logs = deep_sum_of_binomials(kinds, 700.0)
    last = first + logs.size - 1
    assert logs[0] < -690 or first == 0
    assert logs[-1] < -690 or last == sum(sizes)
    for place in np.linspace(0, logs.size - 1, 25).astype(int).tolist():
        assert logs[place] == pytest.approx(float(exact_logs(sizes, rates, first + place)), rel=2e-14, abs=1e-12)
