"""Noise that is added to a count: Laplace, and the discrete Laplace law that is really released."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.model.drawing.many import discrete_laplace_array
from noisycount.model.drawing.one import RandomIntegers, discrete_laplace, rounded_laplace
from noisycount.model.drawing.scales import as_written, drawable, public_grid
from noisycount.model.laws.expansion import Expansion, Reals, decimal_ratio
from noisycount.model.laws.factor import BaseFactor, LogStep
from noisycount.model.noises.additive import AdditiveNoise, check_integer, log_complement
from noisycount.model.noises.error_laws import DiscreteLaplaceErrors, LaplaceErrors
from noisycount.model.noises.smallest_error import log_one_minus_exp
from noisycount.model.validation import positive_number, real_number, whole_number

__all__ = ["DiscreteLaplace", "Laplace", "LaplaceKernel", "LaplaceLikelihood"]


class LaplaceKernel(AdditiveNoise):
    """Noise whose law is proportional to e^(−|y − k|/scale): continuous or discrete."""

    __slots__ = ()

    def likelihood(self, answer: float, size: int) -> "LaplaceLikelihood":  # noqa: ARG002  (as additive noise of every size)
        """The likelihood e^(−|answer − k|/scale) of a count k."""
        self.check_answer(answer)
        return LaplaceLikelihood(float(answer), self.exact_scale)


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
        to_answer = self.answer - centre
        bend_per_record = -2 * float(1 / self.scale)

        def bend(offsets: Reals) -> Reals:
            beyond = offsets - to_answer if to_answer >= 0 else to_answer - offsets
            return bend_per_record * np.maximum(beyond, 0)

        slope = decimal_ratio(1 / self.scale)
        return Expansion(slope if to_answer >= 0 else -slope, bend)

    def log_step(self, count: int) -> float:
        """A step towards the answer gains 1/scale, a step away loses it."""
        nearer = 2 * (self.answer - count) - 1
        return max(-1.0, min(1.0, nearer)) / float(self.scale)

    def exact_log_step(self, count: int) -> LogStep:
        """The same, exactly."""
        nearer = 2 * (Fraction(self.answer) - count) - 1
        return LogStep(shift=max(Fraction(-1), min(Fraction(1), nearer)) / self.scale)


@dataclass(frozen=True, slots=True)
class Laplace(LaplaceKernel):
    """Continuous Laplace noise with density e^(−|z|/scale) / (2·scale).

    Adding it to a count of sensitivity 1 is (1/scale)-differentially private.

    Args:
        scale: In records, positive and finite.

    Raises:
        ValueError: If the scale is not a positive finite number.

    Source: Naldi and D'Acquisto (2014), eq. (1), with b = scale = 1/ε.

    Example:
        >>> Laplace(10.0).epsilon
        0.1
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_number(self.scale, "scale"))

    @classmethod
    def for_epsilon(cls, epsilon: float, sensitivity: float = 1) -> Self:
        """The noise that makes a query of that sensitivity ε-differentially private."""
        return cls(
            positive_number(sensitivity, "sensitivity") / positive_number(epsilon, "epsilon")
        )

    @property
    def epsilon(self) -> float:
        """The ε of a count of sensitivity 1: 1/scale."""
        return 1 / self.scale

    @property
    def exact_scale(self) -> Fraction:
        """The scale as the rational that the float stands for."""
        return Fraction(self.scale)

    @property
    def variance(self) -> float:
        """The variance of the noise, 2·scale², in records²."""
        return 2 * self.scale * self.scale

    @property
    def errors(self) -> LaplaceErrors:
        """The law of the noise at many errors at once."""
        return LaplaceErrors(1 / self.exact_scale)

    def check_answer(self, answer: float) -> None:
        """Refuse an answer that is not a finite number."""
        real_number(answer, "answer")

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha]: −alpha/scale for alpha >= 0."""
        return min(0.0, -alpha / self.scale)

    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| < alpha] = 1 − e^(−alpha/scale), alpha in records."""
        return log_one_minus_exp(self.log_tail(alpha))

    def error_with_tail(self, log_beta: float) -> float:
        """The alpha with ln P[|Y − K| >= alpha] = log_beta: −scale·log_beta."""
        return -self.scale * log_beta

    def release(self, count: int) -> float:
        """The count plus noise of the continuous law, rounded to a public grid by an exact sampler.

        The grid is 2^min(0, ⌊log2 scale⌋ − 40) records, whatever the count, so that the low bits
        of an answer tell nothing. Below a scale of 2^40 records the law that is released is within
        2^−40 of the continuous one in total variation; above, within 1/scale.

        Args:
            count: The true count, a whole number.
        """
        grid = public_grid(self.scale)
        steps = rounded_laplace(self.exact_scale / grid, RandomIntegers())
        return float(whole_number(count, "count") + steps * grid)


