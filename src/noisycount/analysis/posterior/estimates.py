"""The estimates that follow from the law of a count."""

from noisycount.analysis.posterior.frozen_law import FrozenLaw
from noisycount.model.validation import fraction_of_one

__all__ = ["LEVEL", "Estimates", "tail_levels"]

LEVEL = 0.95
"""Of the interval that is shown."""

_NEXT_TO_ONE = 1 - 2.0**-53


def tail_levels(level: float) -> tuple[float, float]:
    """The levels of the ends of an equal-tailed interval, both in (0, 1).

    Raises:
        ValueError: If the level is not in (0, 1).
    """
    tail = (1 - fraction_of_one(level, "level")) / 2
    return tail, min(1 - tail, _NEXT_TO_ONE)


class Estimates(FrozenLaw):
    """Moments, quantiles and probabilities of a law of a count, and the names of scipy.stats."""

    __slots__ = ()

    @property
    def mean(self) -> float:
        """E[K | Y], in records: the estimate of least squared error."""
        return self.law.mean

    @property
    def variance(self) -> float:
        """Var[K | Y], in records²."""
        return self.law.variance

    @property
    def median(self) -> int:
        """The smallest k with P[K <= k | Y] >= 1/2: the estimate of least absolute error."""
        return self.law.median

    @property
    def mode(self) -> int:
        """The smallest most probable count."""
        return self.law.mode

    @property
    def std(self) -> float:
        """The standard deviation, in records: the root of the variance."""
        return self.law.deviation

    def interval(self, level: float = LEVEL) -> tuple[int, int]:
        """The equal-tailed interval: the quantiles at (1 − level)/2 and (1 + level)/2.

        Args:
            level: The probability that the interval is meant to hold, in (0, 1).

        Raises:
            ValueError: If the level is not in (0, 1).
        """
        low, high = tail_levels(level)
        return self.law.quantile(low), self.law.quantile(high)

    def probability(self, low: float, high: float) -> float:
        """P[low <= K <= high | Y]."""
        return self.law.probability(low, high)
