"""A table of which counts are asked: its tree, its answers, and how sums are computed.

Where the counts of nodes are, as far as their own answers tell.

Nodes of a level that are computed together, with their children.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.divisions import Division
from noisycount.analysis.tables.level_answers import NO_END, Bounds
from noisycount.analysis.tables.likelihoods import LevelLikelihood
from noisycount.analysis.tables.split import Split, zone_targets
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.populations.population import Population
from noisycount.model.tables.tree import Tree

__all__ = [
    "Branches",
    "Counts",
    "Divisions",
    "Message",
    "Model",
    "Node",
    "Settings",
    "branches",
    "cell_windows",
    "overlap",
]

Counts = NDArray[np.int64]
Node = tuple[int, int]

# How counts divide: by the level, the positions of nodes, shape (nodes,), and their children's.
Divisions = Callable[[int, Counts, Counts], Division]


@frozen(eq=False, slots=False)
class Model:
    """A table: its tree, what was answered, and what was known before.

    Attributes:
        tree: Its nodes.
        levels: What was answered about each level.
        total: The law of the root before any answer; None: nothing is known, or all by bounds.
        likeliest: The table that logarithms are told relative to, level by level; None: none.
        offset: The logarithm that they are told without.
    """

    tree: Tree
    levels: tuple[LevelLikelihood, ...]
    total: Population | None
    likeliest: tuple[Counts, ...] | None = None
    offset: float = 0.0

    def children(self, level: int, position: int) -> Counts:
        """The positions, in the level below, of the children of a node."""
        order, starts = self.families[level]
        return order[starts[position] : starts[position + 1]]

    def family_sizes(self, level: int) -> Counts:
        """How many children each node of a level has."""
        return np.diff(self.families[level][1])

    @cached_property
    def families(self) -> list[tuple[Counts, Counts]]:
        """For each level the nodes below it, parent by parent, and where each parent's start."""
        families = []
        for level in range(1, self.tree.depth):
            parents = self.tree.parents(level)
            starts = np.searchsorted(np.sort(parents), np.arange(self.tree.sizes[level - 1] + 1))
            families.append((np.argsort(parents, kind="stable"), starts))
        return families


@frozen(eq=False)
class Settings:
    """How the passes are computed: none of it changes what they mean.

    Attributes:
        targets: About which count the law of each node is, level by level.
        spreads: About its standard deviation.
        zones: How many transforms share its counts, an odd number.
        widened: By how many times its width the reach of each node's answers is extended.
        ends: Where the laws of the cells were found to end; None: not yet.
        tilts: Those to begin with, of each node of each level above the cells, shape (sets·zones,);
            None: typical ones.
        is_bounded: Whether what transforms leave out has upper bounds in the laws.
    """

    targets: tuple[Reals, ...]
    spreads: tuple[Reals, ...]
    zones: tuple[Counts, ...]
    widened: tuple[Counts, ...]
    ends: Bounds | None = None
    tilts: tuple[tuple[Reals, ...], ...] | None = None
    is_bounded: bool = False

    @classmethod
    def start(cls, targets: Sequence[Reals]) -> Self:
        """Those of the first passes."""
        ones = tuple(np.ones(target.size, np.int64) for target in targets)
        spreads = tuple(np.ones(target.size) for target in targets)
        return cls(tuple(targets), spreads, ones, tuple(one - 1 for one in ones))

    def zoned(self, level: int, nodes: Counts) -> Reals:
        """The targets of nodes that have as many zones each, shape (nodes, zones)."""
        zones = int(self.zones[level][nodes[0]])
        return zone_targets(self.targets[level][nodes], self.spreads[level][nodes], zones)


MOST_COUNTS = 1 << 22  # how many counts the law of a cell may have to be a table
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


_TOGETHER = 1 << 20  # weights that are computed at a time
_CHEAP = 30_000  # multiplications, below which positive sums are as fast as transforms
_BEARABLE = 1e9  # the same where transforms need several zones
_SMALL = 3e7  # the same, times the sums, of a zone for each sum
_MOST_WORK = 3e8  # the same of several zones of positive sums


@frozen(eq=False)
class Message:
    """The likelihood of the counts of a node.

    Attributes:
        low: The first count.
        logs: Its logarithm from there on; the largest is 0.
        constant: What was taken from the logarithms, here and below.
    """

    low: int
    logs: Reals
    constant: float


