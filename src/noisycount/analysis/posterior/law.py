"""Probabilities and quantiles of a count's distribution for whole arrays, from a table of its probabilities.

`posterior` serves them under the names of scipy.stats.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, CountDistribution, TableLaw
from noisycount.model.laws.gamma import Reals
from noisycount.model.searches import first_true

# Nats. Terms below e^−80 of the largest term of a sum are left out: any number of them changes no double.
DEPTH = 80.0
_PIECE = 1 << 13  # counts of a piece of a table; its intermediate arrays stay in the cache
_AT_ONCE = 1024  # number of counts up to which all probabilities cost less than a search


@frozen(eq=False)
class CountTable:
    """A table of log probabilities of consecutive counts."""

    first: int  # smallest count
    logs: Reals  # ln P[K = first], ln P[K = first + 1], …; −inf for 0

    @classmethod
    def between(cls, law: CountDistribution, first: int, last: int) -> "CountTable":
        """Return the table of a distribution from a first to a last count."""
        starts = range(first, last + 1, _PIECE)
        pieces = [np.arange(start, min(start + _PIECE, last + 1), dtype=np.float64) for start in starts]
        return cls(first, np.concatenate([law.log_pmf(piece) for piece in pieces]))

    @property
    def last(self) -> int:
        """Largest count."""
        return self.first + self.logs.size - 1

    @property
    def counts(self) -> Reals:
        """Counts, shape (counts,)."""
        return self.first + np.arange(self.logs.size, dtype=np.float64)

    @property
    def chances(self) -> Reals:
        """Probabilities of the counts, shape (counts,)."""
        return np.exp(self.logs)


def bulk_end(law: CountDistribution, depth: float, end: int) -> int:
    """Return the count farthest from the mode, up to `end`, whose probability is above e^−depth of the mode's."""
    mode = law.mode
    side, distance = (1 if end > mode else -1), abs(end - mode)
    if distance <= _AT_ONCE or isinstance(law, TableLaw):  # a table may have gaps, which a search takes for its end
        logs = law.log_pmf(mode + side * np.arange(distance + 1.0))
        return mode + side * int(np.flatnonzero(logs > logs[0] - depth)[-1])
    smallest = float(law.log_pmf(mode)) - depth
    if float(law.log_pmf(end)) > smallest:
        return end
    outside = first_true(lambda away: float(law.log_pmf(mode + side * away)) <= smallest, 1, distance)
    return mode + side * (outside - 1)


_FEW = 16  # number of different values up to which each is computed by itself, without a table
_DEPTH = 80.0  # nats below the mode at which a table ends
_RARE = 1e-15  # smallest level at which `CountDistribution.quantile` is exact
_LONGEST = 1 << 22  # largest number of counts of a table (32 MB); for a wider distribution each value is computed


def up_to(law: CountDistribution, counts: ArrayLike) -> Reals:
    """Return P[K <= k] for each k, in the shape of the counts, to full relative precision; nan for nan."""
    low, high = law.support
    floors = np.floor(np.asarray(counts, dtype=np.float64))
    chances = _evaluate_function(np.clip(floors, low, high), law, _single_probability_up_to, _table_probabilities_up_to)
    return np.where(floors < low, 0.0, chances)


def probability_above(law: CountDistribution, counts: ArrayLike) -> Reals:
    """Return P[K > k] for each k, in the shape of the counts, to full relative precision; nan for nan."""
    floors = np.floor(np.asarray(counts, dtype=np.float64))
    chances = up_to(law.mirrored, -floors - 1)
    return np.where(floors >= law.support[1], 0.0, chances)  # at the largest count, k + 1 may not be a double


def quantiles(law: CountDistribution, levels: ArrayLike) -> Reals:
    """Return the smallest k with P[K <= k] >= level for each level, in the shape of the levels; nan for nan.

    As in SciPy, level 0 gives the count below the smallest possible one, level 1 the largest.
    """
    return _evaluate_function(_check_levels(levels), law, _single_quantile, _table_quantiles)


def quantiles_from_above(law: CountDistribution, levels: ArrayLike) -> Reals:
    """Return the smallest k with P[K > k] <= level for each level, also if 1 − level rounds to 1."""
    tails = _check_levels(levels)
    highest = -quantiles(law.mirrored, tails)  # the largest k with P[K >= k] >= level
    is_reached = up_to(law.mirrored, -highest) <= tails * (1 + TIE)
    smallest: Reals = np.where(is_reached & (tails > 0), highest - 1, highest)
    return np.where(tails == 0, float(law.support[1]), smallest)


