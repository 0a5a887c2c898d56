"""Values that show themselves: on one line, as a table in a notebook, as plain data."""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from functools import singledispatch
from html import escape
from numbers import Integral, Rational, Real
from pathlib import PurePath
from typing import Any

from noisycount.display.numbers import approximately, signed
from noisycount.validation import exact_text

MOST_ROWS = 30  # more rows than these are better told by their number


def row_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str], left_out: int = 0
) -> str:
    """A table of texts with notes below; every text is escaped.

    Example:
        >>> row_table("Persons", ["town"], [["Bern"]], ["free"]).partition("<tbody>")[2]
        '<tr><td>Bern</td></tr></tbody></table><p>free</p>'
    """
    lines = (_line("td", row) for row in rows)
    more = f"<p>… {left_out:,} more rows</p>" if left_out else ""
    return (
        f"<table><caption>{escape(caption)}</caption><thead>{_line('th', header)}</thead>"
        f"<tbody>{''.join(lines)}</tbody></table>{more}"
        f"<p>{escape('; '.join(notes))}</p>"
    )


def _line(cell: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(text)}</{cell}>' for text in texts)}</tr>"


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
    return str(value)


@short.register
def _(value: Integral) -> str:
    return str(int(value))


short.register(Rational, exact_text)


@short.register
def _(value: Real) -> str:
    return f"{float(value):.6g}"


@short.register(tuple)
def _(value: tuple[Any, ...]) -> str:
    return f"({_row(value)})"


@short.register(list)
def _(value: list[Any]) -> str:
    return f"[{_row(value)}]"


def _row(values: Any) -> str:  # noqa: ANN401  (a list, a tuple or an array)
    """The elements, or those at both ends."""
    if len(values) <= _FEW:
        return ", ".join(map(short, values))
    return ", ".join([*map(short, values[:2]), "...", *map(short, values[-2:])])


@singledispatch
def plain(value: Any) -> Any:  # noqa: ANN401  (JSON has no narrower type)
    """A value as JSON has it, nothing rounded.

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
    return value


plain.register(str, str)  # Python's own text
plain.register(Integral, int)
plain.register(Rational, exact_text)
plain.register(PurePath, str)


@plain.register
def _(value: Real) -> float | None:
    return float(value) if math.isfinite(value) else None


@plain.register
def _(value: Enum) -> Any:  # noqa: ANN401  (whatever stands for the member)
    return plain(value.value)


@plain.register
def _(value: date) -> str:
    return value.isoformat()


@plain.register(Mapping)
def _(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): plain(one) for name, one in value.items()}


@plain.register(list)
@plain.register(tuple)
def _(value: Any) -> list[Any]:  # noqa: ANN401  (a list or a tuple of anything)
    return [plain(one) for one in value]


def table(name: str, facts: Mapping[str, object]) -> str:
    """A caption and a row for each fact; every text is escaped.

    Example:
        >>> table("Release", {"answer": 1012})
        '<table><caption>Release</caption><tr><th>answer</th><td>1,012</td></tr></table>'
    """
    rows = (f"<tr><th>{escape(key.replace('_', ' '))}</th><td>{_cell(value)}</td></tr>" for key, value in facts.items())
    return f"<table><caption>{escape(name)}</caption>{''.join(rows)}</table>"


@singledispatch
def _cell(value: Any) -> str:  # noqa: ANN401  (anything has a cell)
    """A value as people read it, with its parts in few digits."""
    if not is_dataclass(value):
        return escape(short(value))
    parts = {part.name: getattr(value, part.name) for part in fields(value) if part.repr}
    return escape(line(type(value).__name__, parts))


_cell.register(str, escape)


@_cell.register
def _(value: None) -> str:  # noqa: ARG001  (there is one)
    return "none"


@_cell.register
def _(value: bool) -> str:  # noqa: FBT001  (a value to show, no switch)
    return "yes" if value else "no"


@_cell.register
def _(value: Integral) -> str:
    return signed(int(value))


@_cell.register
def _(value: Rational) -> str:
    return escape(approximately(value))


@_cell.register
def _(value: Real) -> str:
    return f"{float(value):,.6g}".replace("-", "−")


@_cell.register(Mapping)
def _(value: Mapping[Any, Any]) -> str:
    return ", ".join(f"{escape(str(name))} {_cell(one)}" for name, one in value.items())


@_cell.register(list)
def _(value: list[Any]) -> str:
    if value and all(isinstance(one, Mapping) for one in value):
        return "<br>".join(map(_cell, value))
    if value and all(map(is_dataclass, value)):
        return ", ".join(map(_cell, value))
    return escape(short(value))


class Shown:
    """What everybody may hold and look at: a result, a mechanism, a population, a budget.

    A class states its facts; how they look is decided here. A dataclass has its public fields as facts; one whose own
    line would be long, or tell of its insides, leaves it to this class with `repr=False`.

    Example:
        >>> from noisycount import DiscreteLaplace
        >>> DiscreteLaplace.for_epsilon("0.15").to_dict()
        {'type': 'DiscreteLaplace', 'scale': '20/3'}
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """All its facts in the types of JSON.

        Returns:
            "type", the name of the class, then each fact: rationals as exact text, floats that are
            not finite as None, arrays as lists, other values as dictionaries of their own.
        """
        facts = {name: plain(value) for name, value in self._facts().items()}
        return {"type": type(self).__name__, **facts}

    def __repr__(self) -> str:
        return line(type(self).__name__, self._key_facts())

    def _repr_html_(self) -> str:
        """A table of its facts, for a notebook."""
        return table(type(self).__name__, self._facts())

    def _facts(self) -> dict[str, object]:
        """All that there is to say, by name, the most important first."""
        if not is_dataclass(self):
            return {}
        names = [field.name for field in fields(self) if field.repr]
        return {name: getattr(self, name) for name in names if not name.startswith("_")}

    def _key_facts(self) -> dict[str, object]:
        """What fits on one line and takes no time to know."""
        return self._facts()


class Charted(Shown):
    """A result that has a chart."""

    __slots__ = ()

    def chart(self) -> Any:  # noqa: ANN401 - of Altair, which is an extra
        """Its Altair chart, as `noisycount.chart` draws it; NoisyCountError where the extra is not installed."""
        return sys.modules["noisycount"].chart(self)
