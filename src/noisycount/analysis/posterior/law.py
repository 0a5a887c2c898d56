"""The law of a count as a table of those that matter, and its probabilities and quantiles for whole arrays."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, CountDistribution
from noisycount.model.laws.gamma import Reals
from noisycount.model.searches import first_true

# Nats below the largest term of a sum from which on terms are left out: e^−80 is beyond a double,
# however many they are.
DEPTH = 80.0
_AT_ONCE = 1024  # counts: an array of so many probabilities costs less than a search among them


@frozen(eq=False)
class CountTable:
    """The law of a count where it matters."""

    first: int  # the smallest count
    logs: Reals  # the logarithms of the probabilities of first, first + 1 and so on, −inf for 0

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
    """The count between mode and end that is last within e^depth of the most probable one."""
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


_FEW = 16  # different values: more of them share a table of the law
_DEPTH = 80.0  # nats below the mode at which a table ends
_RARE = 1e-15  # a level from which on quantiles of laws are exact
_LONGEST = 1 << 22  # counts of a table, 32 MB; a wider law is asked value by value


def up_to(law: CountDistribution, counts: ArrayLike) -> Reals:
    """P[K <= k] for each k, shape as given, to full relative precision; nan for nan."""
    low, high = law.support
    floors = np.floor(np.asarray(counts, dtype=np.float64))
    found = _each(np.clip(floors, low, high), law, _one_up_to, _all_up_to)
    return np.where(floors < low, 0.0, found)


def above(law: CountDistribution, counts: ArrayLike) -> Reals:
    """P[K > k] for each k, shape as given, to full relative precision; nan for nan."""
    floors = np.floor(np.asarray(counts, dtype=np.float64))
    found = up_to(law.mirrored, -floors - 1)
    return np.where(floors >= law.support[1], 0.0, found)  # 2^53 + 1 is no double


def quantiles(law: CountDistribution, levels: ArrayLike) -> Reals:
    """The smallest k with P[K <= k] >= level for each level, shape as given; nan for nan.

    As in SciPy, level 0 gives the count below the smallest possible one, level 1 the largest.
    """
    return _each(_checked(levels), law, _one_quantile, _all_quantiles)


def quantiles_from_above(law: CountDistribution, levels: ArrayLike) -> Reals:
    """The smallest k with P[K > k] <= level for each level, also where 1 − level is 1."""
    asked = _checked(levels)
    highest = -quantiles(law.mirrored, asked)  # the largest k with P[K >= k] >= level
    is_reached = up_to(law.mirrored, -highest) <= asked * (1 + TIE)
    found: Reals = np.where(is_reached & (asked > 0), highest - 1, highest)
    return np.where(asked == 0, float(law.support[1]), found)


def shortest_interval(law: CountDistribution, level: float) -> tuple[int, int]:
    """Return the shortest interval that holds the level, of equally short ones the most probable.

    It contains the most probable count if the distribution has one mode. A distribution over more counts than fit a
    table has its equal-tailed interval.

    Args:
        law: The distribution of the count.
        level: The probability that the interval holds at least, in (0, 1).
    """
    low, high = law.reach(_DEPTH)
    if high - low > _LONGEST:
        first, last = quantiles(law, [(1 - level) / 2, (1 + level) / 2]).tolist()
        return int(first), int(last)
    start, below = _table(law)
    sums = np.append(0.0, below)
    after = np.searchsorted(sums, sums[:-1] + level * below[-1] * (1 - TIE))
    ends = after[after < sums.size]
    widths = ends - np.arange(ends.size)
    shortest = np.flatnonzero(widths == widths.min())
    best = int(shortest[np.argmax(sums[ends[shortest]] - sums[shortest])])
    return start + best, start + int(ends[best]) - 1


def _checked(levels: ArrayLike) -> Reals:
    """The levels as an array."""
    asked = np.asarray(levels, dtype=np.float64)
    wrong = (asked < 0) | (asked > 1)
    if wrong.any():
        refused = float(asked[wrong].flat[0])
        raise ValueError(f"levels must be probabilities from 0 to 1, got {refused!r}")
    return asked


def _each(
    asked: Reals,
    law: CountDistribution,
    one: Callable[[CountDistribution, float], float],
    many: Callable[[CountDistribution, Reals], Reals],
) -> Reals:
    """The value of each number, nan for nan: of few one by one, of many from one table."""
    different, places = np.unique(asked, return_inverse=True)
    known = different[~np.isnan(different)]
    found = np.full(different.shape, np.nan)
    low, high = law.reach(_DEPTH)
    if known.size <= _FEW or high - low > _LONGEST:
        found[: known.size] = [one(law, value) for value in known.tolist()]
    else:
        found[: known.size] = many(law, known)
    return found[places].reshape(asked.shape)


def _one_up_to(law: CountDistribution, count: float) -> float:
    """P[K <= count]."""
    return law.probability(-math.inf, count)


def _one_quantile(law: CountDistribution, level: float) -> float:
    """The smallest count with so much probability up to it."""
    if level == 0:
        return law.support[0] - 1
    if level == 1:
        return law.support[1]
    return law.quantile(level) if level > _RARE else _far_quantile(law, math.log(level))


def _far_quantile(law: CountDistribution, log_level: float) -> float:
    """The quantile at a level that a law leaves out of its sums, by halving."""
    return first_true(
        lambda count: law.log_probability(-math.inf, count) >= log_level - TIE, law.support[0], law.quantile(_RARE)
    )


def _table(law: CountDistribution) -> tuple[int, Reals]:
    """The first count of a table, and P[K <= k] of it and those after it."""
    first, last = law.counts_within(_DEPTH)
    masses = law.pmf(np.arange(first, last + 1, dtype=np.float64))
    masses[0] = law.probability(-math.inf, first)
    return first, np.cumsum(masses)


def _all_up_to(law: CountDistribution, counts: Reals) -> Reals:
    """P[K <= k] of many counts."""
    first, below = _table(law)
    places = np.clip(counts - first, 0, below.size - 1).astype(np.int64)
    found = np.minimum(below[places], 1.0)
    beyond = counts < first
    found[beyond] = [_one_up_to(law, count) for count in counts[beyond].tolist()]
    return np.where(counts >= law.support[1], 1.0, found)


def _all_quantiles(law: CountDistribution, levels: Reals) -> Reals:
    """The quantiles at many levels."""
    first, below = _table(law)
    goals = levels * below[-1] * (1 - TIE)
    places = np.minimum(np.searchsorted(below, goals), below.size - 1)
    found: Reals = first + places.astype(np.float64)
    beyond = (goals <= below[0]) | (levels == 1)
    found[beyond] = [_one_quantile(law, level) for level in levels[beyond].tolist()]
    return found
