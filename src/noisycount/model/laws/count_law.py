"""The law of a count: what every representation answers, a table, and a part of a whole law."""

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
    """Points that sum a weight times any function that is smooth outside the fine places."""

    offsets: Reals  # in rising order, shape (points,)
    log_weights: Reals  # the logarithm of what each point adds to a sum, shape (points,)
    weights: Reals = field(init=False, repr=False)  # what it adds
    highest_log_weight: float = field(init=False, repr=False)  # the largest of the logarithms

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.exp(self.log_weights))
        object.__setattr__(self, "highest_log_weight", float(self.log_weights.max()))

    def moved(self, by: int) -> "MeshPoints":
        """The points of the weight, moved."""
        return MeshPoints(self.offsets + by, self.log_weights)

    @property
    def is_every_integer(self) -> bool:
        """Whether no integer between the first and the last point is left out."""
        return bool(self.offsets.size == self.offsets[-1] - self.offsets[0] + 1)


TIE = 1e-14  # a quantile's level counts as reached within this of it, so that symmetric ties hold


class CountDistribution(ABC):
    """A law on a run of integers."""

    __slots__ = ()

    @property
    @abstractmethod
    def mean(self) -> float:
        """The expected count, in records."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the count, in records²."""

    @property
    @abstractmethod
    def mode(self) -> int:
        """The smallest count of the largest probability."""

    @property
    @abstractmethod
    def support(self) -> tuple[int, int]:
        """The first and the last count of the run."""

    @cached_property
    def deviation(self) -> float:
        """The standard deviation, in records."""
        return math.sqrt(self.variance)

    @property
    def depth(self) -> float:
        """How far below the largest log-probability the others keep their digits, in nats."""
        return 640.0

    @property
    def rounding(self) -> float:
        """A bound of the relative error of a probability within that depth."""
        return 3e-13

    @property
    def median(self) -> int:
        """The smallest count k with P[K <= k] >= 1/2."""
        return self.quantile(0.5)

    @abstractmethod
    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level, for a level in (0, 1)."""

    @abstractmethod
    def log_probability(self, low: float, high: float) -> float:
        """The logarithm of P[low <= K <= high], −inf for 0; in the far tails of smooth laws too."""

    @abstractmethod
    def log_pmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k] for each count k, shape as given, −inf for 0."""

    def probability(self, low: float, high: float) -> float:
        """P[low <= K <= high]."""
        return min(1.0, math.exp(self.log_probability(low, high)))

    def pmf(self, counts: ArrayLike) -> Reals:
        """P[K = k] for each count k, shape as given; 0 for what the count cannot be."""
        return np.exp(self.log_pmf(counts))

    @abstractmethod
    def moved(self, by: int) -> Self:
        """The law of the count plus a constant."""

    @property
    @abstractmethod
    def mirrored(self) -> Self:
        """The law of the negative count."""

    @abstractmethod
    def points(self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf) -> MeshPoints:
        """Points whose weights are probabilities, for sums that may bend in a run of counts.

        They leave out what is e^−80 of the largest probability to the left, and of that at `highest` to the right.
        """

    def for_ratios(self, rarity: float) -> Self:  # noqa: ARG002  (a table has every point)
        """The same law, with points for sums of ratios whose logarithm may be as low as this."""
        return self

    @abstractmethod
    def reach(self, depth: float) -> tuple[float, float]:
        """The counts on both sides of the mode at which the law has fallen by e^depth."""

    def counts_within(self, depth: float) -> tuple[int, int]:
        """The first and the last count between these."""
        (low, high), (near, far) = self.support, self.reach(depth)
        return max(low, math.floor(near)), min(high, math.ceil(far))

    @abstractmethod
    def log_tail_bound(self, count: float) -> float:
        """A bound of the logarithm of the mass from a count on, which lies right of the mean."""


@frozen(eq=False, slots=False)
class TableLaw(CountDistribution):
    """A law that is known up to a factor on first, first + 1, and so on."""

    first: int  # the first count of the table
    log_weights: Reals  # the logarithm of the weight of each count; −inf where it is 0
    depth: float = 640.0  # how far below the largest the log-weights keep their digits, in nats
    rounding: float = 3e-13  # a bound of the relative error of a weight within that depth

    @cached_property
    def _weights(self) -> Reals:
        """The weights, relative to the largest."""
        return np.exp(self.log_weights - self.log_weights.max())

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
        goal = open_probability(level, "level") * below[-1] * (1 - TIE)
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
        return np.where(inside, logs - self._log_total, -math.inf)

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


def weighted_table(first: int, log_probabilities: Reals, likelihoods: Sequence[Factor]) -> TableLaw:
    """The law of a table on first, first + 1, and so on, times likelihoods."""
    product, last = Product(tuple(likelihoods)), first + log_probabilities.size - 1
    low, high = product.support
    start, stop = math.ceil(max(first, low)), math.floor(min(last, high))
    logs = log_probabilities[max(0, start - first) : max(0, stop - first + 1)]
    if logs.size == 0 or logs.max() == -math.inf:
        raise ValueError(IMPOSSIBLE)
    counts = start + np.arange(logs.size, dtype=np.float64)
    return TableLaw(start, product.logs_around_largest(counts, logs))


_DOUBLE = 40.0  # nats: e^−40 of a sum is beyond a double


@frozen(eq=False, slots=False)
class WindowedLaw(CountDistribution):
    """A law of which a run of counts has nearly all probability.

    Attributes:
        log_rest: A bound of the logarithm of the probability outside, and of that times the squared distance from the
            run.
    """

    table: TableLaw  # the law on that run
    log_rest: float
    limits: tuple[int, int]  # the smallest and the largest count with a positive probability
    make_whole: Callable[[], CountDistribution]  # makes the law of all counts, for what is asked far out in a tail

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
        is_within = (first <= low or first == self.limits[0]) and (high <= last or last == self.limits[1])
        if is_within or inside >= self.log_rest + _DOUBLE:
            return inside
        return self.whole.log_probability(low, high)

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k] for each count k, shape as given, −inf for 0."""
        asked = np.asarray(counts, dtype=np.float64)
        first, last = self.table.support
        logs = np.asarray(self.table.log_pmf(asked))
        outside = ((asked < first) & (asked >= self.limits[0])) | ((asked > last) & (asked <= self.limits[1]))
        if outside.any():
            logs = np.where(outside, self.whole.log_pmf(asked), logs)
        return logs

    def moved(self, by: int) -> Self:
        """The law of the count plus a constant."""
        low, high = self.limits
        return type(self)(self.table.moved(by), self.log_rest, (low + by, high + by), lambda: self.whole.moved(by))

    @cached_property
    def mirrored(self) -> Self:
        """The law of the negative count."""
        low, high = self.limits
        return type(self)(self.table.mirrored, self.log_rest, (-high, -low), lambda: self.whole.mirrored)

    def points(self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf) -> MeshPoints:
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
