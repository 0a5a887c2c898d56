"""Real numbers in 80 digits that carry a proven bound of their error: Arb's balls.

Balls mix with numbers of mpmath, which take their midpoints.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from flint import arb, arb_mat, ctx
from mpmath import mpf

__all__ = ["DIGITS", "ball", "certified", "dot", "floor", "normal_density", "normal_tail", "square", "total"]

DIGITS = 80
_FEW = 500
_NOTHING = arb(10) ** -400
_FAR = 1000  # standard deviations from which on a normal tail is a series
_FAR_TERMS = 60

ctx.dps = DIGITS


def ball(number: float | Fraction | mpf | str) -> arb:
    """A number as a ball, exactly if it has few enough binary digits."""
    if isinstance(number, Fraction):
        return arb(number.numerator) / number.denominator
    return arb(number)


def total(values: Iterable[arb]) -> arb:
    """The sum."""
    return sum(values, arb(0))


def dot(left: Sequence[arb], right: Sequence[arb]) -> arb:
    """Σ left·right of two sequences of the same length."""
    if len(left) != len(right):
        raise ValueError(f"lengths must agree, got {len(left)} and {len(right)}")
    product = arb_mat(1, len(left), left) * arb_mat(len(right), 1, right)
    return product[0, 0] if left else arb(0)


def square(value: arb) -> arb:
    """The square, also of a ball around 0."""
    return value * value


def choose(count: int, chosen: int) -> arb:
    """The number of ways to choose so many of a count, in balls where it is very large."""
    if not 0 <= chosen <= count:
        return arb(0)
    if min(chosen, count - chosen) <= _FEW:
        return arb(math.comb(count, chosen))
    logs = (arb(n + 1).lgamma() for n in (count, chosen, count - chosen))
    return (next(logs) - next(logs) - next(logs)).exp()


def floor(value: arb) -> int:
    """The whole part of a midpoint."""
    return int(value.mid().floor().unique_fmpz())


def normal_density(error: arb, scale: arb) -> arb:
    """e^(−z²/(2σ²))/(σ√(2π))."""
    return (-square(error / scale) / 2).exp() / (scale * (2 * arb.pi()).sqrt())


def normal_tail(deviations: arb) -> arb:
    """P[Z >= deviations] of the standard normal law."""
    if deviations > _FAR:
        return _far_normal_tail(deviations)
    return (deviations / arb(2).sqrt()).erfc() / 2


def _far_normal_tail(deviations: arb) -> arb:
    """Return the tail by its asymptotic series, whose error is below the first omitted term."""
    square_of, term, value = square(deviations), arb(1), arb(0)
    for order in range(1, _FAR_TERMS, 2):
        value += term
        term *= -order / square_of
    top = (-square_of / 2).exp() / (deviations * (2 * arb.pi()).sqrt())
    return top * (value + arb(0, abs(term).upper()))


def certified(value: arb, digits: int = 20) -> mpf:
    """The midpoint of a ball that proves so many of its digits, or that it is below 1e-400."""
    allowed = abs(value.mid()) * arb(10) ** -digits + _NOTHING
    assert value.rad() <= allowed, f"too wide: {value.str(30)}"
    return mpf(value)
