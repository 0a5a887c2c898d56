"""The tables without negative counts that are nearest to answers: rivals of refined counts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from noisycount.model.tables.levels import Level

__all__ = ["nearest_counts", "nearest_tree"]

Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]

_PATIENCE = 10  # exchanges of many cells that may fail to lessen what is wrong
_MOST_STEPS = 10_000
_ROUNDING = 1e-9  # of the largest value, which is taken for 0


def nearest_counts(answers: Reals, total: float) -> Reals:
    """The counts x ≥ 0, Σ x = total, that minimise Σ (answer − x)²: exact, in O(n·log n).

    Args:
        answers: Of the cells, shape (cells,).
        total: What they add up to, from 0.

    Source: J. Duchi, S. Shalev-Shwartz, Y. Singer, T. Chandra, Efficient Projections onto the
    l1-Ball for Learning in High Dimensions, ICML (2008), Fig. 1.

    Example:
        >>> nearest_counts(np.array([3.0, 2.0, -4.0]), 4).tolist()
        [2.5, 1.5, 0.0]
    """
    falling = np.sort(answers)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    kept = np.flatnonzero(falling > shifts)
    shift = shifts[kept[-1]] if kept.size else shifts[0]
    nearest: Reals = np.maximum(answers - shift, 0.0)
    return nearest


def nearest_tree(
    levels: Sequence[Level], answers: Sequence[Reals], variances: Sequence[float], total: float
) -> Reals:
    """The cells x ≥ 0, Σ x = total, that minimise Σ (answer − sum of cells)²/variance.

    Args:
        levels: Those that are answered.
        answers: One array for each level.
        variances: Of one answer of each level.
        total: What the cells add up to, from 0.

    Source: L. F. Portugal, J. J. Júdice, L. N. Vicente, A comparison of block pivoting and
    interior-point algorithms for linear least squares problems with nonnegative variables,
    Mathematics of Computation 63 (1994), Algorithm 3; the total by a Lagrange multiplier.

    Example:
        >>> pair = Level("cells", np.arange(2, dtype=np.int32), 2)
        >>> nearest_tree([pair], [np.array([5.0, -4.0])], [1.0], 4).tolist()
        [4.0, 0.0]
    """
    if total == 0:
        return np.zeros(levels[0].of_cell.size)
    normal, aim = _normal_equations(levels, answers, variances)
    is_free = np.ones(aim.size, dtype=np.bool_)
    fewest, patience = aim.size + 1, _PATIENCE
    for _ in range(_MOST_STEPS):
        cells, slopes = _stationary(normal, aim, total, is_free)
        limits = _ROUNDING * total, _ROUNDING * np.abs(aim).max()
        is_wrong = np.where(is_free, cells < -limits[0], slopes < -limits[1])
        wrong = int(is_wrong.sum())
        if not wrong:
            return np.maximum(cells, 0.0)
        if wrong < fewest:
            fewest, patience = wrong, _PATIENCE
        elif patience:
            patience -= 1
        else:  # one at a time: slower, and certain to end
            is_wrong[: np.flatnonzero(is_wrong)[-1]] = False
        is_free ^= is_wrong
        is_free[np.argmax(aim)] |= not is_free.any()
    raise ArithmeticError("no nearest table was found")


def _normal_equations(
    levels: Sequence[Level], answers: Sequence[Reals], variances: Sequence[float]
) -> tuple[Reals, Reals]:
    """The matrix and the right-hand side of the least squares without bounds."""
    size = levels[0].of_cell.size
    normal, aim = np.zeros((size, size)), np.zeros(size)
    for level, told, variance in zip(levels, answers, variances, strict=True):
        normal += (level.of_cell[:, None] == level.of_cell) / variance
        aim += told[level.of_cell] / variance
    return normal, aim


def _stationary(normal: Reals, aim: Reals, total: float, is_free: Flags) -> tuple[Reals, Reals]:
    """The cells where those that are not free are 0, and the slopes at them."""
    free = np.flatnonzero(is_free)
    solved = np.linalg.solve(
        normal[np.ix_(free, free)], np.stack([aim[free], np.ones(free.size)], axis=1)
    )
    multiplier = (solved[:, 0].sum() - total) / solved[:, 1].sum()
    cells = np.zeros(aim.size)
    cells[free] = solved[:, 0] - multiplier * solved[:, 1]
    slopes: Reals = normal @ cells - aim + multiplier
    return cells, slopes
