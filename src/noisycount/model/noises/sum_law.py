"""The law of a sum of independent noises.

The law of a sum of noises at many errors at once.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.polynomial.chebyshev import cheb2poly, chebfit, chebpts2
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import CertifiedErrorLaw, ErrorLaw
from noisycount.model.noises.sum_inversion import along_line, around_all_poles, around_period, log_density
from noisycount.model.noises.sum_tables import DEEPEST, LONGEST, LatticeTable, lattice_table, sum_table
from noisycount.model.noises.sum_transforms import NORMAL, Above, Comb, Normal, Poles, TransformFactor, Window

Flags = NDArray[np.bool_]

# records²: at ±iπ, the ends of a period, a transform is down by e^(−π²·7/2) = 1e-15
_WIDE_VARIANCE = 7.0
_WIDE_SCALE = 4.0  # records of the widest Laplace scale, as `log_density` promises

# records: nine deviations of Gaussian noise of that variance, e^−41 below its top
_OUT_OF_REACH = 24
_STRIDES = 1.25 ** np.arange(40)  # of a search for where a law has fallen, in one evaluation


@frozen
class SumLaw:
    """The law of the sum Z of Laplace and Gaussian noises, all discrete or all continuous."""

    laplace: tuple[float, ...]  # the scales of the Laplace noises, in records
    gaussian: tuple[float, ...]  # those of the Gaussian noises
    is_discrete: bool  # whether the noises live on the integers

    @property
    def is_kinked(self) -> bool:
        """Whether the law bends at 0 within less than its widest Laplace scale."""
        return self.widest_laplace**2 > self._gaussian_variance

    @property
    def mean_absolute(self) -> float:
        """E|Z|, in records: twice the sum, or the integral, of P[Z >= z] over z above 0."""
        above = Above(self.is_discrete)
        first = np.array([1.0 if self.is_discrete else 0.0])
        return 2 * math.exp(float(self._logarithms(first, above, above)[0]))

    def log_density(self, errors: Reals) -> Reals:
        """The logarithm of the density of Z, or of P[Z = z] if it is discrete.

        Between the integers discrete noise has the smooth law through them, one on each side of 0, provided that the
        widest scale is 4 records or more.
        """
        return self._logarithms(np.abs(errors))

    def log_lifted(self, errors: Reals) -> Reals:
        """The logarithm of the density times e^(|z|/b), b the widest Laplace scale.

        Its absolute error does not grow with the distance from 0.
        """
        return self._logarithms(np.abs(errors), is_lifted=True)

    def log_tail(self, distances: Reals) -> Reals:
        """The logarithm of P[Z >= z]."""
        return self._logarithms(distances, Above(self.is_discrete))

    def reach(self, depth: float) -> float:
        """A distance at which the density has fallen by e^depth, a quarter too far at most."""
        return _reach(self, depth)

    def log_profile(self, distances: Reals) -> Reals:
        """The logarithm of the density at distances from 0, without a table."""
        found = self._on_integers if self.is_discrete else self._on_line
        return found(distances, (), is_lifted=False)

    @property
    def table(self) -> LatticeTable | None:
        """The law on the integers near 0, if it is discrete and narrow."""
        return _table(self) if self.is_discrete and self.spread < LONGEST else None

    def log_masses(self, lows: Reals, width: float) -> Reals:
        """The logarithm of P[low <= Z < low + width], to full relative precision."""
        window = Window(width, self.is_discrete)
        first = 1.0 if self.is_discrete else 0.0
        return self._logarithms(lows - first + window.centre, window)

    def _logarithms(self, distances: Reals, *ends: Above | Window, is_lifted: bool = False) -> Reals:
        """Those of the density at distances >= 0 from 0, or of what ends make of it."""
        shaped = distances.ravel()
        found = self._tabled if self.is_discrete else self._on_line
        logarithms = found(shaped, ends, is_lifted=is_lifted)
        return logarithms.reshape(distances.shape)

    def _tabled(self, distances: Reals, ends: Sequence[Above | Window], *, is_lifted: bool) -> Reals:
        """The logarithms of discrete noise, from a table where there is one."""
        is_mass, is_tail = not ends, len(ends) == 1 and isinstance(ends[0], Above)
        table = self.table if is_mass or is_tail else None
        if table is None:
            return self._on_integers(distances, ends, is_lifted=is_lifted)
        held = table.holds(distances)
        logs = table.log_masses if is_mass else table.log_tails
        logarithms = np.empty_like(distances)
        logarithms[held] = logs[distances[held].astype(np.int64)]
        if is_lifted:
            logarithms[held] += distances[held] / self.widest_laplace
        if not held.all():
            others = distances[~held]
            logarithms[~held] = self._on_integers(others, ends, is_lifted=is_lifted)
        return logarithms

    def _on_integers(self, distances: Reals, ends: Sequence[Above | Window], *, is_lifted: bool) -> Reals:
        """The logarithms of discrete noise."""
        parts = [*self._poles(1.0), *self._combs(), *ends]
        is_window = any(isinstance(end, Window) for end in ends)
        is_open = self._is_open(np.ones_like(distances) if is_window else distances)
        logarithms = np.empty_like(distances)
        for some, course in ((is_open, around_all_poles), (~is_open, around_period)):
            logarithms[some] = log_density(parts, self._pole(1.0), distances[some], course, is_lifted=is_lifted)
        return logarithms

    def _on_line(self, distances: Reals, ends: Sequence[Above | Window], *, is_lifted: bool) -> Reals:
        """Those of continuous noise, in units in which its widest scale is 1."""
        unit = max(self.widest_laplace, math.sqrt(self._gaussian_variance))
        parts = [*self._poles(unit), *(end.in_units(unit) for end in ends)]
        if self.gaussian:
            parts.append(Normal(self._gaussian_variance / unit**2))
        logarithms = log_density(parts, self._pole(unit), distances / unit, along_line, is_lifted=is_lifted)
        return logarithms + (len(ends) - 1) * math.log(unit)

    def _is_open(self, distances: Reals) -> Flags:
        """Where the path is to go around all poles, which is smooth between the integers.

        It does so for Laplace noises that are wide, farther out than narrow Gaussian ones reach.
        """
        if self.widest_laplace < _WIDE_SCALE or self._gaussian_variance >= _WIDE_VARIANCE:
            return np.zeros_like(distances, dtype=np.bool_)
        return distances >= (_OUT_OF_REACH if self.gaussian else 0)

    def _poles(self, unit: float) -> list[TransformFactor]:
        """The transform of the Laplace noises, if there are any, with scales in such units."""
        if not self.laplace:
            return []
        rates, counts = np.unique(unit / np.array(self.laplace), return_counts=True)
        return [Poles(rates, counts.astype(np.float64), self.is_discrete)]

    def _pole(self, unit: float) -> float:
        """The smallest rate of the Laplace noises; infinite if there are none."""
        return unit / self.widest_laplace if self.laplace else math.inf

    def _combs(self) -> list[TransformFactor]:
        """The transforms of the discrete Gaussian noises."""
        return [Comb(scale**2, copies) for scale, copies in Counter(self.gaussian).items()]

    @property
    def is_normal(self) -> bool:
        """Whether the density is that of one Gaussian noise, on the integers up to 1e-60."""
        if self.laplace:
            return False
        return not self.is_discrete or all(scale**2 > NORMAL for scale in self.gaussian)

    @property
    def spread(self) -> float:
        """The root of the sum of the squared scales, in records."""
        return math.hypot(*self.laplace, *self.gaussian)

    @property
    def narrowest(self) -> float:
        """The smallest scale, in records, all continuous Gaussian noises taken together."""
        together = not self.is_discrete and self.gaussian
        gaussian = (math.sqrt(self._gaussian_variance),) if together else self.gaussian
        return min([*self.laplace, *gaussian])

    @property
    def widest_laplace(self) -> float:
        """The largest scale of a Laplace noise, in records; 0 if there is none."""
        return max(self.laplace, default=0.0)

    @property
    def _gaussian_variance(self) -> float:
        return math.fsum(scale**2 for scale in self.gaussian)


@lru_cache(maxsize=256)  # laws and depths
def _reach(law: SumLaw, depth: float) -> float:
    """A distance at which the density has fallen by e^depth, on a grid of quotients of 1.25."""
    distances = np.ceil(law.spread * _STRIDES)
    logs = law.log_profile(np.append(0.0, distances))
    return float(distances[np.argmax(logs[1:] <= logs[0] - depth)])


@lru_cache(maxsize=64)  # laws: those of a table's answers are few, and each takes 64 kB
def _table(law: SumLaw) -> LatticeTable | None:
    """The table of a sum; None: it is too wide for one, and smooth."""
    end = law.reach(DEEPEST)
    return lattice_table(law.laplace, law.gaussian, int(end)) if end <= LONGEST else None


_ROUNDING = 5e-13  # of a tail: twice what was ever found against closed forms

# over half the narrowest scale, where a law of noise is close to a polynomial
_NODES = chebpts2(16)
_SHORTEST = 256.0  # records over which nodes on the lattice are about where they should be
_CANCELLED = 4.0  # a difference of tails is taken where it keeps this share of them


@frozen
class SummedErrors(CertifiedErrorLaw):
    """A sum of independent noises."""

    smooth_over: ClassVar[float] = 0.0  # taken for kinked, as sums of Laplace noises are

    law: SumLaw  # the law of the sum

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
