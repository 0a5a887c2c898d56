"""The law of a count as a table of the counts that matter, and the whole law for the others."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisycount.model.laws.count_law import LOG_TIE, CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.mesh import MeshPoints
from noisycount.model.laws.table_law import TableLaw

__all__ = ["WindowedLaw"]

_DOUBLE = 40.0  # nats: e^−40 of a sum is beyond a double


@dataclass(frozen=True, eq=False)
class WindowedLaw(CountDistribution):
    """A law of which a run of counts has nearly all probability.

    Args:
        table: The law on that run.
        log_rest: A bound of the logarithm of the probability outside, and of that times the squared
            distance from the run.
        limits: The smallest and the largest count with a positive probability.
        make_whole: Makes the law of all counts, for what is asked far out in a tail.
    """

    table: TableLaw
    log_rest: float
    limits: tuple[int, int]
    make_whole: Callable[[], CountDistribution]

    @cached_property
    def whole(self) -> CountDistribution:
        """The law of all counts."""
        return self.make_whole()

    @property
    def mean(self) -> float:
        """The expected count, in records."""
        return self.table.mean

    @property
    def variance(self) -> float:
        """The variance of the count, in records²."""
        return self.table.variance

    @cached_property
    def mode(self) -> int:
        """The smallest count of the largest probability; of equals that of the whole law."""
        logs = self.table.log_weights
        highest = np.flatnonzero(logs >= logs.max() - LOG_TIE)
        return self.table.first + int(highest[0]) if highest.size == 1 else self.whole.mode

    @property
    def support(self) -> tuple[int, int]:
        """The smallest and the largest count with a positive probability."""
        return self.limits

    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level, for a level in (0, 1)."""
        return self.table.quantile(level)

    def log_probability(self, low: float, high: float) -> float:
        """The logarithm of P[low <= K <= high], −inf for 0; also far out in a tail."""
        first, last = self.table.support
        inside = self.table.log_probability(low, high)
        is_within = (first <= low or first == self.limits[0]) and (
            high <= last or last == self.limits[1]
        )
        if is_within or inside >= self.log_rest + _DOUBLE:
            return inside
        return self.whole.log_probability(low, high)

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k] for each count k, shape as given, −inf for 0."""
        asked = np.asarray(counts, dtype=np.float64)
        first, last = self.table.support
        logs = np.asarray(self.table.log_pmf(asked))
        outside = ((asked < first) & (asked >= self.limits[0])) | (
            (asked > last) & (asked <= self.limits[1])
        )
        if outside.any():
            logs = np.where(outside, self.whole.log_pmf(asked), logs)
        return logs

    def moved(self, by: int) -> Self:
        """The law of the count plus a constant."""
        low, high = self.limits
        return type(self)(
            self.table.moved(by),
            self.log_rest,
            (low + by, high + by),
            lambda: self.whole.moved(by),
        )

    @cached_property
    def mirrored(self) -> Self:
        """The law of the negative count."""
        low, high = self.limits
        return type(self)(
            self.table.mirrored, self.log_rest, (-high, -low), lambda: self.whole.mirrored
        )

    def points(
        self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf
    ) -> MeshPoints:
        """Those of the whole law."""
        return self.whole.points(fine, highest, coarsest)

    def reach(self, depth: float) -> tuple[float, float]:
        """The ends of the table, or farther out the counts of the whole law."""
        width = self.table.log_weights.size
        if depth + math.log(width) <= -self.log_rest:
            return self.table.support
        return self.whole.reach(depth)

    def log_tail_bound(self, count: float) -> float:
        """That of the whole law."""
        return self.whole.log_tail_bound(count)
