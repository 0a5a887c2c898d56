"""Numbers as people read them, rounded to the side that claims less.

A price, what was spent, an error, δ and odds are rounded up. What is left of a budget and the scale of noise, which
hides the records, are rounded down. Only where the exact number stands beside it, as in 20/3 ≈ 6.67, is it the nearest.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational

from noisycount.validation import exact_text

_DIGITS = 3
_SHORT = 8  # characters of a decimal that is shown as it is
_PLAIN = Decimal("1e-4")  # smaller ones are read by their power of ten


def rounded_up(value: Fraction) -> str:
    """Return a price, an error or a δ in three digits, never less than it is; a short decimal stays as it is.

    Example:
        >>> rounded_up(Fraction("0.25")), rounded_up(Fraction(1, 3)), rounded_up(Fraction(20, 3))
        ('0.25', '0.334', '6.67')
        >>> rounded_up(Fraction(1, 3 * 10**9))
        '3.34e-10'
    """
    return _rounded(value, ROUND_CEILING)


def rounded_down(value: Fraction) -> str:
    """Return what is left in three digits, never more than it is; a short decimal stays as it is.

    Example:
        >>> rounded_down(Fraction(2, 3)), rounded_down(Fraction(3, 2))
        ('0.666', '1.5')
    """
    return _rounded(value, ROUND_FLOOR)


def scale_text(scale: Fraction) -> str:
    """Return a scale of noise in four digits, never more than it is.

    Example:
        >>> scale_text(Fraction(10, 3)), scale_text(Fraction(2))
        ('3.333', '2')
    """
    digits = Context(prec=4, rounding=ROUND_FLOOR).divide(Decimal(scale.numerator), Decimal(scale.denominator))
    return f"{digits.normalize():,f}"


def probability_bound(value: Fraction) -> str:
    """Return a probability in three digits, never less than it is.

    Example:
        >>> probability_bound(Fraction(1, 10**6)), probability_bound(Fraction(1, 3))
        ('1e-06', '0.334')
    """
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    return f"{float(context.divide(Decimal(value.numerator), Decimal(value.denominator))):.3g}"


def _rounded(value: Fraction, rounding: str) -> str:
    exact = exact_text(value)
    if len(exact) <= _SHORT and "/" not in exact:
        return exact
    context = Context(prec=_DIGITS, rounding=rounding)
    told = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{told:e}" if abs(told) < _PLAIN else f"{told:,f}"


_LEAST_ODDS = Decimal("0.0001")  # smaller ones have more zeros than anybody counts
_READABLE = Decimal("1e-3")


def percent(share: float | Decimal) -> str:
    """A share in percent with the digits that it needs: 0.95 is `95 %`.

    Example:
        >>> percent(0.017), percent(0.2)
        ('1.7 %', '20 %')
    """
    return f"{(Decimal(str(share)) * 100).normalize():f} %"


def signed(number: float, digits: int = 0) -> str:
    """A number with thousands separators and a true minus sign.

    Example:
        >>> signed(-5912), signed(1234.56, 1)
        ('−5,912', '1,234.6')
    """
    return f"{number:,.{digits}f}".replace("-", "−")


def number_of(noun: str, number: int) -> str:
    """So many of a thing.

    Example:
        >>> number_of("count", 1), number_of("count", 1200)
        ('1 count', '1,200 counts')
    """
    return f"{signed(number)} {noun}{'' if number == 1 else 's'}"


def to_one_place(number: float) -> str:
    """A number to one decimal place, without it where it is 0.

    Example:
        >>> to_one_place(-5912.04), to_one_place(1234.56)
        ('−5,912', '1,234.6')
    """
    return signed(number, 1).removesuffix(".0")


def plus_minus(error: float) -> str:
    """An error as `±20`, whole where it is whole.

    Example:
        >>> plus_minus(2995732), plus_minus(15.5)
        ('±2,995,732', '±15.5')
    """
    return f"±{int(error):,}" if error == int(error) else f"±{error:,.6g}"


def in_bytes(number: int) -> str:
    """A number of bytes in a unit that leaves it three digits.

    Example:
        >>> in_bytes(999), in_bytes(12_345), in_bytes(2_500_000_000)
        ('999 B', '12.3 kB', '2.50 GB')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            whole = len(str(number // size))
            return f"{number / size:,.{max(0, 3 - whole)}f} {unit}"
    return f"{number} B"


def approximately(value: Rational) -> str:
    """An exact rational, with its rounded value where that is easier to read.

    Example:
        >>> approximately(Fraction(20, 3)), approximately(Fraction(10))
        ('20/3 ≈ 6.67', '10')
    """
    text = exact_text(value)
    return text if "/" not in text else f"{text} ≈ {float(value):.3g}"


def at_most(bound: float) -> str:
    """A finite number that is not negative, rounded up to three digits.

    Example:
        >>> at_most(0.15012), at_most(0.1 + 1e-12), at_most(3.4567e-9), at_most(0)
        ('0.151', '0.100', '3.46e-9', '0')
    """
    return _three_digits(bound, ROUND_CEILING)


def at_least(bound: float) -> str:
    """A finite number that is not negative, rounded down to three digits.

    Example:
        >>> at_least(0.15097)
        '0.150'
    """
    return _three_digits(bound, ROUND_FLOOR)


def _three_digits(bound: float, rounding: str) -> str:
    """Three digits of the first nine, as 0.1 plus the error of a float is 0.1."""
    told = Context(prec=9).create_decimal_from_float(float(bound))
    rounded = Context(prec=3, rounding=rounding).plus(told)
    if rounded == rounded.to_integral_value():
        return f"{rounded:.0f}"
    return f"{rounded:{'e' if rounded < _READABLE else 'f'}}"


def odds_sentence(epsilon: float | Fraction, protected: str = "person") -> str:
    """What ε means for one person or row, in words; the odds are rounded to the side of more risk.

    Example:
        >>> odds_sentence(0.15)
        'a 50:50 guess about one person becomes at most 54:46'
    """
    return f"a 50:50 guess about one {protected} becomes {odds_bound(epsilon)}"


def odds_bound(epsilon: float | Fraction) -> str:
    """The same odds as a bound in a sentence.

    Example:
        >>> odds_bound(0.15), odds_bound(500)
        ('at most 54:46', 'more than 99.9999:0.0001')
    """
    told = odds(epsilon)
    return told if told.startswith("more") else f"at most {told}"


def odds(epsilon: float | Fraction) -> str:
    """What a guess of 50:50 may become at ε, as odds of 100 in all; never certain.

    Example:
        >>> odds(0.15), odds(10), odds(500)
        ('54:46', '99.9955:0.0045', 'more than 99.9999:0.0001')
    """
    shrunk = math.exp(-epsilon)  # odds of 1:1 become 1:e^ε, as `belief_bounds` says for any odds
    share = Decimal(shrunk / (1 + shrunk)) * 100
    if share < _LEAST_ODDS:
        least = 100 - _LEAST_ODDS
        return f"more than {least:f}:{_LEAST_ODDS:f}"
    low = share.to_integral_value(ROUND_FLOOR) if share >= 1 else Context(prec=2, rounding=ROUND_FLOOR).plus(share)
    return f"{100 - low:f}:{low:f}"
