"""The two passes over a tree: upwards to the likelihood of each node's count, downwards to its distribution.

`UpwardPass` and `downward` are the passes; `split` computes one division; `tree_solution` repeats the passes.
"""

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
    """Numerical settings of the passes. They affect speed and accuracy, not the model."""

    targets: tuple[Reals, ...]  # estimate of each node's count, level by level
    spreads: tuple[Reals, ...]  # estimate of its standard deviation
    zones: tuple[Counts, ...]  # number of transforms for its counts, odd
    extra_widths: tuple[Counts, ...]  # number of widths by which the range of each node's answers is extended
    # ends of the distributions of the nodes of each level; None: unknown
    ends: tuple[Bounds, ...] | None = None
    is_bounded: bool = False  # True if the probability that transforms neglect has upper bounds in the distributions


MOST_COUNTS = 1 << 22  # largest number of counts in the range of a cell
_ROOM = 16  # divisor of a distribution's width: the share by which its range is wider; also the fewest extra counts


def windows(model: Model, settings: Settings, level: int) -> Bounds:
    """Return the ranges of counts that matter on a level, by the answers and by known ends of distributions."""
    low, high = model.levels[level].reach(settings.extra_widths[level])
    if settings.ends is None:
        return Bounds(low, high)
    first_end, last_end = settings.ends[level]
    width = last_end - first_end
    room = width // _ROOM + _ROOM
    narrow = np.maximum(low, first_end - room), np.minimum(high, last_end + room)
    overlaps = narrow[0] <= narrow[1]
    return Bounds(np.where(overlaps, narrow[0], low), np.where(overlaps, narrow[1], high))


def cell_ranges(model: Model, settings: Settings) -> Bounds:
    """Return the ranges of the counts of the cells, outside of which the likelihood is below e^−42 of its maximum.

    Raises:
        ValueError: If the range of a cell is too wide, as it has no answer and there is no total.
    """
    low, high = windows(model, settings, -1)
    for cell in np.flatnonzero(high - low >= MOST_COUNTS).tolist():
        high[cell] = min(int(high[cell]), _largest_count(model, cell))
        if high[cell] - low[cell] >= MOST_COUNTS:
            label = ", ".join(model.tree.label(-1, cell))
            raise ValueError(
                f"answers leave {MOST_COUNTS} or more counts of {label} possible: give an answer about it, or a total"
            )
    return Bounds(low, high)


def _largest_count(model: Model, cell: int) -> int:
    """Return the largest count of a cell that the answers of the nodes above it leave likely."""
    tree = model.tree
    last = NO_END
    for level in range(tree.depth - 1):
        reach = model.levels[level].reach(np.zeros(tree.sizes[level], np.int64))
        last = min(last, int(reach.high[tree.levels[level][cell]]))
    return last


def first_settings(model: Model) -> Settings:
    """Return settings for the first passes, with ranges of cells wide enough to add up to the counts above them."""
    ones = tuple(np.ones(size, np.int64) for size in model.tree.sizes)
    spreads = tuple(np.ones(size) for size in model.tree.sizes)
    settings = Settings(model.guesses, spreads, ones, tuple(one - 1 for one in ones))
    while True:
        is_disjoint = _cannot_add_up(model, cell_ranges(model, settings))
        if not is_disjoint.any():
            return settings
        cells = np.where(is_disjoint, 2 * settings.extra_widths[-1] + 1, settings.extra_widths[-1])
        settings = replace(settings, extra_widths=(*settings.extra_widths[:-1], cells))


def _cannot_add_up(model: Model, cells: Bounds) -> NDArray[np.bool_]:
    """Return True for each answered cell if the ranges of cells cannot add up to a count of a node above it."""
    tree, is_disjoint = model.tree, np.zeros(model.tree.cells, np.bool_)
    for node_of_cell, likelihood in zip(tree.levels[:-1], model.levels[:-1], strict=True):
        smallest, largest = np.zeros(likelihood.bounds.low.size, np.int64), np.zeros_like(likelihood.bounds.low)
        np.add.at(smallest, node_of_cell, cells.low)
        np.add.at(largest, node_of_cell, cells.high)
        is_disjoint |= ((smallest > likelihood.bounds.high) | (largest < likelihood.bounds.low))[node_of_cell]
    return is_disjoint & model.levels[-1].is_answered


_TOGETHER = 1 << 20  # number of weights computed at once
_ALIKE = 1.2  # ratio of the largest to the smallest number of weights of nodes that are computed together
_NARROW = 1 << 7  # weights of a node: nodes with fewer are computed together, as they cost little
_CHEAP = 30_000  # number of multiplications up to which positive sums are as fast as transforms
_CHEAPER = 1.4e6  # the same for each zone and √(number of children), in narrow ranges, which need no bounds
_BEARABLE = 1e9  # the same where transforms need several zones
_MOST_WORK = 3e8  # largest number of multiplications of several zones of positive sums
_MOST_KEPT = 1 << 25  # largest number of values that are kept for the downward pass
_IMPOSSIBLE = (
    "answers are impossible together: no table can have them under this prior and total, "
    "so check the answers, the mechanisms and the total"
)


