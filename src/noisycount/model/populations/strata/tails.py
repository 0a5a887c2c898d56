"""The law of a sum of binomial counts far into its tails, stitched from tilted laws."""

import math

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.populations.strata.kinds import Kinds
from noisycount.model.populations.strata.law import WIDE

__all__ = ["deep_sum_of_binomials"]

_STEP = 3.0  # standard deviations: each tilted law serves half of them on either side of its mean
_NEWTON_STEPS = 20  # a stop: each comes nearer by at most 2
_NEAR_GOAL = 0.1  # standard deviations: the law is exact under any tilt, and likely near it


def deep_sum_of_binomials(kinds: Kinds, depth: float) -> tuple[int, Reals]:
    """The log-probabilities of a sum of binomial counts, each from a tilt under which it is likely.

    ln P[k] = ln Q_θ[k] + Σ n·ln(1 − p + p·e^θ) − θ·k for the law Q_θ of the tilted rates. Tilts
    are taken three standard deviations apart, until the law is narrow enough to be convolved.

    Args:
        kinds: The records.
        depth: How far below the largest the probabilities are needed, in nats.

    Returns:
        The first count of the run, and the logarithms of the probabilities, −inf for 0.
    """
    mean, variance = kinds.moments(0.0)
    first, logs = kinds.law(0.0)
    if variance <= WIDE**2:
        return first, logs
    half = _STEP / 2 * math.sqrt(variance)
    low, high = max(first, math.ceil(mean - half)), min(first + logs.size, math.ceil(mean + half))
    middle = logs[low - first : high - first]
    above = _outward(kinds, mean, high, depth)
    mirrored = _outward(kinds.mirrored, kinds.total - mean, kinds.total - low + 1, depth)
    return low - mirrored.size, np.concatenate([mirrored[::-1], middle, above])


def _outward(kinds: Kinds, mean: float, start: int, depth: float) -> Reals:
    """The log-probabilities of start, start + 1 and so on, above the mean, down to the depth."""
    total = kinds.total
    variance = kinds.moments(0.0)[1]
    goal, tilt = mean, 0.0
    parts = [np.empty(0)]
    while start <= total and (not parts[-1].size or parts[-1][-1] > -depth):
        goal = min(goal + _STEP * math.sqrt(variance), total - 0.5)
        tilt, variance = _tilt_to(goal, kinds, tilt)
        first, logs = kinds.law(tilt)
        is_narrow = variance <= WIDE**2
        reach = math.inf if is_narrow else _STEP / 2 * math.sqrt(variance)
        stop = int(min(first + logs.size, total + 1, goal + reach + 1))
        counts = np.arange(start, stop, dtype=np.float64)
        growth = kinds.log_growth(tilt)
        parts.append(logs[start - first : stop - first] + growth - tilt * (counts - mean))
        start = total + 1 if is_narrow else stop
    return np.concatenate(parts)


def _tilt_to(goal: float, kinds: Kinds, tilt: float) -> tuple[float, float]:
    """The tilt that moves the mean next to a goal, by Newton's method, and the variance there."""
    for _ in range(_NEWTON_STEPS):
        mean, variance = kinds.moments(tilt)
        missing = goal - mean
        if abs(missing) < _NEAR_GOAL * math.sqrt(variance):
            break
        tilt += max(-2.0, min(2.0, missing / variance))
    return tilt, variance
