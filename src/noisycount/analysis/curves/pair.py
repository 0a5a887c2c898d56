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

    def ratio_plus(self, offsets: Reals) -> Reals:
        """P₊/Q at offsets."""
        ...

    def ratio_minus(self, offsets: Reals) -> Reals:
        """P₋/Q at offsets."""
        ...


@dataclass(frozen=True, slots=True)
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

    @property
    def mirrored(self) -> "LinearPair":
        """The same from the other side."""
        return LinearPair(
            self.base.mirrored, -self.mean, self.fall, self.rise, self.is_shift, self.rounding
        )

    def advantage(self, epsilon: float) -> "LinearAdvantage":
        """W = c·(k − k*) with c = 1/rise + e^ε/fall and k* = mean + (e^ε − 1)/c, in 60 digits."""
        growth = DIGITS.exp(Decimal(epsilon))
        slope = DIGITS.add(
            decimal_ratio(1 / self.rise), DIGITS.multiply(growth, decimal_ratio(1 / self.fall))
        )
        beyond = DIGITS.divide(DIGITS.subtract(growth, Decimal(1)), slope)
        root = DIGITS.add(decimal_ratio(self.mean), beyond)
        crossing = root.to_integral_value(ROUND_CEILING)
        gap = DIGITS.subtract(crossing, root)
        return LinearAdvantage(float(crossing), float(gap), float(slope))

    def ratio_plus(self, offsets: Reals) -> Reals:
        """P₊/Q at offsets."""
        return (offsets - float(self.mean - self.rise)) / float(self.rise)

    def ratio_minus(self, offsets: Reals) -> Reals:
        """P₋/Q at offsets."""
        return (float(self.mean + self.fall) - offsets) / float(self.fall)


@dataclass(frozen=True, slots=True)
class LinearAdvantage:
    """w = slope·(k − crossing + gap).

    Attributes:
        crossing: The smallest offset at which it is not negative.
        gap: How far the root lies below it, in [0, 1).
        slope: Per record.
    """

    crossing: float
    gap: float
    slope: float

    def at(self, offsets: Reals) -> Reals:
        """Its values."""
        values: Reals = self.slope * ((offsets - self.crossing) + self.gap)
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

    @property
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
        with np.errstate(invalid="ignore"):
            ratios = self.log_plus - self.log_minus
        ratios = np.nan_to_num(ratios, nan=0.0, posinf=np.inf, neginf=-np.inf)
        shrunk = np.exp(-np.abs(ratios))
        high = -np.expm1(np.minimum(epsilon - ratios, 700.0)) / (1 + shrunk)
        with np.errstate(over="ignore", invalid="ignore"):
            low = math.exp(epsilon) * np.expm1(np.maximum(ratios - epsilon, -745.0)) / (1 + shrunk)
        values = 2 * np.where(ratios >= 0, high, low)
        return TableAdvantage(self.first, values)

    def ratio_plus(self, offsets: Reals) -> Reals:
        """P₊/Q at offsets."""
        places = (offsets - self.first).astype(np.int64)
        ratios: Reals = np.exp(self.log_plus[places] - self.base.log_probabilities[places])
        return ratios

    def ratio_minus(self, offsets: Reals) -> Reals:
        """P₋/Q at offsets."""
        places = (offsets - self.first).astype(np.int64)
        ratios: Reals = np.exp(self.log_minus[places] - self.base.log_probabilities[places])
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
