"""Pairs of laws for records that can be exchanged: they are linear in the count."""

from fractions import Fraction

import numpy as np

from noisycount.analysis.curves.base import Base, SmoothBase, TableBase
from noisycount.analysis.curves.pair import LinearPair
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.populations import BetaBinomial, Binomial
from noisycount.model.subsampling import DrawnPositives
from noisycount.model.tabulated import Tabulated

__all__ = ["count_pair", "known_count_pair", "known_sample_pair", "sample_pair"]


def count_pair(population: Binomial | BetaBinomial | Tabulated) -> LinearPair:
    """The laws of the count: P₊ ∝ k·P and P₋ ∝ (n − k)·P."""
    if isinstance(population, Tabulated):
        return _table_pair(population)
    return sample_pair(population, population.size)


def sample_pair(population: Binomial | BetaBinomial, sample_size: int) -> LinearPair:
    """The laws of the number S of positive records among m of n.

    P₊/Q = E[K | S]/E[K] with E[K | S = s] = s + (n − m)·E[rate | S = s], linear in s.
    """
    size = population.size
    if isinstance(population, Binomial):
        sampled: Binomial | BetaBinomial = Binomial(sample_size, population.rate)
        rate, gain = Fraction(population.rate), Fraction(1)
    else:
        sampled = BetaBinomial(sample_size, population.alpha, population.beta)
        alpha, both = Fraction(population.alpha), Fraction(population.alpha + population.beta)
        both = alpha + Fraction(population.beta)
        rate, gain = alpha / both, (size + both) / (sample_size + both)
    law = smooth_law([sampled])
    return LinearPair(
        SmoothBase.around_centre(law),
        sample_size * rate - law.centre,
        size * rate / gain,
        size * (1 - rate) / gain,
        is_shift=isinstance(population, Binomial) and sample_size == size,
    )


def known_count_pair() -> LinearPair:
    """The laws of the last record alone, all others being known: 1, and 0."""
    half = Fraction(1, 2)
    base = TableBase(0.0, np.log([0.5, 0.5]))
    return LinearPair(base, half, half, half, is_shift=True)


def known_sample_pair(size: int, count: int, sample_size: int) -> LinearPair:
    """The laws of the number S in a sample, all records being known but one.

    With c positive ones among the others, C(c + 1, s)·C(n − c − 1, m − s) and
    C(c, s)·C(n − c, m − s) are the weights of m draws from n + 1 records with c + 1 positive ones,
    times n − c − m + s and c + 1 − s.
    """
    law = smooth_law([DrawnPositives(count + 1, sample_size, size + 1)])
    mean = Fraction(sample_size * (count + 1), size + 1)
    return LinearPair(
        SmoothBase.around_centre(law),
        mean - law.centre,
        mean + (size - count - sample_size),
        count + 1 - mean,
        is_shift=sample_size == size,
    )


def _table_pair(population: Tabulated) -> LinearPair:
    """The laws of the count of a table, seen from its most likely count."""
    logs = population.log_probabilities
    centre = int(np.argmax(logs))
    offsets = np.arange(logs.size, dtype=np.float64) - centre
    mean = Fraction(float(np.exp(logs) @ offsets)) / Fraction(float(np.exp(logs).sum()))
    base: Base = TableBase(float(-centre), logs)
    above = mean + centre
    return LinearPair(base, mean, above, population.size - above)
