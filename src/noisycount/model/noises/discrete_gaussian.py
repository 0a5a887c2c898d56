"""Discrete Gaussian noise, computed from sums of e^(−z²/(2·scale²)) over the integers.

`DiscreteGaussian` is public; `gaussian` has the base classes that it shares with continuous noise.
"""

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.legendre import leggauss

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.normal import erfcx
from noisycount.model.noises.additive import DiscreteNoise, Sampler
from noisycount.model.noises.gaussian import GaussianKernel, GaussianShape
from noisycount.model.sampling.scalar import discrete_gaussian
from noisycount.model.sampling.vectors import discrete_gaussian_array

_NEGLIGIBLE = 50.0  # nats: terms below e^−50 of the largest do not change a sum of doubles
_FLAT = 1 / 32  # nats a record: up to this slope, the first omitted correction of a wide sum is below 1e-17
# Records. From this scale on, sums over the integers are computed as integrals with a few corrections.
WIDE = 64.0


def theta_sum_and_mean_square(rate: float) -> tuple[float, float]:
    """Return Σ e^(−rate·z²) over the integers, and the mean of z² under these weights, for rate >= 1/2."""
    squares = np.arange(1.0, 10.0) ** 2
    weights = np.exp(-rate * squares)
    total = 1 + 2 * float(weights.sum())
    return total, 2 * float((squares * weights).sum()) / total


@lru_cache(maxsize=64)
def log_sum_of_all(scale: float) -> float:
    """Return ln Σ e^(−z²/(2·scale²)) over the integers; for scale >= 1 by Poisson's summation formula."""
    if scale < 1:
        return math.log(theta_sum_and_mean_square(1 / (2 * scale**2))[0])
    images = theta_sum_and_mean_square(2 * math.pi**2 * scale**2)[0]
    return math.log(scale * math.sqrt(2 * math.pi) * images)


def log_sum_from(first: float, scale: float) -> float:
    """Return ln Σ e^(−z²/(2·scale²)) over z = first, first + 1, … for first >= 0."""
    reach = first / scale
    slope = reach / scale
    if scale >= WIDE and slope <= _FLAT:
        return _log_smooth_sum((first - 0.5) / scale, scale)
    largest = -reach * reach / 2
    if slope > _NEGLIGIBLE:
        return largest
    longest = math.sqrt(2 * _NEGLIGIBLE) * scale
    offsets = np.arange(math.ceil(min(longest, _NEGLIGIBLE / slope if slope else longest)) + 1.0)
    terms = np.exp(-offsets * (slope + offsets / (2 * scale**2)))
    return largest + math.log(float(terms.sum()))


def _log_smooth_sum(units: float, scale: float) -> float:
    """Return the logarithm of a wide sum whose first term lies half a record above `units` scales.

    The sum is ∫ f + f'/24 − 7f'''/5760 + 31f'''''/967680 at that point, where f is e^(−z²/(2·scale²)).
    """
    square, inverse = units * units, 1 / scale**2
    steps = 1 / 24 - inverse * 7 / 5760 * (square - 3)
    steps += inverse**2 * 31 / 967680 * ((square - 10) * square + 15)
    integral = scale * math.sqrt(math.pi / 2) * float(erfcx(np.asarray(units / math.sqrt(2))))
    return math.log(integral - units / scale * steps) - square / 2


def sum_of_distances(scale: float) -> float:
    """Return Σ z·e^(−z²/(2·scale²)) over z = 1, 2, …; for wide noise by the Euler–Maclaurin formula."""
    if scale >= WIDE:
        return scale**2 - 1 / 12 - (1 / 240 + 1 / (2016 * scale**2)) / scale**2
    numbers = np.arange(1, math.ceil(math.sqrt(2 * _NEGLIGIBLE) * scale) + 2)
    return float(numbers @ np.exp(-((numbers / scale) ** 2) / 2))


