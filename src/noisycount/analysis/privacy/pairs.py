"""Two laws of a count: if one record is positive, and if it is negative.

Two laws of a count whose ratios to their base are straight lines.
"""

import math
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.gamma import DIGITS, Reals
from noisycount.model.laws.grids import MeshPoints

__all__ = ["Excess", "LinearPair", "Pair"]


class Excess(Protocol):
    """w = (P₊ − e^ε·P₋)/Q of one ε as a function of the offset: negative, then positive."""

    @property
    def threshold(self) -> float:
        """The smallest offset at which it is not negative; may lie outside the support."""
        ...

    def at(self, offsets: Reals) -> Reals:
        """Its values."""
        ...

    def uncertainty(self, offsets: Reals, weights: Reals) -> float:
        """How far a weighted sum of them may be off, beyond the relative error of a term."""
        ...

    def largest_gain(self, offsets: Reals, weights: Reals) -> float:
        """The most that the positive ones among them may add up to, weighted."""
        ...

    def at_most(self) -> "Excess":
        """The excess as large as it may be."""
        ...


class Pair(Protocol):
    """Laws P₊ and P₋ of a count with a common base Q, such that P₊/P₋ grows with the count."""

    @property
    def base(self) -> CountDistribution:
        """Q."""
        ...

    @property
    def is_shift(self) -> bool:
        """Whether P₊ is P₋, moved up by one record."""
        ...

    @property
    def rounding(self) -> float:
        """The relative error of a term of a sum, measured, with a margin."""
        ...

    @property
    def precision(self) -> float | None:
        """The relative error of a mass; None: that of a term, or points leave out some."""
        ...

    @property
    def mirrored(self) -> "Pair":
        """The laws of the negative count if the record is negative, and if it is positive."""
        ...

    def excess(self, epsilon: float) -> Excess:
        """The excess w of this ε."""
        ...

    def log_tail_bound(self, offset: float) -> float:
        """A bound of the logarithm of P₊ from an offset on, which lies right of the mean."""
        ...

    def ratio_plus(self, offsets: Reals) -> Reals:
        """P₊/Q at offsets."""
        ...

    def ratio_minus(self, offsets: Reals) -> Reals:
        """P₋/Q at offsets."""
        ...

    def masses(self, points: MeshPoints) -> tuple[Reals, Reals]:
        """What points that sum over Q add to sums over P₊ and over P₋."""
        ...

    def difference(self, offsets: Reals) -> Reals:
        """(P₊ − P₋)/Q at offsets, without cancellation."""
        ...

    def difference_uncertainty(self, offsets: Reals, weights: Reals) -> float:
        """How far a weighted sum of these may be off, beyond the relative error of a term."""
        ...


_HIGHEST = 1e300  # of w, so that no product with a weight overflows


_MOST = Fraction(10) ** 305  # a rational that does not overflow as a float


_SPARE = 40  # of the 60 digits, down to which those of a gap may fall


_ROUNDING = 2e-13  # of a weight of Q; measured against 75 digits: up to 6e-14 near its peak


