"""Noisy answers about one count beside what was known before, and the estimate from both."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from noisycount.analysis.posterior.posterior import Posterior, posterior
from noisycount.app.refine.assumption import Assumed, Rate
from noisycount.model.drawing.scales import as_written
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.discrete_laplace import DiscreteLaplace

__all__ = ["LEVEL", "Refinement", "refined"]

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Refinement:
    """A Bayes estimate of a count.

    Attributes:
        answers: The noisy answers about it, in records.
        assumed: What was assumed before them.
        noise: The noise of each answer, drawn independently.
        told: The law of the count given the answers.
        level: The level of `interval`.
    """

    answers: tuple[float, ...]
    assumed: Assumed
    noise: AdditiveNoise
    told: Posterior
    level: float = LEVEL

    @classmethod
    def of(
        cls, answers: Sequence[float], assumed: Assumed, noise: AdditiveNoise, level: float = LEVEL
    ) -> "Refinement":
        """The estimate of one count from answers that all have this noise.

        Raises:
            ValueError: If the noise cannot give one of the answers.
        """
        told = posterior(answers, assumed.population, [noise] * len(answers))
        return cls(tuple(answers), assumed, noise, told, level)

    @property
    def answer(self) -> float:
        """The average of the answers, in records."""
        return self.answers[0] if len(self.answers) == 1 else sum(self.answers) / len(self.answers)

    @property
    def answer_deviation(self) -> float:
        """The standard deviation of that average about the count, in records."""
        return math.sqrt(self.noise.variance / len(self.answers))

    @property
    def deviation(self) -> float:
        """The standard deviation of the count given the answers, in records."""
        return math.sqrt(self.told.variance)

    @property
    def interval(self) -> tuple[int, int]:
        """The equal-tailed interval of the count, in records."""
        return self.told.interval(self.level)

    @property
    def mechanism(self) -> str:
        """The kind of noise, in words."""
        return self.noise.name

    @property
    def scale(self) -> Fraction:
        """The scale of the noise as it is written, in records."""
        return as_written(self.noise.scale, "scale")

    @property
    def epsilon(self) -> Fraction | None:
        """The ε of each answer; None for noise that has none."""
        return None if self.noise.epsilon is None else 1 / self.scale


def refined(answer: int, size: int, rate: float, epsilon: Fraction) -> Refinement:
    """The estimate from an answer as `noisycount count` gives it, and one known rate."""
    assumed = Assumed.of_rate(size, Rate(rate))
    return Refinement.of([answer], assumed, DiscreteLaplace.for_epsilon(epsilon))
