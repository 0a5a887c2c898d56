"""Distributions of a count whose logarithm is smooth, summed over blocks of integers by Gauss rules.

`smooth_law` builds one from factors; `SmoothLaw` implements the interface of `count_law`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, CountDistribution, MeshPoints
from noisycount.model.laws.factors import IMPOSSIBLE, Factor, Product, mode_and_turns
from noisycount.model.laws.gamma import Expansion, Reals
from noisycount.model.searches import Bracket, first_whole
from noisycount.validation import not_nan, open_probability

# Points of a rule. It sums polynomials of degree 47 exactly, and e^(−s·k) over k < L to double precision if s·L <= 8.
POINTS = 24
_LEVELS = 50  # levels of blocks; the longest has 24·2^49 integers, more than any number of records
_HALVINGS = 6  # largest number of halvings of a steep block at once; most parts are negligible afterwards
LogWeight = Callable[[Reals], Reals]
Levels = NDArray[np.int_]
Flags = NDArray[np.bool_]


@lru_cache(maxsize=512)
def gram_rule(length: int) -> tuple[Reals, Reals]:
    """Return nodes x and positive weights w with Σ_{k=0}^{length−1} f(k) = Σ w·f(x) for smooth f.

    The nodes are the eigenvalues of the Jacobi matrix of the Gram (discrete Chebyshev) polynomials, whose squared
    off-diagonal is j²(L² − j²)/(4(4j² − 1)). Up to `POINTS` integers are summed term by term.

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


def gram_sum_rule(edges: Reals) -> tuple[Reals, Reals]:
    """Return points and weights that sum over the integers between the edges, by one `gram_rule` for each run."""
    lengths = np.diff(edges).astype(np.int64)
    points, weights = [np.empty(0)], [np.empty(0)]
    for length in np.unique(lengths).tolist():
        nodes, rule = (values[: min(length, POINTS)] for values in gram_rule(length))
        run_points = edges[:-1][lengths == length][:, None] + nodes
        points.append(run_points.ravel())
        weights.append(np.broadcast_to(rule, run_points.shape).ravel())
    return np.concatenate(points), np.concatenate(weights)


@frozen(eq=False)
class Grid:
    """Blocks of 24·2^level consecutive integers, aligned to multiples of their length."""

    starts: Reals  # first integer of each block, ascending, shape (blocks,)
    levels: Levels  # level of each block, same shape
    support: tuple[float, float]  # first and last integer of the sum; blocks are cut off there

    @property
    def first_integers(self) -> Reals:
        """First integer of each block inside the support, shape (blocks,)."""
        return np.maximum(self.starts, self.support[0])

    @property
    def last_integers(self) -> Reals:
        """Last integer of each block inside the support, shape (blocks,)."""
        ends: Reals = self.starts + POINTS * 2.0**self.levels
        return np.minimum(ends - 1, self.support[1])

    def points(self) -> tuple[Reals, Reals, Flags]:
        """Return the points of each block, the logarithms of their weights, and a mask of the support.

        Blocks of 24 integers are summed term by term, longer blocks by the Gauss rule of the counting measure. All
        arrays have shape (blocks, POINTS).
        """
        nodes, logs = _rules_of_all_levels()
        offsets = self.starts[:, None] + nodes[self.levels]
        inside = (offsets >= self.support[0]) & (offsets <= self.support[1])
        return offsets, logs[self.levels], inside

    def split(self, times: Levels) -> "Grid":
        """Return the grid with each block halved `times` times."""
        copies = 2**times
        levels = np.repeat(self.levels - times, copies)
        within = np.arange(levels.size) - np.repeat(np.cumsum(copies) - copies, copies)
        starts = np.repeat(self.starts, copies) + within * POINTS * 2.0**levels
        return Grid(starts, levels, self.support).within_support

    def select(self, selected: Flags) -> "Grid":
        """Return the selected blocks."""
        return Grid(self.starts[selected], self.levels[selected], self.support)

    @property
    def within_support(self) -> "Grid":
        """The blocks that contain an integer of the support."""
        return self.select(self.first_integers <= self.last_integers)


class BlockLimits(NamedTuple):
    """Largest length and steepness of a block.

    Attributes:
        negligible: Depth in nats below the largest log-weight at which a block is left out, except next to offset 0.
    """

    steepest: float  # largest change of the log-weight over a block, in nats
    longest: float = math.inf  # largest number of integers in a block
    negligible: float = math.inf


