"""Noisy answers about one count beside what was known before, and the estimate from both."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

from noisycount.analysis.posterior.posterior import Posterior, posterior_of
from noisycount.app.refine.assumption import Assumed, Rate
from noisycount.errors import NoisyCountError
from noisycount.model.drawing.scales import as_written
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.release.budget.exact import exact_text

__all__ = [
    "LEVEL",
    "Refinement",
    "check_whole",
    "continuous_words",
    "epsilon_of",
    "refined",
    "scale_of",
]

LEVEL = 0.95
_DISCRETE = "discrete "


@dataclass(frozen=True, slots=True)
class Refinement:
    """A Bayes estimate of a count.

    Attributes:
        answers: The noisy answers about it, in records.
        assumed: What was assumed before them.
        noises: The noise of each answer, drawn independently.
        told: The law of the count given the answers.
        level: The level of `interval`.
    """

    answers: tuple[float, ...]
    assumed: Assumed
    noises: tuple[AdditiveNoise, ...]
    told: Posterior
    level: float = LEVEL

    @classmethod
    def of(
        cls,
        answers: Sequence[float],
        assumed: Assumed,
        noise: AdditiveNoise | Sequence[AdditiveNoise],
        level: float = LEVEL,
    ) -> "Refinement":
        """The estimate of one count from answers, each with its noise.

        Args:
            answers: About one count, in records.
            assumed: What is public.
            noise: That of each answer, or of all.
            level: The probability of the interval.

        Raises:
            ValueError: If a noise cannot give its answer.
        """
        noises = noise if isinstance(noise, Sequence) else [noise] * len(answers)
        told = posterior_of(answers, assumed.population, noises)
        return cls(tuple(answers), assumed, tuple(noises), told, level)

    @property
    def answer(self) -> float:
        """The average of the answers, each weighted by one over its variance; in records."""
        if len(self.answers) == 1:
            return self.answers[0]
        if self.noise is not None:
            return sum(self.answers) / len(self.answers)
        weights = [1 / noise.variance for noise in self.noises]
        return math.fsum(map(mul, self.answers, weights)) / math.fsum(weights)

    @property
    def answer_deviation(self) -> float:
        """The standard deviation of that average about the count, in records."""
        if self.noise is not None:
            return math.sqrt(self.noise.variance / len(self.answers))
        return 1 / math.sqrt(math.fsum(1 / noise.variance for noise in self.noises))

    @property
    def noise(self) -> AdditiveNoise | None:
        """The one noise of all answers; None where they differ."""
        return self.noises[0] if len(set(self.noises)) == 1 else None

    @property
    def deviation(self) -> float:
        """The standard deviation of the count given the answers, in records."""
        return math.sqrt(self.told.variance)

    @property
    def interval(self) -> tuple[int, int]:
        """The equal-tailed interval of the count, in records."""
        return self.told.interval(self.level)


def continuous_words(noise: AdditiveNoise) -> str:
    """What to type if the noise was the continuous one of that scale; nothing if it is.

    Example:
        >>> continuous_words(DiscreteLaplace(5))
        ', or, if the noise was continuous, give --noise laplace --scale 5'
    """
    kind = noise.name.lower()
    if not kind.startswith(_DISCRETE):
        return ""
    continuous = kind.removeprefix(_DISCRETE).replace(" ", "-")
    scale = exact_text(scale_of(noise))
    return f", or, if the noise was continuous, give --noise {continuous} --scale {scale}"


def check_whole(answer: float, noise: AdditiveNoise) -> None:
    """The refusal of a fraction that was typed for an answer under noise of whole numbers.

    Raises:
        NoisyCountError: The noise cannot give the answer.
    """
    if noise.is_discrete and not float(answer).is_integer():
        raise NoisyCountError(
            f"the answer must be a whole number under {noise.name} noise, got {answer!r}: mend it"
            f"{continuous_words(noise)}"
        )


def scale_of(noise: AdditiveNoise) -> Fraction:
    """The scale of a noise as it is written, in records."""
    return as_written(noise.scale, "scale")


def epsilon_of(noise: AdditiveNoise) -> Fraction | None:
    """The ε of an answer with that noise; None for noise that has none."""
    return None if noise.epsilon is None else 1 / scale_of(noise)


def refined(answer: int, size: int, rate: float, epsilon: Fraction) -> Refinement:
    """The estimate from an answer as `noisycount count` gives it, and one known rate."""
    assumed = Assumed.of_rate(size, Rate(rate))
    return Refinement.of([answer], assumed, DiscreteLaplace.for_epsilon(epsilon))
