"""Number formats for people. Rounding never understates a price, an error or a risk.

Prices, spent budgets, errors, δ and odds are rounded up. Remaining budgets and noise scales are rounded down. A number
is rounded to nearest only if its exact value is shown next to it, as in 20/3 ≈ 6.67.
"""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational

from noisycount.validation import exact_text

_DIGITS = 3
_MAX_EXACT_LENGTH = 8  # characters; a longer decimal is rounded
_MIN_PLAIN = Decimal("1e-4")  # smaller numbers are written with an exponent


def rounded_up(value: Fraction) -> str:
    """Return a price, an error or a δ, rounded up to three digits. A short decimal is shown exactly.

    Example:
        >>> rounded_up(Fraction("0.25")), rounded_up(Fraction(1, 3)), rounded_up(Fraction(20, 3))
        ('0.25', '0.334', '6.67')
        >>> rounded_up(Fraction(1, 3 * 10**9))
        '3.34e-10'
    """
    return _rounded_text(value, ROUND_CEILING)


def rounded_down(value: Fraction) -> str:
    """Return a remaining budget, rounded down to three digits. A short decimal is shown exactly.

    Example:
        >>> rounded_down(Fraction(2, 3)), rounded_down(Fraction(3, 2))
        ('0.666', '1.5')
    """
    return _rounded_text(value, ROUND_FLOOR)


def scale_text(scale: Fraction) -> str:
    """Return a noise scale, rounded down to four digits.

    Example:
        >>> scale_text(Fraction(10, 3)), scale_text(Fraction(2))
        ('3.333', '2')
    """
    digits = Context(prec=4, rounding=ROUND_FLOOR).divide(Decimal(scale.numerator), Decimal(scale.denominator))
    return f"{digits.normalize():,f}"


def probability_bound(value: Fraction) -> str:
    """Return a probability, rounded up to three digits.

    Example:
        >>> probability_bound(Fraction(1, 10**6)), probability_bound(Fraction(1, 3))
        ('1e-06', '0.334')
    """
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    return f"{float(context.divide(Decimal(value.numerator), Decimal(value.denominator))):.3g}"


def _rounded_text(value: Fraction, rounding: str) -> str:
    """Round to three digits in the given direction, or return the exact text if it is a short decimal."""
    exact = exact_text(value)
    if len(exact) <= _MAX_EXACT_LENGTH and "/" not in exact:
        return exact
    context = Context(prec=_DIGITS, rounding=rounding)
    rounded = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{rounded:e}" if abs(rounded) < _MIN_PLAIN else f"{rounded:,f}"


_MIN_ODDS = Decimal("0.0001")  # in percent; smaller odds are only bounded, because their zeros are hard to count
_MIN_FIXED_POINT = Decimal("1e-3")  # smaller bounds are written with an exponent


def percent(share: float | Decimal) -> str:
    """Return a share in percent, with as many digits as it needs: 0.95 is `95 %`.

    Example:
        >>> percent(0.017), percent(0.2)
        ('1.7 %', '20 %')
    """
    return f"{(Decimal(str(share)) * 100).normalize():f} %"


def signed(number: float, digits: int = 0) -> str:
    """Return a number with thousands separators and a true minus sign, with `digits` decimal places.

    Example:
        >>> signed(-5912), signed(1234.56, 1)
        ('−5,912', '1,234.6')
    """
    return f"{number:,.{digits}f}".replace("-", "−")


def counted_noun(noun: str, number: int) -> str:
    """Return a number with its noun, in the singular or the plural.

    Example:
        >>> counted_noun("count", 1), counted_noun("count", 1200)
        ('1 count', '1,200 counts')
    """
    return f"{signed(number)} {noun}{'' if number == 1 else 's'}"


def to_one_place(number: float) -> str:
    """Return a number with one decimal place, which is left out if it is 0.

    Example:
        >>> to_one_place(-5912.04), to_one_place(1234.56)
        ('−5,912', '1,234.6')
    """
    return signed(number, 1).removesuffix(".0")


def plus_minus(error: float) -> str:
    """Return an error such as `±20`; a whole number has no decimal places.

    Example:
        >>> plus_minus(2995732), plus_minus(15.5)
        ('±2,995,732', '±15.5')
    """
    return f"±{int(error):,}" if error == int(error) else f"±{error:,.6g}"


def in_bytes(number: int) -> str:
    """Return a number of bytes in B, kB, MB or GB, with three digits.

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
    """Return an exact rational number, followed by its rounded value if it is a fraction.

    Example:
        >>> approximately(Fraction(20, 3)), approximately(Fraction(10))
        ('20/3 ≈ 6.67', '10')
    """
    text = exact_text(value)
    return text if "/" not in text else f"{text} ≈ {float(value):.3g}"


def at_most(bound: float) -> str:
    """Return a finite non-negative number, rounded up to three digits.

    Example:
        >>> at_most(0.15012), at_most(0.1 + 1e-12), at_most(3.4567e-9), at_most(0)
        ('0.151', '0.100', '3.46e-9', '0')
    """
    return _three_digits(bound, ROUND_CEILING)


def at_least(bound: float) -> str:
    """Return a finite non-negative number, rounded down to three digits.

    Example:
        >>> at_least(0.15097)
        '0.150'
    """
    return _three_digits(bound, ROUND_FLOOR)


def _three_digits(bound: float, rounding: str) -> str:
    """Round to three digits. Only the first nine digits count, so that 0.1 + 1e-12 is shown as 0.100."""
    nine_digits = Context(prec=9).create_decimal_from_float(float(bound))
    rounded = Context(prec=3, rounding=rounding).plus(nine_digits)
    if rounded == rounded.to_integral_value():
        return f"{rounded:.0f}"
    return f"{rounded:{'e' if rounded < _MIN_FIXED_POINT else 'f'}}"


def odds_sentence(epsilon: float | Fraction, protected: str = "person") -> str:
    """Return the meaning of ε for one person or row as a phrase. The odds are rounded towards more risk.

    Example:
        >>> odds_sentence(0.15)
        'a 50:50 guess about one person becomes at most 54:46'
    """
    return f"a 50:50 guess about one {protected} becomes {odds_bound(epsilon)}"


def odds_bound(epsilon: float | Fraction) -> str:
    """Return the odds of `odds` as an upper bound, for use in a sentence.

    Example:
        >>> odds_bound(0.15), odds_bound(500)
        ('at most 54:46', 'more than 99.9999:0.0001')
    """
    text = odds(epsilon)
    return text if text.startswith("more") else f"at most {text}"


def odds(epsilon: float | Fraction) -> str:
    """Return the odds, out of 100, that a 50:50 guess can reach at ε: e^ε to 1. Never returns 100:0.

    Example:
        >>> odds(0.15), odds(10), odds(500)
        ('54:46', '99.9955:0.0045', 'more than 99.9999:0.0001')
    """
    inverse_odds = math.exp(-epsilon)  # odds of 1:1 become e^ε:1; `belief_bounds` has the general case
    share = Decimal(inverse_odds / (1 + inverse_odds)) * 100
    if share < _MIN_ODDS:
        return f"more than {100 - _MIN_ODDS:f}:{_MIN_ODDS:f}"
    smaller = share.to_integral_value(ROUND_FLOOR) if share >= 1 else Context(prec=2, rounding=ROUND_FLOOR).plus(share)
    return f"{100 - smaller:f}:{smaller:f}"
