"""What all statements read: predicates and keys as expressions over the columns of some records.

Each has a value for every record, and none is ever an error. Truth is three-valued; NaN equals itself and follows every
number; texts are compared by their code points.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from functools import reduce
from math import inf, nextafter
from operator import add
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import NULLTYPE, TypeEngine

from noisycount.engines.dialect import NOTHING, ONE, OUTSIDE, Dialect, Expression, whole
from noisycount.engines.parsed_texts import parsed
from noisycount.engines.truth import salt_text
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.grouping import EachValue, GroupBy, Key, NumberRanges, Period
from noisycount.query.query import PeriodLength
from noisycount.query.schema import Kind

TYPES: dict[Kind, type[TypeEngine[Any]]] = {
    Kind.INTEGER: sa.BigInteger,
    Kind.TEXT: sa.Text,
    Kind.REAL: sa.Double,
    Kind.BOOLEAN: sa.Boolean,
    Kind.DATE: sa.Date,
    Kind.TIMESTAMP: sa.DateTime,
}
"""The type of the values of each kind."""
_FIRST = {Kind.DATE: date.min, Kind.TIMESTAMP: datetime.min}  # noqa: DTZ901 - columns have no zone
_LAST = {Kind.DATE: date.max, Kind.TIMESTAMP: datetime.max}  # noqa: DTZ901 - columns have no zone
_MOST_CASES = 64  # edges; a nest of cases takes time for each
_SURROGATE = re.compile("[\ud800-\udfff]")
_AFTER_SURROGATES = "\ue000"


class _Bit(sa.BigInteger):
    """The type of truth values that a server keeps as numbers."""


class _Unheld(sa.Text):
    """The type of a text that stands for one that no engine holds: the first one after it."""


def _is_unheld(operand: Expression) -> bool:
    return isinstance(operand.type, _Unheld)


def type_of(kind: Kind | None) -> TypeEngine[Any]:
    """The type of the values of a kind, and of those that have none."""
    return NULLTYPE if kind is None else TYPES[kind]()


def edges_of(part: NumberRanges) -> list[int] | list[float]:
    """The edges of a part: whole numbers, or doubles that part the same numbers."""
    if part.column.kind is Kind.INTEGER:
        return list(map(int, part.edges))
    return [_real(edge) for edge in part.edges]


def _real(edge: float) -> float:
    """The smallest double that is at least an edge, which may be a whole number between two."""
    nearest = float(edge)
    return nearest if nearest >= edge else nextafter(nearest, inf)


@frozen
class Blank(tree.Literal):
    """A literal in the shape of a predicate: its kind and, as `value`, its number among those of the statement."""

    value: int

    def __post_init__(self) -> None:
        """Nothing is to be checked: what stood there was a literal."""


def shape_of(predicate: tree.Predicate, values: list[Any]) -> tree.Predicate:
    """The predicate with blanks for its literals, whose values are put behind others.

    Predicates of one shape have one statement, which is written once. Patterns, and texts that no engine holds, are
    part of the shape.
    """

    def blank(literal: tree.Literal) -> tree.Literal:
        if isinstance(literal.value, str) and _SURROGATE.search(literal.value):
            return literal
        values.append(literal.value)
        return Blank(literal.kind, len(values) - 1)

    match predicate:
        case tree.Comparison(left, operator, tree.Literal() as right):
            return tree.Comparison(left, operator, blank(right))
        case tree.Range(column, low, high):
            return tree.Range(column, blank(low), blank(high))
        case tree.Membership(column, choices):
            return tree.Membership(column, tuple(map(blank, choices)))
        case tree.Not(operand):
            return tree.Not(shape_of(operand, values))
        case tree.And(operands) | tree.Or(operands):
            return type(predicate)(tuple(shape_of(each, values) for each in operands))
        case _:
            return predicate


def blank_name(number: int) -> str:
    """What statements call the value of a blank."""
    return f"value_{number}"


def key_type(part: GroupBy, dialect: Dialect) -> TypeEngine[Any]:
    """The type of the codes of a part: of values their own, where that can be."""
    kind = part.column.kind if isinstance(part, EachValue) else Kind.INTEGER
    is_coded = {Kind.DATE: not dialect.keeps_keys, Kind.BOOLEAN: not dialect.has_booleans}
    if kind is Kind.TEXT:
        return dialect.text_type
    return sa.BigInteger() if is_coded.get(kind) else type_of(kind)


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


def decoded(part: GroupBy, code: Any) -> Key:  # noqa: ANN401 - as an engine gives it
    """The key that a code stands for."""
    if code is None or isinstance(code, date):
        return code
    kind = part.column.kind if isinstance(part, EachValue) else Kind.INTEGER
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


def is_inside(part: GroupBy, key: Expression, dialect: Dialect) -> Expression | None:
    """The condition that a key is that of a group; None: each is."""
    if not isinstance(part, EachValue) or (part.column.kind is Kind.DATE and not dialect.keeps_keys):
        return sa.or_(key.is_(sa.null()), key != OUTSIDE)
    if part.column.kind is Kind.DATE:
        return sa.or_(key.is_(sa.null()), _has_year(key, Kind.DATE))
    return None


def _has_year(moment: Expression, kind: Kind) -> Expression:
    """Whether a day or time is of a year of four digits; infinite ones are not."""
    first, last = (sa.literal(ends[kind], TYPES[kind]()) for ends in (_FIRST, _LAST))
    return moment.between(first, last)


def is_wide(part: GroupBy) -> bool:
    """Whether a part has more edges than a nest of cases is fast for."""
    return isinstance(part, NumberRanges) and len(part.edges) > _MOST_CASES


def _bisected(value: Expression, edges: Sequence[Expression], first: int) -> Expression:
    """The number of the range that a number is in, of those with these edges."""
    if not edges:
        return whole(first - 1) if first else OUTSIDE
    middle = len(edges) // 2
    return sa.case(
        (value >= edges[middle], _bisected(value, edges[middle + 1 :], first + middle + 1)),
        else_=_bisected(value, edges[:middle], first),
    )


def _compared(left: Expression, operator: tree.Operator, right: Expression) -> Expression:
    """Whether two values of one kind compare so; unknown where one is missing."""
    if not _is_unheld(right):
        truth: Expression = tree.TESTS[operator](left, right)
        return truth
    if operator in {tree.Operator.EQUAL, tree.Operator.NOT_EQUAL}:
        return left == left if operator is tree.Operator.NOT_EQUAL else _never(left)  # noqa: PLR0124 - missing where it is
    is_before = operator in {tree.Operator.LESS, tree.Operator.AT_MOST}
    return left < right if is_before else left >= right


def _never(value: Expression) -> Expression:
    """False, and unknown where a value is missing."""
    return value != value  # noqa: PLR0124 - that is it


def is_nan(value: Expression) -> Expression:
    """Return the condition that a double is NaN, which is above every number, and whose negative is NaN as well."""
    largest: Expression = sa.literal(_LARGEST, sa.Double())
    return sa.and_(value > largest, -value > largest)


_LARGEST = 1.7976931348623157e308


def _common_kind(left: tree.Column, right: tree.Column | tree.Literal) -> Kind:
    return Kind.REAL if Kind.REAL in (left.kind, right.kind) else left.kind


_NO_DIGITS = 100_000_000  # above every day as a number of eight digits


@frozen
class Person:
    """The column that names persons."""

    value: Expression  # who a record is of
    kind: Kind | None  # of the values; None: they are kept as something that has one text
    is_required: bool = False  # whether the engine keeps values from missing


@frozen
class StatementRecords:
    """The records of a table, and expressions over their columns."""

    table: sa.FromClause  # which it is
    of_column: Callable[[tree.Column], Expression]  # the values of a column, as those of its kind
    person: Person | None  # who a record is of; None: each is a unit
    dialect: Dialect  # what the engine says in its own way
    uses_indexes: bool = False  # whether only records that match are read, which is faster and tells

    def value(self, column: tree.Column, kind: Kind | None = None) -> Expression:
        """The value of a column, as one of a kind: its own or, of integers, real."""
        if column.is_parsed:
            return parsed(self.of_column(column.stored), column.kind, self.dialect)
        value = self.of_column(column)
        if column.kind is Kind.BOOLEAN and not self.dialect.has_booleans:
            return sa.type_coerce(value, _Bit)
        return value if kind in {None, column.kind} else self.dialect.double(value)

    def condition(self, predicate: tree.Predicate) -> Expression:
        """An expression that is true, false or unknown as the predicate is."""
        match predicate:
            case tree.Constant(value):
                return whole(1) == whole(int(value))  # which every server has
            case tree.Flag(column):
                flag = self.value(column)
                return flag == whole(1) if isinstance(flag.type, _Bit) else flag
            case tree.Not(operand):
                return sa.not_(self.condition(operand))
            case tree.And(operands):
                return sa.and_(*map(self.condition, operands))
            case tree.Or(operands):
                return sa.or_(*map(self.condition, operands))
            case _:
                return self._test(predicate)

    def _test(self, test: tree.Comparison | tree.Range | tree.Membership | tree.Pattern | tree.Missing) -> Expression:
        match test:
            case tree.Comparison(left, operator, right):
                kind = _common_kind(left, right)
                return _compared(self.value(left, kind), operator, self._operand(right, kind))
            case tree.Range(column, low, high):
                kind = _common_kind(column, low)
                value, first, last = self.value(column, kind), self._operand(low, kind), self._operand(high, kind)
                return sa.and_(value >= first, value < last) if _is_unheld(last) else value.between(first, last)
            case tree.Membership(column, choices):
                kind = _common_kind(column, choices[0])
                value = self.value(column, kind)
                listed = [self._operand(choice, kind) for choice in choices]
                held = [choice for choice in listed if not _is_unheld(choice)]
                return value.in_(held) if held else _never(value)
            case tree.Pattern(column, pattern):
                text = self.value(column)
                if _SURROGATE.search(pattern):
                    return _never(text)
                return self.dialect.is_like(text, pattern)
            case tree.Missing(column):
                return self.value(column).is_(sa.null())

    def _operand(self, operand: tree.Column | tree.Literal, kind: Kind) -> Expression:
        """The operand as a value of the kind; a literal is bound, and never a part of a text."""
        if isinstance(operand, tree.Column):
            return self.value(operand, kind)
        value = operand.value
        if isinstance(operand, Blank):
            type_ = self.dialect.text_type if kind is Kind.TEXT else type_of(kind)
            return sa.bindparam(blank_name(operand.value), type_=type_)
        if kind is Kind.TEXT:
            return self._text(str(value))
        if kind is Kind.BOOLEAN and not self.dialect.has_booleans:
            return sa.type_coerce(whole(int(bool(value))), _Bit)
        return sa.literal(float(value) if kind is Kind.REAL else value, type_of(kind))  # type: ignore[arg-type]  # a number

    def _text(self, value: str) -> Expression:
        """A bound text; of one with half a surrogate pair, which no engine holds, the next one."""
        half = _SURROGATE.search(value)
        if half is None:
            return self.dialect.text_literal(value)
        following = self.dialect.text_literal(value[: half.start()] + _AFTER_SURROGATES)
        return sa.type_coerce(following, _Unheld())

    def key(self, part: GroupBy) -> Expression:
        """The code of the key of a record in a part; missing where its value is."""
        column, value = part.column, self.value(part.column)
        match part:
            case NumberRanges():
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

    def _range(self, part: NumberRanges, value: Expression) -> Expression:
        """The number of a range: found by the engine itself, or by a bisection of its edges."""
        edges = edges_of(part)
        if is_wide(part):
            code = self.dialect.range_code(value, edges)
            if code is not None:
                return code
        bound = [sa.literal(edge, type_of(part.column.kind)) for edge in edges]
        return sa.case((value.is_not(sa.null()), _bisected(value, bound, 0)))

    def _period(self, moment: Expression, span: PeriodLength) -> Expression:
        """The number year·periods + period − 1."""
        year = self.dialect.part("year", moment) * whole(span.value)
        if span is PeriodLength.YEAR:
            return year
        place = self.dialect.part("month", moment) - whole(1)
        return year + (place if span is PeriodLength.MONTH else place // whole(3))

    def _of_a_day(self, value: Expression, kind: Kind, inside: Expression) -> Expression:
        """What there is of days with a year of four digits, and what of others."""
        return sa.case((_has_year(value, kind), inside), (value.is_not(sa.null()), OUTSIDE))

    def keyed(self, parts: Sequence[GroupBy], where: tree.Predicate | None) -> sa.Subquery:
        """All records: keys as `k0`, `k1` and so on, their unit as `u`, whether they match as `m`.

        No record is left out, so that the time of a statement does not tell how many match. Where all match, there is
        no `m`.
        """
        names = key_names(parts)
        shown: list[Any] = [self.key(part).label(name) for part, name in zip(parts, names, strict=True)]
        if where is not None:
            shown.append(self.dialect.flag(self.condition(where)).label("m"))
        if self.person is not None:
            shown.append(self.person.value.label("u"))
        wide = {name: part for part, name in zip(parts, names, strict=True) if is_wide(part)}
        rows = self.read(sa.select(*shown), [] if where is None else [where])
        return self.dialect.with_ranges(rows, wide).subquery("records")  # type: ignore[arg-type]  # edges

    def read(self, columns: sa.Select[Any], predicates: Sequence[tree.Predicate]) -> sa.Select[Any]:
        """Columns of all records, or of those that match one of some, where the owner chose so.

        Records of nobody are read all the same: they are refused whichever records match.
        """
        entire = columns.select_from(self.table)
        if not self.uses_indexes or not predicates:
            return entire
        wanted = [self.condition(each) for each in predicates]
        if self.person is not None and not self.person.is_required:
            wanted.append(self.person.value.is_(None))
        return entire.where(sa.or_(*wanted))

    def is_nobody(self, unit: Expression) -> Expression:
        """1 where a group of records has one of nobody, by the unit of each; else 0."""
        if self.person is None or self.person.is_required:
            return NOTHING
        return sa.func.max(sa.case((unit.is_(None), ONE), else_=NOTHING))


def key_names(parts: Sequence[GroupBy]) -> list[str]:
    """What statements call the keys."""
    return [f"k{number}" for number in range(len(parts))]


def group_hash(parts: Sequence[GroupBy], keys: Sequence[Expression], salt: str, dialect: Dialect) -> Expression:
    """The hash of a group of some keys, as `truth.group_text` has it."""

    def told(part: GroupBy, key: Expression) -> Expression:
        text = _key_text(part, key, dialect)
        size = dialect.text(dialect.length(text))
        missing = (key.is_(None), dialect.text_literal("-"))
        return sa.case(missing, else_=size + dialect.text_literal(":") + text)

    texts = [told(part, key) for part, key in zip(parts, keys, strict=True)]
    return dialect.md5(reduce(add, texts, dialect.text_literal(salt_text(salt))))


def _key_text(part: GroupBy, key: Expression, dialect: Dialect) -> Expression:
    """The text of a key, from what stands for it."""
    kind = part.column.kind if isinstance(part, EachValue) else None
    if kind is Kind.BOOLEAN:
        condition = key if dialect.has_booleans else key == ONE
        words = dialect.text_literal("true"), dialect.text_literal("false")
        return sa.case((condition, words[0]), else_=words[1])
    if kind is not Kind.DATE or dialect.keeps_keys:
        return dialect.text(key)
    digits = dialect.text(sa.cast(key + whole(_NO_DIGITS), sa.BigInteger))
    year, month, day = (dialect.part_of(digits, *place) for place in ((2, 4), (6, 2), (8, 2)))
    dash = dialect.text_literal("-")
    return year + dash + month + dash + day


def kept(pairs: sa.Select[Any], records: StatementRecords, most: int) -> sa.Select[Any]:
    """Pairs of units and groups, with the flag `kept` where a unit is left in its group.

    `pairs`: with the unit as `u`, the hash of the group as `tag`, the flag `m` where the pair counts, and what else is
    wanted.
    """
    dialect = records.dialect
    kind = None if records.person is None else records.person.kind
    tagged = pairs.subquery("tagged")
    hashed = dialect.hashed(tagged.c.tag + dialect.unit_text(tagged.c.u, kind)).label("hash")
    places = dialect.evaluated_once(sa.select(tagged, hashed)).subquery("places")
    order = sa.func.row_number().over(
        partition_by=places.c.u, order_by=[places.c.m.desc(), dialect.in_order(places.c.hash)]
    )
    numbered = sa.select(places, order.label("number")).subquery("numbered")
    is_kept = sa.and_(dialect.is_set(numbered.c.m), numbered.c.number <= whole(most))
    return sa.select(numbered, dialect.flag(is_kept).label("kept"))


def require_somebody(of_nobody: Iterable[Any]) -> None:
    """The refusal of counts in which there are records of nobody; at the opening were none."""
    if any(of_nobody):
        raise SourceError(
            "records of no unit are there since the opening, and cannot be counted for anybody: "
            "fill the units in, or remove those records"
        )
