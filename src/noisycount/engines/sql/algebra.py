"""Predicates and keys as expressions of SQLAlchemy, with bound values.

What is added up to count: numbers that are 1 where something is true.
"""

import re
from collections.abc import Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Date,
    DateTime,
    Double,
    Integer,
    Text,
    and_,
    case,
    cast,
    distinct,
    func,
    literal,
    literal_column,
    not_,
    null,
    or_,
    type_coerce,
)
from sqlalchemy.types import NULLTYPE, TypeEngine

from noisycount.engines.expressions import predicate_expression
from noisycount.engines.sql.dialect import Dialect, Expression
from noisycount.engines.sql.kinds import Form, FoundColumn
from noisycount.frozen import frozen
from noisycount.query.grouping import Span
from noisycount.query.predicate import Column, Operator, Predicate
from noisycount.query.schema import Kind

__all__ = [
    "NOTHING",
    "ONE",
    "SqlAlgebra",
    "condition",
    "distinct_elsewhere",
    "distinct_where",
    "is_true",
    "number_of",
    "number_where",
    "one_or_nothing",
    "type_of",
]


_OPERATORS = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.MORE: gt,
    Operator.AT_LEAST: ge,
}


_TYPES: Mapping[Kind, type[TypeEngine[Any]]] = {
    Kind.INTEGER: BigInteger,
    Kind.TEXT: Text,
    Kind.REAL: Double,
    Kind.BOOLEAN: Boolean,
    Kind.DATE: Date,
    Kind.TIMESTAMP: DateTime,
}


_SURROGATE = re.compile("[\ud800-\udfff]")


_AFTER_SURROGATES = "\ue000"


class _Bit(BigInteger):
    """The type of truth values that a server keeps as numbers."""


class _Unheld(Text):
    """The type of a text that stands for one that no server holds: the first one after it."""


