"""What continuous and discrete Laplace noise have in common: a density of e^(−|z|/scale)."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from noisycount.model.laws.expansion import FLAT, Expansion, Kink, Reals, decimal_ratio
from noisycount.model.laws.factor import BaseFactor, LogStep
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.noises.error.law import ClosedForm
from noisycount.model.noises.sums.summand import Summand

__all__ = ["LaplaceKernel", "LaplaceLikelihood", "LaplaceShape"]

_STEEPEST = 1e280  # noise that narrow changes no integer


class LaplaceKernel(AdditiveNoise):
    """Noise whose law is proportional to e^(−|y − k|/scale): continuous or discrete."""

    is_log_concave: ClassVar[bool] = True  # two lines meet in a peak

    __slots__ = ()

    @classmethod
    @abstractmethod
    def for_epsilon(cls, epsilon: float, sensitivity: float = 1) -> Self:
        """The noise that makes a query of that sensitivity ε-differentially private."""

    @property
    def summand(self) -> Summand:
        """Laplace noise of its scale."""
        return Summand(laplace=float(self.scale))

    def factor(self, answer: float) -> "LaplaceLikelihood":
        """The factor e^(−|answer − k|/scale) of a count k."""
        return LaplaceLikelihood(answer, self.exact_scale)


@dataclass(frozen=True, slots=True)
class LaplaceLikelihood(BaseFactor):
    """The factor e^(−|answer − k|/scale) of a count k: two straight lines in its logarithm.

    Attributes:
        answer: The answer, in records.
        scale: In records.
    """

    answer: float
    scale: Fraction

    @property
    def kinks(self) -> tuple[float, ...]:
        """The answer, where the two lines meet."""
        return (self.answer,)

    def expansion(self, centre: int) -> Expansion:
        """The line through the centre as slope; the other line bends away from it."""
        to_answer = Fraction(self.answer) - centre
        side = 1 if to_answer >= 0 else -1
        kink = Kink(decimal_ratio(to_answer), side, decimal_ratio(-2 / self.scale))
        return Expansion(decimal_ratio(side / self.scale), FLAT.bend, kinks=(kink,))

    def log_step(self, count: int) -> float:
        """A step towards the answer gains 1/scale, a step away loses it."""
        nearer = 2 * (self.answer - count) - 1
        return max(-1.0, min(1.0, nearer)) / float(self.scale)

    def exact_log_step(self, count: int) -> LogStep:
        """The step as a rational number of nats."""
        nearer = 2 * (Fraction(self.answer) - count) - 1
        return LogStep(shift=max(Fraction(-1), min(Fraction(1), nearer)) / self.scale)


@dataclass(frozen=True, slots=True)
class LaplaceShape(ClosedForm):
    """The law at many errors, up to what tells continuous noise from discrete one.

    Attributes:
        scale: In records.
    """

    smooth_over: ClassVar[float] = 0.0  # it has a kink
    is_geometric: ClassVar[bool] = True

    scale: float | Fraction
    _rate: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rate", min(float(1 / self.scale), _STEEPEST))

    @property
    def steepest(self) -> Fraction:
        """1/scale."""
        return 1 / Fraction(self.scale)

    @property
    def spread(self) -> float:
        """The scale."""
        return 1 / self._rate

    def reach(self, depth: float) -> float:
        """The scale times the depth."""
        return depth / self._rate

    def log_density(self, errors: Reals) -> Reals:
        """−|z|/scale."""
        logs: Reals = -self._rate * np.abs(errors)
        return logs

    def log_change(self, error: float, steps: Reals) -> Reals:
        """−(|error − step| − |error|)/scale: a line up to the step that reaches 0, and down."""
        side = math.copysign(1.0, error)
        change: Reals = self._rate * np.minimum(side * steps, 2 * abs(error) - side * steps)
        return change

    def _fall(self, least: float, low: Reals, widths: Reals) -> Reals:
        """e^(−l/scale) − e^(−(l + width)/scale) of what is at least so large."""
        lengths = np.minimum(widths, np.maximum(low + widths - least, 0))
        fall: Reals = -np.exp(-self._rate * np.maximum(low, least)) * np.expm1(
            -self._rate * lengths
        )
        return fall
