"""The density of a sum of noises from its Laplace transform, by a path through the saddle point."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.sum_transforms import Complexes, Path, Tilt, TiltedTransform, TransformFactor

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


def along_line(variable: Complexes) -> tuple[Path, Complexes]:
    """σ = z, for continuous noise."""
    return Path(variable, variable, variable), np.ones_like(variable)


def around_all_poles(variable: Complexes) -> tuple[Path, Complexes]:
    """σ = 2·arsinh(z/2), which ends at ∞ ± iπ: the analytic law between the integers."""
    half = variable / 2
    cosine = np.sqrt(1 + half * half)
    return Path(2 * np.arcsinh(half), half, cosine), np.reciprocal(cosine)


def around_period(variable: Complexes) -> tuple[Path, Complexes]:
    """σ = 2·artanh(z/2), which ends at ±iπ: one period of the transform of noise on integers."""
    half = variable / 2
    square = 1 - half * half
    cosine = np.reciprocal(np.sqrt(square))
    return Path(2 * np.arctanh(half), half * cosine, cosine), np.reciprocal(square)


def log_density(
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
        logarithms[some] = _log_density_of_few(parts, pole, different[some], course, is_lifted=is_lifted)
    return logarithms[owners]


def _log_density_of_few(
    parts: Sequence[TransformFactor], pole: float, distances: Reals, course: Course, *, is_lifted: bool
) -> Reals:
    tilt, curvature = _saddle(parts, pole, distances)
    widest = _WIDEST_ON_LATTICE if course in (around_all_poles, around_period) else math.inf
    width = np.minimum(1 / np.sqrt(np.maximum(curvature, _TINY)), widest)
    tilted = [part.tilted(tilt) for part in parts]
    start = tilt.gap * distances if is_lifted else -tilt.point * distances
    logarithm = sum((part.logarithm for part in tilted), start)
    # Beyond 1e15 widths a double does not place a distance, and the integral may round to 0.
    integral = np.maximum(_path_integral(tilted, distances, width, course), _TINY)
    density: Reals = logarithm + np.log(integral)
    return density


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
