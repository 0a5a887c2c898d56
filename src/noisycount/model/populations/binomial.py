"""Independent records of one known rate."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from noisycount.model.laws.expansion import FLAT, Expansion, Reals
from noisycount.model.laws.factor import LogStep
from noisycount.model.laws.log_gamma import binomial_expansion
from noisycount.model.populations.exchangeable import Sample
from noisycount.model.populations.informed import Informed, known_records
from noisycount.model.populations.moments import Moments
from noisycount.model.populations.smooth import SmoothPopulation
from noisycount.model.validation import rate_within, whole_number

__all__ = ["Binomial"]


@dataclass(frozen=True, slots=True)
class Binomial(SmoothPopulation):
    """Independent records, each of which satisfies the predicate at a known rate.

    P[K = k] = C(size, k)·rate^k·(1 − rate)^(size − k), k = 0..size.

    Args:
        size: The public number of records, 0 to 2^53.
        rate: The probability that a record satisfies the predicate, in [0, 1].

    Raises:
        ValueError: If the size is not a whole number in that range or the rate not a probability.

    Source: Naldi and D'Acquisto (2014), section 3, the prior of eq. (11).

    Example:
        >>> import noisycount as nc
        >>> round(nc.Binomial(100, 0.3).law().variance, 9)
        21.0
    """

    are_independent: ClassVar[bool] = True

    size: int = field()  # without, the property of the base would be its default
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number(self.size, "size"))
        object.__setattr__(self, "rate", rate_within(self.rate, "rate"))

    def given(self, known: int, positives: int) -> Informed:
        """What somebody knows who holds some records: the others stay as they are."""
        held, positive = known_records(known, positives, self.size)
        impossible = (self.rate == 0 and positive > 0) or (self.rate == 1 and positive < held)
        if impossible:
            raise ValueError(
                f"positives cannot be {positives} of {known} at the certain rate {self.rate}: "
                "a certain property has no neighbours"
            )
        return Informed(Binomial(self.size - held, self.rate), held, positive)

    @property
    def expected_positives(self) -> Fraction:
        """size·rate."""
        return self.size * Fraction(self.rate)

    def sample(self, sample_size: int) -> Sample:
        """As many records of the same rate: those that are not drawn do not depend on them."""
        return Sample(Binomial(sample_size, self.rate), Fraction(1))

    @property
    def moments(self) -> Moments:
        """The means of the count and of its pairs of unlike records."""
        return Moments.of_equals(self.size, self.rate, 1 - self.rate, 1.0)

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Counts drawn for a simulation, shape (runs,)."""
        return generator.binomial(self.size, self.rate, runs).astype(np.float64)

    @property
    def support(self) -> tuple[int, int]:
        """The smallest and the largest count that can occur."""
        return (self.size if self.rate == 1 else 0, 0 if self.rate == 0 else self.size)

    def expansion(self, centre: int) -> Expansion:
        """How ln P[K = centre + d] changes with the offset d."""
        smallest, largest = self.support
        if smallest == largest:
            return FLAT
        return binomial_expansion(self.size, self.rate, centre)

    def log_step(self, count: int) -> float:
        """The logarithm of P[K = count + 1] / P[K = count], for two counts of the support."""
        odds = (self.size - count) / (count + 1)
        return math.log(odds) + math.log(self.rate) - math.log1p(-self.rate)

    def exact_log_step(self, count: int) -> LogStep:
        """The ratio P[K = count + 1] / P[K = count], exactly."""
        rate = Fraction(self.rate)
        return LogStep(Fraction(self.size - count, count + 1) * (rate / (1 - rate)))