@dataclass(frozen=True, slots=True, init=False)
class DiscreteLaplace(LaplaceKernel):
    """Discrete Laplace noise on the integers: P[Z = z] = tanh(1/(2·scale))·e^(−|z|/scale).

    Adding it to a count of sensitivity 1 is (1/scale)-differentially private, exactly: the scale is
    a rational number and the sampler uses integers only.

    Args:
        scale: In records, between 2^−52 and 2^52. A float is read as the decimal that Python shows
            for it (0.1 is 1/10); a rational whose terms exceed 2^53 is rounded up, by less than
            one part in 2^51.

    Raises:
        ValueError: If the scale is not a number in that range.

    Source: Canonne, Kamath, Steinke (2020); Ghosh, Roughgarden, Sundararajan (2009).

    Example:
        >>> DiscreteLaplace.for_epsilon(0.15).scale
        Fraction(20, 3)
    """

    scale: Fraction

    def __init__(self, scale: float | Fraction) -> None:
        object.__setattr__(self, "scale", drawable(as_written(scale, "scale")))

    @classmethod
    def for_epsilon(cls, epsilon: float | Fraction, sensitivity: float | Fraction = 1) -> Self:
        """The noise that makes a query of that sensitivity ε-differentially private."""
        return cls(as_written(sensitivity, "sensitivity") / as_written(epsilon, "epsilon"))

    @property
    def epsilon(self) -> Fraction:
        """The exact ε of a count of sensitivity 1: 1/scale."""
        return 1 / self.scale

    @property
    def exact_scale(self) -> Fraction:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> float:
        """The variance of the noise, 2q/(1 − q)² with q = e^(−1/scale), in records²."""
        per_record = float(self.epsilon)
        return 2 * math.exp(-per_record) / math.expm1(-per_record) ** 2

    @property
    def errors(self) -> DiscreteLaplaceErrors:
        """The law of the noise at many errors at once."""
        return DiscreteLaplaceErrors(self.epsilon)

    def check_answer(self, answer: float) -> None:
        """Refuse an answer that is not an integer."""
        check_integer(answer)

    def log_exceedance(self, error: float) -> float:
        """The logarithm of P[Z >= error]: −error/scale − ln(1 + e^(−1/scale)) above 0."""
        if error <= 0:
            return log_complement(self.log_exceedance(1 - error))
        per_record = float(self.epsilon)
        return -error * per_record - math.log1p(math.exp(-per_record))

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha]: −⌈alpha⌉/scale − ln((1 + e^(−1/scale))/2)."""
        per_record = float(self.epsilon)
        return -math.ceil(alpha) * per_record + _log_lift(per_record) if alpha > 0 else 0.0

    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| < alpha], alpha in records, also where it is tiny."""
        return log_one_minus_exp(self.log_tail(alpha))

    def error_with_tail(self, log_beta: float) -> int:
        """The smallest integer alpha with ln P[|Y − K| >= alpha] <= log_beta."""
        lift = _log_lift(float(self.epsilon))
        alpha = max(1, math.ceil((lift - log_beta) * float(self.scale)))
        while alpha > 1 and self.log_tail(alpha - 1) <= log_beta:
            alpha -= 1
        while self.log_tail(alpha) > log_beta:
            alpha += 1
        return alpha

    def release(self, count: int) -> int:
        """The count plus one exact draw of the noise.

        Args:
            count: The true count, a whole number.
        """
        return whole_number(count, "count") + discrete_laplace(self.scale, RandomIntegers())

    def samples(self, size: int) -> NDArray[np.int64]:
        """Independent draws of the noise, in records, shape (size,), by the exact sampler."""
        return discrete_laplace_array(self.scale, whole_number(size, "size"))


def _log_lift(per_record: float) -> float:
    """−ln((1 + e^−ε)/2), also where ε is tiny."""
    return -math.log1p(math.expm1(-per_record) / 2)