_ROUNDING = 3e-16  # of the exponent 1/(2·scale²) as a float, which multiplies it by 1/scale²
_FARTHEST = 40.0  # scales, beyond which a tail is below 1e-340
_DEGREE = 90  # of the Chebyshev series that holds ln Σ f(z + j)/f(z) over these scales to 1e-14
_PER_SCALE = 512.0  # values a scale, between which cubics keep 1e-13
_FEW = 16  # errors up to which sums of their own are faster than the table
_NODES, _WEIGHTS = leggauss(12)  # for windows of a quarter of a scale


@frozen(init=False)
class DiscreteGaussian(DiscreteNoise, GaussianKernel):
    """Discrete Gaussian noise on the integers: P[Z = z] ∝ e^(−z²/(2·scale²)).

    The scale is a rational number and the sampler uses integers only, so its distribution is exact. Its standard
    deviation is at most the scale, and all but equal to it from 1 record on.

    Args:
        scale: In records, between 2^−52 and 2^52. A float is read as the decimal that Python shows for it (0.1 is
            1/10); a rational whose terms exceed 2^53 is rounded up, by less than one part in 2^51.

    Raises:
        ValueError: If the scale is not a number in that range.

    Source: Canonne, Kamath, Steinke (2020).

    Example:
        >>> import noisycount as nc
        >>> nc.DiscreteGaussian(10).smallest_error(0.05)
        21
    """

    name: ClassVar[str] = "discrete Gaussian"
    sampler: ClassVar[Sampler] = Sampler(discrete_gaussian, discrete_gaussian_array)

    @property
    def variance(self) -> float:
        """Variance of the noise, in records²: the mean of z²."""
        scale = float(self.scale)
        if scale < 1:
            return theta_sum_and_mean_square(1 / (2 * scale**2))[1]
        turned = 2 * math.pi * scale**2
        return scale**2 - turned**2 * theta_sum_and_mean_square(math.pi * turned)[1]

    @property
    def variance_rounding(self) -> float:
        """Relative rounding error of e^(−1/(2·scale²)) at scales below 1."""
        return _ROUNDING * max(0.0, float(self.scale) ** -2 - 1)

    @property
    def mean_absolute(self) -> float:
        """E|Z| in records: twice the sum of z·P[Z = z] over z >= 1."""
        scale = float(self.scale)
        return 2 * sum_of_distances(scale) * math.exp(-log_sum_of_all(scale))

    @property
    def errors(self) -> "DiscreteGaussianErrors":
        """Distribution of the noise Z, evaluated for arrays of errors."""
        return DiscreteGaussianErrors(float(self.scale))


