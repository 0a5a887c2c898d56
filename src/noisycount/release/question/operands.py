"""What predicates compare, and how: columns, literals, operators."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from math import isfinite
from reprlib import repr as shortened

from noisycount.errors import PredicateError
from noisycount.release.question.schema import Kind

__all__ = ["Column", "Literal", "Operator"]

INTEGERS = range(-(2**63), 2**63)  # signed 64 bits: what every engine compares exactly
_TYPES = {
    Kind.INTEGER: int,
    Kind.REAL: float,
    Kind.TEXT: str,
    Kind.BOOLEAN: bool,
    Kind.DATE: date,
    Kind.TIMESTAMP: datetime,
}


class Operator(Enum):
    """A comparison, by its symbol in SQL."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="

    @property
    def mirrored(self) -> "Operator":
        """The operator with its two sides exchanged.

        Example:
            >>> Operator.LESS.mirrored
            <Operator.MORE: '>'>
        """
        return _MIRRORED.get(self, self)

    @property
    def negated(self) -> "Operator":
        """The operator that holds exactly where this one fails.

        Example:
            >>> Operator.LESS.negated
            <Operator.AT_LEAST: '>='>
        """
        return _NEGATED[self]


_MIRRORED = {
    Operator.LESS: Operator.MORE,
    Operator.MORE: Operator.LESS,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.AT_MOST,
}
_NEGATED = {
    Operator.EQUAL: Operator.NOT_EQUAL,
    Operator.NOT_EQUAL: Operator.EQUAL,
    Operator.LESS: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.LESS,
    Operator.AT_MOST: Operator.MORE,
    Operator.MORE: Operator.AT_MOST,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a question may use, and the kind of its values.

    Args:
        name: the name of the column.
        kind: the kind of its values.
    """

    name: str
    kind: Kind

    def __str__(self) -> str:
        return f"column {shortened(self.name)} ({self.kind.value})"


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that the analyst wrote: an integer of 64 bits, a finite real, a text without NUL."""

    kind: Kind
    value: int | float | str | date | datetime

    def __post_init__(self) -> None:
        if type(self.value) is not _TYPES[self.kind]:
            raise PredicateError(f"where has {self}: write {self.kind.example}")
        if isinstance(self.value, int) and self.value not in INTEGERS:
            raise PredicateError(f"where has {self}: write an integer within signed 64 bits")
        if isinstance(self.value, float) and not isfinite(self.value):
            raise PredicateError(f"where has {self}: write a finite number, at most 1.79e308")
        if isinstance(self.value, str) and "\0" in self.value:
            raise PredicateError(f"where has {self}: leave out the NUL character")

    def __str__(self) -> str:
        return f"the {self.kind.value} {shortened(self.value)}"