@frozen(eq=False)
class Branches:
    """Some nodes of a level with as many children each.

    Attributes:
        level: Of the nodes.
        nodes: Their positions, shape (nodes,).
        children: The positions of their children in the level below, shape (nodes, children).
    """

    level: int
    nodes: Counts
    children: Counts

    def split(
        self,
        model: Model,
        settings: Settings,
        divisions: Divisions,
        cells: Bounds,
        below: Sequence[Message],
    ) -> Split:
        """The nodes with what is told of their children.

        Args:
            model: The table.
            settings: How sums are computed.
            divisions: How counts divide.
            cells: Where the counts of the cells are.
            below: The messages of the level below; none if those are the cells.
        """
        if below:
            lows, logs = _together([below[child] for child in self.children.ravel().tolist()])
        else:
            lows, logs = _likelihoods(model, cells, self.children.ravel())
        shape = self.children.shape
        lows, division = lows.reshape(shape), divisions(self.level, self.nodes, self.children)
        targets = settings.zoned(self.level, self.nodes)
        zones, places = targets.shape[1], shape[1] * (logs.shape[1] - 1) + 1
        work = (shape[1] * logs.shape[1]) ** 2
        is_positive = work < (_CHEAP if zones == 1 else _BEARABLE)
        is_small = work * places < _SMALL
        if is_positive and is_small and zones > 1:
            targets = lows.sum(axis=1)[:, None] + np.arange(places, dtype=np.float64)
        elif is_positive and work * zones > _MOST_WORK:
            targets = targets[:, zones // 2, None]
        tilts = None
        if settings.tilts is not None:
            kinds = division.log_chances.size * targets.shape[1]
            known = [settings.tilts[self.level][node] for node in self.nodes.tolist()]
            tilts = np.array(known) if all(one.size == kinds for one in known) else None
        is_bounded = settings.is_bounded or (is_positive and is_small)
        logs = logs.reshape(*shape, -1)
        return Split(lows, logs, division, targets, is_positive, tilts, is_bounded)


def branches(model: Model, settings: Settings, level: int, widths: Counts) -> Iterator[Branches]:
    """The nodes of a level, those with as many children and about as wide ones together.

    Args:
        model: The table.
        settings: How sums are computed.
        level: Of the nodes, above the cells.
        widths: How many counts each node of the level below may have.
    """
    numbers = model.family_sizes(level)
    widest = np.zeros(numbers.size, np.int64)
    np.maximum.at(widest, model.tree.parents(level + 1), widths)
    order = np.lexsort((widest, settings.zones[level], numbers))
    kinds = np.stack([numbers, settings.zones[level]], axis=1)[order]
    starts = [0, *(np.flatnonzero((np.diff(kinds, axis=0) != 0).any(axis=1)) + 1), order.size]
    for start, stop in pairwise(starts):
        for nodes in _chunks(order[start:stop], numbers * widest * settings.zones[level]):
            children = np.stack([model.children(level, int(node)) for node in nodes])
            yield Branches(level, nodes, children)


def _chunks(nodes: Counts, sizes: Counts) -> Iterator[Counts]:
    """Nodes, the smallest first, in runs that are not too large for all to be as the last."""
    start = 0
    while start < nodes.size:
        together = np.arange(1, nodes.size - start + 1) * sizes[nodes[start:]]
        stop = start + max(1, int(np.searchsorted(together, _TOGETHER, "right")))
        yield nodes[start:stop]
        start = stop


def _likelihoods(model: Model, cells: Bounds, nodes: Counts) -> tuple[Counts, Reals]:
    """The logarithms of likelihoods of the counts of cells, −inf beyond their windows."""
    lows, highs = cells.low[nodes], cells.high[nodes]
    width = int((highs - lows).max()) + 1
    logs = model.levels[-1].logs(nodes, lows, width)
    return lows, np.where(np.arange(width) <= (highs - lows)[:, None], logs, -np.inf)


def _together(messages: Sequence[Message]) -> tuple[Counts, Reals]:
    """Messages as one array, −inf where one has no count."""
    width = max(message.logs.size for message in messages)
    logs = np.full((len(messages), width), -np.inf)
    for row, message in zip(logs, messages, strict=True):
        row[: message.logs.size] = message.logs
    return np.array([message.low for message in messages]), logs
