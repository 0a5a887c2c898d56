"""The law of a sum of independent noises: the inverse of a Laplace transform, by a path through the saddle point."""

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
from noisycount.model.noises.sum_tables import DEEPEST, LONGEST, LatticeTable, lattice_table, sum_table
from noisycount.model.noises.sum_transforms import (
    NORMAL,
    Above,
    Comb,
    Complexes,
    Normal,
    Path,
    Poles,
    Tilt,
    TiltedTransform,
    TransformFactor,
    Window,
)

Flags = NDArray[np.bool_]
# records²: at ±iπ, the ends of a period, a transform is down by e^(−π²·7/2) = 1e-15
_WIDE_VARIANCE = 7.0
_WIDE_SCALE = 4.0  # records of the widest Laplace scale, as `log_density` promises
# records: nine deviations of Gaussian noise of that variance, e^−41 below its top
_OUT_OF_REACH = 24
_STRIDES = 1.25 ** np.arange(40)  # of a search for where a law has fallen, in one evaluation
_ROUNDING = 5e-13  # of a tail: twice what was ever found against closed forms
# over half the narrowest scale, where a law of noise is close to a polynomial
_NODES = chebpts2(16)
_MOST_EQUALS = 16  # noises: of more, powers of a distance might overflow
_SHORTEST = 256.0  # records over which nodes on the lattice are about where they should be
_CANCELLED = 4.0  # a difference of tails is taken where it keeps this share of them


@frozen
class SumLaw(CertifiedErrorLaw):
    """The law of the sum Z of Laplace and Gaussian noises, all discrete or all continuous."""

    smooth_over: ClassVar[float] = 0.0  # taken for kinked, as sums of Laplace noises are
    rounding: ClassVar[float] = _ROUNDING * 2 * _CANCELLED  # of a tail, or a difference of tails that do not cancel

    laplace: tuple[float, ...]  # the scales of the Laplace noises, in records
    gaussian: tuple[float, ...]  # those of the Gaussian noises
    is_discrete: bool = field()  # whether the noises live on the integers (the base has a property)

    @property
    def is_kinked(self) -> bool:
        """Whether the law bends at 0 within less than its widest Laplace scale."""
        return self.widest_laplace**2 > self._gaussian_variance

    @property
    def mean_absolute(self) -> float:
        """E|Z|, in records: twice the sum, or the integral, of P[Z >= z] over z above 0."""
        above = Above(self.is_discrete)
        first = np.array([self.first])
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
        """Ln 2 + ln P[Z >= z]."""
        return math.log(2) + self._logarithms(distances, Above(self.is_discrete))

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
        return self._logarithms(lows - self.first + window.centre, window)

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
        for some, course in ((is_open, _around_all_poles), (~is_open, _around_period)):
            logarithms[some] = _log_inverse(parts, self._pole(1.0), distances[some], course, is_lifted=is_lifted)
        return logarithms

    def _on_line(self, distances: Reals, ends: Sequence[Above | Window], *, is_lifted: bool) -> Reals:
        """Those of continuous noise, in units in which its widest scale is 1."""
        unit = max(self.widest_laplace, math.sqrt(self._gaussian_variance))
        is_tail = len(ends) == 1 and isinstance(ends[0], Above)
        if self._is_of_equals and (is_tail or not ends):
            scaled = distances / unit
            logs = np.log(polyval(scaled, _of_equals(len(self.laplace), is_tail=is_tail)))
            return (logs if is_lifted else logs - scaled) + (len(ends) - 1) * math.log(unit)
        parts = [*self._poles(unit), *(end.in_units(unit) for end in ends)]
        if self.gaussian:
            parts.append(Normal(self._gaussian_variance / unit**2))
        logarithms = _log_inverse(parts, self._pole(unit), distances / unit, _along_line, is_lifted=is_lifted)
        return logarithms + (len(ends) - 1) * math.log(unit)

    @property
    def _is_of_equals(self) -> bool:
        """Whether the noises are a few Laplace noises of one scale."""
        return not self.gaussian and len(set(self.laplace)) == 1 and len(self.laplace) <= _MOST_EQUALS

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

    @property
    def is_costly(self) -> bool:
        """Whether it has no table."""
        return self.table is None

    @property
    def steepest(self) -> Fraction | None:
        """That of the widest Laplace noise: what is added to it cannot make it steeper."""
        widest = self.widest_laplace
        return 1 / Fraction(widest) if widest else None

    @property
    def peak(self) -> float:
        """The density or the probability at 0."""
        return math.exp(float(self.log_density(np.zeros(1))[0]))

    def tabulated(self, reach: float) -> ErrorLaw:
        """The law as polynomials in pieces: each value of its own takes an integral."""
        return sum_table(self, self.narrowest, reach)

    def log_change(self, error: float, steps: Reals) -> Reals:
        """A difference of logarithms; of steps within which the law is smooth, its expansion."""
        radius = min(self.narrowest / 4, abs(error) - 1)
        if radius < max(_SHORTEST, float(np.abs(steps).max(initial=0.0))):
            return self.log_density(error - steps) - self.log_density(np.array(error))
        shares = np.round(_NODES * radius) / radius  # so that the nodes lie on the lattice
        values = self.log_density(error + shares * radius)
        rising = cheb2poly(chebfit(shares, values - values.mean(), _NODES.size - 1))
        units = -steps / radius
        return units * polyval(units, [*rising[1:], 0.0])

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
        return (starts % 1.0 == 0) & (lengths % 1.0 == 0)

    def _windows(self, starts: Reals, lengths: Reals) -> Reals:
        """The masses from starts >= 0 on, one integral for each length."""
        masses = np.zeros(starts.shape)
        for length in np.unique(lengths[lengths > 0]):
            same = lengths == length
            masses[same] = np.exp(self.log_masses(starts[same], float(length)))
        return masses


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


