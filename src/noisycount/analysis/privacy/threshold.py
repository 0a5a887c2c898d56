"""The answer from which on a positive record is the better explanation."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from noisycount.model.search import Bracket
from noisycount.model.search import first_whole as first_whole_of

__all__ = ["Search", "extrapolated", "first_whole", "root"]

_MOST_STEPS = 200
_GROWTH = 8.0
_NEAR = 1 / 16
_SHORTEST = 1e-9
_PRECISE = 1e-5


@dataclass(frozen=True, slots=True)
class Search:
    """Where to look for an answer.

    Attributes:
        guess: An answer nearby.
        step: About how far the guess is off, in records.
        limit: An answer from which on the log-odds are constant, or inf.
        lowest: An answer up to which they are constant, or −inf.
        margin: How far from the guess the log-odds are exact. What lies beyond is not searched:
            then the result does, too, and is not what was asked for.
    """

    guess: float
    step: float
    limit: float = math.inf
    margin: float = math.inf
    lowest: float = -math.inf


def root(log_odds: Callable[[float], float], search: Search, length: float) -> float:
    """The answer at which rising log-odds pass 0; ±inf if they do beyond what is searched.

    That is inf if they are negative at the limit, and −inf if they are not at the lowest answer.

    Secants; each stays inside the bracket that is known, or near the last two points.

    Args:
        log_odds: Rises with the answer; may be infinite.
        search: Where to look.
        length: Over which the log-odds are about straight, in records; 1e-5 of it is precise.
    """
    guess, limit = search.guess, search.limit
    before = min(guess, limit)
    at_before = log_odds(before)
    low, high = (before, math.inf) if at_before < 0 else (-math.inf, before)
    here = before + math.copysign(search.step, -at_before)
    for _ in range(_MOST_STEPS):
        at_here = log_odds(here)
        if at_here < 0:
            low = max(low, here)
        else:
            high = min(high, here)
        if low >= limit:
            return math.inf
        if high <= search.lowest:
            return -math.inf
        if low > guess + search.margin or high < guess - search.margin:
            return here
        following = _secant(before, at_before, here, at_here)
        straight = _straight_over(length, before, at_before, here, at_here)
        bend = abs(following - here) * abs(following - before) / straight
        is_near = abs(here - before) <= _NEAR * straight
        is_narrow = high - low <= max(_PRECISE * straight, 4 * math.ulp(here))
        if (is_near and bend <= _PRECISE * straight) or is_narrow or following == here:
            return min(max(following, low), high)
        farthest = _GROWTH * abs(here - before)
        if abs(following - here) > farthest or not low <= following <= high:
            following = (low + high) / 2
            if math.isinf(following):
                following = here + math.copysign(farthest, -at_here)
        before, at_before, here = here, at_here, following
    return high


def _straight_over(
    length: float, before: float, at_before: float, here: float, at_here: float
) -> float:
    """A length over which the log-odds change by at most 1, no longer than `length`."""
    rise = abs(at_here - at_before)
    change = abs(here - before) / rise if rise and math.isfinite(rise) else 0.0
    return max(min(length, change), _SHORTEST)


def _secant(before: float, at_before: float, here: float, at_here: float) -> float:
    """Where the straight line through two points meets 0; infinite if it does not."""
    rise = at_here - at_before
    if not rise or not math.isfinite(rise):
        return math.copysign(math.inf, -at_here)
    return here - at_here * (here - before) / rise


def first_whole(log_odds: Callable[[float], float], search: Search) -> tuple[float, float]:
    """The first integer at which rising log-odds are not negative; ±inf as for `root`.

    Args:
        log_odds: Rises with the answer; may be infinite.
        search: Where to look.

    Returns:
        The integer, and about where the log-odds pass 0 before it.
    """
    guess, limit = search.guess, search.limit
    start = float(math.ceil(min(guess, limit)))
    at_start = log_odds(start)
    side, distance = (-1 if at_start >= 0 else 1), float(math.ceil(search.step))
    while True:
        if side > 0 and start >= limit:
            return math.inf, math.inf
        if side < 0 and start <= search.lowest:
            return -math.inf, -math.inf
        other = start + side * distance
        at_other = log_odds(other)
        if (at_other >= 0) != (at_start >= 0):
            break
        if abs(other - guess) > search.margin:
            return other, other
        start, at_start, distance = other, at_other, 2 * distance
    ends = (start, at_start), (other, at_other)
    (low, at_low), (high, at_high) = ends if side > 0 else ends[::-1]
    found = first_whole_of(log_odds, Bracket(low, high, at_low, at_high))
    passed = 0.5 if math.isnan(found.share) else 1 - found.share
    return found.high, found.high - passed


def extrapolated(path: Sequence[tuple[float, float]], place: float) -> tuple[float, float]:
    """The value at a place of the polynomial through some points, and its last correction.

    Args:
        path: At least two points: places that differ, and the values there.
        place: Where the value is asked for.
    """
    places = [one for one, _ in path]
    values = [value for _, value in path]
    before = values[-1]
    for level in range(1, len(path)):
        before = values[-1]
        values = [
            ((place - first) * right - (place - last) * left) / (last - first)
            for first, last, left, right in zip(
                places, places[level:], values, values[1:], strict=False
            )
        ]
    return values[0], values[0] - before
