"""The law of a count whose logarithm is smooth, summed in few terms at any width."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisycount.model.laws.blocks import Blocks, blocks_between
from noisycount.model.laws.count_law import TIE, CountDistribution
from noisycount.model.laws.expansion import Expansion, Reals
from noisycount.model.laws.factor import Factor, Product
from noisycount.model.laws.stationary import mode_and_turns
from noisycount.model.search import Bracket, first_whole
from noisycount.model.validation import fraction_of_one, not_nan

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
