"""A noisy answer beside what was known before, and the estimate from both."""

from dataclasses import dataclass
from fractions import Fraction

from noisycount.analysis.posterior import Posterior, posterior
from noisycount.model.noise import DiscreteLaplace
from noisycount.model.populations import Binomial

__all__ = ["Refinement", "refined"]

_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Refinement:
    """A Bayes estimate of a count.

    Attributes:
        answer: The noisy answer, in records.
        epsilon: The ε of the answer.
        population: What was assumed before it.
        told: The law of the count given the answer.
    """

    answer: int
    epsilon: Fraction
    population: Binomial
    told: Posterior

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise of the answer."""
        return DiscreteLaplace.for_epsilon(self.epsilon)

    @property
    def level(self) -> float:
        """The level of `interval`."""
        return _LEVEL

    @property
    def interval(self) -> tuple[int, int]:
        """The equal-tailed 95 % interval of the count, in records."""
        return self.told.interval(_LEVEL)


def refined(answer: int, size: int, rate: float, epsilon: Fraction) -> Refinement:
    """The estimate of a count from a discrete Laplace answer about `size` records of known rate."""
    population = Binomial(size, rate)
    told = posterior(answer, population, DiscreteLaplace.for_epsilon(epsilon))
    return Refinement(answer, epsilon, population, told)
