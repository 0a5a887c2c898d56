"""Continuous Gaussian noise with density ∝ e^(−z²/(2·scale²)), and the base classes of both Gaussian kinds.

`Gaussian` is public; `discrete_gaussian` has the kind on the integers.
"""

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.polynomial.legendre import leggauss

from noisycount.frozen import frozen
from noisycount.model.laws.factors import Factor, LogRatio
from noisycount.model.laws.gamma import FLAT, Expansion, Reals, decimal_ratio
from noisycount.model.laws.normal import log_two_sided, normal_tail, two_sided_quantile
from noisycount.model.noises.additive import AdditiveNoise, ClosedForm, ContinuousNoise
from noisycount.model.sampling.scalar import check_range, discrete_gaussian

_FARTHEST_ANSWER = 2.0**600  # for answers farther out, the slope of the narrowest noise would overflow


class GaussianKernel(AdditiveNoise):
    """Noise with a density proportional to e^(−(y − k)²/(2·scale²)), continuous or discrete."""

    is_log_concave: ClassVar[bool] = True  # the logarithm is a parabola

    __slots__ = ()

    def factor(self, answer: float) -> "GaussianLikelihood":
        """Return the factor e^(−(answer − k)²/(2·scale²)) of a count k."""
        return GaussianLikelihood(answer, self.exact_scale)


@frozen
class GaussianLikelihood(Factor):
    """The factor e^(−(answer − k)²/(2·scale²)) of a count k, whose logarithm is a parabola."""

    answer: float  # the answer, in records, within ±2^600
    scale: Fraction  # in records, between 2^−52 and 2^52

    def __post_init__(self) -> None:
        if abs(self.answer) > _FARTHEST_ANSWER:
            raise ValueError(f"answer must lie within 2**600 records of 0, got {self.answer!r}")

    def expansion(self, centre: int) -> Expansion:
        """Return the slope (answer − centre)/scale² at the centre and the curvature −1/(2·scale²)."""
        slope = (Fraction(self.answer) - centre) / self.scale**2
        curvature = decimal_ratio(-1 / (2 * self.scale**2))
        return Expansion(decimal_ratio(slope), FLAT.bend, curvature)

    def log_ratio_to_next(self, count: int) -> float:
        """Return the change of the logarithm to the next count: (answer − count − 1/2)/scale²."""
        return (self.answer - count - 0.5) / float(self.scale**2)

    def exact_log_ratio_to_next(self, count: int) -> LogRatio:
        """Return the change of the logarithm to the next count as a rational number of nats."""
        return LogRatio(shift=(Fraction(self.answer) - count - Fraction(1, 2)) / self.scale**2)


@frozen
class GaussianShape(ClosedForm):
    """Density for arrays of errors up to its constant, shared by continuous and discrete Gaussian noise."""

    largest_log_change: ClassVar[None] = None  # the slope is unbounded

    scale: float  # in records

    @property
    def spread(self) -> float:
        """The scale, in records."""
        return self.scale

    @property
    def smooth_over(self) -> float:
        """The scale, in records."""
        return self.scale

    def distance_at_depth(self, depth: float) -> float:
        """Return scale·√(2·depth)."""
        return self.scale * math.sqrt(2 * depth)

    def log_density(self, errors: Reals) -> Reals:
        """Return −z²/(2·scale²)."""
        units = errors / self.scale
        units *= units
        units *= -0.5
        return units

    def log_change(self, error: float, steps: Reals) -> Reals:
        """Return step·(2·error − step)/(2·scale²)."""
        return (steps / self.scale) * ((2 * error - steps) / self.scale) / 2


_NEAR = 1.0  # standard deviations: a Gauss rule with 16 nodes integrates a normal density exactly over this width
_FAR = 16.0  # standard deviations: farther out the density falls so fast that tails do not cancel
_NODES, _WEIGHTS = leggauss(16)


