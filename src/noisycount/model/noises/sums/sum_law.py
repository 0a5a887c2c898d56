"""The law of a sum of independent noises."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.sums.inversion import (
    along_line,
    along_smoothed_line,
    around_all_poles,
    around_period,
    log_density,
)
from noisycount.model.noises.sums.lattice_transforms import Comb, Sampled
from noisycount.model.noises.sums.mass_transform import Window
from noisycount.model.noises.sums.transforms import Above, Normal, Part, Poles

__all__ = ["SumLaw"]

Flags = NDArray[np.bool_]
End = Above | Window

_SMOOTH_VARIANCE = 3.0
_WIDE_VARIANCE = 7.0
_WIDE_SCALE = 4.0
_OUT_OF_REACH = 24


@dataclass(frozen=True, slots=True)
class SumLaw:
    """The law of the sum Z of continuous and of discrete Laplace and Gaussian noises.

    Attributes:
        laplace: The scales of the continuous Laplace noises, in records.
        discrete_laplace: Those of the discrete ones.
        gaussian_variance: The squared scale of all continuous Gaussian noises together, in
            records²; 0 if there are none.
        discrete_gaussian: The scales of the discrete Gaussian noises.

    Raises:
        ValueError: If discrete noises are joined by several continuous ones that do not smooth the
            lattice of the integers away.
    """

    laplace: tuple[float, ...]
    discrete_laplace: tuple[float, ...]
    gaussian_variance: float
    discrete_gaussian: tuple[float, ...]

    def __post_init__(self) -> None:
        is_rough = self._has_discrete and not self.is_on_line
        if is_rough and (self.gaussian_variance > 0 or len(self.laplace) > 1):
            raise ValueError(
                f"noises must be all continuous or all discrete, or join discrete ones to a single "
                f"Laplace noise or to Gaussian noise of variance {_SMOOTH_VARIANCE:g} or more, got "
                f"{len(self.laplace)} Laplace and Gaussian variance {self.gaussian_variance:g} "
                f"beside discrete noise: take their discrete forms"
            )

    @property
    def is_kinked(self) -> bool:
        """Whether the law bends at 0 within less than its widest Laplace scale."""
        return self.widest_laplace**2 > self._variance_of_gaussians

    def log_density(self, errors: Reals, phase: float = 0.0) -> Reals:
        """The logarithm of the density of Z, or of P[Z = z] if all noises are discrete.

        Between the points of the lattice phase + integers, where discrete noise makes the density
        rough, it is the smooth law through these points, one on each side of 0, provided that the
        widest scale is 4 records or more.

        Args:
            errors: The values z, in records, any shape.
            phase: The fractional part, in [0, 1), of the z that are meant.
        """
        logarithms = np.empty_like(errors)
        for side, here in ((errors >= 0, phase), (errors < 0, -phase % 1.0)):
            logarithms[side] = self._logarithms(np.abs(errors[side]), here)
        return logarithms

    def log_tail(self, errors: Reals, phase: float = 0.0) -> Reals:
        """The logarithm of P[Z >= z].

        Args:
            errors: The values z, in records, any shape.
            phase: The fractional part, in [0, 1), of the z that are meant.
        """
        logarithms = np.empty_like(errors)
        is_above, above = errors > 0, Above(is_discrete=not self.is_on_line)
        logarithms[is_above] = self._logarithms(errors[is_above], phase, above)
        others = (1 if self.is_on_integers else 0) - errors[~is_above]
        opposite = self._logarithms(others, -phase % 1.0, above)
        logarithms[~is_above] = np.log1p(-np.exp(opposite))
        return logarithms

    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Z| < alpha], to full relative precision also where it is tiny.

        Args:
            alpha: In records, positive.
        """
        if self.is_on_line:
            return self._log_mass(alpha) + math.log(2)
        if self.is_on_integers:
            return self._log_within_integers(math.ceil(alpha))
        return self._log_within_rough(alpha)

    def log_masses(self, lows: Reals, width: float) -> Reals:
        """The logarithm of P[low <= Z < low + width], to full relative precision.

        All noises are discrete, and `lows` and `width` whole, or their law has no trace of the
        lattice of the integers.

        Args:
            lows: At least 0, in records, any shape.
            width: In records, positive.
        """
        window = Window(width, is_discrete=not self.is_on_line)
        first = 0.0 if self.is_on_line else 1.0
        return self._logarithms(lows - first + window.centre, 0.0, window)

    def _log_mass(self, width: float) -> float:
        """The logarithm of P[0 <= Z < width], on integers of P[1 <= Z <= width]."""
        first = 0.0 if self.is_on_line else 1.0
        return float(self.log_masses(np.array([first]), width)[0])

    def _log_within_integers(self, alpha: int) -> float:
        """The logarithm of P[|Z| < alpha] on the integers, alpha >= 1."""
        at_zero = float(self.log_density(np.zeros(1))[0])
        if alpha == 1:
            return at_zero
        return float(np.logaddexp(at_zero, math.log(2) + self._log_mass(alpha - 1)))

    def _log_within_rough(self, alpha: float) -> float:
        """The same of continuous Laplace noise beside discrete noise.

        The continuous noise is discrete noise of the same scale plus H on [−1, 1], so that N + H
        lies within ±(m + φ) for |N| < m, for |N| = m >= 1 with P[H < φ], for N = 0 = m with
        P[|H| < φ], and for |N| = m + 1 with P[H < φ − 1].
        """
        whole, phase = int(alpha), alpha % 1.0
        (scale,) = self.laplace
        lattice = SumLaw((), (*self.discrete_laplace, scale), 0.0, self.discrete_gaussian)
        at, beyond = lattice.log_density(np.array([whole, whole + 1.0])).tolist()
        smooth = Sampled(1 / scale, phase, is_tail=True)
        inside, below = smooth.log_masses_below()
        if whole == 0:
            return float(np.logaddexp(at + smooth.log_mass_around(), math.log(2) + beyond + below))
        edges = np.logaddexp(at + inside, beyond + below) + math.log(2)
        return float(np.logaddexp(lattice.log_within(whole), edges))

    def _logarithms(self, distances: Reals, phase: float, end: End | None = None) -> Reals:
        """Those of the density at distances >= 0 from 0, or of what an end makes of it."""
        if self.is_on_line:
            return self._on_line(distances, end)
        parts = _poles(self._laplaces, 1.0, is_discrete=True) + self._combs()
        parts += [Sampled(1 / scale, phase, is_tail=end is not None) for scale in self.laplace]
        parts += [] if end is None else [end]
        pole = _pole(self._laplaces, 1.0)
        is_open = self._is_open(np.ones_like(distances) if isinstance(end, Window) else distances)
        logarithms = np.empty_like(distances)
        for some, course in ((is_open, around_all_poles), (~is_open, around_period)):
            logarithms[some] = log_density(parts, pole, distances[some], course)
        return logarithms

    def _on_line(self, distances: Reals, end: End | None) -> Reals:
        """The same in units in which the widest scale of continuous noises is 1."""
        unit, course = 1.0, along_smoothed_line
        if not self._has_discrete:
            unit = max(self.widest_laplace, math.sqrt(self.gaussian_variance))
            course = along_line
        parts = _poles(self.laplace, unit, is_discrete=False)
        parts += _poles(self.discrete_laplace, unit, is_discrete=True)
        parts += self._combs()
        if self.gaussian_variance > 0:
            parts.append(Normal(self.gaussian_variance / unit**2))
        pole = _pole(self._laplaces, unit)
        if end is None:
            return log_density(parts, pole, distances / unit, course) - math.log(unit)
        return log_density([*parts, end.in_units(unit)], pole, distances / unit, course)

    def _is_open(self, distances: Reals) -> Flags:
        """Where the path is to go around all poles, which is smooth between the integers.

        It does so for Laplace noises that are wide, farther out than narrow Gaussian ones reach.
        """
        if self.widest_laplace < _WIDE_SCALE or self._variance_of_gaussians >= _WIDE_VARIANCE:
            return np.zeros_like(distances, dtype=np.bool_)
        return distances >= (_OUT_OF_REACH if self._variance_of_gaussians > 0 else 0)

    def _combs(self) -> list[Part]:
        """The transforms of the discrete Gaussian noises."""
        return [Comb(scale**2, copies) for scale, copies in Counter(self.discrete_gaussian).items()]

    @property
    def _has_discrete(self) -> bool:
        return bool(self.discrete_laplace or self.discrete_gaussian)

    @property
    def is_on_integers(self) -> bool:
        """Whether all noises are discrete."""
        return not self.laplace and self.gaussian_variance == 0

    @property
    def is_on_line(self) -> bool:
        """Whether the density has no trace of the lattice of the integers."""
        return not self._has_discrete or self.gaussian_variance >= _SMOOTH_VARIANCE

    @property
    def spread(self) -> float:
        """The root of the sum of the squared scales, in records."""
        return math.hypot(*self._laplaces, math.sqrt(self._variance_of_gaussians))

    @property
    def narrowest(self) -> float:
        """The smallest scale of a noise, in records, all continuous Gaussian ones together."""
        gaussian = [math.sqrt(self.gaussian_variance)] if self.gaussian_variance > 0 else []
        return min([*self._laplaces, *self.discrete_gaussian, *gaussian])

    @property
    def widest_laplace(self) -> float:
        """The largest scale of a Laplace noise, in records; 0 if there is none."""
        return max(self._laplaces, default=0.0)

    @property
    def _laplaces(self) -> tuple[float, ...]:
        return self.laplace + self.discrete_laplace

    @property
    def _variance_of_gaussians(self) -> float:
        return self.gaussian_variance + math.fsum(scale**2 for scale in self.discrete_gaussian)


def _poles(scales: Sequence[float], unit: float, *, is_discrete: bool) -> list[Part]:
    """The transform of Laplace noises, if there are any, with scales in such units."""
    if not scales:
        return []
    rates, counts = np.unique(unit / np.array(scales), return_counts=True)
    return [Poles(rates, counts.astype(np.float64), is_discrete)]


def _pole(scales: Sequence[float], unit: float) -> float:
    """The smallest rate of Laplace noises."""
    return unit / max(scales) if scales else math.inf
