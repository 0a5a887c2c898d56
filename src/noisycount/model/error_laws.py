"""The laws of noises at many errors at once: densities, tails and the mass between two errors."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.polynomial.legendre import leggauss

from noisycount.model.laws.expansion import Reals

__all__ = ["DiscreteLaplaceErrors", "ErrorLaw", "GaussianErrors", "LaplaceErrors"]

_NODES, _WEIGHTS = leggauss(16)
_NEAR = 1.0  # standard deviations over which 16 Gauss points hold a normal density


class ErrorLaw(Protocol):
    """The law of noise Z that is symmetric and log-concave, at arrays of errors in records."""

    @property
    def is_discrete(self) -> bool:
        """Whether Z is an integer."""
        ...

    @property
    def steepest(self) -> Fraction | None:
        """The largest change of the logarithm of the density a record; None: there is no bound."""
        ...

    @property
    def spread(self) -> float:
        """A typical size of the noise, in records."""
        ...

    def log_density(self, errors: Reals) -> Reals:
        """The logarithm of the density, or of the probability, up to a constant."""
        ...

    def exceedance(self, errors: Reals) -> Reals:
        """P[Z >= error], to full relative precision; smooth between integers if Z is discrete."""
        ...

    def between(self, low: Reals, high: Reals) -> Reals:
        """P[low <= Z < high] for low <= high, to full relative precision also where it is small."""
        ...


@dataclass(frozen=True, slots=True)
class LaplaceErrors:
    """Continuous Laplace noise.

    Attributes:
        steepest: 1/scale, per record.
    """

    steepest: Fraction
    _rate: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rate", float(self.steepest))

    @property
    def is_discrete(self) -> bool:
        """It is not."""
        return False

    @property
    def spread(self) -> float:
        """The scale."""
        return 1 / self._rate

    def log_density(self, errors: Reals) -> Reals:
        """−|z|/scale."""
        logs: Reals = -self._rate * np.abs(errors)
        return logs

    def exceedance(self, errors: Reals) -> Reals:
        """e^(−z/scale)/2 above 0, and what is missing to 1 below."""
        tail = np.exp(-self._rate * np.abs(errors)) / 2
        return np.where(errors >= 0, tail, 1 - tail)

    def between(self, low: Reals, high: Reals) -> Reals:
        """From the parts on each side of 0."""
        return (self._from_zero(low, high) + self._from_zero(-high, -low)) / 2

    def _from_zero(self, low: Reals, high: Reals) -> Reals:
        """e^(−l/scale) − e^(−h/scale) of what lies above 0."""
        first, last = np.maximum(low, 0), np.maximum(high, 0)
        part: Reals = -np.exp(-self._rate * first) * np.expm1(-self._rate * (last - first))
        return part


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceErrors:
    """Discrete Laplace noise, q = e^(−1/scale).

    Attributes:
        steepest: 1/scale, per record.
    """

    steepest: Fraction
    _rate: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rate", float(self.steepest))

    @property
    def is_discrete(self) -> bool:
        """It is."""
        return True

    @property
    def spread(self) -> float:
        """The scale."""
        return 1 / self._rate

    def log_density(self, errors: Reals) -> Reals:
        """−|z|/scale."""
        logs: Reals = -self._rate * np.abs(errors)
        return logs

    def exceedance(self, errors: Reals) -> Reals:
        """q^z/(1 + q) from 1 on, and 1 − q^(1 − z)/(1 + q) below."""
        is_above = errors > 0
        tail = np.exp(-self._rate * np.where(is_above, errors, 1 - errors)) / self._both
        return np.where(is_above, tail, 1 - tail)

    def between(self, low: Reals, high: Reals) -> Reals:
        """From the integers from 1 on and those up to 0."""
        above = self._from(1.0, low, high)
        return (above + self._from(0.0, 1 - high, 1 - low)) / self._both

    @property
    def _both(self) -> float:
        return 1 + math.exp(-self._rate)

    def _from(self, least: float, low: Reals, high: Reals) -> Reals:
        """q^l − q^h of what is at least so large."""
        first, last = np.maximum(low, least), np.maximum(high, least)
        part: Reals = -np.exp(-self._rate * first) * np.expm1(-self._rate * (last - first))
        return part


@dataclass(frozen=True, slots=True)
class GaussianErrors:
    """Continuous Gaussian noise.

    Attributes:
        scale: The standard deviation, in records.
    """

    scale: float

    @property
    def is_discrete(self) -> bool:
        """It is not."""
        return False

    @property
    def steepest(self) -> None:
        """There is no bound."""
        return

    @property
    def spread(self) -> float:
        """The scale."""
        return self.scale

    def log_density(self, errors: Reals) -> Reals:
        """−z²/(2·scale²)."""
        units = errors / self.scale
        logs: Reals = -units * units / 2
        return logs

    def exceedance(self, errors: Reals) -> Reals:
        """Φ(−z/scale)."""
        from scipy.special import ndtr  # noqa: PLC0415  (SciPy loads slowly)

        tails: Reals = ndtr(-errors / self.scale)
        return tails

    def between(self, low: Reals, high: Reals) -> Reals:
        """A Gauss rule over near errors; a difference of the smaller tails of far ones."""
        lows, highs = np.broadcast_arrays(low / self.scale, high / self.scale)
        widths = highs - lows
        near = widths < _NEAR
        masses = np.empty(widths.shape)
        masses[near] = _normal_mass(lows[near], widths[near])
        flipped = lows[~near] + highs[~near] < 0
        first = np.where(flipped, -highs[~near], lows[~near]) * self.scale
        last = np.where(flipped, -lows[~near], highs[~near]) * self.scale
        masses[~near] = self.exceedance(first) - self.exceedance(last)
        return masses


def _normal_mass(lows: Reals, widths: Reals) -> Reals:
    """Φ(low + width) − Φ(low) for widths up to 1."""
    points = lows[..., None] + widths[..., None] * ((1 + _NODES) / 2)
    densities = np.exp(-points * points / 2) / math.sqrt(2 * math.pi)
    masses: Reals = densities @ _WEIGHTS * (widths / 2)
    return masses
