"""What an outsider knows about a count before any answer."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from noisycount.model.binomial import binomial_expansion
from noisycount.model.counts import CountDistribution, most_probable
from noisycount.model.expansion import Expansion, LogStep
from noisycount.model.validation import rate_within, whole_number

__all__ = ["Binomial"]


@dataclass(frozen=True, slots=True)
class Binomial:
    """Independent records, each of which satisfies the predicate at a known rate.

    P[K = k] = C(size, k)·rate^k·(1 − rate)^(size − k), k = 0..size.

    Args:
        size: The public number of records, 0 to 2^53.
        rate: The probability that a record satisfies the predicate, in [0, 1].

    Raises:
        ValueError: If the size is not a whole number in that range or the rate not a probability.

    Source: Naldi and D'Acquisto (2014), section 3, the prior of eq. (11).

    Example:
        >>> population = Binomial(100, 0.3)
        >>> round(population.distribution().mean, 12)
        30.0
    """

    size: int
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number(self.size, "size"))
        object.__setattr__(self, "rate", rate_within(self.rate, "rate"))

    @property
    def support(self) -> tuple[int, int]:
        """The smallest and the largest count that can occur."""
        return (self.size if self.rate == 1 else 0, 0 if self.rate == 0 else self.size)

    def expansion(self, centre: int) -> Expansion:
        """How ln P[K = centre + d] changes with the offset d."""
        smallest, largest = self.support
        if smallest == largest:
            return Expansion(Decimal(0), np.zeros_like)
        return binomial_expansion(self.size, self.rate, centre)

    def log_step(self, count: int) -> LogStep:
        """The logarithm of P[K = count + 1] / P[K = count], for two counts of the support."""
        rate = Fraction(self.rate)
        return LogStep(Fraction(self.size - count, count + 1) * (rate / (1 - rate)))

    def distribution(self) -> CountDistribution:
        """The law of the count."""
        centre = most_probable(self.log_step, self.support)
        return CountDistribution(self.support, centre, self.expansion(centre))
