import math

import numpy as np
import pytest
from mpmath import mpf

import noisycount as nc
from noisycount.analysis.evaluation.evaluation import ESTIMATES
from tests.oracles.evaluation import Oracle, gaussian_density, laplace_density
from tests.oracles.posterior import Law, binomial_law

BINOMIAL = nc.Binomial(2, 0.3), binomial_law(2, 0.3)
GAP = nc.Tabulated([0.75, 0, 0.25]), Law(0, [mpf("0.75"), mpf(0), mpf("0.25")])
WRONG = nc.Binomial(2, 0.75), binomial_law(2, 0.75)
BAYES = ("mean", "median", "mode")


CASES = {
    "Laplace, true": (nc.Laplace(0.5), laplace_density(0.5), 13, BINOMIAL, BINOMIAL),
    "Laplace, wrong": (nc.Laplace(0.5), laplace_density(0.5), 13, GAP, WRONG),
    "Gaussian, true": (nc.Gaussian(0.75), gaussian_density(0.75), 5, GAP, GAP),
    "Gaussian, wrong": (nc.Gaussian(0.75), gaussian_density(0.75), 5, BINOMIAL, WRONG),
}


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["rounded", *BAYES])
@pytest.mark.parametrize("case", CASES)
def test_continuous_noise_agrees_with_quadrature(by: str, case: str) -> None:
    """Between all places where an estimate bends or the better of the two changes."""
    noise, density, reach, truth, belief = CASES[case]
    exact = Oracle(truth[1], belief[1], density, by, 2).of_real_answers(reach, 0.25)
    assumed = None if truth is belief else belief[0]
    error = nc.mean_absolute_error(truth[0], noise, by, assumed)
    assert error == pytest.approx(float(exact[0]), rel=1e-9)
    improvement = nc.improvement_probability(truth[0], noise, by, assumed)
    assert improvement == pytest.approx(float(exact[1]), abs=1e-9)
    assert nc.tie_probability(truth[0], noise, by, assumed) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("by", BAYES)
@pytest.mark.parametrize("assumed", [None, nc.Binomial(1000, 0.31)])
def test_error_at_the_size_of_the_paper_is_that_of_refine(by: str, assumed: nc.Population | None) -> None:
    """N = 1000, ε = 0.1: the midpoint rule on a grid of 1/16 with the estimates of `refine`."""
    population, noise, steps = nc.Binomial(1000, 0.3), nc.Laplace(10), 16
    counts = np.arange(200, 401, dtype=np.float64)
    answers = np.arange(80 * steps, 520 * steps) / steps + 0.5 / steps
    estimates = nc.refine(answers, assumed or population, noise, by)
    chances = population.law().pmf(counts)
    error = improved = 0.0
    for count, chance in zip(counts, chances, strict=True):
        density = chance / (20 * steps) * np.exp(-np.abs(answers - count) / 10)
        away = np.abs(count - estimates)
        error += float(density @ away)
        improved += float(density[away < np.abs(count - answers)].sum())
    assert nc.mean_absolute_error(population, noise, by, assumed) == pytest.approx(error, rel=1e-4)
    found = nc.improvement_probability(population, noise, by, assumed)
    assert found == pytest.approx(improved, abs=2e-3)


@pytest.mark.parametrize("by", BAYES)
def test_narrow_noise_keeps_its_digits(by: str) -> None:
    """A record of rate 1/2, scale 1/50: the median errs where the noise exceeds 1/2."""
    population, noise = nc.Binomial(1, 0.5), nc.Laplace(0.02)
    exact = mean_error_of_one_record(0.02) if by == "mean" else math.exp(-0.5 / 0.02) / 2
    assert nc.mean_absolute_error(population, noise, by) == pytest.approx(exact, rel=1e-9)


def mean_error_of_one_record(scale: float) -> float:
    """∫ f(y)·f(y − 1)/(f(y) + f(y − 1)) dy, as |K − e| has the mean 2e(1 − e) for K of 0 or 1.

    With h = e^(−1/(2·scale)): h·(π/4 − arctan h) between 0 and 1, h²/(1 + h²) beyond.
    """
    half = math.exp(-0.5 / scale)
    return half * (math.pi / 4 - math.atan(half)) + half**2 / (1 + half**2)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "noises",
    [
        [nc.Laplace(3), nc.Laplace(4)],
        [nc.Laplace(0.3), nc.Laplace(40)],
        [nc.Laplace(0.5), nc.Gaussian(2)],
        [nc.DiscreteLaplace(3), nc.DiscreteLaplace(4)],
        [nc.DiscreteLaplace(0.5), nc.DiscreteGaussian(20)],
    ],
)
def test_tables_of_sums_are_their_laws(noises: list[nc.Mechanism]) -> None:
    """Densities to 1e-11 relative, tails to 1e-12, as far as the noise reaches."""
    noise = nc.NoiseSum(noises)
    reach = math.ceil(noise.error_with_tail(-80))
    table = noise.errors.tabulated(reach)
    errors = np.random.default_rng(1).uniform(-reach, reach, 60)
    errors = np.concatenate([errors, errors / 50, [0.0]])
    errors = np.round(errors) if noise.is_discrete else errors
    densities = np.array([noise.log_density(error) for error in errors.tolist()])
    tails = np.exp([noise.log_exceedance(error) for error in errors.tolist()])
    assert table.log_density(errors) == pytest.approx(densities, abs=1e-11)
    assert table.exceedance(errors) == pytest.approx(tails, abs=1e-12)


@pytest.mark.thorough
def test_a_little_noise_more_makes_little_difference() -> None:
    """A sum with a noise that is far narrower is worth what the wide one is."""
    population = nc.Binomial(20, 0.3)
    for by in ESTIMATES:
        sum_of_two = nc.mean_absolute_error(population, nc.NoiseSum([nc.Laplace(3), nc.Laplace(1e-3)]), by)
        assert sum_of_two == pytest.approx(nc.mean_absolute_error(population, nc.Laplace(3), by), rel=1e-5)
