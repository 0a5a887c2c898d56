"""The law of discrete Gaussian noise at many errors at once."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.legendre import leggauss

from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.error_laws import GaussianShape
from noisycount.model.noises.gaussian_sums import log_sum_from, log_sum_of_all

__all__ = ["DiscreteGaussianErrors"]

_FARTHEST = 40.0  # scales, beyond which a tail is below 1e-340
_DEGREE = 90
_PER_SCALE = 512.0
_WIDE = 64.0
_NODES, _WEIGHTS = leggauss(12)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianErrors(GaussianShape):
    """Discrete Gaussian noise."""

    @property
    def is_discrete(self) -> bool:
        """True: the errors are integers."""
        return True

    def exceedance(self, errors: Reals) -> Reals:
        """The sum over the integers from z on, over that of all."""
        is_above = errors > 0
        tail = self._tail(np.where(is_above, errors, 1 - errors))
        return np.where(is_above, tail, 1 - tail)

    def between(self, low: Reals, widths: Reals) -> Reals:
        """From the integers from 1 on and those up to 0."""
        return self._from(1.0, low, widths) + self._from(0.0, 1 - low - widths, widths)

    def _from(self, least: float, low: Reals, widths: Reals) -> Reals:
        """The mass of the integers from low on and so wide, of those that are at least so large."""
        high = np.maximum(low + widths, least)
        first, last = np.broadcast_arrays(np.maximum(low, least), high)
        near = last - first < self.scale / 4
        if self.scale < _WIDE:
            near &= last - first == np.floor(last - first)
        masses: Reals = np.zeros(first.shape)
        masses[~near] = self._tail(first[~near]) - self._tail(last[~near])
        mass = self._summed_mass if self.scale < _WIDE else self._smooth_mass
        masses[near] = mass(first[near], last[near])
        return masses

    def _summed_mass(self, first: Reals, last: Reals) -> Reals:
        """Near errors, term by term: there are at most 16."""
        steps = np.arange(math.ceil(self.scale / 4))
        points = (first[:, None] + steps) / self.scale
        densities = np.exp(-points * points / 2 - log_sum_of_all(self.scale))
        masses: Reals = (densities * (steps < (last - first)[:, None])).sum(axis=1)
        return masses

    def _smooth_mass(self, first: Reals, last: Reals) -> Reals:
        """Near errors: the normal mass half a record lower, corrected for the steps of a sum.

        Σ_{z=a}^{b−1} f(z) = ∫ (f − f''/24 + 7f''''/5760 − 31f''''''/967680) from a − 1/2 to
        b − 1/2, and the integrals of the derivatives are differences of lower ones.
        """
        low, high = first - 0.5, last - 0.5
        points = (low[..., None] + (high - low)[..., None] * ((1 + _NODES) / 2)) / self.scale
        squares, inverse = points * points, 1 / self.scale**2
        correction = 1 - inverse * (squares - 1) / 24
        correction += inverse**2 * 7 / 5760 * ((squares - 6) * squares + 3)
        correction -= inverse**3 * 31 / 967680 * (((squares - 15) * squares + 45) * squares - 15)
        densities = np.exp(-squares / 2 - log_sum_of_all(self.scale)) * correction
        masses: Reals = densities @ _WEIGHTS * ((high - low) / 2)
        return masses

    def _tail(self, errors: Reals) -> Reals:
        """P[Z >= z] for z >= 0."""
        units = np.minimum(errors / self.scale, _FARTHEST)
        places = (units * _PER_SCALE).astype(np.int64)
        shares = units * _PER_SCALE - places
        cubics = _log_tail_ratios(self.scale)[places]
        ratios = cubics[..., 3]
        for power in (2, 1, 0):
            ratios = cubics[..., power] + shares * ratios
        tails: Reals = np.exp(ratios - units * units / 2 - log_sum_of_all(self.scale))
        return tails


@lru_cache(maxsize=64)
def _log_tail_ratios(scale: float) -> Reals:
    """The logarithm of Σ_{j >= 0} f(z + j)/f(z) from z = 0 to 40 scales, as cubics.

    Each goes through the four values around 1/512 of a scale, which it keeps to 1e-13.

    Returns:
        The coefficients of the share of the way from one value to the next, in rising powers, shape
        (values, 4).
    """

    def ratios(units: Reals) -> Reals:
        return np.array([log_sum_from(unit * scale, scale) + unit**2 / 2 for unit in units])

    smooth = Chebyshev.interpolate(ratios, _DEGREE, domain=[0.0, _FARTHEST])
    values = smooth(np.arange(_FARTHEST * _PER_SCALE + 1) / _PER_SCALE)
    padded = np.concatenate(
        [[3 * (values[0] - values[1]) + values[2]], values, values[-1:], values[-1:]]
    )
    before, here, after, last = (padded[node : node + values.size] for node in range(4))
    slope = after - before / 3 - here / 2 - last / 6
    bend = (after + before) / 2 - here
    turn = (last - before) / 6 + (here - after) / 2
    return np.stack([here, slope, bend, turn], axis=1)
