"""Two laws of a count: if one record is positive, and if it is negative."""

from typing import Protocol

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.mesh import MeshPoints

__all__ = ["Excess", "Pair"]


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
