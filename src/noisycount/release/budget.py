"""Exact rational numbers for privacy budgets, read from text and written back."""

import re
from decimal import Decimal
from fractions import Fraction

__all__ = ["exact_delta", "exact_epsilon", "exact_text", "exact_value"]

_SMALLEST = Fraction(1, 10**9)
_LARGEST = Fraction(10**6)
_SMALLEST_DELTA = Fraction(1, 10**18)
_LONGEST_TEXT = 40
_PLACES = 18
_LARGEST_DENOMINATOR = 1000

_EXACT_TEXT = re.compile(r"-?[0-9]+(?:\.[0-9]+|/[1-9][0-9]*)?")
# Three digits of exponent: a longer one could build an integer that fills the memory.
_NUMBER = re.compile(
    r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|[0-9]+/0*[1-9][0-9]*"
)


def exact_epsilon(value: str | int | Decimal | Fraction, name: str = "epsilon") -> Fraction:
    """Give the exact positive rational that a value or its text denotes.

    The denominator divides 10^18 or is at most 1000, so a sum of any number of such values has a
    denominator of at most lcm(1..1000)·10^18: a ledger's running total stays below 500 digits.

    Args:
        value: A privacy loss or a budget, from 1e-9 to 1e6: a decimal (``"0.1"``, ``"1e-3"``) or
            a fraction (``"1/3"``) in at most 40 characters, or a number that is already exact.
        name: What the message of a refusal calls the value.

    Returns:
        The value, with nothing rounded.

    Raises:
        ValueError: The value is outside that range or form, or is a float.

    Example:
        >>> exact_epsilon("0.1"), exact_epsilon("1/3")
        (Fraction(1, 10), Fraction(1, 3))
    """
    if isinstance(value, float):
        message = f"{name} must be exact: write it as text such as '0.1', got the float {value!r}"
        raise ValueError(message)  # noqa: TRY004 - every unusable value is a ValueError here
    number = _number(value)
    if number is None or not _SMALLEST <= number <= _LARGEST or not _has_short_form(number):
        raise ValueError(
            f"{name} must be a decimal of at most {_PLACES} places, or a fraction with a"
            f" denominator of at most {_LARGEST_DENOMINATOR}, between 1e-9 and 1e6,"
            f" got {_shown(value)}"
        )
    return number


def exact_delta(value: str | int | Decimal | Fraction) -> Fraction:
    """Give the exact probability that a δ or its text denotes.

    Args:
        value: From 1e-18 to below 1: a decimal or a fraction in at most 40 characters, or a
            number that is already exact.

    Raises:
        ValueError: The value is outside that range or form, or is a float.

    Example:
        >>> exact_delta("1e-6")
        Fraction(1, 1000000)
    """
    number = _number(value)
    if number is None or not _SMALLEST_DELTA <= number < 1:
        raise ValueError(
            "delta must be a decimal or a fraction in quotes, from 1e-18 to below 1, such as"
            f" '1e-6', got {_shown(value)}"
        )
    return number


def exact_text(value: Fraction) -> str:
    """Give the shortest text that denotes a rational exactly.

    Args:
        value: Any rational, such as a budget or what was spent of it.

    Returns:
        A decimal without exponent where one terminates, else ``numerator/denominator``.

    Example:
        >>> exact_text(Fraction(3, 10)), exact_text(Fraction(2, 6)), exact_text(Fraction(0))
        ('0.3', '1/3', '0')
    """
    twos, rest = _power(2, value.denominator)
    fives, rest = _power(5, rest)
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).zfill(places + 1)
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{'-' if value < 0 else ''}{whole}{'.' if part else ''}{part}"


def exact_value(text: str) -> Fraction:
    """Give the rational of any size that `exact_text` wrote.

    Args:
        text: A decimal without exponent, or a fraction; at most 4300 digits a number.

    Raises:
        ValueError: The text is something else.

    Example:
        >>> exact_value("0.3"), exact_value("-1/3")
        (Fraction(3, 10), Fraction(-1, 3))
    """
    if _EXACT_TEXT.fullmatch(text) is None:
        raise ValueError(f"text must be an exact decimal or fraction, got {_shown(text)}")
    return Fraction(text)


def _number(value: object) -> Fraction | None:
    """Give the rational that a value denotes, or None where it denotes none in a short form."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, Fraction)):
        return Fraction(value)
    text = str(value).strip() if isinstance(value, (str, Decimal)) else ""
    if len(text) > _LONGEST_TEXT or _NUMBER.fullmatch(text) is None:
        return None
    return Fraction(text)


def _has_short_form(number: Fraction) -> bool:
    """Tell whether a rational is a decimal of few places or a fraction of a small denominator."""
    return number.denominator <= _LARGEST_DENOMINATOR or 10**_PLACES % number.denominator == 0


def _power(base: int, number: int) -> tuple[int, int]:
    """Give how often a base divides a number, and the number without that power."""
    power = 0
    while number % base == 0:
        number //= base
        power += 1
    return power, number


def _shown(value: object) -> str:
    """Give a refused value on one short line."""
    if isinstance(value, (int, Fraction)):
        bits = value.numerator.bit_length() + value.denominator.bit_length()
        return str(value) if bits <= _LONGEST_TEXT else f"a number of {bits} bits"
    text = repr(value) if isinstance(value, (str, Decimal)) else f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
