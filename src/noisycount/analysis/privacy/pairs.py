"""Two laws of a count, if a record is positive and if it is negative: lines, or tables."""

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution, MeshPoints, TableLaw
from noisycount.model.laws.gamma import DIGITS, Reals

_HIGHEST = 1e300  # of w, so that no product with a weight overflows
_MOST = Fraction(10) ** 305  # a rational that does not overflow as a float
_SPARE = 40  # of the 60 digits, down to which those of a gap may fall
_ROUNDING = 2e-13  # of a weight of Q; measured against 75 digits: up to 6e-14 near its peak


@frozen(eq=False, slots=False)
class LinearPair:
    """P₊/Q = 1 + (k − mean)/length_plus and P₋/Q = 1 − (k − mean)/length_minus.

    That holds for records that can be exchanged.
    """

    base: CountDistribution  # Q, seen from some count
    mean: Fraction  # the mean of Q, seen from there, exactly
    length_plus: Fraction  # in records, exactly
    length_minus: Fraction  # in records, exactly
    is_shift: bool = False  # whether P₊ is P₋, moved up by one record
    rounding: float = _ROUNDING  # the relative error of a term of a sum, measured, with a margin of 3
    precision: float | None = None  # that of a mass; None: the same, or points leave out some

    @cached_property
    def mirrored(self) -> "LinearPair":
        """The same from the other side."""
        pair = replace(
            self,
            base=self.base.mirrored,
            mean=-self.mean,
            length_plus=self.length_minus,
            length_minus=self.length_plus,
        )
        pair.__dict__["_digits"] = self._digits
        pair.__dict__["_slopes"] = self._slopes[::-1]
        return pair

    def excess(self, epsilon: float) -> "LinearExcess":
        """The excess w = c·(k − k*) with c = 1/length_plus + e^ε/length_minus, in 60 digits.

        k* = top − (length_plus + length_minus)/(length_plus·c) where P₋ ends at top = mean + length_minus. If a length
        is small, k* is as near to an integer, which takes more digits, and so it does where k* is next to one: then
        twice as many. At ε = 0 it is the mean.
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
        return _from_place(self.mean - self.length_plus, offsets) / float(self.length_plus)

    def ratio_minus(self, offsets: Reals) -> Reals:
        """P₋/Q at offsets."""
        return -_from_place(self.mean + self.length_minus, offsets) / float(self.length_minus)

    def masses(self, points: MeshPoints) -> tuple[Reals, Reals]:
        """What points that sum over Q add to sums over P₊ and over P₋."""
        weights, offsets = points.weights, points.offsets
        return weights * self.ratio_plus(offsets), weights * self.ratio_minus(offsets)

    def difference(self, offsets: Reals) -> Reals:
        """(P₊ − P₋)/Q at offsets, without cancellation."""
        return _from_place(self.mean, offsets) * float(1 / self.length_plus + 1 / self.length_minus)

    def difference_uncertainty(self, offsets: Reals, weights: Reals) -> float:  # noqa: ARG002  (of no sum)
        """0: the mean is known exactly."""
        return 0.0


@lru_cache(maxsize=1024)
def _exponential(epsilon: float, digits: int) -> Decimal:
    """e^ε, which both directions of a curve and all its pairs share."""
    return Context(prec=digits).exp(Decimal(epsilon))


def _from_place(place: Fraction, offsets: Reals) -> Reals:
    """How far offsets lie from a place, to full relative precision at the integer next to it."""
    nearest = round(place)
    return (offsets - nearest) - float(place - nearest)


@frozen
class LinearExcess:
    """A straight line."""

    threshold: float  # the smallest offset at which it is not negative
    at_threshold: float  # its value there
    before_threshold: float  # its value one record before
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

    @property
    def undecided(self) -> tuple[float, float]:
        """Empty range of offsets, as every sign is known."""
        return self.threshold, self.threshold

    def largest_size(self, offsets: Reals) -> float:
        """Return the larger of its sizes at the first and the last offset."""
        below, above = self.threshold - 1 - float(offsets[0]), float(offsets[-1]) - self.threshold
        low, high = self.before_threshold - self.slope * below, self.at_threshold + self.slope * above
        return max(abs(low), abs(high))

    def uncertainty(self, offsets: Reals, weights: Reals) -> float:  # noqa: ARG002  (of no sum)
        """0: the root is known to all digits."""
        return 0.0

    def largest_gain(self, offsets: Reals, weights: Reals) -> float:
        """The sum of the positive ones, as all are exact."""
        return float(weights @ np.maximum(self.at(offsets), 0.0))

    def at_most(self) -> "LinearExcess":
        """The excess itself, as it is exact."""
        return self


_LARGEST_EPSILON = 640.0  # beyond which e^ε times the rounding of w would overflow
_LARGEST_EXPONENT = 700.0  # whose exponential does not overflow, and is all beside 1
_FEW = 2.0**-50  # 8 roundings
_BOTH_LAWS = 4.0  # w is twice a difference of two rounded terms
Masses = tuple[Reals, Reals]


def _unknown() -> None:
    """No laws that are known better than by their logarithms."""


@frozen(eq=False, slots=False)
class TablePair:
    """Any two laws as tables, with Q half way between them.

    Attributes:
        exact: Makes P₊ and P₋, same shape, each mass within 8 roundings; None: they are not known.
    """

    first: float  # the offset of the first count
    log_plus: Reals  # ln P₊, −inf where it is 0
    log_minus: Reals  # ln P₋, same shape
    differences: Reals  # (P₊ − P₋)/Q, same shape, which the logarithms of near laws have lost
    difference_errors: Reals  # how far these may be off, beyond the relative error of P₊ and P₋, same shape
    is_shift: bool  # whether P₊ is P₋, moved up by one record
    rounding: float  # the relative error of a term of a sum, measured, with a margin
    exact: Callable[[], Masses | None] = _unknown

    @classmethod
    def of_laws(
        cls, first: float, logs: tuple[Reals, Reals], gains: tuple[Reals, Reals], *, is_shift: bool, rounding: float
    ) -> "TablePair":
        """The pair of two laws and their difference."""
        plus, minus = logs
        scaled = np.exp(_half_way(plus, minus) - max(float(plus.max()), float(minus.max())))
        with np.errstate(invalid="ignore", divide="ignore"):
            differences, errors = gains[0] / scaled, gains[1] / scaled
            lost = ~np.isfinite(differences)  # Q underflows there, not the ratio of the laws
            differences[lost] = 2 * np.tanh((plus[lost] - minus[lost]) / 2)
        errors = np.nan_to_num(errors, nan=0.0, posinf=2.0)
        return cls(first, plus, minus, differences, errors, is_shift, rounding)

    @cached_property
    def base(self) -> TableLaw:
        """Q."""
        return TableLaw(int(self.first), _half_way(self.log_plus, self.log_minus))

    @cached_property
    def _ratios(self) -> Reals:
        """The logarithm of P₊/P₋, which grows: from the likeliest offset outward no step is back.

        From (P₊ − P₋)/Q where that is below 1. Where both laws are 0 it is that of the neighbour towards the likeliest
        offset.
        """
        with np.errstate(invalid="ignore"):
            ratios = self.log_plus - self.log_minus
        near = np.abs(self.differences) < 1
        ratios[near] = 2 * np.arctanh(self.differences[near] / 2)
        likeliest = int(np.argmax(self.base.log_probabilities))
        right = np.nan_to_num(ratios[likeliest:], nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        left = np.nan_to_num(ratios[:likeliest], nan=np.inf, posinf=np.inf, neginf=-np.inf)
        left = np.minimum(left, right[0])
        return np.concatenate([np.minimum.accumulate(left[::-1])[::-1], np.maximum.accumulate(right)])

    @cached_property
    def mirrored(self) -> "TablePair":
        """The same from the other side."""
        pair = replace(
            self,
            first=-self.base.support[1],
            log_plus=self.log_minus[::-1],
            log_minus=self.log_plus[::-1],
            differences=-self.differences[::-1],
            difference_errors=self.difference_errors[::-1],
            exact=self._turned,
        )
        pair.__dict__["base"] = self.base.mirrored
        return pair

    @cached_property
    def _masses(self) -> Masses | None:
        """P₊ and P₋ to a few roundings, if they are known."""
        return self.exact()

    def _turned(self) -> Masses | None:
        """The same from the other side."""
        known = self._masses
        return None if known is None else (known[1][::-1], known[0][::-1])

    @property
    def precision(self) -> float | None:
        """The relative error of a mass, if that is a few roundings."""
        return None if self._masses is None else _FEW

    def masses(self, points: MeshPoints) -> Masses:
        """What points that sum over Q add to sums over P₊ and over P₋."""
        weights, offsets = points.weights, points.offsets
        if self._masses is None:
            return weights * self.ratio_plus(offsets), weights * self.ratio_minus(offsets)
        plus, minus = (_values_at(offsets, law, self.first) for law in self._masses)
        return plus, minus

    @cached_property
    def _halves(self) -> Reals:
        """2/(1 + e^−|r|) for r = ln(P₊/P₋)."""
        return 2 / (1 + np.exp(-np.abs(self._ratios)))

    @cached_property
    def _even(self) -> int:
        """The first place at which P₊ is not the smaller law."""
        return int(self._ratios.searchsorted(0.0))

    def excess(self, epsilon: float) -> "TableExcess":
        """The excess w from r = ln(P₊/P₋): 2·(1 − e^(ε − r))/(1 + e^−r) where r is large.

        There w = (P₊ − P₋)/Q − (e^ε − 1)·P₋/Q, and where it is not negative the second term is at most 2·tanh(ε/2):
        what rounding leaves of both is at most twice that.
        """
        ratios, even = self._ratios, self._even
        grown = math.exp(min(epsilon, _LARGEST_EPSILON))
        values = np.empty_like(ratios)
        values[even:] = -np.expm1(np.minimum(epsilon - ratios[even:], _LARGEST_EXPONENT))
        values[:even] = grown * np.expm1(np.maximum(ratios[:even] - epsilon, -_LARGEST_EXPONENT))
        values *= self._halves
        return TableExcess(
            self.first,
            int(ratios.searchsorted(epsilon)),
            values,
            _BOTH_LAWS * self.rounding * math.tanh(epsilon / 2),
            _BOTH_LAWS * math.exp(min(epsilon, 1.0)),
            self.difference_errors,
        )

    def log_tail_bound(self, offset: float) -> float:
        """That of Q, as P₊/Q is at most 2."""
        return self.base.log_tail_bound(offset) + math.log(2)

    def ratio_plus(self, offsets: Reals) -> Reals:
        """P₊/Q at offsets."""
        return self._ratio(self.log_plus, offsets)

    def ratio_minus(self, offsets: Reals) -> Reals:
        """P₋/Q at offsets."""
        return self._ratio(self.log_minus, offsets)

    def difference(self, offsets: Reals) -> Reals:
        """(P₊ − P₋)/Q at offsets, without cancellation."""
        return _values_at(offsets, self.differences, self.first)

    def difference_uncertainty(self, offsets: Reals, weights: Reals) -> float:
        """How far a weighted sum of these may be off, beyond the relative error of a term."""
        return float(weights @ _values_at(offsets, self.difference_errors, self.first))

    def _ratio(self, logs: Reals, offsets: Reals) -> Reals:
        """One of the laws over Q at offsets."""
        base = _values_at(offsets, self.base.log_probabilities, self.first)
        return np.exp(_values_at(offsets, logs, self.first) - base)


@frozen(eq=False)
class TableExcess:
    """w as a table."""

    first: float  # the offset of the first value
    place: int  # that of the first value that is not negative, from there
    values: Reals  # from there on
    error: float  # how far each may be off, beyond the relative error of a term
    growth: float  # how much more it may be off, over the error of its difference
    difference_errors: Reals  # the errors of the differences

    @property
    def threshold(self) -> float:
        """The smallest offset at which it is not negative."""
        return self.first + self.place

    def at(self, offsets: Reals) -> Reals:
        """Its values."""
        return _values_at(offsets, self.values, self.first)

    @property
    def undecided(self) -> tuple[float, float]:
        """Range of offsets, without its end, outside of which no error can change the sign of w."""
        unsure = np.flatnonzero(np.abs(self.values) <= self.error + self.growth * self.difference_errors)
        first, stop = (int(unsure[0]), int(unsure[-1]) + 1) if unsure.size else (self.place, self.place)
        return self.first + min(first, self.place), self.first + max(stop, self.place)

    def largest_size(self, offsets: Reals) -> float:
        """Return the larger of its sizes at the first and the last offset."""
        return float(np.abs(self.at(offsets[[0, -1]])).max())

    def uncertainty(self, offsets: Reals, weights: Reals) -> float:
        """How far a weighted sum of them may be off, beyond the relative error of a term."""
        errors = _values_at(offsets, self.difference_errors, self.first)
        return self.error * float(weights.sum()) + self.growth * float(weights @ errors)

    def largest_gain(self, offsets: Reals, weights: Reals) -> float:
        """The most that the positive ones among them may add up to, weighted."""
        return float(weights @ np.maximum(self.at_most().at(offsets), 0.0))

    def at_most(self) -> "TableExcess":
        """The excess as large as it may be."""
        values = self.values + self.error + self.growth * self.difference_errors
        grown = np.flatnonzero(values >= 0)
        place = int(grown[0]) if grown.size else values.size
        return TableExcess(self.first, place, values, 0.0, 0.0, self.difference_errors)


def _values_at(offsets: Reals, table: Reals, first: float) -> Reals:
    """The values of a table at rising offsets: a part of it where these follow each other."""
    if offsets.size and offsets[-1] - offsets[0] == offsets.size - 1:
        start = int(offsets[0] - first)
        return table[start : start + offsets.size]
    return table[(offsets - first).astype(np.int64)]


def _half_way(log_plus: Reals, log_minus: Reals) -> Reals:
    """The logarithm of (P₊ + P₋)/2."""
    return np.logaddexp(log_plus, log_minus) - math.log(2)


# Laws P₊ and P₋ of a count with a common base Q, such that P₊/P₋ grows with the count.
Pair = LinearPair | TablePair
# w = (P₊ − e^ε·P₋)/Q of one ε as a function of the offset: negative, then positive.
Excess = LinearExcess | TableExcess
