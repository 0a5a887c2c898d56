"""The shape of a table that nobody asked yet, and its price."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

__all__ = ["Design"]


@dataclass(frozen=True, slots=True)
class Design:
    """The shape of a table, and its price.

    Attributes:
        cells: How many keys each column has.
        margins: The sums that are measured beside the cells.
        epsilon: The price of Laplace noise; or, with δ, of Gaussian noise.
        rho: The price of Gaussian noise.
        delta: Of hidden keys, or of Gaussian noise.
        groups: In how many cells one unit can be.
        is_size_public: Whether everybody knows how many units there are.
        is_hidden: Whether only the records know the keys.
        is_cumulative: Whether ranges are measured too.
    """

    cells: Mapping[str, int]
    margins: Sequence[str] = ()
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    groups: int | None = None
    is_size_public: bool = False
    is_hidden: bool = False
    is_cumulative: bool = False

    @property
    def counts(self) -> int:
        """How many cells there are."""
        return prod(self.cells.values())
