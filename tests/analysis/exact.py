"""Sums over all pairs of counts in 50 digits."""

from collections.abc import Callable

import numpy as np
from mpmath import mp, mpf

from noisycount.model.laws.count_law import CountDistribution

__all__ = ["chances", "pairs"]


def chances(law: CountDistribution) -> dict[int, mpf]:
    """The probabilities of a short law, in the digits of their logarithms."""
    low, high = law.support
    logs = law.log_pmf(np.arange(low, high + 1))
    return {low + place: mp.exp(mpf(float(log))) for place, log in enumerate(logs)}


def pairs(a: CountDistribution, b: CountDistribution, holds: Callable[[int, int], bool]) -> mpf:
    """The probability of all pairs of independent counts of which something holds."""
    ours, theirs = chances(a), chances(b)
    with mp.workdps(50):
        return mp.fsum(p * q for x, p in ours.items() for y, q in theirs.items() if holds(x, y))
