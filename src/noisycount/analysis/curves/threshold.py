"""The answer from which on a positive record is the better explanation."""

import math
from collections.abc import Callable

__all__ = ["root"]

_MOST_STEPS = 200
_PRECISE = 1e-5


def root(
    log_odds: Callable[[float], float], guess: float, step: float, limit: float, *, whole: bool
) -> float:
    """The answer at which rising log-odds pass 0; inf if they do not below the limit.

    Secants inside a bracket, halved where a secant gains little; each new point lies inside it.

    Args:
        log_odds: Rising with the answer; may be infinite.
        guess: An answer nearby.
        step: A distance in records over which the log-odds change; the root is found to 1e-5 of it.
        limit: An answer from which on they are constant, or inf.
        whole: Whether answers are integers: then the first integer with log-odds >= 0.
    """
    below, above = _bracket(log_odds, guess, step, limit, whole=whole)
    if math.isinf(above[0]):
        return math.inf
    tolerance = 1.0 if whole else max(_PRECISE * step, 4 * math.ulp(abs(guess) + step))
    narrowed = True
    for _ in range(_MOST_STEPS):
        (low, at_low), (high, at_high) = below, above
        if high - low <= tolerance or at_high == 0:
            break
        secant = low - at_low * (high - low) / (at_high - at_low)
        middle = secant if narrowed and math.isfinite(secant) else (low + high) / 2
        if whole:
            middle = min(max(round(middle), low + 1), high - 1)
        else:
            middle = min(max(middle, low + tolerance / 2), high - tolerance / 2)
        reached = log_odds(middle)
        if reached >= 0:
            above = middle, reached
        else:
            below = middle, reached
        narrowed = above[0] - below[0] <= (high - low) / 2 or not narrowed
    return above[0]


def _bracket(
    log_odds: Callable[[float], float], guess: float, step: float, limit: float, *, whole: bool
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Answers with negative and with other log-odds; the second is inf if there is none."""
    start = min(guess, limit)
    start = float(math.ceil(start)) if whole else start
    value = log_odds(start)
    side = -1 if value >= 0 else 1
    distance = math.ceil(step) if whole else step
    while True:
        if side > 0 and start >= limit:
            return (start, value), (math.inf, math.inf)
        other = start + side * distance
        reached = log_odds(other)
        if (reached >= 0) != (value >= 0):
            ends = (start, value), (other, reached)
            return ends if side > 0 else (ends[1], ends[0])
        start, value, distance = other, reached, 2 * distance
