"""How many records two cells hold together, in runs of numbers of like weight."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from noisycount.model.populations.binomial import Binomial

__all__ = ["Run", "runs_of_totals"]

_DEEPEST = 700.0  # nepers below its mode at which the law ends: e^−700 is next to the least double
_LIKELY = 40.0  # nepers below its mode: what is left out weighs e^−40
_OF_TAILS = 8  # runs of each tail beyond that
_ROUNDING = 1e-12  # of a weight: that of a law is 3e-13


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring numbers of records, the record itself among them.

    Attributes:
        low: The smallest.
        high: The largest.
        weight: The probability of the run.
    """

    low: int
    high: int
    weight: float

    @property
    def least(self) -> float:
        """The least that the probability can be."""
        return self.weight * (1 - _ROUNDING)

    @property
    def most(self) -> float:
        """The most that the probability can be."""
        return min(1.0, self.weight * (1 + _ROUNDING))


def runs_of_totals(size: int, rate: float, number: int) -> Iterator[Run]:
    """The law of 1 + Bin(size − 1, rate), in about so many runs.

    Args:
        size: The number of all records.
        rate: The probability that another record is in one of the cells.
        number: How many runs the likely part is divided into, at most.
    """
    others = Binomial(size - 1, rate)
    low, high = others.support
    if low == high:
        yield Run(low + 1, low + 1, 1.0)
        return
    law = others.deep_law()
    ends = [_within(law.reach(depth), low, high) for depth in (_DEEPEST, _LIKELY)]
    (first, last), (start, end) = ends
    edges = np.unique(
        np.concatenate(
            [
                _edges(first, start, _OF_TAILS),
                _edges(start, end + 1, number),
                _edges(end + 1, last + 1, _OF_TAILS),
            ]
        )
    )
    weights = law.pmf(np.arange(first, last + 1))
    sums = np.add.reduceat(weights, edges[:-1] - first)
    for begin, after, weight in zip(edges[:-1], edges[1:], sums, strict=True):
        yield Run(int(begin) + 1, int(after), float(weight))


def _within(reach: tuple[float, float], low: int, high: int) -> tuple[int, int]:
    """The counts of a reach that can occur."""
    return max(low, math.floor(reach[0])), min(high, math.ceil(reach[1]))


def _edges(low: int, high: int, number: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Whole numbers that divide a range."""
    return np.linspace(low, high, min(number, max(high - low, 1)) + 1).round().astype(np.int64)
