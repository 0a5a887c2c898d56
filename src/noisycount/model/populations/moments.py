"""The means of a count and of its pairs of unlike records."""

from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.expansion import Reals

__all__ = ["Moments"]


@dataclass(frozen=True, slots=True)
class Moments:
    """Means of a count K among n records, without the cancellation of n·E[K] − E[K²].

    Numerical error: 1e-14 relative; 1e-12 for tables.

    Attributes:
        positives: E[K].
        negatives: E[n − K].
        discordant: E[K(n − K)], the pairs of a positive and a negative record.
    """

    positives: float
    negatives: float
    discordant: float

    @classmethod
    def of_count(cls, size: int, count: int) -> "Moments":
        """The moments of a known count."""
        return cls(float(count), float(size - count), float(count * (size - count)))

    @classmethod
    def of_equals(cls, size: int, rate: float, complement: float, alike: float) -> "Moments":
        """The moments of records of one mean rate; E[r(1 − r)] = alike·rate·complement."""
        pairs = size * (size - 1) * (rate * complement * alike)
        return cls(size * rate, size * complement, pairs)

    @classmethod
    def of_table(cls, chances: Reals) -> "Moments":
        """The moments of the probabilities of the counts 0..n, shape (n + 1,)."""
        counts = np.arange(chances.size, dtype=np.float64)
        weighted = chances * counts
        return cls(
            float(weighted.sum()), float(chances @ counts[::-1]), float(weighted @ counts[::-1])
        )

    def beside(self, other: "Moments") -> "Moments":
        """The moments of the sum of two independent counts."""
        return Moments(
            self.positives + other.positives,
            self.negatives + other.negatives,
            self.discordant
            + other.discordant
            + self.positives * other.negatives
            + self.negatives * other.positives,
        )
