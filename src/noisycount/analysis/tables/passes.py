"""What is told of many laws of counts at once.

The way up: from the answers to the likelihood of every node's count.

The way down: from the law of the root's count to those of all others.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.level_answers import Bounds
from noisycount.analysis.tables.model import (
    Branches,
    Counts,
    Divisions,
    Message,
    Model,
    Settings,
    branches,
    cell_windows,
    overlap,
)
from noisycount.analysis.tables.split import Split
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, TableLaw
from noisycount.model.laws.gamma import Reals

__all__ = [
    "Down",
    "NodeLaw",
    "Summary",
    "Up",
    "downward",
    "placed",
    "resplit",
    "table_law",
    "upward",
]

_LEVEL = 0.95  # of the intervals that are told
_CHUNK = 1 << 21  # probabilities that are added up at a time


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

    @staticmethod
    def empty(size: int) -> "Summary":
        """Room for so many nodes."""
        mean, std = np.zeros(size), np.zeros(size)
        median, low, high = (np.zeros(size, np.int64) for _ in range(3))
        return Summary(mean, std, median, low, high)

    def tell(self, nodes: NDArray[np.int64], lows: NDArray[np.int64], laws: Reals) -> None:
        """Write down the estimates of some nodes.

        Args:
            nodes: Their positions.
            lows: The first count of each law.
            laws: Probabilities, shape (nodes, width); each row adds up to 1.
        """
        step = max(1, _CHUNK // laws.shape[1])
        for start in range(0, nodes.size, step):
            part = slice(start, start + step)
            self._tell(nodes[part], lows[part], laws[part])

    def _tell(self, nodes: NDArray[np.int64], lows: NDArray[np.int64], laws: Reals) -> None:
        """The same of few enough."""
        places = np.arange(laws.shape[1], dtype=np.float64)
        mean = laws @ places
        square = np.einsum("ij,ij->i", laws, (places - mean[:, None]) ** 2)
        self.mean[nodes] = lows + mean
        self.std[nodes] = np.sqrt(square)
        below = np.cumsum(laws, axis=1)
        tail = (1 - _LEVEL) / 2
        for told, level in ((self.median, 0.5), (self.low, tail), (self.high, 1 - tail)):
            goals = level * below[:, -1:] * (1 - TIE)
            told[nodes] = lows + (below < goals).sum(axis=1)


_KEPT = 1 << 25  # numbers of splits that are not computed again on the way down

_IMPOSSIBLE = (
    "answers are impossible together: no table can have them under this prior and total, "
    "so check the answers, the mechanisms and the total"
)


@frozen(eq=False)
class Up:
    """What the way up tells.

    Attributes:
        cells: Where the counts of the cells are.
        messages: Those of the nodes of each level above the cells.
        branches: The nodes that were computed together, level by level, and what is kept of it.
        tilts: Those of the nodes of each level above the cells.
        law: The probabilities of the root's counts, from that of its message on.
        evidence: The logarithm of the probability of the answers.
    """

    cells: Bounds
    messages: tuple[tuple[Message, ...], ...]
    branches: tuple[tuple[tuple[Branches, Split | None], ...], ...]
    tilts: tuple[tuple[Reals, ...], ...]
    law: Reals
    evidence: float


def upward(model: Model, settings: Settings, divisions: Divisions) -> Up:
    """The likelihoods of all counts, and the law of the root's.

    Raises:
        ValueError: If a count may be one of too many, or no table has these answers.
    """
    cells = cell_windows(model, settings)
    widths, room = cells.high - cells.low + 1, _KEPT
    levels: list[_UpLevel] = []
    for level in range(model.tree.depth - 2, -1, -1):
        below = levels[0].messages if levels else ()
        reach = model.levels[level].reach(settings.widened[level])
        found = _UpLevel.empty(model.tree.sizes[level])
        for some in branches(model, settings, level, widths):
            split = some.split(model, settings, divisions, cells, below)
            told = _messages(model, some, split, reach, below)
            room -= split.logs.size * (2 + split.tilted.shape[1])
            found.add(some, split, told, is_kept=room > 0)
        widths = np.array([message.logs.size for message in found.messages])
        levels.insert(0, found)
    law, rest = _root(model, levels[0].messages[0])
    return Up(
        cells,
        tuple(tuple(level.messages) for level in levels),
        tuple(tuple(level.branches) for level in levels),
        tuple(tuple(level.tilts) for level in levels),
        law,
        rest,
    )


@frozen(eq=False)
class _UpLevel:
    """What the way up tells of a level, by the positions of its nodes."""

    messages: list[Message]
    tilts: list[Reals]
    branches: list[tuple[Branches, Split | None]]

    @classmethod
    def empty(cls, size: int) -> Self:
        """Room for so many nodes."""
        none = Message(0, np.zeros(0), 0.0)
        return cls([none] * size, [none.logs] * size, [])

    def add(
        self, some: Branches, split: Split, messages: Sequence[Message], *, is_kept: bool
    ) -> None:
        """Write down what is told of some nodes."""
        self.branches.append((some, split if is_kept else None))
        for node, message, tilt in zip(some.nodes.tolist(), messages, split.tilted, strict=True):
            self.messages[node], self.tilts[node] = message, tilt


def _root(model: Model, root: Message) -> tuple[Reals, float]:
    """The law of the root's count, and the logarithm of the probability of the answers."""
    logs = root.logs + _log_prior(model, root)
    peak = float(logs.max())
    if not math.isfinite(peak):
        raise ValueError(_IMPOSSIBLE)
    weights = np.exp(logs - peak)
    total = float(weights.sum())
    return weights / total, math.fsum((model.offset, root.constant, peak, math.log(total)))


