"""The levels of a table: its cells, and the sums of cells that are counted beside them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Level", "Nodes"]

Nodes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Counts of which no two share a cell: the cells themselves, or sums of them.

    Args:
        name: what a reader calls it, such as "town" or "total".
        of_cell: the node of each cell, from 0; −1: of none; shape (cells,).
        size: how many nodes there are.
    """

    name: str
    of_cell: Nodes = field(repr=False)
    size: int
