"""Sums over many consecutive integers from a few points: Gauss's rule for the counting measure.

Consecutive integers cut into blocks that are short where a sum may bend, and long elsewhere.

Sums of a weight over consecutive integers, from the few points of a grid.

Points that sum a weight times other functions over consecutive integers.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

__all__ = [
    "POINTS",
    "Blocks",
    "LogWeight",
    "MeshPoints",
    "blocks_between",
    "gram_points",
    "gram_rule",
    "mesh_points",
]


POINTS = 24


"""Points of a rule: it sums a polynomial of degree 47 exactly, and e^(−s·k) over k < L to the last
digits of a double where s·L <= 8."""


@lru_cache(maxsize=512)
def gram_rule(length: int) -> tuple[Reals, Reals]:
    """Nodes x and positive weights w with Σ_{k=0}^{length−1} f(k) = Σ w·f(x) for smooth f.

    The nodes are the eigenvalues of the Jacobi matrix of the Gram (discrete Chebyshev) polynomials,
    whose squared off-diagonal is j²(L² − j²)/(4(4j² − 1)). Up to `POINTS` integers are summed term
    by term.

    Args:
        length: The number L of integers, at least 1.

    Returns:
        Offsets in 0..L − 1 and weights that add up to L, both of shape (POINTS,).

    Source: Golub and Welsch (1969); Szegő, *Orthogonal Polynomials*, section 2.8.
    """
    if length <= POINTS:
        nodes = np.arange(POINTS, dtype=np.float64)
        return np.minimum(nodes, length - 1), (nodes < length).astype(np.float64)
    degrees = np.arange(1, POINTS, dtype=np.float64)
    squares = degrees**2 * (float(length) ** 2 - degrees**2) / (4 * (4 * degrees**2 - 1))
    matrix = np.diag(np.sqrt(squares), 1)
    nodes, vectors = np.linalg.eigh(matrix + matrix.T)
    return nodes + (length - 1) / 2, length * vectors[0] ** 2


def gram_points(edges: Reals) -> tuple[Reals, Reals]:
    """Points and weights that sum over the integers from edge to edge, each run by its own rule.

    Args:
        edges: Where runs begin, rising and whole, and where the last one ends; shape (runs + 1,).

    Returns:
        The points and their weights, of one shape; the last edge is not summed.
    """
    lengths = np.diff(edges).astype(np.int64)
    points, weights = [np.empty(0)], [np.empty(0)]
    for length in np.unique(lengths).tolist():
        nodes, rule = (values[: min(length, POINTS)] for values in gram_rule(length))
        held = edges[:-1][lengths == length][:, None] + nodes
        points.append(held.ravel())
        weights.append(np.broadcast_to(rule, held.shape).ravel())
    return np.concatenate(points), np.concatenate(weights)


_LEVELS = 50  # of blocks: the longest has 24·2^49 integers, more than any number of records


_HALVINGS = 6  # of a steep block at once: most parts of a steeper one are left out later


LogWeight = Callable[[Reals], Reals]


Levels = NDArray[np.int_]


Flags = NDArray[np.bool_]


@frozen(eq=False)
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


_LIMITS = Limits(
    steepest=4.0,  # nats over which the rule keeps the digits of a double
    negligible=50.0,  # nats: e^−50 of a sum is beyond a double
)


@frozen
class Blocks:
    """Blocks of consecutive integer offsets in rising order, and the points that sum over them.

    Attributes:
        starts: The first offset of each block, shape (blocks,).
        lengths: The number of integers in each block, shape (blocks,).
        peak: The logarithm of the largest weight at a point.
        offsets: The points of each block, shape (blocks, POINTS).
        weights: What each point adds to the sum, divided by e^peak, shape (blocks, POINTS).
    """

    starts: Reals
    lengths: Reals
    peak: float
    offsets: Reals
    weights: Reals

    @property
    def mass(self) -> float:
        """Σ w over all blocks, divided by e^peak."""
        return float(self.weights.sum())

    @property
    def mean(self) -> float:
        """The mean offset."""
        return float((self.weights * self.offsets).sum()) / self.mass

    @property
    def variance(self) -> float:
        """The variance of the offset."""
        return float((self.weights * (self.offsets - self.mean) ** 2).sum()) / self.mass

    @property
    def mirrored(self) -> "Blocks":
        """The blocks of the negative offsets."""
        return Blocks(
            (1 - self.starts - self.lengths)[::-1],
            self.lengths[::-1],
            self.peak,
            -self.offsets[::-1, ::-1],
            self.weights[::-1, ::-1],
        )


def blocks_between(
    log_weight: LogWeight, low: float, high: float, cuts: Sequence[float] = ()
) -> Blocks:
    """Blocks for the sum of e^log_weight over the integer offsets low..high, low <= high.

    Blocks that lie e^50 below the largest weight are left out, but for those next to offset 0; in
    the others the weight changes by at most e^4. Relative error of a sum: 1e-14.

    Args:
        log_weight: The logarithm of the weight at real offsets: smooth and monotone between cuts.
        low: The smallest offset.
        high: The largest offset.
        cuts: Integer offsets at which the log-weight bends or turns.
    """
    ends = float(low), float(high)
    fine = [(float(cut), float(cut)) for cut in sorted({*cuts}) if low <= cut <= high]
    grid = grid_between(log_weight, ends, ends, fine, _LIMITS)
    offsets, rules, inside = grid.points()
    logs = np.full_like(offsets, -np.inf)
    logs[inside] = log_weight(offsets[inside])
    peak = float(logs.max())
    firsts, weights = grid.firsts, np.exp(logs - peak + rules)
    return Blocks(firsts, grid.lasts - firsts + 1, peak, offsets, weights)


_STEEPEST = 16.0  # nats: the rule is exact to 1e-13 of e^(−s·k) over a block of s·L <= 16


@frozen(eq=False)
class MeshPoints:
    """Points that sum a weight times any function that is smooth outside the fine places.

    Attributes:
        offsets: In rising order, shape (points,).
        log_weights: The logarithm of what each point adds to a sum, shape (points,).
        weights: What it adds.
        highest_log_weight: The largest of the logarithms.
    """

    offsets: Reals
    log_weights: Reals
    weights: Reals = field(init=False, repr=False)
    highest_log_weight: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.exp(self.log_weights))
        object.__setattr__(self, "highest_log_weight", float(self.log_weights.max()))

    def moved(self, by: int) -> "MeshPoints":
        """The points of the weight, moved."""
        return MeshPoints(self.offsets + by, self.log_weights)

    @property
    def is_every_integer(self) -> bool:
        """Whether no integer between the first and the last point is left out."""
        return bool(self.offsets.size == self.offsets[-1] - self.offsets[0] + 1)


def mesh_points(
    log_weight: LogWeight,
    ends: tuple[float, float],
    support: tuple[float, float],
    fine: Sequence[tuple[float, float]],
    coarsest: float,
) -> MeshPoints:
    """The points for sums of e^log_weight times other functions over the integer offsets.

    Args:
        log_weight: The logarithm of the weight at real offsets.
        ends: The first and the last integer offset of the sum; wider by up to a block.
        support: The first and the last integer offset at which the weight is positive.
        fine: Runs of offsets, first and last, in which the sum may bend.
        coarsest: The longest block, in integers.
    """
    limits = Limits(_STEEPEST, coarsest)
    grid = grid_between(log_weight, ends, support, fine, limits)
    offsets, rules, inside = grid.points()
    held = offsets[inside]
    return MeshPoints(held, log_weight(held) + rules[inside])
