"""Pairs of count distributions P₊ and P₋, for a record that is positive and a record that is negative.

`LinearPair` has likelihood ratios that are linear in the count; `TablePair` holds any two distributions as tables.
Both yield the excess w = (P₊ − e^ε·P₋)/Q over a common base Q.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution, MeshPoints, TableLaw
from noisycount.model.laws.gamma import DIGITS, Reals

_HIGHEST = 1e300  # bound of w, so that no product with a weight overflows
_MOST = Fraction(10) ** 305  # largest rational that does not overflow as a float
_SPARE = 40  # digits, of the 60, that a gap may lose
_ROUNDING = 2e-13  # relative error of a weight of Q; measured against 75 digits: up to 6e-14 near its peak


@frozen(eq=False, slots=False)
class LinearPair:
    """A pair with P₊/Q = 1 + (k − mean)/length_plus and P₋/Q = 1 − (k − mean)/length_minus over a base Q.

    This form holds for exchangeable records.
    """

    base: CountDistribution  # Q, with offsets from some count
    mean: Fraction  # exact mean of Q, as an offset
    length_plus: Fraction  # exact, in records
    length_minus: Fraction  # exact, in records
    is_shift: bool = False  # True if P₊ is P₋ shifted up by one record
    rounding: float = _ROUNDING  # relative error of a term of a sum, measured, with a margin of 3
    precision: float | None = None  # relative error of a mass; None: `rounding`, or the points omit counts

    @cached_property
    def mirrored(self) -> "LinearPair":
        """The pair for the negative count, with P₊ and P₋ exchanged."""
        pair = replace(
            self,
            base=self.base.mirrored,
            mean=-self.mean,
            length_plus=self.length_minus,
            length_minus=self.length_plus,
        )
        pair.__dict__["_digits"] = self._decimal_context
        pair.__dict__["_slopes"] = self._slopes[::-1]
        return pair

    def excess(self, epsilon: float) -> "LinearExcess":
        """Return the excess (P₊ − e^ε·P₋)/Q = c·(k − k*) with c = 1/length_plus + e^ε/length_minus, in 60 digits.

        The root is k* = top − (length_plus + length_minus)/(length_plus·c), where P₋ is 0 at top = mean + length_minus.
        If k* lies too close to an integer for these digits, their number is doubled. At ε = 0 the root is the mean.
        """
        if epsilon == 0:
            return self._excess_at_zero
        digits, (per_plus, per_minus) = self._decimal_context, self._slopes
        top, top_part, whole = self._top_and_ratio
        slope = digits.fma(_decimal_exponential(epsilon, digits.prec), per_minus, per_plus)
        below_top = digits.divide(whole, slope)
        root = digits.subtract(top_part, below_top)
        above = root.to_integral_value(ROUND_CEILING)
        gap = digits.subtract(above, root)
        rest = digits.subtract(gap, Decimal(1))
        if not (gap and rest) or min(gap.adjusted(), rest.adjusted()) < self._resolved_exponent:
            return self._pair_of_more_digits.excess(epsilon)
        return LinearExcess(
            float(top + above),
            min(float(digits.multiply(slope, gap)), _HIGHEST),
            max(float(digits.multiply(slope, rest)), -_HIGHEST),
            min(float(slope), self._largest_slope),
        )

    @cached_property
    def _excess_at_zero(self) -> "LinearExcess":
        """Excess at ε = 0 in exact arithmetic, as P₊ − P₋ does not depend on an exponential."""
        slope = 1 / self.length_plus + 1 / self.length_minus
        above = math.ceil(self.mean)
        gap = above - self.mean
        return LinearExcess(
            float(above),
            min(float(min(slope * gap, _MOST)), _HIGHEST),
            max(float(max(slope * (gap - 1), -_MOST)), -_HIGHEST),
            min(float(min(slope, _MOST)), self._largest_slope),
        )

    @cached_property
    def _pair_of_more_digits(self) -> "LinearPair":
        """This pair, computed with twice as many digits."""
        pair = replace(self)
        pair.__dict__["_digits"] = Context(prec=2 * self._decimal_context.prec)
        pair.__dict__["_resolved_exponent"] = self._resolved_exponent - self._decimal_context.prec
        return pair

    @cached_property
    def _resolved_exponent(self) -> int:
        """Exponent of 10 of the smallest distance of a root of the excess from an integer that the digits resolve."""
        return -_SPARE

    @cached_property
    def _largest_slope(self) -> float:
        """Slope at which no value overflows. Steeper ones would change values only next to the threshold."""
        low, high = self.base.support
        return _HIGHEST / (high - low + 1)

    @cached_property
    def _decimal_context(self) -> Context:
        """Decimal context of 60 digits, plus those of 1/length_plus and 1/length_minus before the decimal point."""
        steepest = max(1 / self.length_plus, 1 / self.length_minus)
        return Context(prec=DIGITS.prec + len(str(int(steepest))))

    @cached_property
    def _slopes(self) -> tuple[Decimal, Decimal]:
        """The slopes 1/length_plus and 1/length_minus."""
        return self._rounded_decimal(1 / self.length_plus), self._rounded_decimal(1 / self.length_minus)

    @cached_property
    def _top_and_ratio(self) -> tuple[Decimal, Decimal, Decimal]:
        """Floor of top = mean + length_minus, the fractional part of top, and length_minus/length_plus + 1."""
        top = self.mean + self.length_minus
        floor = math.floor(top)
        whole = self.length_minus / self.length_plus + 1
        return Decimal(floor), self._rounded_decimal(top - floor), self._rounded_decimal(whole)

    def _rounded_decimal(self, value: Fraction) -> Decimal:
        """Return a fraction as a decimal, rounded to the digits of this pair."""
        return self._decimal_context.divide(Decimal(value.numerator), Decimal(value.denominator))

    def log_tail_bound(self, offset: float) -> float:
        """Return an upper bound of ln P₊[K >= offset].

        The bound is that of the base distribution Q, plus ln(P₊/Q) at the end of the support, where P₊/Q is largest.
        """
        last = self.base.support[1]
        ratio = float(self.ratio_plus(np.array(last)))
        return self.base.log_tail_bound(offset) + math.log(ratio)

    def ratio_plus(self, offsets: Reals) -> Reals:
        """Return P₊/Q at offsets, Q being the base of the pair."""
        return _distances_from_place(self.mean - self.length_plus, offsets) / float(self.length_plus)

    def ratio_minus(self, offsets: Reals) -> Reals:
        """Return P₋/Q at offsets, Q being the base of the pair."""
        return -_distances_from_place(self.mean + self.length_minus, offsets) / float(self.length_minus)

    def masses(self, points: MeshPoints) -> tuple[Reals, Reals]:
        """Return weights of points for sums over P₊ and over P₋, from their weights for sums over the base."""
        weights, offsets = points.weights, points.offsets
        return weights * self.ratio_plus(offsets), weights * self.ratio_minus(offsets)

    def difference(self, offsets: Reals) -> Reals:
        """Return (P₊ − P₋)/Q at offsets without cancellation, Q being the base of the pair."""
        return _distances_from_place(self.mean, offsets) * float(1 / self.length_plus + 1 / self.length_minus)

    def difference_uncertainty(self, offsets: Reals, weights: Reals) -> float:  # noqa: ARG002  (of no sum)
        """Return 0, as the mean is exact."""
        return 0.0


@lru_cache(maxsize=1024)
def _decimal_exponential(epsilon: float, digits: int) -> Decimal:
    """Return e^ε to a number of digits. The cache serves both directions of a curve and all its pairs."""
    return Context(prec=digits).exp(Decimal(epsilon))


def _distances_from_place(place: Fraction, offsets: Reals) -> Reals:
    """Return the distances of offsets from a place, to full relative precision at the integer next to the place."""
    nearest = round(place)
    return (offsets - nearest) - float(place - nearest)


@frozen
class LinearExcess:
    """An excess (P₊ − e^ε·P₋)/Q over a base Q that is linear in the offset."""

    threshold: float  # smallest offset at which w is not negative
    at_threshold: float  # w at the threshold
    before_threshold: float  # w one record below the threshold
    slope: float

    def at(self, offsets: Reals) -> Reals:
        """Return the excess at ascending offsets."""
        start = int(offsets.searchsorted(self.threshold))
        values: Reals = offsets - self.threshold
        values[:start] = offsets[:start] - (self.threshold - 1)
        values *= self.slope
        values[:start] += self.before_threshold
        values[start:] += self.at_threshold
        return values

    @property
    def undecided_range(self) -> tuple[float, float]:
        """Empty range of offsets, as the sign of the excess is certain everywhere."""
        return self.threshold, self.threshold

    def largest_magnitude(self, offsets: Reals) -> float:
        """Return the larger absolute excess of the first and the last offset."""
        below, above = self.threshold - 1 - float(offsets[0]), float(offsets[-1]) - self.threshold
        low, high = self.before_threshold - self.slope * below, self.at_threshold + self.slope * above
        return max(abs(low), abs(high))

    def uncertainty(self, offsets: Reals, weights: Reals) -> float:  # noqa: ARG002  (of no sum)
        """Return 0, as the root has all its digits."""
        return 0.0

    def largest_gain(self, offsets: Reals, weights: Reals) -> float:
        """Return the weighted sum of the positive values of the excess, which are exact."""
        return float(weights @ np.maximum(self.at(offsets), 0.0))

    def upper_bound(self) -> "LinearExcess":
        """Return this excess: as it is exact, no larger one is possible."""
        return self


def excess_rows(excesses: Sequence["Excess"], offsets: Reals) -> Reals:
    """Return the values of each excess at its row of ascending offsets, shape (excesses, offsets)."""
    linear = [one for one in excesses if isinstance(one, LinearExcess)]
    if len(linear) < len(excesses):
        return np.stack([excess.at(row) for excess, row in zip(excesses, offsets, strict=True)])
    thresholds, at, before, slopes = np.array(
        [(one.threshold, one.at_threshold, one.before_threshold, one.slope) for one in linear]
    ).T[:, :, None]
    distances = offsets - thresholds
    return np.where(distances < 0, (distances + 1) * slopes + before, distances * slopes + at)


_LARGEST_EPSILON = 640.0  # largest ε for which e^ε times the rounding of w does not overflow
_LARGEST_EXPONENT = 700.0  # largest exponent used: its exponential does not overflow, and dwarfs 1
_FEW = 2.0**-50  # relative error of 8 roundings
_BOTH_LAWS = 4.0  # error of w in units of `rounding`: w is twice a difference of two rounded terms
Masses = tuple[Reals, Reals]


def _no_exact_masses() -> None:
    """Return None, for distributions of which only the logarithms are available."""


@frozen(eq=False, slots=False)
class TablePair:
    """A pair of any two distributions as tables, with the base Q = (P₊ + P₋)/2.

    Attributes:
        exact: Function that returns P₊ and P₋, same shape, each mass within 8 roundings, or None if they are not
            available.
    """

    first: float  # offset of the first count
    log_plus: Reals  # ln P₊, −inf where P₊ is 0
    log_minus: Reals  # ln P₋, same shape
    differences: Reals  # (P₊ − P₋)/Q, same shape; the logarithms of similar distributions have lost these digits
    difference_errors: Reals  # absolute errors of `differences`, beyond the relative error of P₊ and P₋, same shape
    is_shift: bool  # True if P₊ is P₋ shifted up by one record
    rounding: float  # relative error of a term of a sum, measured, with a margin
    exact: Callable[[], Masses | None] = _no_exact_masses

    @classmethod
    def of_laws(
        cls, first: float, logs: tuple[Reals, Reals], gains: tuple[Reals, Reals], *, is_shift: bool, rounding: float
    ) -> "TablePair":
        """Return the pair from the log-probabilities of both distributions and their difference.

        Args:
            first: Offset of the first count.
            logs: ln P₊ and ln P₋.
            gains: P₊ − P₋ and its absolute errors, both divided by the largest probability of either distribution.
            is_shift: True if P₊ is P₋ shifted up by one record.
            rounding: Relative error of a term of a sum.
        """
        plus, minus = logs
        scaled = np.exp(_log_mean(plus, minus) - max(float(plus.max()), float(minus.max())))
        with np.errstate(invalid="ignore", divide="ignore"):
            differences, errors = gains[0] / scaled, gains[1] / scaled
            lost = ~np.isfinite(differences)  # Q underflows there, but the ratio P₊/P₋ does not
            differences[lost] = 2 * np.tanh((plus[lost] - minus[lost]) / 2)
        errors = np.nan_to_num(errors, nan=0.0, posinf=2.0)
        return cls(first, plus, minus, differences, errors, is_shift, rounding)

    @cached_property
    def base(self) -> TableLaw:
        """Base Q of the pair: the mean of P₊ and P₋."""
        return TableLaw(int(self.first), _log_mean(self.log_plus, self.log_minus))

    @cached_property
    def _log_ratios(self) -> Reals:
        """The logarithm r = ln(P₊/P₋), made monotone: rounding cannot make it fall with the offset.

        It is computed from (P₊ − P₋)/Q where that is below 1. Where both distributions are 0, r is that of the next
        offset towards the likeliest one.
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
        """The pair for the negative count, with P₊ and P₋ exchanged."""
        pair = replace(
            self,
            first=-self.base.support[1],
            log_plus=self.log_minus[::-1],
            log_minus=self.log_plus[::-1],
            differences=-self.differences[::-1],
            difference_errors=self.difference_errors[::-1],
            exact=self._mirrored_masses,
        )
        pair.__dict__["base"] = self.base.mirrored
        return pair

    @cached_property
    def _masses(self) -> Masses | None:
        """P₊ and P₋, exact to a few roundings; None if only their logarithms are known."""
        return self.exact()

    def _mirrored_masses(self) -> Masses | None:
        """Return `exact` of the mirrored pair."""
        known = self._masses
        return None if known is None else (known[1][::-1], known[0][::-1])

    @property
    def precision(self) -> float | None:
        """Relative error of a mass if `exact` provides the masses; otherwise None."""
        return None if self._masses is None else _FEW

    def masses(self, points: MeshPoints) -> Masses:
        """Return weights of points for sums over P₊ and over P₋, from their weights for sums over the base."""
        weights, offsets = points.weights, points.offsets
        if self._masses is None:
            return weights * self.ratio_plus(offsets), weights * self.ratio_minus(offsets)
        plus, minus = (_values_at(offsets, law, self.first) for law in self._masses)
        return plus, minus

    @cached_property
    def _half_ratios(self) -> Reals:
        """Values of 2/(1 + e^−|r|) for r = ln(P₊/P₋)."""
        return 2 / (1 + np.exp(-np.abs(self._log_ratios)))

    @cached_property
    def _excess_at_zero(self) -> int:
        """Index of the first value at which P₊ >= P₋."""
        return int(self._log_ratios.searchsorted(0.0))

    def excess(self, epsilon: float) -> "TableExcess":
        """Return the excess w, for r = ln(P₊/P₋) >= 0 as 2·(1 − e^(ε − r))/(1 + e^−r).

        There w = (P₊ − P₋)/Q − (e^ε − 1)·P₋/Q. If w is not negative, the second term is at most 2·tanh(ε/2), and
        rounding of both terms is bounded by twice that.
        """
        ratios, even = self._log_ratios, self._excess_at_zero
        grown = math.exp(min(epsilon, _LARGEST_EPSILON))
        values = np.empty_like(ratios)
        values[even:] = -np.expm1(np.minimum(epsilon - ratios[even:], _LARGEST_EXPONENT))
        values[:even] = grown * np.expm1(np.maximum(ratios[:even] - epsilon, -_LARGEST_EXPONENT))
        values *= self._half_ratios
        return TableExcess(
            self.first,
            int(ratios.searchsorted(epsilon)),
            values,
            _BOTH_LAWS * self.rounding * math.tanh(epsilon / 2),
            _BOTH_LAWS * math.exp(min(epsilon, 1.0)),
            self.difference_errors,
        )

    def log_tail_bound(self, offset: float) -> float:
        """Return an upper bound of ln P₊[K >= offset]: the bound of the base Q plus ln 2, as P₊/Q is at most 2."""
        return self.base.log_tail_bound(offset) + math.log(2)

    def ratio_plus(self, offsets: Reals) -> Reals:
        """Return P₊/Q at offsets, Q being the base of the pair."""
        return self._ratio_to_base(self.log_plus, offsets)

    def ratio_minus(self, offsets: Reals) -> Reals:
        """Return P₋/Q at offsets, Q being the base of the pair."""
        return self._ratio_to_base(self.log_minus, offsets)

    def difference(self, offsets: Reals) -> Reals:
        """Return (P₊ − P₋)/Q at offsets without cancellation, Q being the base of the pair."""
        return _values_at(offsets, self.differences, self.first)

    def difference_uncertainty(self, offsets: Reals, weights: Reals) -> float:
        """Return the error of a weighted sum of `difference`, beyond the relative error of a term."""
        return float(weights @ _values_at(offsets, self.difference_errors, self.first))

    def _ratio_to_base(self, logs: Reals, offsets: Reals) -> Reals:
        """Return a distribution, given by its log-probabilities `logs`, divided by the base at offsets."""
        base = _values_at(offsets, self.base.log_probabilities, self.first)
        return np.exp(_values_at(offsets, logs, self.first) - base)


