"""Sums of e^(−z²/(2·scale²)) over the integers."""

import math
from functools import lru_cache

import numpy as np

from noisycount.model.laws.blocks import blocks_between
from noisycount.model.laws.expansion import Reals

__all__ = ["log_moment_from_one", "log_sum_from", "log_sum_of_all", "theta"]

_NEGLIGIBLE = 50.0  # nats: e^−50 is far below a double's rounding of the sum
_SHORT = 2000  # terms up to which a sum of them all is faster than one over blocks


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
    largest = -reach * reach / 2
    slope = reach / scale
    if slope > _NEGLIGIBLE:
        return largest
    curvature = 1 / scale**2

    def log_weight(offsets: Reals) -> Reals:
        return -offsets * (slope + offsets * (curvature / 2))

    last = math.ceil(math.sqrt(2 * _NEGLIGIBLE) * scale)
    if last < _SHORT:
        terms = np.exp(log_weight(np.arange(last + 1.0)))
        return largest + math.log(float(terms.sum()))
    blocks = blocks_between(log_weight, 0.0, last)
    return largest + blocks.peak + math.log(blocks.mass)


def log_moment_from_one(scale: float) -> float:
    """The logarithm of Σ z·e^(−z²/(2·scale²)) over z = 1, 2, and so on."""
    curvature = 1 / scale**2

    def log_weight(offsets: Reals) -> Reals:
        return -offsets * (curvature + offsets * (curvature / 2))

    blocks = blocks_between(log_weight, 0.0, math.ceil(math.sqrt(2 * _NEGLIGIBLE) * scale))
    return blocks.peak + math.log(blocks.mass * (1 + blocks.mean)) - curvature / 2
