"""Two passes over a tree: up to the likelihood of every node's count, and down to its law."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.likelihoods import Bounds
from noisycount.analysis.tables.model import Counts, Model, Settings, cell_windows
from noisycount.analysis.tables.prior import PriorLevel
from noisycount.analysis.tables.split import Split, zone_targets
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, TableLaw
from noisycount.model.laws.gamma import Reals

_TOGETHER = 1 << 20  # weights that are computed at a time
_CHEAP = 30_000  # multiplications, below which positive sums are as fast as transforms
_BEARABLE = 1e9  # the same where transforms need several zones
_SMALL = 3e7  # the same, times the sums, of a zone for each sum
_MOST_WORK = 3e8  # the same of several zones of positive sums


@frozen(eq=False)
class Message:
    """The likelihood of the counts of a node."""

    low: int  # the first count
    logs: Reals  # its logarithm from there on; the largest is 0
    constant: float  # what was taken from the logarithms, here and below


@frozen(eq=False)
class Branches:
    """Some nodes of a level with as many children each."""

    level: int  # of the nodes
    nodes: Counts  # their positions, shape (nodes,)
    children: Counts  # the positions of their children in the level below, shape (nodes, children)

    def split(
        self, model: Model, settings: Settings, levels: Sequence[PriorLevel], cells: Bounds, below: Sequence[Message]
    ) -> Split:
        """The nodes, and what is told of their children."""
        if below:
            lows, logs = _together([below[child] for child in self.children.ravel().tolist()])
        else:
            lows, logs = _likelihoods(model, cells, self.children.ravel())
        shape = self.children.shape
        lows, division = lows.reshape(shape), levels[self.level].division(self.children)
        zones = int(settings.zones[self.level][self.nodes[0]])  # of all of them
        middle, spread = (each[self.level][self.nodes] for each in (settings.targets, settings.spreads))
        targets = zone_targets(middle, spread, zones)
        places = shape[1] * (logs.shape[1] - 1) + 1
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
    """The nodes of a level, those with as many children and about as wide ones together."""
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


_KEPT = 1 << 25  # numbers of splits that are not computed again on the way down

_IMPOSSIBLE = (
    "answers are impossible together: no table can have them under this prior and total, "
    "so check the answers, the mechanisms and the total"
)


@frozen(eq=False)
class _UpLevel:
    """What the way up tells of a level above the cells, by the positions of its nodes."""

    messages: list[Message]
    tilts: list[Reals]
    branches: list[tuple[Branches, Split | None]]  # computed together, and what is kept of it


@frozen(eq=False)
class Up:
    """What the way up tells."""

    cells: Bounds  # where the counts of the cells are
    levels: tuple[_UpLevel, ...]  # those above the cells
    law: Reals  # the probabilities of the root's counts, from that of its message on
    evidence: float  # the logarithm of the probability of the answers

    @property
    def tilts(self) -> tuple[tuple[Reals, ...], ...]:
        """Those of the nodes of each level above the cells."""
        return tuple(tuple(level.tilts) for level in self.levels)


def upward(model: Model, settings: Settings, levels: Sequence[PriorLevel]) -> Up:
    """The likelihoods of all counts, and the law of the root's."""
    cells = cell_windows(model, settings)
    widths, room = cells.high - cells.low + 1, _KEPT
    told: list[_UpLevel] = []
    for level in range(model.tree.depth - 2, -1, -1):
        below = told[0].messages if told else ()
        reach, size = model.levels[level].reach(settings.widened[level]), model.tree.sizes[level]
        none = Message(0, np.zeros(0), 0.0)
        found = _UpLevel([none] * size, [none.logs] * size, [])
        for some in branches(model, settings, level, widths):
            split = some.split(model, settings, levels, cells, below)
            messages = _messages(model, some, split, reach, below)
            room -= split.logs.size * (2 + split.tilted.shape[1])
            found.branches.append((some, split if room > 0 else None))
            for node, *own in zip(some.nodes.tolist(), messages, split.tilted, strict=True):
                found.messages[node], found.tilts[node] = own
        widths = np.array([message.logs.size for message in found.messages])
        told.insert(0, found)
    root = told[0].messages[0]
    logs = root.logs
    if model.total is not None:
        logs = logs + model.total.law().log_pmf(root.low + np.arange(logs.size))
    peak = float(logs.max())
    if not math.isfinite(peak):
        raise ValueError(_IMPOSSIBLE)
    weights = np.exp(logs - peak)
    total = float(weights.sum())
    evidence = math.fsum((model.offset, root.constant, peak, math.log(total)))
    return Up(cells, tuple(told), weights / total, evidence)


def _messages(model: Model, some: Branches, split: Split, reach: Bounds, below: Sequence[Message]) -> list[Message]:
    """What is told of nodes from below and by their own answers.

    Where the answers of a node and those below lie far apart its window is not cut: then its count
    is somewhere between.
    """
    level, nodes, width = model.levels[some.level], some.nodes, split.messages.shape[1]
    logs = split.messages + level.logs(nodes, split.low, width)
    first = np.maximum(split.low, level.bounds.low[nodes])
    last = np.minimum(split.low + width - 1, level.bounds.high[nodes])
    nearer = np.maximum(first, reach.low[nodes]), np.minimum(last, reach.high[nodes])
    meets = nearer[0] <= nearer[1]
    first, last = np.where(meets, nearer[0], first), np.where(meets, nearer[1], last)
    messages = []
    for place, children in enumerate(some.children.tolist()):
        start = int(split.low[place])
        own = logs[place, first[place] - start : max(last[place] + 1 - start, 0)]
        peak = float(own.max(initial=-math.inf))
        if not math.isfinite(peak):
            raise ValueError(_IMPOSSIBLE)
        inner = [below[child].constant for child in children] if below else []
        constant = math.fsum((float(split.constants[place]), peak, *inner))
        messages.append(Message(int(first[place]), own - peak, constant))
    return messages


