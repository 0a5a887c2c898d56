"""The Laplace transform of discrete Gaussian noise."""

import math
from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.sums.transforms import Complexes, Normal, Path, Tilt, Tilted

__all__ = ["NORMAL", "Comb"]

_NEGLIGIBLE = 40.0  # nats: e^−40 is below a double's rounding of the sum
_WIDE = 0.5  # records of a scale: from there on Poisson's sum has fewer terms than the plain one
NORMAL = 8.0  # the variance in records² from which on Poisson's images are below e^−157
_ORIGIN = np.zeros(1)  # θ = 0


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
            powers: Complexes = self.copies * logs
            return powers

        return Tilted(
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
        terms: Complexes = np.exp(turns - 2 * np.pi**2 * self.variance * self._orders**2)
        return terms

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
