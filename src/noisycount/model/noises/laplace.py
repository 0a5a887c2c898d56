"""Laplace noise of density ∝ e^(−|z|/scale), continuous and discrete."""

import math
from abc import abstractmethod
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.factors import Factor, LogFactor, LogStep
from noisycount.model.laws.gamma import DIGITS, FLAT, Expansion, Kink, Reals, decimal_ratio
from noisycount.model.noises.additive import AdditiveNoise, ClosedForm, ContinuousNoise, DiscreteNoise, Sampler
from noisycount.model.sampling.scalar import discrete_laplace, price_as_written, rounded_laplace
from noisycount.model.sampling.vectors import discrete_laplace_array
from noisycount.model.searches import bracketed, first_whole
from noisycount.validation import RationalLike

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
    def errors(self) -> "LaplaceErrors":
        """The law of the noise at many errors at once."""
        return _errors_of(self.scale, isinstance(self, DiscreteNoise))

    def factor(self, answer: float) -> "LaplaceLikelihood":
        """The factor e^(−|answer − k|/scale) of a count k."""
        return LaplaceLikelihood(answer, self.exact_scale)

    def tail(self, answer: float, size: int, *, upper: bool) -> "LaplaceTail":
        """P[Y >= answer | K = k] (upper) or P[Y <= answer | K = k] as a function of the count k."""
        whole = super().tail(answer, size, upper=upper)
        side = 1 if upper else -1
        return LaplaceTail(whole.log_values, kinks=whole.kinks, answer=float(answer), slope=side / self.exact_scale)


@frozen
class LaplaceLikelihood(Factor):
    """The factor e^(−|answer − k|/scale) of a count k: two straight lines in its logarithm."""

    answer: float  # the answer, in records
    scale: Fraction  # in records

    @property
    def kinks(self) -> tuple[float, ...]:
        """The answer, where the two lines meet."""
        return (self.answer,)

    def expansion(self, centre: int) -> Expansion:
        """The line through the centre as slope; the other line bends away from it."""
        place, slope = DIGITS.subtract(Decimal(self.answer), Decimal(centre)), decimal_ratio(1 / self.scale)
        side, weight = (1 if place >= 0 else -1), DIGITS.multiply(slope, Decimal(-2))
        return Expansion(slope if side > 0 else DIGITS.minus(slope), FLAT.bend, kinks=(Kink(place, side, weight),))

    def log_step(self, count: int) -> float:
        """A step towards the answer gains 1/scale, a step away loses it."""
        nearer = 2 * (self.answer - count) - 1
        return max(-1.0, min(1.0, nearer)) / float(self.scale)

    def exact_log_step(self, count: int) -> LogStep:
        """The step as a rational number of nats."""
        nearer = 2 * (Fraction(self.answer) - count) - 1
        return LogStep(shift=max(Fraction(-1), min(Fraction(1), nearer)) / self.scale)


@frozen
class LaplaceTail(LogFactor):
    """The probability of an answer or one farther out: beyond it a line in its logarithm."""

    answer: float = 0.0  # in records
    slope: Fraction = Fraction(0)  # of the line, per record

    def expansion(self, centre: int) -> Expansion:
        """The line, far out as well, where differences of the logarithm have lost their digits."""
        side = 1 if self.slope > 0 else -1
        error = side * (self.answer - centre)
        if error < 1:
            return LogFactor.expansion(self, centre)

        def bend(offsets: Reals) -> Reals:
            bent: Reals = np.zeros(np.shape(offsets))
            is_bent = error - side * np.asarray(offsets) < 1
            if is_bent.any():
                near = np.asarray(offsets)[is_bent]
                change = self.log_values(centre + near) - self.log_value(centre)
                bent[is_bent] = change - float(self.slope) * near
            return bent

        return Expansion(decimal_ratio(self.slope), bend)


