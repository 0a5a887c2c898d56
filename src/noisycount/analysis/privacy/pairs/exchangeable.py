"""Pairs of laws for records that can be exchanged: they are linear in the count."""

import math
from fractions import Fraction

import numpy as np

from noisycount.analysis.privacy.base import SmoothBase, TableBase
from noisycount.analysis.privacy.pairs.pair import LinearPair, Pair
from noisycount.analysis.privacy.pairs.tables import narrow_pair
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.populations.exchangeable import BetaBinomial, Binomial
from noisycount.model.populations.tabulated import Tabulated
from noisycount.model.subsampling import DrawnPositives

__all__ = ["count_pair", "known_count_pair", "known_sample_pair", "sample_pair"]

_RAREST = 1e-200
_NARROW = 64.0  # records², a variance below which a table is short


def count_pair(population: Binomial | BetaBinomial | Tabulated) -> tuple[Pair, int]:
    """The laws of the count, P₊ ∝ k·P and P₋ ∝ (n − k)·P, and the count that is offset 0."""
    if isinstance(population, Tabulated):
        return _table_pair(population)
    return sample_pair(population, population.size)


def sample_pair(population: Binomial | BetaBinomial, sample_size: int) -> tuple[Pair, int]:
    """The laws of the number S of positive records among m of n, and the number that is offset 0.

    P₊/Q = E[K | S]/E[K] with E[K | S = s] = s + (n − m)·E[rate | S = s], linear in s.
    """
    size = population.size
    if isinstance(population, Binomial):
        if _is_best_as_table(population, sample_size):
            return narrow_pair(population, sample_size)
        sampled: Binomial | BetaBinomial = Binomial(sample_size, population.rate)
        rate, gain = Fraction(population.rate), Fraction(1)
    else:
        sampled = BetaBinomial(sample_size, population.alpha, population.beta)
        alpha = Fraction(population.alpha)
        both = alpha + Fraction(population.beta)
        rate, gain = alpha / both, (size + both) / (sample_size + both)
    law = smooth_law([sampled])
    pair = LinearPair(
        SmoothBase.around_centre(law, math.log(min(rate, 1 - rate))),
        sample_size * rate - law.centre,
        size * rate / gain,
        size * (1 - rate) / gain,
        is_shift=isinstance(population, Binomial) and sample_size == size,
    )
    return pair, law.centre


def _is_best_as_table(population: Binomial, sample_size: int) -> bool:
    """Whether the laws are narrow and one moved by a record, or so rare that ratios overflow."""
    rate, size = population.rate, population.size
    is_narrow = sample_size == size and size * rate * (1 - rate) < _NARROW
    return is_narrow or min(rate, 1 - rate) < _RAREST


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


def _table_pair(population: Tabulated) -> tuple[LinearPair, int]:
    """The laws of the count of a table, and its most likely count, which is offset 0."""
    logs = population.log_probabilities
    centre = int(np.argmax(logs))
    offsets = np.arange(logs.size, dtype=np.float64) - centre
    chances = np.exp(logs)
    mean = Fraction(float(chances @ offsets)) / Fraction(float(chances.sum()))
    above = mean + centre
    base = TableBase(float(-centre), logs)
    return LinearPair(base, mean, above, population.size - above), centre
