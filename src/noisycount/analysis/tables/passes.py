"""Two passes over a tree: up to the likelihood of every node's count, and down to its law."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.likelihoods import NO_END, Bounds, Counts, Model
from noisycount.analysis.tables.prior import PriorLevel
from noisycount.analysis.tables.split import Split, zone_targets
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, TableLaw
from noisycount.model.laws.gamma import Reals


@frozen(eq=False)
class Settings:
    """How the passes are computed: none of it changes what they mean."""

    targets: tuple[Reals, ...]  # about which count the law of each node is, level by level
    spreads: tuple[Reals, ...]  # about its standard deviation
    zones: tuple[Counts, ...]  # how many transforms share its counts, an odd number
    widened: tuple[Counts, ...]  # by how many times its width the reach of each node's answers is extended
    # between which counts the distributions of the nodes of each level lie; None: not known yet
    ends: tuple[Bounds, ...] | None = None
    # those to begin with, of each node of each level above the cells, shape (sets·zones,); None: typical ones
    tilts: tuple[tuple[Reals, ...], ...] | None = None
    is_bounded: bool = False  # whether what transforms leave out has upper bounds in the laws


MOST_COUNTS = 1 << 22  # how many counts the law of a cell may have to be a table
_ROOM = 16  # the part of a law by which its window is longer, and at least so many counts


def windows(model: Model, settings: Settings, level: int) -> Bounds:
    """Return where the counts of a level lie, by their own answers and by the known ends of their distributions."""
    low, high = model.levels[level].reach(settings.widened[level])
    if settings.ends is None:
        return Bounds(low, high)
    first, last = settings.ends[level]
    width = last - first
    room = width // _ROOM + _ROOM
    nearer = np.maximum(low, first - room), np.minimum(high, last + room)
    meets = nearer[0] <= nearer[1]
    return Bounds(np.where(meets, nearer[0], low), np.where(meets, nearer[1], high))


def cell_windows(model: Model, settings: Settings) -> Bounds:
    """Where the count of each cell is, but for e^−42 of its likelihood."""
    low, high = windows(model, settings, -1)
    for cell in np.flatnonzero(high - low >= MOST_COUNTS).tolist():
        high[cell] = min(int(high[cell]), _largest(model, cell))
        if high[cell] - low[cell] >= MOST_COUNTS:
            told = ", ".join(model.tree.label(-1, cell))
            raise ValueError(
                f"answers leave the count of {told} open, with {MOST_COUNTS} possible ones or "
                "more: give an answer of it, or a total"
            )
    return Bounds(low, high)


def _largest(model: Model, cell: int) -> int:
    """The largest count of a cell that the answers of the nodes above it leave likely."""
    tree = model.tree
    last = NO_END
    for level in range(tree.depth - 1):
        reach = model.levels[level].reach(np.zeros(tree.sizes[level], np.int64))
        last = min(last, int(reach.high[tree.levels[level][cell]]))
    return last


def first_settings(model: Model) -> Settings:
    """Those to begin with, in windows of the cells that leave each count what it can be."""
    ones = tuple(np.ones(size, np.int64) for size in model.tree.sizes)
    spreads = tuple(np.ones(size) for size in model.tree.sizes)
    start = Settings(model.guesses, spreads, ones, tuple(one - 1 for one in ones))
    while True:
        apart = _apart(model, cell_windows(model, start))
        if not apart.any():
            return start
        cells = np.where(apart, 2 * start.widened[-1] + 1, start.widened[-1])
        start = replace(start, widened=(*start.widened[:-1], cells))


def _apart(model: Model, cells: Bounds) -> NDArray[np.bool_]:
    """Which cells have windows that do not add up to what a count above them can be."""
    tree, apart = model.tree, np.zeros(model.tree.cells, np.bool_)
    for places, own in zip(tree.levels[:-1], model.levels[:-1], strict=True):
        least, most = np.zeros(own.bounds.low.size, np.int64), np.zeros_like(own.bounds.low)
        np.add.at(least, places, cells.low)
        np.add.at(most, places, cells.high)
        apart |= ((least > own.bounds.high) | (most < own.bounds.low))[places]
    return apart & model.levels[-1].is_answered


_TOGETHER = 1 << 20  # weights that are computed at a time
_ALIKE = 1.2  # ratio of the largest to the smallest number of weights of nodes that are computed together
_NARROW = 1 << 7  # weights of a node: nodes with fewer are computed together, as they cost little
_CHEAP = 30_000  # multiplications, below which positive sums are as fast as transforms
_CHEAPER = 1.4e6  # the same for each zone, times the root of the children, in narrow windows, which need no bounds
_BEARABLE = 1e9  # the same where transforms need several zones
_SMALL = 3e7  # the same, times the sums, of a zone for each sum
_MOST_WORK = 3e8  # the same of several zones of positive sums
_KEPT = 1 << 25  # numbers of splits that are not computed again on the way down
_IMPOSSIBLE = (
    "answers are impossible together: no table can have them under this prior and total, "
    "so check the answers, the mechanisms and the total"
)


class Message(NamedTuple):
    """The likelihood of the counts of a node."""

    low: int  # the first count
    logs: Reals  # its logarithm from there on; the largest is 0
    constant: float  # what was taken from the logarithms, here and below


class Branches(NamedTuple):
    """Some nodes of a level with as many children each, which are computed together."""

    nodes: Counts  # their positions, shape (nodes,)
    children: Counts  # the positions of their children in the level below, shape (nodes, children)
    kept: Split | None  # what is told of them, unless it would take too much memory


class UpwardPass:
    """The likelihoods of all counts, given the answers at and below them, and the law of the root's.

    Attributes:
        settings: How it was computed, with the tilts that were found.
        cells: Where the counts of the cells are.
        messages: Of the nodes of each level above the cells.
        branches: The nodes of each of these levels.
        law: The probabilities of the root's counts, from that of its message on.
        evidence: The logarithm of the probability of the answers.
    """

    def __init__(self, model: Model, levels: tuple[PriorLevel, ...], settings: Settings) -> None:
        self.model, self.levels, self.settings = model, levels, settings
        self.cells = cell_windows(model, settings)
        self.messages: list[list[Message]] = [[] for _ in levels]
        self.branches: list[list[Branches]] = [[] for _ in levels]
        tilts: list[list[Reals]] = [[] for _ in levels]
        widths, room = self.cells.high - self.cells.low + 1, _KEPT
        for level in range(len(levels) - 1, -1, -1):
            reach, none = windows(model, settings, level), Message(0, np.zeros(0), 0.0)
            self.messages[level] = [none] * model.tree.sizes[level]
            tilts[level] = [none.logs] * model.tree.sizes[level]
            for nodes, children in _families(model, settings, level, widths):
                split = self.split(level, nodes, children)
                room -= split.logs.size * (2 + split.tilted.shape[1])
                self.branches[level].append(Branches(nodes, children, split if room > 0 else None))
                found = self._messages(level, nodes, children, split, reach)
                for node, message, tilt in zip(nodes.tolist(), found, split.tilted, strict=True):
                    self.messages[level][node], tilts[level][node] = message, tilt
            widths = np.array([message.logs.size for message in self.messages[level]])
        self.settings = replace(settings, tilts=tuple(map(tuple, tilts)))
        root = self.messages[0][0]
        logs = root.logs
        if model.total is not None:
            logs = logs + model.total.law().log_pmf(root.low + np.arange(logs.size))
        peak = float(logs.max())
        if not math.isfinite(peak):
            raise ValueError(_IMPOSSIBLE)
        weights = np.exp(logs - peak)
        total = float(weights.sum())
        self.law: Reals = weights / total
        self.evidence = math.fsum((model.offset, root.constant, peak, math.log(total)))

    @property
    def is_rough(self) -> bool:
        """True if windows end where the distributions under a learned prior are small."""
        return self.settings.ends is not None and any(level.is_learned for level in self.levels)

    def split(self, level: int, nodes: Counts, children: Counts) -> Split:
        """Some nodes of a level, and what is told of their children; shapes as in `Branches`."""
        settings = self.settings
        lows, logs = self._below(level, children.ravel())
        shape = children.shape
        lows, division = lows.reshape(shape), self.levels[level].division(children)
        zones = int(settings.zones[level][nodes[0]])  # of all of them
        targets = zone_targets(settings.targets[level][nodes], settings.spreads[level][nodes], zones)
        places = shape[1] * (logs.shape[1] - 1) + 1
        work = (shape[1] * logs.shape[1]) ** 2
        is_near = settings.ends is not None  # windows are narrow, so that no positive sum is too rare for floats
        cheap = _CHEAPER * zones * math.sqrt(shape[1]) if is_near else _CHEAP
        is_positive = work < (cheap if zones == 1 or is_near else _BEARABLE)
        is_small = work * places < _SMALL and not is_near
        if is_positive and is_small and zones > 1:
            targets = lows.sum(axis=1)[:, None] + np.arange(places, dtype=np.float64)
        elif is_positive and (is_near or work * zones > _MOST_WORK):
            targets = targets[:, zones // 2, None]
        tilts = None
        if settings.tilts is not None:
            kinds = division.log_chances.size * targets.shape[1]
            known = [settings.tilts[level][node] for node in nodes.tolist()]
            tilts = np.array(known) if all(one.size == kinds for one in known) else None
        is_bounded = settings.is_bounded or (is_positive and is_small)
        return Split(lows, logs.reshape(*shape, -1), division, targets, is_positive, tilts, is_bounded, self.is_rough)

    def splits(self, level: int) -> Iterator[tuple[Counts, Counts, Split]]:
        """All nodes of a level above the cells, their children, and what is told of these."""
        for nodes, children, kept in self.branches[level]:
            yield nodes, children, kept or self.split(level, nodes, children)

    def _below(self, level: int, children: Counts) -> tuple[Counts, Reals]:
        """The first counts of children, and logarithms of likelihoods as one array, −inf where there is none."""
        if level + 1 == len(self.levels):
            lows, highs = self.cells.low[children], self.cells.high[children]
            width = int((highs - lows).max()) + 1
            logs = self.model.levels[-1].logs(children, lows, width)
            return lows, np.where(np.arange(width) <= (highs - lows)[:, None], logs, -np.inf)
        messages = [self.messages[level + 1][child] for child in children.tolist()]
        logs = np.full((len(messages), max(message.logs.size for message in messages)), -np.inf)
        for row, message in zip(logs, messages, strict=True):
            row[: message.logs.size] = message.logs
        return np.array([message.low for message in messages]), logs

    def _messages(self, level: int, nodes: Counts, children: Counts, split: Split, reach: Bounds) -> Iterator[Message]:
        """What is told of nodes from below and by their own answers.

        Where the answers of a node and those below lie far apart its window is not cut: then its count
        is somewhere between.
        """
        own, width = self.model.levels[level], split.messages.shape[1]
        logs = split.messages + own.logs(nodes, split.low, width)
        first = np.maximum(split.low, own.bounds.low[nodes])
        last = np.minimum(split.low + width - 1, own.bounds.high[nodes])
        nearer = np.maximum(first, reach.low[nodes]), np.minimum(last, reach.high[nodes])
        meets = nearer[0] <= nearer[1]
        first, last = np.where(meets, nearer[0], first), np.where(meets, nearer[1], last)
        for place, below in enumerate(children.tolist()):
            start = int(split.low[place])
            row = logs[place, first[place] - start : max(last[place] + 1 - start, 0)]
            peak = float(row.max(initial=-math.inf))
            if not math.isfinite(peak):
                raise ValueError(_IMPOSSIBLE)
            inner = (
                [] if level + 1 == len(self.levels) else [self.messages[level + 1][child].constant for child in below]
            )
            constant = math.fsum((float(split.constants[place]), peak, *inner))
            yield Message(int(first[place]), row - peak, constant)


def _families(model: Model, settings: Settings, level: int, widths: Counts) -> Iterator[tuple[Counts, Counts]]:
    """The nodes of a level and their children, those with as many and about as wide ones together."""
    numbers = model.family_sizes(level)
    widest = np.zeros(numbers.size, np.int64)
    np.maximum.at(widest, model.tree.parents(level + 1), widths)
    order = np.lexsort((widest, settings.zones[level], numbers))
    kinds = np.stack([numbers, settings.zones[level]], axis=1)[order]
    starts = [0, *(np.flatnonzero((np.diff(kinds, axis=0) != 0).any(axis=1)) + 1), order.size]
    for start, stop in pairwise(starts):
        for nodes in _chunks(order[start:stop], numbers * widest * settings.zones[level]):
            yield nodes, np.stack([model.children(level, int(node)) for node in nodes])


def _chunks(nodes: Counts, sizes: Counts) -> Iterator[Counts]:
    """Yield runs of nodes, the smallest first, so that filling up each node to the largest of its run costs little."""
    start = 0
    while start < nodes.size:
        later = sizes[nodes[start:]]
        memory = np.arange(1, later.size + 1) * later
        stop = min(
            int(np.searchsorted(memory, _TOGETHER, "right")),
            int(np.searchsorted(later, max(_ALIKE * later[0], _NARROW), "right")),
        )
        yield nodes[start : start + max(1, stop)]
        start += max(1, stop)


_LEVEL = 0.95  # of the intervals that are told
_CHUNK = 1 << 21  # probabilities that are added up at a time
_END = 0.01  # of the probability at which a window may end: at less a law has ended
_EDGE = 1e-13  # of the largest probability: more at the end of a window means that it is too short
_FAR = 1e-8  # the same of windows about known ends: a learned prior is less certain than that


@frozen(eq=False)
class Summary:
    """Estimates of the counts of some nodes, in their order.

    Attributes:
        mean: The expected counts, in records: the estimates of least squared error.
        std: Their standard deviations, in records.
        median: The smallest counts k with P[K <= k] >= 1/2.
        low: The quantiles at 2.5 %.
        high: The quantiles at 97.5 %.
    """

    mean: Reals
    std: Reals
    median: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]


class NodeLaw(NamedTuple):
    """The law of a node's count: the first one, and the probabilities from there on."""

    low: int
    law: Reals

    @property
    def table(self) -> TableLaw:
        """The same as a table of the possible counts."""
        possible = np.flatnonzero(self.law > 0)
        first, last = int(possible[0]), int(possible[-1])
        with np.errstate(divide="ignore"):
            return TableLaw(self.low + first, np.log(self.law[first : last + 1]))


