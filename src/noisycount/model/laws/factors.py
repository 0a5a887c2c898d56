"""Factors: positive functions of a count, such as priors and likelihoods, whose product is a posterior.

`Factor` is the interface and `Product` multiplies; `smooth_law` turns a product into a distribution.
"""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import DIGITS, FLAT, Expansion, Reals, decimal_ratio, gamma_ratio_expansion
from noisycount.model.searches import Bracket, first_whole

# Message of the error that is raised if a product of factors is 0 at every count.
IMPOSSIBLE = (
    "answer is impossible: no count can have it under this population, so check the answer, the size and the rate"
)

LOG_TIE = 1e-12  # nats: log-weights that differ by less may be equal up to rounding
_CENTRES = 4  # largest number of centres that are tried in the search for the largest sum
_NEAR = 4.0  # nats: a change of at most this size has full precision
_CERTAIN = 1e-9  # relative to the largest step: a larger sum of steps has the correct sign despite rounding


@frozen
class LogRatio:
    """The exact change of a logarithm from one count to the next: ln(ratio) + shift."""

    ratio: Fraction = Fraction(1)  # a positive rational
    shift: Fraction = Fraction(0)  # a rational number of nats

    def __add__(self, other: "LogRatio") -> "LogRatio":
        """Return the log-ratio of the product of two factors."""
        return LogRatio(self.ratio * other.ratio, self.shift + other.shift)

    @property
    def is_positive(self) -> bool:
        """True if the next count has the larger value, decided with 60 digits."""
        if not self.shift:
            return self.ratio > 1
        return DIGITS.add(DIGITS.ln(decimal_ratio(self.ratio)), decimal_ratio(self.shift)) > 0


class Factor(ABC):
    """A positive function of a count, known up to a constant. Most are smooth and log-concave."""

    __slots__ = ()

    @abstractmethod
    def expansion(self, centre: int) -> Expansion:
        """Return the change of the logarithm around a count of the support."""

    @abstractmethod
    def log_ratio_to_next(self, count: int) -> float:
        """Return the change of the logarithm to the next count: ln(f(count + 1)/f(count)). Both are in the support."""

    def log_ratios_to_next(self, counts: Sequence[int]) -> Reals:
        """Return the `log_ratio_to_next` of each of many counts, shape (counts,)."""
        return np.array([self.log_ratio_to_next(count) for count in counts])

    def exact_log_ratio_to_next(self, count: int) -> LogRatio:
        """Return the `log_ratio_to_next` without rounding; by default, the float as a rational number."""
        return LogRatio(shift=Fraction(self.log_ratio_to_next(count)))

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest count at which the factor is positive; may be infinite."""
        return -math.inf, math.inf

    @property
    def kinks(self) -> tuple[float, ...]:
        """Counts at which the logarithm is not smooth."""
        return ()

    @property
    def is_log_concave(self) -> bool:
        """True if `log_ratio_to_next` never grows with the count."""
        return True


@frozen
class Product(Factor):
    """A product of factors."""

    factors: tuple[Factor, ...]  # an empty product is 1 everywhere

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest count at which all factors are positive.

        If there is none, the first exceeds the second.
        """
        ends = [factor.support for factor in self.factors]
        lowest = max((low for low, _ in ends), default=-math.inf)
        return lowest, min((high for _, high in ends), default=math.inf)

    @property
    def kinks(self) -> tuple[float, ...]:
        """Counts at which any factor is not smooth."""
        return tuple(sorted({kink for factor in self.factors for kink in factor.kinks}))

    @property
    def is_log_concave(self) -> bool:
        """True if all factors are log-concave."""
        return all(factor.is_log_concave for factor in self.factors)

    def expansion(self, centre: int) -> Expansion:
        """Return the sum of the expansions."""
        return Expansion.of_product([factor.expansion(centre) for factor in self.factors] or [FLAT])

    def logs_around_largest(self, counts: Reals, log_weights: Reals) -> Reals:
        """Return `log_weights` plus the logarithm of the product, up to a constant, precise near the largest sum.

        The first centre is the middle: a window around an answer has its largest sum there in most cases.
        """
        place = counts.size // 2
        for _ in range(_CENTRES):
            changes = self.expansion(int(counts[place]))(counts - counts[place])
            logs: Reals = log_weights + changes
            largest = int(np.argmax(logs))
            if abs(changes[largest]) <= _NEAR:
                break
            place = largest
        return logs

    def log_ratio_to_next(self, count: int) -> float:
        """Return the change of the logarithm to the next count, the sum over the factors."""
        return math.fsum(factor.log_ratio_to_next(count) for factor in self.factors)

    def log_ratios_to_next(self, counts: Sequence[int]) -> Reals:
        """Return the change of the logarithm from each of many counts to the next, shape (counts,)."""
        return np.sum([factor.log_ratios_to_next(counts) for factor in self.factors], axis=0)

    def exact_log_ratio_to_next(self, count: int) -> LogRatio:
        """Return the change of the logarithm to the next count, without rounding."""
        return reduce(add, (factor.exact_log_ratio_to_next(count) for factor in self.factors))

    def rise_after(self, count: int) -> float:
        """Return `log_ratio_to_next` with its exact sign: positive only if the next count has the larger value."""
        return self._sum_with_exact_sign(count, [factor.log_ratio_to_next(count) for factor in self.factors])

    def rises_after(self, counts: Sequence[int]) -> Reals:
        """Return `rise_after` of each of many counts, shape (counts,)."""
        steps = np.array([factor.log_ratios_to_next(counts) for factor in self.factors])
        rises = zip(counts, steps.T.tolist(), strict=True)
        return np.array([self._sum_with_exact_sign(count, parts) for count, parts in rises])

    def _sum_with_exact_sign(self, count: int, steps: list[float]) -> float:
        """Return the sum of steps, with the sign of the exact sum if rounding might change it."""
        total = math.fsum(steps)
        if abs(total) > _CERTAIN * max(1.0, *map(abs, steps)):
            return total
        is_positive = self.exact_log_ratio_to_next(count).is_positive
        return max(abs(total), sys.float_info.min) if is_positive else -abs(total)


