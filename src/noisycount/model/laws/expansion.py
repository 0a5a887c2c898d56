"""Logarithms around one count, split so that large terms cancel before they are rounded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

__all__ = ["DIGITS", "FLAT", "Expansion", "Reals", "decimal_ratio"]

Reals = NDArray[np.float64]

DIGITS = Context(prec=60)
"""Slopes are summed in 60 digits: near a mode they cancel, and are multiplied by wide offsets."""


def decimal_ratio(value: Fraction) -> Decimal:
    """The fraction in 60 digits."""
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


@dataclass(frozen=True, slots=True)
class Expansion:
    """How a logarithm changes around a count: ln f(c + d) − ln f(c) = slope·d + bend(d).

    Attributes:
        slope: Per record, in 60 digits.
        bend: The rest as a function of offsets d in records; it does not lose digits near d = 0.
    """

    slope: Decimal
    bend: Callable[[Reals], Reals]

    @classmethod
    def of_product(cls, factors: Sequence["Expansion"]) -> "Expansion":
        """The expansion of a product of one factor or more, however many there are."""
        return Expansion(
            reduce(DIGITS.add, [factor.slope for factor in factors]),
            lambda offsets: reduce(np.add, (factor.bend(offsets) for factor in factors)),
        )

    def __add__(self, other: "Expansion") -> "Expansion":
        """The expansion of a product of two."""
        return Expansion.of_product((self, other))

    @property
    def mirrored(self) -> "Expansion":
        """How the logarithm changes in the other direction, as ln f(c − d) − ln f(c)."""
        return Expansion(DIGITS.minus(self.slope), lambda offsets: self.bend(-offsets))

    def __call__(self, offsets: Reals) -> Reals:
        """Ln f(c + d) − ln f(c) for each offset d, shape as given."""
        change: Reals = float(self.slope) * offsets + self.bend(offsets)
        return change


FLAT = Expansion(Decimal(0), np.zeros_like)
"""No change."""
