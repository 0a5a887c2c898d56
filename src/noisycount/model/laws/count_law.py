"""Probability distributions of a count: the interface, a table, and a window of a larger distribution.

`CountDistribution` is public; `smooth_law` has the representation for large supports.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisycount.frozen import frozen
from noisycount.model.laws.factors import IMPOSSIBLE, LOG_TIE, Factor, Product
from noisycount.model.laws.gamma import Reals
from noisycount.validation import not_nan, open_probability


@frozen(eq=False)
class MeshPoints:
    """Quadrature points for sums over integers of a weight times a function.

    The function may be rough only in places where the points are dense.
    """

    offsets: Reals  # ascending, shape (points,)
    log_weights: Reals  # logarithms of the quadrature weights, shape (points,)
    weights: Reals = field(init=False, repr=False)  # quadrature weights
    highest_log_weight: float = field(init=False, repr=False)  # largest of log_weights

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.exp(self.log_weights))
        object.__setattr__(self, "highest_log_weight", float(self.log_weights.max()))

    def moved(self, by: int) -> "MeshPoints":
        """Return the points of the weight shifted by a constant."""
        return MeshPoints(self.offsets + by, self.log_weights)

    @property
    def is_every_integer(self) -> bool:
        """True if the points are all integers from the first to the last point."""
        return bool(self.offsets.size == self.offsets[-1] - self.offsets[0] + 1)


TIE = 1e-14  # relative tolerance at which a quantile's level counts as reached, so that symmetric ties hold


class CountDistribution(ABC):
    """A probability distribution on a range of integers."""

    __slots__ = ()

    @property
    @abstractmethod
    def mean(self) -> float:
        """Expected count, in records."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the count, in records²."""

    @property
    @abstractmethod
    def mode(self) -> int:
        """Smallest count of the largest probability."""

    @property
    @abstractmethod
    def support(self) -> tuple[int, int]:
        """First and last count of the range."""

    @cached_property
    def deviation(self) -> float:
        """Standard deviation, in records."""
        return math.sqrt(self.variance)

    @property
    def depth(self) -> float:
        """Depth in nats below the largest log-probability up to which probabilities keep their precision."""
        return 640.0

    @property
    def rounding(self) -> float:
        """Bound of the relative error of a probability within `depth`."""
        return 3e-13

    @property
    def median(self) -> int:
        """Smallest count k with P[K <= k] >= 1/2."""
        return self.quantile(0.5)

    @abstractmethod
    def quantile(self, level: float) -> int:
        """Return the smallest count k with P[K <= k] >= level, for a level in (0, 1)."""

    @abstractmethod
    def log_probability(self, low: float, high: float) -> float:
        """Return ln P[low <= K <= high], −inf for probability 0.

        Precise in the far tails of smooth distributions too.
        """

    @abstractmethod
    def log_pmf(self, counts: ArrayLike) -> Reals:
        """Return ln P[K = k] for each count k, in the shape of `counts`, −inf for probability 0."""

    def probability(self, low: float, high: float) -> float:
        """Return P[low <= K <= high]."""
        return min(1.0, math.exp(self.log_probability(low, high)))

    def pmf(self, counts: ArrayLike) -> Reals:
        """Return P[K = k] for each count k, in the shape of `counts`; 0 for impossible counts."""
        return np.exp(self.log_pmf(counts))

    @abstractmethod
    def moved(self, by: int) -> Self:
        """Return the distribution of the count plus a constant."""

    @property
    @abstractmethod
    def mirrored(self) -> Self:
        """The distribution of the negative count."""

    @abstractmethod
    def points(self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf) -> MeshPoints:
        """Return quadrature points with probabilities as weights, for sums of functions.

        The functions may be rough between the two counts `fine`. Points left of the mode are omitted if the probability
        there is below e^−80 of the largest one. Points right of the mode are omitted if it is below e^−80 of the
        probability at `highest`.
        """

    def for_ratios(self, rarity: float) -> Self:  # noqa: ARG002  (a table has every point)
        """Return the distribution with points for sums of ratios whose logarithm may be as low as `rarity`."""
        return self

    @abstractmethod
    def reach(self, depth: float) -> tuple[float, float]:
        """Return the counts on both sides of the mode at which the probability has fallen by a factor e^depth."""

    def counts_within(self, depth: float) -> tuple[int, int]:
        """Return the first and the last count within `reach(depth)`."""
        (low, high), (near, far) = self.support, self.reach(depth)
        return max(low, math.floor(near)), min(high, math.ceil(far))

    @abstractmethod
    def log_tail_bound(self, count: float) -> float:
        """Return an upper bound of ln P[K >= count] for a count above the mean."""


