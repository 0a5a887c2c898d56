"""Two laws of a count: if one record is positive, and if it is negative."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from noisycount.analysis.privacy.base import Base, TableBase
from noisycount.model.laws.expansion import DIGITS, Reals

__all__ = ["Advantage", "LinearPair", "Pair", "TablePair"]

_HIGHEST = 1e300
_LARGEST = 640.0  # the same for e^ε
_BOTH_LAWS = 4.0


class Advantage(Protocol):
    """w = (P₊ − e^ε·P₋)/Q of one ε as a function of the offset: it rises through 0 once."""

    @property
    def crossing(self) -> float:
        """The smallest offset at which it is not negative; may lie outside the support."""
        ...

    def at(self, offsets: Reals) -> Reals:
        """Its values."""
        ...

    def uncertainty(self, offsets: Reals, weights: Reals) -> float:
        """How far a weighted sum of them may be off, beyond the relative error of a term."""
        ...


class Pair(Protocol):
    """Laws P₊ and P₋ of a count with a common base Q, such that P₊/P₋ rises with the count."""

    @property
    def base(self) -> Base:
        """Q."""
        ...

    @property
    def is_shift(self) -> bool:
        """Whether P₊ is P₋, moved up by one record."""
        ...

    @property
    def rounding(self) -> float:
        """A bound of the relative error of a term of a sum."""
        ...

    @property
    def mirrored(self) -> "Pair":
        """The laws of the negative count if the record is negative, and if it is positive."""
        ...

    def advantage(self, epsilon: float) -> Advantage:
        """The advantage w of this ε."""
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

    def lead(self, offsets: Reals) -> Reals:
        """(P₊ − P₋)/Q at offsets, without cancellation."""
        ...


@dataclass(frozen=True, eq=False)
class LinearPair:
    """P₊/Q = 1 + (k − mean)/rise and P₋/Q = 1 − (k − mean)/fall: records that can be exchanged.

    Attributes:
        base: Q, seen from some count.
        mean: The mean of Q, seen from there, exactly.
        rise: In records, exactly.
        fall: In records, exactly.
        is_shift: Whether P₊ is P₋, moved up by one record.
        rounding: A bound of the relative error of a term of a sum.
    """

    base: Base
    mean: Fraction
    rise: Fraction
    fall: Fraction
    is_shift: bool = False
    rounding: float = 2e-13

    @cached_property
    def mirrored(self) -> "LinearPair":
        """The same from the other side."""
        return LinearPair(
            self.base.mirrored, -self.mean, self.fall, self.rise, self.is_shift, self.rounding
        )

    def advantage(self, epsilon: float) -> "LinearAdvantage":
        """The advantage w = c·(k − k*) with c = 1/rise + e^ε/fall, in 60 digits.

        k* = top − (rise + fall)/(rise·c) where P₋ ends at top = mean + fall. If rise or fall is
        small, k* is as near to an integer, which takes more digits.
        """
        per_rise, per_fall, top, top_part, whole = self._decimals
        digits = self._digits
        slope = digits.fma(digits.exp(Decimal(epsilon)), per_fall, per_rise)
        below_top = digits.divide(whole, slope)
        root = digits.subtract(top_part, below_top)
        above = root.to_integral_value(ROUND_CEILING)
        gap = digits.subtract(above, root)
        return LinearAdvantage(
            float(top + above),
            min(float(digits.multiply(slope, gap)), _HIGHEST),
            max(float(digits.multiply(slope, digits.subtract(gap, Decimal(1)))), -_HIGHEST),
            min(float(slope), self._steepest),
        )

    @property
    def _steepest(self) -> float:
        """A slope at which no value overflows: what is steeper adds nothing but at the crossing."""
        low, high = self.base.support
        return _HIGHEST / (high - low + 1)

    @cached_property
    def _digits(self) -> Context:
        """60 digits, and as many as 1/rise and 1/fall have before the point."""
        steepest = max(1 / self.rise, 1 / self.fall)
        return Context(prec=DIGITS.prec + len(str(int(steepest))))

    @cached_property
    def _decimals(self) -> tuple[Decimal, Decimal, Decimal, Decimal, Decimal]:
        """1/rise, 1/fall, the floor of mean + fall, what is above it, and fall/rise + 1."""
        top = self.mean + self.fall
        return (
            self._decimal(1 / self.rise),
            self._decimal(1 / self.fall),
            Decimal(math.floor(top)),
            self._decimal(top - math.floor(top)),
            self._decimal(self.fall / self.rise + 1),
        )

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
        return (offsets - float(self.mean - self.rise)) / float(self.rise)

    def ratio_minus(self, offsets: Reals) -> Reals:
        """P₋/Q at offsets."""
        return (float(self.mean + self.fall) - offsets) / float(self.fall)

    def lead(self, offsets: Reals) -> Reals:
        """(P₊ − P₋)/Q at offsets, without cancellation."""
        whole = math.floor(self.mean)
        from_mean = (offsets - whole) - float(self.mean - whole)
        leads: Reals = from_mean * float(1 / self.rise + 1 / self.fall)
        return leads


@dataclass(frozen=True, slots=True)
class LinearAdvantage:
    """A straight line.

    Attributes:
        crossing: The smallest offset at which it is not negative.
        at_crossing: Its value there.
        before_crossing: Its value one record before.
        slope: Per record.
    """

    crossing: float
    at_crossing: float
    before_crossing: float
    slope: float

    def at(self, offsets: Reals) -> Reals:
        """Its values."""
        values: Reals = self.slope * (offsets - self.crossing) + self.at_crossing
        negative = offsets < self.crossing
        if negative.any():
            steps = offsets[negative] - (self.crossing - 1)
            values[negative] = self.slope * steps + self.before_crossing
        return values

    def uncertainty(self, offsets: Reals, weights: Reals) -> float:  # noqa: ARG002  (of no sum)
        """0: the root is known to all digits."""
        return 0.0


@dataclass(frozen=True, eq=False)
class TablePair:
    """Any two laws as tables, with Q half way between them.

    Attributes:
        first: The offset of the first count.
        log_plus: ln P₊, −inf where it is 0.
        log_minus: ln P₋, same shape.
        leads: (P₊ − P₋)/Q, same shape: where the laws hardly differ, their logarithms lose it.
        lead_errors: How far these may be off, beyond the relative error of P₊ and P₋, same shape.
        is_shift: Whether P₊ is P₋, moved up by one record.
        rounding: A bound of the relative error of a term of a sum.
    """

    first: float
    log_plus: Reals
    log_minus: Reals
    leads: Reals
    lead_errors: Reals
    is_shift: bool
    rounding: float = 2e-12

    @classmethod
    def of_laws(
        cls,
        first: float,
        logs: tuple[Reals, Reals],
        gains: tuple[Reals, Reals],
        *,
        is_shift: bool,
        rounding: float,
    ) -> "TablePair":
        """The pair of two laws and their difference.

        Args:
            first: The offset of the first count.
            logs: Ln P₊ and ln P₋, −inf where they are 0.
            gains: P₊ − P₋ over the largest probability of both, and how far they may be off.
            is_shift: Whether P₊ is P₋, moved up by one record.
            rounding: A bound of the relative error of a term of a sum.
        """
        plus, minus = logs
        scaled = np.exp(_half_way(plus, minus) - max(float(plus.max()), float(minus.max())))
        with np.errstate(invalid="ignore", divide="ignore"):
            leads, errors = gains[0] / scaled, gains[1] / scaled
        errors = np.nan_to_num(errors, nan=0.0, posinf=2.0)
        return cls(first, plus, minus, leads, errors, is_shift, rounding)

    @cached_property
    def base(self) -> TableBase:
        """Q."""
        return TableBase(self.first, _half_way(self.log_plus, self.log_minus))

    @cached_property
    def _ratios(self) -> Reals:
        """The logarithm of P₊/P₋, which rises: from the likeliest offset outward no step is back.

        From (P₊ − P₋)/Q where that is below 1. Where both laws are 0 it is that of the neighbour
        towards the likeliest offset.
        """
        with np.errstate(invalid="ignore"):
            ratios = self.log_plus - self.log_minus
        near = np.abs(self.leads) < 1
        ratios[near] = 2 * np.arctanh(self.leads[near] / 2)
        likeliest = int(np.argmax(self.base.log_probabilities))
        right = np.nan_to_num(ratios[likeliest:], nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        left = np.nan_to_num(ratios[:likeliest], nan=np.inf, posinf=np.inf, neginf=-np.inf)
        left = np.minimum(left, right[0])
        rising: Reals = np.concatenate(
            [np.minimum.accumulate(left[::-1])[::-1], np.maximum.accumulate(right)]
        )
        return rising

    @cached_property
    def mirrored(self) -> "TablePair":
        """The same from the other side."""
        return TablePair(
            -self.base.support[1],
            self.log_minus[::-1],
            self.log_plus[::-1],
            -self.leads[::-1],
            self.lead_errors[::-1],
            self.is_shift,
            self.rounding,
        )

    def advantage(self, epsilon: float) -> "TableAdvantage":
        """The advantage w from r = ln(P₊/P₋): 2·(1 − e^(ε − r))/(1 + e^−r) where r is large.

        There w = (P₊ − P₋)/Q − (e^ε − 1)·P₋/Q, and where it is not negative the second term is at
        most 2·tanh(ε/2): what rounding leaves of both is at most twice that.
        """
        ratios = self._ratios
        shrunk = np.exp(-np.abs(ratios))
        high = -np.expm1(np.minimum(epsilon - ratios, 700.0)) / (1 + shrunk)
        with np.errstate(over="ignore", invalid="ignore"):
            low = (
                math.exp(min(epsilon, _LARGEST))
                * np.expm1(np.maximum(ratios - epsilon, -745.0))
                / (1 + shrunk)
            )
        values = 2 * np.where(ratios >= 0, high, low)
        cancelled = _BOTH_LAWS * self.rounding * math.tanh(epsilon / 2)
        errors = cancelled + _BOTH_LAWS * self.lead_errors * math.exp(min(epsilon, 1.0))
        return TableAdvantage(self.first, values, errors)

    def log_tail_bound(self, offset: float) -> float:
        """That of Q, as P₊/Q is at most 2."""
        return self.base.log_tail_bound(offset) + math.log(2)

    def ratio_plus(self, offsets: Reals) -> Reals:
        """P₊/Q at offsets."""
        return self._ratio(self.log_plus, offsets)

    def ratio_minus(self, offsets: Reals) -> Reals:
        """P₋/Q at offsets."""
        return self._ratio(self.log_minus, offsets)

    def lead(self, offsets: Reals) -> Reals:
        """(P₊ − P₋)/Q at offsets, without cancellation."""
        return self.leads[(offsets - self.first).astype(np.int64)]

    def _ratio(self, logs: Reals, offsets: Reals) -> Reals:
        """One of the laws over Q at offsets."""
        places = (offsets - self.first).astype(np.int64)
        ratios: Reals = np.exp(logs[places] - self.base.log_probabilities[places])
        return ratios


@dataclass(frozen=True, slots=True, eq=False)
class TableAdvantage:
    """w as a table.

    Attributes:
        first: The offset of the first value.
        values: From there on.
        errors: How far they may be off, beyond the relative error of a term.
    """

    first: float
    values: Reals
    errors: Reals

    @property
    def crossing(self) -> float:
        """The smallest offset at which it is not negative."""
        rising = np.flatnonzero(self.values >= 0)
        return self.first + float(rising[0] if rising.size else self.values.size)

    def at(self, offsets: Reals) -> Reals:
        """Its values."""
        return self.values[(offsets - self.first).astype(np.int64)]

    def uncertainty(self, offsets: Reals, weights: Reals) -> float:
        """How far a weighted sum of them may be off, beyond the relative error of a term."""
        return float(weights @ self.errors[(offsets - self.first).astype(np.int64)])


def _half_way(log_plus: Reals, log_minus: Reals) -> Reals:
    """The logarithm of (P₊ + P₋)/2."""
    logs: Reals = np.logaddexp(log_plus, log_minus) - math.log(2)
    return logs
