"""Tilts of independent counts: weights times e^(tilt·count), so that the mean of their sum is near a given count.

`tilt_to_mean` finds the tilts by Newton's method; `sums` adds up the tilted counts.
"""

from typing import NamedTuple

import numpy as np

from noisycount.analysis.tables.sums import moments
from noisycount.model.laws.gamma import Reals

_STEPS = 80
_QUICK = 12  # steps of Newton's method, which are enough for smooth distributions
_NEAR = 0.2  # tolerance in standard deviations of the sum, which hardly changes the error of a transform
_NEAR_ROUGHLY = 2.0  # tolerance for positive sums, which only must not underflow
_ROOM = 0.25  # records between a goal and the ends of the range, where tilts are infinite


class Tilted(NamedTuple):
    """Weights times e^(tilt·position), normalised to distributions."""

    tilts: Reals  # in nats a position, shape (nodes, sets)
    laws: Reals  # distributions, shape (nodes, sets, summands, width)
    # logarithms of what the weights were divided by, summed over the summands, shape (nodes, sets)
    constants: Reals
    least: Reals  # smallest possible sum of positions, shape (nodes, sets)
    most: Reals  # largest possible sum, same shape


def tilt_to_mean(logs: Reals, goals: Reals, start: Reals, *, is_positive: bool) -> Tilted:
    """Return weights tilted so that the mean of their sum is near a goal; positive sums need only a rough tilt.

    Newton's method, kept inside a bracket. No step is longer than what moves the widest summand by about one standard
    deviation. Shapes: logs (nodes, sets, summands, width), goals (nodes, sets), start (nodes, sets).
    """
    smallest, largest = _sum_range(logs)
    room = np.minimum(_ROOM, (largest - smallest) / 4)
    aims = np.clip(goals, smallest + room, largest - room).ravel()
    tolerance = _NEAR_ROUGHLY if is_positive else _NEAR
    rows = logs.reshape(-1, *logs.shape[2:])
    laws, constants, tilts = rows, np.empty(len(rows)), np.empty(len(rows))
    low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    active, trial = np.arange(len(rows)), start.ravel()  # rows without a tilt yet, and the tilts to try
    for step in range(_STEPS):
        tilts[active] = trial
        is_whole = active.size == len(rows)  # without copies then
        tilted_laws, constants[active] = _tilted(rows if is_whole else rows[active], trial)
        if is_whole:
            laws = tilted_laws
        else:
            laws[active] = tilted_laws
        law_moments = moments(tilted_laws)
        shortfall = aims[active] - law_moments.mean.sum(axis=-1)
        variance = law_moments.variance.sum(axis=-1)
        is_far = np.abs(shortfall) > tolerance * np.sqrt(variance) + 1e-6
        if not is_far.any():
            break
        if not is_positive:  # one more step reduces the error of a transform, and costs little
            is_far[:] = True
        low[active] = np.where(shortfall > 0, np.maximum(low[active], trial), low[active])
        high[active] = np.where(shortfall < 0, np.minimum(high[active], trial), high[active])
        widest = law_moments.variance.max(axis=-1)
        reach = 1 / np.sqrt(np.maximum(widest, 1e-6))
        steps = np.clip(shortfall / np.maximum(variance, 1e-12), -reach, reach)
        if step > _QUICK and step % 2:  # a mean may jump with the tilt; Newton's steps then fail
            steps = np.where(np.isfinite((high - low)[active]), np.inf, steps)
        trial, active = _next_tilts(trial, steps, low[active], high[active])[is_far], active[is_far]
    return Tilted(
        tilts.reshape(start.shape), laws.reshape(logs.shape), constants.reshape(start.shape), smallest, largest
    )


def _sum_range(logs: Reals) -> tuple[Reals, Reals]:
    """Return the smallest and the largest possible sum of positions, shape (nodes, sets)."""
    is_possible = logs > -np.inf
    smallest = is_possible.argmax(axis=-1).sum(axis=-1)
    largest = (logs.shape[-1] - 1 - is_possible[..., ::-1].argmax(axis=-1)).sum(axis=-1)
    return smallest, largest


def _tilted(logs: Reals, tilts: Reals) -> tuple[Reals, Reals]:
    """Return weights under given tilts as distributions, and the logarithms of what they were divided by.

    Shapes: logs (rows, summands, width), tilts (rows,); results (rows, summands, width) and (rows,).
    """
    weights = logs + tilts[:, None, None] * np.arange(logs.shape[-1])
    peaks = weights.max(axis=-1, keepdims=True)
    weights -= peaks
    np.exp(weights, out=weights)
    sums = weights.sum(axis=-1, keepdims=True)
    weights /= sums
    return weights, (peaks + np.log(sums))[..., 0].sum(axis=-1)


def _next_tilts(tilts: Reals, steps: Reals, low: Reals, high: Reals) -> Reals:
    """Return the tilts after a step, or the middle of the bracket where the step leads out of it."""
    stepped = tilts + steps
    is_bracketed = np.isfinite(low) & np.isfinite(high)
    middle = np.where(is_bracketed, (np.where(is_bracketed, low, 0) + np.where(is_bracketed, high, 0)) / 2, stepped)
    return np.where((stepped > low) & (stepped < high), stepped, middle)
