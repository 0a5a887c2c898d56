"""Distribution of the ratio of two independent counts. See `difference` for their difference."""

import math
from dataclasses import field

import numpy as np

from noisycount.analysis.difference import law_of
from noisycount.analysis.posterior.posterior import LEVEL, Estimates, interval_end_levels
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, CountDistribution
from noisycount.model.laws.gamma import Reals
from noisycount.model.searches import bracketed_by_factors, root
from noisycount.validation import not_nan, open_probability

_DEPTH = 45.0  # nats: probabilities below e^−45 of the largest one are left out
_WIDEST = 1 << 21  # largest number of counts of a distribution: each is summed
_NARROWEST = 1e-9  # smallest width of a first bracket, relative
_ROUNDING = 1e-15  # relative error of ratio·count, by which it may miss a whole number


@frozen(repr=False)
class Ratio(Shown):
    """The distribution of A/B of two independent counts.

    If B is 0, the ratio is infinite, also if A is 0: it is above every number.
    """

    numerator: CountDistribution  # distribution of A
    denominator: CountDistribution  # distribution of B
    infinite: float  # P[B = 0]
    _first: int = field(init=False, repr=False)
    _below: Reals = field(init=False, repr=False)
    _counts: Reals = field(init=False, repr=False)
    _chances: Reals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first, masses = _scaled_table(self.numerator, "a")
        start, chances = _scaled_table(self.denominator, "b")
        counts = start + np.arange(chances.size, dtype=np.float64)
        is_positive = counts > 0
        object.__setattr__(self, "_first", first)
        object.__setattr__(self, "_below", np.concatenate([[0.0], np.cumsum(masses)]))
        object.__setattr__(self, "_counts", counts[is_positive])
        object.__setattr__(self, "_chances", chances[is_positive])

    def cdf(self, value: float) -> float:
        """Return P[A <= value·B and B > 0], the sum over the counts of B.

        Args:
            value: Any number. A ratio of counts, such as 1/3, may be given as the nearest double.
        """
        if math.isinf(not_nan(value, "value")):
            return 1 - self.infinite if value > 0 else 0.0
        return self._probability_up_to(np.floor(value * self._counts * (1 + _ROUNDING)))

    def quantile(self, level: float) -> float:
        """Return the smallest x with P[A/B <= x] >= level, to 1e-12 relative. It may be infinite.

        Raises:
            ValueError: If the level is not in (0, 1).
        """
        goal = open_probability(level, "level") * (1 - TIE)
        if self.cdf(math.inf) < goal:
            return math.inf
        if self.cdf(0.0) >= goal:
            return 0.0

        def excess(value: float) -> float:
            return self.cdf(value) - goal

        above, below = self.numerator, self.denominator
        spread = math.hypot(above.deviation / (above.mean + 1), below.deviation / (below.mean + 1))
        start, factor = (above.mean + 1) / (below.mean + 1), 1 + min(1.0, spread + _NARROWEST)
        return root(excess, bracketed_by_factors(excess, start, factor)).high

    @property
    def median(self) -> float:
        """Smallest x with P[A/B <= x] >= 1/2."""
        return self.quantile(0.5)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the equal-tailed interval: the quantiles at (1 − level)/2 and (1 + level)/2.

        Args:
            level: The probability of a ratio inside the interval, in (0, 1).

        Raises:
            ValueError: If the level is not in (0, 1).
        """
        low, high = interval_end_levels(level)
        return self.quantile(low), self.quantile(high)

    def probability(self, low: float, high: float) -> float:
        """Return P[low <= A/B <= high]. If high is infinite, infinite ratios count."""
        up_to_high = 1.0 if not_nan(high, "high") == math.inf else self.cdf(high)
        if math.isinf(not_nan(low, "low")):
            return up_to_high if low < 0 else self.infinite * (high == math.inf)
        below = self._probability_up_to(np.ceil(low * self._counts * (1 - _ROUNDING)) - 1)
        return max(0.0, up_to_high - below)

    def _probability_up_to(self, largest: Reals) -> float:
        """Return P[A <= largest and B > 0], with a largest A for each count of B."""
        indices = np.clip(largest - self._first + 1, 0, self._below.size - 1)
        return min(1.0, float((self._chances * self._below[indices.astype(np.int64)]).sum()))

    def _facts(self) -> dict[str, object]:
        return {"median": self.median, "interval": self.interval(), "level": LEVEL, "infinite": self.infinite}


def ratio(a: Estimates, b: Estimates) -> Ratio:
    """Return the distribution of A/B of two independent counts, neither of which can be negative.

    P[A/B <= x] = Σ_k P[B = k]·P[A <= x·k]. If B is 0, the ratio is infinite. So the ratio has no
    mean, and its quantiles above 1 − P[B = 0] are infinite. Every count of B is summed: this takes
    milliseconds for thousands of counts, seconds for a million.

    Args:
        a: A posterior, or another result with the distribution of a count.
        b: A second one, about other records and with independent noise. A total that includes A is
            not independent of it: for A/(A + C), use the ratio A/C.

    Raises:
        ValueError: If a or b has no distribution, may be negative, or has more than 2^21 counts.

    Numerical error: 1e-12 in a probability, and relative in a quantile.

    Example:
        >>> import noisycount as nc
        >>> north = nc.posterior(44, nc.Binomial(100, 0.4), nc.Laplace(5))
        >>> south = nc.posterior(38, nc.Binomial(100, 0.4), nc.Laplace(5))
        >>> round(nc.ratio(north, south).median, 6)
        1.078947
    """
    denominator = law_of(b, "b")
    return Ratio(law_of(a, "a"), denominator, denominator.probability(0, 0))


def _scaled_table(law: CountDistribution, name: str) -> tuple[int, Reals]:
    """Return the first count of a distribution, and the probabilities from there on, scaled to a sum of 1."""
    if law.support[0] < 0:
        raise ValueError(f"{name} must not be negative, got a distribution from {law.support[0]} on")
    first, last = law.counts_within(_DEPTH)
    if last - first >= _WIDEST:
        raise ValueError(
            f"{name} must have at most 2**21 counts that are not negligible, got {last - first + 1}: "
            "compare interval(level) of both"
        )
    chances = law.pmf(np.arange(first, last + 1, dtype=np.float64))
    return first, chances / chances.sum()
