"""The tilt under which independent counts add up to a wanted sum on average."""

from typing import NamedTuple

import numpy as np

from noisycount.analysis.tables.sums.tails import moments
from noisycount.model.laws.expansion import Reals

__all__ = ["Tilted", "tilted_to"]

_STEPS = 80
_QUICK = 12  # of Newton's steps, which are enough where laws are smooth
_NEAR = 0.2  # standard deviations of the sum: what the error of a transform hardly notices
_ROOM = 0.25  # records that the wanted sum keeps from the ends, where tilts are infinite


class Tilted(NamedTuple):
    """Weights times e^(tilt·place), as laws.

    Attributes:
        tilts: In nats a place, shape (nodes, sets).
        laws: Shape (nodes, sets, summands, width); each adds up to 1.
        constants: The logarithms of what the weights were divided by, added up over the summands,
            shape (nodes, sets).
        least: The smallest sum of places that is possible, shape (nodes, sets).
        most: The largest.
    """

    tilts: Reals
    laws: Reals
    constants: Reals
    least: Reals
    most: Reals


def tilted_to(logs: Reals, wanted: Reals, start: Reals) -> Tilted:
    """Weights tilted so that the mean sum of places is about a wanted one.

    Newton's steps, kept within what is known to be too low and too high. None is longer than what
    moves the widest summand by about a standard deviation.

    Args:
        logs: Logarithms of weights, shape (nodes, sets, summands, width); −inf for 0.
        wanted: The sum of the places, shape (nodes, sets).
        start: The tilts to begin with, shape (nodes, sets).
    """
    least, most = _ends(logs)
    room = np.minimum(_ROOM, (most - least) / 4)
    goal = np.clip(wanted, least + room, most - room)
    low, high = np.full_like(start, -np.inf), np.full_like(start, np.inf)
    tilts = start
    for step in range(_STEPS):
        found = _tilted(logs, tilts, least, most)
        known = moments(found.laws)
        missing = goal - known.mean.sum(axis=-1)
        variance = known.variance.sum(axis=-1)
        if (np.abs(missing) <= _NEAR * np.sqrt(variance) + 1e-6).all():
            break
        low = np.where(missing > 0, np.maximum(low, tilts), low)
        high = np.where(missing < 0, np.minimum(high, tilts), high)
        widest = known.variance.max(axis=-1)
        reach = 1 / np.sqrt(np.maximum(widest, 1e-6))
        steps = np.clip(missing / np.maximum(variance, 1e-12), -reach, reach)
        if step > _QUICK and step % 2:  # between jumps of a mean Newton's steps lead nowhere
            steps = np.where(np.isfinite(high - low), np.inf, steps)
        tilts = _next(tilts, steps, low, high)
    return found


def _ends(logs: Reals) -> tuple[Reals, Reals]:
    """The smallest and the largest sum of places, shape (nodes, sets)."""
    possible = logs > -np.inf
    least = possible.argmax(axis=-1).sum(axis=-1)
    most = (logs.shape[-1] - 1 - possible[..., ::-1].argmax(axis=-1)).sum(axis=-1)
    return least, most


def _tilted(logs: Reals, tilts: Reals, least: Reals, most: Reals) -> Tilted:
    """Weights under given tilts, whose sums lie between the least and the most."""
    leaning = logs + tilts[..., None, None] * np.arange(logs.shape[-1])
    peaks = leaning.max(axis=-1, keepdims=True)
    leaning -= peaks
    np.exp(leaning, out=leaning)
    sums = leaning.sum(axis=-1, keepdims=True)
    leaning /= sums
    return Tilted(tilts, leaning, (peaks + np.log(sums))[..., 0].sum(axis=-1), least, most)


def _next(tilts: Reals, steps: Reals, low: Reals, high: Reals) -> Reals:
    """A step, or the middle of the bracket where it leads out of it."""
    stepped = tilts + steps
    is_held = np.isfinite(low) & np.isfinite(high)
    middle = np.where(
        is_held, (np.where(is_held, low, 0) + np.where(is_held, high, 0)) / 2, stepped
    )
    return np.where((stepped > low) & (stepped < high), stepped, middle)
