"""Where the counts of nodes are, as far as their own answers tell."""

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.count_bounds import NO_END, Bounds
from noisycount.analysis.tables.likelihoods import LevelLikelihood
from noisycount.analysis.tables.model import Counts, Model, Settings

__all__ = ["MOST_COUNTS", "cell_windows", "overlap"]

MOST_COUNTS = 1 << 22
"""How many counts the law of a cell may have to be a table."""

_ROOM = 8  # the part of a law by which its window is longer, and at least so many counts


def cell_windows(model: Model, settings: Settings) -> Bounds:
    """Where the count of each cell is, but for e^−42 of its likelihood.

    Raises:
        ValueError: If a cell may have too many counts.
    """
    cells = model.levels[-1]
    low, high = cells.reach(settings.widened[-1])
    if settings.ends is not None:
        low, high = _narrowed(Bounds(low, high), settings.ends, settings.widened[-1] == 0)
    for cell in np.flatnonzero(high - low >= MOST_COUNTS).tolist():
        high[cell] = min(int(high[cell]), _largest(model, cell))
        if high[cell] - low[cell] >= MOST_COUNTS:
            told = ", ".join(model.tree.label(-1, cell))
            raise ValueError(
                f"answers leave the count of {told} open, with {MOST_COUNTS} possible ones or "
                "more: give an answer of it, or a total"
            )
    return Bounds(low, high)


def _narrowed(reach: Bounds, ends: Bounds, is_sure: NDArray[np.bool_]) -> Bounds:
    """Windows without what lies far from where laws were found to end."""
    room = (ends.high - ends.low) // _ROOM + _ROOM
    low = np.where(is_sure, np.maximum(reach.low, ends.low - room), reach.low)
    high = np.where(is_sure, np.minimum(reach.high, ends.high + room), reach.high)
    return Bounds(low, high)


def _largest(model: Model, cell: int) -> int:
    """The largest count of a cell that the answers of the nodes above it leave likely."""
    tree = model.tree
    last = NO_END
    for level in range(tree.depth - 1):
        reach = model.levels[level].reach(np.zeros(tree.sizes[level], np.int64))
        last = min(last, int(reach.high[tree.levels[level][cell]]))
    return last


def overlap(
    level: LevelLikelihood, nodes: Counts, below: Bounds, reach: Bounds
) -> tuple[Counts, Counts]:
    """The counts that nodes have after the answers below them, their own answers and bounds.

    Where answers lie apart, those below tell alone.

    Args:
        level: The answers of the nodes' level.
        nodes: Their positions.
        below: Where counts are by what is below.
        reach: Where those of the whole level are by their own answers.

    Returns:
        The first and the last count of each.
    """
    first = np.maximum(below.low, level.bounds.low[nodes])
    last = np.minimum(below.high, level.bounds.high[nodes])
    nearer = np.maximum(first, reach.low[nodes]), np.minimum(last, reach.high[nodes])
    meets = nearer[0] <= nearer[1]
    return np.where(meets, nearer[0], first), np.where(meets, nearer[1], last)
