"""Numbers as people write them, read exactly.

The checks that arguments share; each refusal names the argument, its value and the remedy.

What lies at a path, told apart from what cannot be looked for.
"""

import errno
import math
import os
import re
from decimal import Decimal
from fractions import Fraction
from inspect import isabstract
from numbers import Integral, Rational, Real
from pathlib import Path

__all__ = [
    "Exactly",
    "fraction_of_one",
    "instance_of",
    "not_nan",
    "positive_number",
    "rate_within",
    "real_number",
    "state_at",
    "whole_number",
    "written",
    "written_share",
]

Exactly = str | int | float | Decimal | Fraction
"""What denotes a rational: a text, an exact number, or a float, as the decimal that it shows."""

_LONGEST_TEXT = 40

# Three digits of exponent: a longer one could build an integer that fills the memory.
_NUMBER = re.compile(
    r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|[0-9]+/0*[1-9][0-9]*"
)

_SHARE = re.compile(r"[±+]?\s*(\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})\s*(%?)")


def written(value: object) -> Fraction | None:
    """The rational that a value denotes; None where it denotes none that can be told at once.

    Args:
        value: A rational, a float, read as the decimal that Python shows for it, or a decimal or a
            fraction in at most 40 characters, not negative.

    Returns:
        A fraction of Python's own integers: those of NumPy overflow when they are added up.

    Example:
        >>> written("1/3"), written(0.1), written("a tenth")
        (Fraction(1, 3), Fraction(1, 10), None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    shown = float(value) if isinstance(value, float) else value  # a float of NumPy is one too
    text = str(shown).strip() if isinstance(shown, (str, Decimal, float)) else ""
    if len(text) > _LONGEST_TEXT or _NUMBER.fullmatch(text) is None:
        return None
    return Fraction(text)


def written_share(text: str) -> Fraction | None:
    """The share that a text denotes, of whatever size; None where it denotes none.

    Example:
        >>> written_share("±20 %"), written_share("0.2"), written_share("a fifth")
        (Fraction(1, 5), Fraction(1, 5), None)
    """
    match = _SHARE.fullmatch(text.strip())
    return Fraction(match[1]) / (100 if match[2] else 1) if match else None


LARGEST_WHOLE = 2**53  # up to it every whole number is a double


def real_number(value: float | Fraction, name: str) -> float:
    """The value as a finite float."""
    number = _number(value)
    if math.isfinite(number):
        return number
    raise ValueError(f"{name} must be a finite number, got {value!r}")


def not_nan(value: float, name: str) -> float:
    """The value as a float that may be infinite."""
    if isinstance(value, Real) and not math.isnan(value):
        return _as_float(value)
    raise ValueError(f"{name} must be a number, got {value!r}")


def positive_number(value: float | Fraction, name: str) -> float:
    """The value as a positive finite float."""
    number = _number(value)
    if 0 < number < math.inf:
        return number
    raise ValueError(f"{name} must be positive and finite, got {value!r}")


def rate_within(value: float | Fraction, name: str) -> float:
    """The value as a probability in [0, 1]."""
    if isinstance(value, Real) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    known = written_share(value) if isinstance(value, str) else None
    remedy = "" if known is None else f": write {float(known):g}"
    raise ValueError(f"{name} must be a probability between 0 and 1, got {value!r}{remedy}")


def fraction_of_one(value: float | Fraction, name: str) -> float:
    """The value as a number strictly between 0 and 1."""
    number = _number(value)
    if 0 < number < 1:
        return number
    raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")


def whole_number(value: float, name: str, smallest: int = 0) -> int:
    """The value as a whole number from `smallest` to 2^53."""
    is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if is_whole and not isinstance(value, bool) and smallest <= value <= LARGEST_WHOLE:
        return int(value)
    raise ValueError(f"{name} must be a whole number from {smallest} to 2**53, got {value!r}")


def instance_of(value: object, kind: type, name: str) -> None:
    """Refuse, with a ValueError, a value that is not of that public kind."""
    if not isinstance(value, kind):
        wanted = kind.__name__ if kind.__name__.endswith("s") else f"a {kind.__name__}"
        remedy = (
            f"give one of noisycount's {kind.__name__.lower()}s"
            if isabstract(kind)
            else f"make it with noisycount.{kind.__name__}"
        )
        raise ValueError(f"{name} must be {wanted}, got {value!r}: {remedy}")  # noqa: TRY004  (a bad value of an argument, as everywhere)


def _number(value: object) -> float:
    """The value as a float; nan where it is no real number, such as a truth value."""
    return _as_float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}


def state_at(path: Path) -> os.stat_result | None:
    """What is known of the file or folder at a path; None: there is none, nor where links lead.

    `Path.exists` tells so, from Python 3.14 on, of what an account may not look for as well.

    Raises:
        OSError: A folder above it may not be entered, or its name is too long.
    """
    try:
        return path.stat()
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
