"""Root finding: the argument at which a rising function stops being negative, as an integer, a float, or an array.

`root` and `first_whole` narrow a `Bracket`; `bracket_root` finds one.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen

Reals = NDArray[np.float64]
Function = Callable[[float], float]
Number = TypeVar("Number", float, Reals)
PRECISE = 1e-12  # relative: far below every promise that rests on a root
_MOST_STEPS = 5000  # more than the widest bracket of doubles takes
_POSITIVE = 2.0**-1022, 2.0**1023  # the powers of 2 among the normal doubles
_ROUNDS = 200  # more than Chandrupatla's method takes from any bracket of doubles
_FEWEST_UNITS = 4  # in the last place: a bracket so narrow has no use for another step


@frozen
class Bracket:
    """Two arguments between which a rising function stops being negative.

    The function is negative at `low` and not negative at `high`.
    """

    low: float  # where it is negative; −inf if it is not at the lowest argument that is allowed
    high: float  # where it is not; inf if it is negative at the highest argument that is allowed
    at_low: float = -math.inf  # its value at low; −inf if unknown
    at_high: float = math.inf  # its value at high; inf if unknown

    @property
    def is_open(self) -> bool:
        """True if an end is infinite."""
        return math.isinf(self.high - self.low)

    @property
    def share(self) -> float:
        """Relative position at which the line through both values is 0; nan if there is none."""
        rise = self.at_high - self.at_low
        return -self.at_low / rise if 0 < rise < math.inf else math.nan

    def narrowed(self, place: float, value: float) -> "Bracket":
        """Return the part of the bracket that contains the root, given the value at a place inside."""
        if value >= 0:
            return Bracket(self.low, place, self.at_low, value)
        return Bracket(place, self.high, value, self.at_high)


def bracket_root(
    function: Function, start: float, step: float, ends: tuple[float, float] = (-math.inf, math.inf)
) -> Bracket:
    """Step from a start until the function changes its sign, and return the last step as a bracket.

    Each step is twice the previous one. At an end without a change of sign, the bracket is open.
    """
    if not step > 0:
        raise ValueError(f"step must be positive, got {step!r}")
    lowest, highest = ends
    place, value = start, function(start)
    is_rising = value < 0
    while True:
        if is_rising and place >= highest:
            return Bracket(place, math.inf, value)
        if not is_rising and place <= lowest:
            return Bracket(-math.inf, place, at_high=value)
        following = min(place + step, highest) if is_rising else max(place - step, lowest)
        reached = function(following)
        if is_rising and reached >= 0:
            return Bracket(place, following, value, reached)
        if not is_rising and reached < 0:
            return Bracket(following, place, reached, value)
        place, value, step = following, reached, 2 * step


def bracketed_by_factors(
    function: Function, start: float, factor: float, ends: tuple[float, float] = _POSITIVE
) -> Bracket:
    """Multiply or divide a start until the function changes its sign, and return the last step as a bracket.

    Each factor is the square of the previous one. At an end without a change of sign, the bracket is open.
    """
    lowest, highest = (math.log2(end) for end in ends)
    powers = bracket_root(lambda power: function(2.0**power), math.log2(start), math.log2(factor), (lowest, highest))
    low = 2.0**powers.low if powers.low > -math.inf else -math.inf
    return Bracket(low, 2.0**powers.high, powers.at_low, powers.at_high)


def root(function: Function, bracket: Bracket, precise: float = PRECISE) -> Bracket:
    """Return the bracket narrowed to a relative width `precise`; an open bracket is returned unchanged."""

    def between(known: Bracket, share: float) -> float | None:
        low, high = known.low, known.high
        width = high - low
        middle = low + width * (0.5 if math.isnan(share) else share)
        if math.isnan(share) and 0 < low < high / 4:
            middle = math.sqrt(low) * math.sqrt(high)
        margin = precise * high / 2
        middle = min(max(middle, low + margin), high - margin)
        return middle if width > precise * high and low < middle < high else None

    return _narrow_bracket(function, bracket, between)


def first_whole(function: Function, bracket: Bracket) -> Bracket:
    """Return the bracket narrowed to two neighbouring integers; an open bracket is returned unchanged."""

    def between(known: Bracket, share: float) -> float | None:
        low, width = known.low, known.high - known.low
        step = width // 2 if math.isnan(share) else round(share * width)
        return low + min(max(step, 1), width - 1) if width > 1 else None

    return _narrow_bracket(function, bracket, between)


def first_true(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest integer of low..high − 1 from which on a predicate holds; `high` if there is none."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


def first_true_beyond(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest integer from low on at which a monotone predicate holds, searching beyond high if needed."""
    while not holds(high):
        low, high = high + 1, 2 * high
    return first_true(holds, low, high)


