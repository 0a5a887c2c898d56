"""Continuous Laplace noise."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from noisycount.model.drawing.one import rounded_laplace
from noisycount.model.drawing.scales import price_as_written
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.continuous import ContinuousNoise
from noisycount.model.noises.kernels.laplace import LaplaceKernel, LaplaceShape
from noisycount.model.written import Exactly

__all__ = ["Laplace", "LaplaceErrors"]


@dataclass(frozen=True, slots=True)
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
    def for_epsilon(cls, epsilon: Exactly, sensitivity: Exactly = 1) -> Self:
        """The noise that makes a query of that sensitivity ε-differentially private."""
        moved, price = (
            price_as_written(sensitivity, "sensitivity"),
            price_as_written(epsilon, "epsilon"),
        )
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

    @property
    def errors(self) -> "LaplaceErrors":
        """The law of the noise at many errors at once."""
        return LaplaceErrors(self.scale)

    def error_with_tail(self, log_beta: float) -> float:
        """The alpha with ln P[|Y − K| >= alpha] = log_beta: −scale·log_beta."""
        return -self.scale * log_beta

    def release(self, count: int) -> float:
        """The count plus noise of the continuous law, rounded to a public grid by an exact sampler.

        The grid is 2^min(0, ⌊log2 scale⌋ − 40) records, whatever the count, so that the low bits
        of an answer tell nothing. The law of the noise is the continuous one rounded to the nearest
        point, exactly; count and noise are added exactly, and the sum is told as the nearest float.

        Args:
            count: The true count, a whole number.
        """
        return self.on_grid(count, rounded_laplace)

    def draws(self, size: int, generator: np.random.Generator) -> Reals:
        """Draws of the noise from a seed, in records, shape (size,): never to be released."""
        return generator.laplace(0.0, self.scale, size)


@dataclass(frozen=True, slots=True)
class LaplaceErrors(LaplaceShape):
    """The law at many errors."""

    is_discrete: ClassVar[bool] = False

    @property
    def peak(self) -> float:
        """1/(2·scale)."""
        return self._rate / 2

    def log_tail(self, distances: Reals) -> Reals:
        """−z/scale."""
        with np.errstate(over="ignore"):  # farther out than a double tells
            return -self._rate * distances

    def between(self, low: Reals, widths: Reals) -> Reals:
        """From the parts on each side of 0."""
        return (self._fall(0.0, low, widths) + self._fall(0.0, -low - widths, widths)) / 2
