"""What continuous and discrete Gaussian noise have in common: a density of e^(−z²/(2·scale²))."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from noisycount.model.laws.expansion import FLAT, Expansion, Reals, decimal_ratio
from noisycount.model.laws.factor import BaseFactor, LogStep
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.error.law import ClosedForm
from noisycount.model.noises.sums.summand import Summand

__all__ = ["GaussianKernel", "GaussianLikelihood", "GaussianShape"]

_FARTHEST_ANSWER = 2.0**600  # beyond, slopes of the narrowest noise would overflow


class GaussianKernel(AdditiveNoise):
    """Noise whose law is proportional to e^(−(y − k)²/(2·scale²)): continuous or discrete."""

    is_log_concave: ClassVar[bool] = True  # the logarithm is a parabola

    __slots__ = ()

    @property
    def summand(self) -> Summand:
        """Gaussian noise of its scale."""
        return Summand(gaussian=float(self.scale))

    def factor(self, answer: float) -> "GaussianLikelihood":
        """The factor e^(−(answer − k)²/(2·scale²)) of a count k."""
        return GaussianLikelihood(answer, self.exact_scale)


@dataclass(frozen=True, slots=True)
class GaussianLikelihood(BaseFactor):
    """The factor e^(−(answer − k)²/(2·scale²)) of a count k: a parabola in its logarithm.

    Attributes:
        answer: The answer, in records, within ±2^600.
        scale: In records, between 2^−52 and 2^52.

    Raises:
        ValueError: If the answer is so far away that its slopes would overflow.
    """

    answer: float
    scale: Fraction

    def __post_init__(self) -> None:
        if abs(self.answer) > _FARTHEST_ANSWER:
            raise ValueError(f"answer must lie within 2**600 records of 0, got {self.answer!r}")

    def expansion(self, centre: int) -> Expansion:
        """The tangent at the centre as slope, (answer − centre)/scale², curved by −1/(2·scale²)."""
        slope = (Fraction(self.answer) - centre) / self.scale**2
        curvature = decimal_ratio(-1 / (2 * self.scale**2))
        return Expansion(decimal_ratio(slope), FLAT.bend, curvature)

    def log_step(self, count: int) -> float:
        """The slope half way to the next count: (answer − count − 1/2)/scale²."""
        return (self.answer - count - 0.5) / float(self.scale**2)

    def exact_log_step(self, count: int) -> LogStep:
        """The slope half way as a rational number of nats."""
        return LogStep(shift=(Fraction(self.answer) - count - Fraction(1, 2)) / self.scale**2)


@dataclass(frozen=True, slots=True)
class GaussianShape(ClosedForm):
    """The law at many errors, up to what tells continuous noise from discrete one.

    Attributes:
        scale: In records.
    """

    steepest: ClassVar[None] = None  # the slope grows without end

    scale: float

    @property
    def spread(self) -> float:
        """The scale."""
        return self.scale

    @property
    def smooth_over(self) -> float:
        """The scale."""
        return self.scale

    def reach(self, depth: float) -> float:
        """The scale times √(2·depth)."""
        return self.scale * math.sqrt(2 * depth)

    def log_density(self, errors: Reals) -> Reals:
        """−z²/(2·scale²)."""
        units = errors / self.scale
        logs: Reals = -units * units / 2
        return logs

    def log_change(self, error: float, steps: Reals) -> Reals:
        """step·(2·error − step)/(2·scale²)."""
        change: Reals = (steps / self.scale) * ((2 * error - steps) / self.scale) / 2
        return change
