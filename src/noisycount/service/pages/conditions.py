"""What a row of the builder can say of a column, by the kind of its values.

The rows of the builder: conditions that hold together, and groups by column.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum

from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query.schema import Kind
from noisycount.query.text import written_name, written_text
from noisycount.tasks.table.asked import Value, items, keys_of_column, values_of

__all__ = ["Condition", "FormError", "Grouping", "Operator", "operators_of", "where_of"]


_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


class FormError(ValueError):
    """A field of a form that cannot be read.

    Attributes:
        field: The identifier of the field on the page.
    """

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


class Shape(Enum):
    """How the values of an operator stand in a question."""

    NONE = 0
    ONE = 1
    TWO = 2
    LIST = -1


@frozen
class Operator:
    """One thing that can be said of a column.

    Attributes:
        name: As the form sends it, and as the language has it.
        words: As people read it.
        shape: How many values it needs.
    """

    name: str
    words: str
    shape: Shape = Shape.ONE

    @property
    def needs(self) -> int:
        """How many fields of values it needs; a list is typed into one."""
        return abs(self.shape.value)

    def text(self, column: str, kind: Kind, values: tuple[str, str], field: str) -> str:
        """What it says in the language of questions.

        Args:
            column: Its name.
            kind: What it holds.
            values: What was typed into the two fields.
            field: The identifier of the first of them on the page.

        Raises:
            FormError: A value is missing, or of another kind.
        """
        name = written_name(column)
        if self.shape is Shape.NONE:
            return f"{name} {self.name}"
        if self.shape is Shape.TWO:
            low, high = (_value(column, kind, value, field) for value in values)
            return f"{name} {self.name} {low} and {high}"
        if self.shape is Shape.LIST:
            listed = [each.strip() for each in values[0].split(",")]
            written = ", ".join(_value(column, kind, each, field) for each in listed)
            return f"{name} {self.name} ({written})"
        return f"{name} {self.name} {_value(column, kind, values[0], field)}"


_MISSING = (
    Operator("is null", "is missing", Shape.NONE),
    Operator("is not null", "is not missing", Shape.NONE),
)


_LISTED = (
    Operator("in", "is one of", Shape.LIST),
    Operator("not in", "is none of", Shape.LIST),
)


_EQUAL = (Operator("=", "is"), Operator("<>", "is not"))


_BETWEEN = (Operator("between", "is from … to …", Shape.TWO),)


_NUMBERS = (
    Operator(">=", "is at least"),
    Operator("<=", "is at most"),
    Operator(">", "is more than"),
    Operator("<", "is less than"),
)


_TIMES = (
    Operator(">=", "is not before"),
    Operator("<=", "is not after"),
    Operator(">", "is after"),
    Operator("<", "is before"),
)


_OF_NUMBERS = (*_NUMBERS, *_BETWEEN, *_EQUAL, *_LISTED, *_MISSING)


_OF_TIMES = (*_TIMES, *_BETWEEN, *_EQUAL, *_MISSING)


_OPERATORS: Mapping[Kind, tuple[Operator, ...]] = {
    Kind.INTEGER: _OF_NUMBERS,
    Kind.REAL: _OF_NUMBERS,
    Kind.TEXT: (
        *_EQUAL,
        *_LISTED,
        Operator("like", "is like (% stands for anything)"),
        Operator("not like", "is not like (% stands for anything)"),
        *_MISSING,
    ),
    Kind.BOOLEAN: (
        Operator("= true", "is true", Shape.NONE),
        Operator("= false", "is false", Shape.NONE),
        *_MISSING,
    ),
    Kind.DATE: _OF_TIMES,
    Kind.TIMESTAMP: _OF_TIMES,
}


def operators_of(kind: Kind) -> tuple[Operator, ...]:
    """What can be said of a column of this kind.

    Example:
        >>> [operator.words for operator in operators_of(Kind.BOOLEAN)]
        ['is true', 'is false', 'is missing', 'is not missing']
    """
    return _OPERATORS[kind]


def _value(column: str, kind: Kind, typed: str, field: str) -> str:
    """A value as the language has it."""
    value = typed.strip()
    if not value:
        raise FormError(field, f"{column} needs a value: {kind.example}")
    if not kind.is_number:
        return written_text(value)
    number = value.replace("−", "-")
    if _NUMBER.fullmatch(number) is None:
        raise FormError(field, f"{column} is compared with {value!r}: give {kind.example}")
    return number


@frozen
class Condition:
    """One row of the builder.

    Attributes:
        column: What it is about.
        operator: The name of what it says; one that the column has not is its first.
        values: What was typed.
    """

    column: str
    operator: str = ""
    values: tuple[str, str] = ("", "")

    def chosen(self, kind: Kind) -> Operator:
        """What it says."""
        found = operators_of(kind)
        return next((each for each in found if each.name == self.operator), found[0])

    def text(self, columns: Mapping[str, Kind], place: int) -> str:
        """The row in the language of questions.

        Args:
            columns: What questions may use.
            place: Of the row, from 0.

        Raises:
            FormError: The column is none, or a value is missing or of another kind.
        """
        kind = columns.get(self.column)
        if kind is None:
            raise FormError("where", f"there is no column {self.column!r}: remove the row")
        return self.chosen(kind).text(self.column, kind, self.values, f"value-{place}")


@frozen
class Grouping:
    """One column by which a table is grouped.

    Attributes:
        column: Its name.
        split: Edges such as `0, 18, 65`, or `month`, `quarter`, `year`; empty: each value.
        keys: Its keys as one types them; empty: they follow from the edges, or are hidden.
    """

    column: str
    split: str = ""
    keys: str = ""

    def item(self, place: int) -> str:
        """What the table is grouped by, as one types it.

        Args:
            place: Of the row, from 0.

        Raises:
            FormError: The edges are none.
        """
        split = self.split.replace(" ", "")
        try:
            items(written := written_name(self.column) + (f":{split}" if split else ""))
        except ValueError as error:
            raise FormError(f"split-{place}", f"groups of {self.column}: {error}") from None
        return written

    def listed(self, place: int, columns: Mapping[str, Kind]) -> list[Value] | None:
        """The keys, ranges of them written out; None where they follow, or are hidden.

        Raises:
            FormError: They cannot be read.
        """
        if not self.keys.strip():
            return None
        kind = columns.get(self.column, Kind.TEXT)
        kind = Kind.TEXT if kind.is_number and self.split.strip() else kind
        try:
            words = keys_of_column(f"{written_name(self.column)}={self.keys}")[1]
            return values_of(self.column, kind, words)
        except (ValueError, PredicateError) as error:
            raise FormError(f"keys-{place}", f"keys of {self.column}: {error}") from None


def where_of(conditions: Sequence[Condition], text: str, columns: Mapping[str, Kind]) -> str | None:
    """All rows and what was typed freely, joined by `and`; None where nothing is.

    Args:
        conditions: The rows.
        text: What was typed freely, in the language of questions.
        columns: What questions may use.

    Raises:
        FormError: A row cannot be read.

    Example:
        >>> rows = [Condition("age", ">=", ("65", ""))]
        >>> where_of(rows, "health = 'poor' or year = 1", {"age": Kind.INTEGER})
        "age >= 65 and (health = 'poor' or year = 1)"
    """
    parts = [row.text(columns, place) for place, row in enumerate(conditions)]
    if text.strip():
        parts.append(f"({text.strip()})" if parts else text.strip())
    return " and ".join(parts) or None
