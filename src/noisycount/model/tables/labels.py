"""Columns of keys: what they are called, and which of their rows share a node.

What people call the nodes of a tree: their keys, or ranges of cells.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisycount.display.texts import label_text
from noisycount.frozen import frozen

__all__ = [
    "KeyLabels",
    "NodeLabels",
    "RangeLabels",
    "distinct_texts",
    "first_seen",
    "named_columns",
]

Nodes = NDArray[np.int64]


def named_columns(keys: Any) -> dict[str, list[str]]:  # noqa: ANN401  (data frames of every kind)
    """The texts of the columns of keys, by name, from coarse to fine.

    Args:
        keys: A mapping of names to columns, a sequence of columns, or a data frame.

    Raises:
        ValueError: If there is no column, no row, or columns are of different lengths.
    """
    columns = {str(name): _texts(column) for name, column in _items(keys)}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        told = ", ".join(f"{name}: {length}" for name, length in lengths.items()) or "no column"
        raise ValueError(
            f"keys must be columns of one length, a row for each cell, got {told}: "
            "give one key of each column for each cell"
        )
    return columns


def first_seen(values: Nodes) -> Nodes:
    """The values numbered in the order of their first appearance, from 0.

    Example:
        >>> first_seen(np.array([7, 3, 7, 5]))
        array([0, 1, 0, 2])
    """
    _, firsts, codes = np.unique(values, return_index=True, return_inverse=True)
    ranks = np.empty(firsts.size, dtype=np.int64)
    ranks[np.argsort(firsts)] = np.arange(firsts.size)
    return ranks[codes]


def distinct_texts(texts: Sequence[str]) -> tuple[Nodes, list[str]]:
    """The number of each text in the order of first appearance, and the distinct texts."""
    seen: dict[str, int] = {}
    codes = np.array([seen.setdefault(text, len(seen)) for text in texts], dtype=np.int64)
    return codes, list(seen)


def _items(keys: Any) -> Iterable[tuple[str, Any]]:  # noqa: ANN401  (data frames of every kind)
    """The columns with their names; columns without have numbers."""
    if isinstance(keys, Mapping):
        return keys.items()
    names = getattr(keys, "column_names", getattr(keys, "columns", None))
    if names is not None and hasattr(keys, "__getitem__"):
        return ((str(name), keys[name]) for name in names)
    if isinstance(keys, Sequence | np.ndarray) and not isinstance(keys, str):
        return ((f"key {place}", column) for place, column in enumerate(keys, 1))
    raise ValueError(
        f"keys must be a mapping of names to columns, a sequence of columns or a data frame, "
        f"got {type(keys).__name__}"
    )


def _texts(column: Any) -> list[str]:  # noqa: ANN401  (columns of every kind)
    """The keys of one column as people read them."""
    if isinstance(column, str) or not hasattr(column, "__len__"):
        raise ValueError(
            f"keys must hold columns such as lists or arrays, got {column!r} among them"
        )
    values = list(column)
    if not isinstance(column, list | tuple):
        array = np.asarray(column)
        if array.dtype.kind != "O":
            values = (np.datetime_as_string(array) if array.dtype.kind == "M" else array).tolist()
    return [label_text(None if _is_nan(value) else value) for value in values]


def _is_nan(value: object) -> bool:
    """Whether data frames mean a missing value by it."""
    return isinstance(value, float) and math.isnan(value)


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


@frozen(eq=False)
class KeyLabels(NodeLabels):
    """Keys: a node has those of its parent and one more."""

    texts: tuple[tuple[str, ...], ...]  # the last key of each node, of the levels below the root

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


@frozen(eq=False)
class RangeLabels(NodeLabels):
    """The first and the last cell of each node."""

    cells: tuple[str, ...] | None = None  # what the cells are called; None: by their numbers

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
