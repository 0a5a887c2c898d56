"""Posteriors hold what they promise on average: false alarms of a simulation are one in 1e6.

That counts and noise are drawn from their laws is in the contracts of populations and noises.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import noisycount as nc
from noisycount.analysis.posterior.posterior import posterior
from noisycount.analysis.posterior.refine import posterior_values, refine
from noisycount.model.noises.additive import SymmetricNoise
from tests.helpers.cases import case_name

FALSE_ALARM = 1e-6
DRAWS = 10_000
LAPLACE_ANSWERS, GAUSSIAN_ANSWERS = range(-48, 61), range(-30, 43)  # all but 1e-13 of them about 0 to 12
LEVEL = 0.95
TABLE = np.array([1.0, 0, 0, *[2.0] * 40, 0, 90.0]) / 171

POPULATIONS: dict[str, nc.Population] = {
    "Binomial": nc.Binomial(1000, 0.3),
    "rare Binomial": nc.Binomial(50, 0.02),
    "BetaBinomial": nc.BetaBinomial(1000, 30, 70),
    "U-shaped BetaBinomial": nc.BetaBinomial(100, 0.5, 0.5),
    "Strata": nc.Strata([500, 300, 20], [0.1, 0.5, 0.9]),
    "Tabulated": nc.Tabulated(TABLE),
}
MECHANISMS = [nc.DiscreteLaplace(5), nc.DiscreteGaussian(8), nc.Subsample(20)]
SMALL: list[nc.Population] = [
    nc.Binomial(12, 0.4),
    nc.BetaBinomial(12, 0.5, 1.5),
    nc.Strata([4, 1, 7], [0.1, 0.5, 0.9]),
    nc.Tabulated([0.125, 0.0, 0.25, 0.5, 0.125]),
    nc.Binomial(12, 0.4).given(5, 1),
]

Counts = NDArray[np.float64]
Chances = NDArray[np.float64]


def drawn_answers(
    counts: Counts, size: int, mechanism: nc.Mechanism, generator: np.random.Generator
) -> NDArray[np.float64]:
    """An answer about each count."""
    if isinstance(mechanism, nc.Subsample):
        whole = counts.astype(np.int64)
        return generator.hypergeometric(whole, size - whole, mechanism.sample_size).astype(np.float64)
    assert isinstance(mechanism, SymmetricNoise)
    return counts + mechanism.draws(DRAWS, generator)


def covered(counts: Counts, answers: NDArray[np.float64], population: nc.Population, mechanism: nc.Mechanism) -> int:
    """Count the intervals that hold their count."""
    low = posterior_values(answers, population, mechanism, lambda told: told.interval(LEVEL)[0])
    high = posterior_values(answers, population, mechanism, lambda told: told.interval(LEVEL)[1])
    return int(((low <= counts) & (counts <= high)).sum())


@pytest.mark.few(0)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("name", POPULATIONS)
def test_intervals_cover_the_count_at_least_as_often_as_they_say(name: str, mechanism: nc.Mechanism) -> None:
    """95 % of 10,000 counts; the smallest number allowed is a quantile of Bin(10000, 0.95)."""
    population, generator = POPULATIONS[name], np.random.default_rng()
    counts = population.draws(DRAWS, generator)
    answers = drawn_answers(counts, population.records, mechanism, generator)
    least = stats.binom.ppf(FALSE_ALARM, DRAWS, LEVEL)
    assert covered(counts, answers, population, mechanism) >= least


@pytest.mark.thorough
def test_an_uncertain_rate_keeps_the_coverage_that_a_wrong_one_loses() -> None:
    """The true rate varies around 0.3 by 0.05: who takes it for 0.3 is wrong in every fourth case.

    The uncertain rate covers 95 %, the fixed one less than 75 %, both beyond doubt.
    """
    uncertain = nc.BetaBinomial.from_rate(1000, 0.3, 0.05)
    noise, generator = nc.DiscreteLaplace(40), np.random.default_rng()
    counts = uncertain.draws(DRAWS, generator)
    answers = drawn_answers(counts, 1000, noise, generator)
    least = stats.binom.ppf(FALSE_ALARM, DRAWS, LEVEL)
    assert covered(counts, answers, uncertain, noise) >= least
    most = stats.binom.ppf(FALSE_ALARM, DRAWS, 0.75)
    assert covered(counts, answers, nc.Binomial(1000, 0.3), noise) < most


@pytest.mark.few(1)
@pytest.mark.parametrize("mechanism", [nc.Laplace(7), nc.Gaussian(7), nc.DiscreteLaplace(3)], ids=str)
@pytest.mark.parametrize("name", POPULATIONS)
def test_estimates_average_to_the_prior_mean(name: str, mechanism: nc.Mechanism) -> None:
    """E[E[K | Y]] = E[K], by the normal law of the average of 10,000 posterior means."""
    population, generator = POPULATIONS[name], np.random.default_rng()
    counts = population.draws(DRAWS, generator)
    answers = drawn_answers(counts, population.records, mechanism, generator)
    estimates = refine(answers, population, mechanism)
    deviation = estimates.std() / DRAWS**0.5
    off = abs(estimates.mean() - population.law().mean) / deviation
    assert off <= stats.norm.isf(FALSE_ALARM / 2)


def laplace_chances(count: int, _: int) -> Chances:
    """P[Y = y | K = count] under DiscreteLaplace(3/2), for all `LAPLACE_ANSWERS`."""
    return np.tanh(1 / 3) * np.exp(-np.abs(np.array(LAPLACE_ANSWERS) - count) / 1.5)


def gaussian_chances(count: int, _: int) -> Chances:
    """P[Y = y | K = count] under DiscreteGaussian(2), for all `GAUSSIAN_ANSWERS`."""
    weights = np.exp(-((np.array(GAUSSIAN_ANSWERS) - count) ** 2) / 8)
    return weights / weights.sum()


def sample_chances(count: int, size: int) -> Chances:
    """P[Y = y | K = count] under Subsample(3), for y = 0..3."""
    return stats.hypergeom.pmf(np.arange(4), size, count, 3)


def exact_chances(count: int, _: int) -> Chances:
    """P[Y = y | K = count] without noise, for y = 0..12."""
    return np.equal(np.arange(13), count).astype(np.float64)


KERNELS = [
    (nc.DiscreteLaplace(1.5), LAPLACE_ANSWERS, laplace_chances),
    (nc.DiscreteGaussian(2), GAUSSIAN_ANSWERS, gaussian_chances),
    (nc.Subsample(3), range(4), sample_chances),
    (nc.Exact(), range(13), exact_chances),
]


@pytest.mark.thorough
@pytest.mark.few(1)
@pytest.mark.parametrize("population", SMALL, ids=lambda population: type(population).__name__)
@pytest.mark.parametrize(("mechanism", "answers", "kernel"), KERNELS, ids=case_name)
def test_posteriors_averaged_over_answers_give_back_the_prior(
    population: nc.Population, mechanism: nc.Mechanism, answers: range, kernel: Callable[[int, int], Chances]
) -> None:
    """Σ_y P[y]·P[k | y] = P[k] for every count k."""
    size = population.records
    prior = population.law().pmf(range(size + 1))
    kernels = np.array([kernel(count, size) for count in range(size + 1)])
    evidence = prior @ kernels
    average = sum(
        chance * posterior(answer, population, mechanism).pmf(range(size + 1))
        for answer, chance in zip(answers, evidence.tolist(), strict=True)
        if chance > 0
    )
    assert average == pytest.approx(prior, rel=1e-11, abs=1e-300)
