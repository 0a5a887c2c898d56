"""The law of the ratio of two counts."""

import math
from dataclasses import field

import numpy as np

from noisycount.analysis.difference import law_of
from noisycount.analysis.posterior.posterior import LEVEL, Estimates, tail_levels
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, CountDistribution
from noisycount.model.laws.gamma import Reals
from noisycount.model.searches import bracketed_by_factors, root
from noisycount.validation import not_nan, open_probability

_DEPTH = 45.0  # nats: what lies farther below the top of a law is beyond a double
_WIDEST = 1 << 21  # counts of a law, of which every one is summed
_NARROWEST = 1e-9  # of a first bracket, relative
_ROUNDING = 1e-15  # of a product of a ratio and a count, which may be meant to be a count


@frozen(repr=False)
class Ratio(Shown):
    """The law of A/B of two independent counts.

    Where B is 0 the ratio counts as infinite, whatever A is: it is above every number.
    """

    numerator: CountDistribution  # the law of A
    denominator: CountDistribution  # the law of B
    infinite: float  # P[B = 0]
    _first: int = field(init=False, repr=False)
    _below: Reals = field(init=False, repr=False)
    _counts: Reals = field(init=False, repr=False)
    _chances: Reals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first, masses = _table(self.numerator, "a")
        start, chances = _table(self.denominator, "b")
        counts = start + np.arange(chances.size, dtype=np.float64)
        is_positive = counts > 0
        object.__setattr__(self, "_first", first)
        object.__setattr__(self, "_below", np.concatenate([[0.0], np.cumsum(masses)]))
        object.__setattr__(self, "_counts", counts[is_positive])
        object.__setattr__(self, "_chances", chances[is_positive])

    def cdf(self, value: float) -> float:
        """P[A <= value·B and B > 0]: the sum over the counts of B.

        Args:
            value: Any number; of a ratio of counts, such as 1/3, the double that is nearest to it.
        """
        if math.isinf(not_nan(value, "value")):
            return 1 - self.infinite if value > 0 else 0.0
        return self._mass_to(np.floor(value * self._counts * (1 + _ROUNDING)))

    def quantile(self, level: float) -> float:
        """The smallest x with P[A/B <= x] >= level, to 1e-12 of itself; it may be infinite.

        Raises:
            ValueError: If the level is not in (0, 1).
        """
        goal = open_probability(level, "level") * (1 - TIE)
        if self.cdf(math.inf) < goal:
            return math.inf
        if self.cdf(0.0) >= goal:
            return 0.0

        def reached(value: float) -> float:
            return self.cdf(value) - goal

        above, below = self.numerator, self.denominator
        spread = math.hypot(above.deviation / (above.mean + 1), below.deviation / (below.mean + 1))
        start, factor = (above.mean + 1) / (below.mean + 1), 1 + min(1.0, spread + _NARROWEST)
        return root(reached, bracketed_by_factors(reached, start, factor)).high

    @property
    def median(self) -> float:
        """The smallest x with P[A/B <= x] >= 1/2."""
        return self.quantile(0.5)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The equal-tailed interval: the quantiles at (1 − level)/2 and (1 + level)/2.

        Args:
            level: The probability that the interval is meant to hold, in (0, 1).

        Raises:
            ValueError: If the level is not in (0, 1).
        """
        low, high = tail_levels(level)
        return self.quantile(low), self.quantile(high)

    def probability(self, low: float, high: float) -> float:
        """P[low <= A/B <= high]; a high of infinity takes what is infinite in."""
        reached = 1.0 if not_nan(high, "high") == math.inf else self.cdf(high)
        if math.isinf(not_nan(low, "low")):
            return reached if low < 0 else self.infinite * (high == math.inf)
        below = self._mass_to(np.ceil(low * self._counts * (1 - _ROUNDING)) - 1)
        return max(0.0, reached - below)

    def _mass_to(self, largest: Reals) -> float:
        """P[A <= largest and B > 0], of a largest A for each count of B."""
        places = np.clip(largest - self._first + 1, 0, self._below.size - 1)
        return min(1.0, float((self._chances * self._below[places.astype(np.int64)]).sum()))

    def _facts(self) -> dict[str, object]:
        return {"median": self.median, "interval": self.interval(), "level": LEVEL, "infinite": self.infinite}


def ratio(a: Estimates, b: Estimates) -> Ratio:
    """The law of A/B of two independent counts, neither of which can be negative.

    P[A/B <= x] = Σ_k P[B = k]·P[A <= x·k]. A ratio to a count of 0 is infinite: it has no mean, and
    a quantile is infinite where P[B = 0] reaches it. Every count is summed, as x·k falls between
    counts of A: milliseconds for thousands of counts, seconds for a million.

    Args:
        a: A posterior, or anything else with the law of a count.
        b: Another one, about records of its own and with noise of its own: of a share of a total,
            the other part does; a/(a + rest) follows from a/rest.

    Raises:
        ValueError: If one has no law, may be negative, or is wider than 2^21 counts.

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


def _table(law: CountDistribution, name: str) -> tuple[int, Reals]:
    """The first count of a law and its probabilities from there on, with a sum of 1."""
    if law.support[0] < 0:
        raise ValueError(f"{name} must not be negative, got a law from {law.support[0]} on")
    first, last = law.counts_within(_DEPTH)
    if last - first >= _WIDEST:
        raise ValueError(
            f"{name} must have at most 2**21 counts that matter, got {last - first + 1}: "
            "compare interval(level) of both"
        )
    chances = law.pmf(np.arange(first, last + 1, dtype=np.float64))
    return first, chances / chances.sum()
