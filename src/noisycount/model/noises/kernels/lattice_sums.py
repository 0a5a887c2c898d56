"""Sums of e^(−z²/(2·scale²)) over the integers."""

import math
from functools import lru_cache

import numpy as np

from noisycount.model.laws.normal import erfcx

__all__ = ["WIDE", "log_sum_from", "log_sum_of_all", "sum_of_distances", "theta"]

_NEGLIGIBLE = 50.0  # nats: e^−50 is far below a double's rounding of the sum
_FLAT = 1 / 32  # nats a record up to which the next derivative of a wide sum is below 1e-17
WIDE = 64.0
"""Records of a scale from which on sums over the integers are integrals with few corrections."""


def theta(rate: float) -> tuple[float, float]:
    """Σ e^(−rate·z²) over the integers, and the mean of z² under these weights; rate >= 1/2."""
    squares = np.arange(1.0, 10.0) ** 2
    weights = np.exp(-rate * squares)
    total = 1 + 2 * float(weights.sum())
    return total, 2 * float((squares * weights).sum()) / total


@lru_cache(maxsize=64)
def log_sum_of_all(scale: float) -> float:
    """The logarithm of Σ e^(−z²/(2·scale²)) over the integers; wide sums by Poisson's formula."""
    if scale < 1:
        return math.log(theta(1 / (2 * scale**2))[0])
    images = theta(2 * math.pi**2 * scale**2)[0]
    return math.log(scale * math.sqrt(2 * math.pi) * images)


def log_sum_from(first: float, scale: float) -> float:
    """The logarithm of Σ e^(−z²/(2·scale²)) over z = first, first + 1, and so on; first >= 0."""
    reach = first / scale
    slope = reach / scale
    if scale >= WIDE and slope <= _FLAT:
        return _log_smooth_sum((first - 0.5) / scale, scale)
    largest = -reach * reach / 2
    if slope > _NEGLIGIBLE:
        return largest
    longest = math.sqrt(2 * _NEGLIGIBLE) * scale
    offsets = np.arange(math.ceil(min(longest, _NEGLIGIBLE / slope if slope else longest)) + 1.0)
    terms = np.exp(-offsets * (slope + offsets / (2 * scale**2)))
    return largest + math.log(float(terms.sum()))


def _log_smooth_sum(units: float, scale: float) -> float:
    """The sum from a place on, in scales, half a record below its first term.

    It is ∫ f + f'/24 − 7f'''/5760 + 31f'''''/967680 there, f being e^(−z²/(2·scale²)).
    """
    square, inverse = units * units, 1 / scale**2
    steps = 1 / 24 - inverse * 7 / 5760 * (square - 3)
    steps += inverse**2 * 31 / 967680 * ((square - 10) * square + 15)
    integral = scale * math.sqrt(math.pi / 2) * float(erfcx(np.asarray(units / math.sqrt(2))))
    return math.log(integral - units / scale * steps) - square / 2


def sum_of_distances(scale: float) -> float:
    """Σ z·e^(−z²/(2·scale²)) over z = 1, 2, and so on; wide ones by Euler-Maclaurin."""
    if scale >= WIDE:
        return scale**2 - 1 / 12 - (1 / 240 + 1 / (2016 * scale**2)) / scale**2
    numbers = np.arange(1, math.ceil(math.sqrt(2 * _NEGLIGIBLE) * scale) + 2)
    return float(numbers @ np.exp(-((numbers / scale) ** 2) / 2))
