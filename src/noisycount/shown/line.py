"""Values on one line of a terminal."""

from collections.abc import Mapping
from functools import singledispatch
from numbers import Integral, Rational, Real
from typing import Any

from noisycount.shown.exact_text import exact_text

__all__ = ["line", "short"]

_LONGEST = 100  # characters
_FEW = 6  # elements that are all shown


def line(name: str, facts: Mapping[str, object]) -> str:
    """A name and its facts, as in a call, cut where they are too long for a terminal.

    Example:
        >>> from fractions import Fraction
        >>> line("Release", {"answer": 57, "epsilon": Fraction(3, 20), "where": "age >= 40"})
        "Release(answer=57, epsilon=0.15, where='age >= 40')"
    """
    told = f"{name}({', '.join(f'{key}={short(value)}' for key, value in facts.items())})"
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 4]}...)"


@singledispatch
def short(value: Any) -> str:  # noqa: ANN401  (anything has a line)
    """A value in few characters: floats have six digits, long rows their ends.

    Example:
        >>> short([1 / 3, 2]), short(list(range(10)))
        ('[0.333333, 2]', '[0, 1, ..., 8, 9]')
    """
    return f"[{_row(value)}]" if hasattr(value, "tolist") else " ".join(repr(value).split())


@short.register(bool)
def _(value: bool) -> str:  # noqa: FBT001  (a value to show, no switch)
    """True or False, which is an integer too."""
    return str(value)


@short.register
def _(value: Integral) -> str:
    """All digits."""
    return str(int(value))


@short.register
def _(value: Rational) -> str:
    """Its exact text."""
    return exact_text(value)


@short.register
def _(value: Real) -> str:
    """Six digits."""
    return f"{float(value):.6g}"


@short.register(tuple)
def _(value: tuple[Any, ...]) -> str:
    """Its elements in round brackets."""
    return f"({_row(value)})"


@short.register(list)
def _(value: list[Any]) -> str:
    """Its elements in square brackets."""
    return f"[{_row(value)}]"


def _row(values: Any) -> str:  # noqa: ANN401  (a list, a tuple or an array)
    """The elements, or those at both ends."""
    if len(values) <= _FEW:
        return ", ".join(map(short, values))
    return ", ".join([*map(short, values[:2]), "...", *map(short, values[-2:])])
