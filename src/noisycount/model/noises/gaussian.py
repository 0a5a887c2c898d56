"""Gaussian noise that is added to a count: continuous, and discrete on the integers."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from noisycount.model.drawing.many import discrete_gaussian_array
from noisycount.model.drawing.one import RandomIntegers, discrete_gaussian
from noisycount.model.drawing.scales import as_written, check_range, drawable, public_grid
from noisycount.model.laws.expansion import Expansion, Reals, decimal_ratio
from noisycount.model.laws.factor import BaseFactor, LogStep
from noisycount.model.noises.additive import AdditiveNoise, check_integer, log_complement
from noisycount.model.noises.discrete_gaussian_errors import DiscreteGaussianErrors
from noisycount.model.noises.error_laws import GaussianErrors
from noisycount.model.noises.gaussian_sums import (
    log_sum_from,
    log_sum_of_all,
    log_sum_within,
    theta,
)
from noisycount.model.noises.smallest_error import log_one_minus_exp
from noisycount.model.validation import positive_number, real_number, whole_number

__all__ = ["DiscreteGaussian", "Gaussian", "GaussianKernel", "GaussianLikelihood"]

_FARTHEST_ANSWER = 2.0**600
_FAR = 37.0


class GaussianKernel(AdditiveNoise):
    """Noise whose law is proportional to e^(−(y − k)²/(2·scale²)): continuous or discrete."""

    __slots__ = ()

    def likelihood(self, answer: float, size: int) -> "GaussianLikelihood":  # noqa: ARG002  (as additive noise of every size)
        """The likelihood e^(−(answer − k)²/(2·scale²)) of a count k."""
        self.check_answer(answer)
        return GaussianLikelihood(float(answer), self.exact_scale)


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
        """The tangent at the centre as slope, (answer − centre)/scale²; the bend −d²/(2·scale²)."""
        curvature = float(1 / self.scale**2)

        def bend(offsets: Reals) -> Reals:
            return offsets * offsets * (-curvature / 2)

        return Expansion(decimal_ratio((Fraction(self.answer) - centre) / self.scale**2), bend)

    def log_step(self, count: int) -> float:
        """The slope half way to the next count: (answer − count − 1/2)/scale²."""
        return (self.answer - count - 0.5) / float(self.scale**2)

    def exact_log_step(self, count: int) -> LogStep:
        """The same, exactly."""
        return LogStep(shift=(Fraction(self.answer) - count - Fraction(1, 2)) / self.scale**2)


@dataclass(frozen=True, slots=True)
class Gaussian(GaussianKernel):
    """Continuous Gaussian noise with density e^(−z²/(2·scale²)) / (scale·√(2π)).

    Args:
        scale: The standard deviation in records, between 2^−52 and 2^52.

    Raises:
        ValueError: If the scale is not a number in that range.

    Source: Breutigam and Reischuk, Gaussian noise, with ψ = scale / size.

    Example:
        >>> round(Gaussian(10.0).smallest_error(0.05), 4)
        19.5996
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_number(self.scale, "scale"))
        check_range(self.scale)

    @property
    def exact_scale(self) -> Fraction:
        """The scale as the rational that the float stands for."""
        return Fraction(self.scale)

    @property
    def variance(self) -> float:
        """The variance of the noise, in records²: scale²."""
        return self.scale**2

    @property
    def errors(self) -> GaussianErrors:
        """The law of the noise at many errors at once."""
        return GaussianErrors(self.scale)

    def check_answer(self, answer: float) -> None:
        """Refuse an answer that is not a finite number."""
        real_number(answer, "answer")

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha]: ln erfc(alpha/(scale·√2)) for alpha >= 0.

        Relative error of the tail: 1e-12 down to 1e-300.
        """
        return _log_normal_tail(max(0.0, alpha / self.scale))

    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| < alpha] = erf(alpha/(scale·√2)), alpha in records."""
        if alpha > self.scale:
            return log_one_minus_exp(self.log_tail(alpha))
        inside = math.erf(alpha / self.scale / math.sqrt(2))
        return math.log(inside) if inside > 0 else -math.inf

    def release(self, count: int) -> float:
        """The count plus an exact draw of the discrete Gaussian law on a public grid.

        The grid is 2^min(0, ⌊log2 scale⌋ − 40) records, whatever the count, so that the low bits
        of an answer tell nothing. P[Z = z] ∝ e^(−z²/(2·scale²)) on its points z; with s >= 2^40
        steps a scale, that is within 1/(40·s²) < 2^−85 in total variation of the continuous law
        rounded to the nearest point.

        Args:
            count: The true count, a whole number.
        """
        grid = public_grid(self.scale)
        steps = discrete_gaussian(self.exact_scale / grid, RandomIntegers())
        return float(whole_number(count, "count") + steps * grid)


