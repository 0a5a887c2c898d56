"""Noise that is added to a count: Laplace, and the discrete Laplace law that is really released."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.model.expansion import Expansion, Reals, decimal_ratio
from noisycount.model.factor import LogStep
from noisycount.model.mechanism import Mechanism
from noisycount.model.sampler import RandomIntegers, discrete_laplace, rounded_laplace
from noisycount.model.validation import positive_number, real_number, whole_number
from noisycount.model.vector_sampler import LARGEST_TERM, discrete_laplace_array

__all__ = ["DiscreteLaplace", "Laplace", "LaplaceKernel", "LaplaceLikelihood"]

_GRID_BITS = 40


class LaplaceKernel(Mechanism):
    """Noise whose law is proportional to e^(−|y − k|/scale): continuous or discrete."""

    __slots__ = ()

    @property
    @abstractmethod
    def exact_scale(self) -> Fraction:
        """The scale in records, as the rational that is drawn."""

    @abstractmethod
    def check_answer(self, answer: float) -> None:
        """Refuse, with a ValueError, an answer that this noise cannot give."""

    @abstractmethod
    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha], alpha in records."""

    @abstractmethod
    def smallest_error(self, beta: float) -> float:
        """The smallest alpha, in records, with P[|Y − K| >= alpha] <= beta, beta in (0, 1)."""

    def likelihood(self, answer: float, size: int) -> "LaplaceLikelihood":  # noqa: ARG002  (as additive noise of every size)
        """The likelihood e^(−|answer − k|/scale) of a count k."""
        self.check_answer(answer)
        return LaplaceLikelihood(float(answer), self.exact_scale)


@dataclass(frozen=True, slots=True)
class LaplaceLikelihood:
    """The factor e^(−|answer − k|/scale) of a count k: two straight lines in its logarithm.

    Attributes:
        answer: The answer, in records.
        scale: In records.
    """

    answer: float
    scale: Fraction

    @property
    def support(self) -> tuple[float, float]:
        """Every count."""
        return -math.inf, math.inf

    @property
    def kinks(self) -> tuple[float, ...]:
        """The answer, where the two lines meet."""
        return (self.answer,)

    @property
    def is_log_concave(self) -> bool:
        """Always."""
        return True

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

    def check_answer(self, answer: float) -> None:
        """Refuse an answer that is not a finite number."""
        real_number(answer, "answer")

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha]: −alpha/scale for alpha >= 0."""
        return min(0.0, -alpha / self.scale)

    def smallest_error(self, beta: float) -> float:
        """The alpha with P[|Y − K| >= alpha] = beta: −scale·ln(beta)."""
        return -self.scale * math.log(beta)

    def release(self, count: int) -> float:
        """The count plus noise of the continuous law, rounded to a public grid by an exact sampler.

        The grid is 2^min(0, ⌊log2 scale⌋ − 40) records, whatever the count, so that the low bits
        of an answer tell nothing. Below a scale of 2^40 records the law that is released is within
        2^−40 of the continuous one in total variation; above, within 1/scale.

        Args:
            count: The true count, a whole number.
        """
        exponent = min(0, math.frexp(self.scale)[1] - 1 - _GRID_BITS)
        steps = rounded_laplace(self.exact_scale * 2**-exponent, RandomIntegers())
        return float(whole_number(count, "count") + Fraction(steps, 2**-exponent))


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
        object.__setattr__(self, "scale", _drawable(_as_written(scale, "scale")))

    @classmethod
    def for_epsilon(cls, epsilon: float | Fraction, sensitivity: float | Fraction = 1) -> Self:
        """The noise that makes a query of that sensitivity ε-differentially private."""
        return cls(_as_written(sensitivity, "sensitivity") / _as_written(epsilon, "epsilon"))

    @property
    def epsilon(self) -> Fraction:
        """The exact ε of a count of sensitivity 1: 1/scale."""
        return 1 / self.scale

    @property
    def exact_scale(self) -> Fraction:
        """The scale."""
        return self.scale

    def check_answer(self, answer: float) -> None:
        """Refuse an answer that is not an integer."""
        if not real_number(answer, "answer").is_integer():
            raise ValueError(f"answer must be an integer under discrete noise, got {answer!r}")

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha]: ln 2 − ⌈alpha⌉/scale − ln(1 + e^(−1/scale))."""
        if alpha <= 0:
            return 0.0
        per_record = float(self.epsilon)
        return math.log(2) - math.ceil(alpha) * per_record - math.log1p(math.exp(-per_record))

    def smallest_error(self, beta: float) -> int:
        """The smallest integer alpha with P[|Y − K| >= alpha] <= beta."""
        excess = self.log_tail(1) + float(self.epsilon) - math.log(beta)
        alpha = max(1, math.ceil(excess * float(self.scale)))
        while alpha > 1 and self.log_tail(alpha - 1) <= math.log(beta):
            alpha -= 1
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


def _as_written(value: float | Fraction, name: str) -> Fraction:
    """The positive rational that a number stands for: a float is the decimal shown for it."""
    number = positive_number(value, name)
    if isinstance(value, Fraction):
        return value
    return Fraction(int(value)) if isinstance(value, Integral) else Fraction(str(number))


def _drawable(scale: Fraction) -> Fraction:
    """The scale, rounded up where its terms are too large for the vectorised sampler."""
    if not Fraction(1, 2**52) <= scale <= 2**52:
        raise ValueError(f"scale must be between 2**-52 and 2**52 records, got {float(scale)!r}")
    if max(scale.numerator, scale.denominator) <= LARGEST_TERM:
        return scale
    if scale < 1:
        return 1 / _to_53_bits(1 / scale, math.floor)
    return _to_53_bits(scale, math.ceil)


def _to_53_bits(value: Fraction, rounded: Callable[[Fraction], int]) -> Fraction:
    """A number of at least 1, rounded to 53 significant bits."""
    shift = 2 ** (53 - math.floor(value).bit_length())
    return Fraction(rounded(value * shift), shift)
