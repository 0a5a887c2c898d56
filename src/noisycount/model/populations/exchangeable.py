"""Populations of records that can be exchanged: equally likely, or of an uncertain rate."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Expansion
from noisycount.model.laws.factor import BaseFactor, Factor, LogStep
from noisycount.model.laws.log_gamma import beta_binomial_expansion, binomial_expansion
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.populations.population import Informed, Population, known_records
from noisycount.model.validation import positive_number, rate_within, whole_number

__all__ = ["BetaBinomial", "Binomial", "Known"]


@dataclass(frozen=True, slots=True)
class Binomial(BaseFactor, Population):
    """Independent records, each of which satisfies the predicate at a known rate.

    P[K = k] = C(size, k)·rate^k·(1 − rate)^(size − k), k = 0..size.

    Args:
        size: The public number of records, 0 to 2^53.
        rate: The probability that a record satisfies the predicate, in [0, 1].

    Raises:
        ValueError: If the size is not a whole number in that range or the rate not a probability.

    Source: Naldi and D'Acquisto (2014), section 3, the prior of eq. (11).

    Example:
        >>> round(Binomial(100, 0.3).law().variance, 9)
        21.0
    """

    size: int = field()  # without, the property of the base would be its default
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number(self.size, "size"))
        object.__setattr__(self, "rate", rate_within(self.rate, "rate"))

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are."""
        return smooth_law([self, *likelihoods])

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
    def support(self) -> tuple[int, int]:
        """The smallest and the largest count that can occur."""
        return (self.size if self.rate == 1 else 0, 0 if self.rate == 0 else self.size)

    def expansion(self, centre: int) -> Expansion:
        """How ln P[K = centre + d] changes with the offset d."""
        smallest, largest = self.support
        if smallest == largest:
            return Expansion(Decimal(0), np.zeros_like)
        return binomial_expansion(self.size, self.rate, centre)

    def log_step(self, count: int) -> float:
        """The logarithm of P[K = count + 1] / P[K = count], for two counts of the support."""
        odds = (self.size - count) / (count + 1)
        return math.log(odds) + math.log(self.rate) - math.log1p(-self.rate)

    def exact_log_step(self, count: int) -> LogStep:
        """The same, exactly."""
        rate = Fraction(self.rate)
        return LogStep(Fraction(self.size - count, count + 1) * (rate / (1 - rate)))


@dataclass(frozen=True, slots=True)
class BetaBinomial(BaseFactor, Population):
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
        >>> round(BetaBinomial(100, 3, 7).law().mean, 9)
        30.0
    """

    size: int = field()  # without, the property of the base would be its default
    alpha: float
    beta: float

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
            >>> population = BetaBinomial.from_rate(100, 0.5, 0.25)
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

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are."""
        return smooth_law([self, *likelihoods])

    def given(self, known: int, positives: int) -> Informed:
        """What somebody knows who holds some records: they also tell about the common rate."""
        held, positive = known_records(known, positives, self.size)
        alpha, beta = self.alpha + positive, self.beta + (held - positive)
        return Informed(BetaBinomial(self.size - held, alpha, beta), held, positive)

    @property
    def support(self) -> tuple[int, int]:
        """The smallest and the largest count that can occur."""
        return 0, self.size

    @property
    def is_log_concave(self) -> bool:
        """Where both shapes are at least 1."""
        return min(self.alpha, self.beta) >= 1

    def expansion(self, centre: int) -> Expansion:
        """How ln P[K = centre + d] changes with the offset d."""
        return beta_binomial_expansion(self.size, self.alpha, self.beta, centre)

    def log_step(self, count: int) -> float:
        """The logarithm of P[K = count + 1] / P[K = count], for two counts of the support."""
        left = self.size - count
        rising = math.log((count + self.alpha) / (count + 1))
        return rising - math.log((left - 1 + self.beta) / left)

    def exact_log_step(self, count: int) -> LogStep:
        """The same, exactly."""
        left = self.size - count
        rising = (count + Fraction(self.alpha)) / (count + 1)
        return LogStep(rising * left / (left - 1 + Fraction(self.beta)))


@dataclass(frozen=True, slots=True)
class Known(Population):
    """The adversary of differential privacy, who knows all records but one.

    Args:
        size: The number of records, at least 1.
        count: How many of the size − 1 known records are positive; None: the worst of all counts.

    Raises:
        ValueError: If the size is not a positive whole number or the count not in 0..size − 1.

    Source: Breutigam and Reischuk, section 5.

    Example:
        >>> [(a.positives, b.positives) for a, b in Known(10, 4).neighbours()]
        [(5, 4)]
    """

    size: int = field()  # without, the property of the base would be its default
    count: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number(self.size, "size", smallest=1))
        if self.count is not None:
            largest = self.size - 1
            if whole_number(self.count, "count") > largest:
                raise ValueError(f"count must be at most size − 1 = {largest}, got {self.count!r}")
            object.__setattr__(self, "count", int(self.count))

    def law(self, *likelihoods: Factor) -> CountDistribution:  # noqa: ARG002  (refused for every answer)
        """Refused: nothing is assumed about the last record.

        Raises:
            ValueError: Always.
        """
        raise ValueError(
            "population must give the count a law, but Known assumes nothing about the last "
            "record: use Binomial(size, rate).given(known, positives)"
        )

    def given(self, known: int, positives: int) -> Informed:
        """Refused: all that can be known is known.

        Raises:
            ValueError: Always.
        """
        raise ValueError(
            f"known must be 0 for Known, who knows all other records, got {known!r} "
            f"with {positives!r} positives"
        )

    def neighbours(self) -> Iterator[tuple[Population, Population]]:
        """The last record positive, and negative, on top of what is known."""
        nobody = Binomial(0, 0.5)
        counts = range(self.size) if self.count is None else [self.count]
        for count in counts:
            yield Informed(nobody, self.size, count + 1), Informed(nobody, self.size, count)
