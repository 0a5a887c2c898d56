import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisycount as nc
from noisycount.analysis.posterior.posterior import posterior
from noisycount.analysis.posterior.predictive import law_given, two_sided_probability
from noisycount.model.laws.count_law import WindowedLaw
from tests.helpers.cases import examples

SIZE = 2000
POPULATIONS = [
    nc.Binomial(SIZE, 0.4),
    nc.BetaBinomial(SIZE, 1, 1),
    nc.BetaBinomial(SIZE, 0.5, 3),
    nc.Tabulated(np.full(SIZE + 1, 1 / (SIZE + 1))),
]
NOISES: list[nc.Mechanism] = [
    nc.Laplace(2.5),
    nc.Gaussian(4.0),
    nc.DiscreteLaplace(3),
    nc.NoiseSum([nc.DiscreteGaussian(3), nc.DiscreteGaussian(4)]),
    nc.NoiseSum([nc.DiscreteLaplace(2), nc.DiscreteGaussian(3)]),
]


@pytest.mark.parametrize(
    ("males", "females", "total", "interval"),
    [(14619, 14629, 29277, (14622, 14645)), (82118, 86216, 168323, (82101, 82124))],
    ids=["Orange County", "Chittenden"],
)
def test_two_counts_of_the_census_give_the_printed_interval(
    males: int, females: int, total: int, interval: tuple[int, int]
) -> None:
    """Variance 32.26 a cell, two cells each, a flat prior, the total public."""
    noise = nc.NoiseSum([nc.DiscreteGaussian(math.sqrt(32.26))] * 2)
    told = posterior([males, total - females], nc.BetaBinomial(total, 1, 1), [noise, noise])
    assert told.interval(0.95) == interval
    if total == 29277:
        assert round(told.probability(total // 2 + 1, total), 5) == 0.18904


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("noise", NOISES, ids=lambda one: type(one).__name__)
def test_a_window_tells_what_all_counts_tell(population: nc.Population, noise: nc.Mechanism) -> None:
    """Moments, quantiles, probabilities and tails, near the answers and far from them."""
    observed = [(790, noise), (803, noise)]
    windowed = law_given(population, observed)
    assert isinstance(windowed, WindowedLaw)
    whole = population.law(*(law.likelihood(y, SIZE) for y, law in observed))
    assert abs(windowed.mean - whole.mean) <= 1e-10 * whole.deviation
    assert windowed.variance == pytest.approx(whole.variance, rel=1e-9)
    assert (windowed.mode, windowed.support) == (whole.mode, whole.support)
    levels = (1e-12, 0.025, 0.5, 0.975, 1 - 1e-12)
    assert [windowed.quantile(level) for level in levels] == [whole.quantile(level) for level in levels]
    counts = np.array([0, 500, 790.5, 796, 900, SIZE, SIZE + 1])
    for one, other in ((windowed, whole), (windowed.mirrored, whole.mirrored)):
        side = math.copysign(1, one.mean)
        np.testing.assert_allclose(one.log_pmf(side * counts), other.log_pmf(side * counts), 1e-11)
    for ends in ((0, 400), (799, math.inf), (900, 910), (-5, -1), (1800, SIZE)):
        expected = whole.log_probability(*ends)
        assert windowed.log_probability(*ends) == pytest.approx(expected, rel=1e-11)
        moved = windowed.moved(7).log_probability(ends[0] + 7, ends[1] + 7)
        assert moved == pytest.approx(expected, rel=1e-11)


@examples(60)
@given(
    weights=st.lists(st.sampled_from([0.0, 1e-200, 1e-30, 1e-3, 1.0]), min_size=2, max_size=60),
    answers=st.lists(st.integers(-400, 460), min_size=1, max_size=3),
    scale=st.sampled_from([0.3, 1, 8]),
)
def test_a_window_is_taken_only_where_it_leaves_nothing_out(
    weights: list[float], answers: list[int], scale: float
) -> None:
    """Any table with any holes, any answers: as the sums over all counts."""
    if sum(weights) == 0:
        return
    population = nc.Tabulated(np.array(weights) / sum(weights))
    observed = [(answer, nc.DiscreteLaplace(scale)) for answer in answers]
    whole = population.law(*(law.likelihood(y, population.size) for y, law in observed))
    law = law_given(population, observed)
    assert abs(law.mean - whole.mean) <= 1e-10 * whole.deviation + 1e-12
    assert law.variance == pytest.approx(whole.variance, rel=1e-9, abs=1e-18)
    assert law.quantile(0.5) == whole.quantile(0.5)


def test_answers_that_contradict_what_was_known_are_summed_over_all_counts() -> None:
    """A prior of 1 − 1e-250 at one count, and an answer far from it: both may matter."""
    weights = np.full(2001, 1e-250)
    weights[0] = 1.0
    population, noise = nc.Tabulated(weights), nc.DiscreteLaplace(1)
    law = law_given(population, [(1000, noise)])
    assert not isinstance(law, WindowedLaw)
    share = math.exp(-1000 + 250 * math.log(10)) * math.tanh(0.5)
    assert law.mean == pytest.approx(1000 / (1 + share), rel=1e-9)


def test_a_billion_records_take_a_window_too() -> None:
    """A flat prior and two answers of one normal law: the mean lies between them."""
    size = 10**9
    told = posterior([2 * 10**8, 2 * 10**8 + 9], nc.BetaBinomial(size, 1, 1), [nc.DiscreteGaussian(9)] * 2)
    assert isinstance(told.law, WindowedLaw)
    assert told.mean == pytest.approx(2 * 10**8 + 4.5, abs=1e-9)
    assert told.variance == pytest.approx(81 / 2, rel=1e-9)


def test_an_exact_answer_beside_a_noisy_one_leaves_one_count() -> None:
    """Whatever the noise says."""
    told = posterior([40, 37], nc.BetaBinomial(100, 1, 1), [nc.Exact(), nc.Laplace(3)])
    assert (told.mean, told.variance, told.mode) == (40, 0, 40)


@pytest.mark.parametrize("population", POPULATIONS[:3], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("noise", [*NOISES, nc.Laplace(2000)], ids=lambda one: type(one).__name__)
def test_surprise_near_the_answer_is_that_of_a_table(population: nc.Population, noise: nc.Mechanism) -> None:
    """P[Y <= y] and P[Y >= y] summed over all counts, one by one."""
    table = nc.Tabulated(np.exp(population.law().log_pmf(np.arange(SIZE + 1))))
    counts, prior = np.arange(SIZE + 1, dtype=np.float64), population.law()
    for answer in (-20, 700):
        sums = [
            float(table.law().pmf(counts) @ np.exp(noise.tail(answer, SIZE, upper=upper).log_values(counts)))
            for upper in (False, True)
        ]
        expected = min(1.0, 2 * min(sums))
        assert two_sided_probability(population, prior, answer, noise) == pytest.approx(expected, rel=1e-9)
