"""Ranges of ordered cells: a binary tree of sums, from which prefix sums take few nodes."""

import numpy as np
from numpy.typing import NDArray

from noisycount.model.tables.levels import Level

__all__ = ["RANGES", "range_bounds", "range_levels"]

RANGES = "ranges of "
"""How the names of such levels begin."""


def range_levels(cells: int) -> tuple[Level, ...]:
    """The sums of ordered cells in blocks of 2, 4, 8 and so on, up to all.

    The last block of a level is shorter where cells run out.

    Args:
        cells: how many there are, at least 1.

    Example:
        >>> [level.of_cell.tolist() for level in range_levels(3)]
        [[0, 0, 1], [0, 0, 0]]
    """
    places = np.arange(cells, dtype=np.int32)
    return tuple(
        Level(f"{RANGES}{1 << power}", places >> power, (cells - 1 >> power) + 1)
        for power in range(1, (cells - 1).bit_length() + 1)
    )


def range_bounds(level: Level) -> NDArray[np.int64]:
    """The first and the last cell of each node of a level of ranges, shape (nodes, 2).

    Example:
        >>> range_bounds(range_levels(3)[0]).tolist()
        [[0, 1], [2, 2]]
    """
    nodes = np.arange(level.size)
    first, after = (np.searchsorted(level.of_cell, nodes, side) for side in ("left", "right"))
    return np.stack([first, after - 1], axis=1)
