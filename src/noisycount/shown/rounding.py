"""Exact rationals in few digits, rounded to the side of more spending."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from noisycount.shown.exact_text import exact_text

__all__ = ["rounded_down", "rounded_up"]

_DIGITS = 3
_SHORT = 8  # characters of a decimal that is shown as it is
_PLAIN = Decimal("1e-4")  # smaller ones are read by their power of ten


def rounded_up(value: Fraction) -> str:
    """What was spent: as it is where that is a short decimal, else never less.

    Example:
        >>> rounded_up(Fraction("0.25")), rounded_up(Fraction(1, 3)), rounded_up(Fraction(20, 3))
        ('0.25', '0.334', '6.67')
        >>> rounded_up(Fraction(1, 3 * 10**9))
        '3.34e-10'
    """
    return _rounded(value, ROUND_CEILING)


def rounded_down(value: Fraction) -> str:
    """What is left: as it is where that is a short decimal, else never more.

    Example:
        >>> rounded_down(Fraction(2, 3)), rounded_down(Fraction(3, 2))
        ('0.666', '1.5')
    """
    return _rounded(value, ROUND_FLOOR)


def _rounded(value: Fraction, rounding: str) -> str:
    exact = exact_text(value)
    if len(exact) <= _SHORT and "/" not in exact:
        return exact
    context = Context(prec=_DIGITS, rounding=rounding)
    told = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{told:e}" if abs(told) < _PLAIN else f"{told:,f}"
