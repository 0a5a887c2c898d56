"""A published table as a tree with answers and mechanisms."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.answers import TableMechanisms
from noisycount.display.texts import OTHER_KEYS, label_text
from noisycount.frozen import frozen
from noisycount.model.tables.levels import TOTAL, Level
from noisycount.model.tables.tree import KeyLabels, NodeLabels, RangeLabels, Tree

Places = NDArray[np.int64]
T = TypeVar("T")


class ReleasedTable(Protocol):
    """A table of a desk, which carries its levels, the cells first, and their mechanisms."""

    answers: Sequence[NDArray[np.int64]]
    plan: Any  # has the noise of each level
    levels: Sequence[Level]
    labels: Any  # has the keys of the nodes of each level
    is_additive: bool  # margins are sums of cells


@frozen(eq=False)
class TreeLevel:
    """Counts of which no two share a cell, as a level of a tree."""

    name: str  # what a reader calls it
    of_cell: Places  # the node of each cell; cells that are in none share one more
    columns: tuple[int, ...] | None  # the places of the keys by which its nodes differ; None: they are ranges of cells
    keys: Sequence[tuple[str, ...]]  # of each node, as people read them


def tree_of(levels: Sequence[TreeLevel]) -> tuple[Tree, int]:
    """The tree of levels that contain each other, down to the cells, and the depth of the first."""
    has_root = len(levels) > 1 and not levels[0].of_cell.any()
    root = [] if has_root else [np.zeros(levels[-1].of_cell.size, np.int64)]
    named = levels[has_root:]
    names = (TOTAL, *(level.name for level in named))
    parents = (*root, *(level.of_cell for level in levels))
    return Tree(parents, names, _labels(named)), len(root)


def _labels(levels: Sequence[TreeLevel]) -> NodeLabels:
    """The keys of the nodes, each level with those that the level above has not."""
    if any(level.columns is None for level in levels):
        return RangeLabels(tuple(map(", ".join, levels[-1].keys)))
    texts: list[tuple[str, ...]] = []
    met: set[int] = set()
    for level in levels:
        new = [at for at in level.columns or () if at not in met]
        own = [", ".join(keys[at] for at in new) for keys in level.keys]
        texts.append((*own, *[OTHER_KEYS] * (int(level.of_cell.max()) + 1 - len(own))))
        met |= set(new)
    return KeyLabels(tuple(texts))


def longest_chain(levels: Iterable[T], is_above: Callable[[T, T], bool]) -> list[T]:
    """The most of some levels that contain each other, given from coarse to fine."""
    chains: list[list[T]] = []
    for level in levels:
        above = [chain for chain in chains if is_above(chain[-1], level)]
        chains.append([*max(above, key=len, default=[]), level])
    return max(chains, key=len, default=[])


class Asked(NamedTuple):
    """What a table posterior is asked about."""

    answers: Any  # as `answered` reads them
    mechanism: TableMechanisms  # the same
    tree: Tree  # whose nodes they are about


def is_released_table(answers: object) -> TypeGuard[ReleasedTable]:
    """Whether answers carry their levels and mechanisms."""
    names = ("answers", "plan", "levels", "labels", "is_additive")
    return all(hasattr(answers, name) for name in names)


def asked(
    answers: Any,  # noqa: ANN401  (whatever `answered` reads)
    mechanism: TableMechanisms,
    tree: Tree | None,
) -> Asked:
    """The answers, the mechanisms and the tree, where some of them go without saying.

    A published table brings all three. Its levels are the longest chain that nests; margins that
    cross it are left out, with a warning, as no tree holds both.
    Of a table with hidden keys only the cells that it shows are told of; a law that is learned from
    them is that of cells which exceeded the threshold.
    """
    if is_released_table(answers):
        found = _released(answers)
        return Asked(found.answers, mechanism or found.mechanism, found.tree)
    if tree is not None:
        if not isinstance(tree, Tree):
            raise ValueError(f"tree must be a noisycount.Tree, got {tree!r}: build it by Tree.of_keys")
        return Asked(answers, mechanism, tree)
    cells: Any = answers
    if isinstance(answers, Mapping):
        cells = next((answers[key] for key in (-1, 1) if key in answers), None)
    if cells is None or np.ndim(cells) != 1 or not len(cells):
        raise ValueError(
            "tree must be given unless answers are those of the cells: "
            "build it by noisycount.Tree.of_keys, Tree.binary or Tree.flat"
        )
    return Asked(answers, mechanism, Tree.flat(len(cells)))


def _released(table: ReleasedTable) -> Asked:
    """The tree of a table of a desk, from the total to the cells."""
    if len(table.levels) > 1 and not table.is_additive:
        raise ValueError(
            "answers must be a table whose margins are sums of its cells, but a unit may be in "
            "several cells or in hidden ones: give answers[0] alone, with their mechanism"
        )
    levels = [_tree_level(table, level) for level in table.levels]
    others = sorted(range(1, len(levels)), key=lambda place: int(levels[place].of_cell.max()))
    chain = [*longest_chain(others, lambda up, low: _nests(levels[low], levels[up])), 0]
    left_out = [level.name for place, level in enumerate(levels) if place not in chain]
    if left_out:
        warnings.warn(f"margins that cross the others are left out: {'; '.join(left_out)}", stacklevel=4)
    tree, first = tree_of([levels[place] for place in chain])
    answers, laws = {}, {}
    for depth, place in enumerate(chain, start=first):
        answers[depth] = np.full(tree.sizes[depth], np.nan)  # a node of other keys has no answer
        answers[depth][: len(table.answers[place])] = table.answers[place]
        laws[depth] = table.plan.levels[place].mechanism
    return Asked(answers, laws, tree)


def _tree_level(table: ReleasedTable, level: Level) -> TreeLevel:
    """A level with the keys of its nodes; those of "other" are one text."""
    nodes = level.of_cell.astype(np.int64)
    of_cell = np.where(nodes < 0, level.size, nodes)
    keyed, columns = level.size, None
    if level.codes is not None:
        keyed = len(level.codes)
        columns = tuple(np.flatnonzero((level.codes >= 0).any(axis=0)).tolist())
    keys = [
        tuple(map(label_text, one if node < keyed else (OTHER_KEYS,) * len(one)))
        for node, one in enumerate(table.labels.of(level))
    ]
    return TreeLevel(level.name, of_cell, columns, keys)


def _nests(fine: TreeLevel, coarse: TreeLevel) -> bool:
    """Whether each node of one level is a part of one node of another."""
    parent = np.zeros(int(fine.of_cell.max()) + 1, dtype=np.int64)
    parent[fine.of_cell] = coarse.of_cell
    return np.array_equal(parent[fine.of_cell], coarse.of_cell)
