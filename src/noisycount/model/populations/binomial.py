"""Exchangeable populations with a closed formula: a known rate (binomial) or an uncertain one (beta-binomial).

`ClosedFormPopulation` is the base class for a formula of your own. `populations.population` defines the interface.
"""

import math
from abc import abstractmethod
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.factors import BetaBinomialFactor, Factor, LogRatio
from noisycount.model.laws.gamma import FLAT, Expansion, Reals, binomial_expansion
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.populations.population import Exchangeable, Informed, Moments, Sample, known_records
from noisycount.model.populations.tabulated import LARGEST_TABLE, Tabulated
from noisycount.validation import closed_probability, positive_number, whole_number


class SmoothPopulation(Factor, Exchangeable):
    """A population whose prior has a smooth logarithm, so that it can be multiplied with smooth likelihoods."""

    __slots__ = ()

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """Return the distribution of the count, given the answers with these likelihoods."""
        return smooth_law([self, *likelihoods]) if likelihoods else _prior_law(self)

    @property
    def smooth_prior(self) -> Factor:
        """The prior of the count as a smooth factor: the population itself."""
        return self


@lru_cache(maxsize=64)  # a distribution takes a few kilobytes; every answer of a table needs the same one
def _prior_law(population: SmoothPopulation) -> CountDistribution:
    """Return the distribution of the count before any answer."""
    return smooth_law([population])


# Rounding of a million logarithms stays below this error of the sum; a larger error means a wrong formula.
_SUM_TOLERANCE = 1e-9


class ClosedFormPopulation(Exchangeable):
    """Base class of exchangeable records whose count has a known formula. A subclass defines `size` and `log_pmf`.

    Posteriors, privacy curves, evaluations and losses are computed from a table of the formula. A subclass is a frozen
    dataclass, so that equal populations share one table. The table has at most 10^8 + 1 probabilities.
    """

    __slots__ = ()

    @abstractmethod
    def log_pmf(self, counts: Reals) -> Reals:
        """Return ln P[K = k] for whole counts k in 0..size, in the shape of `counts`; −inf for probability 0."""

    @property
    def table(self) -> Tabulated:
        """The distribution as a table. Raises ValueError if the probabilities do not sum to 1 within 1e-9."""
        return _table_of_formula(self)

    @property
    def has_chances(self) -> bool:
        """True: a range of the table costs no more than its entries."""
        return True

    def log_chances(self, first: int, last: int) -> Reals:
        """Return ln P[K = k] for k = first..last, shape (last − first + 1,)."""
        return self.table.log_chances(first, last)

    @property
    def expected_positives(self) -> Fraction:
        """E[K], summed around the most likely count."""
        return self.table.expected_positives

    @property
    def moments(self) -> Moments:
        """E[K], E[n − K] and E[K(n − K)]."""
        return self.table.moments

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """Return the distribution of the count, given the answers with these likelihoods."""
        return self.table.law(*likelihoods)

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Return simulated counts, shape (runs,)."""
        return self.table.draws(runs, generator)

    def given(self, known: int, positives: int) -> Informed:
        """Return the population as seen by an adversary who holds some of the records."""
        return self.table.given(known, positives)


@lru_cache(maxsize=2)  # the true and the assumed population; a large table takes 0.8 GB
def _table_of_formula(population: ClosedFormPopulation) -> Tabulated:
    """Return the table of a formula; raise ValueError if the size or the sum of the probabilities is wrong."""
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

    size: int = field()  # without field(), the property of the base class would become the default value
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number(self.size, "size"))
        object.__setattr__(self, "rate", closed_probability(self.rate, "rate"))

    def given(self, known: int, positives: int) -> Informed:
        """Return the population as seen by an adversary who holds some records.

        The other records keep the same rate.
        """
        held, positive = known_records(known, positives, self.size)
        impossible = (self.rate == 0 and positive > 0) or (self.rate == 1 and positive < held)
        if impossible:
            raise ValueError(
                f"positives cannot be {positives} of {known} at the certain rate {self.rate}: "
                "no record can differ in a property that is certain"
            )
        return Informed(Binomial(self.size - held, self.rate), held, positive)

    @property
    def expected_positives(self) -> Fraction:
        """E[K] = size·rate, exactly."""
        return self.size * Fraction(self.rate)

    def sample(self, sample_size: int) -> Sample:
        """Return the distribution of a random sample: records of the same rate, independent of the others."""
        return Sample(Binomial(sample_size, self.rate), Fraction(1))

    @property
    def moments(self) -> Moments:
        """E[K], E[n − K] and E[K(n − K)]."""
        return Moments.of_equals(self.size, self.rate, 1 - self.rate, 1.0)

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Return simulated counts, shape (runs,)."""
        return generator.binomial(self.size, self.rate, runs).astype(np.float64)

    @property
    def support(self) -> tuple[int, int]:
        """Smallest and largest count of positive probability."""
        return (self.size if self.rate == 1 else 0, 0 if self.rate == 0 else self.size)

    def expansion(self, centre: int) -> Expansion:
        """Return ln P[K = centre + d] − ln P[K = centre] as a function of the offset d."""
        smallest, largest = self.support
        if smallest == largest:
            return FLAT
        return binomial_expansion(self.size, self.rate, centre)

    def log_ratio_to_next(self, count: int) -> float:
        """Return ln(P[K = count + 1] / P[K = count]) for two counts of the support."""
        odds = (self.size - count) / (count + 1)
        return math.log(odds) + math.log(self.rate) - math.log1p(-self.rate)

    def exact_log_ratio_to_next(self, count: int) -> LogRatio:
        """Return P[K = count + 1] / P[K = count] as an exact rational number."""
        rate = Fraction(self.rate)
        return LogRatio(Fraction(self.size - count, count + 1) * (rate / (1 - rate)))