def grid_between(
    log_weight: LogWeight,
    ends: tuple[float, float],
    support: tuple[float, float],
    fine: Sequence[tuple[float, float]],
    limits: BlockLimits,
) -> Grid:
    """Return the blocks for sums of e^log_weight times other functions over the integers.

    A block of more than 24 integers is shorter than its distance to each fine place and to the ends of the support.
    """
    level = int(np.ceil(np.log2(max((ends[1] - ends[0] + 1) / POINTS, 1))))
    if limits.longest < math.inf:
        level = min(level, max(0, int(np.log2(max(limits.longest / POINTS, 1)))))
    places = {*support, *(end for run in fine for end in run)}
    grid = _graded_blocks(ends, support, places, level)
    for first, last in fine:
        if last > first:
            grid = grid.split(grid.levels * ((grid.starts <= last) & (grid.last_integers >= first)))
    while True:
        logs = log_weight(np.concatenate([grid.first_integers, grid.last_integers])).reshape(2, -1)
        selected = logs.max(axis=0) >= logs.max() - limits.negligible
        selected |= (grid.first_integers <= 1) & (grid.last_integers >= -1)
        if not selected.all():
            grid, logs = grid.select(selected), logs[:, selected]
        changes = np.abs(logs[0] - logs[1]) / limits.steepest
        steep = (changes > 1) & (grid.levels > 0)
        if not steep.any():
            return grid
        times = np.ceil(np.log2(np.clip(np.where(steep, changes, 1), 1, 2**_HALVINGS)))
        grid = grid.split(np.minimum(times.astype(np.int_), grid.levels))


def _graded_blocks(ends: tuple[float, float], support: tuple[float, float], places: set[float], level: int) -> Grid:
    """Return blocks, halved until each is shorter than its distance to every given place, or as short as allowed.

    At each level, the block that contains a place and its two neighbours are too close and are halved.
    """
    blocks: list[tuple[float, int]] = []
    low, high, *run_points = (math.floor(place / POINTS) for place in (*ends, *places))
    indices: Iterable[int] = range(low >> level, (high >> level) + 1)
    for shorter in range(level, 0, -1):
        size, near = POINTS * 2.0**shorter, {(place >> shorter) + side for place in run_points for side in (-1, 0, 1)}
        blocks += [(index * size, shorter) for index in indices if index not in near]
        indices = [half for index in indices if index in near for half in (2 * index, 2 * index + 1)]
    blocks += [(float(index * POINTS), 0) for index in indices]
    starts, levels = np.array(sorted(blocks)).T
    return Grid(starts, levels.astype(np.int_), support).within_support


@lru_cache(maxsize=1)
def _rules_of_all_levels() -> tuple[Reals, Reals]:
    """Return the nodes and the logarithms of the weights of the rules of all levels."""
    rules = [gram_rule(POINTS * 2**level) for level in range(_LEVELS)]
    return np.array([nodes for nodes, _ in rules]), np.log([weights for _, weights in rules])


_LIMITS = BlockLimits(
    steepest=4.0,  # nats: up to this change, the rule has double precision
    negligible=50.0,  # nats: terms below e^−50 of a sum do not change it as a double
)


@frozen
class Blocks:
    """Blocks of consecutive integer offsets, ascending, and the points that sum over them."""

    starts: Reals  # first offset of each block, shape (blocks,)
    lengths: Reals  # number of integers in each block, shape (blocks,)
    peak: float  # logarithm of the largest weight at a point
    offsets: Reals  # points of each block, shape (blocks, POINTS)
    weights: Reals  # contribution of each point to the sum, divided by e^peak, shape (blocks, POINTS)

    @property
    def mass(self) -> float:
        """Sum of the weights over all blocks, divided by e^peak."""
        return float(self.weights.sum())

    @property
    def mean(self) -> float:
        """Mean offset."""
        return float((self.weights * self.offsets).sum()) / self.mass

    @property
    def variance(self) -> float:
        """Variance of the offset."""
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
    log_weight: LogWeight, low: float, high: float, cuts: Sequence[float] = (), longest: float = math.inf
) -> Blocks:
    """Return blocks for the sum of e^log_weight over the integer offsets low..high, low <= high.

    Blocks below e^−50 of the largest weight are left out, except next to offset 0. In the other blocks, the weight
    changes by at most a factor e^4.

    Numerical error: 1e-14 relative in the sum.
    """
    ends = float(low), float(high)
    fine = [(float(cut), float(cut)) for cut in sorted({*cuts}) if low <= cut <= high]
    limits = _LIMITS._replace(longest=longest)
    grid = grid_between(log_weight, ends, ends, fine, limits)
    offsets, rules, inside = grid.points()
    logs = np.full_like(offsets, -np.inf)
    logs[inside] = log_weight(offsets[inside])
    peak = float(logs.max())
    firsts, weights = grid.first_integers, np.exp(logs - peak + rules)
    return Blocks(firsts, grid.last_integers - firsts + 1, peak, offsets, weights)


