"""Trees of a table: nested partitions of its cells, up to the total.

`Tree` is public; `splits` has the prior of its counts.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from numbers import Integral
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.display.texts import OTHER_KEYS, label_text
from noisycount.display.values import Shown, shortened_repr
from noisycount.frozen import frozen
from noisycount.model.tables.levels import TOTAL, range_levels
from noisycount.validation import whole_number

Nodes = NDArray[np.int64]

# A node: its number in the order of levels, its level and position there, or its keys.
NodeKey: TypeAlias = int | tuple[int, int] | tuple[str, ...] | str


@frozen(eq=False)
class KeyLabels:
    """Labels by keys: a node has the keys of its parent and one more."""

    texts: tuple[tuple[str, ...], ...]  # the last key of each node, of the levels below the root

    def path(self, tree: "Tree", level: int, position: int) -> tuple[str, ...]:
        """Return the keys of a node below the root, from coarse to fine."""
        keys: list[str] = []
        for below in range(level, 0, -1):
            keys.append(self.texts[below - 1][position])
            position = int(tree.parents(below)[position])
        return tuple(reversed(keys))

    def place(self, tree: "Tree", texts: tuple[str, ...]) -> tuple[int, int] | None:
        """Return the level and position of the node with these keys, or None if there is none."""
        position: int | None = 0
        for level, level_texts, text in zip(range(1, tree.depth), self.texts, texts, strict=False):
            children = np.flatnonzero(tree.parents(level) == position).tolist()
            position = next((child for child in children if level_texts[child] == text), None)
        return None if position is None or len(texts) >= tree.depth else (len(texts), position)


@frozen(eq=False)
class RangeLabels:
    """Labels by the first and the last cell of each node."""

    cells: tuple[str, ...] | None = None  # what the cells are called; None: by their numbers

    def path(self, tree: "Tree", level: int, position: int) -> tuple[str, ...]:
        """Return one text, such as "4 … 7", or "4" for a single cell."""
        if level == tree.depth - 1:
            return (self._text(position),)
        cells = np.flatnonzero(tree.levels[level] == position)
        first, last = self._text(int(cells[0])), self._text(int(cells[-1]))
        return (first if cells.size == 1 else f"{first} … {last}",)

    def place(self, tree: "Tree", texts: tuple[str, ...]) -> tuple[int, int] | None:
        """Return the level and position of the finest node with that text, or None if there is none."""
        for level in range(tree.depth - 1, 0, -1):
            for position in range(tree.sizes[level]):
                if self.path(tree, level, position) == texts:
                    return level, position
        return None

    def _text(self, cell: int) -> str:
        return str(cell) if self.cells is None else self.cells[cell]


@frozen(eq=False, repr=False)
class Tree(Shown):
    """Nested partitions of the cells of a table, from all cells together to each cell alone.

    A node is a set of cells; its count is the sum of their counts. Level 0 is the root. The last
    level has the cells in the order in which they were given. Positions in a level begin at 0.

    Args:
        levels: For each level, the position of the node that each cell belongs to, shape (cells,).
            The first level is all 0; the last one is 0, 1, 2, ….
        names: Names of the levels, the root first. Default: their numbers.
        labels: Labels of the nodes. Default: the labels of their first and last cells.

    Raises:
        ValueError: If a cell is in two nodes of a level or in none, a node has no cell, or a node
            is a part of two of the level above.

    Example:
        >>> import noisycount as nc
        >>> tree = nc.Tree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
        >>> tree.sizes, tree.parents(2).tolist(), tree.label(1, 0)
        ((1, 2, 3), [0, 0, 1], ('0 … 1',))
    """

    levels: tuple[Nodes, ...]
    names: tuple[str, ...] = ()
    labels: KeyLabels | RangeLabels = field(default=RangeLabels())
    sizes: tuple[int, ...] = field(init=False)
    _parents: tuple[Nodes, ...] = field(init=False)

    def __post_init__(self) -> None:
        levels = tuple(_checked_positions(level, number) for number, level in enumerate(self.levels))
        _check_ends(levels)
        names = tuple(self.names) or (TOTAL, *(f"level {n}" for n in range(1, len(levels))))
        if len(names) != len(levels):
            raise ValueError(f"names must be {len(levels)} texts, one for each level, got {len(names)}")
        sizes = tuple(int(level.max()) + 1 for level in levels)
        pairs = enumerate(pairwise(levels), 1)
        parents = tuple(_checked_parents(number, *pair, sizes[number]) for number, pair in pairs)
        values = {"levels": levels, "names": names, "sizes": sizes, "_parents": parents}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def flat(cls, cells: int | Sequence[object]) -> Self:
        """Return the tree of the root and the cells.

        Args:
            cells: The number of cells, or their labels.
        """
        size, texts = _number_and_labels(cells)
        labels = RangeLabels() if texts is None else KeyLabels((texts,))
        return cls((np.zeros(size, np.int64), np.arange(size)), (TOTAL, "cell"), labels)

    @classmethod
    def binary(cls, cells: int | Sequence[object]) -> Self:
        """Return the binary tree of ordered cells: blocks of 2, 4, 8, …, so that prefix sums need few nodes.

        The last block of a level may be shorter.

        Args:
            cells: The number of cells, or their labels in order.

        Example:
            >>> import noisycount as nc
            >>> nc.Tree.binary(5).sizes
            (1, 2, 3, 5)
        """
        size, texts = _number_and_labels(cells)
        if size == 1:
            return cls.flat(cells)
        ranges = range_levels(size)[::-1]
        levels = (*(level.of_cell.astype(np.int64) for level in ranges), np.arange(size))
        names = (TOTAL, *(level.name for level in ranges[1:]), "cell")
        return cls(levels, names, RangeLabels(texts))

    @classmethod
    def of_keys(cls, keys: Any) -> Self:  # noqa: ANN401  (data frames of every kind)
        """Return the tree of cells with keys such as state, county and town.

        Nodes are in the order of their first appearance, cells in that of the rows.

        Args:
            keys: Columns from coarse to fine, a row for each cell: a mapping of names to columns,
                a sequence of columns, or a data frame.

        Raises:
            ValueError: If a cell stands in two rows, or columns differ in length.

        Example:
            >>> import noisycount as nc
            >>> tree = nc.Tree.of_keys({"year": [1, 1, 2], "site": ["A", "B", "A"]})
            >>> tree.names, tree.sizes, tree.label(2, 1), tree.place(("2",))
            (('total', 'year', 'site'), (1, 2, 3), ('1', 'B'), (1, 1))
        """
        columns = _named_columns(keys)
        nodes = np.zeros(len(next(iter(columns.values()))), dtype=np.int64)
        levels, texts = [nodes], []
        for column in columns.values():
            codes, distinct = _distinct_texts(column)
            nodes = _number_by_first_appearance(nodes * len(distinct) + codes)
            firsts = np.unique(nodes, return_index=True)[1]
            texts.append(tuple(distinct[code] for code in codes[firsts].tolist()))
            levels.append(nodes)
        _check_cells_differ(nodes, columns)
        return cls(tuple(levels), (TOTAL, *columns), KeyLabels(tuple(texts)))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.sizes[-1]

    @property
    def depth(self) -> int:
        """Number of levels, including the root."""
        return len(self.sizes)

    def parents(self, level: int) -> Nodes:
        """Return the position, in the level above, of the parent of each node of a level.

        Args:
            level: From 1, or negative from the end.

        Raises:
            ValueError: If there is no such level below the root.
        """
        number = self.level(level)
        if number == 0:
            raise ValueError(f"level must be below the root, got {level!r}: choose from 1")
        return self._parents[number - 1]

    def label(self, level: int, position: int) -> tuple[str, ...]:
        """Return the keys of a node, () for the root; without keys, its range of cells.

        Args:
            level: From 0, or negative from the end.
            position: Of the node in its level, from 0.

        Raises:
            ValueError: If there is no such node.
        """
        level, position = self.place((level, position))
        return self.labels.path(self, level, position) if level else ()

    def level(self, level: int) -> int:
        """Return the number of a level, from 0.

        Args:
            level: From 0, or negative from the end.

        Raises:
            ValueError: If there is no such level.
        """
        if isinstance(level, Integral) and -self.depth <= level < self.depth:
            return int(level) % self.depth
        raise ValueError(f"level must be a number from 0 to {self.depth - 1}, got {level!r}")

    def place(self, node: NodeKey) -> tuple[int, int]:
        """Return the level of a node and its position there.

        Args:
            node: Its number in the order of levels, its level and position, or its keys.

        Raises:
            ValueError: If there is no such node.
        """
        if isinstance(node, Integral):
            return self._place_of_number(whole_number(int(node), "node"))
        keys: tuple[Any, ...] = tuple(node) if isinstance(node, tuple) else (node,)
        if not keys:
            return 0, 0
        if len(keys) == 2 and all(isinstance(key, Integral) for key in keys):  # noqa: PLR2004  (level, position)
            level, position = self.level(int(keys[0])), int(keys[1])
            level_and_position = (level, position) if 0 <= position < self.sizes[level] else None
        else:
            texts = tuple(map(label_text, keys))
            level_and_position = self.labels.place(self, texts)
        if level_and_position is None:
            hint = f"its level is {self.names.index(node)}" if node in self.names else "see tree.label"
            raise ValueError(f"node must be one of the tree, got {shortened_repr(node)}: {hint}")
        return level_and_position

    def _place_of_number(self, index: int) -> tuple[int, int]:
        """Return the level and the position of a node from its number in the order of levels."""
        for level, size in enumerate(self.sizes):
            if index < size:
                return level, index
            index -= size
        raise ValueError(f"node must be below {sum(self.sizes)}, the nodes there are")

    def _facts(self) -> dict[str, object]:
        return {"cells": self.cells, "sizes": self.sizes, "names": self.names}


def _number_and_labels(cells: int | Sequence[object]) -> tuple[int, tuple[str, ...] | None]:
    """Return the number of cells, and their labels if they have any."""
    if not isinstance(cells, Sequence | np.ndarray):
        return whole_number(cells, "cells", smallest=1), None
    columns = _named_columns([cells])
    texts = columns.popitem()[1]
    _check_cells_differ(_distinct_texts(texts)[0], {"cell": texts})
    return len(texts), tuple(texts)


def _checked_positions(level: ArrayLike, number: int) -> Nodes:
    """Return the nodes of a level as integers; raise ValueError if a node has no cell."""
    nodes = np.asarray(level)
    if nodes.ndim != 1 or nodes.size == 0 or nodes.dtype.kind not in "iu":
        raise ValueError(
            f"levels must be whole numbers, one for each cell, got shape {nodes.shape} of "
            f"{nodes.dtype} at level {number}"
        )
    if nodes.min() < 0:
        cell = int(np.argmin(nodes))
        raise ValueError(
            f"levels must put each cell into a node, got {nodes[cell]} for cell {cell} of level "
            f"{number}: a cell in no node needs one of its own"
        )
    largest = int(nodes.max())
    used = np.bincount(nodes) if largest < nodes.size else np.zeros(1)
    if not used.all():
        empty = int(np.argmin(used)) if largest < nodes.size else f"some node below {largest}"
        raise ValueError(f"levels must number nodes without gaps, got no cell in {empty} of level {number}")
    return nodes.astype(np.int64, copy=False)


def _check_ends(levels: Sequence[Nodes]) -> None:
    """Raise ValueError if levels differ in length, the first is no root, or the last does not separate the cells."""
    if len(levels) < 2:  # noqa: PLR2004  (root and cells)
        raise ValueError(f"levels must be at least two, root and cells, got {len(levels)}")
    lengths = [level.size for level in levels]
    if len(set(lengths)) > 1:
        raise ValueError(f"levels must name a node for each cell, got {lengths} of them")
    if levels[0].any():
        raise ValueError("levels must begin with the root: all cells in node 0 of level 0")
    last = levels[-1]
    wrong = np.flatnonzero(last != np.arange(last.size))
    if wrong.size:
        raise ValueError(
            f"levels must end with each cell once, as 0, 1, 2, …, got {last[wrong[0]]} for cell {wrong[0]}"
        )


def _checked_parents(number: int, nodes_above: Nodes, nodes: Nodes, size: int) -> Nodes:
    """Return the parents of the nodes of a level; raise ValueError if the level does not nest."""
    parents = np.empty(size, dtype=np.int64)
    parents[nodes] = nodes_above
    crossing = np.flatnonzero(parents[nodes] != nodes_above)
    if crossing.size:
        node = int(nodes[crossing[0]])
        raise ValueError(
            f"levels must nest: node {node} of level {number} lies in nodes "
            f"{nodes_above[crossing[0]]} and {parents[node]} of level {number - 1}"
        )
    return parents


def _check_cells_differ(nodes: Nodes, columns: dict[str, list[str]]) -> None:
    """Raise ValueError if the keys name a cell twice."""
    if not np.array_equal(nodes, np.arange(nodes.size)):
        second = int(np.flatnonzero(nodes != np.arange(nodes.size))[0])
        first = int(np.flatnonzero(nodes == nodes[second])[0])
        cell = ", ".join(texts[second] for texts in columns.values())
        raise ValueError(
            f"keys must name each cell once, got {cell} in rows {first} and {second}: "
            "add the column that distinguishes them, or remove one (rows are counted from 0)"
        )


def _named_columns(keys: Any) -> dict[str, list[str]]:  # noqa: ANN401  (data frames of every kind)
    """Return the texts of the columns of keys by name, from coarse to fine."""
    columns = {str(name): _key_texts(column) for name, column in _name_columns(keys)}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        sizes = ", ".join(f"{name}: {length}" for name, length in lengths.items()) or "no column"
        raise ValueError(
            f"keys must be columns of one length, a row for each cell, got {sizes}: "
            "give one key of each column for each cell"
        )
    return columns


def _number_by_first_appearance(values: Nodes) -> Nodes:
    """Return the values numbered in the order of their first appearance, from 0."""
    _, firsts, codes = np.unique(values, return_index=True, return_inverse=True)
    ranks = np.empty(firsts.size, dtype=np.int64)
    ranks[np.argsort(firsts)] = np.arange(firsts.size)
    return ranks[codes]


def _distinct_texts(texts: Sequence[str]) -> tuple[Nodes, list[str]]:
    """Return the number of each text in the order of first appearance, and the distinct texts."""
    code_of_text: dict[str, int] = {}
    codes = np.array([code_of_text.setdefault(text, len(code_of_text)) for text in texts], dtype=np.int64)
    return codes, list(code_of_text)


def _name_columns(keys: Any) -> Iterable[tuple[str, Any]]:  # noqa: ANN401  (data frames of every kind)
    """Return the columns with their names; unnamed columns get numbers."""
    if isinstance(keys, Mapping):
        return keys.items()
    names = getattr(keys, "column_names", getattr(keys, "columns", None))
    if names is not None and hasattr(keys, "__getitem__"):
        return ((str(name), keys[name]) for name in names)
    if isinstance(keys, Sequence | np.ndarray) and not isinstance(keys, str):
        return ((f"key {number}", column) for number, column in enumerate(keys, 1))
    raise ValueError(
        f"keys must be a mapping of names to columns, a sequence of columns or a data frame, got {type(keys).__name__}"
    )


def _key_texts(column: Any) -> list[str]:  # noqa: ANN401  (columns of every kind)
    """Return the keys of one column as displayed texts."""
    if isinstance(column, str) or not hasattr(column, "__len__"):
        raise ValueError(f"keys must hold columns such as lists or arrays, got {column!r} among them")
    values = list(column)
    if not isinstance(column, list | tuple):
        array = np.asarray(column)
        if array.dtype.kind != "O":
            values = (np.datetime_as_string(array) if array.dtype.kind == "M" else array).tolist()
    # Data frames represent a missing value by nan.
    return [label_text(None if isinstance(value, float) and math.isnan(value) else value) for value in values]


T = TypeVar("T")


@frozen(eq=False)
class TreeLevel:
    """A level of a tree: disjoint sums of cells with their displayed keys."""

    name: str  # what a reader calls it
    of_cell: Nodes  # the node of each cell; cells that are in none share one more
    columns: tuple[int, ...] | None  # the places of the keys by which its nodes differ; None: they are ranges of cells
    keys: Sequence[tuple[str, ...]]  # of each node, as people read them


def tree_of(levels: Sequence[TreeLevel]) -> tuple[Tree, int]:
    """Return the tree of nested levels, down to the cells, and the depth of the first level."""
    has_root = len(levels) > 1 and not levels[0].of_cell.any()
    root = [] if has_root else [np.zeros(levels[-1].of_cell.size, np.int64)]
    levels_below_root = levels[has_root:]
    names = (TOTAL, *(level.name for level in levels_below_root))
    parents = (*root, *(level.of_cell for level in levels))
    return Tree(parents, names, _level_labels(levels_below_root)), len(root)


def _level_labels(levels: Sequence[TreeLevel]) -> KeyLabels | RangeLabels:
    """Return the labels of the nodes; each level adds the keys that the level above does not have."""
    if any(level.columns is None for level in levels):
        return RangeLabels(tuple(map(", ".join, levels[-1].keys)))
    texts: list[tuple[str, ...]] = []
    known_columns: set[int] = set()
    for level in levels:
        new_columns = [column for column in level.columns or () if column not in known_columns]
        level_texts = [", ".join(keys[column] for column in new_columns) for keys in level.keys]
        texts.append((*level_texts, *[OTHER_KEYS] * (int(level.of_cell.max()) + 1 - len(level_texts))))
        known_columns |= set(new_columns)
    return KeyLabels(tuple(texts))


def longest_chain(levels: Iterable[T], is_above: Callable[[T, T], bool]) -> list[T]:
    """Return the longest chain of levels that contain each other, from levels in coarse-to-fine order."""
    chains: list[list[T]] = []
    for level in levels:
        possible = [chain for chain in chains if is_above(chain[-1], level)]
        chains.append([*max(possible, key=len, default=[]), level])
    return max(chains, key=len, default=[])


def is_nested(fine: TreeLevel, coarse: TreeLevel) -> bool:
    """Return True if each node of the fine level lies in a single node of the coarse level."""
    parent = np.zeros(int(fine.of_cell.max()) + 1, dtype=np.int64)
    parent[fine.of_cell] = coarse.of_cell
    return np.array_equal(parent[fine.of_cell], coarse.of_cell)