def shortest_interval(law: CountDistribution, level: float) -> tuple[int, int]:
    """Return the shortest interval with at least the given probability; of equally short ones the most probable.

    It contains the most probable count if the distribution has one mode. If the distribution has too many counts for a
    table, the equal-tailed interval is returned.

    Args:
        law: The distribution of the count.
        level: The smallest probability of a count inside the interval, in (0, 1).
    """
    low, high = law.reach(_DEPTH)
    if high - low > _LONGEST:
        first, last = quantiles(law, [(1 - level) / 2, (1 + level) / 2]).tolist()
        return int(first), int(last)
    start, below = _cumulative_table(law)
    sums = np.append(0.0, below)
    after = np.searchsorted(sums, sums[:-1] + level * below[-1] * (1 - TIE))
    ends = after[after < sums.size]
    widths = ends - np.arange(ends.size)
    shortest = np.flatnonzero(widths == widths.min())
    best = int(shortest[np.argmax(sums[ends[shortest]] - sums[shortest])])
    return start + best, start + int(ends[best]) - 1


def _check_levels(levels: ArrayLike) -> Reals:
    """Return the levels as an array. Raise ValueError if one is not in [0, 1]."""
    array = np.asarray(levels, dtype=np.float64)
    is_invalid = (array < 0) | (array > 1)
    if is_invalid.any():
        first = float(array[is_invalid].flat[0])
        raise ValueError(f"levels must be probabilities from 0 to 1, got {first!r}")
    return array


def _evaluate_function(
    arguments: Reals,
    law: CountDistribution,
    one: Callable[[CountDistribution, float], float],
    many: Callable[[CountDistribution, Reals], Reals],
) -> Reals:
    """Return a function's value for each argument, nan for nan: few arguments are passed to `one`, many to `many`."""
    different, indices = np.unique(arguments, return_inverse=True)
    numbers = different[~np.isnan(different)]
    values = np.full(different.shape, np.nan)
    low, high = law.reach(_DEPTH)
    if numbers.size <= _FEW or high - low > _LONGEST:
        values[: numbers.size] = [one(law, number) for number in numbers.tolist()]
    else:
        values[: numbers.size] = many(law, numbers)
    return values[indices].reshape(arguments.shape)


def _single_probability_up_to(law: CountDistribution, count: float) -> float:
    """Return P[K <= count]."""
    return law.probability(-math.inf, count)


def _single_quantile(law: CountDistribution, level: float) -> float:
    """Return the smallest k with P[K <= k] >= level."""
    if level == 0:
        return law.support[0] - 1
    if level == 1:
        return law.support[1]
    return law.quantile(level) if level > _RARE else _far_quantile(law, math.log(level))


def _far_quantile(law: CountDistribution, log_level: float) -> float:
    """Return the quantile at a level below `_RARE`, by bisection. Sums of probabilities leave such levels out."""
    return first_true(
        lambda count: law.log_probability(-math.inf, count) >= log_level - TIE, law.support[0], law.quantile(_RARE)
    )


def _cumulative_table(law: CountDistribution) -> tuple[int, Reals]:
    """Return the first count k of a table, and P[K <= k], P[K <= k + 1], …."""
    first, last = law.counts_within(_DEPTH)
    masses = law.pmf(np.arange(first, last + 1, dtype=np.float64))
    masses[0] = law.probability(-math.inf, first)
    return first, np.cumsum(masses)


def _table_probabilities_up_to(law: CountDistribution, counts: Reals) -> Reals:
    """Return P[K <= k] for many counts k."""
    first, below = _cumulative_table(law)
    indices = np.clip(counts - first, 0, below.size - 1).astype(np.int64)
    chances = np.minimum(below[indices], 1.0)
    is_before = counts < first
    chances[is_before] = [_single_probability_up_to(law, count) for count in counts[is_before].tolist()]
    return np.where(counts >= law.support[1], 1.0, chances)


def _table_quantiles(law: CountDistribution, levels: Reals) -> Reals:
    """Return the quantiles at many levels."""
    first, below = _cumulative_table(law)
    goals = levels * below[-1] * (1 - TIE)
    indices = np.minimum(np.searchsorted(below, goals), below.size - 1)
    counts: Reals = first + indices.astype(np.float64)
    is_outside = (goals <= below[0]) | (levels == 1)
    counts[is_outside] = [_single_quantile(law, level) for level in levels[is_outside].tolist()]
    return counts