@frozen
class Gaussian(ContinuousNoise, GaussianKernel):
    """Continuous Gaussian noise with density e^(−z²/(2·scale²)) / (scale·√(2π)).

    Args:
        scale: The standard deviation in records, between 2^−52 and 2^52.

    Raises:
        ValueError: If the scale is not a number in that range.

    Source: Breutigam and Reischuk, Gaussian noise, with ψ = scale / size.

    Example:
        >>> import noisycount as nc
        >>> round(nc.Gaussian(10.0).smallest_error(0.05), 4)
        19.5996
    """

    name: ClassVar[str] = "Gaussian"

    def __post_init__(self) -> None:
        ContinuousNoise.__post_init__(self)
        check_range(self.scale)

    @property
    def variance(self) -> float:
        """Variance of the noise, in records²: scale²."""
        return self.scale**2

    @property
    def mean_absolute(self) -> float:
        """E|Z| = scale·√(2/π), in records."""
        return self.errors.mean_absolute

    @property
    def errors(self) -> "GaussianErrors":
        """Distribution of the noise Z, evaluated for arrays of errors."""
        return GaussianErrors(self.scale)

    def error_with_tail(self, log_beta: float) -> float:
        """Return the alpha with ln P[|Y − K| >= alpha] = log_beta."""
        return self.scale * two_sided_quantile(log_beta)

    def release(self, count: int) -> float:
        """Return the count plus an exact draw of the discrete Gaussian distribution on a public grid.

        The grid step is 2^min(0, ⌊log2 scale⌋ − 40) records. It does not depend on the count, so the low bits of an
        answer reveal nothing. P[Z = z] ∝ e^(−z²/(2·scale²)) on the grid points z. With s >= 2^40 steps a scale, this is
        within 1/(40·s²) < 2^−85 in total variation of the continuous distribution rounded to the nearest point.

        Args:
            count: The true count, a whole number.
        """
        return self.on_grid(count, discrete_gaussian)

    def draws(self, size: int, generator: np.random.Generator) -> Reals:
        """Return simulated noise from a seeded generator, in records, shape (size,). Never release these values."""
        return generator.normal(0.0, self.scale, size)


@frozen
class GaussianErrors(GaussianShape):
    """Gaussian distribution with standard deviation `scale`, evaluated for arrays of errors."""

    is_discrete: ClassVar[bool] = False

    @property
    def peak(self) -> float:
        """Density at 0: 1/(scale·√(2π))."""
        return 1 / (self.scale * math.sqrt(2 * math.pi))

    @property
    def mean_absolute(self) -> float:
        """E|Z| = scale·√(2/π), in records."""
        return self.scale * math.sqrt(2 / math.pi)

    def log_tail(self, distances: Reals) -> Reals:
        """Return ln erfc(z/(scale·√2))."""
        return log_two_sided(distances / self.scale)

    def tail(self, distances: Reals) -> Reals:
        """Return 2·Φ(−z/scale)."""
        return 2 * normal_tail(distances / self.scale)

    def exceedance(self, errors: Reals) -> Reals:
        """Return Φ(−z/scale)."""
        return normal_tail(np.asarray(errors) / self.scale)

    def within(self, reach: float) -> float:
        """Return erf(reach/(scale·√2))."""
        return math.erf(reach / self.scale / math.sqrt(2))

    def between(self, low: Reals, widths: Reals) -> Reals:
        """Return P[low <= Z < low + width]: by a Gauss rule near 0, by the difference of the smaller tails far out."""
        lows, lengths = np.broadcast_arrays(low, widths)
        near = lengths * np.maximum(1.0, np.abs(lows) / (_FAR * self.scale)) < _NEAR * self.scale
        masses = np.empty(lows.shape)
        masses[near] = _normal_mass(lows[near] / self.scale, lengths[near] / self.scale)
        first, last = lows[~near], lows[~near] + lengths[~near]
        flipped = first + last < 0
        masses[~near] = self.exceedance(np.where(flipped, -last, first))
        masses[~near] -= self.exceedance(np.where(flipped, -first, last))
        return masses


def _normal_mass(lows: Reals, widths: Reals) -> Reals:
    """Return Φ(low + width) − Φ(low) for widths up to 1."""
    points = lows[..., None] + widths[..., None] * ((1 + _NODES) / 2)
    densities = np.exp(-points * points / 2) / math.sqrt(2 * math.pi)
    return densities @ _WEIGHTS * (widths / 2)