_BEND = 0.38  # radians by which the ends of a hyperbola lean to the right, away from the vertical
_SPACING = 0.08  # of nodes: towards vertical ends the rule errs by e^(−2π·0.38/0.08) = 1e-13
_PANEL = 16  # nodes at once, before it is asked whether they added anything
_LAST_PANEL = 120  # a stop, with its nodes at cosh(154) = 1e66 widths
_CHUNK = 256  # distances at once: arrays of 64 kB a panel
_NEGLIGIBLE = 1e-15  # of the sum: a few of a double's roundings, and later terms are smaller
_NEAR_SADDLE = 0.05  # widths: the path may cross anywhere near the saddle point
_TRIALS = 120  # at least 54 of them halve the bracket, from 600 to 3e-14
_QUICK = 12  # trials for Newton's steps alone, which need few where the slope is not flat
_FARTHEST_LOGIT = 300.0  # e^±300 are doubles, so that θ and pole − θ keep their digits
_TINY = 1e-290  # instead of 0 in a quotient or a logarithm: quotients by it do not overflow
_WIDEST_ON_LATTICE = 2.0  # the courses on a lattice have their branch points at |z| = 2
# From the variable z of a hyperbola to the steps σ from its vertex, and dσ/dz.
Course = Callable[[Complexes], tuple[Path, Complexes]]


def _along_line(variable: Complexes) -> tuple[Path, Complexes]:
    """σ = z, for continuous noise."""
    return Path(variable, variable, variable), np.ones_like(variable)


def _around_all_poles(variable: Complexes) -> tuple[Path, Complexes]:
    """σ = 2·arsinh(z/2), which ends at ∞ ± iπ: the analytic law between the integers."""
    half = variable / 2
    cosine = np.sqrt(1 + half * half)
    return Path(2 * np.arcsinh(half), half, cosine), np.reciprocal(cosine)


def _around_period(variable: Complexes) -> tuple[Path, Complexes]:
    """σ = 2·artanh(z/2), which ends at ±iπ: one period of the transform of noise on integers."""
    half = variable / 2
    square = 1 - half * half
    cosine = np.reciprocal(np.sqrt(square))
    return Path(2 * np.arctanh(half), half * cosine, cosine), np.reciprocal(square)


@lru_cache(maxsize=64)
def _of_equals(number: int, *, is_tail: bool) -> Reals:
    """The positive coefficients of the powers of x in e^x times the density at x >= 0 of so many unit Laplace noises.

    Or of those in e^x·P[Z >= x], as ∫_x^∞ t^j·e^−t dt = e^−x·Σ_{i <= j} j!/i!·x^i. Z is the difference of two
    gamma variables: its density is e^−x·Σ_k (m − 1 + k)!/(k!·(m − 1 − k)!·(m − 1)!)·x^(m − 1 − k)/2^(m + k).
    """
    last, fact = number - 1, math.factorial
    density = [
        Fraction(fact(2 * last - j), fact(last - j) * fact(j) * fact(last) * 2 ** (number + last - j))
        for j in range(number)
    ]
    if is_tail:
        density = [sum((density[j] * fact(j) for j in range(i, number)), Fraction(0)) / fact(i) for i in range(number)]
    return np.array([float(one) for one in density])