@frozen(eq=False, slots=False)
class TableLaw(CountDistribution):
    """A distribution given by a table of weights for the counts first, first + 1, …."""

    first: int  # first count of the table
    log_weights: Reals  # logarithm of the weight of each count; −inf for weight 0
    depth: float = 640.0  # nats below the largest log-weight up to which weights keep their precision
    rounding: float = 3e-13  # bound of the relative error of a weight within that depth

    @cached_property
    def _weights(self) -> Reals:
        """Weights relative to the largest."""
        return np.exp(self.log_weights - self.log_weights.max())

    @cached_property
    def log_probabilities(self) -> Reals:
        """Logarithm of the probability of each count of the table, −inf for probability 0."""
        return self.log_weights - self._log_total

    @cached_property
    def _log_total(self) -> float:
        """Logarithm of the sum of the weights."""
        return float(self.log_weights.max()) + math.log(float(self._weights.sum()))

    @property
    def _counts(self) -> Reals:
        """Offsets of the counts from the mode."""
        return np.arange(self._weights.size, dtype=np.float64) - (self.mode - self.first)

    @property
    def mean(self) -> float:
        """Expected count, in records."""
        return self.mode + float(self._weights @ self._counts) / float(self._weights.sum())

    @cached_property
    def variance(self) -> float:
        """Variance of the count, in records²."""
        offsets, mass = self._counts, float(self._weights.sum())
        mean = float(self._weights @ offsets) / mass
        return float(self._weights @ (offsets - mean) ** 2) / mass

    @property
    def support(self) -> tuple[int, int]:
        """First and last count of the table."""
        return self.first, self.first + self.log_weights.size - 1

    @cached_property
    def mode(self) -> int:
        """Smallest count of the largest probability."""
        return self.first + int(np.argmax(self.log_weights >= self.log_weights.max() - TIE))

    def quantile(self, level: float) -> int:
        """Return the smallest count k with P[K <= k] >= level, for a level in (0, 1)."""
        below = np.cumsum(self._weights)
        goal = open_probability(level, "level") * below[-1] * (1 - TIE)
        return self.first + int(np.searchsorted(below, goal))

    def log_probability(self, low: float, high: float) -> float:
        """Return ln P[low <= K <= high], −inf for probability 0."""
        end = self._weights.size - 1
        start = math.ceil(max(not_nan(low, "low") - self.first, 0))
        stop = math.floor(min(not_nan(high, "high") - self.first, end))
        part = self.log_weights[start : stop + 1] if start <= stop else np.full(1, -math.inf)
        peak = float(part.max())
        if peak == -math.inf:
            return -math.inf
        return peak + math.log(float(np.exp(part - peak).sum())) - self._log_total

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """Return ln P[K = k] for each count k, in the shape of `counts`, −inf for probability 0."""
        values = np.asarray(counts, dtype=np.float64)
        places = values - self.first
        inside = (places >= 0) & (places < self._weights.size) & (values == np.floor(values))
        logs = self.log_weights[np.where(inside, places, 0).astype(np.int64)]
        return np.where(inside, logs - self._log_total, -math.inf)

    def moved(self, by: int) -> Self:
        """Return the distribution of the count plus a constant."""
        law = replace(self, first=self.first + by)
        law.__dict__.update(self._cached_values)
        return law

    @cached_property
    def mirrored(self) -> Self:
        """The distribution of the negative count."""
        law = replace(self, first=-self.support[1], log_weights=self.log_weights[::-1])
        turned = {
            name: value[::-1] if isinstance(value, np.ndarray) else value for name, value in self._cached_values.items()
        }
        law.__dict__.update(turned)
        return law

    @property
    def _cached_values(self) -> dict[str, Reals | float]:
        """Cached values that do not depend on the position of the table."""
        names = "_weights", "_log_total", "log_probabilities", "variance", "deviation"
        return {name: self.__dict__[name] for name in names if name in self.__dict__}

    def points(
        self,
        fine: tuple[float, float] | None,  # noqa: ARG002  (a table has every point)
        highest: float,  # noqa: ARG002  (a table has every point)
        coarsest: float = math.inf,  # noqa: ARG002  (a table has every point)
    ) -> MeshPoints:
        """Return all counts of positive probability."""
        return self._points

    @cached_property
    def _points(self) -> MeshPoints:
        """Counts of positive probability, with their probabilities."""
        counts = self.first + np.arange(self.log_weights.size, dtype=np.float64)
        possible = self.log_weights > -np.inf
        return MeshPoints(counts[possible], self.log_probabilities[possible])

    def reach(self, depth: float) -> tuple[float, float]:  # noqa: ARG002  (a table is short)
        """Return the ends of the table."""
        return self.support

    def log_tail_bound(self, count: float) -> float:
        """Return the largest log-probability from the count on, plus the logarithm of the number of these counts."""
        logs = self.log_probabilities[max(0, int(count - self.first)) :]
        return float(logs.max()) + math.log(logs.size) if logs.size else -math.inf


