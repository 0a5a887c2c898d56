"""Laplace transforms E[e^(s·Z)] of noises, seen from a real point: the parts of a sum of noises."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals

__all__ = ["Above", "Complexes", "Normal", "Part", "Path", "Poles", "Tilt", "Tilted"]

Complexes = NDArray[np.complex128]

_GROUP = 32  # rates whose factors are multiplied before a logarithm is taken


@dataclass(frozen=True, slots=True)
class Tilt:
    """Real points θ in [0, pole), shape (points,) each.

    Attributes:
        point: θ.
        gap: pole − θ, to full relative precision.
        pole: The singularity of the transform that is nearest to 0.
    """

    point: Reals
    gap: Reals
    pole: Reals


@dataclass(frozen=True, slots=True)
class Path:
    """Complex steps σ from the points of a tilt, all of shape (points, nodes).

    Attributes:
        step: σ.
        half_sine: sinh(σ/2).
        half_cosine: cosh(σ/2).
    """

    step: Complexes
    half_sine: Complexes
    half_cosine: Complexes


@dataclass(frozen=True, slots=True)
class Tilted:
    """A transform around θ: ln M(θ + σ) = logarithm + drift·σ + variance·σ²/2 + rest.

    Attributes:
        logarithm: ln M(θ), shape (points,).
        drift: In records, shape (points,) or one for all.
        variance: In records².
        rest: The rest along a path, up to multiples of 2πi, shape (points, nodes); None: 0.
    """

    logarithm: Reals
    drift: Reals | float = 0.0
    variance: float = 0.0
    rest: Callable[[Path], Complexes] | None = None


class Part(Protocol):
    """A factor of the transform of a sum."""

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The first two derivatives of ln M at θ, to the precision that placing a path needs."""
        ...

    def tilted(self, tilt: Tilt) -> Tilted:
        """The transform around θ."""
        ...


@dataclass(frozen=True, slots=True)
class Normal:
    """The transform e^(variance·s²/2) of Gaussian noise.

    Attributes:
        variance: In records².
    """

    variance: float

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The mean and the variance of the tilted law."""
        return self.variance * tilt.point, np.full_like(tilt.point, self.variance)

    def tilted(self, tilt: Tilt) -> Tilted:
        """The exponential alone."""
        drift = self.variance * tilt.point
        return Tilted(drift * tilt.point / 2, drift, self.variance)


@dataclass(frozen=True, slots=True)
class Poles:
    """The transform of a sum of Laplace noises, or of discrete ones.

    M(s) = Π (1 − s²/r²)^−n, and for noise on the integers
    M(s) = Π ((cosh r − 1)/(cosh r − cosh s))^n.

    Attributes:
        rates: The different r = 1/scale, per record, shape (rates,).
        counts: How many noises n have each of them, shape (rates,).
        is_discrete: Whether the noises live on the integers.
    """

    rates: Reals
    counts: Reals
    is_discrete: bool

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The mean and the variance of the tilted law."""
        curbs, _ = self._curbs(tilt)
        slope, curvature = self._chord_slopes(tilt)
        rises = curbs * slope
        return self.counts @ rises, self.counts @ (curbs * curvature + rises * rises)

    def tilted(self, tilt: Tilt) -> Tilted:
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

        return Tilted(self.counts @ logarithms, rest=rest)

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


@dataclass(frozen=True, slots=True)
class Above:
    """What turns the transform of a law into that of its tail P[Z >= x], for s > 0.

    It is 1/s on the line and 1/(1 − e^−s) on a lattice.

    Attributes:
        is_discrete: Whether the tail is that on a lattice.
    """

    is_discrete: bool

    def in_units(self, unit: float) -> "Above":  # noqa: ARG002  (as of every end)
        """The same in other units of records: a probability has none."""
        return self

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The first two derivatives of the logarithm."""
        if not self.is_discrete:
            return -1 / tilt.point, 1 / tilt.point**2
        fall = _odds(tilt.point)
        return -fall, fall * (1 + fall)

    def tilted(self, tilt: Tilt) -> Tilted:
        """The quotient around θ."""
        point = tilt.point[:, None]
        if not self.is_discrete:
            return Tilted(-np.log(tilt.point), rest=lambda path: -np.log1p(path.step / point))
        return Tilted(
            -np.log(-np.expm1(-tilt.point)),
            rest=lambda path: -np.log1p(-np.expm1(-path.step) * _odds(point)),
        )


def _odds(point: Reals) -> Reals:
    """1/(e^θ − 1)."""
    odds: Reals = np.exp(-point) / -np.expm1(-point)
    return odds
