"""A table of which counts are asked: its tree and its answers, and about where its counts lie."""

import math
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.likelihoods import NO_END, Bounds, LevelLikelihood
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.model.tables.tree import Tree

Counts = NDArray[np.int64]


@frozen(eq=False, slots=False)
class Model:
    """A table: its tree, what was answered, and what was known before."""

    tree: Tree  # its nodes
    levels: tuple[LevelLikelihood, ...]  # what was answered about each level
    total: Population | None  # the law of the root before any answer; None: nothing is known, or all by bounds
    # the table that logarithms are told relative to, level by level; None: none
    likeliest: tuple[Counts, ...] | None = None
    offset: float = 0.0  # the logarithm that they are told without

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
    """How the passes are computed: none of it changes what they mean."""

    targets: tuple[Reals, ...]  # about which count the law of each node is, level by level
    spreads: tuple[Reals, ...]  # about its standard deviation
    zones: tuple[Counts, ...]  # how many transforms share its counts, an odd number
    widened: tuple[Counts, ...]  # by how many times its width the reach of each node's answers is extended
    ends: Bounds | None = None  # where the laws of the cells were found to end; None: not yet
    # those to begin with, of each node of each level above the cells, shape (sets·zones,); None: typical ones
    tilts: tuple[tuple[Reals, ...], ...] | None = None
    is_bounded: bool = False  # whether what transforms leave out has upper bounds in the laws


_WIDE = 1e30  # records²: the variance of a count of which nothing is told
_LITTLE = 0.01  # records
_TOLD = 1e25  # records²: less than that, and more than that of any noise
_LEAST = 1 / 8  # of a part that was made positive: so much of it is left


class LeastSquares(NamedTuple):
    """What is told of each count by its own answers and those below, level by level."""

    value: tuple[Reals, ...]  # about where it lies, in records
    deviation: tuple[Reals, ...]  # a standard deviation, in records
    is_told: tuple[NDArray[np.bool_], ...]  # whether anything is told of it


def least_squares(model: Model, *, is_positive: bool) -> LeastSquares:
    """Answers and sums of answers, weighed by their variances."""
    tree = model.tree
    up = [_answers_of(one, is_positive=is_positive) for one in model.levels]
    for level in range(tree.depth - 2, -1, -1):
        parents, size = tree.parents(level + 1), tree.sizes[level]
        value, variance = up[level + 1]
        if is_positive:
            value = _positive(value, variance)
            up[level + 1] = value, variance
        total = np.bincount(parents, value, size)
        spread = np.minimum(np.bincount(parents, variance, size), _WIDE)
        own, below = 1 / np.maximum(up[level][1], 1e-12), 1 / np.maximum(spread, 1e-12)
        up[level] = (own * up[level][0] + below * total) / (own + below), 1 / (own + below)
    values, variances = zip(*up, strict=True)
    told = tuple(variance < _TOLD for variance in variances)
    return LeastSquares(values, tuple(map(np.sqrt, variances)), told)


def guesses(model: Model) -> list[Reals]:
    """An estimate of each count from all answers, on which no law rests.

    What is missing or too much in a sum is shared in proportion to variances.
    """
    tree, told = model.tree, least_squares(model, is_positive=True)
    found = [told.value[0]]
    for level in range(1, tree.depth):
        parents, size = tree.parents(level), tree.sizes[level - 1]
        value, variance = told.value[level], told.deviation[level] ** 2
        missing = found[-1] - np.bincount(parents, value, size)
        shares = variance / np.maximum(np.bincount(parents, variance, size), 1e-300)[parents]
        parts = _positive(value + shares * missing[parents], variance)
        # made positive, parts of which little is told may add up to far more than their sum
        excess = np.maximum(np.bincount(parents, parts, size) - found[-1], 0.0)
        found.append(np.maximum(parts - shares * excess[parents], _LEAST * parts))
    return found


def _positive(values: Reals, variances: Reals) -> Reals:
    """Values made positive within about one standard deviation of 0."""
    spread = np.clip(np.sqrt(variances) / 2, 1e-3, np.abs(values) + 1.0)
    return spread * np.logaddexp(0.0, values / spread)


def _answers_of(level: LevelLikelihood, *, is_positive: bool) -> tuple[Reals, Reals]:
    """The answers of each node as one number and its variance."""
    size = level.bounds.low.size
    value, precision = np.zeros(size), np.full(size, 1 / _WIDE)
    for one in level.answers:
        middle = np.where(one.suppressed, one.answers / 2, one.answers)
        spread = np.where(one.suppressed, np.abs(middle) / 2, 0.0) + _deviation(one.mechanism)
        value[one.nodes] += (np.maximum(middle, 0.0) if is_positive else middle) / spread**2
        precision[one.nodes] += 1 / spread**2
    low, high = level.bounds
    value /= precision
    is_known = low == high
    if is_positive:
        value = np.clip(value, low, np.minimum(high, NO_END))
    return np.where(is_known, low, value), np.where(is_known, 1e-9, 1 / precision)


def _deviation(mechanism: Mechanism) -> float:
    """The standard deviation of noise, and little where there is none."""
    if isinstance(mechanism, SymmetricNoise) and math.isfinite(mechanism.variance):
        return max(math.sqrt(mechanism.variance), _LITTLE)
    return _LITTLE


MOST_COUNTS = 1 << 22  # how many counts the law of a cell may have to be a table
_ROOM = 8  # the part of a law by which its window is longer, and at least so many counts


def cell_windows(model: Model, settings: Settings) -> Bounds:
    """Where the count of each cell is, but for e^−42 of its likelihood."""
    cells = model.levels[-1]
    low, high = cells.reach(settings.widened[-1])
    if settings.ends is not None:  # what lies far from where laws were found to end
        is_sure = settings.widened[-1] == 0
        room = (settings.ends.high - settings.ends.low) // _ROOM + _ROOM
        low = np.where(is_sure, np.maximum(low, settings.ends.low - room), low)
        high = np.where(is_sure, np.minimum(high, settings.ends.high + room), high)
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
    targets = guesses(model) if model.likeliest is None else [counts.astype(np.float64) for counts in model.likeliest]
    ones = tuple(np.ones(target.size, np.int64) for target in targets)
    spreads = tuple(np.ones(target.size) for target in targets)
    start = Settings(tuple(targets), spreads, ones, tuple(one - 1 for one in ones))
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
