"""The law of a count as a table of the probabilities on a run of integers."""

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisycount.model.laws.count_law import TIE, CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.validation import fraction_of_one, not_nan

__all__ = ["TableLaw"]


@dataclass(frozen=True, slots=True, eq=False)
class TableLaw(CountDistribution):
    """A law that is known up to a factor on first, first + 1, and so on.

    Args:
        first: The first count of the table.
        log_weights: The logarithm of the weight of each count; −inf where it is 0.
        known_depth: How far below the largest the log-weights keep their digits, in nats.
        known_rounding: A bound of the relative error of a weight within that depth.
    """

    first: int
    log_weights: Reals
    known_depth: float = 640.0
    known_rounding: float = 3e-13
    _weights: Reals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        weights = np.exp(self.log_weights - self.log_weights.max())
        object.__setattr__(self, "_weights", weights)

    @property
    def depth(self) -> float:
        """How far below the largest log-probability the others keep their digits, in nats."""
        return self.known_depth

    @property
    def rounding(self) -> float:
        """A bound of the relative error of a probability within that depth."""
        return self.known_rounding

    @property
    def _log_total(self) -> float:
        """The logarithm of the sum of the weights."""
        return float(self.log_weights.max()) + math.log(float(self._weights.sum()))

    @property
    def _counts(self) -> Reals:
        """Offsets of the counts from the mode."""
        return np.arange(self._weights.size, dtype=np.float64) - (self.mode - self.first)

    @property
    def mean(self) -> float:
        """The expected count, in records."""
        return self.mode + float(self._weights @ self._counts) / float(self._weights.sum())

    @property
    def variance(self) -> float:
        """The variance of the count, in records²."""
        offsets, mass = self._counts, float(self._weights.sum())
        mean = float(self._weights @ offsets) / mass
        return float(self._weights @ (offsets - mean) ** 2) / mass

    @property
    def mode(self) -> int:
        """The smallest count of the largest probability."""
        return self.first + int(np.argmax(self.log_weights >= self.log_weights.max() - TIE))

    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level, for a level in (0, 1)."""
        below = np.cumsum(self._weights)
        goal = fraction_of_one(level, "level") * below[-1] * (1 - TIE)
        return self.first + int(np.searchsorted(below, goal))

    def log_probability(self, low: float, high: float) -> float:
        """The logarithm of P[low <= K <= high], −inf for 0."""
        end = self._weights.size - 1
        start = math.ceil(max(not_nan(low, "low") - self.first, 0))
        stop = math.floor(min(not_nan(high, "high") - self.first, end))
        part = self.log_weights[start : stop + 1] if start <= stop else np.full(1, -math.inf)
        peak = float(part.max())
        if peak == -math.inf:
            return -math.inf
        return peak + math.log(float(np.exp(part - peak).sum())) - self._log_total

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k] for each count k, shape as given, −inf for 0."""
        asked = np.asarray(counts, dtype=np.float64)
        places = asked - self.first
        inside = (places >= 0) & (places < self._weights.size) & (asked == np.floor(asked))
        logs = self.log_weights[np.where(inside, places, 0).astype(np.int64)]
        chances: Reals = np.where(inside, logs - self._log_total, -math.inf)
        return chances

    def moved(self, by: int) -> Self:
        """The law of the count plus a constant."""
        return replace(self, first=self.first + by)
