"""What people call the nodes of a tree: their keys, or ranges of cells."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["KeyLabels", "NodeLabels", "RangeLabels"]

Nodes = NDArray[np.int64]


class NodeLabels(ABC):
    """The texts by which the nodes of each level below the root are known."""

    __slots__ = ()

    @abstractmethod
    def path(
        self, levels: Sequence[Nodes], parents: Sequence[Nodes], level: int, position: int
    ) -> tuple[str, ...]:
        """The texts of one node.

        Args:
            levels: The node of each cell, level by level from the root.
            parents: The parent of each node, of the levels below the root.
            level: Below the root, from 1.
            position: Of the node in its level.
        """

    @abstractmethod
    def place(
        self, levels: Sequence[Nodes], parents: Sequence[Nodes], texts: tuple[str, ...]
    ) -> tuple[int, int] | None:
        """The level and the position of a node with these texts; None: there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyLabels(NodeLabels):
    """Keys: a node has those of its parent and one more.

    Attributes:
        texts: The last key of each node, of the levels below the root.
    """

    texts: tuple[tuple[str, ...], ...]

    def path(
        self,
        levels: Sequence[Nodes],  # noqa: ARG002  (keys do not ask for cells)
        parents: Sequence[Nodes],
        level: int,
        position: int,
    ) -> tuple[str, ...]:
        """The keys from coarse to fine."""
        found: list[str] = []
        for above in range(level - 1, -1, -1):
            found.append(self.texts[above][position])
            position = int(parents[above][position])
        return tuple(reversed(found))

    def place(
        self,
        levels: Sequence[Nodes],  # noqa: ARG002  (keys do not ask for cells)
        parents: Sequence[Nodes],
        texts: tuple[str, ...],
    ) -> tuple[int, int] | None:
        """The node with these keys, looked for among the children of each in turn."""
        position: int | None = 0
        for own, known, text in zip(parents, self.texts, texts, strict=False):
            children = np.flatnonzero(own == position).tolist()
            position = next((child for child in children if known[child] == text), None)
        return None if position is None or len(texts) > len(parents) else (len(texts), position)


@dataclass(frozen=True, slots=True, eq=False)
class RangeLabels(NodeLabels):
    """The first and the last cell of each node.

    Attributes:
        cells: What the cells are called; None: by their numbers.
    """

    cells: tuple[str, ...] | None = None

    def path(
        self,
        levels: Sequence[Nodes],
        parents: Sequence[Nodes],  # noqa: ARG002  (cells tell the node)
        level: int,
        position: int,
    ) -> tuple[str, ...]:
        """One text, such as "4 … 7", or "4" for a cell alone."""
        if level == len(levels) - 1:
            return (self._text(position),)
        cells = np.flatnonzero(levels[level] == position)
        first, last = self._text(int(cells[0])), self._text(int(cells[-1]))
        return (first if cells.size == 1 else f"{first} … {last}",)

    def place(
        self, levels: Sequence[Nodes], parents: Sequence[Nodes], texts: tuple[str, ...]
    ) -> tuple[int, int] | None:
        """The finest node with that text."""
        for level in range(len(levels) - 1, 0, -1):
            for position in range(int(levels[level].max()) + 1):
                if self.path(levels, parents, level, position) == texts:
                    return level, position
        return None

    def _text(self, cell: int) -> str:
        return str(cell) if self.cells is None else self.cells[cell]