@frozen
class BetaBinomial(BetaBinomialFactor, SmoothPopulation):
    """Records that share one uncertain rate, which has a beta distribution.

    P[K = k] = C(size, k)·B(k + alpha, size − k + beta) / B(alpha, beta), k = 0..size. The rate has the mean
    alpha/(alpha + beta). alpha + beta counts like a number of records that were observed before.

    Args:
        size: The public number of records, 0 to 2^53.
        alpha: The first shape parameter, positive and finite.
        beta: The second shape parameter, positive and finite.

    Raises:
        ValueError: If the size is not a whole number in that range or a shape parameter is not positive.

    Source: the conjugate prior of Naldi and D'Acquisto (2014), eq. (11), for an uncertain rate.

    Numerical error: 1e-14 relative for each record in a probability.

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
        """Return the population whose rate has a given mean and standard deviation.

        alpha + beta = rate·(1 − rate)/deviation² − 1.

        Args:
            size: The public number of records, 0 to 2^53.
            rate: The mean of the rate, in (0, 1).
            deviation: The standard deviation of the rate, positive, below √(rate·(1 − rate)).

        Raises:
            ValueError: If no beta distribution has this mean and deviation.

        Example:
            >>> import noisycount as nc
            >>> population = nc.BetaBinomial.from_rate(100, 0.5, 0.25)
            >>> population.alpha, population.beta
            (1.5, 1.5)
        """
        mean, spread = closed_probability(rate, "rate"), positive_number(deviation, "deviation")
        prior_records = mean * (1 - mean) / spread / spread - 1
        if not 0 < prior_records < math.inf:
            raise ValueError(
                f"deviation must be above 0 and below √(rate·(1 − rate)) = "
                f"{math.sqrt(mean * (1 - mean)):.6g}, got {deviation!r}"
            )
        return cls(size, mean * prior_records, (1 - mean) * prior_records)

    def given(self, known: int, positives: int) -> Informed:
        """Return the population as seen by an adversary who holds some records, which update the rate."""
        held, positive = known_records(known, positives, self.size)
        alpha, beta = self.alpha + positive, self.beta + (held - positive)
        return Informed(BetaBinomial(self.size - held, alpha, beta), held, positive)

    @property
    def expected_positives(self) -> Fraction:
        """E[K] = size·alpha/(alpha + beta), exactly."""
        alpha = Fraction(self.alpha)
        return self.size * alpha / (alpha + Fraction(self.beta))

    def sample(self, sample_size: int) -> Sample:
        """Return the distribution of a random sample, and the growth of E[K | S] with each positive record in it.

        E[rate | S = s] = (alpha + s)/(alpha + beta + m) for a sample of m records.
        """
        prior_records = Fraction(self.alpha) + Fraction(self.beta)
        gain = (self.size + prior_records) / (sample_size + prior_records)
        return Sample(BetaBinomial(sample_size, self.alpha, self.beta), gain)

    @property
    def moments(self) -> Moments:
        """E[K], E[n − K] and E[K(n − K)]."""
        rate, complement = _share_of_sum(self.alpha, self.beta), _share_of_sum(self.beta, self.alpha)
        return Moments.of_equals(self.size, rate, complement, 1 / (1 + 1 / (self.alpha + self.beta)))

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Return simulated counts, shape (runs,)."""
        rates = generator.beta(self.alpha, self.beta, runs)
        return generator.binomial(self.size, rates).astype(np.float64)


def _share_of_sum(one: float, other: float) -> float:
    """Return one/(one + other) without overflow or underflow of the sum or the quotient."""
    if one >= other:
        return 1 / (1 + other / one)
    return one / other / (1 + one / other)
