"""Values in the types that JSON has."""

import math
from collections.abc import Mapping
from datetime import date
from enum import Enum
from functools import singledispatch
from numbers import Integral, Rational, Real
from pathlib import PurePath
from typing import Any

from noisycount.shown.exact_text import exact_text

__all__ = ["plain"]


@singledispatch
def plain(value: Any) -> Any:  # noqa: ANN401  (JSON has no narrower type)
    """A value as JSON has it, nothing rounded.

    Args:
        value: A number, a text, a date, a path, a member of an enumeration, what has a `to_dict`,
            or a mapping, a sequence or an array of such.

    Returns:
        Rationals as exact text, floats that are not finite as None.

    Raises:
        ValueError: It is something else.

    Example:
        >>> from fractions import Fraction
        >>> plain([Fraction(1, 3), float("inf"), (True, None)])
        ['1/3', None, [True, None]]
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    raise ValueError(f"value must be plain data or have a to_dict, got a {type(value).__name__}")


@plain.register(type(None))
@plain.register(bool)
def _(value: Any) -> Any:  # noqa: ANN401  (what JSON has itself)
    """The value."""
    return value


@plain.register
def _(value: str) -> str:
    """Python's own text."""
    return str(value)


@plain.register
def _(value: Integral) -> int:
    """Python's own integer."""
    return int(value)


@plain.register
def _(value: Rational) -> str:
    """Its exact text."""
    return exact_text(value)


@plain.register
def _(value: Real) -> float | None:
    """Python's own float; None where it is not finite."""
    return float(value) if math.isfinite(value) else None


@plain.register
def _(value: Enum) -> Any:  # noqa: ANN401  (whatever stands for the member)
    """What stands for the member."""
    return plain(value.value)


@plain.register
def _(value: date) -> str:
    """ISO 8601, of dates and of times."""
    return value.isoformat()


@plain.register
def _(value: PurePath) -> str:
    """The path as text."""
    return str(value)


@plain.register(Mapping)
def _(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Its items, with names of text."""
    return {str(name): plain(one) for name, one in value.items()}


@plain.register(list)
@plain.register(tuple)
def _(value: Any) -> list[Any]:  # noqa: ANN401  (a list or a tuple of anything)
    """Its elements."""
    return [plain(one) for one in value]
