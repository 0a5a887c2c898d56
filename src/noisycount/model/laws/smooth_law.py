"""The law of a count whose logarithm is smooth, summed over blocks of integers in few terms."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import ArrayLike, NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, CountDistribution, MeshPoints
from noisycount.model.laws.factors import IMPOSSIBLE, Factor, Product, mode_and_turns
from noisycount.model.laws.gamma import Expansion, Reals
from noisycount.model.searches import Bracket, first_whole
from noisycount.validation import not_nan, open_probability

# Points of a rule: it sums a polynomial of degree 47 exactly, and e^(−s·k) over k < L to the last digits of a double
# where s·L <= 8.
POINTS = 24
_LEVELS = 50  # of blocks: the longest has 24·2^49 integers, more than any number of records
_HALVINGS = 6  # of a steep block at once: most parts of a steeper one are left out later
LogWeight = Callable[[Reals], Reals]
Levels = NDArray[np.int_]
Flags = NDArray[np.bool_]


@lru_cache(maxsize=512)
def gram_rule(length: int) -> tuple[Reals, Reals]:
    """Nodes x and positive weights w with Σ_{k=0}^{length−1} f(k) = Σ w·f(x) for smooth f.

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


def gram_points(edges: Reals) -> tuple[Reals, Reals]:
    """Points and weights that sum over the integers from edge to edge, each run by its own rule."""
    lengths = np.diff(edges).astype(np.int64)
    points, weights = [np.empty(0)], [np.empty(0)]
    for length in np.unique(lengths).tolist():
        nodes, rule = (values[: min(length, POINTS)] for values in gram_rule(length))
        held = edges[:-1][lengths == length][:, None] + nodes
        points.append(held.ravel())
        weights.append(np.broadcast_to(rule, held.shape).ravel())
    return np.concatenate(points), np.concatenate(weights)


_SUMMED = 600  # integers in a run that are summed one by one, as fewer values tell no more of it
_TOLD = 1e-10  # of the whole in the last terms of a series: the terms left out are far smaller


@lru_cache(maxsize=64)
def _integer_rule(length: int) -> tuple[Reals, Reals, Reals]:
    """Integers near Chebyshev points of 0..length − 1, weights of a sum over all, and the last terms of a series."""
    half = (length - 1) / 2
    nodes = np.round(half * (1 - np.cos(np.pi * np.arange(POINTS) / (POINTS - 1))))
    series = np.linalg.inv(legvander(nodes / half - 1, POINTS - 1))
    places, weights = gram_rule(length)
    sums: Reals = weights @ legvander(places / half - 1, POINTS - 1)
    return nodes, sums @ series, np.asarray(series[-3:], dtype=np.float64)