_STEEPEST = 16.0  # nats: the rule sums e^(−s·k) over a block with s·L <= 16 with an error of 1e-13


def mesh_points(
    log_weight: LogWeight,
    ends: tuple[float, float],
    support: tuple[float, float],
    fine: Sequence[tuple[float, float]],
    coarsest: float,
) -> MeshPoints:
    """Return the points for sums of e^log_weight times other functions over the integer offsets."""
    limits = BlockLimits(_STEEPEST, coarsest)
    grid = grid_between(log_weight, ends, support, fine, limits)
    offsets, rules, inside = grid.points()
    run_points = offsets[inside]
    return MeshPoints(run_points, log_weight(run_points) + rules[inside])


_LEFT_OUT = 80.0  # nats: terms below e^−80 are below the rounding of a sum, even if most of it cancels
_STRIDES = 1.25 ** np.arange(20)  # relative distances at which the search for the reach evaluates the weight


@frozen(slots=False)
class SmoothLaw(CountDistribution):
    """A distribution known up to a factor, as the expansion of its logarithm around its mode.

    Attributes:
        longest: Largest number of counts over which the log-weight is smooth. If it is finite, the log-weight may turn
            between cuts.
    """

    limits: tuple[int, int]  # smallest and largest count of positive probability
    centre: int  # smallest count of the largest probability
    log_weight: Expansion  # ln P[K = centre + d] − ln P[K = centre] for offsets d
    cuts: tuple[int, ...]  # offsets between which the log-weight is smooth and monotone
    rarity: float = 0.0  # logarithm of the smallest factor by which sums over points multiply a weight
    longest: float = math.inf

    @property
    def support(self) -> tuple[int, int]:
        """Smallest and largest count of positive probability."""
        return self.limits

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of all counts."""
        return self._blocks_between(*self.support)

    @cached_property
    def log_mass(self) -> float:
        """Logarithm of the sum of all weights, relative to the weight of the mode."""
        return self.blocks.peak + math.log(self.blocks.mass)

    @property
    def mean(self) -> float:
        """Expected count, in records."""
        return self.centre + self.blocks.mean

    @property
    def variance(self) -> float:
        """Variance of the count, in records²."""
        return self.blocks.variance

    @property
    def mode(self) -> int:
        """Smallest count of the largest probability."""
        return self.centre

    def quantile(self, level: float) -> int:
        """Return the smallest count k with P[K <= k] >= level, for a level in (0, 1)."""
        target_mass = open_probability(level, "level") * self.blocks.mass * (1 - TIE)
        below = np.cumsum(self.blocks.weights.sum(axis=1))
        block = min(int(np.searchsorted(below, target_mass)), below.size - 1)
        before = float(below[block - 1]) if block else 0.0
        start, length = int(self.blocks.starts[block]), int(self.blocks.lengths[block])
        bracket = Bracket(start - 1, start + length - 1, before - target_mass, float(below[block]) - target_mass)
        crossing = first_whole(lambda offset: before + self._mass_of_run(start, int(offset)) - target_mass, bracket)
        return self.centre + int(crossing.high)

    def log_probability(self, low: float, high: float) -> float:
        """Return ln P[low <= K <= high], −inf for probability 0; precise far out in a tail too."""
        first = math.ceil(max(not_nan(low, "low"), self.support[0]))
        last = math.floor(min(not_nan(high, "high"), self.support[1]))
        if first > last:
            return -math.inf
        part = self._blocks_between(first, last)
        return part.peak - self.blocks.peak + math.log(part.mass / self.blocks.mass)

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """Return ln P[K = k] for each count k, in the shape of `counts`, −inf for probability 0."""
        values = np.asarray(counts, dtype=np.float64)
        smallest, largest = self.support
        inside = (values >= smallest) & (values <= largest) & (values == np.floor(values))
        logs = self.log_weight(np.where(inside, values - self.centre, 0.0)) - self.blocks.peak
        return np.where(inside, logs - math.log(self.blocks.mass), -np.inf)

    def part(self, first: int, last: int) -> tuple[float, float]:
        """Return the logarithm of the weight of the counts first..last, and their mean, in records."""
        blocks = self._blocks_between(max(first, self.support[0]), min(last, self.support[1]))
        return blocks.peak + math.log(blocks.mass), self.centre + blocks.mean

    def moved(self, by: int) -> Self:
        """Return the distribution of the count plus a constant."""
        low, high = self.support
        law = replace(self, limits=(low + by, high + by), centre=self.centre + by)
        law.__dict__["blocks"] = self.blocks
        return law

    @cached_property
    def mirrored(self) -> Self:
        """The distribution of the negative count."""
        low, high = self.support
        law = replace(
            self,
            limits=(-high, -low),
            centre=-self.centre,
            log_weight=self.log_weight.mirrored,
            cuts=tuple(-cut for cut in reversed(self.cuts)),
        )
        law.__dict__["blocks"] = self.blocks.mirrored
        return law

    def for_ratios(self, rarity: float) -> Self:
        """Return the distribution with points for sums of ratios whose logarithm may be as low as `rarity`."""
        return replace(self, rarity=rarity)

    def points(self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf) -> MeshPoints:
        """Return quadrature points with probabilities as weights, for functions that may be rough within `fine`."""
        low, high = self._end_offsets
        places = [] if fine is None else [(fine[0] - self.centre, fine[1] - self.centre)]
        first = max(low, min(high, 0.0, *(place[0] for place in places)))
        reached = max(low, 0.0, highest - self.centre, *(place[1] for place in places))
        depth = _LEFT_OUT - self.rarity
        ends = self._fall_offset(first, low, depth), self._fall_offset(min(high, reached), high, depth)
        length = max(POINTS, min(coarsest, self.deviation, self.longest))
        points = mesh_points(self._log_chances, ends, (low, high), places, length)
        return points.moved(self.centre) if self.centre else points

    def reach(self, depth: float) -> tuple[float, float]:
        """Return the counts on both sides of the mode at which the probability has fallen by a factor e^depth."""
        below, above = (self._fall_offset(0.0, end, depth) for end in self._end_offsets)
        return self.centre + below, self.centre + above

    def log_tail_bound(self, count: float) -> float:
        """Return an upper bound of ln P[K >= count] for a count above the mean.

        It is the larger log-probability of the count and the last count, plus the logarithm of the number of these
        counts.
        """
        last, offset = self._end_offsets[1], count - self.centre
        logs = self._log_chances(np.array([min(offset, last), last]))
        return float(logs.max()) + math.log(max(last - offset, 0) + 1)

    @property
    def _end_offsets(self) -> tuple[float, float]:
        """First and last offset."""
        low, high = self.support
        return float(low - self.centre), float(high - self.centre)

    def _log_chances(self, offsets: Reals) -> Reals:
        """Return the logarithms of the probabilities, continued between integers."""
        return self.log_weight(offsets) - self.log_mass

    def _fall_offset(self, start: float, limit: float, depth: float) -> float:
        """Return the first offset on the way from `start` to `limit` at which the weight has fallen by e^depth.

        Return `limit` if the weight does not fall so far.
        """
        distance, side = abs(limit - start), math.copysign(1.0, limit - start)
        step = max(1, math.ceil(self.deviation))  # a certain count has deviation 0
        while step < distance:
            offsets = start + side * np.minimum(np.ceil(step * _STRIDES), distance)
            logs = self.log_weight(np.append(offsets, start))
            indices = np.flatnonzero(logs[:-1] < logs[-1] - depth)
            if indices.size:
                return float(offsets[indices[0]])
            step = math.ceil(2 * step * _STRIDES[-1])
        return limit

    def _blocks_between(self, first: int, last: int) -> Blocks:
        """Return the blocks of the counts first..last."""
        ends = first - self.centre, last - self.centre
        return blocks_between(self.log_weight, *ends, self.cuts, self.longest)

    def _mass_of_run(self, start: int, stop: int) -> float:
        """Return the weight of the offsets start..stop, a part of one block, relative to e^peak of all blocks."""
        part = blocks_between(self.log_weight, start, stop)
        return math.exp(part.peak - self.blocks.peak) * part.mass


def smooth_law(factors: Sequence[Factor]) -> SmoothLaw:
    """Return the distribution proportional to a product of smooth factors.

    Raises:
        ValueError: If the product is 0 at every count.
    """
    product = Product(tuple(factors))
    low, high = product.support
    if low > high:
        raise ValueError(IMPOSSIBLE)
    support = math.ceil(low), math.floor(high)
    mode, turns = mode_and_turns(product, support)
    cuts = {*turns, *(math.floor(kink) for kink in product.kinks if low <= kink <= high)}
    offsets = tuple(sorted(cut - mode for cut in cuts))
    return SmoothLaw(support, mode, product.expansion(mode), offsets)