@frozen
class ShiftedFactor(Factor):
    """The factor g(count) = f(count + shift) of another factor f."""

    factor: Factor  # f
    shift: int  # in records

    @property
    def support(self) -> tuple[float, float]:
        """Support of the factor, moved by −shift."""
        low, high = self.factor.support
        return low - self.shift, high - self.shift

    @property
    def kinks(self) -> tuple[float, ...]:
        """Kinks of the factor, moved by −shift."""
        return tuple(kink - self.shift for kink in self.factor.kinks)

    @property
    def is_log_concave(self) -> bool:
        """True if the factor is log-concave."""
        return self.factor.is_log_concave

    def expansion(self, centre: int) -> Expansion:
        """Return the expansion of the factor around centre + shift."""
        return self.factor.expansion(centre + self.shift)

    def log_ratio_to_next(self, count: int) -> float:
        """Return the change of the logarithm to the next count, which is that of the factor at count + shift."""
        return self.factor.log_ratio_to_next(count + self.shift)

    def log_ratios_to_next(self, counts: Sequence[int]) -> Reals:
        """Return the change of the logarithm from each of many counts to the next, shape (counts,)."""
        return self.factor.log_ratios_to_next([count + self.shift for count in counts])

    def exact_log_ratio_to_next(self, count: int) -> LogRatio:
        """Return the change of the logarithm to the next count, without rounding."""
        return self.factor.exact_log_ratio_to_next(count + self.shift)


class ValuedFactor(Factor):
    """A factor with a logarithm that can be evaluated at any counts."""

    __slots__ = ()

    log_values: Callable[[Reals], Reals]  # returns the logarithm at an array of counts, in its shape

    def log_value(self, count: float) -> float:
        """Return the logarithm of the value at one count."""
        return float(self.log_values(np.array([float(count)]))[0])

    def expansion(self, centre: int) -> Expansion:
        """Return the differences of the logarithm from its value at the centre."""
        at_centre = self.log_value(centre)

        def bend(offsets: Reals) -> Reals:
            return self.log_values(np.asarray(centre + offsets)) - at_centre

        return Expansion(Decimal(0), bend)

    def log_ratio_to_next(self, count: int) -> float:
        """Return the change of the logarithm to the next count: ln(f(count + 1)/f(count))."""
        return float(self.log_ratios_to_next([count])[0])

    def log_ratios_to_next(self, counts: Sequence[int]) -> Reals:
        """Return the `log_ratio_to_next` of each of many counts, shape (counts,)."""
        starts = np.array(counts, dtype=np.float64)
        here, there = self.log_values(np.stack([starts, starts + 1]))
        return np.asarray(there - here)


