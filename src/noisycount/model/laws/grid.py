"""Consecutive integers cut into blocks that are short where a sum may bend, and long elsewhere."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.gram import POINTS, gram_rule

__all__ = ["Grid", "LogWeight", "grid_between"]

_LEVELS = 50  # of blocks: the longest has 24·2^49 integers, more than any number of records
_HALVINGS = 6  # of a steep block at once: most parts of a steeper one are left out later

LogWeight = Callable[[Reals], Reals]
Levels = NDArray[np.int_]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Blocks of 24·2^level consecutive integers, aligned to multiples of their length.

    Attributes:
        starts: The first integer of each block, in rising order, shape (blocks,).
        levels: The level of each block, same shape.
        support: The first and the last integer of the sum: what lies outside is no part of a block.
    """

    starts: Reals
    levels: Levels
    support: tuple[float, float]

    @property
    def firsts(self) -> Reals:
        """The first integer of each block inside the support, shape (blocks,)."""
        return np.maximum(self.starts, self.support[0])

    @property
    def lasts(self) -> Reals:
        """The last integer of each block inside the support, shape (blocks,)."""
        ends: Reals = self.starts + POINTS * 2.0**self.levels
        return np.minimum(ends - 1, self.support[1])

    def points(self) -> tuple[Reals, Reals, Flags]:
        """The points of each block, the logarithms of their weights, and which to use.

        Blocks of 24 integers are summed term by term, longer ones by Gauss's rule for the counting
        measure. All of shape (blocks, POINTS).
        """
        nodes, logs = _rules()
        offsets = self.starts[:, None] + nodes[self.levels]
        inside = (offsets >= self.support[0]) & (offsets <= self.support[1])
        return offsets, logs[self.levels], inside

    def split(self, times: Levels) -> "Grid":
        """Each block halved so many times."""
        copies = 2**times
        levels = np.repeat(self.levels - times, copies)
        within = np.arange(levels.size) - np.repeat(np.cumsum(copies) - copies, copies)
        starts = np.repeat(self.starts, copies) + within * POINTS * 2.0**levels
        return Grid(starts, levels, self.support).inside

    def within(self, kept: Flags) -> "Grid":
        """Some of the blocks."""
        return Grid(self.starts[kept], self.levels[kept], self.support)

    @property
    def inside(self) -> "Grid":
        """The blocks that hold an integer of the support."""
        return self.within(self.firsts <= self.lasts)


class Limits(NamedTuple):
    """How long and how steep a block may be.

    Attributes:
        steepest: The most that the log-weight may change over it, in nats.
        longest: The most integers in it.
        negligible: How far below the largest log-weight a block is left out, but for those next to
            0, in nats.
    """

    steepest: float
    longest: float = math.inf
    negligible: float = math.inf


def grid_between(
    log_weight: LogWeight,
    ends: tuple[float, float],
    support: tuple[float, float],
    fine: Sequence[tuple[float, float]],
    limits: Limits,
) -> Grid:
    """The blocks for sums of e^log_weight times other functions over the integers.

    A block of more than 24 integers is shorter than its distance to each fine place and to the
    ends of the support.

    Args:
        log_weight: The logarithm of the weight at real offsets.
        ends: The first and the last integer of the sum; wider by up to a block.
        support: The first and the last integer at which the weight is positive.
        fine: Runs of integers, first and last, in which the sum may bend.
        limits: How long and how steep a block may be.
    """
    level = int(np.ceil(np.log2(max((ends[1] - ends[0] + 1) / POINTS, 1))))
    if limits.longest < math.inf:
        level = min(level, max(0, int(np.log2(max(limits.longest / POINTS, 1)))))
    places = {*support, *(end for run in fine for end in run)}
    grid = _graded(ends, support, places, level)
    for first, last in fine:
        if last > first:
            grid = grid.split(grid.levels * ((grid.starts <= last) & (grid.lasts >= first)))
    while True:
        logs = log_weight(np.concatenate([grid.firsts, grid.lasts])).reshape(2, -1)
        kept = logs.max(axis=0) >= logs.max() - limits.negligible
        kept |= (grid.firsts <= 1) & (grid.lasts >= -1)
        if not kept.all():
            grid, logs = grid.within(kept), logs[:, kept]
        changes = np.abs(logs[0] - logs[1]) / limits.steepest
        steep = (changes > 1) & (grid.levels > 0)
        if not steep.any():
            return grid
        times = np.ceil(np.log2(np.clip(np.where(steep, changes, 1), 1, 2**_HALVINGS)))
        grid = grid.split(np.minimum(times.astype(np.int_), grid.levels))


def _graded(
    ends: tuple[float, float], support: tuple[float, float], places: set[float], level: int
) -> Grid:
    """Blocks of that level, halved until all but the shortest are shorter than their distances.

    On the grid of its length a block that holds a place and its two neighbours are too near.
    """
    size = POINTS * 2.0**level
    blocks: list[tuple[float, int]] = []
    indices: Iterable[int] = range(math.floor(ends[0] / size), math.floor(ends[1] / size) + 1)
    for shorter in range(level, 0, -1):
        near = {math.floor(place / size) + side for place in places for side in (-1, 0, 1)}
        blocks += [(index * size, shorter) for index in indices if index not in near]
        indices = [2 * index + half for index in indices if index in near for half in (0, 1)]
        size /= 2
    blocks += [(index * size, 0) for index in indices]
    starts, levels = np.array(sorted(blocks)).T
    return Grid(starts, levels.astype(np.int_), support).inside


@lru_cache(maxsize=1)
def _rules() -> tuple[Reals, Reals]:
    """The nodes and the logarithms of the weights of the rules of all levels."""
    rules = [gram_rule(POINTS * 2**level) for level in range(_LEVELS)]
    return np.array([nodes for nodes, _ in rules]), np.log([weights for _, weights in rules])