@frozen(eq=False)
class LevelLaws:
    """What the way down tells of a level."""

    bounds: Bounds  # between which counts its nodes lie for certain
    is_anchored: bool  # whether logarithms are relative to the likeliest table
    edge: float  # the part of the largest probability above which a window is too short
    summary: Summary  # the estimates
    short: NDArray[np.bool_]  # whether the law of a node does not end within its window
    ends: Bounds  # where laws end
    laws: list[NodeLaw]  # of nodes above the cells; so are the others
    chances: list[Reals]  # of each set of parameters of each node's division
    rounding: Reals  # bounds of what transforms moved
    zones: Counts  # how many transforms would suit each node

    @classmethod
    def empty(cls, model: Model, level: int, edge: float) -> Self:
        """Room for a level."""
        size = model.tree.sizes[level]
        none = NodeLaw(0, np.zeros(0))
        median, low, high, first, last = (np.zeros(size, np.int64) for _ in range(5))
        summary = Summary(np.zeros(size), np.zeros(size), median, low, high)
        short, ends, zones = np.zeros(size, np.bool_), Bounds(first, last), np.ones(size, np.int64)
        bounds, is_anchored = model.levels[level].bounds, model.is_anchored
        laws, chances = [none] * size, [none.law] * size
        return cls(bounds, is_anchored, edge, summary, short, ends, laws, chances, np.zeros(size), zones)

    @property
    def likely_ends(self) -> Bounds:
        """The ends of distributions, farther out on both sides if a window was too short."""
        more = np.where(self.short, self.ends.high - self.ends.low + 1, 0)
        return Bounds(self.ends.low - more, self.ends.high + more)

    def tell(self, nodes: Counts, lows: Counts, highs: Counts, laws: Reals) -> None:
        """Write down laws, shape (nodes, width), and whether they end in their windows, up to the highs."""
        step = max(1, _CHUNK // laws.shape[1])
        for start in range(0, nodes.size, step):
            part = slice(start, start + step)
            self._estimate(nodes[part], lows[part], laws[part])
        limit = self.edge * laws.max(axis=1)
        left = (laws[:, 0] > limit) & (lows > self.bounds.low[nodes])
        if not self.is_anchored:  # a sum that is too rare to be kept may be all that ends a law
            highs = lows + laws.shape[1] - 1 - (laws[:, ::-1] > 0).argmax(axis=1)
        last = laws[np.arange(nodes.size), highs - lows]
        matters = laws > _END * self.edge * laws.max(axis=1, keepdims=True)
        self.ends.low[nodes] = lows + matters.argmax(axis=1)
        self.ends.high[nodes] = lows + laws.shape[1] - 1 - matters[:, ::-1].argmax(axis=1)
        self.short[nodes] = left | (last > limit) & (highs < self.bounds.high[nodes])

    def _estimate(self, nodes: Counts, lows: Counts, laws: Reals) -> None:
        """Write down the estimates of a few."""
        summary, tail = self.summary, (1 - _LEVEL) / 2
        places = np.arange(laws.shape[1], dtype=np.float64)
        mean = laws @ places
        square = np.einsum("ij,ij->i", laws, (places - mean[:, None]) ** 2)
        summary.mean[nodes], summary.std[nodes] = lows + mean, np.sqrt(square)
        below = np.cumsum(laws, axis=1)
        for quantiles, level in (summary.median, 0.5), (summary.low, tail), (summary.high, 1 - tail):
            goals = level * below[:, -1:] * (1 - TIE)
            quantiles[nodes] = lows + (below < goals).sum(axis=1)


def downward(up: UpwardPass) -> tuple[LevelLaws, ...]:
    """The laws of all counts, given all answers, level by level."""
    edge = _FAR if up.is_rough else _EDGE
    told = tuple(LevelLaws.empty(up.model, level, edge) for level in range(up.model.tree.depth))
    root = up.messages[0][0]
    first = np.array([root.low])
    told[0].tell(np.zeros(1, np.int64), first, first + up.law.size - 1, up.law[None])
    told[0].laws[0] = NodeLaw(root.low, up.law)
    for level, (own, below) in enumerate(pairwise(told)):
        for nodes, family, split in up.splits(level):
            down = split.descent(placed(own.laws, nodes, split))
            own.rounding[nodes], own.zones[nodes] = down.rounding, down.zones
            for node, chances in zip(nodes.tolist(), down.chances, strict=True):
                own.chances[node] = chances
            children, lows = family.ravel(), split.lows.ravel()
            rows = down.laws.reshape(children.size, -1)
            if level + 1 == len(up.levels):
                highs = up.cells.high[children]
            else:
                widths = np.array([up.messages[level + 1][child].logs.size for child in children.tolist()])
                highs = lows + widths - 1
                for child, low, width, row in zip(children, lows, widths, rows, strict=True):
                    below.laws[child] = NodeLaw(int(low), row[:width].copy())
            below.tell(children, lows, highs, rows)
    return told


def placed(laws: Sequence[NodeLaw], nodes: Counts, split: Split) -> Reals:
    """The laws of nodes at the counts of their messages, shape (nodes, counts)."""
    placed = np.zeros(split.messages.shape)
    for row, node, low in zip(placed, nodes.tolist(), split.low.tolist(), strict=True):
        one = laws[node]
        first = max(one.low, low)  # a node by itself has a narrower row than beside wider ones
        law = one.law[first - one.low :]
        place = row[first - low :][: law.size]  # beyond is what filled up a longer row
        place[:] = law[: place.size]
    return placed