def _messages(
    model: Model, some: Branches, split: Split, reach: Bounds, below: Sequence[Message]
) -> list[Message]:
    """What is told of nodes from below and by their own answers.

    Where the answers of a node and those below lie far apart its window is not cut: then its count
    is somewhere between.
    """
    level, width = model.levels[some.level], split.messages.shape[1]
    logs = split.messages + level.logs(some.nodes, split.low, width)
    first, last = overlap(level, some.nodes, Bounds(split.low, split.low + width - 1), reach)
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


def _log_prior(model: Model, root: Message) -> Reals:
    """The logarithm of the probability of the root's counts before any answer."""
    if model.total is None:
        return np.zeros(root.logs.size)
    return model.total.law().log_pmf(root.low + np.arange(root.logs.size))


_END = 1e-20  # of the largest probability, beyond which a law has ended
_EDGE = 1e-13  # of the largest probability: more at the end of a window means that it is too short


@frozen(eq=False)
class NodeLaw:
    """The law of a node's count.

    Attributes:
        low: The first count.
        law: Probabilities from there on.
    """

    low: int
    law: Reals


@frozen(eq=False)
class Down:
    """What the way down tells.

    Attributes:
        laws: Of the nodes of each level above the cells.
        summaries: Of all levels.
        chances: Of each set of parameters of each node's division, level by level.
        rounding: Bounds of what transforms moved at each node above the cells, level by level.
        zones: How many transforms would suit each of those nodes.
        short: Whether the law of a node does not end within its window, level by level.
        ends: Where the laws of the cells end.
    """

    laws: tuple[tuple[NodeLaw, ...], ...]
    summaries: tuple[Summary, ...]
    chances: tuple[Reals, ...]
    rounding: tuple[Reals, ...]
    zones: tuple[Counts, ...]
    short: tuple[NDArray[np.bool_], ...]
    ends: Bounds


