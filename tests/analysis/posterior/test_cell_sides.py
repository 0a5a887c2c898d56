"""Sums over the counts on each side of an answer, by series and one by one."""

import math

import numpy as np
import pytest

import noisycount as nc
from noisycount.analysis.evaluation import estimates
from noisycount.analysis.posterior.cell_sides import CellSides, sides_of
from noisycount.analysis.posterior.laplace_intervals import SummedSides
from noisycount.analysis.posterior.law import CountTable

SIZE, FIRST = 2000, 7


def weights(kind: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return probabilities: random ones, mostly zeros, or steep ones."""
    source = np.random.default_rng(3)
    masses = source.random(SIZE)
    if kind == "gaps":
        masses[source.random(SIZE) < 0.95] = 0.0
        masses[800:1200] = 0.0
    if kind == "steep":
        masses *= np.exp(-0.2 * np.arange(SIZE))
    return masses / masses.sum()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["random", "gaps", "steep"])
@pytest.mark.parametrize(
    "noise",
    [nc.Gaussian(10), nc.DiscreteGaussian(10), nc.NoiseSum([nc.Laplace(3), nc.Laplace(4)])],
    ids=["Gaussian", "discrete", "sum"],
)
def test_series_give_the_sums_of_single_terms(noise: nc.Mechanism, kind: str) -> None:
    """At answers inside and outside of the table, with edges at a distance."""
    assert isinstance(noise, nc.Gaussian | nc.DiscreteGaussian | nc.NoiseSum)
    with np.errstate(divide="ignore"):
        table = CountTable(FIRST, np.log(weights(kind)))
    reach = float(math.ceil(noise.error_with_tail(-80)))
    span = (FIRST - reach, FIRST + SIZE + reach)
    sides = sides_of(table, noise.errors.tabulated(reach), span)
    assert isinstance(sides, CellSides)
    answers = np.random.default_rng(4).uniform(*span, 1000 if isinstance(noise, nc.NoiseSum) else 6000)
    answers = np.round(answers) if noise.errors.is_discrete else answers
    for step in (0, 1, 5):
        edges = np.floor(answers)
        pairs = [
            (sides.lower(answers, edges - step), sides.direct_sums.lower(answers, edges - step)),
            (sides.upper(answers, edges + step), sides.direct_sums.upper(answers, edges + step)),
        ]
        for found, exact in pairs:
            assert found.logs == pytest.approx(exact.logs, abs=1e-11)
            assert found.distances == pytest.approx(exact.distances, rel=1e-10, abs=1e-10)


@pytest.mark.thorough
def test_an_average_error_is_that_of_single_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a table without any smoothness."""
    masses = np.random.default_rng(1).random(600)
    population = nc.Tabulated(masses / masses.sum())
    error = nc.mean_absolute_error(population, nc.Gaussian(4), "mean")
    monkeypatch.setattr(estimates, "sides_of", SummedSides)
    assert error == pytest.approx(nc.mean_absolute_error(population, nc.Gaussian(4), "mean"), rel=1e-11)


def test_counts_beyond_a_gap_of_a_long_table_are_summed() -> None:
    """Wide noise leaves two likely counts possible that are 2,000 records apart."""
    masses = np.zeros(3001)
    masses[[500, 2500]] = 0.5
    population, noise = nc.Tabulated(masses), nc.Laplace(1000)
    assert nc.refine(np.array([1500.0]), population, noise)[0] == pytest.approx(1500)
    assert nc.mean_absolute_error(population, noise, "mean") > 500
