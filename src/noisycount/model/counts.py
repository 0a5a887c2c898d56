"""The law of a count on a run of integers, summed in few terms at any width."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from noisycount.model.blocks import Blocks, blocks_between
from noisycount.model.expansion import Expansion, LogStep, Reals
from noisycount.model.validation import fraction_of_one, real_number

__all__ = ["CountDistribution", "most_probable"]

_TIE = 1e-14


@dataclass(frozen=True, slots=True)
class CountDistribution:
    """A log-concave law of a count, known up to a factor around its mode.

    Args:
        support: The smallest and the largest count with a positive probability.
        mode: The smallest count of the largest probability.
        log_weight: ln P[K = mode + d] − ln P[K = mode] for offsets d.
        kink: A count at which the log-weight is not smooth; None if there is none.
    """

    support: tuple[int, int]
    mode: int
    log_weight: Expansion
    kink: float | None = None
    _whole: Blocks = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_whole", self._between(*self.support))

    @property
    def mean(self) -> float:
        """The expected count, in records."""
        return self.mode + self._whole.mean

    @property
    def variance(self) -> float:
        """The variance of the count, in records²."""
        return self._whole.variance

    @property
    def median(self) -> int:
        """The smallest count k with P[K <= k] >= 1/2."""
        return self.quantile(0.5)

    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level, for a level in (0, 1).

        The level counts as reached within 1e-14 of it, so that the ties of symmetric laws hold.
        """
        goal = fraction_of_one(level, "level") * self._whole.mass * (1 - _TIE)
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
        return self.mode + smallest

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
        logs = self.log_weight(np.where(inside, asked - self.mode, 0.0)) - self._whole.peak
        chances: Reals = np.where(inside, np.exp(logs) / self._whole.mass, 0.0)
        return chances

    def _between(self, first: int, last: int) -> Blocks:
        """The blocks of the counts first..last."""
        kink = None if self.kink is None else self.kink - self.mode
        return blocks_between(self.log_weight, first - self.mode, last - self.mode, kink)

    def _mass_of_run(self, start: int, stop: int) -> float:
        """The weight of the offsets start..stop, a part of one block, on the scale of the whole."""
        part = blocks_between(self.log_weight, start, stop)
        return math.exp(part.peak - self._whole.peak) * part.mass


def most_probable(log_step: Callable[[int], LogStep], support: tuple[int, int]) -> int:
    """The smallest count of the largest probability, by bisection on the falling log-step.

    Args:
        log_step: ln P[K = k + 1] − ln P[K = k], which falls in k.
        support: The smallest and the largest count.
    """
    smallest, largest = support
    while smallest < largest:
        middle = (smallest + largest) // 2
        if float(log_step(middle)) > 0:
            smallest = middle + 1
        else:
            largest = middle
    return smallest
