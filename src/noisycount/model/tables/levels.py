"""The levels of a table: its cells, and the sums of cells that are counted beside them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Level", "Nodes"]

Nodes = NDArray[np.int32]
Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Counts of which no two share a cell: the cells themselves, or sums of them.

    Args:
        name: what a reader calls it, such as "town" or "total".
        of_cell: the node of each cell, from 0; −1: of none; shape (cells,).
        size: how many nodes there are.
        codes: the places of each node's keys among the values of the parts, −1 where a part is
            summed over, shape (keyed nodes, parts); None: nodes are no combinations of keys. A
            node beyond them has no keys: "other".
    """

    name: str
    of_cell: Nodes = field(repr=False)
    size: int
    codes: Codes | None = field(default=None, repr=False)

    def sums(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum of the counts of each node's cells, exact.

        Args:
            cells: the count of each cell, shape (cells,).
        """
        sums = np.zeros(self.size, np.int64)
        inside = self.of_cell >= 0
        np.add.at(sums, self.of_cell[inside], cells[inside])
        return sums
