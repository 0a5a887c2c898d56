"""The law of a count as a table of the counts that matter."""

from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.search import first_true

__all__ = ["DEPTH", "CountTable", "bulk_end"]

DEPTH = 80.0
"""Nats below the largest term of a sum from which on terms are left out: e^−80 is beyond a double,
however many they are."""

_AT_ONCE = 1024  # counts: an array of so many probabilities costs less than a search among them


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """The law of a count where it matters.

    Attributes:
        first: The smallest count.
        logs: The logarithms of the probabilities of first, first + 1 and so on, −inf for 0.
    """

    first: int
    logs: Reals

    @classmethod
    def between(cls, law: CountDistribution, first: int, last: int) -> "CountTable":
        """The table of a law from a first to a last count."""
        return cls(first, law.log_pmf(np.arange(first, last + 1, dtype=np.float64)))

    @property
    def last(self) -> int:
        """The largest count."""
        return self.first + self.logs.size - 1

    @property
    def counts(self) -> Reals:
        """The counts, shape (counts,)."""
        return self.first + np.arange(self.logs.size, dtype=np.float64)

    @property
    def chances(self) -> Reals:
        """Their probabilities, shape (counts,)."""
        return np.exp(self.logs)


def bulk_end(law: CountDistribution, depth: float, end: int) -> int:
    """The count between mode and end that is last within e^depth of the most probable one.

    Args:
        law: The law of the count.
        depth: In nats.
        end: How far to look.
    """
    mode = law.mode
    side, reach = (1 if end > mode else -1), abs(end - mode)
    if reach <= _AT_ONCE:
        logs = law.log_pmf(mode + side * np.arange(reach + 1.0))
        return mode + side * int(np.flatnonzero(logs > logs[0] - depth)[-1])
    smallest = float(law.log_pmf(mode)) - depth
    if float(law.log_pmf(end)) > smallest:
        return end
    farther = first_true(lambda away: float(law.log_pmf(mode + side * away)) <= smallest, 1, reach)
    return mode + side * (farther - 1)
