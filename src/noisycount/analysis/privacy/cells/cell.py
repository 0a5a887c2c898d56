"""A cell of a table: how often a record falls into it, and how its count is answered."""

from dataclasses import dataclass

from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["Cell", "Move"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One of the disjoint cells among which the records are divided.

    Attributes:
        rate: The probability that a record falls into it, above 0.
        mechanism: How its count is answered; None: nobody asks for it.
    """

    rate: float
    mechanism: Exact | SymmetricNoise | None


@dataclass(frozen=True, slots=True)
class Move:
    """A record that is in one cell or in another.

    Attributes:
        size: The number of all records.
        first: The cell whose count it raises in P₊.
        second: The cell whose count it raises in P₋.
    """

    size: int
    first: Cell
    second: Cell

    @property
    def rate(self) -> float:
        """The probability that another record is in one of the two cells."""
        return min(1.0, self.first.rate + self.second.rate)

    @property
    def mirrored(self) -> "Move":
        """The same from the other side."""
        return Move(self.size, self.second, self.first)