def sum_of_smooth(values: Callable[[Reals], Reals], edges: Reals) -> float:
    """Return the sum of a function over the integers from the first edge up to the last, which is left out.

    Args:
        values: The function at rising integers, shape as given. It is smooth between two edges.
        edges: Rising integers.

    Runs are halved until the values at 24 of their integers tell all.
    """
    runs = [(int(low), int(high)) for low, high in pairwise(edges.tolist())]
    total = 0.0
    while runs:
        rules = [_integer_rule(high - low) if high - low > _SUMMED else None for low, high in runs]
        points = [
            low + (np.arange(high - low, dtype=np.float64) if rule is None else rule[0])
            for (low, high), rule in zip(runs, rules, strict=True)
        ]
        parts = np.split(values(np.concatenate(points)), np.cumsum([some.size for some in points])[:-1])
        sums = [float(part.sum() if rule is None else rule[1] @ part) for part, rule in zip(parts, rules, strict=True)]
        allowed = _TOLD * (total + sum(map(abs, sums))) / len(runs)
        rough = []
        for (low, high), part, rule, mass in zip(runs, parts, rules, sums, strict=True):
            if rule is None or float(np.abs(rule[2] @ part).sum()) * (high - low) <= allowed:
                total += mass
            else:
                rough += [(low, (low + high) // 2), ((low + high) // 2, high)]
        runs = rough
    return total


@frozen(eq=False)
class Grid:
    """Blocks of 24·2^level consecutive integers, aligned to multiples of their length."""

    starts: Reals  # the first integer of each block, in rising order, shape (blocks,)
    levels: Levels  # the level of each block, same shape
    support: tuple[float, float]  # the first and the last integer of the sum: what lies outside is no part of a block

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

        Blocks of 24 integers are summed term by term, longer ones by Gauss's rule for the counting measure. All of
        shape (blocks, POINTS).
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
        negligible: How far below the largest log-weight a block is left out, but for those next to 0, in nats.
    """

    steepest: float  # the most that the log-weight may change over it, in nats
    longest: float = math.inf  # the most integers in it
    negligible: float = math.inf


def grid_between(
    log_weight: LogWeight,
    ends: tuple[float, float],
    support: tuple[float, float],
    fine: Sequence[tuple[float, float]],
    limits: Limits,
) -> Grid:
    """The blocks for sums of e^log_weight times other functions over the integers.

    A block of more than 24 integers is shorter than its distance to each fine place and to the ends of the support.
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


def _graded(ends: tuple[float, float], support: tuple[float, float], places: set[float], level: int) -> Grid:
    """Return blocks of that level, halved until all but the shortest are shorter than their distances.

    On the grid of its length a block that holds a place and its two neighbours are too near.
    """
    blocks: list[tuple[float, int]] = []
    low, high, *held = (math.floor(place / POINTS) for place in (*ends, *places))
    indices: Iterable[int] = range(low >> level, (high >> level) + 1)
    for shorter in range(level, 0, -1):
        size, near = POINTS * 2.0**shorter, {(place >> shorter) + side for place in held for side in (-1, 0, 1)}
        blocks += [(index * size, shorter) for index in indices if index not in near]
        indices = [half for index in indices if index in near for half in (2 * index, 2 * index + 1)]
    blocks += [(float(index * POINTS), 0) for index in indices]
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
    """Blocks of consecutive integer offsets in rising order, and the points that sum over them."""

    starts: Reals  # the first offset of each block, shape (blocks,)
    lengths: Reals  # the number of integers in each block, shape (blocks,)
    peak: float  # the logarithm of the largest weight at a point
    offsets: Reals  # the points of each block, shape (blocks, POINTS)
    weights: Reals  # what each point adds to the sum, divided by e^peak, shape (blocks, POINTS)

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
    log_weight: LogWeight, low: float, high: float, cuts: Sequence[float] = (), longest: float = math.inf
) -> Blocks:
    """Blocks for the sum of e^log_weight over the integer offsets low..high, low <= high.

    Blocks that lie e^50 below the largest weight are left out, but for those next to offset 0; in the others the weight
    changes by at most e^4. Relative error of a sum: 1e-14.
    """
    ends = float(low), float(high)
    fine = [(float(cut), float(cut)) for cut in sorted({*cuts}) if low <= cut <= high]
    limits = _LIMITS._replace(longest=longest)
    grid = grid_between(log_weight, ends, ends, fine, limits)
    offsets, rules, inside = grid.points()
    logs = np.full_like(offsets, -np.inf)
    logs[inside] = log_weight(offsets[inside])
    peak = float(logs.max())
    firsts, weights = grid.firsts, np.exp(logs - peak + rules)
    return Blocks(firsts, grid.lasts - firsts + 1, peak, offsets, weights)


_STEEPEST = 16.0  # nats: the rule is exact to 1e-13 of e^(−s·k) over a block of s·L <= 16


def mesh_points(
    log_weight: LogWeight,
    ends: tuple[float, float],
    support: tuple[float, float],
    fine: Sequence[tuple[float, float]],
    coarsest: float,
) -> MeshPoints:
    """The points for sums of e^log_weight times other functions over the integer offsets."""
    limits = Limits(_STEEPEST, coarsest)
    grid = grid_between(log_weight, ends, support, fine, limits)
    offsets, rules, inside = grid.points()
    held = offsets[inside]
    return MeshPoints(held, log_weight(held) + rules[inside])


_LEFT_OUT = 80.0  # nats: e^−80 of a sum is beyond its rounding, also where much of it cancels
_STRIDES = 1.25 ** np.arange(20)  # of a search for where a law has fallen, in one evaluation


@frozen(slots=False)
class SmoothLaw(CountDistribution):
    """A law that is known up to a factor around its centre.

    Attributes:
        longest: The most counts over which the log-weight is smooth; where that is less than all, it may turn between
            cuts.
    """

    limits: tuple[int, int]  # the smallest and the largest count with a positive probability
    centre: int  # the smallest count of the largest probability
    log_weight: Expansion  # ln P[K = centre + d] − ln P[K = centre] for offsets d
    cuts: tuple[int, ...]  # offsets between which the log-weight is smooth and monotone
    rarity: float = 0.0  # the logarithm of the least factor by which sums over points multiply a weight
    longest: float = math.inf

    @property
    def support(self) -> tuple[int, int]:
        """The smallest and the largest count with a positive probability."""
        return self.limits

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of all counts."""
        return self._between(*self.support)

    @cached_property
    def log_mass(self) -> float:
        """The logarithm of the sum of all weights, relative to that of the mode."""
        return self.blocks.peak + math.log(self.blocks.mass)

    @property
    def mean(self) -> float:
        """The expected count, in records."""
        return self.centre + self.blocks.mean

    @property
    def variance(self) -> float:
        """The variance of the count, in records²."""
        return self.blocks.variance

    @property
    def mode(self) -> int:
        """The smallest count of the largest probability."""
        return self.centre

    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level, for a level in (0, 1)."""
        goal = open_probability(level, "level") * self.blocks.mass * (1 - TIE)
        below = np.cumsum(self.blocks.weights.sum(axis=1))
        block = min(int(np.searchsorted(below, goal)), below.size - 1)
        before = float(below[block - 1]) if block else 0.0
        start, length = int(self.blocks.starts[block]), int(self.blocks.lengths[block])
        bracket = Bracket(start - 1, start + length - 1, before - goal, float(below[block]) - goal)
        found = first_whole(lambda offset: before + self._mass_of_run(start, int(offset)) - goal, bracket)
        return self.centre + int(found.high)

    def log_probability(self, low: float, high: float) -> float:
        """The logarithm of P[low <= K <= high], −inf for 0; also far out in a tail."""
        first = math.ceil(max(not_nan(low, "low"), self.support[0]))
        last = math.floor(min(not_nan(high, "high"), self.support[1]))
        if first > last:
            return -math.inf
        part = self._between(first, last)
        return part.peak - self.blocks.peak + math.log(part.mass / self.blocks.mass)

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k] for each count k, shape as given, −inf for 0."""
        asked = np.asarray(counts, dtype=np.float64)
        smallest, largest = self.support
        inside = (asked >= smallest) & (asked <= largest) & (asked == np.floor(asked))
        logs = self.log_weight(np.where(inside, asked - self.centre, 0.0)) - self.blocks.peak
        return np.where(inside, logs - math.log(self.blocks.mass), -np.inf)

    def part(self, first: int, last: int) -> tuple[float, float]:
        """The logarithm of the weight of the counts first..last, and their mean, in records."""
        blocks = self._between(max(first, self.support[0]), min(last, self.support[1]))
        return blocks.peak + math.log(blocks.mass), self.centre + blocks.mean

    def moved(self, by: int) -> Self:
        """The law of the count plus a constant."""
        low, high = self.support
        law = replace(self, limits=(low + by, high + by), centre=self.centre + by)
        law.__dict__["blocks"] = self.blocks
        return law

    @cached_property
    def mirrored(self) -> Self:
        """The law of the negative count."""
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
        """The same law, with points for sums of ratios whose logarithm may be as low as this."""
        return replace(self, rarity=rarity)

    def points(self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf) -> MeshPoints:
        """Points whose weights are probabilities, for sums that may bend in a run of counts."""
        low, high = self._ends
        places = [] if fine is None else [(fine[0] - self.centre, fine[1] - self.centre)]
        first = max(low, min(high, 0.0, *(place[0] for place in places)))
        reached = max(low, 0.0, highest - self.centre, *(place[1] for place in places))
        depth = _LEFT_OUT - self.rarity
        ends = self._fallen(first, low, depth), self._fallen(min(high, reached), high, depth)
        length = max(POINTS, min(coarsest, self.deviation, self.longest))
        points = mesh_points(self._log_chances, ends, (low, high), places, length)
        return points.moved(self.centre) if self.centre else points

    def reach(self, depth: float) -> tuple[float, float]:
        """The counts on both sides of the mode at which the law has fallen by e^depth."""
        below, above = (self._fallen(0.0, end, depth) for end in self._ends)
        return self.centre + below, self.centre + above

    def log_tail_bound(self, count: float) -> float:
        """The larger of the law there and at its end, times the number of counts between."""
        last, offset = self._ends[1], count - self.centre
        logs = self._log_chances(np.array([min(offset, last), last]))
        return float(logs.max()) + math.log(max(last - offset, 0) + 1)

    @property
    def _ends(self) -> tuple[float, float]:
        """The first and the last offset."""
        low, high = self.support
        return float(low - self.centre), float(high - self.centre)

    def _log_chances(self, offsets: Reals) -> Reals:
        """The logarithms of the probabilities, continued between integers."""
        return self.log_weight(offsets) - self.log_mass

    def _fallen(self, start: float, limit: float, depth: float) -> float:
        """Where the law has fallen by e^depth on the way from an offset to that of the limit."""
        way, side = abs(limit - start), math.copysign(1.0, limit - start)
        step = max(1, math.ceil(self.deviation))  # the variance of a certain count is 0
        while step < way:
            offsets = start + side * np.minimum(np.ceil(step * _STRIDES), way)
            logs = self.log_weight(np.append(offsets, start))
            fallen = np.flatnonzero(logs[:-1] < logs[-1] - depth)
            if fallen.size:
                return float(offsets[fallen[0]])
            step = math.ceil(2 * step * _STRIDES[-1])
        return limit

    def _between(self, first: int, last: int) -> Blocks:
        """The blocks of the counts first..last."""
        ends = first - self.centre, last - self.centre
        return blocks_between(self.log_weight, *ends, self.cuts, self.longest)

    def _mass_of_run(self, start: int, stop: int) -> float:
        """The weight of the offsets start..stop, a part of one block, on the scale of the whole."""
        part = blocks_between(self.log_weight, start, stop)
        return math.exp(part.peak - self.blocks.peak) * part.mass


def smooth_law(factors: Sequence[Factor]) -> SmoothLaw:
    """The law proportional to a product of smooth factors."""
    product = Product(tuple(factors))
    low, high = product.support
    if low > high:
        raise ValueError(IMPOSSIBLE)
    support = math.ceil(low), math.floor(high)
    mode, turns = mode_and_turns(product, support)
    cuts = {*turns, *(math.floor(kink) for kink in product.kinks if low <= kink <= high)}
    offsets = tuple(sorted(cut - mode for cut in cuts))
    return SmoothLaw(support, mode, product.expansion(mode), offsets)
