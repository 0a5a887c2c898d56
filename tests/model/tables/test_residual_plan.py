import math
from itertools import combinations

import numpy as np
import pytest

from noisycount.model.tables.combined import Margin, residual_errors, residual_precisions

CPS = (50, 100, 7, 4, 2)


def of_all(sizes: tuple[int, ...], margins: list[Margin], rho: float = 0.5) -> float:
    """The root mean squared error over the rows of all margins."""
    rows = np.array([math.prod(sizes[part] for part in margin) for margin in margins])
    errors = np.array(list(residual_errors(sizes, margins, rho).values()))
    return math.sqrt(float(rows @ errors**2) / rows.sum())


@pytest.mark.parametrize(("ways", "published"), [(1, 1.744), (2, 2.035), (3, 2.048)])
def test_the_published_errors_come_out(ways: int, published: float) -> None:
    """Xiao et al. (2023), all margins of one, two and three parts of the CPS at ρ = 1/2."""
    margins = [frozenset(margin) for margin in combinations(range(5), ways)]
    assert round(of_all(CPS, margins), 3) == published


def marginal(sizes: tuple[int, ...], margin: Margin) -> np.ndarray:
    """The matrix that sums cells to a margin, dense."""
    matrix = np.ones((1, 1))
    for part, size in enumerate(sizes):
        matrix = np.kron(matrix, np.eye(size) if part in margin else np.ones((1, size)))
    return matrix


def combined_errors(sizes: tuple[int, ...], margins: list[Margin], precisions: dict[Margin, float]) -> list[float]:
    """The root mean squared errors of margins by generalised least squares, dense, at cost 1."""
    cost = sum(precisions.values())
    told = sum(
        precision / cost * (marginal(sizes, one).T @ marginal(sizes, one)) for one, precision in precisions.items()
    )
    covariance = np.linalg.pinv(told)
    return [
        math.sqrt(float(np.mean(np.diag(matrix @ covariance @ matrix.T))))
        for matrix in (marginal(sizes, margin) for margin in margins)
    ]


@pytest.mark.parametrize(
    ("sizes", "kept"), [((5,), [(0,), ()]), ((4, 3), [(0, 1), (0,), ()]), ((3, 2, 4), [(0, 1, 2), (0, 1), (2,), ()])]
)
def test_whole_margins_with_those_precisions_are_as_good(sizes: tuple[int, ...], kept: list[tuple[int, ...]]) -> None:
    """By dense least squares: the errors of every margin are those of the residual plan."""
    margins = [frozenset(margin) for margin in kept]
    precisions = residual_precisions(sizes, margins)
    assert all(value >= -1e-12 for margin, value in precisions.items() if margin in margins)
    found = combined_errors(sizes, margins, precisions)
    assert found == pytest.approx(list(residual_errors(sizes, margins, 0.5).values()))


def test_no_precisions_nearby_have_a_smaller_error() -> None:
    """Moving a little of the price between any two margins makes the sum of squares no smaller."""
    sizes, margins = (4, 3), [frozenset(one) for one in [(0, 1), (0,), (1,), ()]]
    rows = np.array([12, 4, 3, 1])
    precisions = residual_precisions(sizes, margins)
    best = rows @ np.square(combined_errors(sizes, margins, precisions))
    for give in margins:
        for take in margins:
            moved = dict(precisions)
            moved[give] -= 0.01
            moved[take] += 0.01
            assert rows @ np.square(combined_errors(sizes, margins, moved)) >= best - 1e-9
