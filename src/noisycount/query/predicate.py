"""What predicates compare, and how: columns, literals, operators.

The typed tree of a predicate: every tree that can be built can be counted.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime
from enum import Enum
from reprlib import repr as shortened
from typing import TypeAlias

from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query.schema import Kind

__all__ = [
    "And",
    "Column",
    "Comparison",
    "Constant",
    "Flag",
    "Literal",
    "Membership",
    "Missing",
    "Not",
    "Operator",
    "Or",
    "Pattern",
    "Predicate",
    "Range",
    "columns",
]


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


@frozen
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


@frozen
class Literal:
    """A value that the analyst wrote: an integer of 64 bits, a finite real, a text without NUL."""

    kind: Kind
    value: int | float | str | date | datetime

    def __post_init__(self) -> None:
        if fault := self.kind.fault(self.value):
            raise PredicateError(f"where has {self}: {fault}")

    def __str__(self) -> str:
        return f"the {self.kind.value} {shortened(self.value)}"


_NUMERAL = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")


@frozen
class Constant:
    """True of every record, or of none."""

    value: bool


@frozen
class Flag:
    """A boolean column, itself a predicate."""

    column: Column

    def __post_init__(self) -> None:
        if self.column.kind is not Kind.BOOLEAN:
            raise PredicateError(
                f"where has {self.column} where a predicate belongs: "
                f"compare it with {self.column.kind.example}"
            )


@frozen
class Comparison:
    """A column compared with a literal or with another column of the same kind.

    Numbers of different kinds compare as 64-bit floating-point numbers; NaN equals itself and is
    greater than every other number; texts compare by their code points.
    """

    left: Column
    operator: Operator
    right: Column | Literal

    def __post_init__(self) -> None:
        _require_comparable(self.left, self.right)
        equality = self.operator in (Operator.EQUAL, Operator.NOT_EQUAL)
        if self.left.kind is Kind.BOOLEAN and not equality:
            raise PredicateError(
                f"where orders {self.left} by {self.operator.value}: use = or <> with true or false"
            )


@frozen
class Range:
    """A column between two literals, both ends included."""

    column: Column
    low: Literal
    high: Literal

    def __post_init__(self) -> None:
        _require_no_flag(self.column, "between")
        _require_comparable(self.column, self.low)
        _require_comparable(self.column, self.high)
        _require_one_kind((self.low, self.high))


@frozen
class Membership:
    """A column equal to one of some literals, all of one kind."""

    column: Column
    choices: tuple[Literal, ...]

    def __post_init__(self) -> None:
        _require_no_flag(self.column, "in")
        if not self.choices:
            raise PredicateError(
                f"where has an empty list after in for {self.column}: "
                f"write {self.column.kind.example}"
            )
        for choice in self.choices:
            _require_comparable(self.column, choice)
        _require_one_kind(self.choices)


@frozen
class Pattern:
    """A text like a pattern: ``%`` is any text, ``_`` any one character, nothing escapes them."""

    column: Column
    pattern: str

    def __post_init__(self) -> None:
        if self.column.kind is not Kind.TEXT:
            raise PredicateError(
                f"where uses like on {self.column}: use like on text, "
                f"and compare this column with {self.column.kind.example}"
            )
        Literal(Kind.TEXT, self.pattern)


@frozen
class Missing:
    """A column without a value."""

    column: Column


@frozen
class Not:
    """True where its operand is false, unknown where that is unknown."""

    operand: "Predicate"


@frozen
class And:
    """True where all its operands are: two or more, none itself an ``And``."""

    operands: tuple["Predicate", ...]

    def __post_init__(self) -> None:
        _require_flat(self)


@frozen
class Or:
    """True where one of its operands is: two or more, none itself an ``Or``."""

    operands: tuple["Predicate", ...]

    def __post_init__(self) -> None:
        _require_flat(self)


Predicate: TypeAlias = (
    Constant | Flag | Comparison | Range | Membership | Pattern | Missing | Not | And | Or
)


def columns(predicate: Predicate) -> Iterator[Column]:
    """Every column that the predicate reads, in order and with repetitions.

    Example:
        >>> [column.name for column in columns(Not(Flag(Column("smoker", Kind.BOOLEAN))))]
        ['smoker']
    """
    match predicate:
        case Constant():
            return
        case Comparison(left, _, right):
            yield left
            if isinstance(right, Column):
                yield right
        case Not(operand):
            yield from columns(operand)
        case And(operands) | Or(operands):
            for operand in operands:
                yield from columns(operand)
        case _:
            yield predicate.column


def _require_comparable(column: Column, other: Column | Literal) -> None:
    numbers = column.kind.is_number and other.kind.is_number
    if not numbers and column.kind is not other.kind:
        raise PredicateError(f"where compares {column} with {other}: {_remedy(column, other)}")


def _remedy(column: Column, other: Column | Literal) -> str:
    """What to write in place of what a column cannot be compared with."""
    if isinstance(other, Literal) and column.kind is Kind.TEXT and other.kind.is_number:
        return (
            f"write '{other.value}' for the text, which compares by its characters; where the "
            "column holds numbers, its owner states that in noisycount.toml"
        )
    numeral = str(other.value).strip() if isinstance(other, Literal) else ""
    if column.kind.is_number and _NUMERAL.fullmatch(numeral):
        return f"write {numeral} without quotes"
    return f"compare it with {column.kind.example}"


def _require_one_kind(literals: tuple[Literal, ...]) -> None:
    if len({literal.kind for literal in literals}) > 1:
        raise PredicateError("where lists integers beside reals: write them all as reals")


def _require_no_flag(column: Column, keyword: str) -> None:
    if column.kind is Kind.BOOLEAN:
        raise PredicateError(f"where uses {keyword} on {column}: use = or <> with true or false")


def _require_flat(node: And | Or) -> None:
    if len(node.operands) < 2 or any(type(part) is type(node) for part in node.operands):  # noqa: PLR2004, the arity of a connective
        raise PredicateError(
            f"where joins {len(node.operands)} predicates in one {type(node).__name__}: "
            f"give two or more, none of them an {type(node).__name__}"
        )
