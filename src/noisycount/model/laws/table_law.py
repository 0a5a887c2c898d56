"""The law of a count as a table of the probabilities on a run of integers."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisycount.model.laws.count_law import TIE, CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.mesh import MeshPoints
from noisycount.model.validation import fraction_of_one, not_nan

__all__ = ["TableLaw"]


@dataclass(frozen=True, eq=False)
class TableLaw(CountDistribution):
    """A law that is known up to a factor on first, first + 1, and so on.

    Args:
        first: The first count of the table.
        log_weights: The logarithm of the weight of each count; −inf where it is 0.
        depth: How far below the largest the log-weights keep their digits, in nats.
        rounding: A bound of the relative error of a weight within that depth.
    """

    first: int
    log_weights: Reals
    depth: float = 640.0
    rounding: float = 3e-13

    @cached_property
    def _weights(self) -> Reals:
        """The weights, relative to the largest."""
        weights: Reals = np.exp(self.log_weights - self.log_weights.max())
        return weights

    @cached_property
    def log_probabilities(self) -> Reals:
        """The logarithm of the probability of each count of the table, −inf for 0."""
        return self.log_weights - self._log_total

    @cached_property
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

    @cached_property
    def variance(self) -> float:
        """The variance of the count, in records²."""
        offsets, mass = self._counts, float(self._weights.sum())
        mean = float(self._weights @ offsets) / mass
        return float(self._weights @ (offsets - mean) ** 2) / mass

    @property
    def support(self) -> tuple[int, int]:
        """The first and the last count of the table."""
        return self.first, self.first + self.log_weights.size - 1

    @cached_property
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
        law = replace(self, first=self.first + by)
        law.__dict__.update(self._known_of_weights)
        return law

    @cached_property
    def mirrored(self) -> Self:
        """The law of the negative count."""
        law = replace(self, first=-self.support[1], log_weights=self.log_weights[::-1])
        turned = {
            name: value[::-1] if isinstance(value, np.ndarray) else value
            for name, value in self._known_of_weights.items()
        }
        law.__dict__.update(turned)
        return law

    @property
    def _known_of_weights(self) -> dict[str, Reals | float]:
        """What was computed from the weights, wherever they lie."""
        names = "_weights", "_log_total", "log_probabilities", "variance", "deviation"
        return {name: self.__dict__[name] for name in names if name in self.__dict__}

    def points(
        self,
        fine: tuple[float, float] | None,  # noqa: ARG002  (a table has every point)
        highest: float,  # noqa: ARG002  (the same)
        coarsest: float = math.inf,  # noqa: ARG002  (the same)
    ) -> MeshPoints:
        """All counts of the table that are not impossible."""
        return self._points

    @cached_property
    def _points(self) -> MeshPoints:
        """The counts of the table that are not impossible."""
        counts = self.first + np.arange(self.log_weights.size, dtype=np.float64)
        possible = self.log_weights > -np.inf
        return MeshPoints(counts[possible], self.log_probabilities[possible])

    def reach(self, depth: float) -> tuple[float, float]:  # noqa: ARG002  (a table is short)
        """The ends of the table."""
        return self.support

    def log_tail_bound(self, count: float) -> float:
        """The largest of the table from there on, at all its counts."""
        logs = self.log_probabilities[max(0, int(count - self.first)) :]
        return float(logs.max()) + math.log(logs.size) if logs.size else -math.inf
