"""Where rising functions reach their goals, many at once."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals

__all__ = ["first_integers", "roots"]

_ROUNDS = 200


def roots(function: Callable[[Reals], Reals], low: Reals, high: Reals) -> Reals:
    """Where each component of a function crosses 0 between low and high, by Chandrupatla's method.

    Args:
        function: Maps one argument a component to their values, which differ in sign between the
            ends of each; where they do not, an end is returned.
        low: The lower ends, shape (components,).
        high: The upper ends.

    Source: Chandrupatla (1997), inverse quadratic interpolation or bisection.
    """
    first, second = low.astype(np.float64), high.astype(np.float64)
    at_first, at_second = function(first), function(second)
    third, at_third = first.copy(), at_first.copy()
    share = np.full(first.shape, 0.5)
    for _ in range(_ROUNDS):
        second_is_near = np.abs(at_second) < np.abs(at_first)
        best = np.where(second_is_near, second, first)
        length = np.abs(second - first)
        allowed = 4 * np.spacing(np.maximum(np.abs(best), 1.0))
        if (length <= allowed).all() or not length.size:
            break
        margin = np.minimum(0.5, allowed / np.where(length > 0, length, 1))
        tried = first + np.clip(share, margin, 1 - margin) * (second - first)
        at_tried = function(tried)
        same = np.sign(at_tried) == np.sign(at_first)
        third, at_third = np.where(same, first, second), np.where(same, at_first, at_second)
        second = np.where(same, second, first)
        at_second = np.where(same, at_second, at_first)
        first, at_first = tried, at_tried
        share = _next_share((first, second, third), (at_first, at_second, at_third))
    return np.where(np.abs(at_second) < np.abs(at_first), second, first)


def _next_share(points: tuple[Reals, Reals, Reals], values: tuple[Reals, Reals, Reals]) -> Reals:
    """How far to go from the first point to the second."""
    (a, b, c), (fa, fb, fc) = points, values
    with np.errstate(all="ignore"):
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        smooth = (phi * phi < xi) & ((1 - phi) * (1 - phi) < 1 - xi)
        quadratic = fa / (fb - fa) * fc / (fb - fc)
        quadratic += (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return np.where(smooth & np.isfinite(quadratic), quadratic, 0.5)


def first_integers(holds: Callable[[Reals], NDArray[np.bool_]], low: Reals, high: Reals) -> Reals:
    """The smallest integer in low..high at which each rising predicate holds; high if at none less.

    Args:
        holds: Maps one whole number a component to whether its predicate holds there.
        low: The lower ends, whole, shape (components,).
        high: The upper ends.
    """
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        held = holds(middle) & (low < high)
        low, high = np.where(held | (low >= high), low, middle + 1), np.where(held, middle, high)
    return high
