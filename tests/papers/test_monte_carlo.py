from dataclasses import dataclass

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.evaluation.evaluation import ESTIMATES, EstimateKind
from noisycount.analysis.posterior.refine import refine_array
from noisycount.model.noises.additive import SymmetricNoise

PAIRS = [
    (nc.Binomial(100, 0.3), nc.Laplace(1)),
    (nc.BetaBinomial(50, 0.5, 2), nc.Gaussian(2)),
    (nc.Strata([30, 40], [0.1, 0.6]), nc.DiscreteLaplace(3)),
    (nc.Tabulated([0.25, 0, 0, 0.5, 0.25]), nc.DiscreteGaussian(5)),
    (nc.Binomial(100, 0.3).given(40, 10), nc.NoiseSum([nc.DiscreteLaplace(1), nc.DiscreteLaplace(2)])),
]


@dataclass(frozen=True)
class Drawn:
    """Counts that were drawn, and how far their answers and the estimates from these are from them."""

    answers: np.ndarray
    raw: np.ndarray
    away: np.ndarray


def drawn(  # noqa: PLR0913, PLR0917 - what is simulated
    population: nc.Population,
    noise: SymmetricNoise,
    by: EstimateKind,
    runs: int,
    seed: int,
    assumed: nc.Population | None = None,
) -> Drawn:
    """Counts, answers and estimates."""
    generator, believed = np.random.default_rng(seed), assumed or population
    counts = population.draws(runs, generator)
    answers = counts + noise.draws(runs, generator)
    if by == "answer":
        estimates = answers
    elif by == "rounded":
        estimates = np.clip(np.floor(answers + 0.5), 0, believed.records)
    else:
        estimates = refine_array(answers, believed, noise, by)
    return Drawn(answers, np.abs(counts - answers), np.abs(counts - estimates))


def assert_agrees(
    found: Drawn,
    population: nc.Population,
    noise: nc.Mechanism,
    by: EstimateKind,
    assumed: nc.Population | None = None,
) -> None:
    """Check that all three averages agree within five standard errors, or five runs if nothing happened."""
    tied = np.abs(found.away - found.raw) <= 1e-11 * np.maximum(1.0, np.maximum(found.away, found.raw))
    if by != "answer" and (found.answers % 1).any():
        tied &= found.away == found.raw
    improved, runs = (found.away < found.raw) & ~tied, found.away.size
    for values, exact, least in (
        (found.away, nc.mean_absolute_error, 0),
        (improved, nc.improvement_probability, 5 / runs),
        (tied, nc.tie_probability, 5 / runs),
    ):
        away = abs(values.mean() - exact(population, noise, by, assumed))
        assert away <= 5 * values.std() / runs**0.5 + least


@pytest.mark.few(2)
@pytest.mark.parametrize("by", ["rounded", "mean"])
@pytest.mark.parametrize("noise", [nc.Laplace(10), nc.DiscreteLaplace(10)])
@pytest.mark.parametrize("assumed", [None, nc.Binomial(1000, 0.31)])
def test_a_million_runs_agree_with_the_exact_figures(
    by: EstimateKind, noise: SymmetricNoise, assumed: nc.Population | None
) -> None:
    """N = 1000, p = 0.3, ε = 0.1; a false alarm has a chance of 2e-6 a figure."""
    law = nc.Binomial(1000, 0.3)
    assert_agrees(drawn(law, noise, by, 10**6, 1, assumed), law, noise, by, assumed)


@pytest.mark.few(0)
@pytest.mark.parametrize("by", ESTIMATES)
@pytest.mark.parametrize(("population", "noise"), PAIRS)
def test_every_population_and_noise_is_drawn_right(
    by: EstimateKind, population: nc.Population, noise: SymmetricNoise
) -> None:
    """Fewer runs, at 5 standard errors."""
    assert_agrees(drawn(population, noise, by, 30_000, 2), population, noise, by)
