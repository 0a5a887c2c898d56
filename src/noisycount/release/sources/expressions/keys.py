"""The key of a record as an expression of an engine: a whole number or a text."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import TypeVar

from noisycount.release.question.grouping import OUTSIDE, Edges, Key, Part, Period, Plain
from noisycount.release.question.operands import Operator
from noisycount.release.question.schema import Kind
from noisycount.release.sources.edges import edges_of
from noisycount.release.sources.expressions.algebra import Algebra

__all__ = ["coded", "decoded", "is_outside", "is_text", "key_expression"]

_FIRST = {Kind.DATE: date.min, Kind.TIMESTAMP: datetime.min}  # noqa: DTZ901 - columns have no zone
_LAST = {Kind.DATE: date.max, Kind.TIMESTAMP: datetime.max}  # noqa: DTZ901 - columns have no zone

Expression = TypeVar("Expression")


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
