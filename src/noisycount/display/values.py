"""Display of values: one line for a terminal, a table for a notebook, plain data for JSON.

`Shown` is the base class of all public results; `Charted` that of results with a chart. `to_json_types` and
`shortened_repr` convert a single value.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from html import escape
from numbers import Integral, Rational, Real
from pathlib import PurePath
from typing import Any

from noisycount.display.numbers import approximately, signed
from noisycount.validation import exact_text

MOST_ROWS = 30  # a notebook table shows no more rows than these


def row_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str], left_out: int = 0
) -> str:
    """Return an HTML table of texts with notes below it. Every text is escaped.

    `left_out` is the number of further rows that the table does not show.

    Example:
        >>> row_table("Persons", ["town"], [["Bern"]], ["free"]).partition("<tbody>")[2]
        '<tr><td>Bern</td></tr></tbody></table><p>free</p>'
    """
    lines = (_html_row("td", row) for row in rows)
    more = f"<p>… {left_out:,} more rows</p>" if left_out else ""
    return (
        f"<table><caption>{escape(caption)}</caption><thead>{_html_row('th', header)}</thead>"
        f"<tbody>{''.join(lines)}</tbody></table>{more}"
        f"<p>{escape('; '.join(notes))}</p>"
    )


def _html_row(cell: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(text)}</{cell}>' for text in texts)}</tr>"


_MAX_LINE = 100  # characters
_MAX_ELEMENTS = 6  # a longer sequence is abbreviated


def line(name: str, facts: Mapping[str, object]) -> str:
    """Return a name with its facts, in the form of a call, cut to at most 100 characters.

    Example:
        >>> from fractions import Fraction
        >>> line("Release", {"answer": 57, "epsilon": Fraction(3, 20), "where": "age >= 40"})
        "Release(answer=57, epsilon=0.15, where='age >= 40')"
    """
    text = f"{name}({', '.join(f'{key}={shortened_repr(value)}' for key, value in facts.items())})"
    return text if len(text) <= _MAX_LINE else f"{text[: _MAX_LINE - 4]}...)"


Conversion = Callable[[Any], Any]


class Conversions(dict[type, Conversion]):
    """A conversion for each type. A type without an entry has the conversion of its nearest base class with one."""

    def __init__(self, *pairs: tuple[type | tuple[type, ...], Conversion]) -> None:
        super().__init__()
        self.pairs = pairs

    def __missing__(self, kind: type) -> Conversion:
        self[kind] = next(convert for kinds, convert in self.pairs if issubclass(kind, kinds))
        return self[kind]


def shortened_repr(value: Any) -> str:  # noqa: ANN401 - any value has a line
    """Return a value in few characters: floats have six digits, and a long sequence shows only both ends.

    Example:
        >>> shortened_repr([1 / 3, 2]), shortened_repr(list(range(10)))
        ('[0.333333, 2]', '[0, 1, ..., 8, 9]')
    """
    text: str = _SHORT_TEXTS[type(value)](value)
    return text


def _short_object(value: object) -> str:
    """Return an array or any other object in few characters."""
    return f"[{_elements_text(value)}]" if hasattr(value, "tolist") else " ".join(repr(value).split())


_SHORT_TEXTS = Conversions(
    (bool, str),
    (Integral, lambda value: str(int(value))),
    (Rational, exact_text),
    (Real, lambda value: f"{float(value):.6g}"),
    (tuple, lambda value: f"({_elements_text(value)})"),
    (list, lambda value: f"[{_elements_text(value)}]"),
    (object, _short_object),
)


def _elements_text(values: Any) -> str:  # noqa: ANN401 - a list, a tuple or an array
    """Return the elements, or the first two and the last two of a long sequence."""
    if len(values) <= _MAX_ELEMENTS:
        return ", ".join(map(shortened_repr, values))
    return ", ".join([*map(shortened_repr, values[:2]), "...", *map(shortened_repr, values[-2:])])


def to_json_types(value: Any) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Return a value in the types of JSON, with nothing rounded. Raises ValueError for an unknown type.

    Example:
        >>> from fractions import Fraction
        >>> to_json_types([Fraction(1, 3), float("inf"), (True, None)])
        ['1/3', None, [True, None]]
    """
    return _PLAIN_VALUES[type(value)](value)


