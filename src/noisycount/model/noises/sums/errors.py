"""The law of a sum of noises at many errors at once."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.polynomial.chebyshev import cheb2poly, chebfit, chebpts2
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.error.law import CertifiedErrorLaw, ErrorLaw
from noisycount.model.noises.sums.law import SumLaw
from noisycount.model.noises.sums.table import sum_table

__all__ = ["SummedErrors"]

_ROUNDING = 5e-13  # of a tail: twice what was ever found against closed forms
# over half the narrowest scale, where a law of noise is close to a polynomial
_NODES = chebpts2(16)
_SHORTEST = 256.0  # records over which nodes on the lattice are about where they should be
_CANCELLED = 4.0  # a difference of tails is taken where it keeps this share of them


@dataclass(frozen=True, slots=True)
class SummedErrors(CertifiedErrorLaw):
    """A sum of independent noises.

    Attributes:
        law: The law of the sum.
    """

    smooth_over: ClassVar[float] = 0.0  # taken for kinked, as sums of Laplace noises are

    law: SumLaw

    @property
    def is_discrete(self) -> bool:
        """Whether all noises are discrete."""
        return self.law.is_discrete

    @property
    def is_costly(self) -> bool:
        """Whether it has no table."""
        return self.law.table is None

    @property
    def steepest(self) -> Fraction | None:
        """That of the widest Laplace noise: what is added to it cannot make it steeper."""
        widest = self.law.widest_laplace
        return 1 / Fraction(widest) if widest else None

    @property
    def spread(self) -> float:
        """The scale of Gaussian noise about as wide."""
        return self.law.spread

    @property
    def peak(self) -> float:
        """The density or the probability at 0."""
        return math.exp(float(self.law.log_density(np.zeros(1))[0]))

    @property
    def mean_absolute(self) -> float:
        """E|Z|, in records."""
        return self.law.mean_absolute

    def tabulated(self, reach: float) -> ErrorLaw:
        """The law as polynomials in pieces: each value of its own takes an integral."""
        return sum_table(self, self.law.narrowest, reach)

    def reach(self, depth: float) -> float:
        """A distance at which the density has fallen by e^depth, a quarter too far at most."""
        return self.law.reach(depth)

    def log_density(self, errors: Reals) -> Reals:
        """The logarithm of the density or of the probability."""
        return self.law.log_density(errors)

    def log_change(self, error: float, steps: Reals) -> Reals:
        """A difference of logarithms; of steps within which the law is smooth, its expansion."""
        radius = min(self.law.narrowest / 4, abs(error) - 1)
        if radius < max(_SHORTEST, float(np.abs(steps).max(initial=0.0))):
            return self.log_density(error - steps) - self.log_density(np.array(error))
        shares = np.round(_NODES * radius) / radius  # so that the nodes lie on the lattice
        values = self.log_density(error + shares * radius)
        rising = cheb2poly(chebfit(shares, values - values.mean(), _NODES.size - 1))
        units = -steps / radius
        changes: Reals = units * polyval(units, [*rising[1:], 0.0])
        return changes

    def log_tail(self, distances: Reals) -> Reals:
        """Ln 2 + ln P[Z >= z]."""
        return math.log(2) + self.law.log_tail(distances)

    def within(self, reach: float) -> float:
        """From one integral of its own."""
        at_zero, width = (self.peak, reach - 1) if self.is_discrete else (0.0, reach)
        masses = self._windows(np.array([self.first]), np.array([float(width)]))
        return at_zero + 2 * float(masses[0])

    def between(self, low: Reals, widths: Reals) -> Reals:
        """The difference of the smaller tails; where they cancel, an integral of its own."""
        starts, lengths = self._mirrored(low, widths)
        tails = self.exceedance(starts)
        masses = tails - self.exceedance(starts + lengths)
        near = (masses * _CANCELLED < tails) & self._has_windows(starts, lengths)
        above, below = np.maximum(starts[near], 0.0), np.maximum(-starts[near], 0.0)
        masses[near] = self._windows(above, starts[near] + lengths[near] - above)
        masses[near] += self._windows(np.full_like(below, self.first), below)
        return masses

    @property
    def rounding(self) -> float:
        """That of a tail, or of a difference of tails that do not cancel."""
        return _ROUNDING * 2 * _CANCELLED

    def uncertainty(self, low: Reals, widths: Reals) -> Reals:
        """What a difference loses where there is no integral of its own: off the lattice."""
        starts, lengths = self._mirrored(low, widths)
        lost = np.zeros(starts.shape)
        differs = ~self._has_windows(starts, lengths)
        lost[differs] = 2 * _ROUNDING * self.exceedance(starts[differs])
        return lost

    def _mirrored(self, low: Reals, widths: Reals) -> tuple[Reals, Reals]:
        """Where the masses start, and how wide they are, with more of each above 0 than below."""
        lows, lengths = np.broadcast_arrays(low, widths)
        mirrored = self.first - (lows + lengths)
        return np.where(2 * lows + lengths < self.first, mirrored, lows), lengths

    def _has_windows(self, starts: Reals, lengths: Reals) -> NDArray[np.bool_]:
        """Where a mass has an integral of its own."""
        if not self.is_discrete:
            return np.full(starts.shape, fill_value=True)
        whole: NDArray[np.bool_] = (starts % 1.0 == 0) & (lengths % 1.0 == 0)
        return whole

    def _windows(self, starts: Reals, lengths: Reals) -> Reals:
        """The masses from starts >= 0 on, one integral for each length."""
        masses = np.zeros(starts.shape)
        for length in np.unique(lengths[lengths > 0]):
            same = lengths == length
            masses[same] = np.exp(self.law.log_masses(starts[same], float(length)))
        return masses
