"""What a row of the builder can say of a column, by the kind of its values."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from noisycount.release.question.schema import Kind
from noisycount.release.question.text import written_name, written_text

__all__ = ["FormError", "Operator", "Shape", "operators_of"]

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


@dataclass(frozen=True, slots=True)
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
