"""Where a function of a count is largest, and where it turns.

The law of a count whose logarithm is smooth, summed in few terms at any width.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import LOG_TIE, TIE, CountDistribution
from noisycount.model.laws.factors import IMPOSSIBLE, Factor, Product
from noisycount.model.laws.gamma import Expansion, Reals
from noisycount.model.laws.grids import POINTS, Blocks, MeshPoints, blocks_between, mesh_points
from noisycount.model.searches import Bracket, first_whole
from noisycount.validation import fraction_of_one, not_nan

__all__ = ["mode_and_turns", "smooth_law"]


_GROWTH = 1.3  # of distances between which the logarithm of a product turns at most once


def mode_and_turns(product: Product, support: tuple[int, int]) -> tuple[int, list[int]]:
    """The smallest count of the largest value, and the counts at which the function turns.

    A log-concave product turns once. Of any other, the signs of the steps are taken at counts
    whose distances to the ends and to the kinks grow by a factor of 1.3.

    Args:
        product: The function.
        support: The smallest and the largest count.
    """
    smallest, largest = support
    if product.is_log_concave:
        mode = _turn(product, smallest, largest, rising=True)
        return mode, [mode]
    grid = _grid(product, support)
    rises = (product.rises_after(grid) > 0).tolist()
    turns = [
        _turn(product, low + 1, high, rising=before)
        for (low, before), (high, after) in pairwise(zip(grid, rises, strict=True))
        if before != after
    ]
    candidates = np.array(sorted({smallest, largest, *turns}))
    changes = product.logs_around_largest(candidates.astype(np.float64), np.zeros(candidates.size))
    return int(candidates[changes >= changes.max() - LOG_TIE][0]), turns


def _turn(product: Product, smallest: int, largest: int, *, rising: bool) -> int:
    """The first count in smallest..largest − 1 whose step has the other sign, else largest."""

    def turned(count: float) -> float:
        rise = product.rise_after(int(count))
        return -rise if rising else rise or -sys.float_info.min

    return int(first_whole(turned, Bracket(smallest - 1, largest)).high)


def _grid(product: Product, support: tuple[int, int]) -> list[int]:
    """Counts below the largest, close together near the ends of the support and the kinks."""
    smallest, largest = support
    anchors = {smallest, largest, *(round(kink) for kink in product.kinks)}
    distances = [0]
    while distances[-1] < largest - smallest:
        distances.append(int(distances[-1] * _GROWTH) + 1)
    counts = {anchor + side * step for anchor in anchors for step in distances for side in (-1, 1)}
    return sorted(count for count in counts if smallest <= count < largest)


_LEFT_OUT = 80.0  # nats: e^−80 of a sum is beyond its rounding, also where much of it cancels


_STRIDES = 1.25 ** np.arange(20)  # of a search for where a law has fallen, in one evaluation


@frozen(slots=False)
class SmoothLaw(CountDistribution):
    """A law that is known up to a factor around its centre.

    Args:
        limits: The smallest and the largest count with a positive probability.
        centre: The smallest count of the largest probability.
        log_weight: ln P[K = centre + d] − ln P[K = centre] for offsets d.
        cuts: Offsets between which the log-weight is smooth and monotone.
        rarity: The logarithm of the least factor by which sums over points multiply a weight.
    """

    limits: tuple[int, int]
    centre: int
    log_weight: Expansion
    cuts: tuple[int, ...]
    rarity: float = 0.0

    @property
    def support(self) -> tuple[int, int]:
        """The smallest and the largest count with a positive probability."""
        return self.limits

    @cached_property
    def _whole(self) -> Blocks:
        """The blocks of all counts."""
        return self._between(*self.support)

    @cached_property
    def log_mass(self) -> float:
        """The logarithm of the sum of all weights, relative to that of the mode."""
        return self._whole.peak + math.log(self._whole.mass)

    @property
    def mean(self) -> float:
        """The expected count, in records."""
        return self.centre + self._whole.mean

    @property
    def variance(self) -> float:
        """The variance of the count, in records²."""
        return self._whole.variance

    @property
    def mode(self) -> int:
        """The smallest count of the largest probability."""
        return self.centre

    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level, for a level in (0, 1)."""
        goal = fraction_of_one(level, "level") * self._whole.mass * (1 - TIE)
        below = np.cumsum(self._whole.weights.sum(axis=1))
        block = min(int(np.searchsorted(below, goal)), below.size - 1)
        before = float(below[block - 1]) if block else 0.0
        start, length = int(self._whole.starts[block]), int(self._whole.lengths[block])
        bracket = Bracket(start - 1, start + length - 1, before - goal, float(below[block]) - goal)
        found = first_whole(
            lambda offset: before + self._mass_of_run(start, int(offset)) - goal, bracket
        )
        return self.centre + int(found.high)

    def log_probability(self, low: float, high: float) -> float:
        """The logarithm of P[low <= K <= high], −inf for 0; also far out in a tail."""
        first = math.ceil(max(not_nan(low, "low"), self.support[0]))
        last = math.floor(min(not_nan(high, "high"), self.support[1]))
        if first > last:
            return -math.inf
        part = self._between(first, last)
        return part.peak - self._whole.peak + math.log(part.mass / self._whole.mass)

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k] for each count k, shape as given, −inf for 0."""
        asked = np.asarray(counts, dtype=np.float64)
        smallest, largest = self.support
        inside = (asked >= smallest) & (asked <= largest) & (asked == np.floor(asked))
        logs = self.log_weight(np.where(inside, asked - self.centre, 0.0)) - self._whole.peak
        chances: Reals = np.where(inside, logs - math.log(self._whole.mass), -np.inf)
        return chances

    def part(self, first: int, last: int) -> tuple[float, float]:
        """The logarithm of the weight of the counts first..last, and their mean, in records."""
        blocks = self._between(max(first, self.support[0]), min(last, self.support[1]))
        return blocks.peak + math.log(blocks.mass), self.centre + blocks.mean

    def moved(self, by: int) -> Self:
        """The law of the count plus a constant."""
        low, high = self.support
        law = replace(self, limits=(low + by, high + by), centre=self.centre + by)
        law.__dict__["_whole"] = self._whole
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
        law.__dict__["_whole"] = self._whole.mirrored
        return law

    def for_ratios(self, rarity: float) -> Self:
        """The same law, with points for sums of ratios whose logarithm may be as low as this."""
        return replace(self, rarity=rarity)

    def points(
        self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf
    ) -> MeshPoints:
        """Points whose weights are probabilities, for sums that may bend in a run of counts."""
        low, high = self._ends
        places = [] if fine is None else [(fine[0] - self.centre, fine[1] - self.centre)]
        first = max(low, min(high, 0.0, *(place[0] for place in places)))
        reached = max(low, 0.0, highest - self.centre, *(place[1] for place in places))
        depth = _LEFT_OUT - self.rarity
        ends = self._fallen(first, low, depth), self._fallen(min(high, reached), high, depth)
        length = max(POINTS, min(coarsest, self.deviation))
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
        chances: Reals = self.log_weight(offsets) - self.log_mass
        return chances

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
        return blocks_between(self.log_weight, first - self.centre, last - self.centre, self.cuts)

    def _mass_of_run(self, start: int, stop: int) -> float:
        """The weight of the offsets start..stop, a part of one block, on the scale of the whole."""
        part = blocks_between(self.log_weight, start, stop)
        return math.exp(part.peak - self._whole.peak) * part.mass


def smooth_law(factors: Sequence[Factor]) -> SmoothLaw:
    """The law proportional to a product of smooth factors.

    Raises:
        ValueError: If the factors rule each other out.
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
