"""Laplace transforms of noises that are seen on a lattice: the integers, or those plus a phase."""

import math
from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.sums.transforms import Complexes, Normal, Path, Tilt, Tilted

__all__ = ["Comb", "Sampled"]

_NEGLIGIBLE = 40.0
_WIDE = 0.5
_NORMAL = 8.0
_ORIGIN = np.zeros(1)


@dataclass(frozen=True, slots=True)
class Comb:
    """The transform of discrete Gaussian noise, Σ e^(s·k − k²/(2v)) over the integers, over M(0).

    It is proportional to e^(v·s²/2)·Σ e^(−2π²n²v + 2πi·n·v·s) over the integers n by Poisson's
    formula. The first sum serves narrow noise, the second wide noise.

    Attributes:
        variance: v, the squared scale in records².
        copies: How many such noises are added.
    """

    variance: float
    copies: int

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """The mean and the variance of the tilted law."""
        if self._is_wide:
            return Normal(self.variance * self.copies).slopes(tilt)
        weights, nearest = self._neighbours(tilt.point)
        chances = weights / weights.sum(axis=1, keepdims=True)
        mean = chances @ self._orders
        spread = (chances * (self._orders - mean[:, None]) ** 2).sum(axis=1)
        return self.copies * (nearest + mean), self.copies * spread

    def tilted(self, tilt: Tilt) -> Tilted:
        """The comb around θ."""
        if self.variance > _NORMAL:
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
        return TiltedComb(
            self.copies * (logarithm + np.log(total / at_zero.real.sum())),
            self.copies * drift,
            self.copies * variance,
            weights / total[:, None],
            weights.shape[1] // 2,
            turn,
            self.copies,
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
        terms: Complexes = np.exp(turns - 2 * np.pi**2 * self.variance * self._orders**2)
        return terms

    def _neighbours(self, point: Reals) -> tuple[Reals, Reals]:
        """The terms e^(θ·k − k²/(2v)) around the largest, relative to it, and its k."""
        means = self.variance * point
        nearest = np.round(means)
        excess = self._orders * (self._orders - 2 * (means - nearest)[:, None])
        return np.exp(-excess / (2 * self.variance)), nearest


@dataclass(frozen=True, slots=True)
class TiltedComb(Tilted):
    """A comb around the points θ: (Σ c_j·e^(j·turn·σ))^copies over −order <= j <= order.

    Attributes:
        weights: The c_j, which add up to 1, shape (points, 2·order + 1).
        order: The largest j.
        turn: What multiplies the step.
        copies: The power.
    """

    weights: Complexes
    order: int
    turn: complex
    copies: int

    def rest(self, path: Path) -> Complexes:
        """The logarithm of the power of the sum."""
        turned = self.turn * path.step
        logarithm = np.log(_polynomial(self.weights, np.exp(turned))) - self.order * turned
        rest: Complexes = self.copies * logarithm
        return rest


@dataclass(frozen=True, slots=True)
class Sampled:
    """What turns discrete Laplace noise into the continuous one, seen at integers plus a phase.

    Continuous noise is the discrete one of the same scale plus H of density
    r·sinh(r·(1 − |x|))/(2·cosh r − 2) on [−1, 1]. So its density at phase + n is the law of the
    discrete noise mixed over n and n + 1, and its tail is the tail mixed over n, n + 1 and n + 2.

    Attributes:
        rate: r = 1/scale, per record.
        phase: In [0, 1).
        is_tail: Whether the tail is meant.
    """

    rate: float
    phase: float
    is_tail: bool

    def slopes(self, tilt: Tilt) -> tuple[Reals, Reals]:
        """Nothing: two records at most are left out, which hardly moves a path."""
        return np.zeros_like(tilt.point), np.zeros_like(tilt.point)

    def tilted(self, tilt: Tilt) -> "TiltedSampled":
        """The places around θ."""
        coefficients, decays = self._tail() if self.is_tail else self._density()
        places = self.phase - np.arange(decays.size)
        exponents = places * tilt.point[:, None] - decays
        largest = exponents.max(axis=1)
        weights = coefficients * np.exp(exponents - largest[:, None])
        total = weights.sum(axis=1)
        drift = np.full_like(tilt.point, self.phase)
        return TiltedSampled(largest + np.log(total), drift, 0.0, weights / total[:, None])

    def log_mass_around(self) -> float:
        """The logarithm of P[|H| < phase] = sinh(r·(1 − phase/2))·sinh(r·phase/2)/sinh²(r/2)."""
        if self.phase == 0:
            return -math.inf
        falls = math.expm1(-self.rate * (2 - self.phase)), math.expm1(-self.rate * self.phase)
        return math.log(falls[0] * falls[1]) - 2 * math.log(-math.expm1(-self.rate))

    def log_masses_below(self) -> tuple[float, float]:
        """The logarithms of P[H < phase] and P[H < phase − 1]."""
        (above, _, below), (lift, _, drop) = self._tail()
        log_below = math.log(below) - drop if below > 0 else -math.inf
        return math.log1p(-above * math.exp(-lift)), log_below

    def _density(self) -> tuple[Reals, Reals]:
        """Factors c and exponents e of the densities c·e^−e of H at phase and at phase − 1."""
        distances = np.array([self.phase, 1 - self.phase])
        normal = self.rate / 2 / math.expm1(-self.rate) ** 2
        return -normal * np.expm1(-2 * self.rate * (1 - distances)), self.rate * distances

    def _tail(self) -> tuple[Reals, Reals]:
        """Those of P[H >= phase], P[phase − 1 <= H < phase] and P[H < phase − 1]."""
        distances = np.array([self.phase, 1 - self.phase])
        normal = 1 / 2 / math.expm1(-self.rate) ** 2
        factors = normal * np.expm1(-self.rate * (1 - distances)) ** 2
        above, below = factors * np.exp(-self.rate * distances)
        decays = np.array([self.rate * self.phase, 0.0, self.rate * (1 - self.phase)])
        return np.array([factors[0], 1 - above - below, factors[1]]), decays


@dataclass(frozen=True, slots=True)
class TiltedSampled(Tilted):
    """The places around the points θ.

    Attributes:
        weights: The share of each place, downwards, shape (points, places).
    """

    weights: Reals

    def rest(self, path: Path) -> Complexes:
        """The logarithm of Σ weight_j·e^(−j·σ)."""
        rest: Complexes = np.log(_polynomial(self.weights, np.exp(-path.step)))
        return rest


def _polynomial(coefficients: Reals | Complexes, base: Complexes) -> Complexes:
    """Σ c_j·base^j by Horner's rule, with coefficients of shape (points, powers)."""
    total = np.zeros_like(base)
    for column in coefficients.T[::-1]:
        total *= base
        total += column[:, None]
    return total
