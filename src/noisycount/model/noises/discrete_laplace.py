"""Discrete Laplace noise: the law of the answers that are really released."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from noisycount.model.drawing.many import discrete_laplace_array
from noisycount.model.drawing.one import discrete_laplace
from noisycount.model.drawing.scales import price_as_written
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.discrete import DiscreteNoise, Sampler
from noisycount.model.noises.kernels.laplace import LaplaceKernel, LaplaceShape
from noisycount.model.search import bracketed, first_whole
from noisycount.model.written import Exactly

__all__ = ["DiscreteLaplace", "DiscreteLaplaceErrors"]

_ROUNDING = 3e-16  # of 1/scale as a float, which e^(−1/scale) multiplies by 1/scale


@dataclass(frozen=True, slots=True, init=False)
class DiscreteLaplace(DiscreteNoise, LaplaceKernel):
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
        >>> import noisycount as nc
        >>> nc.DiscreteLaplace.for_epsilon(0.15).scale
        Fraction(20, 3)
    """

    name: ClassVar[str] = "discrete Laplace"
    sampler: ClassVar[Sampler] = Sampler(discrete_laplace, discrete_laplace_array)

    @classmethod
    def for_epsilon(cls, epsilon: Exactly, sensitivity: Exactly = 1) -> Self:
        """The noise that makes a query of that sensitivity ε-differentially private."""
        return cls(
            price_as_written(sensitivity, "sensitivity") / price_as_written(epsilon, "epsilon")
        )

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

    @property
    def errors(self) -> "DiscreteLaplaceErrors":
        """The law of the noise at many errors at once."""
        return DiscreteLaplaceErrors(self.scale)

    def error_with_tail(self, log_beta: float) -> int:
        """The smallest integer alpha with ln P[|Y − K| >= alpha] <= log_beta."""
        errors = self.errors

        def missing(alpha: float) -> float:
            return log_beta - errors.log_tail_at(alpha)

        start = max(1, math.ceil(-missing(0) * errors.spread))
        return int(first_whole(missing, bracketed(missing, start, 1, (0, math.inf))).high)


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceErrors(LaplaceShape):
    """The law at many errors, q = e^(−1/scale)."""

    is_discrete: ClassVar[bool] = True

    @property
    def peak(self) -> float:
        """(1 − q)/(1 + q)."""
        return math.tanh(self._rate / 2)

    def log_tail(self, distances: Reals) -> Reals:
        """−z/scale − ln((1 + q)/2), also where 1/scale is tiny."""
        with np.errstate(over="ignore"):  # farther out than a double tells
            return -self._rate * distances - math.log1p(math.expm1(-self._rate) / 2)

    def between(self, low: Reals, widths: Reals) -> Reals:
        """From the integers from 1 on and those up to 0."""
        above = self._fall(1.0, low, widths)
        both = 1 + math.exp(-self._rate)
        return (above + self._fall(0.0, 1 - low - widths, widths)) / both
