"""Predicates and keys as expressions of SQLAlchemy, with bound values.

Each has a value for every record, and none is ever an error. Truth is three-valued; NaN equals itself and follows every
number; texts are compared by their code points.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from math import inf, nextafter
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Date,
    DateTime,
    Double,
    Text,
    and_,
    case,
    cast,
    literal,
    not_,
    null,
    or_,
    type_coerce,
)
from sqlalchemy.types import NULLTYPE, TypeEngine

from noisycount.engines.statement.dialect import Dialect, Expression, whole
from noisycount.frozen import frozen
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

_OPERATORS = {
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
    Operator.LESS: lt,
    Operator.AT_MOST: le,
    Operator.MORE: gt,
    Operator.AT_LEAST: ge,
}
TYPES: dict[Kind, type[TypeEngine[Any]]] = {
    Kind.INTEGER: BigInteger,
    Kind.TEXT: Text,
    Kind.REAL: Double,
    Kind.BOOLEAN: Boolean,
    Kind.DATE: Date,
    Kind.TIMESTAMP: DateTime,
}
"""The type of the values of each kind."""

_FIRST = {Kind.DATE: date.min, Kind.TIMESTAMP: datetime.min}  # noqa: DTZ901 - columns have no zone
_LAST = {Kind.DATE: date.max, Kind.TIMESTAMP: datetime.max}  # noqa: DTZ901 - columns have no zone
_MOST_CASES = 64  # edges; a nest of cases takes time for each
_SURROGATE = re.compile("[\ud800-\udfff]")
_AFTER_SURROGATES = "\ue000"


class _Bit(BigInteger):
    """The type of truth values that a server keeps as numbers."""


class _Unheld(Text):
    """The type of a text that stands for one that no engine holds: the first one after it."""


def type_of(kind: Kind | None) -> TypeEngine[Any]:
    """The type of the values of a kind, and of those that have none."""
    return NULLTYPE if kind is None else TYPES[kind]()


def edges_of(part: Edges) -> list[int] | list[float]:
    """The edges of a part: whole numbers, or doubles that part the same numbers."""
    if part.column.kind is Kind.INTEGER:
        return list(map(int, part.edges))
    return [_real(edge) for edge in part.edges]


def _real(edge: float) -> float:
    """The smallest double that is at least an edge, which may be a whole number between two."""
    nearest = float(edge)
    return nearest if nearest >= edge else nextafter(nearest, inf)


def key_type(part: Part, dialect: Dialect) -> TypeEngine[Any]:
    """The type of the codes of a part: of values their own, where that can be."""
    kind = part.column.kind if isinstance(part, Plain) else Kind.INTEGER
    is_coded = {Kind.DATE: not dialect.keeps_keys, Kind.BOOLEAN: not dialect.has_booleans}
    if kind is Kind.TEXT:
        return dialect.text_type
    return BigInteger() if is_coded.get(kind) else type_of(kind)


def coded(key: Key, dialect: Dialect) -> Any:  # noqa: ANN401 - of the type of the part
    """What stands for a key in an engine.

    Example:
        >>> coded(date(2020, 1, 31), Dialect()), coded(True, Dialect()), coded(None, Dialect())
        (20200131, True, None)
    """
    if isinstance(key, bool):
        return key if dialect.has_booleans else int(key)
    if isinstance(key, date) and not dialect.keeps_keys:
        return key.year * 10_000 + key.month * 100 + key.day
    return key


def decoded(part: Part, code: Any) -> Key:  # noqa: ANN401 - as an engine gives it
    """The key that a code stands for."""
    if code is None or isinstance(code, date):
        return code
    kind = part.column.kind if isinstance(part, Plain) else Kind.INTEGER
    match kind:
        case Kind.TEXT:
            return str(code)
        case Kind.BOOLEAN:
            return bool(code)
        case Kind.DATE:
            year, day = divmod(int(code), 10_000)
            return date(year, *divmod(day, 100))
        case Kind.INTEGER:
            return int(code)
        case _:
            return code  # type: ignore[no-any-return]  # as the engine keeps it


def is_inside(part: Part, key: Expression, dialect: Dialect) -> Expression | None:
    """The condition that a key is that of a group; None: each is."""
    if not isinstance(part, Plain) or (part.column.kind is Kind.DATE and not dialect.keeps_keys):
        return or_(key.is_(null()), key != whole(OUTSIDE))
    if part.column.kind is Kind.DATE:
        return or_(key.is_(null()), _has_year(key, Kind.DATE))
    return None


def _has_year(moment: Expression, kind: Kind) -> Expression:
    """Whether a day or time is of a year of four digits; infinite ones are not."""
    first, last = (literal(ends[kind], TYPES[kind]()) for ends in (_FIRST, _LAST))
    return and_(moment >= first, moment <= last)


@frozen
class Expressions:
    """Expressions over the columns of one table."""

    dialect: Dialect  # what the engine says in its own way
    of_column: Callable[[Column], Expression]  # the values of a column, as those of its kind

    def value(self, column: Column, kind: Kind | None = None) -> Expression:
        """The value of a column, as one of a kind: its own or, of integers, real."""
        value = self.of_column(column)
        if column.kind is Kind.BOOLEAN and not self.dialect.has_booleans:
            return type_coerce(value, _Bit)
        return value if kind in {None, column.kind} else self.dialect.double(value)

    def condition(self, predicate: Predicate) -> Expression:
        """An expression that is true, false or unknown as the predicate is."""
        match predicate:
            case Constant(value):
                return whole(1) == whole(int(value))  # which every server has
            case Flag(column):
                flag = self.value(column)
                return flag == whole(1) if isinstance(flag.type, _Bit) else flag
            case Not(operand):
                return not_(self.condition(operand))
            case And(operands):
                return and_(*map(self.condition, operands))
            case Or(operands):
                return or_(*map(self.condition, operands))
            case _:
                return self._test(predicate)

    def _test(self, test: Comparison | Range | Membership | Pattern | Missing) -> Expression:
        match test:
            case Comparison(left, operator, right):
                kind = _common_kind(left, right)
                return _compared(self.value(left, kind), operator, self._operand(right, kind))
            case Range(column, low, high):
                kind = _common_kind(column, low)
                value = self.value(column, kind)
                return and_(
                    _compared(value, Operator.AT_LEAST, self._operand(low, kind)),
                    _compared(value, Operator.AT_MOST, self._operand(high, kind)),
                )
            case Membership(column, choices):
                kind = _common_kind(column, choices[0])
                value = self.value(column, kind)
                listed = [self._operand(choice, kind) for choice in choices]
                held = [choice for choice in listed if not isinstance(choice.type, _Unheld)]
                return value.in_(held) if held else _never(value)
            case Pattern(column, pattern):
                text = self.value(column)
                if _SURROGATE.search(pattern):
                    return _never(text)
                return self.dialect.is_like(text, pattern)
            case Missing(column):
                return self.value(column).is_(null())

    def _operand(self, operand: Column | Literal, kind: Kind) -> Expression:
        """The operand as a value of the kind; a literal is bound, and never a part of a text."""
        if isinstance(operand, Column):
            return self.value(operand, kind)
        value = operand.value
        if kind is Kind.TEXT:
            return self._text(str(value))
        if kind is Kind.BOOLEAN and not self.dialect.has_booleans:
            return type_coerce(whole(int(bool(value))), _Bit)
        return literal(float(value) if kind is Kind.REAL else value, type_of(kind))  # type: ignore[arg-type]  # a number

    def _text(self, value: str) -> Expression:
        """A bound text; of one with half a surrogate pair, which no engine holds, the next one."""
        half = _SURROGATE.search(value)
        if half is None:
            return self.dialect.text_literal(value)
        following = self.dialect.text_literal(value[: half.start()] + _AFTER_SURROGATES)
        return type_coerce(following, _Unheld())

    def key(self, part: Part) -> Expression:
        """The code of the key of a record in a part; missing where its value is."""
        column, value = part.column, self.value(part.column)
        match part:
            case Edges():
                return self._range(part, value)
            case Period(_, span):
                return self._of_a_day(value, column.kind, self._period(value, span))
            case _ if column.kind is Kind.INTEGER:
                return self.dialect.integer(value)
            case _ if column.kind is Kind.DATE and not self.dialect.keeps_keys:
                year, month, day = (self.dialect.part(name, value) for name in ("year", "month", "day"))
                digits = year * whole(10_000) + month * whole(100) + day
                return self._of_a_day(value, column.kind, digits)
            case _:
                return value

    def _range(self, part: Edges, value: Expression) -> Expression:
        """The number of a range: found by the engine itself, or by a bisection of its edges."""
        edges = edges_of(part)
        if is_wide(part):
            code = self.dialect.range_code(value, edges)
            if code is not None:
                return code
        bound = [literal(edge, type_of(part.column.kind)) for edge in edges]
        return case((value.is_(null()), _nothing()), else_=_bisected(value, bound, 0))

    def _period(self, moment: Expression, span: Span) -> Expression:
        """The number year·periods + period − 1."""
        year = self.dialect.part("year", moment) * whole(span.value)
        if span is Span.YEAR:
            return year
        place = self.dialect.part("month", moment) - whole(1)
        return year + (place if span is Span.MONTH else place // whole(3))

    def _of_a_day(self, value: Expression, kind: Kind, inside: Expression) -> Expression:
        """What there is of days with a year of four digits, and what of others."""
        return case((_has_year(value, kind), inside), else_=case((value.is_(null()), _nothing()), else_=whole(OUTSIDE)))


def is_wide(part: Part) -> bool:
    """Whether a part has more edges than a nest of cases is fast for."""
    return isinstance(part, Edges) and len(part.edges) > _MOST_CASES


def _bisected(value: Expression, edges: Sequence[Expression], first: int) -> Expression:
    """The number of the range that a number is in, of those with these edges."""
    if not edges:
        return whole(first - 1 if first else OUTSIDE)
    middle = len(edges) // 2
    return case(
        (value >= edges[middle], _bisected(value, edges[middle + 1 :], first + middle + 1)),
        else_=_bisected(value, edges[:middle], first),
    )


def _compared(left: Expression, operator: Operator, right: Expression) -> Expression:
    """Whether two values of one kind compare so; unknown where one is missing."""
    if not isinstance(right.type, _Unheld):
        truth: Expression = _OPERATORS[operator](left, right)
        return truth
    if operator in {Operator.EQUAL, Operator.NOT_EQUAL}:
        return left == left if operator is Operator.NOT_EQUAL else _never(left)  # noqa: PLR0124 - missing where it is
    is_before = operator in {Operator.LESS, Operator.AT_MOST}
    return left < right if is_before else left >= right


def _never(value: Expression) -> Expression:
    """False, and unknown where a value is missing."""
    return value != value  # noqa: PLR0124 - that is it


def _nothing() -> Expression:
    """A missing whole number."""
    return cast(null(), BigInteger)


def _common_kind(left: Column, right: Column | Literal) -> Kind:
    return Kind.REAL if Kind.REAL in (left.kind, right.kind) else left.kind