@frozen(eq=False, slots=False)
class LinearPair:
    """P₊/Q = 1 + (k − mean)/length_plus and P₋/Q = 1 − (k − mean)/length_minus.

    That holds for records that can be exchanged.

    Attributes:
        base: Q, seen from some count.
        mean: The mean of Q, seen from there, exactly.
        length_plus: In records, exactly.
        length_minus: In records, exactly.
        is_shift: Whether P₊ is P₋, moved up by one record.
        rounding: The relative error of a term of a sum, measured, with a margin of 3.
        precision: That of a mass; None: the same, or points leave out some.
    """

    base: CountDistribution
    mean: Fraction
    length_plus: Fraction
    length_minus: Fraction
    is_shift: bool = False
    rounding: float = _ROUNDING
    precision: float | None = None

    @cached_property
    def mirrored(self) -> "LinearPair":
        """The same from the other side."""
        pair = LinearPair(
            self.base.mirrored,
            -self.mean,
            self.length_minus,
            self.length_plus,
            self.is_shift,
            self.rounding,
            self.precision,
        )
        pair.__dict__["_digits"] = self._digits
        pair.__dict__["_slopes"] = self._slopes[::-1]
        return pair

    def excess(self, epsilon: float) -> "LinearExcess":
        """The excess w = c·(k − k*) with c = 1/length_plus + e^ε/length_minus, in 60 digits.

        k* = top − (length_plus + length_minus)/(length_plus·c) where P₋ ends at top = mean +
        length_minus. If a length is small, k* is as near to an integer, which takes more digits,
        and so it does where k* is next to one: then twice as many. At ε = 0 it is the mean.
        """
        if epsilon == 0:
            return self._even
        digits, (per_plus, per_minus) = self._digits, self._slopes
        top, top_part, whole = self._places
        slope = digits.fma(_exponential(epsilon, digits.prec), per_minus, per_plus)
        below_top = digits.divide(whole, slope)
        root = digits.subtract(top_part, below_top)
        above = root.to_integral_value(ROUND_CEILING)
        gap = digits.subtract(above, root)
        rest = digits.subtract(gap, Decimal(1))
        if not (gap and rest) or min(gap.adjusted(), rest.adjusted()) < self._nearest:
            return self._finer.excess(epsilon)
        return LinearExcess(
            float(top + above),
            min(float(digits.multiply(slope, gap)), _HIGHEST),
            max(float(digits.multiply(slope, rest)), -_HIGHEST),
            min(float(slope), self._steepest),
        )

    @cached_property
    def _even(self) -> "LinearExcess":
        """The excess of ε = 0, exactly: P₊ − P₋ has no digits to lose."""
        slope = 1 / self.length_plus + 1 / self.length_minus
        above = math.ceil(self.mean)
        gap = above - self.mean
        return LinearExcess(
            float(above),
            min(float(min(slope * gap, _MOST)), _HIGHEST),
            max(float(max(slope * (gap - 1), -_MOST)), -_HIGHEST),
            min(float(min(slope, _MOST)), self._steepest),
        )

    @cached_property
    def _finer(self) -> "LinearPair":
        """The same with twice as many digits."""
        pair = replace(self)
        pair.__dict__["_digits"] = Context(prec=2 * self._digits.prec)
        pair.__dict__["_nearest"] = self._nearest - self._digits.prec
        return pair

    @cached_property
    def _nearest(self) -> int:
        """The power of 10 nearer to which k* does not come to an integer with these digits."""
        return -_SPARE

    @cached_property
    def _steepest(self) -> float:
        """A slope at which no value overflows: steeper ones add nothing but at the threshold."""
        low, high = self.base.support
        return _HIGHEST / (high - low + 1)

    @cached_property
    def _digits(self) -> Context:
        """60 digits, and as many as 1/length_plus and 1/length_minus have before the point."""
        steepest = max(1 / self.length_plus, 1 / self.length_minus)
        return Context(prec=DIGITS.prec + len(str(int(steepest))))

    @cached_property
    def _slopes(self) -> tuple[Decimal, Decimal]:
        """1/length_plus and 1/length_minus."""
        return self._decimal(1 / self.length_plus), self._decimal(1 / self.length_minus)

    @cached_property
    def _places(self) -> tuple[Decimal, Decimal, Decimal]:
        """The floor of the top, what is above it, and length_minus/length_plus + 1."""
        top = self.mean + self.length_minus
        floor = math.floor(top)
        whole = self.length_minus / self.length_plus + 1
        return Decimal(floor), self._decimal(top - floor), self._decimal(whole)

    def _decimal(self, value: Fraction) -> Decimal:
        """The fraction in all digits."""
        return self._digits.divide(Decimal(value.numerator), Decimal(value.denominator))

    def log_tail_bound(self, offset: float) -> float:
        """From the larger of Q there and at its end: no Q has a maximum in between."""
        last = self.base.support[1]
        ratio = float(self.ratio_plus(np.array(last)))
        return self.base.log_tail_bound(offset) + math.log(ratio)

    def ratio_plus(self, offsets: Reals) -> Reals:
        """P₊/Q at offsets."""
        return _from(self.mean - self.length_plus, offsets) / float(self.length_plus)

    def ratio_minus(self, offsets: Reals) -> Reals:
        """P₋/Q at offsets."""
        return -_from(self.mean + self.length_minus, offsets) / float(self.length_minus)

    def masses(self, points: MeshPoints) -> tuple[Reals, Reals]:
        """What points that sum over Q add to sums over P₊ and over P₋."""
        weights, offsets = points.weights, points.offsets
        return weights * self.ratio_plus(offsets), weights * self.ratio_minus(offsets)

    def difference(self, offsets: Reals) -> Reals:
        """(P₊ − P₋)/Q at offsets, without cancellation."""
        return _from(self.mean, offsets) * float(1 / self.length_plus + 1 / self.length_minus)

    def difference_uncertainty(self, offsets: Reals, weights: Reals) -> float:  # noqa: ARG002  (of no sum)
        """0: the mean is known exactly."""
        return 0.0


@lru_cache(maxsize=1024)
def _exponential(epsilon: float, digits: int) -> Decimal:
    """e^ε, which both directions of a curve and all its pairs share."""
    return Context(prec=digits).exp(Decimal(epsilon))


def _from(place: Fraction, offsets: Reals) -> Reals:
    """How far offsets lie from a place, to full relative precision at the integer next to it."""
    nearest = round(place)
    return (offsets - nearest) - float(place - nearest)


@frozen
class LinearExcess:
    """A straight line.

    Attributes:
        threshold: The smallest offset at which it is not negative.
        at_threshold: Its value there.
        before_threshold: Its value one record before.
        slope: Per record.
    """

    threshold: float
    at_threshold: float
    before_threshold: float
    slope: float

    def at(self, offsets: Reals) -> Reals:
        """Its values, at rising offsets."""
        start = int(offsets.searchsorted(self.threshold))
        values: Reals = offsets - self.threshold
        values[:start] = offsets[:start] - (self.threshold - 1)
        values *= self.slope
        values[:start] += self.before_threshold
        values[start:] += self.at_threshold
        return values

    def uncertainty(self, offsets: Reals, weights: Reals) -> float:  # noqa: ARG002  (of no sum)
        """0: the root is known to all digits."""
        return 0.0

    def largest_gain(self, offsets: Reals, weights: Reals) -> float:
        """The sum of the positive ones, as all are exact."""
        return float(weights @ np.maximum(self.at(offsets), 0.0))

    def at_most(self) -> "LinearExcess":
        """The excess itself, as it is exact."""
        return self