@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian(GaussianKernel):
    """Discrete Gaussian noise on the integers: P[Z = z] ∝ e^(−z²/(2·scale²)).

    The scale is a rational number and the sampler uses integers only, so the law is exact. Its
    standard deviation is at most the scale, and all but equal to it from 1 record on.

    Args:
        scale: In records, between 2^−52 and 2^52. A float is read as the decimal that Python shows
            for it (0.1 is 1/10); a rational whose terms exceed 2^53 is rounded up, by less than
            one part in 2^51.

    Raises:
        ValueError: If the scale is not a number in that range.

    Source: Canonne, Kamath, Steinke (2020).

    Example:
        >>> DiscreteGaussian(10).smallest_error(0.05)
        21
    """

    scale: Fraction

    def __init__(self, scale: float | Fraction) -> None:
        object.__setattr__(self, "scale", drawable(as_written(scale, "scale")))

    @property
    def exact_scale(self) -> Fraction:
        """The scale."""
        return self.scale

    @property
    def variance(self) -> float:
        """The variance of the noise, in records²: the mean of z² over the law."""
        scale = float(self.scale)
        if scale < 1:
            return theta(1 / (2 * scale**2))[1]
        turned = 2 * math.pi * scale**2
        return scale**2 - turned**2 * theta(math.pi * turned)[1]

    @property
    def errors(self) -> DiscreteGaussianErrors:
        """The law of the noise at many errors at once."""
        return DiscreteGaussianErrors(float(self.scale))

    def check_answer(self, answer: float) -> None:
        """Refuse an answer that is not an integer."""
        check_integer(answer)

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| >= alpha]: ln 2 + ln Σ_{z >= alpha} P[Z = z].

        Relative error of the tail: 1e-12 down to 1e-300.
        """
        if alpha <= 0:
            return 0.0
        scale = float(self.scale)
        log_sum = log_sum_from(math.ceil(alpha), scale)
        return min(0.0, math.log(2) + log_sum - log_sum_of_all(scale))

    def log_exceedance(self, error: float) -> float:
        """The logarithm of P[Z >= error], error in records; smooth between integers above 0."""
        if error <= 0:
            return log_complement(self.log_exceedance(1 - error))
        scale = float(self.scale)
        return log_sum_from(error, scale) - log_sum_of_all(scale)

    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Y − K| < alpha], alpha in records, also where it is tiny."""
        scale, reach = float(self.scale), math.ceil(alpha)
        if reach > scale:
            return log_one_minus_exp(self.log_tail(reach))
        return log_sum_within(reach, scale) - log_sum_of_all(scale)

    def release(self, count: int) -> int:
        """The count plus one exact draw of the noise.

        Args:
            count: The true count, a whole number.
        """
        return whole_number(count, "count") + discrete_gaussian(self.scale, RandomIntegers())

    def samples(self, size: int) -> NDArray[np.int64]:
        """Independent draws of the noise, in records, shape (size,), by the exact sampler."""
        return discrete_gaussian_array(self.scale, whole_number(size, "size"))


def _log_normal_tail(reach: float) -> float:
    """The logarithm of P[|N| >= reach] of a standard normal N, reach >= 0.

    Where erfc underflows, by the asymptotic series 1 − 1/x² + 1·3/x⁴ − ... of x·P/φ.
    """
    if reach < _FAR:
        return math.log(math.erfc(reach / math.sqrt(2)))
    nearness = 1 / reach / reach
    series = 1.0
    for factor in (9, 7, 5, 3, 1):
        series = 1 - factor * nearness * series
    return math.log(2 / math.pi) / 2 + math.log(series) - math.log(reach) - reach * reach / 2
