"""Laplace transforms M(s) = E[e^(s·Z)] of noises around a real point θ, and those of tails and windows.

`sum_law` multiplies these factors and inverts the product.
"""

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
    """Real points θ in [0, pole), each array of shape (points,)."""

    point: Reals  # θ
    gap: Reals  # pole − θ, to full relative precision
    pole: Reals  # the singularity of the transform nearest to 0


@frozen
class Path:
    """Complex steps σ from the points of a tilt, each array of shape (points, nodes)."""

    step: Complexes  # σ
    half_sine: Complexes  # sinh(σ/2)
    half_cosine: Complexes  # cosh(σ/2)


@frozen
class TiltedTransform:
    """A transform around θ: ln M(θ + σ) = logarithm + drift·σ + variance·σ²/2 + rest(σ).

    Attributes:
        rest: The remaining terms along a path, up to multiples of 2πi, shape (points, nodes); None: 0.
    """

    logarithm: Reals  # ln M(θ), shape (points,)
    drift: Reals | float = 0.0  # in records, shape (points,) or one for all
    variance: float = 0.0  # in records²
    rest: Callable[[Path], Complexes] | None = None


@frozen
class GaussianTransform:
    """The transform e^(variance·s²/2) of Gaussian noise."""

    variance: float  # in records²

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """Return the mean and the variance of the tilted distribution."""
        return self.variance * tilt.point, np.full_like(tilt.point, self.variance)

    def tilted(self, tilt: Tilt) -> TiltedTransform:
        """Return the transform around the points of a tilt."""
        drift = self.variance * tilt.point
        return TiltedTransform(drift * tilt.point / 2, drift, self.variance)


