"""Mean absolute errors summed over counts, beside integrals over answers and double sums in long doubles.

Tests of `analysis/evaluation/mean.py` and `analysis/evaluation/error_by_count.py`.
"""

import math

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.evaluation import error_by_count
from noisycount.analysis.evaluation.estimates import case_of
from noisycount.model.noises.additive import SymmetricNoise

ROUGH = np.random.default_rng(1).random(300)


def by_count(population: nc.Population, noise: nc.Mechanism, assumed: nc.Population | None = None) -> float:
    """Return the error by the sum over counts, whatever the noise."""
    assert isinstance(noise, SymmetricNoise)
    return error_by_count.ErrorByCount(case_of(population, noise, assumed)).average


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [nc.Gaussian(2), nc.Gaussian(40), nc.Laplace(1), nc.Laplace(10)], ids=str)
@pytest.mark.parametrize(
    ("population", "assumed"),
    [(nc.BetaBinomial(10**4, 3, 7), None), (nc.BetaBinomial(10**4, 0.5, 0.5), nc.BetaBinomial(10**4, 3, 1))],
    ids=["true", "assumed"],
)
def test_a_sum_over_counts_is_the_integral_over_answers(
    population: nc.Population, assumed: nc.Population | None, noise: nc.Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Distributions that are smooth except at their ends."""
    error = by_count(population, noise, assumed)
    monkeypatch.setattr(error_by_count, "_MANY", math.inf)
    assert error == pytest.approx(nc.mean_absolute_error(population, noise, "mean", assumed), rel=1e-10)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "noise",
    [nc.Gaussian(2), nc.Gaussian(30), nc.NoiseSum([nc.Laplace(1), nc.Laplace(2)])],
    ids=["narrow", "wide", "kinked"],
)
def test_errors_under_sums_and_rough_tables_are_integrals(noise: nc.Mechanism, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random probabilities under Gaussian noise, and smooth ones under noise with a kink."""
    is_kinked = isinstance(noise, nc.NoiseSum)
    population = nc.Binomial(400, 0.3) if is_kinked else nc.Tabulated(ROUGH / ROUGH.sum())
    monkeypatch.setattr(error_by_count, "_MANY", 100)
    error = by_count(population, noise)
    monkeypatch.setattr(error_by_count, "_MANY", math.inf)
    assert error == pytest.approx(nc.mean_absolute_error(population, noise, "mean"), rel=1e-10)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [nc.DiscreteLaplace(10), nc.NoiseSum([nc.DiscreteLaplace(4)] * 2)], ids=str)
def test_discrete_noise_agrees_with_the_double_sum_in_long_doubles(noise: nc.DiscreteLaplace | nc.NoiseSum) -> None:
    """Sums over the counts and answers of noticeable probability."""
    population = nc.Binomial(40_000, 0.3)
    counts = np.arange(11_000, 13_001)
    answers = np.arange(10_700, 13_301)
    chances = population.law().pmf(counts).astype(np.longdouble)
    heights = np.exp(noise.errors.log_heights(np.arange(-2400.0, 2401.0))).astype(np.longdouble)
    joint = chances * heights[answers[:, None] - counts + 2400]
    means = (joint * (counts - 12_000)).sum(axis=1) / joint.sum(axis=1) + 12_000
    exact = float((joint * np.abs(counts - means[:, None])).sum() / joint.sum())
    assert by_count(population, noise) == pytest.approx(exact, rel=1e-10)


@pytest.mark.thorough
def test_a_table_with_one_likely_count_has_all_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is far below the rounding of a mean: it is the integral over answers, which keeps its digits."""
    masses = np.full(3000, 1e-18)
    masses[1500] = 1.0
    population, noise = nc.Tabulated(masses / masses.sum()), nc.Gaussian(2)
    error = nc.mean_absolute_error(population, noise, "mean")
    monkeypatch.setattr(error_by_count, "_MANY", math.inf)
    assert error == nc.mean_absolute_error(population, noise, "mean")
    far = np.abs(np.arange(3000) - 1500) > 18  # where the posterior is that of a uniform count
    assert error == pytest.approx(1e-18 * far.sum() * noise.mean_absolute, rel=0.15)


def test_the_sum_is_not_used_for_noise_that_is_too_narrow() -> None:
    """Panels of a record do not resolve a scale of 1/100."""
    noise = nc.NoiseSum([nc.Laplace(0.01), nc.Laplace(10)])
    assert error_by_count.ErrorByCount.of_case(case_of(nc.Binomial(40_000, 0.3), noise, None)) is None
