"""Laplace transforms E[e^(s·Z)] of noises, seen from a real point, and what makes tails and masses of them."""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

Complexes = NDArray[np.complex128]
_GROUP = 32  # rates whose factors are multiplied before a logarithm is taken


@frozen
class Tilt:
    """Real points θ in [0, pole), shape (points,) each."""

    point: Reals  # θ
    gap: Reals  # pole − θ, to full relative precision
    pole: Reals  # the singularity of the transform that is nearest to 0


@frozen
class Path:
    """Complex steps σ from the points of a tilt, all of shape (points, nodes)."""

    step: Complexes  # σ
    half_sine: Complexes  # sinh(σ/2)
    half_cosine: Complexes  # cosh(σ/2)


@frozen
class TiltedTransform:
    """A transform around θ: ln M(θ + σ) = logarithm + drift·σ + variance·σ²/2 + rest.

    Attributes:
        rest: The rest along a path, up to multiples of 2πi, shape (points, nodes); None: 0.
    """

    logarithm: Reals  # ln M(θ), shape (points,)
    drift: Reals | float = 0.0  # in records, shape (points,) or one for all
    variance: float = 0.0  # in records²
    rest: Callable[[Path], Complexes] | None = None


@frozen
class Normal:
    """The transform e^(variance·s²/2) of Gaussian noise."""

    variance: float  # in records²

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The mean and the variance of the tilted law."""
        return self.variance * tilt.point, np.full_like(tilt.point, self.variance)

    def tilted(self, tilt: Tilt) -> TiltedTransform:
        """The exponential alone."""
        drift = self.variance * tilt.point
        return TiltedTransform(drift * tilt.point / 2, drift, self.variance)


@frozen
class Poles:
    """The transform of a sum of Laplace noises, or of discrete ones.

    M(s) = Π (1 − s²/r²)^−n, and for noise on the integers M(s) = Π ((cosh r − 1)/(cosh r − cosh s))^n.
    """

    rates: Reals  # the different r = 1/scale, per record, shape (rates,)
    counts: Reals  # how many noises n have each of them, shape (rates,)
    is_discrete: bool  # whether the noises live on the integers

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The mean and the variance of the tilted law."""
        curbs, _ = self._curbs(tilt)
        slope, curvature = self._chord_slopes(tilt)
        rises = curbs * slope
        return self.counts @ rises, self.counts @ (curbs * curvature + rises * rises)

    def tilted(self, tilt: Tilt) -> TiltedTransform:
        """−Σ n·ln(1 − κ·chord) beyond ln M(θ)."""
        curbs, logarithms = self._curbs(tilt)

        def rest(path: Path) -> Complexes:
            chord = self._chord(tilt.point[:, None], path)
            logarithm = np.zeros_like(chord)
            for start in range(0, self.counts.size, _GROUP):
                some = slice(start, start + _GROUP)
                factors = 1 - curbs[some, :, None] * chord
                if (self.counts[some] == 1).all():  # so few that their product does not overflow
                    logarithm -= np.log(factors.prod(axis=0))
                else:
                    logarithm -= np.tensordot(self.counts[some], np.log(factors), axes=1)
            return logarithm

        return TiltedTransform(self.counts @ logarithms, rest=rest)

    def _curbs(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """κ with M(θ)/M(θ + σ) = Π (1 − κ·chord)^n, and ln M(θ) of one noise; (rates, points)."""
        rates = self.rates[:, None]
        ahead = (rates - tilt.pole) + tilt.gap
        behind = rates + tilt.point
        if not self.is_discrete:
            return 1 / ahead / behind, -np.log(ahead / rates) - np.log(behind / rates)
        spans = np.expm1(-ahead) * np.expm1(-behind)
        return 2 * np.exp(-ahead) / spans, np.log(np.expm1(-rates) ** 2 / spans)

    def _chord_slopes(self, tilt: Tilt) -> tuple[Reals, Reals | float]:
        """The first two derivatives of the chord at σ = 0."""
        if not self.is_discrete:
            return 2 * tilt.point, 2.0
        mirrored = np.exp(-2 * tilt.point)
        return -np.expm1(-2 * tilt.point) / 2, (1 + mirrored) / 2

    def _chord(self, point: Reals, path: Path) -> Complexes:
        """(θ + σ)² − θ² or, for noise on the integers, e^−θ·(cosh(θ + σ) − cosh θ)."""
        if not self.is_discrete:
            return path.step * (2 * point + path.step)
        falls, rises = -np.expm1(-2 * point), 1 + np.exp(-2 * point)
        return path.half_sine * (falls * path.half_cosine + rises * path.half_sine)


@frozen
class Above:
    """What turns the transform of a law into that of its tail P[Z >= x], for s > 0.

    It is 1/s on the line and 1/(1 − e^−s) on a lattice.
    """

    is_discrete: bool  # whether the tail is that on a lattice

    def in_units(self, unit: float) -> "Above":  # noqa: ARG002  (as of every end)
        """The same in other units of records: a probability has none."""
        return self

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The first two derivatives of the logarithm."""
        if not self.is_discrete:
            return -1 / tilt.point, 1 / tilt.point**2
        fall = _odds(tilt.point)
        return -fall, fall * (1 + fall)

    def tilted(self, tilt: Tilt) -> TiltedTransform:
        """The quotient around θ."""
        point = tilt.point[:, None]
        if not self.is_discrete:
            return TiltedTransform(-np.log(tilt.point), rest=lambda path: -np.log1p(path.step / point))
        return TiltedTransform(
            -np.log(-np.expm1(-tilt.point)), rest=lambda path: -np.log1p(-np.expm1(-path.step) * _odds(point))
        )


def _odds(point: Reals) -> Reals:
    """1/(e^θ − 1)."""
    return np.exp(-point) / -np.expm1(-point)


_NEGLIGIBLE = 40.0  # nats: e^−40 is below a double's rounding of the sum
_WIDE = 0.5  # records of a scale: from there on Poisson's sum has fewer terms than the plain one
NORMAL = 8.0  # the variance in records² from which on Poisson's images are below e^−157
_ORIGIN = np.zeros(1)  # θ = 0


@frozen
class Comb:
    """The transform of discrete Gaussian noise, Σ e^(s·k − k²/(2v)) over the integers, over M(0).

    It is proportional to e^(v·s²/2)·Σ e^(−2π²n²v + 2πi·n·v·s) over the integers n by Poisson's formula. The first sum
    serves narrow noise, the second wide noise.
    """

    variance: float  # v, the squared scale in records²
    copies: int  # how many such noises are added

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The mean and the variance of the tilted law."""
        if self._is_wide:
            return Normal(self.variance * self.copies).slopes(tilt)
        weights, nearest = self._neighbours(tilt.point)
        chances = weights / weights.sum(axis=1, keepdims=True)
        mean = chances @ self._orders
        spread = (chances * (self._orders - mean[:, None]) ** 2).sum(axis=1)
        return self.copies * (nearest + mean), self.copies * spread

    def tilted(self, tilt: Tilt) -> TiltedTransform:
        """The comb around θ."""
        if self.variance > NORMAL:
            return Normal(self.variance * self.copies).tilted(tilt)
        if self._is_wide:
            drift = self.variance * tilt.point
            weights, at_zero = self._images(tilt.point), self._images(_ORIGIN)
            variance, turn = self.variance, 2j * np.pi * self.variance
            logarithm = drift * tilt.point / 2
        else:
            terms, drift = self._neighbours(tilt.point)
            weights = terms.astype(np.complex128)
            at_zero = self._neighbours(_ORIGIN)[0].astype(np.complex128)
            variance, turn = 0.0, 1 + 0j
            logarithm = drift * (tilt.point - drift / (2 * self.variance))
        total = weights.sum(axis=1).real
        chances, order = weights / total[:, None], weights.shape[1] // 2

        def rest(path: Path) -> Complexes:
            """Ln (Σ c_j·e^(j·turn·σ))^copies over −order <= j <= order."""
            turned = turn * path.step
            logs = np.log(_polynomial(chances, np.exp(turned))) - order * turned
            return self.copies * logs

        return TiltedTransform(
            self.copies * (logarithm + np.log(total / at_zero.real.sum())),
            self.copies * drift,
            self.copies * variance,
            rest,
        )

    @property
    def _is_wide(self) -> bool:
        return self.variance >= _WIDE**2

    @property
    def _orders(self) -> Reals:
        """The images, or the neighbours of the largest term, whose terms count."""
        reach = math.sqrt(2 * _NEGLIGIBLE * self.variance)
        if self._is_wide:
            reach = math.sqrt(0.25 + _NEGLIGIBLE / (2 * math.pi**2 * self.variance)) - 1
        order = math.ceil(reach + 0.5)
        return np.arange(-order, order + 1.0)

    def _images(self, point: Reals) -> Complexes:
        """The terms of Poisson's sum at θ; shape (points, images)."""
        means = self.variance * point
        turns = 2j * np.pi * (means - np.round(means))[:, None] * self._orders
        return np.exp(turns - 2 * np.pi**2 * self.variance * self._orders**2)

    def _neighbours(self, point: Reals) -> tuple[Reals, Reals]:
        """The terms e^(θ·k − k²/(2v)) around the largest, relative to it, and its k."""
        means = self.variance * point
        nearest = np.round(means)
        excess = self._orders * (self._orders - 2 * (means - nearest)[:, None])
        return np.exp(-excess / (2 * self.variance)), nearest


def _polynomial(coefficients: Reals | Complexes, base: Complexes) -> Complexes:
    """Σ c_j·base^j by Horner's rule, with coefficients of shape (points, powers)."""
    total = np.zeros_like(base)
    for column in coefficients.T[::-1]:
        total *= base
        total += column[:, None]
    return total


_SMALL = 1e-3  # below, the first terms of both series are within 2e-7 of the whole
_FAR = 300.0  # whose squared hyperbolic sine, e^600/4, is a double still


@frozen
class Window:
    """The transform of a window of errors around 0.

    It is ∫ e^(s·u) du = 2·sinh(s·w/2)/s over |u| < w/2 on the line, and on a lattice the sum sinh(s·w/2)/sinh(s/2) over
    w points with gaps of 1. So the density of the noise that is joined by it is, at w/2 or at (w + 1)/2, the mass of
    the noise in [0, w) or on 1..w: a sum of positive terms, to full relative precision also where it is tiny.
    """

    width: float  # w, in records or in points
    is_discrete: bool  # whether the window is that of a lattice

    @property
    def centre(self) -> float:
        """Where the density of the joined noise is the mass."""
        return (self.width + 1) / 2 if self.is_discrete else self.width / 2

    def in_units(self, unit: float) -> "Window":
        """The same window in other units of records."""
        return Window(self.width / unit, self.is_discrete)

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The mean and the variance of the tilted window."""
        mean, variance = _uniform_slopes(tilt.point, self.width)
        if not self.is_discrete:
            return mean, variance
        gap_mean, gap_variance = _uniform_slopes(tilt.point, 1.0)
        return mean - gap_mean, variance - gap_variance

    def tilted(self, tilt: Tilt) -> TiltedTransform:
        """(1 − e^(−w·s))/s, or (1 − e^(−w·s))/(1 − e^−s), but for the drift."""
        span = -np.expm1(-tilt.point) if self.is_discrete else tilt.point
        drift = self.width / 2 - (0.5 if self.is_discrete else 0.0)
        logarithm = tilt.point * drift + np.log(-np.expm1(-tilt.point * self.width) / span)
        point = tilt.point[:, None]

        def rest(path: Path) -> Complexes:
            places = point + path.step
            falls = np.expm1(-self.width * places) / np.expm1(-self.width * point)
            spans = np.expm1(-places) / np.expm1(-point) if self.is_discrete else places / point
            return np.log(falls / spans)

        return TiltedTransform(logarithm, drift, rest=rest)


def _uniform_slopes(point: Reals, width: float) -> tuple[Reals, Reals]:
    """The first two derivatives of ln(sinh(θ·w/2)/(θ·w/2)), as precisely as a path needs them."""
    reach = point * width / 2
    large = np.maximum(reach, _SMALL)
    mean = np.where(reach < _SMALL, reach / 3, 1 / np.tanh(large) - 1 / large)
    spread = 1 / large**2 - 1 / np.sinh(np.minimum(large, _FAR)) ** 2
    variance = np.where(reach < _SMALL, 1 / 3, spread)
    return width / 2 * mean, (width / 2) ** 2 * variance


# A factor of the transform of a sum.
TransformFactor: TypeAlias = Normal | Poles | Comb | Above | Window