@frozen
class LaplaceErrors(ClosedForm):
    """The law at many errors, q = e^(−1/scale)."""

    smooth_over: ClassVar[float] = 0.0  # it has a kink
    is_geometric: ClassVar[bool] = True

    scale: float | Fraction  # in records
    is_discrete: bool = field()  # without, the property of the base would be its default
    steepest: Fraction = field(init=False, repr=False)  # 1/scale
    _rate: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steepest", 1 / Fraction(self.scale))
        object.__setattr__(self, "_rate", min(float(self.steepest), _STEEPEST))

    @property
    def spread(self) -> float:
        """The scale."""
        return 1 / self._rate

    def reach(self, depth: float) -> float:
        """The scale times the depth."""
        return depth / self._rate

    def log_density(self, errors: Reals) -> Reals:
        """−|z|/scale."""
        return -self._rate * np.abs(errors)

    def log_change(self, error: float, steps: Reals) -> Reals:
        """−(|error − step| − |error|)/scale: a line up to the step that reaches 0, and down."""
        side = math.copysign(1.0, error)
        return self._rate * np.minimum(side * steps, 2 * abs(error) - side * steps)

    @property
    def peak(self) -> float:
        """1/(2·scale), or (1 − q)/(1 + q)."""
        return math.tanh(self._rate / 2) if self.is_discrete else self._rate / 2

    def log_tail(self, distances: Reals) -> Reals:
        """−z/scale, of discrete noise less ln((1 + q)/2), also where 1/scale is tiny."""
        less = math.log1p(math.expm1(-self._rate) / 2) if self.is_discrete else 0.0
        with np.errstate(over="ignore"):  # farther out than a double tells
            return -self._rate * distances - less

    def between(self, low: Reals, widths: Reals) -> Reals:
        """From the parts on each side of 0, or the integers from 1 on and those up to 0."""
        above = self._fall(self.first, low, widths)
        below = self._fall(0.0, self.first - low - widths, widths)
        return (above + below) / (1 + math.exp(-self._rate) if self.is_discrete else 2.0)

    def _fall(self, least: float, low: Reals, widths: Reals) -> Reals:
        """e^(−l/scale) − e^(−(l + width)/scale) of what is at least so large."""
        lengths = np.minimum(widths, np.maximum(low + widths - least, 0))
        return -np.exp(-self._rate * np.maximum(low, least)) * np.expm1(-self._rate * lengths)


@lru_cache(maxsize=64)  # of each answer several questions are asked
def _errors_of(scale: float | Fraction, is_discrete: bool) -> LaplaceErrors:  # noqa: FBT001  (a part of a key)
    """Return the distribution of noise of a scale."""
    return LaplaceErrors(scale, is_discrete)


@frozen
class Laplace(ContinuousNoise, LaplaceKernel):
    """Continuous Laplace noise with density e^(−|z|/scale) / (2·scale).

    Adding it to a count of sensitivity 1 is (1/scale)-differentially private.

    Args:
        scale: In records, positive and finite.

    Raises:
        ValueError: If the scale is not a positive finite number.

    Source: Naldi and D'Acquisto (2014), eq. (1), with b = scale = 1/ε.

    Example:
        >>> import noisycount as nc
        >>> nc.Laplace(10.0).epsilon
        0.1
    """

    name: ClassVar[str] = "Laplace"
    scales: ClassVar[tuple[float, float]] = (2.0**-510, 2.0**510)

    @classmethod
    def for_epsilon(cls, epsilon: RationalLike, sensitivity: RationalLike = 1) -> Self:
        """The noise that makes a query of that sensitivity ε-differentially private."""
        moved, price = (price_as_written(sensitivity, "sensitivity"), price_as_written(epsilon, "epsilon"))
        return cls(float(moved) / float(price))

    @property
    def epsilon(self) -> float:
        """The ε of a count of sensitivity 1: 1/scale."""
        return 1 / self.scale

    @property
    def variance(self) -> float:
        """The variance of the noise, 2·scale², in records²."""
        return 2 * self.scale * self.scale

    @property
    def mean_absolute(self) -> float:
        """E|Z|: the scale."""
        return self.scale

    def error_with_tail(self, log_beta: float) -> float:
        """The alpha with ln P[|Y − K| >= alpha] = log_beta: −scale·log_beta."""
        return -self.scale * log_beta

    def release(self, count: int) -> float:
        """The count plus noise of the continuous law, rounded to a public grid by an exact sampler.

        The grid is 2^min(0, ⌊log2 scale⌋ − 40) records, whatever the count, so that the low bits of an answer tell
        nothing. The law of the noise is the continuous one rounded to the nearest point, exactly; count and noise are
        added exactly, and the sum is told as the nearest float.

        Args:
            count: The true count, a whole number.
        """
        return self.on_grid(count, rounded_laplace)

    def draws(self, size: int, generator: np.random.Generator) -> Reals:
        """Draws of the noise from a seed, in records, shape (size,): never to be released."""
        return generator.laplace(0.0, self.scale, size)


