"""The law of a count whose logarithm is smooth, summed in few terms at any width."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisycount.model.blocks import Blocks, blocks_between
from noisycount.model.counts import TIE, CountDistribution
from noisycount.model.expansion import Expansion, Reals
from noisycount.model.factor import Factor, Product
from noisycount.model.stationary import mode_and_turns
from noisycount.model.validation import fraction_of_one, real_number

__all__ = ["SmoothLaw", "smooth_law"]


@dataclass(frozen=True, slots=True)
class SmoothLaw(CountDistribution):
    """A law that is known up to a factor around its centre.

    Args:
        support: The smallest and the largest count with a positive probability.
        centre: The smallest count of the largest probability.
        log_weight: ln P[K = centre + d] − ln P[K = centre] for offsets d.
        cuts: Offsets between which the log-weight is smooth and monotone.
    """

    support: tuple[int, int]
    centre: int
    log_weight: Expansion
    cuts: tuple[int, ...]
    _whole: Blocks = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_whole", self._between(*self.support))

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
        smallest, largest = start, start + length - 1
        while smallest < largest:
            middle = (smallest + largest) // 2
            if before + self._mass_of_run(start, middle) >= goal:
                largest = middle
            else:
                smallest = middle + 1
        return self.centre + smallest

    def probability(self, low: float, high: float) -> float:
        """P[low <= K <= high], to full relative precision also far out in a tail."""
        first = max(math.ceil(real_number(low, "low")), self.support[0])
        last = min(math.floor(real_number(high, "high")), self.support[1])
        if first > last:
            return 0.0
        part = self._between(first, last)
        ratio = part.mass / self._whole.mass
        return min(1.0, math.exp(part.peak - self._whole.peak) * ratio)

    def pmf(self, counts: ArrayLike) -> Reals:
        """P[K = k] for each count k, shape as given; 0 for what the count cannot be."""
        asked = np.asarray(counts, dtype=np.float64)
        smallest, largest = self.support
        inside = (asked >= smallest) & (asked <= largest) & (asked == np.floor(asked))
        logs = self.log_weight(np.where(inside, asked - self.centre, 0.0)) - self._whole.peak
        chances: Reals = np.where(inside, np.exp(logs) / self._whole.mass, 0.0)
        return chances

    def moved(self, by: int) -> Self:
        """The law of the count plus a constant."""
        low, high = self.support
        return replace(self, support=(low + by, high + by), centre=self.centre + by)

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
        raise ValueError(
            "answer is impossible: no count can have it under this population, "
            "so check the answer, the size and the rate"
        )
    support = math.ceil(low), math.floor(high)
    mode, turns = mode_and_turns(product, support)
    cuts = {*turns, *(math.floor(kink) for kink in product.kinks if low <= kink <= high)}
    offsets = tuple(sorted(cut - mode for cut in cuts))
    return SmoothLaw(support, mode, product.expansion(mode), offsets)
