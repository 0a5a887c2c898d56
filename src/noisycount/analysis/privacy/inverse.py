"""The smallest argument of a falling function that keeps it below a goal, on the safe side."""

import math
from collections.abc import Callable

__all__ = ["smallest_safe"]

_PRECISE = 1e-12
_MOST_STEPS = 300


def smallest_safe(
    excess: Callable[[float], float], low: float, high: float, precise: float = _PRECISE
) -> float:
    """The smallest x in (low, high] with excess(x) <= 0, raised by at most one part in 10^12.

    Args:
        excess: Falls with x; positive at low and not at high. Steps are taken on its values.
        low: At least 0.
        high: Above low.
        precise: The relative width at which the search ends.
    """
    at_low, at_high = excess(low), excess(high)
    halve = False
    for _ in range(_MOST_STEPS):
        width = high - low
        if width <= precise * high:
            break
        middle = low + width / 2
        if not halve and math.isfinite(at_low) and math.isfinite(at_high) and at_low > at_high:
            middle = low + width * at_low / (at_low - at_high)
        elif 0 < low < high / 4:
            middle = math.sqrt(low * high)
        margin = precise * high / 2
        middle = min(max(middle, low + margin), high - margin)
        reached = excess(middle)
        if reached <= 0:
            high, at_high = middle, reached
        else:
            low, at_low = middle, reached
        halve = not halve and high - low > width / 2
    return high
