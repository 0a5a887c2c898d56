"""The laws of noises at many errors at once: densities, tails and the mass between two errors."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.polynomial.legendre import leggauss

from noisycount.model.laws.expansion import Reals

__all__ = [
    "CertifiedErrorLaw",
    "DiscreteLaplaceErrors",
    "ErrorLaw",
    "GaussianErrors",
    "GaussianShape",
    "LaplaceErrors",
    "LaplaceShape",
]

_NODES, _WEIGHTS = leggauss(16)
_STEEPEST = 1e280  # noise that narrow changes no integer
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

    @property
    def smooth_over(self) -> float:
        """The length in records over which the density has no bend; 0 if it has a kink."""
        ...

    def reach(self, depth: float) -> float:
        """The distance from 0, in records, at which the density has fallen by e^depth."""
        ...

    def log_density(self, errors: Reals) -> Reals:
        """The logarithm of the density, or of the probability, up to a constant."""
        ...

    def log_change(self, error: float, steps: Reals) -> Reals:
        """How the logarithm of the density changes from an error to error − step."""
        ...

    def exceedance(self, errors: Reals) -> Reals:
        """P[Z >= error], to full relative precision; smooth between integers if Z is discrete."""
        ...

    def between(self, low: Reals, widths: Reals) -> Reals:
        """P[low <= Z < low + width] for widths >= 0, to full relative precision."""
        ...


class CertifiedErrorLaw(ErrorLaw, Protocol):
    """A law of noise that tells how exact its tails and masses are."""

    @property
    def rounding(self) -> float:
        """The relative error of a tail or a mass, where it exceeds that of a few operations."""
        ...

    def uncertainty(self, low: Reals, widths: Reals) -> Reals | float:
        """How far each mass of `between` may be off beyond that."""
        ...


class ClosedForm:
    """What laws have in common whose tails and masses are closed forms."""

    __slots__ = ()

    @property
    def rounding(self) -> float:
        """That of a few operations."""
        return 0.0

    def uncertainty(self, low: Reals, widths: Reals) -> float:  # noqa: ARG002  (of no mass)
        """0."""
        return 0.0


@dataclass(frozen=True, slots=True)
class LaplaceShape(ClosedForm):
    """What continuous and discrete Laplace noise have in common: e^(−|z|/scale).

    Attributes:
        steepest: 1/scale, per record.
    """

    steepest: Fraction
    _rate: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rate", min(float(self.steepest), _STEEPEST))

    @property
    def spread(self) -> float:
        """The scale."""
        return 1 / self._rate

    @property
    def smooth_over(self) -> float:
        """0, as it has a kink."""
        return 0.0

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


@dataclass(frozen=True, slots=True)
class LaplaceErrors(LaplaceShape):
    """Continuous Laplace noise."""

    @property
    def is_discrete(self) -> bool:
        """False: the errors are real numbers."""
        return False

    def exceedance(self, errors: Reals) -> Reals:
        """e^(−z/scale)/2 above 0, and what is missing to 1 below."""
        tail = np.exp(-self._rate * np.abs(errors)) / 2
        return np.where(errors >= 0, tail, 1 - tail)

    def between(self, low: Reals, widths: Reals) -> Reals:
        """From the parts on each side of 0."""
        return (self._fall(0.0, low, widths) + self._fall(0.0, -low - widths, widths)) / 2


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceErrors(LaplaceShape):
    """Discrete Laplace noise, q = e^(−1/scale)."""

    @property
    def is_discrete(self) -> bool:
        """True: the errors are integers."""
        return True

    def exceedance(self, errors: Reals) -> Reals:
        """q^z/(1 + q) from 1 on, and 1 − q^(1 − z)/(1 + q) below."""
        is_above = errors > 0
        tail = np.exp(-self._rate * np.where(is_above, errors, 1 - errors)) / self._both
        return np.where(is_above, tail, 1 - tail)

    def between(self, low: Reals, widths: Reals) -> Reals:
        """From the integers from 1 on and those up to 0."""
        above = self._fall(1.0, low, widths)
        return (above + self._fall(0.0, 1 - low - widths, widths)) / self._both

    @property
    def _both(self) -> float:
        return 1 + math.exp(-self._rate)


@dataclass(frozen=True, slots=True)
class GaussianShape(ClosedForm):
    """What continuous and discrete Gaussian noise have in common: e^(−z²/(2·scale²)).

    Attributes:
        scale: In records.
    """

    scale: float

    @property
    def steepest(self) -> None:
        """None: the slope grows without end."""
        return

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


@dataclass(frozen=True, slots=True)
class GaussianErrors(GaussianShape):
    """Continuous Gaussian noise, whose scale is the standard deviation."""

    @property
    def is_discrete(self) -> bool:
        """False: the errors are real numbers."""
        return False

    def exceedance(self, errors: Reals) -> Reals:
        """Φ(−z/scale)."""
        from scipy.special import ndtr  # noqa: PLC0415  (SciPy loads slowly)

        tails: Reals = ndtr(-errors / self.scale)
        return tails

    def between(self, low: Reals, widths: Reals) -> Reals:
        """A Gauss rule over near errors; a difference of the smaller tails of far ones."""
        lows, lengths = np.broadcast_arrays(low, widths)
        near = lengths < _NEAR * self.scale
        masses = np.empty(lows.shape)
        masses[near] = _normal_mass(lows[near] / self.scale, lengths[near] / self.scale)
        first, last = lows[~near], lows[~near] + lengths[~near]
        flipped = first + last < 0
        masses[~near] = self.exceedance(np.where(flipped, -last, first))
        masses[~near] -= self.exceedance(np.where(flipped, -first, last))
        return masses


def _normal_mass(lows: Reals, widths: Reals) -> Reals:
    """Φ(low + width) − Φ(low) for widths up to 1."""
    points = lows[..., None] + widths[..., None] * ((1 + _NODES) / 2)
    densities = np.exp(-points * points / 2) / math.sqrt(2 * math.pi)
    masses: Reals = densities @ _WEIGHTS * (widths / 2)
    return masses