def _plain_object(value: Any) -> Any:  # noqa: ANN401 - as `to_json_types`
    """Return an object that has a `to_dict`, or an array, in the types of JSON."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "tolist"):
        return to_json_types(value.tolist())
    raise ValueError(f"value must be plain data or have a to_dict, got a {type(value).__name__}")


_PLAIN_VALUES = Conversions(
    ((type(None), bool), lambda value: value),
    ((str, PurePath), str),  # NumPy has a subclass of str
    (Enum, lambda value: to_json_types(value.value)),
    (Integral, int),
    (Rational, exact_text),
    (Real, lambda value: float(value) if math.isfinite(value) else None),
    (date, lambda value: value.isoformat()),
    (Mapping, lambda value: {str(name): to_json_types(item) for name, item in value.items()}),
    ((list, tuple), lambda value: [to_json_types(item) for item in value]),
    (object, _plain_object),
)


def members(value: object, *names: str) -> dict[str, Any]:
    """Return attributes of an object as the members of a JSON object with the same names.

    Example:
        >>> from fractions import Fraction
        >>> members(Fraction(1, 3), "numerator", "denominator")
        {'numerator': 1, 'denominator': 3}
    """
    return {name: to_json_types(getattr(value, name)) for name in names}


def table(name: str, facts: Mapping[str, object]) -> str:
    """Return an HTML table with a caption and a row for each fact. Every text is escaped.

    Example:
        >>> table("Release", {"answer": 1012})
        '<table><caption>Release</caption><tr><th>answer</th><td>1,012</td></tr></table>'
    """
    rows = (
        f"<tr><th>{escape(key.replace('_', ' '))}</th><td>{_html_cell(value)}</td></tr>" for key, value in facts.items()
    )
    return f"<table><caption>{escape(name)}</caption>{''.join(rows)}</table>"


def _html_cell(value: Any) -> str:  # noqa: ANN401 - any value has a cell
    """Return a value as HTML for people."""
    cell: str = _HTML_CELLS[type(value)](value)
    return cell


def _html_object(value: Any) -> str:  # noqa: ANN401 - as `_html_cell`
    """Return a dataclass, with its fields in few digits, or a list as HTML."""
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return "<br>".join(map(_html_cell, value))
    if isinstance(value, list) and value and all(map(is_dataclass, value)):
        return ", ".join(map(_html_cell, value))
    if not is_dataclass(value):
        return escape(shortened_repr(value))
    return escape(
        line(type(value).__name__, {part.name: getattr(value, part.name) for part in fields(value) if part.repr})
    )


_HTML_CELLS = Conversions(
    (str, escape),
    (type(None), lambda _: "none"),
    (bool, lambda value: "yes" if value else "no"),
    (Integral, lambda value: signed(int(value))),
    (Rational, lambda value: escape(approximately(value))),
    (Real, lambda value: f"{float(value):,.6g}".replace("-", "−")),
    (Mapping, lambda value: ", ".join(f"{escape(str(name))} {_html_cell(item)}" for name, item in value.items())),
    (object, _html_object),
)


class Shown:
    """Base class of public objects: results, mechanisms, populations, budgets.

    A subclass states its facts, and this class displays them. The facts of a dataclass are its public fields. A
    dataclass with `repr=False` has the short `repr` of this class in place of its generated one.

    Example:
        >>> from noisycount import DiscreteLaplace
        >>> DiscreteLaplace.for_epsilon("0.15").to_dict()
        {'type': 'DiscreteLaplace', 'scale': '20/3'}
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all facts in the types of JSON.

        Returns:
            The class name under "type", then each fact: rationals as exact text, non-finite floats as None, arrays as
            lists, and other objects as dictionaries.
        """
        facts = {name: to_json_types(value) for name, value in self._facts().items()}
        return {"type": type(self).__name__, **facts}

    def __repr__(self) -> str:
        return line(type(self).__name__, self._key_facts())

    def _repr_html_(self) -> str:
        """Return an HTML table of the facts, for a notebook."""
        return table(type(self).__name__, self._facts())

    def _facts(self) -> dict[str, object]:
        """Return all facts by name, the most important first."""
        if not is_dataclass(self):
            return {}
        names = [field.name for field in fields(self) if field.repr]
        return {name: getattr(self, name) for name in names if not name.startswith("_")}

    def _key_facts(self) -> dict[str, object]:
        """Return the facts for `repr`: those that fit on one line and take no time to compute."""
        return self._facts()


class Charted(Shown):
    """A result that has a chart."""

    __slots__ = ()

    def chart(self) -> Any:  # noqa: ANN401 - Altair is an optional dependency
        """Return the Altair chart of `noisycount.chart`. Raises NoisyCountError if the extra is not installed."""
        return sys.modules["noisycount"].chart(self)
