"""The checks that arguments share; each refusal names the argument, its value and the remedy."""

import math
from fractions import Fraction
from inspect import isabstract
from numbers import Integral, Real

from noisycount.model.written import written_share

__all__ = [
    "fraction_of_one",
    "instance_of",
    "not_nan",
    "positive_number",
    "rate_within",
    "real_number",
    "whole_number",
]

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
