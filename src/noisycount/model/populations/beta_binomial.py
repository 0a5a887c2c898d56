"""Records of one uncertain rate."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from noisycount.model.laws.beta_binomial import BetaBinomialFactor
from noisycount.model.laws.expansion import Reals
from noisycount.model.populations.exchangeable import Sample
from noisycount.model.populations.informed import Informed, known_records
from noisycount.model.populations.moments import Moments
from noisycount.model.populations.smooth import SmoothPopulation
from noisycount.model.validation import positive_number, rate_within, whole_number

__all__ = ["BetaBinomial"]


@dataclass(frozen=True, slots=True)
class BetaBinomial(BetaBinomialFactor, SmoothPopulation):
    """Records at a common rate that is itself uncertain, with a beta law.

    P[K = k] = C(size, k)·B(k + alpha, size − k + beta) / B(alpha, beta), k = 0..size. The rate has
    the mean alpha/(alpha + beta); alpha + beta is the number of records that were seen before.

    Args:
        size: The public number of records, 0 to 2^53.
        alpha: The first shape, positive and finite.
        beta: The second shape, positive and finite.

    Raises:
        ValueError: If the size is not a whole number in that range or a shape not positive.

    Source: the conjugate prior of Naldi and D'Acquisto (2014), eq. (11), for an uncertain rate.

    Example:
        >>> import noisycount as nc
        >>> round(nc.BetaBinomial(100, 3, 7).law().mean, 9)
        30.0
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number(self.size, "size"))
        object.__setattr__(self, "alpha", positive_number(self.alpha, "alpha"))
        object.__setattr__(self, "beta", positive_number(self.beta, "beta"))

    @classmethod
    def from_rate(cls, size: int, rate: float, deviation: float) -> "BetaBinomial":
        """The population whose rate has that mean and that standard deviation.

        alpha + beta = rate·(1 − rate)/deviation² − 1.

        Args:
            size: The public number of records.
            rate: The mean of the rate, in (0, 1).
            deviation: The standard deviation of the rate, positive, below √(rate·(1 − rate)).

        Raises:
            ValueError: If no beta law has them.

        Example:
            >>> import noisycount as nc
            >>> population = nc.BetaBinomial.from_rate(100, 0.5, 0.25)
            >>> population.alpha, population.beta
            (1.5, 1.5)
        """
        mean, spread = rate_within(rate, "rate"), positive_number(deviation, "deviation")
        seen = mean * (1 - mean) / spread / spread - 1
        if not 0 < seen < math.inf:
            raise ValueError(
                f"deviation must be above 0 and below √(rate·(1 − rate)) = "
                f"{math.sqrt(mean * (1 - mean)):.6g}, got {deviation!r}"
            )
        return cls(size, mean * seen, (1 - mean) * seen)

    def given(self, known: int, positives: int) -> Informed:
        """What somebody knows who holds some records: they also tell about the common rate."""
        held, positive = known_records(known, positives, self.size)
        alpha, beta = self.alpha + positive, self.beta + (held - positive)
        return Informed(BetaBinomial(self.size - held, alpha, beta), held, positive)

    @property
    def expected_positives(self) -> Fraction:
        """size·alpha/(alpha + beta)."""
        alpha = Fraction(self.alpha)
        return self.size * alpha / (alpha + Fraction(self.beta))

    def sample(self, sample_size: int) -> Sample:
        """As many records of the same uncertain rate, of which they tell.

        E[rate | S = s] = (alpha + s)/(alpha + beta + m) for a sample of m records.
        """
        seen = Fraction(self.alpha) + Fraction(self.beta)
        gain = (self.size + seen) / (sample_size + seen)
        return Sample(BetaBinomial(sample_size, self.alpha, self.beta), gain)

    @property
    def moments(self) -> Moments:
        """The means of the count and of its pairs of unlike records."""
        rate, complement = _share(self.alpha, self.beta), _share(self.beta, self.alpha)
        return Moments.of_equals(
            self.size, rate, complement, 1 / (1 + 1 / (self.alpha + self.beta))
        )

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Counts drawn for a simulation, shape (runs,)."""
        rates = generator.beta(self.alpha, self.beta, runs)
        return generator.binomial(self.size, rates).astype(np.float64)


def _share(one: float, other: float) -> float:
    """one/(one + other), of numbers whose sum or quotient may be no double."""
    if one >= other:
        return 1 / (1 + other / one)
    return one / other / (1 + one / other)
