"""Mean absolute errors summed over pieces of answers, beside integrals over answers and double sums in long doubles.

Tests of `analysis/evaluation/error_by_piece.py`.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

import noisycount as nc
from noisycount.analysis.evaluation import mean
from noisycount.analysis.evaluation.error_by_piece import ErrorByPiece
from noisycount.analysis.evaluation.estimates import case_of
from noisycount.model.noises.additive import SymmetricNoise

SIZE = 2500
ROUGH = np.random.default_rng(1).random(SIZE + 1)
WITH_HOLES = np.where((np.arange(SIZE + 1) - 900) ** 2 < 50**2, 0.0, ROUGH * np.where(np.arange(SIZE + 1) % 7, 1, 30))
NOISES = [
    nc.Gaussian(10),
    nc.Gaussian(2.5),
    nc.NoiseSum([nc.Laplace(3), nc.Laplace(4)]),
    nc.NoiseSum([nc.Laplace(3), nc.Gaussian(4)]),
    nc.DiscreteGaussian(10),
    nc.NoiseSum([nc.DiscreteLaplace(3), nc.DiscreteGaussian(4)]),
]


def population_of(table: NDArray[np.float64]) -> nc.Tabulated:
    """Return the population whose counts have probabilities in proportion to a table."""
    return nc.Tabulated(table / table.sum())


def without_pieces(population: nc.Population, noise: SymmetricNoise, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return the error by the other methods."""
    with monkeypatch.context() as patch:
        patch.setattr(ErrorByPiece, "of_case", lambda _: None)
        return nc.mean_absolute_error(population, noise, "mean")


@pytest.mark.thorough
@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("table", [ROUGH, WITH_HOLES], ids=["random", "holes"])
def test_a_sum_over_pieces_is_the_integral_over_answers(
    table: NDArray[np.float64], noise: SymmetricNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random probabilities, and probabilities with a gap of 99 counts and a count in seven that is more likely."""
    population = population_of(table)
    by_pieces = ErrorByPiece.of_case(case_of(population, noise, None))
    assert by_pieces is not None
    assert by_pieces.sum is not None
    assert nc.mean_absolute_error(population, noise, "mean") == pytest.approx(
        without_pieces(population, noise, monkeypatch), rel=1e-11
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("noise", "log_density"),
    [(nc.Gaussian(10), lambda z: -((z / 10) ** 2) / 2), (nc.Laplace(3), lambda z: -np.abs(z) / 3)],
    ids=["Gaussian", "Laplace"],
)
def test_the_error_is_the_integral_in_long_doubles(
    noise: SymmetricNoise, log_density: Callable[[NDArray[np.longdouble]], NDArray[np.longdouble]]
) -> None:
    """By 12 nodes between all integers and all answers whose mean is an integer, which bisection finds."""
    counts, chances = np.arange(SIZE + 1).astype(np.longdouble), (ROUGH / ROUGH.sum()).astype(np.longdouble)
    nodes, weights = leggauss(12)

    def near(answers: NDArray[np.longdouble]) -> tuple[NDArray[np.longdouble], NDArray[np.longdouble]]:
        """Return the counts near each answer, and their joint density with it."""
        places = np.clip(np.floor(answers).astype(int)[:, None] + np.arange(-130, 131), 0, SIZE)
        is_count = places == np.floor(answers).astype(int)[:, None] + np.arange(-130, 131)
        return counts[places], is_count * chances[places] * np.exp(log_density(answers[:, None] - counts[places]))

    def mean_of(answers: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
        some, joint = near(answers)
        return (joint * some).sum(axis=1) / joint.sum(axis=1)

    low, high = np.full(SIZE - 1, -120, np.longdouble), np.full(SIZE - 1, SIZE + 120, np.longdouble)
    for _ in range(70):
        middle = (low + high) / 2
        is_below = mean_of(middle) < counts[1:-1]
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    edges = np.unique(np.concatenate([high, np.arange(-120, SIZE + 121)]))
    total = np.longdouble(0)
    for start, stop in pairwise(edges):
        answers = start + (stop - start) * (1 + nodes) / 2
        some, joint = near(answers)
        means = (joint * some).sum(axis=1) / joint.sum(axis=1)
        total += (joint * np.abs(some - means[:, None])).sum(axis=1) @ weights * (stop - start) / 2
    constant = np.exp(log_density(np.arange(-500, 500, 1 / 64, dtype=np.longdouble))).sum() / 64
    expected = float(total / constant) if isinstance(noise, nc.Gaussian) else float(total / 6)
    assert nc.mean_absolute_error(population_of(ROUGH), noise, "mean") == pytest.approx(expected, rel=1e-10)


@pytest.mark.thorough
def test_strata_under_noise_with_a_kink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their probabilities are smooth, without a formula."""
    population, noise = nc.Strata([50_000, 50_000], [0.1, 0.3]), nc.NoiseSum([nc.Laplace(3), nc.Laplace(4)])
    assert nc.mean_absolute_error(population, noise, "mean") == pytest.approx(
        without_pieces(population, noise, monkeypatch), rel=1e-11
    )


def test_an_error_far_below_the_noise_is_an_integral_over_answers() -> None:
    """Sums relative to the largest density have no digits for a count that is nearly certain."""
    masses = np.full(3000, 1e-9)
    masses[1500] = 1.0
    case = case_of(population_of(masses), nc.NoiseSum([nc.DiscreteLaplace(2)] * 2), None)
    by_pieces = ErrorByPiece.of_case(case)
    assert by_pieces is not None
    assert by_pieces.sum is not None
    assert mean.error_by_piece(case) is None


@pytest.mark.parametrize("noise", [nc.Laplace(10), nc.Gaussian(1), nc.Gaussian(1000), nc.DiscreteLaplace(5)], ids=str)
def test_other_noise_has_other_methods(noise: SymmetricNoise) -> None:
    """Look-ups for Laplace noise; narrow noise needs too many terms, wide noise too many counts."""
    assert ErrorByPiece.of_case(case_of(population_of(ROUGH), noise, None)) is None
