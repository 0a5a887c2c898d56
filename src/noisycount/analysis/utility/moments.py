"""The means of a count and of its pairs of unlike records."""

from dataclasses import dataclass

import numpy as np

from noisycount.model.populations.exchangeable import BetaBinomial, Binomial, Known
from noisycount.model.populations.population import Informed, Population
from noisycount.model.populations.strata import Strata
from noisycount.model.populations.tabulated import Tabulated

__all__ = ["Moments"]


@dataclass(frozen=True, slots=True)
class Moments:
    """Means of a count K among n records, without the cancellation of n·E[K] − E[K²].

    Numerical error: 1e-14 relative; 1e-12 for `Tabulated`; of a population that is not part of this
    package, what the mean and the variance of its law leave.

    Attributes:
        positives: E[K].
        negatives: E[n − K].
        discordant: E[K(n − K)], the pairs of a positive and a negative record.
    """

    positives: float
    negatives: float
    discordant: float

    @classmethod
    def of(cls, population: Population) -> "Moments":
        """The moments of a population."""
        match population:
            case Binomial(size=size, rate=rate):
                moments = cls.of_equals(size, rate, 1 - rate, 1.0)
            case BetaBinomial(size=size, alpha=alpha, beta=beta):
                alike = 1 / (1 + 1 / (alpha + beta))
                moments = cls.of_equals(size, 1 / (1 + beta / alpha), 1 / (1 + alpha / beta), alike)
            case Strata():
                moments = cls.of_strata(population)
            case Tabulated():
                moments = cls.of_table(population)
            case Known(size=size, count=count):
                counts = (size // 2,) if count is None else (count, count + 1)
                moments = cls.of_count(size, max(counts, key=lambda k: k * (size - k)))
            case Informed(rest=rest, known=known, positives=positives):
                moments = cls.of(rest).beside(cls.of_count(known, positives))
            case _:
                law = population.law()
                others = population.size - law.mean
                moments = cls(law.mean, others, law.mean * others - law.variance)
        return moments

    @classmethod
    def of_count(cls, size: int, count: int) -> "Moments":
        """The moments of a known count."""
        return cls(float(count), float(size - count), float(count * (size - count)))

    @classmethod
    def of_equals(cls, size: int, rate: float, complement: float, alike: float) -> "Moments":
        """The moments of records of one mean rate; E[r(1 − r)] = alike·rate·complement."""
        pairs = size * (size - 1) * (rate * complement * alike)
        return cls(size * rate, size * complement, pairs)

    @classmethod
    def of_strata(cls, population: Strata) -> "Moments":
        """The moments of independent groups: all pairs but those of a record with itself."""
        sizes, rates = population.sizes.astype(np.float64), population.rates
        positives, negatives = float(sizes @ rates), float(sizes @ (1 - rates))
        same = float(sizes @ (rates * (1 - rates)))
        return cls(positives, negatives, positives * negatives - same)

    @classmethod
    def of_table(cls, population: Tabulated) -> "Moments":
        """The moments of a tabulated law."""
        chances = np.exp(population.log_probabilities)
        counts = np.arange(chances.size, dtype=np.float64)
        weighted = chances * counts
        return cls(
            float(weighted.sum()), float(chances @ counts[::-1]), float(weighted @ counts[::-1])
        )

    def beside(self, other: "Moments") -> "Moments":
        """The moments of the sum of two independent counts."""
        return Moments(
            self.positives + other.positives,
            self.negatives + other.negatives,
            self.discordant
            + other.discordant
            + self.positives * other.negatives
            + self.negatives * other.positives,
        )