@frozen
class SqlAlgebra:
    """Expressions over the columns of one table; see `Algebra`.

    Attributes:
        dialect: What the server says in its own way.
        columns: What each column of the table is, and its expression.
    """

    dialect: Dialect
    columns: Mapping[str, tuple[FoundColumn, Expression]]

    def column(self, column: Column, kind: Kind) -> Expression:
        """The value of a column, as one of a kind; see `Algebra.column`."""
        found, value = self.columns[column.name]
        if kind is Kind.TEXT:
            return self.dialect.text(value)
        if kind is Kind.BOOLEAN and not self.dialect.has_booleans:
            return type_coerce(value, _Bit)
        if found.form is Form.ZONED:
            return self.dialect.in_utc(value)
        if found.form is Form.DECIMAL:
            return self.dialect.nearest_double(value)
        is_so = kind is found.kind and found.form is Form.PLAIN
        return self.dialect.double(value) if kind is Kind.REAL and not is_so else value

    def literal(self, value: object, kind: Kind) -> Expression:
        """A bound value; see `Algebra.literal`."""
        if kind is Kind.TEXT:
            return self._text_literal(str(value))
        if kind is Kind.BOOLEAN and not self.dialect.has_booleans:
            return type_coerce(self.number(int(bool(value))), _Bit)
        return literal(value, type_of(kind))

    def number(self, value: int) -> Expression:
        """A whole number of ours."""
        return literal_column(str(value), BigInteger)

    def nothing(self) -> Expression:
        """A missing whole number."""
        return cast(null(), BigInteger)

    def constant(self, value: bool) -> Expression:  # noqa: FBT001 - it is a value
        """True or false, as a comparison, which every server has."""
        return self.number(1) == self.number(int(value))

    def compared(self, left: Expression, operator: Operator, right: Expression) -> Expression:
        """Whether two values compare so; see `Algebra.compared`."""
        if not isinstance(right.type, _Unheld):
            truth: Expression = _OPERATORS[operator](left, right)
            return truth
        if operator in {Operator.EQUAL, Operator.NOT_EQUAL}:
            return left == left if operator is Operator.NOT_EQUAL else left != left  # noqa: PLR0124 - missing where it is
        is_before = operator in {Operator.LESS, Operator.AT_MOST}
        return left < right if is_before else left >= right

    def is_one_of(self, value: Expression, choices: Sequence[Expression]) -> Expression:
        """Whether a value equals one of some; see `Algebra.is_one_of`."""
        held = [choice for choice in choices if not isinstance(choice.type, _Unheld)]
        return value.in_(held) if held else value != value  # noqa: PLR0124 - missing where it is

    def is_like(self, text: Expression, pattern: str) -> Expression:
        """Whether a text is like a pattern; see `Algebra.is_like`."""
        if _SURROGATE.search(pattern):
            return text != text  # noqa: PLR0124 - missing where it is
        return self.dialect.is_like(text, pattern)

    def is_missing(self, value: Expression) -> Expression:
        """Whether there is no value."""
        return value.is_(null())

    def negated(self, truth: Expression) -> Expression:
        """True where an expression is false."""
        return not_(_truth(truth))

    def all_of(self, truths: Sequence[Expression]) -> Expression:
        """True where all are."""
        return and_(*map(_truth, truths))

    def any_of(self, truths: Sequence[Expression]) -> Expression:
        """True where one is."""
        return or_(*map(_truth, truths))

    def chosen(self, truth: Expression, then: Expression, otherwise: Expression) -> Expression:
        """One expression where another is true, and else a third."""
        return case((_truth(truth), then), else_=otherwise)

    def day(self, moment: Expression) -> Expression:
        """The number year·10000 + month·100 + day."""
        year, month, day = (self.dialect.part(name, moment) for name in ("year", "month", "day"))
        return year * self.number(10_000) + month * self.number(100) + day

    def period(self, moment: Expression, span: Span) -> Expression:
        """The number year·periods + period − 1."""
        year = self.dialect.part("year", moment) * self.number(span.value)
        if span is Span.YEAR:
            return year
        place = self.dialect.part("month", moment) - self.number(1)
        return year + (place if span is Span.MONTH else place // self.number(3))

    def _text_literal(self, value: str) -> Expression:
        """A bound text; of one with half a surrogate pair, which no server holds, the next one."""
        half = _SURROGATE.search(value)
        if half is None:
            return literal(value, self.dialect.text_type)
        following = literal(value[: half.start()] + _AFTER_SURROGATES, self.dialect.text_type)
        return type_coerce(following, _Unheld())


def type_of(kind: Kind | None) -> TypeEngine[Any]:
    """The type of the values of a kind, and of those that have none."""
    return NULLTYPE if kind is None else _TYPES[kind]()


def _truth(value: Expression) -> Expression:
    """A truth value as a condition, also where the server keeps it as a number."""
    return value == literal_column("1", BigInteger) if isinstance(value.type, _Bit) else value


ONE = literal_column("1", Integer)


NOTHING = literal_column("0", Integer)


def condition(predicate: Predicate, algebra: SqlAlgebra) -> Expression:
    """A predicate as a condition."""
    return algebra.all_of([predicate_expression(predicate, algebra)])


def one_or_nothing(predicate: Predicate, algebra: SqlAlgebra) -> Expression:
    """What is added up to count what matches: 1, or 0."""
    return is_true(condition(predicate, algebra))


def is_true(truth: Expression) -> Expression:
    """1 where a condition is true, and else 0."""
    return case((truth, ONE), else_=NOTHING)


def number_of(summand: Expression) -> Expression:
    """The sum of such numbers, 0 over no records."""
    return cast(func.coalesce(func.sum(summand), NOTHING), BigInteger)


def number_where(truth: Expression) -> Expression:
    """How often a condition is true: servers count ones faster than they add them to noughts."""
    return func.count(case((truth, ONE)))


def distinct_where(truth: Expression, value: Expression) -> Expression:
    """How many values there are where a condition is true."""
    return func.count(distinct(case((truth, value))))


def distinct_elsewhere(truth: Expression, value: Expression) -> Expression:
    """How many there are where it is not: no answer, but work that makes up for what matches."""
    return func.count(distinct(case((truth, null()), else_=value)))