@frozen(eq=False)
class TableExcess:
    """An excess (P₊ − e^ε·P₋)/Q over a base Q, as a table."""

    first: float  # offset of the first value
    place: int  # index of the first value that is not negative
    values: Reals  # w, from the offset `first` on
    error: float  # absolute error of each value, beyond the relative error of a term
    growth: float  # error of w per error of `difference`
    difference_errors: Reals  # absolute errors of `difference`

    @property
    def threshold(self) -> float:
        """Smallest offset at which the excess is not negative."""
        return self.first + self.place

    def at(self, offsets: Reals) -> Reals:
        """Return the excess at ascending offsets."""
        return _values_at(offsets, self.values, self.first)

    @property
    def undecided_range(self) -> tuple[float, float]:
        """Half-open range of offsets outside of which no error can change the sign of the excess."""
        unsure = np.flatnonzero(np.abs(self.values) <= self.error + self.growth * self.difference_errors)
        first, stop = (int(unsure[0]), int(unsure[-1]) + 1) if unsure.size else (self.place, self.place)
        return self.first + min(first, self.place), self.first + max(stop, self.place)

    def largest_magnitude(self, offsets: Reals) -> float:
        """Return the larger absolute excess of the first and the last offset."""
        return float(np.abs(self.at(offsets[[0, -1]])).max())

    def uncertainty(self, offsets: Reals, weights: Reals) -> float:
        """Return the error of a weighted sum of the excess, beyond the relative error of a term."""
        errors = _values_at(offsets, self.difference_errors, self.first)
        return self.error * float(weights.sum()) + self.growth * float(weights @ errors)

    def largest_gain(self, offsets: Reals, weights: Reals) -> float:
        """Return an upper bound of the weighted sum of the positive values of the excess."""
        return float(weights @ np.maximum(self.upper_bound().at(offsets), 0.0))

    def upper_bound(self) -> "TableExcess":
        """Return the largest excess that the errors allow."""
        values = self.values + self.error + self.growth * self.difference_errors
        grown = np.flatnonzero(values >= 0)
        place = int(grown[0]) if grown.size else values.size
        return TableExcess(self.first, place, values, 0.0, 0.0, self.difference_errors)


def _values_at(offsets: Reals, table: Reals, first: float) -> Reals:
    """Return the values of a table at ascending offsets. For consecutive offsets this is a slice of the table."""
    if offsets.size and offsets[-1] - offsets[0] == offsets.size - 1:
        start = int(offsets[0] - first)
        return table[start : start + offsets.size]
    return table[(offsets - first).astype(np.int64)]


def _log_mean(log_plus: Reals, log_minus: Reals) -> Reals:
    """Return ln((P₊ + P₋)/2)."""
    return np.logaddexp(log_plus, log_minus) - math.log(2)


# Distributions P₊ and P₋ of a count with a common base Q, such that P₊/P₋ rises with the count.
Pair = LinearPair | TablePair
# w = (P₊ − e^ε·P₋)/Q at one ε, as a function of the offset: first negative, then positive.
Excess = LinearExcess | TableExcess
