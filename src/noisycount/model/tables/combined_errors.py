"""How far off combined answers are, before anything is asked."""

import math
from collections.abc import Sequence

import numpy as np

from noisycount.model.tables.levels import Level
from noisycount.model.tables.nested import NestedLevels, Reals
from noisycount.model.tables.residuals import Margin, lattice, margin_errors, rows

__all__ = ["prefix_errors", "standard_errors"]


def standard_errors(levels: Sequence[Level], variances: Sequence[float]) -> tuple[Reals, ...]:
    """The standard deviations of what `combined` estimates, for each level.

    Nested levels are computed node by node. Margins of a whole grid are sums of residuals: the
    answers about a margin of N_C rows add 1/(N_C·variance) to the precision p of each within it.

    Args:
        levels: The cells first; nested, or margins of a whole grid.
        variances: Of one answer of each level, in units².

    Returns:
        In units, one array for each level, shape (nodes,).

    Raises:
        ValueError: The levels are neither.

    Example:
        >>> from noisycount.model.tables.ranges import range_levels
        >>> levels = (Level("age", np.arange(2, dtype=np.int32), 2), *range_levels(2))
        >>> [error.round(3).tolist() for error in standard_errors(levels, (1, 1))]
        [[0.816, 0.816], [0.816]]
    """
    nested = NestedLevels.of(levels)
    if nested is not None:
        zeros = [np.zeros(level.size) for level in levels]
        return tuple(np.sqrt(spreads) for spreads in nested.estimates(zeros, variances)[1])
    sizes, margins = _grid(levels)
    precisions = {
        inner: math.fsum(
            1 / (level.size * variance)
            for level, margin, variance in zip(levels, margins, variances, strict=True)
            if margin >= inner
        )
        for inner in lattice(margins)
    }
    errors = margin_errors(sizes, margins, precisions)
    return tuple(
        np.full(level.size, errors[margin]) for level, margin in zip(levels, margins, strict=True)
    )


def prefix_errors(cells: int, variances: Sequence[float]) -> Reals:
    """The standard deviations of sums of the first 1, 2, … cells by `combined` answers of ranges.

    From the top down each node knows how what lies before it varies, and varies with it: given
    its sum and that of its two parts' own estimates, of variances u and v, its parts deviate from
    them by shares u/(u + v) and v/(u + v), and from that by ±e of variance u·v/(u + v).

    Args:
        cells: How many there are.
        variances: Of one answer of the cells, and of each level of ranges, in units².

    Returns:
        In units, shape (cells,).

    Raises:
        ValueError: There are not as many variances as levels.

    Example:
        >>> prefix_errors(2, (1, 1)).round(3).tolist()
        [0.816, 0.816]
    """
    height = (cells - 1).bit_length()
    if len(variances) != height + 1:
        raise ValueError(f"variances must be {height + 1} for {cells} cells, got {len(variances)}")
    own = [np.full(cells, float(variances[0]))]
    for variance in variances[1:]:
        parts = _pairs(own[-1]).sum(axis=1)
        own.append(parts * variance / (parts + variance))
    before, joint, spread = np.zeros(1), np.zeros(1), own.pop()
    for parts in reversed(own):
        before, joint, spread = _descended(_pairs(parts), before, joint, spread)
        before, joint, spread = (each[: parts.size] for each in (before, joint, spread))
    errors: Reals = np.sqrt(np.append(before[1:], before[-1] + 2 * joint[-1] + spread[-1]))
    return errors


def _pairs(values: Reals) -> Reals:
    """Values two by two; a 0 beside the last if it is alone."""
    return np.append(values, np.zeros(values.size % 2)).reshape(-1, 2)


def _descended(
    parts: Reals, before: Reals, joint: Reals, spread: Reals
) -> tuple[Reals, Reals, Reals]:
    """For the parts of nodes what is known of the nodes.

    Args:
        parts: The variances of the two parts' own estimates, shape (nodes, 2).
        before: The variance of the sum before each node.
        joint: The covariance of that sum and the node's.
        spread: The variance of the node's sum.
    """
    left, right = parts.T
    share, rest = left / (left + right), right / (left + right)
    free = left * rest
    first = share**2 * spread + free
    inner = share * rest * spread - free
    befores = np.stack([before, before + 2 * share * joint + first], axis=1)
    joints = np.stack([share * joint, rest * joint + inner], axis=1)
    spreads = np.stack([first, rest**2 * spread + free], axis=1)
    return befores.ravel(), joints.ravel(), spreads.ravel()


def _grid(levels: Sequence[Level]) -> tuple[list[int], list[Margin]]:
    """The sizes of the parts of a whole grid, and what each level keeps of them."""
    codes = [level.codes for level in levels if level.codes is not None and len(level.codes)]
    if len(codes) == len(levels):
        sizes = [np.unique(part).size for part in codes[0].T]
        margins = [frozenset(np.flatnonzero(one[0] >= 0).tolist()) for one in codes]
        if [level.size for level in levels] == [rows(sizes, margin) for margin in margins]:
            return sizes, margins
    raise ValueError("levels must be nested, or margins of a whole grid without other keys")