def downward(model: Model, settings: Settings, divisions: Divisions, up: Up) -> Down:
    """The laws of all counts, given all answers."""
    told = [_LevelLaws.empty(model, level) for level in range(model.tree.depth)]
    root = up.messages[0][0]
    first = np.array([root.low])
    told[0].tell(np.zeros(1, np.int64), first, first + up.law.size - 1, up.law[None])
    laws: list[tuple[NodeLaw, ...]] = [(NodeLaw(root.low, up.law),)]
    chances, rounding, zones = [], [], []
    for level in range(model.tree.depth - 1):
        chance: dict[int, Reals] = {}
        moved = np.zeros(model.tree.sizes[level])
        wanted = np.ones(model.tree.sizes[level], np.int64)
        found: dict[int, NodeLaw] = {}
        for some, kept in up.branches[level]:
            split = kept or resplit(model, settings, divisions, up, some)
            down = split.descent(placed(laws[level], some.nodes, split))
            chance |= zip(some.nodes.tolist(), down.chances, strict=True)
            moved[some.nodes], wanted[some.nodes] = down.rounding, down.zones
            children, lows = some.children.ravel(), split.lows.ravel()
            rows = down.laws.reshape(children.size, -1)
            told[level + 1].tell(children, lows, _highs(up, level + 1, children), rows)
            if level + 2 < model.tree.depth:
                found |= _node_laws(up.messages[level + 1], children, lows, rows)
        chances.append(np.array([chance[node] for node in range(len(chance))]))
        rounding.append(moved)
        zones.append(wanted)
        laws.append(tuple(found[node] for node in range(len(found))))
    return Down(
        tuple(laws[:-1]),
        tuple(one.summary for one in told),
        tuple(chances),
        tuple(rounding),
        tuple(zones),
        tuple(one.short for one in told),
        told[-1].ends,
    )


def _highs(up: Up, level: int, nodes: Counts) -> Counts:
    """The last counts of the windows of some nodes of a level."""
    if level == len(up.messages):
        return up.cells.high[nodes]
    some = [up.messages[level][node] for node in nodes.tolist()]
    return np.array([message.low + message.logs.size - 1 for message in some])


def resplit(
    model: Model, settings: Settings, divisions: Divisions, up: Up, some: Branches
) -> Split:
    """Nodes and their children as on the way up."""
    below = up.messages[some.level + 1] if some.level + 2 < model.tree.depth else ()
    return some.split(model, replace(settings, tilts=up.tilts), divisions, up.cells, below)


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


def _node_laws(
    messages: Sequence[Message], nodes: Counts, lows: Counts, rows: Reals
) -> dict[int, NodeLaw]:
    """The laws of nodes without what only fills up their rows."""
    pairs = zip(nodes.tolist(), lows.tolist(), rows, strict=True)
    return {node: NodeLaw(low, row[: messages[node].logs.size].copy()) for node, low, row in pairs}


@frozen(eq=False)
class _LevelLaws:
    """What is told of the laws of a level.

    Attributes:
        bounds: Between which counts its nodes lie for certain.
        summary: Their estimates.
        short: Whether a law does not end within its window.
        ends: Where laws end.
        is_anchored: Whether logarithms are relative to the likeliest table.
    """

    bounds: Bounds
    summary: Summary
    short: NDArray[np.bool_]
    ends: Bounds
    is_anchored: bool

    @classmethod
    def empty(cls, model: Model, level: int) -> Self:
        """Room for those of a level."""
        size = model.tree.sizes[level]
        ends = Bounds(np.zeros(size, np.int64), np.zeros(size, np.int64))
        short = np.zeros(size, np.bool_)
        is_anchored = model.likeliest is not None
        return cls(model.levels[level].bounds, Summary.empty(size), short, ends, is_anchored)

    def tell(self, nodes: Counts, lows: Counts, highs: Counts, laws: Reals) -> None:
        """Write down some laws, shape (nodes, width), and whether they end in their windows."""
        self.summary.tell(nodes, lows, laws)
        limit = _EDGE * laws.max(axis=1)
        left = (laws[:, 0] > limit) & (lows > self.bounds.low[nodes])
        if not self.is_anchored:  # a sum that is too rare to be kept may be all that ends a law
            highs = lows + laws.shape[1] - 1 - (laws[:, ::-1] > 0).argmax(axis=1)
        last = laws[np.arange(nodes.size), highs - lows]
        matters = laws > _END * laws.max(axis=1, keepdims=True)
        self.ends.low[nodes] = lows + matters.argmax(axis=1)
        self.ends.high[nodes] = lows + laws.shape[1] - 1 - matters[:, ::-1].argmax(axis=1)
        self.short[nodes] = left | (last > limit) & (highs < self.bounds.high[nodes])


def table_law(node: NodeLaw) -> TableLaw:
    """The law of a node as a table of its possible counts."""
    possible = np.flatnonzero(node.law > 0)
    first, last = int(possible[0]), int(possible[-1])
    with np.errstate(divide="ignore"):
        return TableLaw(node.low + first, np.log(node.law[first : last + 1]))
