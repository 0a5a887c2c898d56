"""Pairs of laws for a record that tells nothing about the others."""

from fractions import Fraction
from functools import cache

import numpy as np

from noisycount.analysis.privacy.pairs.linear_pair import LinearPair
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.analysis.privacy.pairs.tables import sampled_pair, shifted_pair
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.laws.table_law import TableLaw
from noisycount.model.populations.independent import IndependentNeighbours
from noisycount.model.subsampling import DrawnPositives

__all__ = ["independent_pair", "known_count_pair"]

_ROUNDING_OF_HALF = 2.0**-51  # the exponential of its logarithm


def independent_pair(neighbours: IndependentNeighbours, size: int, sample_size: int | None) -> Pair:
    """The laws of the count of the others moved by one, and not; or of those in a sample.

    Args:
        neighbours: The record, beside what is known and what is not.
        size: The number of all records.
        sample_size: How many of them are drawn; None: all.
    """
    law = neighbours.others.deep_law()
    if law.variance == 0:
        count = law.mode + neighbours.positives
        return (
            known_count_pair()
            if sample_size is None
            else _known_sample_pair(size, count, sample_size)
        )
    pair, centre = shifted_pair(law)
    if sample_size is None:
        return pair
    return sampled_pair(pair, centre + neighbours.positives, size, sample_size)


@cache
def known_count_pair() -> LinearPair:
    """The laws of the last record alone, all others being known: 1, and 0."""
    half = Fraction(1, 2)
    base = TableLaw(0, np.log([0.5, 0.5]))
    return LinearPair(base, half, half, half, is_shift=True, precision=_ROUNDING_OF_HALF)


def _known_sample_pair(size: int, count: int, sample_size: int) -> LinearPair:
    """The laws of the number S in a sample, all records being known but one.

    With c positive ones among the others, C(c + 1, s)·C(n − c − 1, m − s) and
    C(c, s)·C(n − c, m − s) are the weights of m draws from n + 1 records with c + 1 positive ones,
    times n − c − m + s and c + 1 − s.
    """
    law = smooth_law([DrawnPositives(count + 1, sample_size, size + 1)])
    mean = Fraction(sample_size * (count + 1), size + 1)
    return LinearPair(
        law.moved(-law.mode),
        mean - law.centre,
        mean + (size - count - sample_size),
        count + 1 - mean,
        is_shift=sample_size == size,
    )
