"""Log-probabilities around one count, split so that large terms cancel before they are rounded."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["DIGITS", "Expansion", "LogStep", "Reals", "decimal_ratio"]

Reals = NDArray[np.float64]

DIGITS = Context(prec=60)
"""Slopes are summed in 60 digits: near a mode they cancel, and are multiplied by wide offsets."""

_CERTAIN = 1e-9


def decimal_ratio(value: Fraction) -> Decimal:
    """The fraction in 60 digits."""
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


@dataclass(frozen=True, slots=True)
class LogStep:
    """The change of a log-probability from one count to the next, ln(ratio) + shift.

    Attributes:
        ratio: A positive rational factor.
        shift: A rational number of nats.
    """

    ratio: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)

    def __add__(self, other: "LogStep") -> "LogStep":
        """The step of a product of two laws."""
        return LogStep(self.ratio * other.ratio, self.shift + other.shift)

    def __float__(self) -> float:
        """The step in nats; of the right sign, also where its two parts almost cancel."""
        rounded = math.log(self.ratio.numerator) - math.log(self.ratio.denominator)
        rounded += float(self.shift)
        if abs(rounded) > _CERTAIN:
            return rounded
        return float(DIGITS.add(DIGITS.ln(decimal_ratio(self.ratio)), decimal_ratio(self.shift)))


@dataclass(frozen=True, slots=True)
class Expansion:
    """How a log-probability changes around a count: ln f(c + d) − ln f(c) = slope·d + bend(d).

    Attributes:
        slope: Per record, in 60 digits.
        bend: The rest as a function of offsets d in records; it does not lose digits near d = 0.
    """

    slope: Decimal
    bend: Callable[[Reals], Reals]

    def __add__(self, other: "Expansion") -> "Expansion":
        """The expansion of a product of two laws."""
        return Expansion(
            DIGITS.add(self.slope, other.slope),
            lambda offsets: self.bend(offsets) + other.bend(offsets),
        )

    def __call__(self, offsets: Reals) -> Reals:
        """Ln f(c + d) − ln f(c) for each offset d, shape as given."""
        change: Reals = float(self.slope) * offsets + self.bend(offsets)
        return change
