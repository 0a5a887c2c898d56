"""What is told of each row of a table beside its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals

__all__ = ["Estimates", "Spread"]

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spread:
    """An estimate of something of each row, and an interval for it.

    Attributes:
        middle: The estimates, shape (rows,).
        low: The lower ends of the intervals,
        high: and the upper ones.
    """

    middle: Reals | Counts = field(repr=False)
    low: Reals | Counts = field(repr=False)
    high: Reals | Counts = field(repr=False)


@dataclass(frozen=True, slots=True)
class Estimates:
    """The counts of all rows given all answers.

    Attributes:
        mean: The expected counts, in records, shape (rows,).
        median: The smallest counts k with P[K <= k] >= 1/2.
        low: The lower ends of the intervals,
        high: and the upper ones.
        is_told: Of which rows all this is known, shape (rows,).
        shares: Of the cells in the total, if that was asked for; nan of other rows.
        ranks: Of the cells, 1 for the largest, if that was asked for; 0 of other rows.
    """

    mean: Reals = field(repr=False)
    median: Counts = field(repr=False)
    low: Counts = field(repr=False)
    high: Counts = field(repr=False)
    is_told: NDArray[np.bool_] = field(repr=False)
    shares: Spread | None = None
    ranks: Spread | None = None

    @classmethod
    def empty(cls, rows: int) -> "Estimates":
        """Room for so many rows, of which nothing is known yet."""
        median, low, high = (np.zeros(rows, np.int64) for _ in range(3))
        return cls(np.full(rows, np.nan), median, low, high, np.zeros(rows, np.bool_))

    def tell(self, rows: Counts, told: Mapping[str, Reals | Counts]) -> None:
        """Write down the estimates of some rows.

        Args:
            rows: Their places.
            told: `mean`, `median`, `low` and `high`, each of shape (rows,).
        """
        for name, values in told.items():
            getattr(self, name)[rows] = values
        self.is_told[rows] = True