def _log_inverse(
    parts: Sequence[TransformFactor], pole: float, distances: Reals, course: Course, *, is_lifted: bool = False
) -> Reals:
    """The logarithm of the density, or of the probability on the integers, at distances x >= 0.

    f(x) = (1/2πi)·∫ M(s)·e^(−s·x) ds over a path that crosses the real axis near the saddle point θ of M(s)·e^(−s·x)
    and bends to the right, as a hyperbola s(u) in z: z = w·(sin(β + iu) − sin β)/cos β, with w = (ln M)''(θ)^(−1/2);
    the trapezoidal rule in u.

    Source: Weideman and Trefethen (2007), *Parabolic and hyperbolic contours for computing the Bromwich integral*;
    Daniels (1954) for the saddle point.
    Numerical error: 1e-11 absolute where the logarithm is above −2000.
    """
    different, owners = np.unique(distances, return_inverse=True)
    logarithms = np.empty_like(different)
    for start in range(0, different.size, _CHUNK):
        some = slice(start, start + _CHUNK)
        logarithms[some] = _log_inverse_of_few(parts, pole, different[some], course, is_lifted=is_lifted)
    return logarithms[owners]


def _log_inverse_of_few(
    parts: Sequence[TransformFactor], pole: float, distances: Reals, course: Course, *, is_lifted: bool
) -> Reals:
    tilt, curvature = _saddle(parts, pole, distances)
    widest = _WIDEST_ON_LATTICE if course in (_around_all_poles, _around_period) else math.inf
    width = np.minimum(1 / np.sqrt(np.maximum(curvature, _TINY)), widest)
    tilted = [part.tilted(tilt) for part in parts]
    start = tilt.gap * distances if is_lifted else -tilt.point * distances
    logarithm = sum((part.logarithm for part in tilted), start)
    # Beyond 1e15 widths a double does not place a distance, and the integral may round to 0.
    integral = np.maximum(_path_integral(tilted, distances, width, course), _TINY)
    return logarithm + np.log(integral)


def _path_integral(tilted: Sequence[TiltedTransform], distances: Reals, width: Reals, course: Course) -> Reals:
    """(1/2πi)·∫ M(s)/M(θ)·e^(−(s − θ)·x) ds, by panels of nodes until they add nothing."""
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


def _saddle(parts: Sequence[TransformFactor], pole: float, distances: Reals) -> tuple[Tilt, Reals]:
    """The θ with (ln M)'(θ) = x, within a twentieth of the width there, and (ln M)''(θ).

    Newton's steps for the logarithm of the slope in ln(θ/(pole − θ)), or halvings of the bracket; if that takes long,
    both in turn.
    """
    goals = np.maximum(distances, _TINY)
    poles = np.full_like(goals, pole)
    if math.isinf(pole):
        poles = _beyond(parts, goals)
    low, high = np.full_like(goals, -_FARTHEST_LOGIT), np.full_like(goals, _FARTHEST_LOGIT)
    logits = np.zeros_like(goals)
    for trial in range(_TRIALS):
        tilt = _tilt(logits, poles)
        slope, curvature = _slopes(parts, tilt)
        error = slope - goals
        if (np.abs(error) <= _NEAR_SADDLE * np.sqrt(curvature)).all():
            break
        low, high = np.where(error < 0, logits, low), np.where(error > 0, logits, high)
        growth = curvature * tilt.point * (tilt.gap / poles)
        rise = np.maximum(slope, _TINY)
        steps = (np.log(goals) - np.log(rise)) * rise / np.maximum(growth, _TINY)
        is_inside = (slope > _TINY) & (logits + steps > low) & (logits + steps < high)
        if trial > _QUICK and trial % 2:  # the slope of narrow combs is flat between its jumps
            is_inside = np.zeros_like(is_inside)
        logits = np.where(is_inside, logits + steps, (low + high) / 2)
    return tilt, curvature


def _slopes(parts: Sequence[TransformFactor], tilt: Tilt) -> tuple[Reals, Reals]:
    slope, curvature = np.sum([part.slopes(tilt) for part in parts], axis=0)
    return slope, curvature


def _tilt(logits: Reals, poles: Reals) -> Tilt:
    """The θ with ln(θ/(pole − θ)) as given."""
    return Tilt(poles / (1 + np.exp(-logits)), poles / (1 + np.exp(logits)), poles)


def _beyond(parts: Sequence[TransformFactor], goals: Reals) -> Reals:
    """Points at which the slope exceeds the goals."""
    poles = np.ones_like(goals)
    while True:
        short = _slopes(parts, Tilt(poles / 2, poles / 2, poles))[0] < goals
        if not short.any():
            return poles
        poles = np.where(short, 2 * poles, poles)
