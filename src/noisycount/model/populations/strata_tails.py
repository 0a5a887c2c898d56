"""The law of a sum of binomial counts far into its tails, stitched from tilted laws."""

import math

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.populations.strata_law import WIDE, sum_of_binomials

__all__ = ["deep_sum_of_binomials", "tilted_rates"]

_STEP = 3.0
_NEWTON_STEPS = 20
_NEAR_GOAL = 0.1


def tilted_rates(log_odds: Reals) -> tuple[Reals, Reals]:
    """The rates with these log-odds, and their complements."""
    shrunk = np.exp(-np.abs(log_odds))
    large, small = 1 / (1 + shrunk), shrunk / (1 + shrunk)
    return np.where(log_odds >= 0, large, small), np.where(log_odds >= 0, small, large)


def deep_sum_of_binomials(sizes: Reals, log_odds: Reals, depth: float) -> tuple[int, Reals]:
    """The log-probabilities of a sum of binomial counts, each from a tilt under which it is likely.

    ln P[k] = ln Q_θ[k] + Σ n·ln(1 − p + p·e^θ) − θ·k for the law Q_θ of the tilted rates. Tilts
    are taken three standard deviations apart, until the law is narrow enough to be convolved.

    Args:
        sizes: The number of records of each kind, positive, shape (kinds,).
        log_odds: The log-odds of their rates, shape (kinds,).
        depth: How far below the largest the probabilities are needed, in nats.

    Returns:
        The first count of the run, and the logarithms of the probabilities, −inf for 0.
    """
    rates, complements = tilted_rates(log_odds)
    mean, variance = float(sizes @ rates), float(sizes @ (rates * complements))
    first, logs = sum_of_binomials(sizes, rates, complements)
    if variance <= WIDE**2:
        return first, logs
    half = _STEP / 2 * math.sqrt(variance)
    low, high = max(first, math.ceil(mean - half)), min(first + logs.size, math.ceil(mean + half))
    middle = logs[low - first : high - first]
    last_count = int(sizes.sum())
    above = _outward(sizes, log_odds, mean, high, depth)
    mirrored = _outward(sizes, -log_odds, last_count - mean, last_count - low + 1, depth)
    return low - mirrored.size, np.concatenate([mirrored[::-1], middle, above])


def _outward(sizes: Reals, log_odds: Reals, mean: float, start: int, depth: float) -> Reals:
    """The log-probabilities of start, start + 1 and so on, above the mean, down to the depth."""
    rates, complements = tilted_rates(log_odds)
    total = int(sizes.sum())
    variance = float(sizes @ (rates * complements))
    goal, tilt = mean, 0.0
    parts = [np.empty(0)]
    while start <= total and (not parts[-1].size or parts[-1][-1] > -depth):
        goal = min(goal + _STEP * math.sqrt(variance), total - 0.5)
        tilt, variance = _tilt_to(goal, sizes, log_odds, tilt)
        first, logs = sum_of_binomials(sizes, *tilted_rates(log_odds + tilt))
        is_narrow = variance <= WIDE**2
        reach = math.inf if is_narrow else _STEP / 2 * math.sqrt(variance)
        stop = int(min(first + logs.size, total + 1, goal + reach + 1))
        counts = np.arange(start, stop, dtype=np.float64)
        growth = float(sizes @ (np.log1p(rates * math.expm1(tilt)) - rates * tilt))
        parts.append(logs[start - first : stop - first] + growth - tilt * (counts - mean))
        start = total + 1 if is_narrow else stop
    return np.concatenate(parts)


def _tilt_to(goal: float, sizes: Reals, log_odds: Reals, tilt: float) -> tuple[float, float]:
    """The tilt that moves the mean next to a goal, by Newton's method, and the variance there."""
    for _ in range(_NEWTON_STEPS):
        rates, complements = tilted_rates(log_odds + tilt)
        missing, variance = goal - float(sizes @ rates), float(sizes @ (rates * complements))
        if abs(missing) < _NEAR_GOAL * math.sqrt(variance):
            break
        tilt += max(-2.0, min(2.0, missing / variance))
    return tilt, variance
