"""Laplace noise with density ∝ e^(−|z|/scale), continuous and on the integers.

`Laplace` and `DiscreteLaplace` are public; `additive` has what they inherit.
"""

import math
from abc import abstractmethod
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.factors import Factor, LogFactor, LogRatio
from noisycount.model.laws.gamma import DIGITS, FLAT, Expansion, Kink, Reals, decimal_ratio
from noisycount.model.noises.additive import AdditiveNoise, ClosedForm, ContinuousNoise, DiscreteNoise, Sampler
from noisycount.model.sampling.scalar import discrete_laplace, price_as_written, rounded_laplace
from noisycount.model.sampling.vectors import discrete_laplace_array
from noisycount.model.searches import bracket_root, first_whole
from noisycount.validation import RationalLike

_STEEPEST = 1e280  # noise with this 1/scale never changes an integer


class LaplaceKernel(AdditiveNoise):
    """Noise with a density proportional to e^(−|y − k|/scale), continuous or discrete."""

    is_log_concave: ClassVar[bool] = True  # the logarithm consists of two lines that meet in a peak

    __slots__ = ()

    @classmethod
    @abstractmethod
    def for_epsilon(cls, epsilon: float, sensitivity: float = 1) -> Self:
        """Return the noise that makes a query of this sensitivity ε-differentially private: scale = sensitivity/ε."""

    @property
    def errors(self) -> "LaplaceErrors":
        """Distribution of the noise Z, evaluated for arrays of errors."""
        return _errors_of(self.scale, isinstance(self, DiscreteNoise))

    def factor(self, answer: float) -> "LaplaceLikelihood":
        """Return the factor e^(−|answer − k|/scale) of a count k."""
        return LaplaceLikelihood(answer, self.exact_scale)

    def tail(self, answer: float, size: int, *, upper: bool) -> "LaplaceTail":
        """Return P[Y >= answer | K = k] (upper) or P[Y <= answer | K = k] as a function of the count k."""
        whole = super().tail(answer, size, upper=upper)
        side = 1 if upper else -1
        return LaplaceTail(whole.log_values, kinks=whole.kinks, answer=float(answer), slope=side / self.exact_scale)


@frozen
class LaplaceLikelihood(Factor):
    """The factor e^(−|answer − k|/scale) of a count k, whose logarithm consists of two straight lines."""

    answer: float  # the answer, in records
    scale: Fraction  # in records

    @property
    def kinks(self) -> tuple[float, ...]:
        """The answer, where the two lines meet."""
        return (self.answer,)

    def expansion(self, centre: int) -> Expansion:
        """Return the slope of the line through the centre, and a kink at the answer."""
        place, slope = DIGITS.subtract(Decimal(self.answer), Decimal(centre)), decimal_ratio(1 / self.scale)
        side, weight = (1 if place >= 0 else -1), DIGITS.multiply(slope, Decimal(-2))
        return Expansion(slope if side > 0 else DIGITS.minus(slope), FLAT.bend, kinks=(Kink(place, side, weight),))

    def log_ratio_to_next(self, count: int) -> float:
        """Return the change of the logarithm to the next count.

        It is 1/scale below the answer, −1/scale above it, and between the two if the answer lies between both counts.
        """
        nearer = 2 * (self.answer - count) - 1
        return max(-1.0, min(1.0, nearer)) / float(self.scale)

    def exact_log_ratio_to_next(self, count: int) -> LogRatio:
        """Return the change of the logarithm to the next count as a rational number of nats."""
        nearer = 2 * (Fraction(self.answer) - count) - 1
        return LogRatio(shift=max(Fraction(-1), min(Fraction(1), nearer)) / self.scale)


