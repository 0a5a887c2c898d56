"""The way down: from the law of the root's count to those of all others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.branches import Branches, Message
from noisycount.analysis.tables.count_bounds import Bounds
from noisycount.analysis.tables.model import Counts, Divisions, Model, Settings
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.summary import Summary
from noisycount.analysis.tables.upward import Up
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.table_law import TableLaw

__all__ = ["Down", "NodeLaw", "downward", "placed", "resplit", "table_law"]

_END = 1e-20  # of the largest probability, beyond which a law has ended
_EDGE = 1e-13  # of the largest probability: more at the end of a window means that it is too short


@dataclass(frozen=True, slots=True, eq=False)
class NodeLaw:
    """The law of a node's count.

    Attributes:
        low: The first count.
        law: Probabilities from there on.
    """

    low: int
    law: Reals


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, slots=True, eq=False)
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
