"""All answers about a table made one: least squares, so that nodes are the sums of their cells."""

import math
from collections.abc import Sequence

import numpy as np

from noisycount.model.tables.levels import Level
from noisycount.model.tables.nested import NestedLevels, Reals

__all__ = ["combined"]

_PRECISE = 1e-12  # of what the noise alone contributes
_MOST_STEPS = 1000  # a grid takes as many as it has margins


def combined(
    levels: Sequence[Level], answers: Sequence[Reals], variances: Sequence[float]
) -> tuple[Reals, ...]:
    """The estimates of all nodes that fit all answers best, and each other: nodes sum their cells.

    They minimise Σ (answer − estimate)²/variance over the answers of all levels. They are unbiased,
    and of all such linear estimates they have the least variance. That is about counts of which a
    node's is the sum of its cells': no unit may be in two cells.

    Args:
        levels: the cells first.
        answers: independent and unbiased, one array for each level, in units.
        variances: of one answer of each level, in units², positive.

    Raises:
        ValueError: answers or variances do not fit the levels.

    Source:
        Nested levels: M. Hay, V. Rastogi, G. Miklau, D. Suciu, Boosting the Accuracy of
        Differentially Private Histograms Through Consistency (2010), for variances that differ.
        Others: conjugate gradients.

    Numerical error:
        1e-9 of the scale of the noise.

    Example:
        >>> from noisycount.model.tables.ranges import range_levels
        >>> codes = np.array([[0], [1]], dtype=np.int32)
        >>> cells = Level("age", np.array([0, 1], dtype=np.int32), 2, codes)
        >>> found = combined((cells, *range_levels(2)), [[4, 6], [13]], [1.0, 1.0])
        >>> [level.tolist() for level in found]
        [[5.0, 7.0], [12.0]]
    """
    given = [np.asarray(each, dtype=np.float64) for each in answers]
    if [each.shape for each in given] != [(level.size,) for level in levels]:
        raise ValueError(
            f"answers must be one array for each of the {len(levels)} levels, of its size"
        )
    if len(variances) != len(levels) or not all(0 < each < math.inf for each in variances):
        raise ValueError(f"variances must be positive and finite, one a level, got {variances!r}")
    nested = NestedLevels.of(levels)
    if nested is not None:
        return nested.estimates(given, variances)[0]
    found = given[0] + _correction(levels, given, variances)
    return (found, *(_sums(level, found) for level in levels[1:]))


def _correction(
    levels: Sequence[Level], answers: Sequence[Reals], variances: Sequence[float]
) -> Reals:
    """What to add to the answers about cells: conjugate gradients from them, so that it is small.

    The normal matrix of a grid has one eigenvalue for each residual, and the steps end with them.
    """
    coarser = list(zip(levels[1:], variances[1:], strict=True))
    residual = np.zeros(levels[0].size)
    for (level, variance), told in zip(coarser, answers[1:], strict=True):
        residual += _spread(level, (told - _sums(level, answers[0])) / variance)
    found, direction, left = np.zeros_like(residual), residual, residual @ residual
    enough = left * _PRECISE**2
    for _ in range(_MOST_STEPS):
        if left <= enough:
            break
        image = direction / variances[0]
        for level, variance in coarser:
            image += _spread(level, _sums(level, direction) / variance)
        step = left / (direction @ image)
        found = found + step * direction
        residual = residual - step * image
        before, left = left, residual @ residual
        direction = residual + left / before * direction
    return found


def _sums(level: Level, values: Reals) -> Reals:
    """The sum over the cells of each node; cells of none go to one more, which is left out."""
    sums = np.bincount(level.of_cell % (level.size + 1), values, level.size + 1)
    return sums[: level.size].astype(np.float64, copy=False)


def _spread(level: Level, values: Reals) -> Reals:
    """For each cell the value of its node; 0 for cells of none."""
    return np.append(values, 0.0)[level.of_cell]
