"""Mean absolute errors summed over pieces of answers, beside integrals over answers and double sums in long doubles.

Tests of `analysis/evaluation/error_by_piece.py`.
"""

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
    population = nc.Tabulated(table / table.sum())
    by_pieces = ErrorByPiece.of_case(case_of(population, noise, None))
    assert by_pieces is not None
    assert by_pieces.sum is not None
    assert nc.mean_absolute_error(population, noise, "mean") == pytest.approx(
        without_pieces(population, noise, monkeypatch), rel=1e-11
    )


@pytest.mark.thorough
def test_gaussian_noise_agrees_with_the_double_sum_in_long_doubles() -> None:
    """The integral over answers by 20 nodes in each half record, without cuts at the answers whose mean is an integer.

    The derivative of the density jumps there, which limits the precision of this integral.
    """
    scale, population = 10.0, nc.Tabulated(ROUGH / ROUGH.sum())
    nodes, weights = leggauss(20)
    counts, chances = np.arange(SIZE + 1.0), (ROUGH / ROUGH.sum()).astype(np.longdouble)
    total = np.longdouble(0)
    for start in np.arange(-100, SIZE + 100, 0.5):
        near = slice(max(0, int(start) - 130), int(start) + 130)
        answers = start + (1 + nodes) / 4
        joint = chances[near] * np.exp(-(((answers[:, None] - counts[near]) / scale) ** 2) / 2)
        means = (joint * counts[near]).sum(axis=1) / joint.sum(axis=1)
        total += (joint * np.abs(counts[near] - means[:, None])).sum(axis=1) @ weights / 4
    exact = float(total / (scale * np.sqrt(2 * np.pi)))
    assert nc.mean_absolute_error(population, nc.Gaussian(scale), "mean") == pytest.approx(exact, rel=1e-6)


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
    case = case_of(nc.Tabulated(masses / masses.sum()), nc.NoiseSum([nc.DiscreteLaplace(2)] * 2), None)
    by_pieces = ErrorByPiece.of_case(case)
    assert by_pieces is not None
    assert by_pieces.sum is not None
    assert mean.error_by_piece(case) is None


@pytest.mark.parametrize("noise", [nc.Laplace(10), nc.Gaussian(1), nc.Gaussian(1000), nc.DiscreteLaplace(5)], ids=str)
def test_other_noise_has_other_methods(noise: SymmetricNoise) -> None:
    """Look-ups for Laplace noise; narrow noise needs too many terms, wide noise too many counts."""
    assert ErrorByPiece.of_case(case_of(nc.Tabulated(ROUGH / ROUGH.sum()), noise, None)) is None
