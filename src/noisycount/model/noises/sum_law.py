"""Distribution of a sum of independent noises, by numerical inversion of its Laplace transform.

`SumLaw` integrates along a path through the saddle point; `sum_transforms` has the transforms, `sum_tables` the tables,
`sum_formulas` the closed formulas of Laplace noises.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
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
from noisycount.model.noises.sum_formulas import LaplaceTerms, laplace_terms
from noisycount.model.noises.sum_tables import DEEPEST, LONGEST, LatticeTable, lattice_table, sum_table
from noisycount.model.noises.sum_transforms import (
    NORMAL,
    Complexes,
    DiscreteGaussianTransform,
    GaussianTransform,
    LaplaceNoiseTransform,
    Path,
    TailFactor,
    Tilt,
    TiltedTransform,
    TransformFactor,
    Window,
)

Flags = NDArray[np.bool_]
# records²: with this Gaussian variance, the transform at ±iπ, the ends of a period, is e^(−π²·7/2) = 1e-15
_WIDE_VARIANCE = 7.0
_WIDE_SCALE = 4.0  # records: widest Laplace scale from which the path goes around all poles
# records: nine standard deviations of Gaussian noise of that variance, where its density is e^−41 of the peak
_OUT_OF_REACH = 24
_STRIDES = 1.25 ** np.arange(40)  # distances, relative to the spread, at which `reach` evaluates the density
_ROUNDING = 5e-13  # relative error of a tail: twice the largest error observed against closed formulas
# Interpolation nodes over half the narrowest scale, where the logarithm of the density is close to a polynomial.
_NODES = chebpts2(16)
_SHORTEST = 256.0  # records: over this length, rounding nodes to integers hardly moves them
_CANCELLED = 4.0  # a difference of tails is used if the first tail is at most this many times the difference


@frozen
class SumLaw(CertifiedErrorLaw):
    """The distribution of the sum Z of Laplace and Gaussian noises, all discrete or all continuous."""

    smooth_over: ClassVar[float] = 0.0  # treated as kinked, as sums of Laplace noises are
    rounding: ClassVar[float] = _ROUNDING * 2 * _CANCELLED  # of a tail, or a difference of tails that do not cancel

    laplace: tuple[float, ...]  # scales of the Laplace noises, in records
    gaussian: tuple[float, ...]  # scales of the Gaussian noises, in records
    is_discrete: bool = field()  # True if the noises are integers (field() hides the property of the base class)

    @property
    def is_kinked(self) -> bool:
        """True if the density bends at 0 within less than the widest Laplace scale."""
        return self.widest_laplace**2 > self._gaussian_variance

    @property
    def mean_absolute(self) -> float:
        """E|Z| in records: twice the sum, or the integral, of P[Z >= z] over z > 0."""
        above = TailFactor(self.is_discrete)
        first = np.array([self.first])
        return 2 * math.exp(float(self._log_densities(first, above, above)[0]))

    def log_density(self, errors: Reals) -> Reals:
        """Return the logarithm of the density of Z, or of P[Z = z] if it is discrete.

        If the widest Laplace scale is at least 4 records, discrete noise has a smooth function between the integers,
        one on each side of 0.
        """
        return self._log_densities(np.abs(errors))

    def log_lifted(self, errors: Reals) -> Reals:
        """Return the logarithm of the density times e^(|z|/b), where b is the widest Laplace scale.

        The absolute error does not grow with the distance from 0.
        """
        return self._log_densities(np.abs(errors), is_lifted=True)

    def log_tail(self, distances: Reals) -> Reals:
        """Return ln 2 + ln P[Z >= z]."""
        return math.log(2) + self._log_densities(distances, TailFactor(self.is_discrete))

    def distance_at_depth(self, depth: float) -> float:
        """Return a distance at which the density has fallen by a factor e^depth, at most a quarter too large."""
        return _distance_at_depth(self, depth)

    def log_profile(self, distances: Reals) -> Reals:
        """Return the logarithm of the density at distances from 0, without a table."""
        evaluate = self._logarithms_by_inversion if self.is_discrete else self._logarithms_on_reals
        return evaluate(distances, (), is_lifted=False)

    @property
    def table(self) -> LatticeTable | None:
        """The probabilities of the integers near 0, if the noise is discrete and narrow."""
        return _table_if_narrow(self) if self.is_discrete and self.spread < LONGEST else None

    def log_masses(self, lows: Reals, width: float) -> Reals:
        """Return ln P[low <= Z < low + width], to full relative precision."""
        window = Window(width, self.is_discrete)
        return self._log_densities(lows - self.first + window.centre, window)

    def _log_densities(self, distances: Reals, *ends: TailFactor | Window, is_lifted: bool = False) -> Reals:
        """Return the logarithm of the density at distances >= 0, or of its tail or window if `ends` has one."""
        shaped = distances.ravel()
        evaluate = self._logarithms_on_integers if self.is_discrete else self._logarithms_on_reals
        logarithms = evaluate(shaped, ends, is_lifted=is_lifted)
        return logarithms.reshape(distances.shape)

    def _logarithms_on_integers(
        self, distances: Reals, ends: Sequence[TailFactor | Window], *, is_lifted: bool
    ) -> Reals:
        """Return the logarithms for discrete noise, from the table if it contains the integers."""
        is_mass, is_tail = not ends, len(ends) == 1 and isinstance(ends[0], TailFactor)
        table = self.table if is_mass or is_tail else None
        if table is None:
            return self._logarithms_by_inversion(distances, ends, is_lifted=is_lifted)
        is_tabulated = table.holds(distances)
        logs = table.log_masses if is_mass else table.log_tails
        logarithms = np.empty_like(distances)
        logarithms[is_tabulated] = logs[distances[is_tabulated].astype(np.int64)]
        if is_lifted:
            logarithms[is_tabulated] += distances[is_tabulated] / self.widest_laplace
        if not is_tabulated.all():
            others = distances[~is_tabulated]
            logarithms[~is_tabulated] = self._logarithms_by_inversion(others, ends, is_lifted=is_lifted)
        return logarithms

    def _logarithms_by_inversion(
        self, distances: Reals, ends: Sequence[TailFactor | Window], *, is_lifted: bool
    ) -> Reals:
        """Return the logarithms for discrete noise, by inversion of the transform."""
        parts = [*self._laplace_transforms(1.0), *self._discrete_gaussian_transforms(), *ends]
        is_window = any(isinstance(end, Window) for end in ends)
        is_open = self._has_path_around_poles(np.ones_like(distances) if is_window else distances)
        logarithms = np.empty_like(distances)
        for some, course in ((is_open, _around_all_poles), (~is_open, _around_period)):
            logarithms[some] = _log_inverse(
                parts, self._smallest_rate(1.0), distances[some], course, is_lifted=is_lifted
            )
        return logarithms

    def _logarithms_on_reals(self, distances: Reals, ends: Sequence[TailFactor | Window], *, is_lifted: bool) -> Reals:
        """Return the logarithms for continuous noise, computed in units in which its widest scale is 1."""
        unit = max(self.widest_laplace, math.sqrt(self._gaussian_variance))
        is_tail = len(ends) == 1 and isinstance(ends[0], TailFactor)
        terms = self._laplace_terms
        if terms is not None and (is_tail or not ends):
            scaled = distances / unit
            logs = np.log(terms.times_exponential(scaled, is_tail=is_tail))
            return (logs if is_lifted else logs - scaled) + (len(ends) - 1) * math.log(unit)
        parts = [*self._laplace_transforms(unit), *(end.in_units(unit) for end in ends)]
        if self.gaussian:
            parts.append(GaussianTransform(self._gaussian_variance / unit**2))
        logarithms = _log_inverse(parts, self._smallest_rate(unit), distances / unit, _along_line, is_lifted=is_lifted)
        return logarithms + (len(ends) - 1) * math.log(unit)

    @property
    def _laplace_terms(self) -> LaplaceTerms | None:
        """Closed formulas of the density and its integrals, if the noises are Laplace noises that have them."""
        return None if self.gaussian or self.is_discrete else laplace_terms(self.laplace)

    def _has_path_around_poles(self, distances: Reals) -> Flags:
        """Return True for each distance at which the path goes around all poles.

        This is so for wide Laplace noises, at distances beyond the reach of narrow Gaussian noises. Values between
        integers are smooth there.
        """
        if self.widest_laplace < _WIDE_SCALE or self._gaussian_variance >= _WIDE_VARIANCE:
            return np.zeros_like(distances, dtype=np.bool_)
        return distances >= (_OUT_OF_REACH if self.gaussian else 0)

    def _laplace_transforms(self, unit: float) -> list[TransformFactor]:
        """Return the transform of the Laplace noises, if there are any, with scales in records/unit."""
        if not self.laplace:
            return []
        rates, counts = np.unique(unit / np.array(self.laplace), return_counts=True)
        return [LaplaceNoiseTransform(rates, counts.astype(np.float64), self.is_discrete)]

    def _smallest_rate(self, unit: float) -> float:
        """Return the smallest rate 1/scale of the Laplace noises, times the unit; infinite if there are none."""
        return unit / self.widest_laplace if self.laplace else math.inf

    def _discrete_gaussian_transforms(self) -> list[TransformFactor]:
        """Return the transforms of the discrete Gaussian noises."""
        return [DiscreteGaussianTransform(scale**2, copies) for scale, copies in Counter(self.gaussian).items()]

    @property
    def is_normal(self) -> bool:
        """True if the density is that of a single Gaussian noise; for integers, up to 1e-60."""
        if self.laplace:
            return False
        return not self.is_discrete or all(scale**2 > NORMAL for scale in self.gaussian)

    @property
    def spread(self) -> float:
        """Square root of the sum of the squared scales, in records."""
        return math.hypot(*self.laplace, *self.gaussian)

    @property
    def narrowest(self) -> float:
        """Smallest scale, in records; continuous Gaussian noises count as one noise."""
        together = not self.is_discrete and self.gaussian
        gaussian = (math.sqrt(self._gaussian_variance),) if together else self.gaussian
        return min([*self.laplace, *gaussian])

    @property
    def widest_laplace(self) -> float:
        """Largest scale of a Laplace noise, in records; 0 if there is none."""
        return max(self.laplace, default=0.0)

    @property
    def _gaussian_variance(self) -> float:
        return math.fsum(scale**2 for scale in self.gaussian)

    @property
    def is_costly(self) -> bool:
        """True if there is no table."""
        return self.table is None

    @property
    def has_formula(self) -> bool:
        """True if there is a table or a closed formula."""
        return self.table is not None or self._laplace_terms is not None

    @property
    def largest_log_change(self) -> Fraction | None:
        """Steepest slope of the widest Laplace noise; adding other noise cannot make the density steeper."""
        widest = self.widest_laplace
        return 1 / Fraction(widest) if widest else None

    @property
    def peak(self) -> float:
        """Density at 0, or P[Z = 0]."""
        return math.exp(float(self.log_density(np.zeros(1))[0]))

    def tabulated(self, reach: float) -> ErrorLaw:
        """Return piecewise polynomials up to `reach`, as each value of the distribution itself needs an integral."""
        return sum_table(self, self.narrowest, reach)

    def log_change(self, error: float, steps: Reals) -> Reals:
        """Return ln f(error − step) − ln f(error); for short steps where the density is smooth, from a polynomial."""
        radius = min(self.narrowest / 4, abs(error) - 1)
        if radius < max(_SHORTEST, float(np.abs(steps).max(initial=0.0))):
            return self.log_density(error - steps) - self.log_density(np.array(error))
        shares = np.round(_NODES * radius) / radius  # the nodes must be integers
        values = self.log_density(error + shares * radius)
        rising = cheb2poly(chebfit(shares, values - values.mean(), _NODES.size - 1))
        units = -steps / radius
        return units * polyval(units, [*rising[1:], 0.0])

    def within(self, reach: float) -> float:
        """Return P[|Z| < reach] from one integral."""
        at_zero, width = (self.peak, reach - 1) if self.is_discrete else (0.0, reach)
        masses = self._interval_masses(np.array([self.first]), np.array([float(width)]))
        return at_zero + 2 * float(masses[0])

    def between(self, low: Reals, widths: Reals) -> Reals:
        """Return P[low <= Z < low + width]: a difference of the smaller tails, or an integral if they cancel."""
        starts, lengths = self._mirror_intervals(low, widths)
        tails = self.exceedance(starts)
        masses = tails - self.exceedance(starts + lengths)
        near = (masses * _CANCELLED < tails) & self._has_windows(starts, lengths)
        above, below = np.maximum(starts[near], 0.0), np.maximum(-starts[near], 0.0)
        masses[near] = self._interval_masses(above, starts[near] + lengths[near] - above)
        masses[near] += self._interval_masses(np.full_like(below, self.first), below)
        return masses

    def error_of_between(self, low: Reals, widths: Reals) -> Reals:
        """Return the error of each mass of `between` that is a difference of nearly equal tails; 0 for an integral."""
        starts, lengths = self._mirror_intervals(low, widths)
        errors = np.zeros(starts.shape)
        differs = ~self._has_windows(starts, lengths)
        errors[differs] = 2 * _ROUNDING * self.exceedance(starts[differs])
        return errors

    def _mirror_intervals(self, low: Reals, widths: Reals) -> tuple[Reals, Reals]:
        """Return starts and widths of the intervals, mirrored so that the larger part of each lies above 0."""
        lows, lengths = np.broadcast_arrays(low, widths)
        mirrored = self.first - (lows + lengths)
        return np.where(2 * lows + lengths < self.first, mirrored, lows), lengths

    def _has_windows(self, starts: Reals, lengths: Reals) -> NDArray[np.bool_]:
        """Return True for each interval whose mass can be computed by an integral."""
        if not self.is_discrete:
            return np.full(starts.shape, fill_value=True)
        return (starts % 1.0 == 0) & (lengths % 1.0 == 0)

    def _interval_masses(self, starts: Reals, lengths: Reals) -> Reals:
        """Return the masses of intervals from starts >= 0, by a closed formula or one integral for each length."""
        terms, unit = self._laplace_terms, self.widest_laplace
        if terms is not None and terms.has_windows:
            return terms.masses(starts / unit, np.maximum(lengths, 0.0) / unit)
        masses = np.zeros(starts.shape)
        for length in np.unique(lengths[lengths > 0]):
            same = lengths == length
            masses[same] = np.exp(self.log_masses(starts[same], float(length)))
        return masses


@lru_cache(maxsize=256)  # pairs of a distribution and a depth
def _distance_at_depth(law: SumLaw, depth: float) -> float:
    """Return a distance at which the density has fallen by a factor e^depth, on a grid of ratio 1.25."""
    distances = np.ceil(law.spread * _STRIDES)
    logs = law.log_profile(np.append(0.0, distances))
    return float(distances[np.argmax(logs[1:] <= logs[0] - depth)])


@lru_cache(maxsize=64)  # a table of answers has few different noises, and each entry takes 64 kB
def _table_if_narrow(law: SumLaw) -> LatticeTable | None:
    """Return the table of a sum, or None if the sum is too wide for a table."""
    end = law.distance_at_depth(DEEPEST)
    return lattice_table(law.laplace, law.gaussian, int(end)) if end <= LONGEST else None


_BEND = 0.38  # radians by which the ends of the hyperbola lean to the right of the vertical
_SPACING = 0.08  # of nodes; the trapezoidal rule has an error of e^(−2π·0.38/0.08) = 1e-13
_PANEL = 16  # nodes that are added between two checks for convergence
_LAST_PANEL = 120  # largest number of panels; its nodes lie at cosh(154) = 1e66 widths
_CHUNK = 256  # distances at once: arrays of 64 kB a panel
_NEGLIGIBLE = 1e-15  # relative size of a term that ends the sum; later terms are smaller
_NEAR_SADDLE = 0.05  # widths: the path may cross anywhere this close to the saddle point
_TRIALS = 120  # at least 54 of them halve the bracket, from 600 to 3e-14
_QUICK = 12  # first trials, which use Newton's method alone
_FARTHEST_LOGIT = 300.0  # e^±300 are doubles, so that θ and pole − θ keep their digits
_TINY = 1e-290  # replaces 0 in a quotient or a logarithm; quotients by it do not overflow
_WIDEST_ON_LATTICE = 2.0  # the courses for integers have their branch points at |z| = 2
# Maps the variable z of a hyperbola to the steps σ from its vertex, and to dσ/dz.
Course = Callable[[Complexes], tuple[Path, Complexes]]


def _along_line(variable: Complexes) -> tuple[Path, Complexes]:
    """Return the integration path σ = z of a complex variable z, for continuous noise."""
    return Path(variable, variable, variable), np.ones_like(variable)


def _around_all_poles(variable: Complexes) -> tuple[Path, Complexes]:
    """Return the integration path σ = 2·arsinh(z/2), which ends at ∞ ± iπ and is analytic between the integers."""
    half = variable / 2
    cosine = np.sqrt(1 + half * half)
    return Path(2 * np.arcsinh(half), half, cosine), np.reciprocal(cosine)


def _around_period(variable: Complexes) -> tuple[Path, Complexes]:
    """Return the integration path σ = 2·artanh(z/2), which ends at ±iπ: one period of a transform on integers."""
    half = variable / 2
    square = 1 - half * half
    cosine = np.reciprocal(np.sqrt(square))
    return Path(2 * np.arctanh(half), half * cosine, cosine), np.reciprocal(square)


def _log_inverse(
    parts: Sequence[TransformFactor], pole: float, distances: Reals, course: Course, *, is_lifted: bool = False
) -> Reals:
    """Return the logarithm of the density, or of the probability on the integers, at distances x >= 0.

    f(x) = (1/2πi)·∫ M(s)·e^(−s·x) ds with the transform M(s) = E[e^(s·Z)], over a path that crosses the real axis near
    the saddle point θ of M(s)·e^(−s·x) and bends to the right. The path is s(u) = θ + σ(z(u)) with the hyperbola
    z(u) = w·(sin(β + iu) − sin β)/cos β and w = (ln M)''(θ)^(−1/2). `course` maps z to the step σ and to dσ/dz. The
    integral over u is summed by the trapezoidal rule.

    Source: Weideman and Trefethen (2007), *Parabolic and hyperbolic contours for computing the Bromwich integral*;
    Daniels (1954) for the saddle point. Numerical error: 1e-11 absolute where the logarithm is above −2000.
    """
    different, owners = np.unique(distances, return_inverse=True)
    logarithms = np.empty_like(different)
    for start in range(0, different.size, _CHUNK):
        some = slice(start, start + _CHUNK)
        logarithms[some] = _log_inverse_of_batch(parts, pole, different[some], course, is_lifted=is_lifted)
    return logarithms[owners]


def _log_inverse_of_batch(
    parts: Sequence[TransformFactor], pole: float, distances: Reals, course: Course, *, is_lifted: bool
) -> Reals:
    """Return `_log_inverse` for at most 256 distances."""
    tilt, curvature = _saddle_point(parts, pole, distances)
    widest = _WIDEST_ON_LATTICE if course in (_around_all_poles, _around_period) else math.inf
    width = np.minimum(1 / np.sqrt(np.maximum(curvature, _TINY)), widest)
    tilted = [part.tilted(tilt) for part in parts]
    start = tilt.gap * distances if is_lifted else -tilt.point * distances
    logarithm = sum((part.logarithm for part in tilted), start)
    # Beyond 1e15 widths, a double cannot resolve the distance, and the integral may round to 0.
    integral = np.maximum(_path_integral(tilted, distances, width, course), _TINY)
    return logarithm + np.log(integral)


def _path_integral(tilted: Sequence[TiltedTransform], distances: Reals, width: Reals, course: Course) -> Reals:
    """Return the integral of `_log_inverse` along the path, relative to its value at the saddle point θ."""
    drift = np.asarray(sum((part.drift for part in tilted), -distances))[:, None]
    variance = sum(part.variance for part in tilted)
    total = np.zeros_like(distances)
    for panel in range(_LAST_PANEL):
        angles = _BEND + 1j * _SPACING * (np.arange(_PANEL) + panel * _PANEL + 0.5)
        variable = width[:, None] * ((np.sin(angles) - math.sin(_BEND)) / math.cos(_BEND))
        path, speed = course(variable)
        logarithm = path.step * (drift + variance / 2 * path.step)
        for part in tilted:
            if part.rest:
                logarithm += part.rest(path)
        terms = np.exp(logarithm) * speed * (np.cos(angles) / math.cos(_BEND))
        total += terms.real.sum(axis=1)
        if (np.abs(terms[:, -1]) <= _NEGLIGIBLE * total).all():
            break
    return total * width * (_SPACING / math.pi)


def _saddle_point(parts: Sequence[TransformFactor], pole: float, distances: Reals) -> tuple[Tilt, Reals]:
    """Return the saddle point θ, where the transform M has (ln M)'(θ) = distance, and (ln M)''(θ) there.

    θ is exact within a twentieth of the path's width. It is found by Newton's method for the logarithm of the slope as
    a function of ln(θ/(pole − θ)), with bisection as a safeguard. If it takes more than 12 trials, both alternate.
    """
    target_slopes = np.maximum(distances, _TINY)
    poles = np.full_like(target_slopes, pole)
    if math.isinf(pole):
        poles = _upper_bracket(parts, target_slopes)
    low, high = np.full_like(target_slopes, -_FARTHEST_LOGIT), np.full_like(target_slopes, _FARTHEST_LOGIT)
    logits = np.zeros_like(target_slopes)
    for trial in range(_TRIALS):
        tilt = Tilt(poles / (1 + np.exp(-logits)), poles / (1 + np.exp(logits)), poles)  # ln(θ/(pole − θ)) = logits
        slope, curvature = _log_derivatives(parts, tilt)
        error = slope - target_slopes
        if (np.abs(error) <= _NEAR_SADDLE * np.sqrt(curvature)).all():
            break
        low, high = np.where(error < 0, logits, low), np.where(error > 0, logits, high)
        growth = curvature * tilt.point * (tilt.gap / poles)
        rise = np.maximum(slope, _TINY)
        steps = (np.log(target_slopes) - np.log(rise)) * rise / np.maximum(growth, _TINY)
        is_inside = (slope > _TINY) & (logits + steps > low) & (logits + steps < high)
        if trial > _QUICK and trial % 2:  # bisect: the slope of narrow discrete noise is flat between its jumps
            is_inside = np.zeros_like(is_inside)
        logits = np.where(is_inside, logits + steps, (low + high) / 2)
    return tilt, curvature


def _log_derivatives(parts: Sequence[TransformFactor], tilt: Tilt) -> tuple[Reals, Reals]:
    """Return the first two derivatives of the logarithm of the transform at the points of a tilt."""
    slope, curvature = np.sum([part.slopes(tilt) for part in parts], axis=0)
    return slope, curvature


def _upper_bracket(parts: Sequence[TransformFactor], target_slopes: Reals) -> Reals:
    """Return points at which the logarithm of the transform has a slope above the target slopes."""
    poles = np.ones_like(target_slopes)
    while True:
        is_below = _log_derivatives(parts, Tilt(poles / 2, poles / 2, poles))[0] < target_slopes
        if not is_below.any():
            return poles
        poles = np.where(is_below, 2 * poles, poles)
