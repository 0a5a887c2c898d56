"""Exact rational numbers for privacy budgets, read from text and written back."""

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Rational

from noisycount.display.numbers import exact_text
from noisycount.validation import Exactly, written

__all__ = [
    "exact_delta",
    "exact_epsilon",
    "exact_share",
    "exact_value",
    "is_in_range",
    "largest_epsilon",
    "optional_text",
    "optional_value",
    "rational",
]

_SMALLEST = Fraction(1, 10**9)
_LARGEST = Fraction(10**6)
_SMALLEST_DELTA = Fraction(1, 10**18)
_LONGEST_TEXT = 40
_PLACES = 18
_LARGEST_DENOMINATOR = 1000
_REMEMBERED = 1024  # texts; the longest has 8601 characters
_COMMA = re.compile(r"[0-9]{0,10},[0-9]{1,20}")
_EXACT_TEXT = re.compile(r"-?[0-9]+(?:\.[0-9]+|/[1-9][0-9]*)?")


def exact_epsilon(value: Exactly, name: str = "epsilon") -> Fraction:
    """The exact positive rational that a value or its text denotes.

    The denominator divides 10^18 or is at most 1000, so a sum of any number of such values has a
    denominator of at most lcm(1..1000)·10^18: a ledger's running total stays below 500 digits.

    Args:
        value: A privacy loss or a budget, from 1e-9 to 1e6: a decimal (``"0.1"``, ``"1e-3"``) or
            a fraction (``"1/3"``) in at most 40 characters, a number that is already exact, or a
            float, read as the decimal that Python shows for it: 0.1 is one tenth.
        name: What the message of a refusal calls the value.

    Returns:
        The value, with nothing rounded, as a fraction of Python's own integers.

    Example:
        >>> exact_epsilon(0.1), exact_epsilon("1/3")
        (Fraction(1, 10), Fraction(1, 3))
    """
    number = written(value)
    if number is None or not is_in_range(number) or not _has_short_form(number):
        is_comma = isinstance(value, str) and _COMMA.fullmatch(value.strip()) is not None
        raise ValueError(
            f"{name} must be a decimal of at most {_PLACES} places, or a fraction with a"
            f" denominator of at most {_LARGEST_DENOMINATOR}, between 1e-9 and 1e6,"
            f" got {_shown(value)}{': write a point, not a comma' if is_comma else ''}"
        )
    return number


def is_in_range(epsilon: float | Fraction) -> bool:
    """Whether a privacy loss is of a size that a ledger keeps: from 1e-9 to 1e6.

    Example:
        >>> is_in_range(0.1), is_in_range(1e-10)
        (True, False)
    """
    return _SMALLEST <= epsilon <= _LARGEST


def exact_delta(
    value: Exactly, name: str = "delta", *, smallest: Fraction | int = _SMALLEST_DELTA
) -> Fraction:
    """The exact probability that a δ or its text denotes.

    Args:
        value: From 1e-18 to below 1: a decimal or a fraction in at most 40 characters, or a
            number that is already exact.
        name: What the message of a refusal calls the value.
        smallest: In place of 1e-18.

    Example:
        >>> exact_delta("1e-6")
        Fraction(1, 1000000)
    """
    number = written(value)
    if number is None or not smallest <= number < 1:
        low = f"{float(smallest):.4g}"
        raise ValueError(
            f"{name} must be a decimal or a fraction in quotes, from {low} to below 1, such as"
            f" '1e-6', got {_shown(value)}"
        )
    return number


def exact_share(value: Exactly, name: str = "delta") -> Fraction:
    """The exact probability that the δ of one answer denotes, of which any number adds up shortly.

    Args:
        value: What `exact_delta` takes, a decimal of at most 18 places or a fraction with a
            denominator of at most 1000.
        name: What the message of a refusal calls the value.

    Example:
        >>> exact_share("1e-6")
        Fraction(1, 1000000)
    """
    number = written(value)
    if number is None or not _SMALLEST_DELTA <= number < 1 or not _has_short_form(number):
        raise ValueError(
            f"{name} must be a decimal of at most {_PLACES} places, or a fraction with a"
            f" denominator of at most {_LARGEST_DENOMINATOR}, from 1e-18 to below 1,"
            f" got {_shown(value)}"
        )
    return number


def largest_epsilon(limit: Fraction) -> Fraction:
    """The largest price that may be asked within a limit.

    Args:
        limit: What is left of a budget, at most 1e6; any rational.

    Returns:
        The limit, if `exact_epsilon` takes it; else the limit rounded down to 18 places; 0 where
        that is below 1e-9.

    Example:
        >>> largest_epsilon(Fraction(1, 3)), largest_epsilon(Fraction(10**18, 3 * 10**18 + 1))
        (Fraction(1, 3), Fraction(333333333333333333, 1000000000000000000))
    """
    price = limit if _has_short_form(limit) else Fraction(int(limit * 10**_PLACES), 10**_PLACES)
    return price if price >= _SMALLEST else Fraction(0)


def rational(value: Rational, name: str = "value") -> Fraction:
    """A rational as a fraction of Python's own integers, which grow without end.

    Fractions may be made of the integers of NumPy, which overflow when they are added up.

    Example:
        >>> rational(3)
        Fraction(3, 1)
    """
    if isinstance(value, bool) or not isinstance(value, Rational):
        raise ValueError(f"{name} must be an exact rational, got {_shown(value)}")  # noqa: TRY004
    if type(value) is Fraction and type(value.numerator) is type(value.denominator) is int:
        return value
    return Fraction(int(value.numerator), int(value.denominator))


def exact_value(text: str) -> Fraction:
    """The rational of any size that `exact_text` wrote.

    Args:
        text: A decimal without exponent, or a fraction; at most 4300 digits a number.

    Example:
        >>> exact_value("0.3"), exact_value("-1/3")
        (Fraction(3, 10), Fraction(-1, 3))
    """
    if type(text) is not str:
        raise ValueError(f"text must be an exact decimal or fraction, got {_shown(text)}")
    return _value(text)


def optional_text(value: Fraction | None) -> str | None:
    """The exact text of a rational, where there is one."""
    return None if value is None else exact_text(value)


def optional_value(text: str | None) -> Fraction | None:
    """The rational that `optional_text` wrote."""
    return None if text is None else exact_value(text)


@lru_cache(maxsize=_REMEMBERED)
def _value(text: str) -> Fraction:
    """The rational that a text of `exact_text` denotes: most rows of a ledger hold the same few."""
    if _EXACT_TEXT.fullmatch(text) is None:
        raise ValueError(f"text must be an exact decimal or fraction, got {_shown(text)}")
    whole, point, part = text.partition(".")
    if point:
        return Fraction(int(whole + part), 10 ** len(part))
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))


def _has_short_form(number: Fraction) -> bool:
    """Whether a rational is a decimal of few places or a fraction of a small denominator."""
    return number.denominator <= _LARGEST_DENOMINATOR or 10**_PLACES % number.denominator == 0


def _shown(value: object) -> str:
    """A refused value on one short line."""
    if isinstance(value, Rational):
        bits = sum(int(part).bit_length() for part in (value.numerator, value.denominator))
        return str(value) if bits <= _LONGEST_TEXT else f"a number of {bits} bits"
    if isinstance(value, float):
        return str(float(value))
    text = repr(value) if isinstance(value, (str, Decimal)) else f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
