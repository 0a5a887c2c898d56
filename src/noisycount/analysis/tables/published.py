"""A published table as a tree with answers and mechanisms."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.stated_laws import TableMechanisms
from noisycount.model.mechanism import Mechanism
from noisycount.model.tables.levels import Level
from noisycount.model.tables.margins import TOTAL
from noisycount.model.tables.node_labels import KeyLabels, NodeLabels, RangeLabels
from noisycount.model.tables.tree import Tree
from noisycount.shown.label import OTHER_KEYS, label_text

__all__ = ["Asked", "PublishedTable", "asked", "is_published_table"]

Places = NDArray[np.int64]


class LevelNoise(Protocol):
    """The noise of a level."""

    @property
    def mechanism(self) -> Mechanism:
        """The law of an answer given the count."""
        ...


class NoisePlan(Protocol):
    """The noise of each level."""

    @property
    def levels(self) -> Sequence[LevelNoise]:
        """The cells first."""
        ...


class Labels(Protocol):
    """The keys of the nodes of a table."""

    def of(self, level: Level) -> Iterable[tuple[Any, ...]]:
        """The labels of each node, None where a part is summed over."""
        ...


class PublishedTable(Protocol):
    """A table that carries its levels and their mechanisms, as a desk releases it."""

    @property
    def answers(self) -> Sequence[NDArray[np.int64]]:
        """Of each level, the cells first."""
        ...

    @property
    def plan(self) -> NoisePlan:
        """The noise of each level."""
        ...

    @property
    def levels(self) -> Sequence[Level]:
        """What each level counts."""
        ...

    @property
    def labels(self) -> Labels:
        """The keys of the nodes."""
        ...

    @property
    def is_additive(self) -> bool:
        """Whether margins are sums of cells."""
        ...


class Asked(NamedTuple):
    """What a table posterior is asked about.

    Attributes:
        answers: As `answered` reads them.
        mechanism: The same.
        tree: Whose nodes they are about.
    """

    answers: Any
    mechanism: TableMechanisms
    tree: Tree


def is_published_table(answers: object) -> TypeGuard[PublishedTable]:
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

    Args:
        answers: As `answered` reads them, or a published table.
        mechanism: The same; None with a published table.
        tree: None: flat, or that of the published table.

    Raises:
        ValueError: If margins are no sums of cells, or the number of cells cannot be known.
    """
    if is_published_table(answers):
        found = _published(answers)
        return Asked(found.answers, mechanism or found.mechanism, found.tree)
    if tree is not None:
        if not isinstance(tree, Tree):
            raise ValueError(
                f"tree must be a noisycount.Tree, got {tree!r}: build it by Tree.of_keys"
            )
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


def _published(table: PublishedTable) -> Asked:
    """The tree of a published table, from the total to the cells."""
    if len(table.levels) > 1 and not table.is_additive:
        raise ValueError(
            "answers must be a table whose margins are sums of its cells, but a unit may be in "
            "several cells or in hidden ones: give answers[0] alone, with their mechanism"
        )
    partitions = [_partition(level) for level in table.levels]
    chain = _chain(partitions)
    left_out = [level.name for place, level in enumerate(table.levels) if place not in chain]
    if left_out:
        warnings.warn(
            f"margins that cross the others are left out: {'; '.join(left_out)}", stacklevel=5
        )
    levels = [partitions[place] for place in chain]
    has_root = int(levels[0].max()) == 0 and len(levels) > 1
    root = [] if has_root else [np.zeros(levels[-1].size, dtype=np.int64)]
    names = (TOTAL, *(table.levels[place].name for place in chain[has_root:]))
    tree = Tree((*root, *levels), names, _labels(table, chain[has_root:]))
    start = len(root)
    answers = {
        start + rank: _padded(table.answers[place], tree.sizes[start + rank])
        for rank, place in enumerate(chain)
    }
    laws = {start + rank: table.plan.levels[place].mechanism for rank, place in enumerate(chain)}
    return Asked(answers, laws, tree)


def _partition(level: Level) -> Places:
    """The node of each cell; cells that are in none share one more."""
    nodes = level.of_cell.astype(np.int64)
    return np.where(nodes < 0, level.size, nodes)


def _padded(answers: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """The answers of a level, nan for a node that has none."""
    missing = np.full(size - len(answers), np.nan)
    return np.concatenate([answers.astype(np.float64), missing])


def _chain(partitions: Sequence[Places]) -> list[int]:
    """The places of the most levels that nest in each other, from coarse to the cells."""
    order = sorted(range(1, len(partitions)), key=lambda place: int(partitions[place].max()))
    best: list[list[int]] = []
    for place in order:
        below = [chain for chain in best if _nests(partitions[place], partitions[chain[-1]])]
        best.append([*max(below, key=len, default=[]), place])
    return [*max(best, key=len, default=[]), 0]


def _nests(fine: Places, coarse: Places) -> bool:
    """Whether each node of one level is a part of one node of another."""
    parent = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    parent[fine] = coarse
    return np.array_equal(parent[fine], coarse)


def _labels(table: PublishedTable, chain: Sequence[int]) -> NodeLabels:
    """The keys of the nodes, each level with those that the level above has not."""
    levels = [table.levels[place] for place in chain]
    if any(level.codes is None for level in levels):
        return RangeLabels(tuple(", ".join(map(label_text, one)) for one in _of(table, 0)))
    met: set[int] = set()
    texts = []
    for place, level in zip(chain, levels, strict=True):
        codes = np.empty((0, 0)) if level.codes is None else level.codes
        kept = {
            part for part, used in enumerate(np.atleast_1d((codes >= 0).any(axis=0))) if used
        } - met
        own = [_text(one, kept) for one in _of(table, place)]
        texts.append((*own, *[OTHER_KEYS] * bool((level.of_cell < 0).any())))
        met |= kept
    return KeyLabels(tuple(texts))


def _of(table: PublishedTable, place: int) -> Iterator[tuple[Any, ...]]:
    """The labels of the nodes of a level; of "other" one text."""
    level = table.levels[place]
    keyed = level.size if level.codes is None else len(level.codes)
    for node, one in enumerate(table.labels.of(level)):
        yield one if node < keyed else (OTHER_KEYS,) * len(one)


def _text(labels: Sequence[Any], parts: Iterable[int]) -> str:
    """The labels of some parts as one text."""
    return ", ".join(label_text(labels[part]) for part in sorted(parts))
