"""The edges of ranges as values of their column's kind.

The operations of an engine that predicates and keys are made of.

The key of a record as an expression of an engine: a whole number or a text.

A predicate as an expression of an engine.
"""

from collections.abc import Sequence
from datetime import date, datetime
from math import inf, nextafter
from typing import Protocol, TypeVar

from noisycount.query.grouping import OUTSIDE, Edges, Key, Part, Period, Plain, Span
from noisycount.query.predicate import (
    And,
    Column,
    Comparison,
    Constant,
    Flag,
    Literal,
    Membership,
    Missing,
    Not,
    Operator,
    Or,
    Pattern,
    Predicate,
    Range,
)
from noisycount.query.schema import Kind

__all__ = ["coded", "decoded", "edges_of", "is_text", "key_expression", "predicate_expression"]


def edges_of(part: Edges) -> list[int] | list[float]:
    """The edges of a part: whole numbers, or doubles that part the same numbers."""
    if part.column.kind is Kind.INTEGER:
        return list(map(int, part.edges))
    return [_real(edge) for edge in part.edges]


def _real(edge: float) -> float:
    """The smallest double that is at least an edge, which may be a whole number between two."""
    nearest = float(edge)
    return nearest if nearest >= edge else nextafter(nearest, inf)


Value = int | float | str


Expression = TypeVar("Expression")


class Algebra(Protocol[Expression]):
    """The expressions of an engine: each has a value for every record, and none is ever an error.

    Truth is three-valued; NaN equals itself and follows every number; texts are compared by their
    code points.
    """

    def column(self, column: Column, kind: Kind) -> Expression:
        """The value of a column, as one of a kind: its own or, of integers, real."""
        ...

    def literal(self, value: object, kind: Kind) -> Expression:
        """A value of a kind, bound and never a part of a text."""
        ...

    def number(self, value: int) -> Expression:
        """A whole number of ours."""
        ...

    def nothing(self) -> Expression:
        """A missing whole number."""
        ...

    def constant(self, value: bool) -> Expression:  # noqa: FBT001 - it is a value
        """True or false."""
        ...

    def compared(self, left: Expression, operator: Operator, right: Expression) -> Expression:
        """Whether two values of one kind compare so; unknown where one is missing."""
        ...

    def is_one_of(self, value: Expression, choices: Sequence[Expression]) -> Expression:
        """Whether a value equals one of some."""
        ...

    def is_like(self, text: Expression, pattern: str) -> Expression:
        """Whether a text is like a pattern: `%` any text, `_` one character, nothing escapes."""
        ...

    def is_missing(self, value: Expression) -> Expression:
        """Whether there is no value."""
        ...

    def negated(self, truth: Expression) -> Expression:
        """True where an expression is false."""
        ...

    def all_of(self, truths: Sequence[Expression]) -> Expression:
        """True where all are."""
        ...

    def any_of(self, truths: Sequence[Expression]) -> Expression:
        """True where one is."""
        ...

    def chosen(self, truth: Expression, then: Expression, otherwise: Expression) -> Expression:
        """One expression where another is true, and else a third; only that one is evaluated."""
        ...

    def day(self, moment: Expression) -> Expression:
        """The number year·10000 + month·100 + day of a date of the years 1 to 9999."""
        ...

    def period(self, moment: Expression, span: Span) -> Expression:
        """The number year·periods + period − 1 of a date or time of the years 1 to 9999."""
        ...


_FIRST = {Kind.DATE: date.min, Kind.TIMESTAMP: datetime.min}  # noqa: DTZ901 - columns have no zone


_LAST = {Kind.DATE: date.max, Kind.TIMESTAMP: datetime.max}  # noqa: DTZ901 - columns have no zone


def is_text(part: Part) -> bool:
    """Whether the codes of a part are texts; else they are whole numbers of 64 bits."""
    return isinstance(part, Plain) and part.column.kind is Kind.TEXT


def coded(key: Key) -> int | str | None:
    """What stands for a key in an engine: `key_expression` gives the same.

    Example:
        >>> coded(date(2026, 1, 31))
        20260131
    """
    if isinstance(key, date):
        return key.year * 10_000 + key.month * 100 + key.day
    return int(key) if isinstance(key, bool) else key