@frozen
class LogFactor(ValuedFactor):
    """A factor defined by its logarithm, including its absolute size.

    Attributes:
        log_values: A function that returns the logarithm at counts. If the factor is smooth, the counts may be real.
    """

    log_values: Callable[[Reals], Reals]
    kinks: tuple[float, ...] = ()  # counts at which the logarithm is not smooth
    support: tuple[float, float] = (-math.inf, math.inf)  # smallest and largest count at which the factor is positive
    is_log_concave: bool = True  # True if the logarithm is concave


@frozen
class BetaBinomialFactor(Factor):
    """The factor C(size, k)·B(k + alpha, size − k + beta) of a count k.

    Up to a constant, this is Γ(k + alpha)/Γ(k + 1) · Γ(size − k + beta)/Γ(size − k + 1).
    """

    size: int
    alpha: float  # first shape parameter, positive
    beta: float  # second shape parameter, positive

    @property
    def support(self) -> tuple[int, int]:
        """Smallest and largest possible count: 0 and size."""
        return 0, self.size

    @property
    def is_log_concave(self) -> bool:
        """True if both shape parameters are at least 1."""
        return min(self.alpha, self.beta) >= 1

    def expansion(self, centre: int) -> Expansion:
        """Return the sum of the expansions of both ratios of gamma functions."""
        rising = gamma_ratio_expansion(centre, self.alpha)
        return rising + gamma_ratio_expansion(self.size - centre, self.beta).mirrored

    def log_ratio_to_next(self, count: int) -> float:
        """Return the change of the logarithm to the next count. Both counts must be in the support."""
        negatives = self.size - count
        rising = math.log((count + self.alpha) / (count + 1))
        return rising - math.log((negatives - 1 + self.beta) / negatives)

    def exact_log_ratio_to_next(self, count: int) -> LogRatio:
        """Return the change of the logarithm to the next count, as the logarithm of an exact fraction."""
        negatives = self.size - count
        rising = (count + Fraction(self.alpha)) / (count + 1)
        return LogRatio(rising * negatives / (negatives - 1 + Fraction(self.beta)))


_GROWTH = 1.3  # ratio of successive distances; the product is assumed to turn at most once between them


def mode_and_turns(product: Product, support: tuple[int, int]) -> tuple[int, list[int]]:
    """Return the smallest count of the largest value, and the counts at which the product begins to rise or to fall.

    A log-concave product turns once. For any other product, the signs of the steps are compared at counts whose
    distances to the ends and to the kinks grow by a factor of 1.3.
    """
    smallest, largest = support
    if product.is_log_concave:
        mode = _first_turn(product, smallest, largest, rising=True)
        return mode, [mode]
    grid = _dense_grid(product, support)
    rises = (product.rises_after(grid) > 0).tolist()
    turns = [
        _first_turn(product, low + 1, high, rising=before)
        for (low, before), (high, after) in pairwise(zip(grid, rises, strict=True))
        if before != after
    ]
    candidates = np.array(sorted({smallest, largest, *turns}))
    changes = product.logs_around_largest(candidates.astype(np.float64), np.zeros(candidates.size))
    return int(candidates[changes >= changes.max() - LOG_TIE][0]), turns


def _first_turn(product: Product, smallest: int, largest: int, *, rising: bool) -> int:
    """Return the first count in smallest..largest − 1 whose step has the other sign; without one, `largest`."""

    def signed_rise(count: float) -> float:
        rise = product.rise_after(int(count))
        return -rise if rising else rise or -sys.float_info.min

    bracket = Bracket(smallest - 1, largest)
    for kink in product.kinks:  # turns are most frequent at kinks, so try these first
        for place in (math.ceil(kink) - 1, math.floor(kink)):
            if bracket.low < place < bracket.high:
                bracket = bracket.narrowed(place, signed_rise(place))
    return int(first_whole(signed_rise, bracket).high)


def _dense_grid(product: Product, support: tuple[int, int]) -> list[int]:
    """Return counts below the largest, dense near the ends of the support and near the kinks."""
    smallest, largest = support
    anchors = {smallest, largest, *(round(kink) for kink in product.kinks)}
    distances = [0]
    while distances[-1] < largest - smallest:
        distances.append(int(distances[-1] * _GROWTH) + 1)
    counts = {anchor + side * step for anchor in anchors for step in distances for side in (-1, 1)}
    return sorted(count for count in counts if smallest <= count < largest)