_ROUNDING = 3e-16  # of 1/scale as a float, which e^(−1/scale) multiplies by 1/scale


@frozen(init=False)
class DiscreteLaplace(DiscreteNoise, LaplaceKernel):
    """Discrete Laplace noise on the integers: P[Z = z] = tanh(1/(2·scale))·e^(−|z|/scale).

    Adding it to a count of sensitivity 1 is (1/scale)-differentially private, exactly: the scale is a rational number
    and the sampler uses integers only.

    Args:
        scale: In records, between 2^−52 and 2^52. A float is read as the decimal that Python shows for it (0.1 is
            1/10); a rational whose terms exceed 2^53 is rounded up, by less than one part in 2^51.

    Raises:
        ValueError: If the scale is not a number in that range.

    Source: Canonne, Kamath, Steinke (2020); Ghosh, Roughgarden, Sundararajan (2009).

    Example:
        >>> import noisycount as nc
        >>> nc.DiscreteLaplace.for_epsilon(0.15).scale
        Fraction(20, 3)
    """

    name: ClassVar[str] = "discrete Laplace"
    sampler: ClassVar[Sampler] = Sampler(discrete_laplace, discrete_laplace_array)

    @classmethod
    def for_epsilon(cls, epsilon: RationalLike, sensitivity: RationalLike = 1) -> Self:
        """The noise that makes a query of that sensitivity ε-differentially private."""
        return cls(price_as_written(sensitivity, "sensitivity") / price_as_written(epsilon, "epsilon"))

    @property
    def epsilon(self) -> Fraction:
        """The exact ε of a count of sensitivity 1: 1/scale."""
        return 1 / self.scale

    @property
    def variance(self) -> float:
        """The variance of the noise, 2q/(1 − q)² with q = e^(−1/scale), in records²."""
        per_record = float(self.epsilon)
        return 2 * math.exp(-per_record) / math.expm1(-per_record) ** 2

    @property
    def variance_rounding(self) -> float:
        """That of e^(−1/scale) at small scales."""
        return _ROUNDING * max(0.0, float(self.epsilon) - 1)

    @property
    def mean_absolute(self) -> float:
        """E|Z|: 1/sinh(1/scale), in a form that does not overflow."""
        per_record = float(self.epsilon)
        return -2 * math.exp(-per_record) / math.expm1(-2 * per_record)

    def error_with_tail(self, log_beta: float) -> int:
        """The smallest integer alpha with ln P[|Y − K| >= alpha] <= log_beta."""
        errors = self.errors

        def missing(alpha: float) -> float:
            return log_beta - errors.log_tail_at(alpha)

        start = max(1, math.ceil(-missing(0) * errors.spread))
        return int(first_whole(missing, bracketed(missing, start, 1, (0, math.inf))).high)
