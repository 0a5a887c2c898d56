"""Values as tables of HTML."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import singledispatch
from html import escape
from numbers import Integral, Rational, Real
from typing import Any

from noisycount.shown.line import line, short
from noisycount.shown.numbers import approximately, signed

__all__ = ["table"]


def table(name: str, facts: Mapping[str, object]) -> str:
    """A caption and a row for each fact; every text is escaped.

    Example:
        >>> table("Release", {"answer": 1012})
        '<table><caption>Release</caption><tr><th>answer</th><td>1,012</td></tr></table>'
    """
    rows = (
        f"<tr><th>{escape(key.replace('_', ' '))}</th><td>{_cell(value)}</td></tr>"
        for key, value in facts.items()
    )
    return f"<table><caption>{escape(name)}</caption>{''.join(rows)}</table>"


@singledispatch
def _cell(value: Any) -> str:  # noqa: ANN401  (anything has a cell)
    """A value as people read it, with its parts in few digits."""
    if not is_dataclass(value):
        return escape(short(value))
    parts = {part.name: getattr(value, part.name) for part in fields(value) if part.repr}
    return escape(line(type(value).__name__, parts))


@_cell.register
def _(value: str) -> str:
    """The text."""
    return escape(value)


@_cell.register
def _(value: None) -> str:  # noqa: ARG001  (there is one)
    """That there is none."""
    return "none"


@_cell.register
def _(value: bool) -> str:  # noqa: FBT001  (a value to show, no switch)
    """Yes or no."""
    return "yes" if value else "no"


@_cell.register
def _(value: Integral) -> str:
    """All digits in groups."""
    return signed(int(value))


@_cell.register
def _(value: Rational) -> str:
    """Its exact text, and its rounded value where that is easier to read."""
    return escape(approximately(value))


@_cell.register
def _(value: Real) -> str:
    """Six digits."""
    return f"{float(value):,.6g}".replace("-", "−")


@_cell.register(Mapping)
def _(value: Mapping[Any, Any]) -> str:
    """Its items, one after the other."""
    return ", ".join(f"{escape(str(name))} {_cell(one)}" for name, one in value.items())


@_cell.register(list)
def _(value: list[Any]) -> str:
    """A line for each element that is a mapping, else all of them on one."""
    if value and all(isinstance(one, Mapping) for one in value):
        return "<br>".join(map(_cell, value))
    if value and all(map(is_dataclass, value)):
        return ", ".join(map(_cell, value))
    return escape(short(value))
