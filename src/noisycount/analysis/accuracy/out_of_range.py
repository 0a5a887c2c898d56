"""How often is an answer patently wrong: below 0, or above the number of records?"""

import math

from noisycount.analysis.accuracy.accuracy import added_noise
from noisycount.model.mechanism import Mechanism
from noisycount.model.validation import whole_number

__all__ = ["negative_probability", "out_of_range_bounds", "out_of_range_probability"]


def out_of_range_probability(count: int, size: int, noise: Mechanism) -> float:
    """P[Y < 0 or Y > size] when the true count is `count`.

    For Laplace noise (e^(−k/b) + e^(−(n − k)/b))/2; for discrete noise an answer of 0 or n is
    within the range, so that P[Z >= k + 1] + P[Z >= n − k + 1].

    Args:
        count: The true count k, in records, from 0 to the size.
        size: The number n of records of the database, at least 1.
        noise: Any additive noise.

    Raises:
        ValueError: If the count is not a whole number from 0 to the size, the size is not a
            positive whole number, or the mechanism does not add noise.

    Source: Naldi and D'Acquisto (2014), eq. (2).
    Numerical error: 1e-10 relative.

    Example:
        >>> import noisycount as nc
        >>> round(nc.out_of_range_probability(0, 100, nc.Laplace(10)), 6)
        0.500023
        >>> round(nc.out_of_range_probability(0, 100, nc.DiscreteLaplace(10)), 6)
        0.475042
    """
    records = whole_number(size, "size", smallest=1)
    positives = whole_number(count, "count")
    if positives > records:
        raise ValueError(f"count must be at most the size {records}, got {count!r}")
    below = negative_probability(positives, noise)
    return below + negative_probability(records - positives, noise)


def out_of_range_bounds(size: int, noise: Mechanism) -> tuple[float, float]:
    """The smallest and the largest `out_of_range_probability` over all counts.

    The noise is symmetric and one-peaked, so the probability is convex in the count: largest at 0
    and at n, smallest in the middle. For Laplace noise the largest is (1 + e^(−εn))/2 and the
    smallest is e^(−εn/2) for even n, (e^(−ε(n−1)/2) + e^(−ε(n+1)/2))/2 for odd n. The latter is
    printed for all n, though for even n no count is (n − 1)/2.

    Args:
        size: The number n of records of the database, at least 1.
        noise: Any additive noise.

    Raises:
        ValueError: If the size is not a positive whole number, or the mechanism does not add noise.

    Source: Naldi and D'Acquisto (2014), Theorem 1, eq. (3) to (6), for noise of any kind.
    Numerical error: 1e-10 relative.

    Example:
        >>> import noisycount as nc
        >>> smallest, largest = nc.out_of_range_bounds(100, nc.Laplace.for_epsilon(0.1))
        >>> round(smallest, 6), round(largest, 6)
        (0.006738, 0.500023)
    """
    records = whole_number(size, "size", smallest=1)
    smallest = out_of_range_probability(records // 2, records, noise)
    return smallest, out_of_range_probability(0, records, noise)


def negative_probability(count: float, noise: Mechanism) -> float:
    """P[Y < 0] when the true count is `count`, at least 0; of discrete noise P[Z >= k + 1].

    Example:
        >>> from noisycount.model.noises.discrete_laplace import DiscreteLaplace
        >>> round(negative_probability(2, DiscreteLaplace(3)), 6)
        0.214316
    """
    law = added_noise(noise)
    first = math.floor(count) + 1.0 if law.is_discrete else float(count)
    return math.exp(law.log_exceedance(first))
