"""The tree of a published table: the levels that nest, and where their counts stand in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from noisycount.app.refine.tables.published import PublishedLevel, PublishedTable, Rows
from noisycount.errors import SourceError
from noisycount.model.tables.margins import TOTAL
from noisycount.model.tables.node_labels import KeyLabels, NodeLabels, RangeLabels
from noisycount.model.tables.tree import Tree
from noisycount.shown.label import OTHER_KEYS

__all__ = ["Nested", "PlacedLevel", "nested"]


@dataclass(frozen=True, slots=True)
class PlacedLevel:
    """A level of a table in its tree.

    Attributes:
        published: The level.
        depth: Its level in the tree, from 0 of the root.
        places: The position there of each of its rows, shape (rows of the level,).
    """

    published: PublishedLevel
    depth: int
    places: Rows = field(repr=False)


@dataclass(frozen=True, slots=True)
class Nested:
    """A table on a tree.

    Attributes:
        tree: Of its cells.
        levels: Those that nest, from coarse to the cells.
        left_out: The names of those that do not.
    """

    tree: Tree
    levels: tuple[PlacedLevel, ...]
    left_out: tuple[str, ...] = ()


def nested(table: PublishedTable) -> Nested:
    """The tree of the levels that nest; as many as do, from the total to the cells.

    Where columns are a hierarchy, such as county and town, each of them has a level of its own,
    whether its sums were published or not.

    Args:
        table: With the cells first among its levels.

    Raises:
        SourceError: A cell or a sum stands twice, or a sum is of no cell.
    """
    _check_cells(table)
    chain = _chain(table)
    left_out = tuple(level.name for level in table.levels if level not in chain)
    if table.is_hierarchy:
        return _of_columns(table, chain, left_out)
    parts = [_partition(table, level) for level in chain]
    has_root = len(chain) > 1 and not parts[0].any()
    root = [] if has_root else [np.zeros(parts[-1].size, np.int64)]
    names = (TOTAL, *(level.name for level in chain[has_root:]))
    tree = Tree((*root, *parts), names, _labels(table, chain[has_root:], parts[has_root:]))
    placed = (
        PlacedLevel(level, len(root) + place, np.arange(len(level.rows)))
        for place, level in enumerate(chain)
    )
    return Nested(tree, tuple(placed), left_out)


def _of_columns(
    table: PublishedTable, chain: Sequence[PublishedLevel], left_out: tuple[str, ...]
) -> Nested:
    """The tree with a level for each column."""
    order = list(dict.fromkeys(at for level in chain for at in level.columns))
    keys = {table.names[at]: [table.keys[row][at] for row in table.cells.rows] for at in order}
    tree = Tree.of_keys(keys)
    placed = []
    for level in chain:
        part, depth = _partition(table, level), len(level.columns)
        places = np.zeros(len(level.rows), np.int64)
        places[part[part < len(places)]] = tree.levels[depth][part < len(places)]
        placed.append(PlacedLevel(level, depth, places))
    return Nested(tree, tuple(placed), left_out)


def _chain(table: PublishedTable) -> list[PublishedLevel]:
    """The most levels that contain each other, from coarse to the cells."""
    others = sorted(table.levels[1:], key=lambda level: len(level.rows))
    if any(level.of_cell is not None for level in others):
        return [*others, table.cells]
    chains: list[list[PublishedLevel]] = []
    for level in sorted(others, key=lambda level: len(level.columns)):
        coarser = [each for each in chains if set(each[-1].columns) < set(level.columns)]
        chains.append([*max(coarser, key=len, default=[]), level])
    return [*max(chains, key=len, default=[]), table.cells]


def _partition(table: PublishedTable, level: PublishedLevel) -> Rows:
    """For each cell the place of its count among those of a level; one more where it has none."""
    if level.of_cell is not None:
        return level.of_cell
    if level is table.cells:
        return np.arange(len(level.rows))
    _check_once(table, level, "sum")
    found = {_key(table, row, level): at for at, row in enumerate(level.rows.tolist())}
    rows = table.cells.rows.tolist()
    part = np.array([found.get(_key(table, row, level), len(found)) for row in rows])
    empty = set(range(len(found))) - set(part.tolist())
    if empty:
        keys = ", ".join(_key(table, int(level.rows[min(empty)]), level))
        raise SourceError(f"{level.name} has an answer for {keys}, of which there is no cell")
    return part


def _check_cells(table: PublishedTable) -> None:
    """The refusal of a cell that stands twice; of ranges the keys do not tell cells apart."""
    if table.cells.columns:
        _check_once(table, table.cells, "cell")


def _check_once(table: PublishedTable, level: PublishedLevel, what: str) -> None:
    """The refusal of two rows with the same keys.

    Raises:
        SourceError: There are such.
    """
    met: dict[tuple[str, ...], int] = {}
    for row in level.rows.tolist():
        key = _key(table, row, level)
        if met.setdefault(key, row) != row:
            raise SourceError(
                f"rows {met[key] + 1:,} and {row + 1:,} below the names have answers for one "
                f"{what}, {', '.join(key) or TOTAL}: add the column that tells them apart, or "
                "remove one"
            )


def _key(table: PublishedTable, row: int, level: PublishedLevel) -> tuple[str, ...]:
    """The keys of a row by which its level tells it from others."""
    return tuple(table.keys[row][at] for at in level.columns)


def _labels(
    table: PublishedTable, chain: Sequence[PublishedLevel], parts: Sequence[Rows]
) -> NodeLabels:
    """The keys of the nodes, each level with those that the level above has not."""
    if any(level.of_cell is not None for level in chain):
        return RangeLabels(tuple(", ".join(table.keys[row]) for row in table.cells.rows))
    texts: list[tuple[str, ...]] = []
    met: set[int] = set()
    for level, part in zip(chain, parts, strict=True):
        new = [at for at in level.columns if at not in met]
        own = [", ".join(table.keys[row][at] for at in new) for row in level.rows.tolist()]
        texts.append((*own, *[OTHER_KEYS] * (int(part.max()) + 1 - len(own))))
        met |= set(new)
    return KeyLabels(tuple(texts))