class Message(NamedTuple):
    """Likelihood of the counts of a node, given the answers at and below it."""

    low: int  # the first count
    logs: Reals  # log likelihoods from there on; the largest is 0
    constant: float  # sum of the constants that were subtracted from the logarithms here and below


class NodeGroup(NamedTuple):
    """Nodes of a level with the same number of children, which are computed together."""

    nodes: Counts  # their positions, shape (nodes,)
    children: Counts  # the positions of their children in the level below, shape (nodes, children)
    kept: Split | None  # their division; None: too large to be kept


class UpwardPass:
    """Likelihoods of all counts given the answers at and below them, and the distribution of the root's count.

    Attributes:
        settings: The numerical settings.
        cells: The ranges of the cells.
        messages: The messages of the nodes of each level above the cells.
        branches: The nodes of each of these levels, in groups.
        law: The probabilities of the root's counts, from the lowest of its message on.
        evidence: The logarithm of the probability of the answers.
    """

    def __init__(self, model: Model, levels: tuple[PriorLevel, ...], settings: Settings) -> None:
        self.model, self.levels, self.settings = model, levels, settings
        self.cells = cell_ranges(model, settings)
        self.reaches = tuple(windows(model, settings, level) for level in range(len(levels)))
        self.messages: list[list[Message]] = [[] for _ in levels]
        self.branches: list[list[NodeGroup]] = [[] for _ in levels]
        widths, memory = self.cells.high - self.cells.low + 1, _MOST_KEPT
        for level in range(len(levels) - 1, -1, -1):
            empty = Message(0, np.zeros(0), 0.0)
            self.messages[level] = [empty] * model.tree.sizes[level]
            for nodes, children in _groups_of_families(model, settings, level, widths):
                split = self.split(level, nodes, children)
                memory -= split.logs.size * (2 + split.number_of_tilts)
                self.branches[level].append(NodeGroup(nodes, children, split if memory > 0 else None))
                messages = self._messages(level, nodes, children, split)
                for node, message in zip(nodes.tolist(), messages, strict=True):
                    self.messages[level][node] = message
            widths = np.array([message.logs.size for message in self.messages[level]])
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
        """Return the division of some nodes of a level among their children; shapes as in `NodeGroup`."""
        settings = self.settings
        lows, logs = self._child_likelihoods(level, children.ravel())
        shape = children.shape
        lows, division = lows.reshape(shape), self.levels[level].division(children)
        zones = int(settings.zones[level][nodes[0]])  # equal for all nodes
        targets = zone_targets(settings.targets[level][nodes], settings.spreads[level][nodes], zones)
        products = (shape[1] * logs.shape[1]) ** 2
        is_near = settings.ends is not None  # narrow ranges: no positive sum underflows
        cheap = _CHEAPER * zones * math.sqrt(shape[1]) if is_near else _CHEAP
        is_positive = products < (cheap if zones == 1 or is_near else _BEARABLE)
        if is_positive and (is_near or products * zones > _MOST_WORK):
            targets = targets[:, zones // 2, None]
        wanted = self._ranges_from_answers(level, nodes)
        logs = logs.reshape(*shape, -1)
        return Split(lows, logs, division, targets, is_positive, settings.is_bounded, self.is_rough, wanted)

    def _ranges_from_answers(self, level: int, nodes: Counts) -> Bounds:
        """Return the ranges of counts of nodes, as far as their own answers and their bounds leave them possible."""
        reach, bounds = self.reaches[level], self.model.levels[level].bounds
        low = np.maximum(reach.low[nodes], bounds.low[nodes])
        return Bounds(low, np.minimum(reach.high[nodes], bounds.high[nodes]))

    def splits(self, level: int) -> Iterator[tuple[Counts, Counts, Split]]:
        """Yield the nodes of a level above the cells in groups, with their children and their division."""
        for nodes, children, kept in self.branches[level]:
            yield nodes, children, kept or self.split(level, nodes, children)

    def _child_likelihoods(self, level: int, children: Counts) -> tuple[Counts, Reals]:
        """Return the lowest counts of children and their log likelihoods as one array, −inf beyond their ranges."""
        if level + 1 == len(self.levels):
            lows, highs = self.cells.low[children], self.cells.high[children]
            width = int((highs - lows).max()) + 1
            logs = self.model.levels[-1].logs(children, lows, width)
            logs[np.arange(width) > (highs - lows)[:, None]] = -np.inf
            return lows, logs
        messages = [self.messages[level + 1][child] for child in children.tolist()]
        logs = np.full((len(messages), max(message.logs.size for message in messages)), -np.inf)
        for row, message in zip(logs, messages, strict=True):
            row[: message.logs.size] = message.logs
        return np.array([message.low for message in messages]), logs

    def _messages(self, level: int, nodes: Counts, children: Counts, split: Split) -> Iterator[Message]:
        """Yield the messages of nodes.

        If the answers of a node lie far from the answers below it, the count is between them, and its range is not cut.
        """
        likelihood, width = self.model.levels[level], split.messages.shape[1]
        logs = split.messages + likelihood.logs(nodes, split.low, width)
        wanted = self._ranges_from_answers(level, nodes)
        first, last = np.maximum(split.low, wanted.low), np.minimum(split.low + width - 1, wanted.high)
        is_disjoint = first > last
        bounds = likelihood.bounds
        first = np.where(is_disjoint, np.maximum(split.low, bounds.low[nodes]), first)
        last = np.where(is_disjoint, np.minimum(split.low + width - 1, bounds.high[nodes]), last)
        for row, family in enumerate(children.tolist()):
            start = int(split.low[row])
            kept_logs = logs[row, first[row] - start : max(last[row] + 1 - start, 0)]
            peak = float(kept_logs.max(initial=-math.inf))
            if not math.isfinite(peak):
                raise ValueError(_IMPOSSIBLE)
            has_messages = level + 1 < len(self.levels)
            inner = (self.messages[level + 1][child].constant for child in family) if has_messages else ()
            constant = math.fsum((float(split.constants[row]), peak, *inner))
            yield Message(int(first[row]), kept_logs - peak, constant)


def _groups_of_families(
    model: Model, settings: Settings, level: int, widths: Counts
) -> Iterator[tuple[Counts, Counts]]:
    """Yield the nodes of a level in groups that are computed together, with their children.

    The nodes of a group have the same number of children and of zones, and similar ranges of counts.
    """
    numbers = model.family_sizes(level)
    widest = np.zeros(numbers.size, np.int64)
    np.maximum.at(widest, model.tree.parents(level + 1), widths)
    nodes_in_order = np.lexsort((widest, settings.zones[level], numbers))
    keys = np.stack([numbers, settings.zones[level]], axis=1)[nodes_in_order]
    starts = [0, *(np.flatnonzero((np.diff(keys, axis=0) != 0).any(axis=1)) + 1), nodes_in_order.size]
    for start, stop in pairwise(starts):
        for nodes in _groups_of_similar_size(nodes_in_order[start:stop], numbers * widest * settings.zones[level]):
            yield nodes, np.stack([model.children(level, int(node)) for node in nodes])


def _groups_of_similar_size(nodes: Counts, sizes: Counts) -> Iterator[Counts]:
    """Yield groups of nodes with similar numbers of weights, the smallest first.

    The arrays of a group are as wide as its largest node needs, so similar sizes waste little memory.
    """
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


_LEVEL = 0.95  # level of the intervals
_CHUNK = 1 << 21  # number of probabilities summed at once
_END = 0.01  # share of the probability at which a range may end; below it the distribution has ended
_EDGE = 1e-13  # share of the largest probability; a larger one at the end of a range means that it is too short
_FAR = 1e-8  # the same in ranges about known ends under a learned prior


@frozen(eq=False)
class Summary:
    """Estimates of the counts of some nodes, in the order of the nodes.

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
    """Distribution of a node's count: the lowest count, and the probabilities from there on."""

    low: int
    law: Reals

    @property
    def table(self) -> TableLaw:
        """The distribution as a table of the possible counts."""
        possible = np.flatnonzero(self.law > 0)
        first, last = int(possible[0]), int(possible[-1])
        with np.errstate(divide="ignore"):
            return TableLaw(self.low + first, np.log(self.law[first : last + 1]))


@frozen(eq=False)
class LevelLaws:
    """Results of the downward pass for a level."""

    bounds: Bounds  # certain bounds of the counts
    is_anchored: bool  # True if logarithms are relative to the likeliest table
    edge: float  # share of the largest probability above which a range is too short
    summary: Summary  # estimates of the counts
    short: NDArray[np.bool_]  # True if the distribution does not end within its range
    ends: Bounds  # ends of the distributions
    laws: list[NodeLaw]  # distributions of nodes above the cells
    chances: list[Reals]  # probabilities of the sets of parameters of each node's division
    rounding: Reals  # bounds of the errors of transforms
    zones: Counts  # number of zones that would suit each node

    @classmethod
    def empty(cls, model: Model, level: int, edge: float) -> Self:
        """Return arrays for the results of a level."""
        size = model.tree.sizes[level]
        no_law = NodeLaw(0, np.zeros(0))
        median, low, high, first, last = (np.zeros(size, np.int64) for _ in range(5))
        summary = Summary(np.zeros(size), np.zeros(size), median, low, high)
        short, ends, zones = np.zeros(size, np.bool_), Bounds(first, last), np.ones(size, np.int64)
        bounds, is_anchored = model.levels[level].bounds, model.is_anchored
        laws, chances = [no_law] * size, [no_law.law] * size
        return cls(bounds, is_anchored, edge, summary, short, ends, laws, chances, np.zeros(size), zones)

    @property
    def likely_ends(self) -> Bounds:
        """Ends of the distributions; where the range was too short, each moved outwards by their distance."""
        more = np.where(self.short, self.ends.high - self.ends.low + 1, 0)
        return Bounds(self.ends.low - more, self.ends.high + more)

    def record(self, nodes: Counts, lows: Counts, highs: Counts, laws: Reals) -> None:
        """Store the estimates and the ends of distributions, shape (nodes, width), and mark those that are cut off."""
        step = max(1, _CHUNK // laws.shape[1])
        for start in range(0, nodes.size, step):
            rows = slice(start, start + step)
            self._store_estimates(nodes[rows], lows[rows], laws[rows])
        limit = self.edge * laws.max(axis=1)
        is_cut_below = (laws[:, 0] > limit) & (lows > self.bounds.low[nodes])
        if not self.is_anchored:  # a sum that is too rare to be kept may end a distribution
            highs = lows + laws.shape[1] - 1 - (laws[:, ::-1] > 0).argmax(axis=1)
        last = laws[np.arange(nodes.size), highs - lows]
        matters = laws > _END * self.edge * laws.max(axis=1, keepdims=True)
        self.ends.low[nodes] = lows + matters.argmax(axis=1)
        self.ends.high[nodes] = lows + laws.shape[1] - 1 - matters[:, ::-1].argmax(axis=1)
        self.short[nodes] = is_cut_below | (last > limit) & (highs < self.bounds.high[nodes])

    def _store_estimates(self, nodes: Counts, lows: Counts, laws: Reals) -> None:
        """Store the estimates of some nodes."""
        summary, tail = self.summary, (1 - _LEVEL) / 2
        positions = np.arange(laws.shape[1], dtype=np.float64)
        mean = laws @ positions
        variance = np.einsum("ij,ij->i", laws, (positions - mean[:, None]) ** 2)
        summary.mean[nodes], summary.std[nodes] = lows + mean, np.sqrt(variance)
        cumulative = np.cumsum(laws, axis=1)
        for quantiles, level in (summary.median, 0.5), (summary.low, tail), (summary.high, 1 - tail):
            goals = level * cumulative[:, -1:] * (1 - TIE)
            quantiles[nodes] = lows + (cumulative < goals).argmin(axis=1)  # the first that reaches its goal


def downward_pass(up: UpwardPass) -> tuple[LevelLaws, ...]:
    """Return the distributions of all counts given all answers, level by level."""
    edge = _FAR if up.is_rough else _EDGE
    levels = tuple(LevelLaws.empty(up.model, level, edge) for level in range(up.model.tree.depth))
    root = up.messages[0][0]
    first = np.array([root.low])
    levels[0].record(np.zeros(1, np.int64), first, first + up.law.size - 1, up.law[None])
    levels[0].laws[0] = NodeLaw(root.low, up.law)
    for level, (laws, below) in enumerate(pairwise(levels)):
        for nodes, family, split in up.splits(level):
            descent = split.child_distributions(aligned_laws(laws.laws, nodes, split))
            laws.rounding[nodes], laws.zones[nodes] = descent.rounding, descent.zones
            for node, chances in zip(nodes.tolist(), descent.chances, strict=True):
                laws.chances[node] = chances
            children, lows = family.ravel(), split.lows.ravel()
            rows = descent.laws.reshape(children.size, -1)
            if level + 1 == len(up.levels):
                highs = up.cells.high[children]
            else:
                widths = np.array([up.messages[level + 1][child].logs.size for child in children.tolist()])
                highs = lows + widths - 1
                for child, low, width, row in zip(children, lows, widths, rows, strict=True):
                    below.laws[child] = NodeLaw(int(low), row[:width].copy())
            below.record(children, lows, highs, rows)
    return levels


def aligned_laws(laws: Sequence[NodeLaw], nodes: Counts, split: Split) -> Reals:
    """Return the distributions of nodes at the counts of their messages, shape (nodes, counts)."""
    rows = np.zeros(split.messages.shape)
    for row, node, low in zip(rows, nodes.tolist(), split.low.tolist(), strict=True):
        node_law = laws[node]
        first = max(node_law.low, low)  # a message alone is narrower than next to wider ones
        law = node_law.law[first - node_law.low :]
        free_part = row[first - low :][: law.size]  # the remainder fills up a longer row
        free_part[:] = law[: free_part.size]
    return rows