@frozen
class LaplaceNoiseTransform:
    """The transform of a sum of Laplace noises, continuous or discrete.

    With n noises of each rate r = 1/scale, M(s) = Π (1 − s²/r²)^−n, and for noise on the integers M(s) = Π ((cosh r −
    1)/(cosh r − cosh s))^n.
    """

    rates: Reals  # the different rates r = 1/scale, per record, shape (rates,)
    counts: Reals  # number n of noises with each rate, shape (rates,)
    is_discrete: bool  # True if the noises are integers

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """Return the mean and the variance of the tilted distribution."""
        kappas, _ = self._kappas_and_logs(tilt)
        slope, curvature = self._chord_slopes(tilt)
        rises = kappas * slope
        return self.counts @ rises, self.counts @ (kappas * curvature + rises * rises)

    def tilted(self, tilt: Tilt) -> TiltedTransform:
        """Return the transform M around the points θ of a tilt.

        Its terms other than ln M(θ) are −Σ n·ln(1 − κ·chord).
        """
        kappas, logarithms = self._kappas_and_logs(tilt)

        def rest(path: Path) -> Complexes:
            chord = self._chord(tilt.point[:, None], path)
            logarithm = np.zeros_like(chord)
            for start in range(0, self.counts.size, _GROUP):
                some = slice(start, start + _GROUP)
                factors = 1 - kappas[some, :, None] * chord
                if (self.counts[some] == 1).all():  # a product of at most 32 factors does not overflow
                    logarithm -= np.log(factors.prod(axis=0))
                else:
                    logarithm -= np.tensordot(self.counts[some], np.log(factors), axes=1)
            return logarithm

        return TiltedTransform(self.counts @ logarithms, rest=rest)

    def _kappas_and_logs(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """Return κ and ln M(θ) of a single noise, for each rate r and each point θ, shape (rates, points).

        M(θ)/M(θ + σ) = Π (1 − κ·chord)^n, a product over the rates; `_chord` is the chord of θ and σ.
        """
        rates = self.rates[:, None]
        ahead = (rates - tilt.pole) + tilt.gap
        behind = rates + tilt.point
        if not self.is_discrete:
            return 1 / ahead / behind, -np.log(ahead / rates) - np.log(behind / rates)
        spans = np.expm1(-ahead) * np.expm1(-behind)
        return 2 * np.exp(-ahead) / spans, np.log(np.expm1(-rates) ** 2 / spans)

    def _chord_slopes(self, tilt: Tilt) -> tuple[Reals, Reals | float]:
        """Return the first two derivatives of the chord, as a function of the step, at step 0."""
        if not self.is_discrete:
            return 2 * tilt.point, 2.0
        mirrored = np.exp(-2 * tilt.point)
        return -np.expm1(-2 * tilt.point) / 2, (1 + mirrored) / 2

    def _chord(self, point: Reals, path: Path) -> Complexes:
        """Return (θ + σ)² − θ² for points θ and steps σ; on the integers, e^−θ·(cosh(θ + σ) − cosh θ)."""
        if not self.is_discrete:
            return path.step * (2 * point + path.step)
        falls, rises = -np.expm1(-2 * point), 1 + np.exp(-2 * point)
        return path.half_sine * (falls * path.half_cosine + rises * path.half_sine)


@frozen
class TailFactor:
    """Factor that turns the transform of Z into the transform of its tail P[Z >= x], for s > 0.

    It is 1/s for continuous noise and 1/(1 − e^−s) on the integers.
    """

    is_discrete: bool  # True if Z is an integer

    def in_units(self, unit: float) -> "TailFactor":  # noqa: ARG002  (same signature as `Window.in_units`)
        """Return the same factor: a probability has no unit."""
        return self

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """Return the first two derivatives of the logarithm."""
        if not self.is_discrete:
            return -1 / tilt.point, 1 / tilt.point**2
        fall = _geometric_odds(tilt.point)
        return -fall, fall * (1 + fall)

    def tilted(self, tilt: Tilt) -> TiltedTransform:
        """Return the factor around the points of a tilt."""
        point = tilt.point[:, None]
        if not self.is_discrete:
            return TiltedTransform(-np.log(tilt.point), rest=lambda path: -np.log1p(path.step / point))
        return TiltedTransform(
            -np.log(-np.expm1(-tilt.point)), rest=lambda path: -np.log1p(-np.expm1(-path.step) * _geometric_odds(point))
        )


def _geometric_odds(point: Reals) -> Reals:
    """Return 1/(e^θ − 1) for each point θ."""
    return np.exp(-point) / -np.expm1(-point)


_NEGLIGIBLE = 40.0  # nats: terms below e^−40 of the largest do not change a sum of doubles
_WIDE = 0.5  # records: from this scale on, Poisson's sum has fewer terms than the direct sum
NORMAL = 8.0  # records²: from this variance on, the images in Poisson's sum are below e^−157
_ORIGIN = np.zeros(1)  # θ = 0


@frozen
class DiscreteGaussianTransform:
    """The transform of discrete Gaussian noise: Σ e^(s·k − k²/(2v)) over the integers k, divided by its value at s = 0.

    By Poisson's summation formula it is proportional to e^(v·s²/2)·Σ e^(−2π²n²v + 2πi·n·v·s) over the integers n. The
    first sum is used for narrow noise, the second for wide noise.
    """

    variance: float  # v, the squared scale in records²
    copies: int  # number of noises with this variance

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """Return the mean and the variance of the tilted distribution."""
        if self._is_wide:
            return GaussianTransform(self.variance * self.copies).slopes(tilt)
        weights, nearest = self._neighbours(tilt.point)
        chances = weights / weights.sum(axis=1, keepdims=True)
        mean = chances @ self._term_indices
        spread = (chances * (self._term_indices - mean[:, None]) ** 2).sum(axis=1)
        return self.copies * (nearest + mean), self.copies * spread

    def tilted(self, tilt: Tilt) -> TiltedTransform:
        """Return the transform around the points of a tilt."""
        if self.variance > NORMAL:
            return GaussianTransform(self.variance * self.copies).tilted(tilt)
        if self._is_wide:
            drift = self.variance * tilt.point
            weights, at_zero = self._poisson_terms(tilt.point), self._poisson_terms(_ORIGIN)
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
            """Return copies·ln Σ c_j·e^(j·turn·step) over −order <= j <= order, c being `chances`."""
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
        """True if Poisson's sum has fewer terms than the direct sum."""
        return self.variance >= _WIDE**2

    @property
    def _term_indices(self) -> Reals:
        """Indices of the terms of the sum that are not negligible, symmetric around 0."""
        reach = math.sqrt(2 * _NEGLIGIBLE * self.variance)
        if self._is_wide:
            reach = math.sqrt(0.25 + _NEGLIGIBLE / (2 * math.pi**2 * self.variance)) - 1
        order = math.ceil(reach + 0.5)
        return np.arange(-order, order + 1.0)

    def _poisson_terms(self, point: Reals) -> Complexes:
        """Return the terms of Poisson's sum at each point, shape (points, images)."""
        means = self.variance * point
        turns = 2j * np.pi * (means - np.round(means))[:, None] * self._term_indices
        return np.exp(turns - 2 * np.pi**2 * self.variance * self._term_indices**2)

    def _neighbours(self, point: Reals) -> tuple[Reals, Reals]:
        """Return the terms e^(θ·k − k²/(2·variance)) near the largest, relative to it, and the k of the largest."""
        means = self.variance * point
        nearest = np.round(means)
        excess = self._term_indices * (self._term_indices - 2 * (means - nearest)[:, None])
        return np.exp(-excess / (2 * self.variance)), nearest


def _polynomial(coefficients: Reals | Complexes, base: Complexes) -> Complexes:
    """Return the polynomial with the given coefficients at each base, by Horner's rule.

    Shapes: coefficients (points, powers).
    """
    total = np.zeros_like(base)
    for column in coefficients.T[::-1]:
        total *= base
        total += column[:, None]
    return total


_SMALL = 1e-3  # below this argument, the first terms of both series have a relative error of 2e-7
_FAR = 300.0  # its squared hyperbolic sine, e^600/4, is still a double


@frozen
class Window:
    """The transform of a window of errors of a width w around 0, by which masses are computed.

    For continuous noise it is ∫ e^(s·u) du = 2·sinh(s·w/2)/s over |u| < w/2; on the integers it is the sum
    sinh(s·w/2)/sinh(s/2) over w points with gaps of 1. The density of Z plus the window, at w/2 or (w + 1)/2, is the
    mass of Z in [0, w) or on 1..w. All terms are positive, so a tiny mass keeps its relative precision too.
    """

    width: float  # w, in records or in points
    is_discrete: bool  # True if Z is an integer

    @property
    def centre(self) -> float:
        """Point at which the density of Z plus the window is the mass."""
        return (self.width + 1) / 2 if self.is_discrete else self.width / 2

    def in_units(self, unit: float) -> "Window":
        """Return the window with its width in records/unit."""
        return Window(self.width / unit, self.is_discrete)

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """Return the mean and the variance of the tilted window."""
        mean, variance = _uniform_slopes(tilt.point, self.width)
        if not self.is_discrete:
            return mean, variance
        gap_mean, gap_variance = _uniform_slopes(tilt.point, 1.0)
        return mean - gap_mean, variance - gap_variance

    def tilted(self, tilt: Tilt) -> TiltedTransform:
        """Return the factor of the window around the points of a tilt, with its drift."""
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
    """Return the first two derivatives of ln(sinh(θ·w/2)/(θ·w/2)) in θ, for a window of width w.

    The relative error is 2e-7.
    """
    reach = point * width / 2
    large = np.maximum(reach, _SMALL)
    mean = np.where(reach < _SMALL, reach / 3, 1 / np.tanh(large) - 1 / large)
    spread = 1 / large**2 - 1 / np.sinh(np.minimum(large, _FAR)) ** 2
    variance = np.where(reach < _SMALL, 1 / 3, spread)
    return width / 2 * mean, (width / 2) ** 2 * variance


# A factor of the transform of a sum.
TransformFactor: TypeAlias = GaussianTransform | LaplaceNoiseTransform | DiscreteGaussianTransform | TailFactor | Window