@frozen
class LaplaceTail(LogFactor):
    """The probability of an answer at least as extreme, as a function of the count.

    Its logarithm is linear beyond the answer.
    """

    answer: float = 0.0  # in records
    slope: Fraction = Fraction(0)  # of the line, per record

    def expansion(self, centre: int) -> Expansion:
        """Return the change of the logarithm from the centre.

        On the linear part the slope is exact. There, differences of logarithms would lose digits.
        """
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
    """The Laplace distribution, continuous or discrete, with functions of whole arrays of errors; q = e^(−1/scale)."""

    smooth_over: ClassVar[float] = 0.0  # the density has a kink at 0
    is_geometric: ClassVar[bool] = True

    scale: float | Fraction  # in records
    is_discrete: bool = field()  # without field(), the property of the base class would become the default value
    largest_log_change: Fraction = field(init=False, repr=False)  # 1/scale
    _rate: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest_log_change", 1 / Fraction(self.scale))
        object.__setattr__(self, "_rate", min(float(self.largest_log_change), _STEEPEST))

    @property
    def spread(self) -> float:
        """The scale, in records."""
        return 1 / self._rate

    def distance_at_depth(self, depth: float) -> float:
        """Return scale·depth."""
        return depth / self._rate

    def log_density(self, errors: Reals) -> Reals:
        """Return −|z|/scale."""
        return -self._rate * np.abs(errors)

    def log_change(self, error: float, steps: Reals) -> Reals:
        """Return (|error| − |error − step|)/scale."""
        side = math.copysign(1.0, error)
        return self._rate * np.minimum(side * steps, 2 * abs(error) - side * steps)

    @property
    def peak(self) -> float:
        """Density at 0, 1/(2·scale), or for discrete noise P[Z = 0] = tanh(1/(2·scale))."""
        return math.tanh(self._rate / 2) if self.is_discrete else self._rate / 2

    def log_tail(self, distances: Reals) -> Reals:
        """Return −z/scale, or −z/scale − ln((1 + e^(−1/scale))/2) for discrete noise, even if 1/scale is tiny."""
        log_norm = math.log1p(math.expm1(-self._rate) / 2) if self.is_discrete else 0.0
        with np.errstate(over="ignore"):  # the tail of a distance beyond the largest double is 0
            return -self._rate * distances - log_norm

    def between(self, low: Reals, widths: Reals) -> Reals:
        """Return P[low <= Z < low + width], as the sum of the masses on both sides of 0."""
        above = self._exponential_difference(self.first, low, widths)
        below = self._exponential_difference(0.0, self.first - low - widths, widths)
        return (above + below) / (1 + math.exp(-self._rate) if self.is_discrete else 2.0)

    def _exponential_difference(self, start: float, low: Reals, widths: Reals) -> Reals:
        """Return e^(−low/scale) − e^(−(low + width)/scale), restricted to distances of at least `start`."""
        lengths = np.minimum(widths, np.maximum(low + widths - start, 0))
        return -np.exp(-self._rate * np.maximum(low, start)) * np.expm1(-self._rate * lengths)


@lru_cache(maxsize=64)  # several quantities of one answer need the same distribution
def _errors_of(scale: float | Fraction, is_discrete: bool) -> LaplaceErrors:  # noqa: FBT001  (part of the cache key)
    """Return the distribution of Laplace noise of a scale, continuous or discrete."""
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
        """Return the noise that makes a query of this sensitivity ε-differentially private: scale = sensitivity/ε."""
        moved_counts, price = (price_as_written(sensitivity, "sensitivity"), price_as_written(epsilon, "epsilon"))
        return cls(float(moved_counts) / float(price))

    @property
    def epsilon(self) -> float:
        """Privacy loss ε of a count of sensitivity 1: 1/scale."""
        return 1 / self.scale

    @property
    def variance(self) -> float:
        """Variance of the noise, 2·scale², in records²."""
        return 2 * self.scale * self.scale

    @property
    def mean_absolute(self) -> float:
        """E|Z| = scale, in records."""
        return self.scale

    def error_with_tail(self, log_beta: float) -> float:
        """Return the alpha with ln P[|Y − K| >= alpha] = log_beta, which is −scale·log_beta."""
        return -self.scale * log_beta

    def release(self, count: int) -> float:
        """Return the count plus Laplace noise, rounded to a public grid by an exact sampler.

        The grid step is 2^min(0, ⌊log2 scale⌋ − 40) records. It does not depend on the count, so the low bits of an
        answer reveal nothing. The noise has exactly the continuous distribution rounded to the nearest grid point.
        Count and noise are added exactly, and the sum is returned as the nearest float.

        Args:
            count: The true count, a whole number.
        """
        return self.on_grid(count, rounded_laplace)

    def draws(self, size: int, generator: np.random.Generator) -> Reals:
        """Return simulated noise from a seeded generator, in records, shape (size,). Never release these values."""
        return generator.laplace(0.0, self.scale, size)


_ROUNDING = 3e-16  # relative rounding of 1/scale as a float; e^(−1/scale) multiplies it by 1/scale


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
        """Return the noise that makes a query of this sensitivity ε-differentially private: scale = sensitivity/ε."""
        return cls(price_as_written(sensitivity, "sensitivity") / price_as_written(epsilon, "epsilon"))

    @property
    def epsilon(self) -> Fraction:
        """Exact privacy loss ε of a count of sensitivity 1: 1/scale."""
        return 1 / self.scale

    @property
    def variance(self) -> float:
        """Variance of the noise, 2q/(1 − q)² with q = e^(−1/scale), in records²."""
        per_record = float(self.epsilon)
        return 2 * math.exp(-per_record) / math.expm1(-per_record) ** 2

    @property
    def variance_rounding(self) -> float:
        """Relative rounding error of e^(−1/scale) at scales below 1."""
        return _ROUNDING * max(0.0, float(self.epsilon) - 1)

    @property
    def mean_absolute(self) -> float:
        """E|Z| = 1/sinh(1/scale), in records, in a form that does not overflow."""
        per_record = float(self.epsilon)
        return -2 * math.exp(-per_record) / math.expm1(-2 * per_record)

    def error_with_tail(self, log_beta: float) -> int:
        """Return the smallest integer alpha with ln P[|Y − K| >= alpha] <= log_beta."""
        errors = self.errors

        def shortfall(alpha: float) -> float:
            return log_beta - errors.log_tail_at(alpha)

        start = max(1, math.ceil(-shortfall(0) * errors.spread))
        return int(first_whole(shortfall, bracket_root(shortfall, start, 1, (0, math.inf))).high)