@frozen
class DiscreteGaussianErrors(GaussianShape):
    """Discrete Gaussian distribution, evaluated for arrays of errors."""

    is_discrete: ClassVar[bool] = True

    @property
    def peak(self) -> float:
        """P[Z = 0] = 1/Σ e^(−z²/(2·scale²))."""
        return math.exp(-log_sum_of_all(self.scale))

    def log_tail(self, distances: Reals) -> Reals:
        """Return ln 2 + ln Σ_{j >= 0} P[Z = z + j], one sum for each distance z.

        Numerical error: 1e-12 relative in the tail, down to 1e-300.
        """
        whole = math.log(2) - log_sum_of_all(self.scale)
        sums = [log_sum_from(distance, self.scale) for distance in distances.ravel().tolist()]
        return np.reshape(sums, distances.shape) + whole

    def tail(self, distances: Reals) -> Reals:
        """Return 2·Σ_{j >= 0} P[Z = z + j]; many errors are read from a table."""
        return np.exp(self.log_tail(distances)) if distances.size <= _FEW else 2 * self._tail(distances)

    def between(self, low: Reals, widths: Reals) -> Reals:
        """Return P[low <= Z < low + width], as the sum of the masses above 0 and up to 0."""
        return self._mass_from(1.0, low, widths) + self._mass_from(0.0, 1 - low - widths, widths)

    def _mass_from(self, start: float, low: Reals, widths: Reals) -> Reals:
        """Return P[low <= Z < low + width and Z >= start]."""
        high = np.maximum(low + widths, start)
        first, last = np.broadcast_arrays(np.maximum(low, start), high)
        near = last - first < self.scale / 4
        if self.scale < WIDE:
            near &= last - first == np.floor(last - first)
        masses: Reals = np.zeros(first.shape)
        masses[~near] = (self.tail(first[~near]) - self.tail(last[~near])) / 2
        mass = self._summed_mass if self.scale < WIDE else self._smooth_mass
        masses[near] = mass(first[near], last[near])
        return masses

    def _summed_mass(self, first: Reals, last: Reals) -> Reals:
        """Return the masses of short intervals of narrow noise, summed over at most 16 integers."""
        steps = np.arange(math.ceil(self.scale / 4))
        points = (first[:, None] + steps) / self.scale
        densities = np.exp(-points * points / 2 - log_sum_of_all(self.scale))
        return (densities * (steps < (last - first)[:, None])).sum(axis=1)

    def _smooth_mass(self, first: Reals, last: Reals) -> Reals:
        """Return the masses of short intervals of wide noise: a normal integral with corrections for the sum.

        Σ_{z=a}^{b−1} f(z) = ∫ (f − f''/24 + 7f''''/5760 − 31f''''''/967680) from a − 1/2 to b − 1/2, and the integrals
        of the derivatives are differences of lower derivatives.
        """
        low, high = first - 0.5, last - 0.5
        points = (low[..., None] + (high - low)[..., None] * ((1 + _NODES) / 2)) / self.scale
        squares, inverse = points * points, 1 / self.scale**2
        correction = 1 - inverse * (squares - 1) / 24
        correction += inverse**2 * 7 / 5760 * ((squares - 6) * squares + 3)
        correction -= inverse**3 * 31 / 967680 * (((squares - 15) * squares + 45) * squares - 15)
        densities = np.exp(-squares / 2 - log_sum_of_all(self.scale)) * correction
        return densities @ _WEIGHTS * ((high - low) / 2)

    def _tail(self, errors: Reals) -> Reals:
        """Return P[Z >= z] for z >= 0, from the table of cubics."""
        units = np.minimum(errors / self.scale, _FARTHEST)
        places = (units * _PER_SCALE).astype(np.int64)
        shares = units * _PER_SCALE - places
        cubics = _log_tail_ratios(self.scale)[places]
        ratios = cubics[..., 3]
        for power in (2, 1, 0):
            ratios = cubics[..., power] + shares * ratios
        return np.exp(ratios - units * units / 2 - log_sum_of_all(self.scale))


@lru_cache(maxsize=64)
def _log_tail_ratios(scale: float) -> Reals:
    """Return ln(Σ_{j >= 0} f(z + j)/f(z)) from z = 0 to 40 scales, as coefficients of cubics.

    Each cubic spans 1/512 of a scale and interpolates the four nearest values, with an error of 1e-13.
    """

    def ratios(units: Reals) -> Reals:
        return np.array([log_sum_from(unit * scale, scale) + unit**2 / 2 for unit in units])

    smooth = Chebyshev.interpolate(ratios, _DEGREE, domain=[0.0, _FARTHEST])
    values = smooth(np.arange(_FARTHEST * _PER_SCALE + 1) / _PER_SCALE)
    padded = np.concatenate([[3 * (values[0] - values[1]) + values[2]], values, values[-1:], values[-1:]])
    before, here, after, last = (padded[node : node + values.size] for node in range(4))
    slope = after - before / 3 - here / 2 - last / 6
    bend = (after + before) / 2 - here
    turn = (last - before) / 6 + (here - after) / 2
    return np.stack([here, slope, bend, turn], axis=1)
