"""Checks of arguments: exact rationals as people write them, numbers, paths. Errors state name, value and remedy."""

import errno
import math
import os
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from inspect import isabstract
from numbers import Integral, Rational, Real
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from sqlalchemy import URL

RationalLike = str | int | float | Decimal | Fraction
"""A rational number as a text, an exact number, or a float, which stands for the decimal that it prints."""

_LONGEST_TEXT = 40

# At most three digits of exponent: a longer one could make an integer that fills the memory.
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|[0-9]+/0*[1-9][0-9]*")

_CACHED_TEXTS = 1024  # the longest text has 8601 characters
_SHARE = re.compile(r"[±+]?\s*([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})\s*(%?)")


def parse_rational(value: object) -> Fraction | None:
    """Return the rational number of a value, or None if the value is no short rational.

    Example:
        >>> parse_rational("1/3"), parse_rational(0.1), parse_rational("a tenth")
        (Fraction(1, 3), Fraction(1, 10), None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Rational):
        return exact_rational(value)
    plain_value = float(value) if isinstance(value, float) else value  # NumPy prints its floats in another form
    text = str(plain_value).strip() if isinstance(plain_value, (str, Decimal, float)) else ""
    if len(text) > _LONGEST_TEXT or _NUMBER.fullmatch(text) is None:
        return None
    return Fraction(text)


def parse_probability(text: str) -> Fraction | None:
    """Return the share that a text states, which may exceed 1, or None if it states none.

    Example:
        >>> parse_probability("±20 %"), parse_probability("0.2"), parse_probability("a fifth")
        (Fraction(1, 5), Fraction(1, 5), None)
    """
    match = _SHARE.fullmatch(text.strip())
    return Fraction(match[1]) / (100 if match[2] else 1) if match else None


def exact_text(value: Rational) -> str:
    """Return the shortest text that states a rational exactly.

    Example:
        >>> from fractions import Fraction
        >>> exact_text(Fraction(3, 10)), exact_text(Fraction(2, 6)), exact_text(Fraction(0))
        ('0.3', '1/3', '0')
    """
    return _ratio_text(int(value.numerator), int(value.denominator))


@lru_cache(maxsize=_CACHED_TEXTS)
def _ratio_text(numerator: int, denominator: int) -> str:
    """Return the shortest text of a ratio in lowest terms. It is cached, as a ledger writes the same sums often."""
    twos = (denominator & -denominator).bit_length() - 1
    fives, rest = 0, denominator >> twos
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    if rest != 1:
        return f"{numerator}/{denominator}"
    places = max(twos, fives)
    digits = str(abs(numerator) * 10**places // denominator).zfill(places + 1)
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{'-' if numerator < 0 else ''}{whole}{'.' if part else ''}{part}"


_SMALLEST = Fraction(1, 10**9)
_LARGEST = Fraction(10**6)
_SMALLEST_DELTA = Fraction(1, 10**18)
_PLACES = 18
_LARGEST_DENOMINATOR = 1000
_COMMA = re.compile(r"[0-9]{0,10},[0-9]{1,20}")
_SHORT_FORM = (
    f"must be a decimal of at most {_PLACES} places, or a fraction with a denominator of at most {_LARGEST_DENOMINATOR}"
)
_EXACT_TEXT = re.compile(r"-?[0-9]+(?:\.[0-9]+|/[1-9][0-9]*)?")


def exact_epsilon(value: RationalLike, name: str = "epsilon") -> Fraction:
    """Return ε as an exact rational. Raise ValueError if it is out of range or too long.

    The denominator divides 10^18 or is at most 1000. So every sum of such values has a denominator of at most
    lcm(1..1000)·10^18, and a ledger's total has fewer than 500 digits.

    Example:
        >>> exact_epsilon(0.1), exact_epsilon("1/3")
        (Fraction(1, 10), Fraction(1, 3))
    """
    number = parse_rational(value)
    if number is None or not _SMALLEST <= number <= _LARGEST or not _has_short_form(number):
        raise ValueError(f"{name} {_SHORT_FORM}, between 1e-9 and 1e6, got {_value_text(value)}")
    return number


def is_in_range(epsilon: float | Fraction) -> bool:
    """Return True if a ledger stores a privacy loss of this size: from 1e-9 to 1e6.

    Example:
        >>> is_in_range(0.1), is_in_range(1e-10)
        (True, False)
    """
    return _SMALLEST <= epsilon <= _LARGEST


def exact_delta(value: RationalLike, name: str = "delta", *, smallest: Fraction | int = _SMALLEST_DELTA) -> Fraction:
    """Return δ as an exact rational. Raise ValueError if it is out of range.

    Example:
        >>> exact_delta("1e-6")
        Fraction(1, 1000000)
    """
    number = parse_rational(value)
    if number is None or not smallest <= number < 1:
        low = f"{float(smallest):.4g}"
        raise ValueError(
            f"{name} must be a decimal or a fraction in quotes, from {low} to below 1, such as"
            f" '1e-6', got {_value_text(value)}"
        )
    return number


def exact_answer_delta(value: RationalLike, name: str = "delta") -> Fraction:
    """Return the δ of one answer as an exact rational whose sums stay short, as for `exact_epsilon`.

    Example:
        >>> exact_answer_delta("1e-6")
        Fraction(1, 1000000)
    """
    number = parse_rational(value)
    if number is None or not _SMALLEST_DELTA <= number < 1 or not _has_short_form(number):
        raise ValueError(f"{name} {_SHORT_FORM}, from 1e-18 to below 1, got {_value_text(value)}")
    return number


def largest_epsilon(limit: Fraction) -> Fraction:
    """Return the largest price in the short form of `exact_epsilon` that is at most a limit; 0 if there is none.

    Example:
        >>> largest_epsilon(Fraction(1, 3)), largest_epsilon(Fraction(10**18, 3 * 10**18 + 1))
        (Fraction(1, 3), Fraction(333333333333333333, 1000000000000000000))
    """
    price = limit if _has_short_form(limit) else Fraction(int(limit * 10**_PLACES), 10**_PLACES)
    return price if price >= _SMALLEST else Fraction(0)


def exact_rational(value: Rational, name: str = "value") -> Fraction:
    """Return a rational as a fraction of Python's integers, which never overflow.

    A fraction may consist of integers of NumPy, which overflow in sums.

    Example:
        >>> exact_rational(3)
        Fraction(3, 1)
    """
    if type(value) is Fraction and type(value.numerator) is type(value.denominator) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Rational):
        raise ValueError(f"{name} must be an exact rational, got {_value_text(value)}")  # noqa: TRY004
    return Fraction(int(value.numerator), int(value.denominator))


@lru_cache(maxsize=_CACHED_TEXTS)  # most rows of a ledger contain the same few
def exact_value(text: str) -> Fraction:
    """Return the rational that `exact_text` wrote, of any size.

    Example:
        >>> exact_value("0.3"), exact_value("-1/3")
        (Fraction(3, 10), Fraction(-1, 3))
    """
    if type(text) is not str or _EXACT_TEXT.fullmatch(text) is None:
        raise ValueError(f"text must be an exact decimal or fraction, got {_value_text(text)}")
    whole, point, part = text.partition(".")
    if point:
        return Fraction(int(whole + part), 10 ** len(part))
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))


def optional_text(value: Fraction | None) -> str | None:
    """Return the exact text of a rational, or None for None."""
    return None if value is None else exact_text(value)


def optional_value(text: str | None) -> Fraction | None:
    """Return the rational that `optional_text` wrote."""
    return None if text is None else exact_value(text)


def _has_short_form(number: Fraction) -> bool:
    """Return True for a decimal of at most 18 places, or a fraction with a denominator of at most 1000."""
    return number.denominator <= _LARGEST_DENOMINATOR or 10**_PLACES % number.denominator == 0


def _value_text(value: object) -> str:
    """Return a refused value as a short text for a message."""
    if isinstance(value, Rational):
        bits = sum(int(part).bit_length() for part in (value.numerator, value.denominator))
        return str(value) if bits <= _LONGEST_TEXT else f"a number of {bits} bits"
    if isinstance(value, float):
        return str(float(value))
    text = repr(value) if isinstance(value, (str, Decimal)) else f"a {type(value).__name__}"
    is_comma = isinstance(value, str) and _COMMA.fullmatch(value.strip()) is not None
    remedy = ": write a point, not a comma" if is_comma else ""
    return (text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}...") + remedy


LARGEST_WHOLE = 2**53  # every whole number up to here is a double


def real_number(value: float | Fraction, name: str) -> float:
    """Return the value as a finite float. Raise ValueError for other values."""
    number = _number_or_nan(value)
    if math.isfinite(number):
        return number
    raise ValueError(f"{name} must be a finite number, got {value!r}")


def not_nan(value: float, name: str) -> float:
    """Return the value as a float, which may be infinite. Raise ValueError for NaN and other values."""
    if isinstance(value, Real) and not math.isnan(value):
        return float(value)
    raise ValueError(f"{name} must be a number, got {value!r}")


def positive_number(value: float | Fraction, name: str) -> float:
    """Return the value as a positive finite float. Raise ValueError for other values."""
    number = _number_or_nan(value)
    if 0 < number < math.inf:
        return number
    raise ValueError(f"{name} must be positive and finite, got {value!r}")


def closed_probability(value: float | Fraction, name: str) -> float:
    """Return the value as a probability in [0, 1]. Raise ValueError for other values."""
    if isinstance(value, Real) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    share = parse_probability(value) if isinstance(value, str) else None
    remedy = "" if share is None else f": write {float(share):g}"
    raise ValueError(f"{name} must be a probability between 0 and 1, got {value!r}{remedy}")


def open_probability(value: float | Fraction, name: str) -> float:
    """Return the value as a number in (0, 1). Raise ValueError for other values."""
    number = _number_or_nan(value)
    if 0 < number < 1:
        return number
    raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")


def whole_number(value: float, name: str, smallest: int = 0) -> int:
    """Return the value as a whole number from `smallest` to 2^53. Raise ValueError for other values."""
    is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if is_whole and not isinstance(value, bool) and smallest <= value <= LARGEST_WHOLE:
        return int(value)
    raise ValueError(f"{name} must be a whole number from {smallest} to 2**53, got {value!r}")


def require_instance(value: object, kind: type, name: str) -> None:
    """Raise ValueError if a value is no instance of a public class."""
    if not isinstance(value, kind):
        class_name = kind.__name__ if kind.__name__.endswith("s") else f"a {kind.__name__}"
        remedy = (
            f"give one of noisycount's {kind.__name__.lower()}s"
            if isabstract(kind)
            else f"make it with noisycount.{kind.__name__}"
        )
        raise ValueError(f"{name} must be {class_name}, got {value!r}: {remedy}")  # noqa: TRY004  (a bad value of an argument, as everywhere)


def _number_or_nan(value: object) -> float:
    """Return the value as a float, or nan if it is no real number. A boolean is none."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def parse_url(text: str) -> "URL":
    """Parse the address of a database server or file. Raise SQLAlchemy's ArgumentError for other texts.

    SQLAlchemy decodes percent signs in the name of the database since 2.1. An address must name the same database under
    2.0: otherwise an upgrade of SQLAlchemy would change the ledger, and with it the budget.
    """
    from sqlalchemy import make_url  # noqa: PLC0415 - not needed by the mathematics

    url = make_url(text)
    decodes = make_url("sqlite:///%20").database == " "
    return url if decodes or url.database is None else url.set(database=unquote(url.database))


_NOT_FOUND = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}


def stat_or_none(path: Path) -> os.stat_result | None:
    """Return the state of the file or folder at a path, or None if there is none.

    From Python 3.14 on, `Path.exists` returns False also for a path that the account may not see.
    """
    try:
        return path.stat()
    except OSError as error:
        if error.errno in _NOT_FOUND:
            return None
        raise
