"""Functions of a count that are multiplied to make its law: a prior, likelihoods of answers."""

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

# What is said where factors leave no count.
IMPOSSIBLE = (
    "answer is impossible: no count can have it under this population, so check the answer, the size and the rate"
)

LOG_TIE = 1e-12  # in nats: what rounding moves a difference of log-weights, and more
_CENTRES = 4  # of the first the largest is known up to rounding; of those near it, exactly
_NEAR = 4.0  # nats: a change so small is known to the last digits
_CERTAIN = 1e-9  # of the largest step: more than rounding moves a sum of steps


@frozen
class LogStep:
    """The exact change of a logarithm from one count to the next: ln(ratio) + shift."""

    ratio: Fraction = Fraction(1)  # a positive rational
    shift: Fraction = Fraction(0)  # a rational number of nats

    def __add__(self, other: "LogStep") -> "LogStep":
        """The step of a product."""
        return LogStep(self.ratio * other.ratio, self.shift + other.shift)

    @property
    def is_positive(self) -> bool:
        """Whether the next count has the larger value, decided in 60 digits."""
        if not self.shift:
            return self.ratio > 1
        return DIGITS.add(DIGITS.ln(decimal_ratio(self.ratio)), decimal_ratio(self.shift)) > 0


class Factor(ABC):
    """A positive function of a count, known up to a constant; most are smooth and log-concave."""

    __slots__ = ()

    @abstractmethod
    def expansion(self, centre: int) -> Expansion:
        """How its logarithm changes around a count of the support."""

    @abstractmethod
    def log_step(self, count: int) -> float:
        """The logarithm of its value at count + 1 over that at count, both in the support."""

    def log_steps(self, counts: Sequence[int]) -> Reals:
        """The `log_step` of each of many counts, shape (counts,)."""
        return np.array([self.log_step(count) for count in counts])

    def exact_log_step(self, count: int) -> LogStep:
        """The `log_step` without rounding, or as the rational that the float stands for."""
        return LogStep(shift=Fraction(self.log_step(count)))

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest count at which it is positive; may be infinite."""
        return -math.inf, math.inf

    @property
    def kinks(self) -> tuple[float, ...]:
        """The counts at which its logarithm is not smooth."""
        return ()

    @property
    def is_log_concave(self) -> bool:
        """Whether its steps never grow."""
        return True


@frozen
class Product(Factor):
    """A product of factors."""

    factors: tuple[Factor, ...]  # the factors; without any it is 1 everywhere

    @property
    def support(self) -> tuple[float, float]:
        """Where all factors are positive; the first exceeds the second where there is no such."""
        ends = [factor.support for factor in self.factors]
        lowest = max((low for low, _ in ends), default=-math.inf)
        return lowest, min((high for _, high in ends), default=math.inf)

    @property
    def kinks(self) -> tuple[float, ...]:
        """The counts at which any factor is not smooth."""
        return tuple(sorted({kink for factor in self.factors for kink in factor.kinks}))

    @property
    def is_log_concave(self) -> bool:
        """Whether all factors are log-concave."""
        return all(factor.is_log_concave for factor in self.factors)

    def expansion(self, centre: int) -> Expansion:
        """The sum of the expansions."""
        return Expansion.of_product([factor.expansion(centre) for factor in self.factors] or [FLAT])

    def logs_around_largest(self, counts: Reals, added: Reals) -> Reals:
        """Return what is added plus the logarithms, up to a constant; rounding is least near the largest sum.

        The first centre is the middle, where a window around an answer has the largest sum in most cases.
        """
        place = counts.size // 2
        for _ in range(_CENTRES):
            changes = self.expansion(int(counts[place]))(counts - counts[place])
            logs: Reals = added + changes
            largest = int(np.argmax(logs))
            if abs(changes[largest]) <= _NEAR:
                break
            place = largest
        return logs

    def log_step(self, count: int) -> float:
        """The sum of the steps."""
        return math.fsum(factor.log_step(count) for factor in self.factors)

    def log_steps(self, counts: Sequence[int]) -> Reals:
        """The sums of the steps, shape (counts,)."""
        return np.sum([factor.log_steps(counts) for factor in self.factors], axis=0)

    def exact_log_step(self, count: int) -> LogStep:
        """The sum of the exact steps."""
        return reduce(add, (factor.exact_log_step(count) for factor in self.factors))

    def rise_after(self, count: int) -> float:
        """The step after a count, positive if and only if the next count has the larger value."""
        return self._surely_signed(count, [factor.log_step(count) for factor in self.factors])

    def rises_after(self, counts: Sequence[int]) -> Reals:
        """The `rise_after` of each of many counts, shape (counts,)."""
        steps = np.array([factor.log_steps(counts) for factor in self.factors])
        rises = zip(counts, steps.T.tolist(), strict=True)
        return np.array([self._surely_signed(count, parts) for count, parts in rises])

    def _surely_signed(self, count: int, steps: list[float]) -> float:
        """The sum of steps, whose sign is that of the exact sum where rounding might change it."""
        total = math.fsum(steps)
        if abs(total) > _CERTAIN * max(1.0, *map(abs, steps)):
            return total
        is_positive = self.exact_log_step(count).is_positive
        return max(abs(total), sys.float_info.min) if is_positive else -abs(total)


@frozen
class Moved(Factor):
    """A factor of `count + by`, seen as a factor of the count."""

    factor: Factor  # the factor
    by: int  # how much larger its own count is

    @property
    def support(self) -> tuple[float, float]:
        """The counts whose moved counts are in the support."""
        low, high = self.factor.support
        return low - self.by, high - self.by

    @property
    def kinks(self) -> tuple[float, ...]:
        """The kinks, moved."""
        return tuple(kink - self.by for kink in self.factor.kinks)

    @property
    def is_log_concave(self) -> bool:
        """Whether the logarithm of the factor is concave."""
        return self.factor.is_log_concave

    def expansion(self, centre: int) -> Expansion:
        """The expansion around the moved count."""
        return self.factor.expansion(centre + self.by)

    def log_step(self, count: int) -> float:
        """The step after the moved count."""
        return self.factor.log_step(count + self.by)

    def log_steps(self, counts: Sequence[int]) -> Reals:
        """The steps after the moved counts."""
        return self.factor.log_steps([count + self.by for count in counts])

    def exact_log_step(self, count: int) -> LogStep:
        """The exact step after the moved count."""
        return self.factor.exact_log_step(count + self.by)


class ValuedFactor(Factor):
    """A factor whose logarithm is known at any counts."""

    __slots__ = ()

    log_values: Callable[[Reals], Reals]  # its logarithm at an array of counts, of the shape given

    def log_value(self, count: float) -> float:
        """The logarithm of its value at a count."""
        return float(self.log_values(np.array([float(count)]))[0])

    def expansion(self, centre: int) -> Expansion:
        """The differences of the logarithm."""
        at_centre = self.log_value(centre)

        def bend(offsets: Reals) -> Reals:
            return self.log_values(np.asarray(centre + offsets)) - at_centre

        return Expansion(Decimal(0), bend)

    def log_step(self, count: int) -> float:
        """The logarithm of the value at count + 1 over that at count."""
        return float(self.log_steps([count])[0])

    def log_steps(self, counts: Sequence[int]) -> Reals:
        """The `log_step` of each of many counts, shape (counts,)."""
        starts = np.array(counts, dtype=np.float64)
        here, there = self.log_values(np.stack([starts, starts + 1]))
        return np.asarray(there - here)


@frozen
class LogFactor(ValuedFactor):
    """A factor that is given by its logarithm, with its absolute size.

    Attributes:
        log_values: Its logarithm at counts; at real ones between integers where it is smooth there.
    """

    log_values: Callable[[Reals], Reals]
    kinks: tuple[float, ...] = ()  # the counts at which its logarithm is not smooth
    support: tuple[float, float] = (-math.inf, math.inf)  # the smallest and the largest count at which it is positive
    is_log_concave: bool = True  # whether its logarithm is concave


@frozen
class BetaBinomialFactor(Factor):
    """The factor C(size, k)·B(k + alpha, size − k + beta) of a count k.

    That is Γ(k + alpha)/Γ(k + 1) · Γ(size − k + beta)/Γ(size − k + 1) up to a constant.
    """

    size: int
    alpha: float  # the first shape, positive
    beta: float  # the second shape, positive

    @property
    def support(self) -> tuple[int, int]:
        """The smallest and the largest count that can occur."""
        return 0, self.size

    @property
    def is_log_concave(self) -> bool:
        """Where both shapes are at least 1."""
        return min(self.alpha, self.beta) >= 1

    def expansion(self, centre: int) -> Expansion:
        """From both quotients of gamma functions."""
        rising = gamma_ratio_expansion(centre, self.alpha)
        return rising + gamma_ratio_expansion(self.size - centre, self.beta).mirrored

    def log_step(self, count: int) -> float:
        """The logarithm of the factor at count + 1 over that at count, both in the support."""
        left = self.size - count
        rising = math.log((count + self.alpha) / (count + 1))
        return rising - math.log((left - 1 + self.beta) / left)

    def exact_log_step(self, count: int) -> LogStep:
        """The step, with its ratio as a fraction."""
        left = self.size - count
        rising = (count + Fraction(self.alpha)) / (count + 1)
        return LogStep(rising * left / (left - 1 + Fraction(self.beta)))


_GROWTH = 1.3  # of distances between which the logarithm of a product turns at most once


def mode_and_turns(product: Product, support: tuple[int, int]) -> tuple[int, list[int]]:
    """The smallest count of the largest value, and the counts at which the function turns.

    A log-concave product turns once. Of any other, the signs of the steps are taken at counts whose distances to the
    ends and to the kinks grow by a factor of 1.3.
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
    """Return the first count in smallest..largest − 1 whose step has the other sign, else largest."""

    def turned(count: float) -> float:
        rise = product.rise_after(int(count))
        return -rise if rising else rise or -sys.float_info.min

    bracket = Bracket(smallest - 1, largest)
    for kink in product.kinks:  # a product turns there more often than anywhere else
        for place in (math.ceil(kink) - 1, math.floor(kink)):
            if bracket.low < place < bracket.high:
                bracket = bracket.cut(place, turned(place))
    return int(first_whole(turned, bracket).high)


def _grid(product: Product, support: tuple[int, int]) -> list[int]:
    """Counts below the largest, close together near the ends of the support and the kinks."""
    smallest, largest = support
    anchors = {smallest, largest, *(round(kink) for kink in product.kinks)}
    distances = [0]
    while distances[-1] < largest - smallest:
        distances.append(int(distances[-1] * _GROWTH) + 1)
    counts = {anchor + side * step for anchor in anchors for step in distances for side in (-1, 1)}
    return sorted(count for count in counts if smallest <= count < largest)
