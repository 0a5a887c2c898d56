"""Logarithms around one count, split so that large terms cancel before they are rounded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["DIGITS", "FLAT", "Expansion", "Kink", "Reals", "decimal_ratio"]

Reals = NDArray[np.float64]

DIGITS = Context(prec=60)
"""Slopes are summed in 60 digits: near a mode they cancel, and are multiplied by wide offsets."""


def decimal_ratio(value: Fraction) -> Decimal:
    """The fraction in 60 digits."""
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


_LARGE = 64.0  # nats: twenty digits of a double are lost where terms so large cancel
_KEPT = 8.0  # terms have not cancelled where that share of them is left


class Kink(NamedTuple):
    """A line that bends: weight·max(side·(d − place), 0).

    Attributes:
        place: The offset at which it bends, in 60 digits.
        side: 1 if it changes above, −1 if it changes below.
        weight: The change per record, in 60 digits.
    """

    place: Decimal
    side: int
    weight: Decimal

    @property
    def mirrored(self) -> "Kink":
        """The line of the negative offset."""
        return Kink(DIGITS.minus(self.place), -self.side, self.weight)

    def change(self, offsets: Reals) -> Reals:
        """The change at many offsets, rounded."""
        beyond: Reals = np.maximum(self.side * (offsets - float(self.place)), 0.0)
        return float(self.weight) * beyond

    def exact(self, offset: Decimal) -> Decimal:
        """The change at one offset, in 60 digits."""
        beyond = DIGITS.multiply(Decimal(self.side), DIGITS.subtract(offset, self.place))
        return DIGITS.multiply(self.weight, max(beyond, Decimal(0)))


@dataclass(frozen=True, slots=True)
class Expansion:
    """How a logarithm changes around a count: ln f(c + d) − ln f(c).

    It is slope·d + curvature·d² + the kinks + bend(d). What narrow noise adds to all but the last
    may be 10^31 nats and cancel to what was known before: there it is summed in 60 digits.

    Attributes:
        slope: Per record, in 60 digits.
        bend: The rest as a function of offsets d in records; it does not lose digits near d = 0.
        curvature: Per squared record, in 60 digits.
        kinks: Lines that bend.
    """

    slope: Decimal
    bend: Callable[[Reals], Reals]
    curvature: Decimal = Decimal(0)
    kinks: tuple[Kink, ...] = ()

    @classmethod
    def of_product(cls, factors: Sequence["Expansion"]) -> "Expansion":
        """The expansion of a product of one factor or more, however many there are."""
        return Expansion(
            reduce(DIGITS.add, [factor.slope for factor in factors]),
            lambda offsets: reduce(np.add, (factor.bend(offsets) for factor in factors)),
            reduce(DIGITS.add, [factor.curvature for factor in factors]),
            tuple(kink for factor in factors for kink in factor.kinks),
        )

    def __add__(self, other: "Expansion") -> "Expansion":
        """The expansion of a product of two."""
        return Expansion.of_product((self, other))

    @property
    def mirrored(self) -> "Expansion":
        """How the logarithm changes in the other direction, as ln f(c − d) − ln f(c)."""
        return Expansion(
            DIGITS.minus(self.slope),
            lambda offsets: self.bend(-offsets),
            self.curvature,
            tuple(kink.mirrored for kink in self.kinks),
        )

    def __call__(self, offsets: Reals) -> Reals:
        """Ln f(c + d) − ln f(c) for each offset d, shape as given."""
        change: Reals = float(self.slope) * offsets
        if self.curvature or self.kinks:
            change = self._bent(offsets, change)
        return change + self.bend(offsets)

    def _bent(self, offsets: Reals, straight: Reals) -> Reals:
        """The change but for the rest; in 60 digits where doubles cancel.

        Args:
            offsets: The offsets d.
            straight: The slope times d, rounded.
        """
        terms = [straight, float(self.curvature) * offsets * offsets]
        terms.extend(kink.change(offsets) for kink in self.kinks)
        change = np.asarray(reduce(np.add, terms))
        sizes = reduce(np.add, map(np.abs, terms))
        lost = (sizes > _LARGE) & (np.abs(change) * _KEPT < sizes)
        if lost.any():
            change[lost] = [self._exact(Decimal(offset)) for offset in offsets[lost].tolist()]
        return change

    def _exact(self, offset: Decimal) -> float:
        """The change but for the rest, summed in 60 digits."""
        line = DIGITS.fma(self.curvature, offset, self.slope)
        parts = [DIGITS.multiply(line, offset), *(kink.exact(offset) for kink in self.kinks)]
        return float(reduce(DIGITS.add, parts))


FLAT = Expansion(Decimal(0), np.zeros_like)
"""No change."""
