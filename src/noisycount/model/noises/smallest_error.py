"""The smallest error that is exceeded no more often than a goal, found by its tail."""

import math
from collections.abc import Callable
from typing import Protocol

__all__ = ["excess", "falling_root", "log_one_minus_exp", "smallest_error"]

Falling = Callable[[float], float]

_CLOSE = 1e-15  # the product of two secant steps is about the error that the second leaves
_SECANTS = 60
_HALF = -math.log(2)


class Tailed(Protocol):
    """Symmetric noise Z."""

    @property
    def is_discrete(self) -> bool:
        """Whether Z is an integer."""
        ...

    @property
    def variance(self) -> float:
        """In records²."""
        ...

    def log_tail(self, alpha: float) -> float:
        """The logarithm of P[|Z| >= alpha]."""
        ...

    def log_within(self, alpha: float) -> float:
        """The logarithm of P[|Z| < alpha]."""
        ...


def log_one_minus_exp(logarithm: float) -> float:
    """ln(1 − e^x) for x <= 0, to full relative precision at both ends."""
    if logarithm > _HALF:
        return math.log(-math.expm1(logarithm)) if logarithm < 0 else -math.inf
    return math.log1p(-math.exp(logarithm))


def excess(noise: Tailed, alpha: float, log_beta: float) -> float:
    """Positive where P[|Z| >= alpha] exceeds beta, falling in alpha, and smooth where Z is not.

    Below beta = 1/2 the difference of the logarithms of the tails, which are concave; above that of
    the masses within alpha, which are then the part that keeps its digits.
    """
    if log_beta < _HALF:
        return noise.log_tail(alpha) - log_beta
    return log_one_minus_exp(log_beta) - noise.log_within(alpha)


def smallest_error(noise: Tailed, log_beta: float) -> float:
    """The smallest alpha, in records, with ln P[|Z| >= alpha] <= log_beta < 0.

    Numerical error: 1e-11 relative; an integer is the smallest up to ties within 1e-12 of beta.
    """
    deviation = math.sqrt(noise.variance)
    if log_beta < _HALF:
        start = deviation * math.sqrt(-2 * log_beta)
    else:
        start = 1.25 * deviation * math.exp(log_one_minus_exp(log_beta))
    if noise.is_discrete:
        return _first_integer(lambda alpha: excess(noise, alpha, log_beta), start)
    if log_beta < _HALF:
        return falling_root(lambda alpha: excess(noise, alpha, log_beta), start, 0.9 * start)
    place = math.log(start)
    return math.exp(
        falling_root(lambda at: excess(noise, math.exp(at), log_beta), place, place - 0.1, unit=1)
    )


def falling_root(function: Falling, before: float, here: float, unit: float = 0.0) -> float:
    """The root of a falling function, by secants.

    Args:
        function: Smooth where the argument changes by less than a unit.
        before: A place near the root.
        here: Another one.
        unit: What steps are small against; left out: the place itself.
    """
    at_before = function(before)
    for _ in range(_SECANTS):
        at_here = function(here)
        if at_here == at_before:
            break
        last = here - before
        step = -at_here * last / (at_here - at_before)
        before, at_before, here = here, at_here, here + step
        if abs(step * last) <= _CLOSE * (unit or here) ** 2:
            break
    return here


def _first_integer(function: Falling, start: float) -> int:
    """The first integer from 1 on where a falling function is not positive.

    By secants between the largest integer `low` where it is known to be positive and the smallest
    `high` where it is known not to be; by halves where secants do not end it.
    """
    low, high = 0, 0
    before, at_before = math.nan, math.nan
    here = max(1, math.ceil(start))
    for trial in range(_SECANTS + 1100):
        at_here = function(float(here))
        if at_here > 0:
            low = here
        else:
            high = here
        if high == low + 1:
            break
        change = at_here - at_before
        crossing = here - at_here * (here - before) / change if change else math.nan
        before, at_before = here, at_here
        if math.isfinite(crossing) and trial < _SECANTS:
            here = max(low + 1, math.ceil(crossing))
        else:
            here = (low + high) // 2 if high else 2 * here
        here = min(here, high - 1) if high else here
    return high