def weighted_table(first: int, log_probabilities: Reals, likelihoods: Sequence[Factor]) -> TableLaw:
    """Return the distribution of a table on first, first + 1, …, multiplied by likelihoods.

    Raises:
        ValueError: If the product is 0 at every count.
    """
    product, last = Product(tuple(likelihoods)), first + log_probabilities.size - 1
    low, high = product.support
    start, stop = math.ceil(max(first, low)), math.floor(min(last, high))
    logs = log_probabilities[max(0, start - first) : max(0, stop - first + 1)]
    if logs.size == 0 or logs.max() == -math.inf:
        raise ValueError(IMPOSSIBLE)
    counts = start + np.arange(logs.size, dtype=np.float64)
    return TableLaw(start, product.logs_around_largest(counts, logs))


_DOUBLE = 40.0  # nats: terms below e^−40 of a sum do not change it as a double


@frozen(eq=False, slots=False)
class WindowedLaw(CountDistribution):
    """A distribution of which a short range of counts has nearly all probability.

    Attributes:
        log_rest: Bound of the logarithm of the probability outside the range, and of the sum of that probability times
            the squared distance from the range.
    """

    table: TableLaw  # distribution on the range
    log_rest: float
    limits: tuple[int, int]  # smallest and largest count of positive probability
    make_whole: Callable[[], CountDistribution]  # builds the distribution of all counts, for values far in a tail

    @cached_property
    def unwindowed(self) -> CountDistribution:
        """The distribution of all counts, also those outside the window."""
        return self.make_whole()

    @property
    def mean(self) -> float:
        """Expected count, in records."""
        return self.table.mean

    @property
    def variance(self) -> float:
        """Variance of the count, in records²."""
        return self.table.variance

    @cached_property
    def mode(self) -> int:
        """Smallest count of the largest probability; a tie is decided by the distribution of all counts."""
        logs = self.table.log_weights
        highest = np.flatnonzero(logs >= logs.max() - LOG_TIE)
        return self.table.first + int(highest[0]) if highest.size == 1 else self.unwindowed.mode

    @property
    def support(self) -> tuple[int, int]:
        """Smallest and largest count of positive probability."""
        return self.limits

    def quantile(self, level: float) -> int:
        """Return the smallest count k with P[K <= k] >= level, for a level in (0, 1)."""
        return self.table.quantile(level)

    def log_probability(self, low: float, high: float) -> float:
        """Return ln P[low <= K <= high], −inf for probability 0; precise far out in a tail too."""
        first, last = self.table.support
        inside = self.table.log_probability(low, high)
        is_within = (first <= low or first == self.limits[0]) and (high <= last or last == self.limits[1])
        if is_within or inside >= self.log_rest + _DOUBLE:
            return inside
        return self.unwindowed.log_probability(low, high)

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """Return ln P[K = k] for each count k, in the shape of `counts`, −inf for probability 0."""
        values = np.asarray(counts, dtype=np.float64)
        first, last = self.table.support
        logs = np.asarray(self.table.log_pmf(values))
        outside = ((values < first) & (values >= self.limits[0])) | ((values > last) & (values <= self.limits[1]))
        if outside.any():
            logs = np.where(outside, self.unwindowed.log_pmf(values), logs)
        return logs

    def moved(self, by: int) -> Self:
        """Return the distribution of the count plus a constant."""
        low, high = self.limits
        return type(self)(self.table.moved(by), self.log_rest, (low + by, high + by), lambda: self.unwindowed.moved(by))

    @cached_property
    def mirrored(self) -> Self:
        """The distribution of the negative count."""
        low, high = self.limits
        return type(self)(self.table.mirrored, self.log_rest, (-high, -low), lambda: self.unwindowed.mirrored)

    def points(self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf) -> MeshPoints:
        """Return the points of the distribution of all counts."""
        return self.unwindowed.points(fine, highest, coarsest)

    def reach(self, depth: float) -> tuple[float, float]:
        """Return the ends of the table; for a larger depth, the reach of the distribution of all counts."""
        width = self.table.log_weights.size
        if depth + math.log(width) <= -self.log_rest:
            return self.table.support
        return self.unwindowed.reach(depth)

    def log_tail_bound(self, count: float) -> float:
        """Return the bound of the distribution of all counts."""
        return self.unwindowed.log_tail_bound(count)
