"""Two laws of a count: if one record is positive, and if it is negative."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from noisycount.analysis.curves.base import Base, TableBase
from noisycount.model.laws.expansion import DIGITS, Reals, decimal_ratio

__all__ = ["Advantage", "LinearPair", "Pair", "TablePair"]

_STEEPEST = 1e280  # what is steeper adds nothing but at the crossing
_LARGEST = 640.0  # the same for e^ε


class Advantage(Protocol):
    """w = (P₊ − e^ε·P₋)/Q of one ε as a function of the offset: it rises through 0 once."""

    @property
    def crossing(self) -> float:
        """The smallest offset at which it is not negative; may lie outside the support."""
        ...

    def at(self, offsets: Reals) -> Reals:
        """Its values."""
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
        """W for this ε."""
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
        """W = c·(k − k*) with c = 1/rise + e^ε/fall, in 60 digits.

        k* = top − (rise + fall)/(rise·c) where P₋ ends at top = mean + fall.
        """
        per_rise, per_fall, top, top_part, whole = self._decimals
        slope = DIGITS.fma(DIGITS.exp(Decimal(epsilon)), per_fall, per_rise)
        below_top = DIGITS.divide(whole, slope)
        root = DIGITS.subtract(top_part, below_top)
        above = root.to_integral_value(ROUND_CEILING)
        gap = DIGITS.subtract(above, root)
        return LinearAdvantage(
            float(top + above),
            float(DIGITS.multiply(slope, gap)),
            float(DIGITS.multiply(slope, DIGITS.subtract(gap, Decimal(1)))),
            min(float(slope), _STEEPEST),
        )

    @cached_property
    def _decimals(self) -> tuple[Decimal, Decimal, Decimal, Decimal, Decimal]:
        """1/rise, 1/fall, the floor of mean + fall, what is above it, and fall/rise + 1."""
        top = self.mean + self.fall
        return (
            decimal_ratio(1 / self.rise),
            decimal_ratio(1 / self.fall),
            Decimal(math.floor(top)),
            decimal_ratio(top - math.floor(top)),
            decimal_ratio(self.fall / self.rise + 1),
        )

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


@dataclass(frozen=True, eq=False)
class TablePair:
    """Any two laws as tables, with Q half way between them.

    Attributes:
        first: The offset of the first count.
        log_plus: ln P₊, −inf where it is 0.
        log_minus: ln P₋, same shape.
        is_shift: Whether P₊ is P₋, moved up by one record.
        rounding: A bound of the relative error of a term of a sum.
    """

    first: float
    log_plus: Reals
    log_minus: Reals
    is_shift: bool
    rounding: float = 2e-12

    @cached_property
    def base(self) -> TableBase:
        """Q."""
        return TableBase(self.first, np.logaddexp(self.log_plus, self.log_minus) - math.log(2))

    @cached_property
    def _ratios(self) -> Reals:
        """The logarithm of P₊/P₋, which rises: from the likeliest offset outward no step is back.

        Where both laws are 0 it is that of the neighbour towards the likeliest offset.
        """
        with np.errstate(invalid="ignore"):
            ratios = self.log_plus - self.log_minus
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
            self.is_shift,
            self.rounding,
        )

    def advantage(self, epsilon: float) -> "TableAdvantage":
        """W from the logarithm r of P₊/P₋: 2·(1 − e^(ε − r))/(1 + e^−r) where r is large."""
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
        return TableAdvantage(self.first, values)

    def log_tail_bound(self, offset: float) -> float:
        """That of Q, as P₊/Q is at most 2."""
        return self.base.log_tail_bound(offset) + math.log(2)

    def ratio_plus(self, offsets: Reals) -> Reals:
        """P₊/Q at offsets."""
        return self._ratio(self.log_plus, offsets)

    def ratio_minus(self, offsets: Reals) -> Reals:
        """P₋/Q at offsets."""
        return self._ratio(self.log_minus, offsets)

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
    """

    first: float
    values: Reals

    @property
    def crossing(self) -> float:
        """The smallest offset at which it is not negative."""
        rising = np.flatnonzero(self.values >= 0)
        return self.first + float(rising[0] if rising.size else self.values.size)

    def at(self, offsets: Reals) -> Reals:
        """Its values."""
        return self.values[(offsets - self.first).astype(np.int64)]