_LEVEL = 0.95  # of the intervals that are told
_CHUNK = 1 << 21  # probabilities that are added up at a time
_END = 1e-20  # of the largest probability, beyond which a law has ended
_EDGE = 1e-13  # of the largest probability: more at the end of a window means that it is too short


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


@frozen(eq=False)
class NodeLaw:
    """The law of a node's count: the first one, and the probabilities from there on."""

    low: int
    law: Reals


@frozen(eq=False)
class Down:
    """What the way down tells of a level."""

    bounds: Bounds  # between which counts its nodes lie for certain
    is_anchored: bool  # whether logarithms are relative to the likeliest table
    summary: Summary  # the estimates
    short: NDArray[np.bool_]  # whether the law of a node does not end within its window
    ends: Bounds  # where laws end
    laws: list[NodeLaw]  # of nodes above the cells; so are the others
    chances: list[Reals]  # of each set of parameters of each node's division
    rounding: Reals  # bounds of what transforms moved
    zones: Counts  # how many transforms would suit each node

    @classmethod
    def empty(cls, model: Model, level: int) -> Self:
        """Room for a level."""
        size = model.tree.sizes[level]
        none = NodeLaw(0, np.zeros(0))
        median, low, high, first, last = (np.zeros(size, np.int64) for _ in range(5))
        return cls(
            model.levels[level].bounds,
            model.likeliest is not None,
            Summary(np.zeros(size), np.zeros(size), median, low, high),
            np.zeros(size, np.bool_),
            Bounds(first, last),
            [none] * size,
            [none.law] * size,
            np.zeros(size),
            np.ones(size, np.int64),
        )

    def tell(self, nodes: Counts, lows: Counts, highs: Counts, laws: Reals) -> None:
        """Write down some laws, and whether they end in their windows. Shapes: laws (nodes, width)."""
        step = max(1, _CHUNK // laws.shape[1])
        for start in range(0, nodes.size, step):
            part = slice(start, start + step)
            self._estimate(nodes[part], lows[part], laws[part])
        limit = _EDGE * laws.max(axis=1)
        left = (laws[:, 0] > limit) & (lows > self.bounds.low[nodes])
        if not self.is_anchored:  # a sum that is too rare to be kept may be all that ends a law
            highs = lows + laws.shape[1] - 1 - (laws[:, ::-1] > 0).argmax(axis=1)
        last = laws[np.arange(nodes.size), highs - lows]
        matters = laws > _END * laws.max(axis=1, keepdims=True)
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
        levels = (summary.median, 0.5), (summary.low, tail), (summary.high, 1 - tail)
        for quantiles, level in levels:
            goals = level * below[:, -1:] * (1 - TIE)
            quantiles[nodes] = lows + (below < goals).sum(axis=1)


def downward(model: Model, settings: Settings, levels: Sequence[PriorLevel], up: Up) -> tuple[Down, ...]:
    """The laws of all counts, given all answers, level by level."""
    told = tuple(Down.empty(model, level) for level in range(model.tree.depth))
    root = up.levels[0].messages[0]
    first = np.array([root.low])
    told[0].tell(np.zeros(1, np.int64), first, first + up.law.size - 1, up.law[None])
    told[0].laws[0] = NodeLaw(root.low, up.law)
    for level, (own, below) in enumerate(pairwise(told)):
        for some, kept in up.levels[level].branches:
            split = kept or resplit(model, settings, levels, up, some)
            down = split.descent(placed(own.laws, some.nodes, split))
            own.rounding[some.nodes], own.zones[some.nodes] = down.rounding, down.zones
            for node, chances in zip(some.nodes.tolist(), down.chances, strict=True):
                own.chances[node] = chances
            children, lows = some.children.ravel(), split.lows.ravel()
            rows = down.laws.reshape(children.size, -1)
            if level + 1 == len(up.levels):
                highs = up.cells.high[children]
            else:
                messages = [up.levels[level + 1].messages[child] for child in children.tolist()]
                widths = np.array([message.logs.size for message in messages])
                highs = lows + widths - 1
                for child, low, width, row in zip(children, lows, widths, rows, strict=True):
                    below.laws[child] = NodeLaw(int(low), row[:width].copy())
            below.tell(children, lows, highs, rows)
    return told


def resplit(model: Model, settings: Settings, levels: Sequence[PriorLevel], up: Up, some: Branches) -> Split:
    """Nodes and their children as on the way up."""
    below = up.levels[some.level + 1].messages if some.level + 1 < len(up.levels) else ()
    return some.split(model, replace(settings, tilts=up.tilts), levels, up.cells, below)


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


def table_law(node: NodeLaw) -> TableLaw:
    """The law of a node as a table of its possible counts."""
    possible = np.flatnonzero(node.law > 0)
    first, last = int(possible[0]), int(possible[-1])
    with np.errstate(divide="ignore"):
        return TableLaw(node.low + first, np.log(node.law[first : last + 1]))
