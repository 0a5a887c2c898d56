"""Whole tables drawn from the joint law of all counts of a tree, given all answers.

The exact law of a sum of any cells of a tree, given all answers.

What a table's counts are, by two passes over its tree.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.crossing_sums import Complexes, Crossing
from noisycount.analysis.tables.drawn_sums import drawn_places, drawn_summands
from noisycount.analysis.tables.fast_sums import law_by_characteristic
from noisycount.analysis.tables.learning import EXACT, LEARNED, Solved, divisions_of, solved
from noisycount.analysis.tables.level_answers import LevelAnswers
from noisycount.analysis.tables.model import Branches, Counts, Model, Settings
from noisycount.analysis.tables.passes import NodeLaw, Summary, placed, resplit, table_law
from noisycount.analysis.tables.prior import PriorLevel
from noisycount.analysis.tables.split import Split
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TableLaw
from noisycount.model.laws.gamma import Reals

__all__ = ["TreeSolution"]

_AT_ONCE = 1 << 23  # counts of the cells that are drawn down a tree at a time
_TOGETHER = 1 << 21  # counts that are drawn of one level at a time


def tree_draws(solution: "TreeSolution", number: int, random: np.random.Generator) -> Counts:
    """Tables of counts of the cells, shape (number, cells).

    Down from the root each count divides among the children of its node: which set of parameters
    it does so by is drawn given the count, then the children given both.

    Args:
        solution: The laws of all counts.
        number: How many tables.
        random: What draws uniform numbers.
    """
    tables = np.empty((number, solution.model.tree.cells), np.int64)
    step = max(1, _AT_ONCE // tables.shape[1])
    for start in range(0, number, step):
        some = tables[start : start + step]
        some[:] = _drawn(solution, len(some), random)
    return tables


def _drawn(solution: "TreeSolution", number: int, random: np.random.Generator) -> Counts:
    """A few of them."""
    sizes = solution.model.tree.sizes
    root = solution.root
    counts = root.low + drawn_places(root.law[None], np.zeros((number, 1), np.int64), random)
    for level, size in enumerate(sizes[1:]):
        below = np.empty((number, size), np.int64)
        for some, split in solution.splits(level):
            nodes, children = some.children.shape
            step = max(1, _TOGETHER // (number * children))
            told = split.messages_of_sets
            for start in range(0, nodes, step):
                part = np.arange(start, min(start + step, nodes))
                own = counts[:, some.nodes[part]]
                kind = _kinds(split, told, part, own, random)
                drawn = _children(split, part, own, kind, random)
                below[:, some.children[part].ravel()] = drawn
        counts = below
    return counts


def _kinds(
    split: Split, told: Reals, nodes: Counts, counts: Counts, random: np.random.Generator
) -> Counts:
    """The law of the children by which each count divides, shape (draws, nodes).

    Args:
        split: The nodes.
        told: Messages of each set, shape (nodes, sets, counts).
        nodes: Of which counts are divided.
        counts: Shape (draws, nodes).
        random: What draws uniform numbers.
    """
    logs = told[nodes, :, counts - split.low[nodes]]
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True)).reshape(counts.size, -1)
    own = drawn_places(weights, np.arange(counts.size), random).reshape(counts.shape)
    targets = split.targets.reshape(len(split.lows), -1)[nodes]
    ends = (targets[:, 1:] + targets[:, :-1]) / 2
    zone = (counts[..., None] > ends).sum(axis=-1)
    kinds: Counts = own * targets.shape[1] + zone
    return kinds


def _children(
    split: Split, nodes: Counts, counts: Counts, kind: Counts, random: np.random.Generator
) -> Counts:
    """The counts of the children of nodes, given those of the nodes, shape (draws, children)."""
    laws, lows = split.laws[nodes], split.lows[nodes]
    family = np.arange(nodes.size) * laws.shape[1] + kind
    sums = counts - lows.sum(axis=-1)
    places = drawn_summands(laws.reshape(-1, *laws.shape[2:]), family.ravel(), sums.ravel(), random)
    drawn: Counts = lows + places.reshape(*counts.shape, -1)
    return drawn.reshape(len(counts), -1)


class _CharacteristicFunction(NamedTuple):
    """E[e^(i·t·S) | the node's count, the answers below], S the part of the sum that is in it.

    Attributes:
        low: The first count.
        values: From there on, shape (angles, counts); its modulus is at most 1.
    """

    low: int
    values: Complexes


class _Part(NamedTuple):
    """Some children of a node that is partly in the sum.

    Attributes:
        law: Of their sum, shape (sets, places).
        counts: The counts of those places if all are in the sum, from the middle of their law.
        inner: The child if it is partly in the sum; else None, as counts are if none is.
    """

    law: Reals
    counts: Counts | None = None
    inner: "_Node | None" = None

    def weighed(self, angles: Reals) -> Complexes:
        """The law times the characteristic function given the count."""
        if self.inner is not None:
            told = _at(self.inner.told(angles), self.inner.lowest, self.law.shape[-1])
            return self.law * told[:, None]
        turns = np.ones(1) if self.counts is None else np.exp(1j * angles[:, None] * self.counts)
        return np.broadcast_to(self.law * turns[..., None, :], (angles.size, *self.law.shape))


@frozen(eq=False)
class _Node:
    """A node that is partly in the sum, and the parts of its sum.

    Attributes:
        lowest: The lowest count in its parent's split; 0 for the root.
        low: The lowest count of its own.
        parts: Of its children.
        crossing: What averages over how its count divides.
        middle: What all counts of the sum are told from, so that angles times counts are small.
    """

    lowest: int
    low: int
    parts: tuple[_Part, ...]
    crossing: Crossing
    middle: int

    @classmethod
    def of(
        cls, solution: "TreeSolution", shares: list[Reals], node: tuple[int, int], lowest: int = 0
    ) -> Self:
        """A node by its level and position, with all below it that are partly in the sum."""
        level, position = node
        split = solution.split(level, position)
        children = solution.model.children(level, position)
        own = shares[level + 1][children]
        parts, starts, middle = [], [], 0
        for whole in (False, True):
            alike = own == whole
            if alike.any():
                first, law = split.sum_of(alike)
                own_middle = round(float(law[0] @ np.arange(law.shape[-1])))
                parts.append(_Part(law, np.arange(law.shape[-1]) - own_middle if whole else None))
                starts.append(first)
                middle += whole * (int(split.lows[0, alike].sum()) + first + own_middle)
        for place in np.flatnonzero((own > 0) & (own < 1)).tolist():
            below = level + 1, int(children[place])
            inner = cls.of(solution, shares, below, int(split.lows[0, place]))
            parts.append(_Part(split.laws[0, :, place], inner=inner))
            starts.append(0)
            middle += inner.middle
        pairs = [(start, part.law) for start, part in zip(starts, parts, strict=True)]
        crossing = split.crossing(pairs, solution.placed(level, position, split))
        return cls(lowest, int(split.low[0]), tuple(parts), crossing, middle)

    def told(self, angles: Reals) -> _CharacteristicFunction:
        """The characteristic function given the count."""
        return _CharacteristicFunction(
            self.low, self.crossing.averages([one.weighed(angles) for one in self.parts])
        )


def tree_sum(solution: "TreeSolution", is_in: NDArray[np.bool_]) -> TableLaw:
    """The law of the sum of some cells.

    Its characteristic function is one pass up the tree: that of a node given its count is the
    average of the product of those of its children over how the count divides. Nodes of which all
    cells are in the sum, or none, need no pass.

    Args:
        solution: The laws of all counts.
        is_in: Which cells are added up, shape (cells,); some but not all.
    """
    model, root = solution.model, solution.root
    summary = solution.summary(model.tree.depth - 1)
    mean = float(summary.mean[is_in].sum())
    centre = round(mean)
    shares = [np.bincount(level, is_in) / np.bincount(level) for level in model.tree.levels]
    deviation = float(np.sqrt((summary.std[is_in] ** 2).sum()))
    spread = max(deviation, float(_boundary(solution, shares)))
    top = _Node.of(solution, shares, (0, 0))

    def characteristic(angles: Reals) -> Complexes:
        values = _at(top.told(angles), root.low, root.law.size) @ root.law
        turned: Complexes = values * np.exp(1j * angles * (top.middle - centre))
        return turned

    reach = -centre, root.low + root.law.size - 1 - centre
    low, law = law_by_characteristic(characteristic, mean - centre, spread, reach)
    return table_law(NodeLaw(centre + low, law))


def _boundary(solution: "TreeSolution", shares: list[Reals]) -> float:
    """The root of the summed variances of the largest nodes that are wholly in the sum."""
    variance = 0.0
    for level, share in enumerate(shares):
        whole = share == 1
        if level:
            whole &= shares[level - 1][solution.model.tree.parents(level)] < 1
        variance += float((solution.summary(level).std[whole] ** 2).sum())
    return float(np.sqrt(variance))


def _at(told: _CharacteristicFunction, low: int, width: int) -> Complexes:
    """The values at so many counts from the lowest on, 0 where there are none."""
    values = np.zeros((told.values.shape[0], width), dtype=np.complex128)
    first = max(low, told.low)
    after = max(first, min(low + width, told.low + told.values.shape[1]))
    values[:, first - low : after - low] = told.values[:, first - told.low : after - told.low]
    return values


@frozen(eq=False)
class TreeSolution:
    """The laws of all counts of a tree.

    Attributes:
        model: The tree and its answers.
        levels: How counts divide.
        solved: What both passes tell.
    """

    model: Model
    levels: tuple[PriorLevel, ...]
    solved: Solved

    @classmethod
    def of(cls, model: Model, levels: tuple[PriorLevel, ...], settings: Settings) -> "TreeSolution":
        """That of a model under a prior."""
        aim = LEARNED if any(level.is_learned for level in levels) else EXACT
        return cls(model, levels, solved(model, divisions_of(levels), settings, aim))

    @property
    def rounding(self) -> float:
        """A bound of the total variation by which rounding moved any law; see `TablePosterior`."""
        return math.fsum(float(moved.sum()) for moved in self.solved.down.rounding)

    @property
    def evidence(self) -> float:
        """The logarithm of the probability of the answers."""
        return self.solved.up.evidence

    @property
    def root(self) -> NodeLaw:
        """The law of the root's count."""
        return self.solved.down.laws[0][0]

    def answers(self, level: int) -> tuple[LevelAnswers, ...]:
        """What was answered about a level, from 0, that of the root."""
        return self.model.levels[level].answers

    def summary(self, level: int) -> Summary:
        """The estimates of a level."""
        return self.solved.down.summaries[level]

    def law(self, level: int, position: int) -> TableLaw:
        """The law of a node's count."""
        laws = self.solved.down.laws
        if level < len(laws):
            return table_law(laws[level][position])
        parent = int(self.model.tree.parents(level)[position])
        split = self.split(level - 1, parent)
        above = self.placed(level - 1, parent, split)[None]
        child = int(np.flatnonzero(self.model.children(level - 1, parent) == position)[0])
        return table_law(NodeLaw(int(split.lows[0, child]), split.descent(above).laws[0, child]))

    def sum_law(self, is_in: NDArray[np.bool_]) -> TableLaw:
        """The law of the sum of some cells, but not all.

        Args:
            is_in: Which, shape (cells,).
        """
        return tree_sum(self, is_in)

    def draws(self, number: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Tables of counts of the cells, shape (number, cells)."""
        return tree_draws(self, number, random)

    def splits(self, level: int) -> Iterator[tuple[Branches, Split]]:
        """All nodes of a level above the cells, and their children."""
        divisions, settings = divisions_of(self.levels), self.solved.settings
        for some, kept in self.solved.up.branches[level]:
            yield some, kept or resplit(self.model, settings, divisions, self.solved.up, some)

    def placed(self, level: int, position: int, split: Split) -> Reals:
        """The law of a node above the cells, at the counts of its split."""
        row: Reals = placed(self.solved.down.laws[level], np.array([position]), split)[0]
        return row

    def split(self, level: int, position: int) -> Split:
        """A node and its children."""
        children = self.model.children(level, position)[None]
        some = Branches(level, np.array([position]), children)
        return resplit(
            self.model, self.solved.settings, divisions_of(self.levels), self.solved.up, some
        )
