"""Records that can be exchanged, with a formula for the law of their count: of a known rate, of an uncertain one."""

import math
from abc import abstractmethod
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.factors import BetaBinomialFactor, Factor, LogStep
from noisycount.model.laws.gamma import FLAT, Expansion, Reals, binomial_expansion
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.populations.population import Exchangeable, Informed, Moments, Sample, known_records
from noisycount.model.populations.tabulated import LARGEST_TABLE, Tabulated
from noisycount.validation import closed_probability, positive_number, whole_number


class SmoothPopulation(Factor, Exchangeable):
    """A population that is itself the factor of its law."""

    __slots__ = ()

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are."""
        return smooth_law([self, *likelihoods]) if likelihoods else _prior(self)

    @property
    def smooth_prior(self) -> Factor:
        """The law itself."""
        return self


@lru_cache(maxsize=64)  # laws of a few kilobytes, each asked again for every answer of a table
def _prior(population: SmoothPopulation) -> CountDistribution:
    """The law of the count before any answer."""
    return smooth_law([population])


_SUM_TOLERANCE = 1e-9  # beyond what logarithms of a million probabilities lose: a wrong formula


class ClosedFormPopulation(Exchangeable):
    """Records that can be exchanged, of which a new kind states its size and its law.

    Everything else comes from a table of that law: posteriors, privacy curves, evaluations, losses. A subclass is a
    frozen dataclass, as the tables of equal ones are shared.
    """

    __slots__ = ()

    @abstractmethod
    def log_pmf(self, counts: Reals) -> Reals:
        """The logarithm of P[K = k] for whole k in 0..size, shape as given, −inf for 0."""

    @property
    def table(self) -> Tabulated:
        """The same law as a table."""
        return _table(self)

    @property
    def has_chances(self) -> bool:
        """As the table has them."""
        return True

    def log_chances(self, first: int, last: int) -> Reals:
        """A part of the table."""
        return self.table.log_chances(first, last)

    @property
    def expected_positives(self) -> Fraction:
        """E[K], summed from the most likely count."""
        return self.table.expected_positives

    @property
    def moments(self) -> Moments:
        """The means of the count and of its pairs of unlike records."""
        return self.table.moments

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are."""
        return self.table.law(*likelihoods)

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Counts drawn for a simulation, shape (runs,)."""
        return self.table.draws(runs, generator)

    def given(self, known: int, positives: int) -> Informed:
        """What somebody knows who holds some records."""
        return self.table.given(known, positives)


@lru_cache(maxsize=2)  # that of a truth and that of an assumption: a large one takes 0.8 GB
def _table(population: ClosedFormPopulation) -> Tabulated:
    """The table of a formula, checked."""
    name, size = type(population).__name__, population.size
    if size > LARGEST_TABLE:
        raise ValueError(f"size must be at most 10**8 for {name}, got {size!r}")
    logs = np.asarray(population.log_pmf(np.arange(size + 1, dtype=np.float64)), dtype=np.float64)
    total = float(np.exp(logs).sum()) if logs.shape == (size + 1,) else np.nan
    if not abs(total - 1) <= _SUM_TOLERANCE:
        raise ValueError(
            f"population must have one probability for each count 0..size that add up to 1, got "
            f"{logs.shape} of the sum {total!r} from {name}.log_pmf"
        )
    return Tabulated.of_logs(logs)


@frozen
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
        object.__setattr__(self, "rate", closed_probability(self.rate, "rate"))

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


@frozen
class BetaBinomial(BetaBinomialFactor, SmoothPopulation):
    """Records at a common rate that is itself uncertain, with a beta law.

    P[K = k] = C(size, k)·B(k + alpha, size − k + beta) / B(alpha, beta), k = 0..size. The rate has the mean
    alpha/(alpha + beta); alpha + beta is the number of records that were seen before.

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
        mean, spread = closed_probability(rate, "rate"), positive_number(deviation, "deviation")
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

    def chance(self, count: int) -> float:
        """Return P[K = count] of one possible count, with a relative error of 1e-14 a record."""
        size, alpha, beta, log_gamma = self.size, self.alpha, self.beta, math.lgamma
        chosen = log_gamma(size + 1) - log_gamma(count + 1) - log_gamma(size - count + 1)
        drawn = log_gamma(count + alpha) + log_gamma(size - count + beta) - log_gamma(size + alpha + beta)
        return math.exp(chosen + drawn + log_gamma(alpha + beta) - log_gamma(alpha) - log_gamma(beta))

    @property
    def moments(self) -> Moments:
        """The means of the count and of its pairs of unlike records."""
        rate, complement = _share(self.alpha, self.beta), _share(self.beta, self.alpha)
        return Moments.of_equals(self.size, rate, complement, 1 / (1 + 1 / (self.alpha + self.beta)))

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Counts drawn for a simulation, shape (runs,)."""
        rates = generator.beta(self.alpha, self.beta, runs)
        return generator.binomial(self.size, rates).astype(np.float64)


def _share(one: float, other: float) -> float:
    """one/(one + other), of numbers whose sum or quotient may be no double."""
    if one >= other:
        return 1 / (1 + other / one)
    return one / other / (1 + one / other)