def _narrow_bracket(function: Function, bracket: Bracket, between: Callable[[Bracket, float], float | None]) -> Bracket:
    """Return the bracket narrowed by Chandrupatla's method, which starts with the line through its ends."""
    share = bracket.share
    for _ in range(0 if bracket.is_open else _MOST_STEPS):
        place = between(bracket, share)
        if place is None:
            break
        previous = bracket
        bracket = bracket.narrowed(place, function(place))
        share = _next_bracket_share(bracket, previous)
    return bracket


def _next_bracket_share(bracket: Bracket, previous: Bracket) -> float:
    """Return the relative position of the next evaluation: 0 at low, 1 at high; nan for bisection."""
    low, high = (bracket.low, bracket.at_low), (bracket.high, bracket.at_high)
    is_lower = bracket.low != previous.low
    first, second = (low, high) if is_lower else (high, low)
    third = (previous.low, previous.at_low) if is_lower else (previous.high, previous.at_high)
    points, values = zip(first, second, third, strict=True)
    try:
        is_smooth, share = _inverse_quadratic_step(points, values)
    except ZeroDivisionError:
        return math.nan
    if not is_smooth or not math.isfinite(share):
        return math.nan
    return share if is_lower else 1 - share


def roots(function: Callable[[Reals], Reals], low: Reals, high: Reals) -> Reals:
    """Return the root of each component of a function between low and high, by Chandrupatla's method.

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
        allowed = _FEWEST_UNITS * np.spacing(np.maximum(np.abs(best), 1.0))
        if ((length <= allowed) | (at_first == 0) | (at_second == 0)).all():
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
    """Return the position at which `roots` evaluates each function next: 0 at the first point, 1 at the second.

    The root lies between the first and the second point. The third point is the one that the last step of `roots`
    replaced. The position is that of inverse quadratic interpolation if that is safe, otherwise 0.5.

    Args:
        points: The three points, each with one element for each function.
        values: The values of the functions at the points.
    """
    with np.errstate(all="ignore"):
        is_smooth, share = _inverse_quadratic_step(points, values)
    return np.where(is_smooth & np.isfinite(share), share, 0.5)


def _inverse_quadratic_step(points: tuple[Number, ...], values: tuple[Number, ...]) -> tuple[Any, Number]:
    """Return True if inverse quadratic interpolation is safe, and the position of its root.

    The position is relative to the first two points, from 0 to 1. The third point lies beyond the first.
    """
    (a, b, c), (fa, fb, fc) = points, values
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    is_smooth = (phi * phi < xi) & ((1 - phi) * (1 - phi) < 1 - xi)
    share = fa / (fb - fa) * (fc / (fb - fc))
    share = share + (c - a) / (b - a) * (fa / (fc - fa)) * (fb / (fc - fb))
    return is_smooth, share


def first_wholes(holds: Callable[[Reals], NDArray[np.bool_]], low: Reals, high: Reals) -> Reals:
    """Return `first_true` of each component."""
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        held = holds(middle) & (low < high)
        low, high = np.where(held | (low >= high), low, middle + 1), np.where(held, middle, high)
    return high