def decoded(part: Part, code: int | str | None) -> Key:
    """The key that a code stands for, unless it is that of no group."""
    if code is None or not isinstance(part, Plain) or isinstance(code, str):
        return code
    match part.column.kind:
        case Kind.DATE:
            return date(code // 10_000, code // 100 % 100, code % 100)
        case Kind.BOOLEAN:
            return bool(code)
        case _:
            return code


def is_outside(part: Part, code: int | str | None) -> bool:
    """Whether a code is that of no group; a plain number may be the same."""
    return code == OUTSIDE and not (isinstance(part, Plain) and part.column.kind is Kind.INTEGER)


def key_expression(part: Part, algebra: Algebra[Expression]) -> Expression:
    """The code of the key of a record in a part; missing where its value is.

    Of ranges it is found by a bisection, in a tree of as many levels as their number has bits.
    """
    column, kind = part.column, part.column.kind
    value = algebra.column(column, kind)
    match part:
        case Edges():
            edges = [algebra.literal(edge, kind) for edge in edges_of(part)]
            code = _range_number(value, edges, 0, algebra)
            return algebra.chosen(algebra.is_missing(value), algebra.nothing(), code)
        case Period(_, span):
            return _of_a_day(value, kind, algebra.period(value, span), algebra)
        case _ if kind is Kind.DATE:
            return _of_a_day(value, kind, algebra.day(value), algebra)
        case _ if kind is Kind.BOOLEAN:
            code = algebra.chosen(value, algebra.number(1), algebra.number(0))
            return algebra.chosen(algebra.is_missing(value), algebra.nothing(), code)
        case _:
            return value


def _of_a_day(
    value: Expression, kind: Kind, inside: Expression, algebra: Algebra[Expression]
) -> Expression:
    """What there is of days with a year of four digits, and what of others."""
    first, last = (algebra.literal(ends[kind], kind) for ends in (_FIRST, _LAST))
    has_year = algebra.all_of(
        [
            algebra.compared(value, Operator.AT_LEAST, first),
            algebra.compared(value, Operator.AT_MOST, last),
        ]
    )
    outside = algebra.chosen(algebra.is_missing(value), algebra.nothing(), algebra.number(OUTSIDE))
    return algebra.chosen(has_year, inside, outside)


def _range_number(
    value: Expression, edges: Sequence[Expression], first: int, algebra: Algebra[Expression]
) -> Expression:
    """The number of the range that a number is in, of those with these edges."""
    if not edges:
        return algebra.number(first - 1 if first else OUTSIDE)
    middle = len(edges) // 2
    return algebra.chosen(
        algebra.compared(value, Operator.AT_LEAST, edges[middle]),
        _range_number(value, edges[middle + 1 :], first + middle + 1, algebra),
        _range_number(value, edges[:middle], first, algebra),
    )


def predicate_expression(predicate: Predicate, algebra: Algebra[Expression]) -> Expression:
    """An expression that is true, false or unknown as the predicate is, and never an error."""
    match predicate:
        case Constant(value):
            return algebra.constant(value)
        case Flag(column):
            return algebra.column(column, column.kind)
        case Not(operand):
            return algebra.negated(predicate_expression(operand, algebra))
        case And(operands):
            return algebra.all_of([predicate_expression(part, algebra) for part in operands])
        case Or(operands):
            return algebra.any_of([predicate_expression(part, algebra) for part in operands])
        case _:
            return _test(predicate, algebra)


def _test(
    test: Comparison | Range | Membership | Pattern | Missing, algebra: Algebra[Expression]
) -> Expression:
    match test:
        case Comparison(left, operator, right):
            kind = _common_kind(left, right)
            return algebra.compared(
                algebra.column(left, kind), operator, _operand(right, kind, algebra)
            )
        case Range(column, low, high):
            kind = _common_kind(column, low)
            value = algebra.column(column, kind)
            at_least = algebra.compared(value, Operator.AT_LEAST, _operand(low, kind, algebra))
            at_most = algebra.compared(value, Operator.AT_MOST, _operand(high, kind, algebra))
            return algebra.all_of([at_least, at_most])
        case Membership(column, choices):
            kind = _common_kind(column, choices[0])
            listed = [_operand(choice, kind, algebra) for choice in choices]
            return algebra.is_one_of(algebra.column(column, kind), listed)
        case Pattern(column, pattern):
            return algebra.is_like(algebra.column(column, column.kind), pattern)
        case Missing(column):
            return algebra.is_missing(algebra.column(column, column.kind))


def _common_kind(left: Column, right: Column | Literal) -> Kind:
    return Kind.REAL if Kind.REAL in (left.kind, right.kind) else left.kind


def _operand(operand: Column | Literal, kind: Kind, algebra: Algebra[Expression]) -> Expression:
    """The operand as a value of the kind, which is its own or, for an integer, real."""
    if isinstance(operand, Column):
        return algebra.column(operand, kind)
    value = float(operand.value) if kind is Kind.REAL else operand.value  # type: ignore[arg-type]  # a number
    return algebra.literal(value, kind)
