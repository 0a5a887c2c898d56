"""Predicates and keys as SQL expressions over the columns of some records. `counts` builds statements of them.

An expression has a value for every record and never fails. Logic is three-valued; NaN equals itself and is greater
than every number; texts are compared by code points.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from functools import reduce
from math import inf, nextafter
from operator import add
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import NULLTYPE, TypeEngine

from noisycount.engines.dialect import NOTHING, ONE, OUTSIDE, Dialect, Expression, whole
from noisycount.engines.parsed_texts import parsed_value
from noisycount.engines.truth import salt_text
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.grouping import EachValue, GroupBy, Key, NumberRanges, Period
from noisycount.query.person_values import Shifted, with_conditions
from noisycount.query.schema import Kind
from noisycount.query.typed import PeriodLength

TYPES: dict[Kind, type[TypeEngine[Any]]] = {
    Kind.INTEGER: sa.BigInteger,
    Kind.TEXT: sa.Text,
    Kind.REAL: sa.Double,
    Kind.BOOLEAN: sa.Boolean,
    Kind.DATE: sa.Date,
    Kind.TIMESTAMP: sa.DateTime,
}
"""SQL type of the values of each kind."""
_FIRST = {Kind.DATE: date.min, Kind.TIMESTAMP: datetime.min}  # noqa: DTZ901 - columns have no zone
_LAST = {Kind.DATE: date.max, Kind.TIMESTAMP: datetime.max}  # noqa: DTZ901 - columns have no zone
_MOST_CASES = 64  # largest number of edges in nested CASE expressions, whose time grows with it
_SURROGATE = re.compile("[\ud800-\udfff]")
_AFTER_SURROGATES = "\ue000"


class _NumericBoolean(sa.BigInteger):
    """The type of booleans on a server that stores them as numbers."""


class _NextText(sa.Text):
    """The type of a literal that replaces a text with half a surrogate pair: the first text greater than it.

    No engine stores such a text, so it equals no value.
    """


def _is_replaced_literal(operand: Expression) -> bool:
    return isinstance(operand.type, _NextText)


def type_of(kind: Kind | None) -> TypeEngine[Any]:
    """Return the SQL type of the values of a kind; a type without a name if there is no kind."""
    return NULLTYPE if kind is None else TYPES[kind]()


def edges_of(part: NumberRanges) -> list[int] | list[float]:
    """Return the edges of ranges: whole numbers, or doubles that separate the same values."""
    if part.column.kind is Kind.INTEGER:
        return list(map(int, part.edges))
    return [_double_from(edge) for edge in part.edges]


def _double_from(edge: float) -> float:
    """Return the smallest double that is at least an edge, which may be a large whole number between two doubles."""
    nearest = float(edge)
    return nearest if nearest >= edge else nextafter(nearest, inf)


@frozen
class LiteralBlank(tree.Literal):
    """A placeholder for a literal in the shape of a predicate: its kind, and its number in the statement as `value`."""

    value: int

    def __post_init__(self) -> None:
        """Check nothing: the literal that this blank replaces is already checked."""


def shape_of(predicate: tree.Predicate, values: list[Any]) -> tree.Predicate:
    """Return the predicate with a `LiteralBlank` for each literal, and append the literals' values to `values`.

    Predicates of one shape share a statement, which is compiled once. Patterns, and texts with half a surrogate pair,
    belong to the shape. A value of a person that occurs twice has one shape, so that it is computed once.
    """
    shapes: dict[tree.Predicate, tree.Predicate] = {}  # of the conditions inside values of a person

    def condition(where: tree.Predicate) -> tree.Predicate:
        if where not in shapes:
            shapes[where] = _with_blank_literals(with_conditions(where, condition), values)
        return shapes[where]

    return _with_blank_literals(with_conditions(predicate, condition), values)


def _with_blank_literals(predicate: tree.Predicate, values: list[Any]) -> tree.Predicate:
    """Return the predicate with a `LiteralBlank` for each literal outside values of a person."""

    def blank(literal: tree.Literal) -> tree.Literal:
        if isinstance(literal.value, str) and _SURROGATE.search(literal.value):
            return literal
        values.append(literal.value)
        return LiteralBlank(literal.kind, len(values) - 1)

    match predicate:
        case tree.Comparison(left, operator, tree.Literal() as right):
            return tree.Comparison(left, operator, blank(right))
        case tree.Range(column, low, high):
            return tree.Range(column, blank(low), blank(high))
        case tree.Membership(column, choices):
            return tree.Membership(column, tuple(map(blank, choices)))
        case tree.Not(operand):
            return tree.Not(_with_blank_literals(operand, values))
        case tree.And(operands) | tree.Or(operands):
            return type(predicate)(tuple(_with_blank_literals(each, values) for each in operands))
        case _:
            return predicate


def blank_name(number: int) -> str:
    """Return the name of the bind parameter for a blank, a literal that a prepared statement leaves open."""
    return f"value_{number}"


def key_type(part: GroupBy, dialect: Dialect) -> TypeEngine[Any]:
    """Return the SQL type of the codes of a grouping: the type of the values if the engine can group by values."""
    kind = part.column.kind if isinstance(part, EachValue) else Kind.INTEGER
    is_coded = {Kind.DATE: not dialect.keeps_keys, Kind.BOOLEAN: not dialect.has_booleans}
    if kind is Kind.TEXT:
        return dialect.text_type
    return sa.BigInteger() if is_coded.get(kind) else type_of(kind)


def key_code(key: Key, dialect: Dialect) -> Any:  # noqa: ANN401 - of the type of the part
    """Return the value by which an engine groups a key: the key itself, or a number in its place.

    Example:
        >>> key_code(date(2020, 1, 31), Dialect()), key_code(True, Dialect()), key_code(None, Dialect())
        (20200131, True, None)
    """
    if isinstance(key, bool):
        return key if dialect.has_booleans else int(key)
    if isinstance(key, date) and not dialect.keeps_keys:
        return key.year * 10_000 + key.month * 100 + key.day
    return key


def key_of_code(part: GroupBy, code: Any) -> Key:  # noqa: ANN401 - as an engine gives it
    """Return the key that a code of a grouping represents."""
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
            return code  # type: ignore[no-any-return]  # as the engine returns it


def is_inside(part: GroupBy, key: Expression, dialect: Dialect) -> Expression | None:
    """Return the condition that a key belongs to a group, or None if every key does."""
    if not isinstance(part, EachValue) or (part.column.kind is Kind.DATE and not dialect.keeps_keys):
        return sa.or_(key.is_(sa.null()), key != OUTSIDE)
    if part.column.kind is Kind.DATE:
        return sa.or_(key.is_(sa.null()), _has_year(key, Kind.DATE))
    return None


def _has_year(moment: Expression, kind: Kind) -> Expression:
    """Return the condition that a date or time is in the years 1 to 9999. Infinite ones are not."""
    first, last = (sa.literal(ends[kind], TYPES[kind]()) for ends in (_FIRST, _LAST))
    return moment.between(first, last)


def is_wide(part: GroupBy) -> bool:
    """Return True if a grouping has more edges than nested CASE expressions are fast for."""
    return isinstance(part, NumberRanges) and len(part.edges) > _MOST_CASES


def _range_index(value: Expression, edges: Sequence[Expression], first: int) -> Expression:
    """Return the index of the range of a number, by nested CASE expressions that halve the edges."""
    if not edges:
        return whole(first - 1) if first else OUTSIDE
    middle = len(edges) // 2
    return sa.case(
        (value >= edges[middle], _range_index(value, edges[middle + 1 :], first + middle + 1)),
        else_=_range_index(value, edges[:middle], first),
    )


def _comparison_of_values(left: Expression, operator: tree.Operator, right: Expression) -> Expression:
    """Return a comparison of two values of one kind; unknown if one is missing."""
    if not _is_replaced_literal(right):
        truth: Expression = tree.TESTS[operator](left, right)
        return truth
    if operator in {tree.Operator.EQUAL, tree.Operator.NOT_EQUAL}:
        return left == left if operator is tree.Operator.NOT_EQUAL else _false_if_present(left)  # noqa: PLR0124 - unknown if the value is missing
    is_before = operator in {tree.Operator.LESS, tree.Operator.AT_MOST}
    return left < right if is_before else left >= right


def _false_if_present(value: Expression) -> Expression:
    """Return an expression that is false, or unknown if the value is missing."""
    return value != value  # noqa: PLR0124 - missing values make it unknown


def is_nan(value: Expression) -> Expression:
    """Return the condition that a double is NaN: NaN and −NaN are both greater than the largest double."""
    largest: Expression = sa.literal(_LARGEST, sa.Double())
    return sa.and_(value > largest, -value > largest)


_LARGEST = 1.7976931348623157e308


def _common_kind(left: tree.Column, right: tree.Column | tree.Literal) -> Kind:
    return Kind.REAL if Kind.REAL in (left.kind, right.kind) else left.kind


_NINTH_DIGIT = 100_000_000  # added to a date of eight digits, so that leading zeros stay


@frozen
class Person:
    """The column that names persons."""

    value: Expression  # the person of a record
    kind: Kind | None  # None: another type whose values have one text each
    is_required: bool = False  # True if the engine refuses missing values


@frozen
class StatementRecords:
    """The records of a table, and expressions over their columns."""

    table: sa.FromClause
    of_column: Callable[[tree.Column], Expression]  # values of a column in the type of its kind
    person: Person | None  # None: every record is a unit
    dialect: Dialect
    uses_indexes: bool = False  # True if only matching records are read: faster, but the time reveals their number
    is_one_row_a_person: bool = False  # True if no person has two records

    def value(self, column: tree.Column, kind: Kind | None = None) -> Expression:
        """Return the value of a column, as its own kind, or whole numbers as reals."""
        if isinstance(column, Shifted):
            return self._shifted_moment(column)
        if column.is_parsed:
            return parsed_value(self.of_column(column.stored), column.kind, self.dialect)
        value = self.of_column(column)
        if column.kind is Kind.BOOLEAN and not self.dialect.has_booleans:
            return sa.type_coerce(value, _NumericBoolean)
        return value if kind in {None, column.kind} else self.dialect.double(value)

    def _shifted_moment(self, column: Shifted) -> Expression:
        """Return a date or time that is moved by a duration; missing outside the years 1 to 9999."""
        moment = self.value(column.base)
        first, last = column.bounds
        if first > last:
            return sa.cast(sa.null(), type_of(column.kind))
        ends: tuple[date, date] = (first, last)
        if column.kind is Kind.TIMESTAMP:
            ends = (datetime.combine(first, time.min), datetime.combine(last, time.max))
        low, high = (sa.literal(end, type_of(column.kind)) for end in ends)
        return sa.case((moment.between(low, high), self.dialect.moved(moment, column)))

    def condition(self, predicate: tree.Predicate) -> Expression:
        """Return an expression that is true, false or unknown as the predicate is."""
        match predicate:
            case tree.Constant(value):
                return whole(1) == whole(int(value))  # a condition on every server
            case tree.Flag(column):
                flag = self.value(column)
                return flag == whole(1) if isinstance(flag.type, _NumericBoolean) else flag
            case tree.Not(operand):
                return sa.not_(self.condition(operand))
            case tree.And(operands):
                return sa.and_(*map(self.condition, operands))
            case tree.Or(operands):
                return sa.or_(*map(self.condition, operands))
            case _:
                return self._test_expression(predicate)

    def _test_expression(
        self, test: tree.Comparison | tree.Range | tree.Membership | tree.Pattern | tree.Missing
    ) -> Expression:
        match test:
            case tree.Comparison(left, operator, right):
                kind = _common_kind(left, right)
                return _comparison_of_values(self.value(left, kind), operator, self._operand_expression(right, kind))
            case tree.Range(column, low, high):
                kind = _common_kind(column, low)
                value = self.value(column, kind)
                first, last = (self._operand_expression(end, kind) for end in (low, high))
                is_exclusive = _is_replaced_literal(last)
                return sa.and_(value >= first, value < last) if is_exclusive else value.between(first, last)
            case tree.Membership(column, choices):
                kind = _common_kind(column, choices[0])
                value = self.value(column, kind)
                operands = [self._operand_expression(choice, kind) for choice in choices]
                possible = [operand for operand in operands if not _is_replaced_literal(operand)]
                return value.in_(possible) if possible else _false_if_present(value)
            case tree.Pattern(column, pattern):
                text = self.value(column)
                if _SURROGATE.search(pattern):
                    return _false_if_present(text)
                return self.dialect.is_like(text, pattern)
            case tree.Missing(column):
                return self.value(column).is_(sa.null())

    def _operand_expression(self, operand: tree.Column | tree.Literal, kind: Kind) -> Expression:
        """Return the operand as a value of the kind. A literal is a bound value, never part of the statement's text."""
        if isinstance(operand, tree.Column):
            return self.value(operand, kind)
        value = operand.value
        if isinstance(operand, LiteralBlank):
            type_ = self.dialect.text_type if kind is Kind.TEXT else type_of(kind)
            return sa.bindparam(blank_name(operand.value), type_=type_)
        if kind is Kind.TEXT:
            return self._bound_text(str(value))
        if kind is Kind.BOOLEAN and not self.dialect.has_booleans:
            return sa.type_coerce(whole(int(bool(value))), _NumericBoolean)
        return sa.literal(float(value) if kind is Kind.REAL else value, type_of(kind))  # type: ignore[arg-type]  # a number

    def _bound_text(self, value: str) -> Expression:
        """Return a text as a bound value; for a text with half a surrogate pair, the first text greater than it."""
        half = _SURROGATE.search(value)
        if half is None:
            return self.dialect.text_literal(value)
        following = self.dialect.text_literal(value[: half.start()] + _AFTER_SURROGATES)
        return sa.type_coerce(following, _NextText())

    def key(self, part: GroupBy) -> Expression:
        """Return the code of a record's key in a grouping; missing if its value is missing."""
        column, value = part.column, self.value(part.column)
        match part:
            case NumberRanges():
                return self._range_index(part, value)
            case Period(_, span):
                return self._if_in_years(value, column.kind, self._period_number(value, span))
            case _ if column.kind is Kind.INTEGER:
                return self.dialect.integer(value)
            case _ if column.kind is Kind.DATE and not self.dialect.keeps_keys:
                year, month, day = (self.dialect.part(name, value) for name in ("year", "month", "day"))
                digits = year * whole(10_000) + month * whole(100) + day
                return self._if_in_years(value, column.kind, digits)
            case _:
                return value

    def _range_index(self, part: NumberRanges, value: Expression) -> Expression:
        """Return the index of a value's range, by the engine's own function or by nested CASE expressions."""
        edges = edges_of(part)
        if is_wide(part):
            code = self.dialect.range_code(value, edges)
            if code is not None:
                return code
        bound = [sa.literal(edge, type_of(part.column.kind)) for edge in edges]
        return sa.case((value.is_not(sa.null()), _range_index(value, bound, 0)))

    def _period_number(self, moment: Expression, span: PeriodLength) -> Expression:
        """Return the number year·n + period − 1, for n periods a year."""
        year = self.dialect.part("year", moment) * whole(span.value)
        if span is PeriodLength.YEAR:
            return year
        month = self.dialect.part("month", moment) - whole(1)
        return year + (month if span is PeriodLength.MONTH else month // whole(3))

    def _if_in_years(self, value: Expression, kind: Kind, inside: Expression) -> Expression:
        """Return `inside` for dates in the years 1 to 9999, and `OUTSIDE` for others."""
        return sa.case((_has_year(value, kind), inside), (value.is_not(sa.null()), OUTSIDE))

    def records_with_keys(self, parts: Sequence[GroupBy], where: tree.Predicate | None) -> sa.Subquery:
        """Return all records with keys `k0`, `k1`, …, the unit `u`, and the flag `m` of records that match.

        No record is left out, so that the time of a statement does not reveal how many match. Without a condition there
        is no `m`.
        """
        names = key_names(parts)
        selected: list[Any] = [self.key(part).label(name) for part, name in zip(parts, names, strict=True)]
        if where is not None:
            selected.append(self.dialect.flag(self.condition(where)).label("m"))
        if self.person is not None:
            selected.append(self.person.value.label("u"))
        wide = {name: part for part, name in zip(parts, names, strict=True) if is_wide(part)}
        rows = self.read(sa.select(*selected), [] if where is None else [where])
        return self.dialect.with_ranges(rows, wide).subquery("records")  # type: ignore[arg-type]  # edges

    def read(self, columns: sa.Select[Any], predicates: Sequence[tree.Predicate]) -> sa.Select[Any]:
        """Return columns of all records, or with `uses_indexes` of records that match one of the predicates.

        Records without a unit are always read: they are refused whichever records match.
        """
        entire = columns.select_from(self.table)
        if not self.uses_indexes or not predicates:
            return entire
        conditions = [self.condition(each) for each in predicates]
        if self.person is not None and not self.person.is_required:
            conditions.append(self.person.value.is_(None))
        return entire.where(sa.or_(*conditions))

    def has_no_unit(self, unit: Expression) -> Expression:
        """Return the expression that is 1 for a group with a record without a unit, else 0."""
        if self.person is None or self.person.is_required:
            return NOTHING
        return sa.func.max(sa.case((unit.is_(None), ONE), else_=NOTHING))


def key_names(parts: Sequence[GroupBy]) -> list[str]:
    """Return the names of the keys in statements."""
    return [f"k{number}" for number in range(len(parts))]


def group_hash(parts: Sequence[GroupBy], keys: Sequence[Expression], salt: str, dialect: Dialect) -> Expression:
    """Return the hash of a group with some keys, as `truth.group_text` defines it."""

    def part_text(part: GroupBy, key: Expression) -> Expression:
        text = _key_text(part, key, dialect)
        size = dialect.text(dialect.length(text))
        missing = (key.is_(None), dialect.text_literal("-"))
        return sa.case(missing, else_=size + dialect.text_literal(":") + text)

    texts = [part_text(part, key) for part, key in zip(parts, keys, strict=True)]
    return dialect.md5(reduce(add, texts, dialect.text_literal(salt_text(salt))))


def _key_text(part: GroupBy, key: Expression, dialect: Dialect) -> Expression:
    """Return the text of a key from its code."""
    kind = part.column.kind if isinstance(part, EachValue) else None
    if kind is Kind.BOOLEAN:
        return dialect.truth_text(key)
    if kind is not Kind.DATE or dialect.keeps_keys:
        return dialect.text(key)
    digits = dialect.text(sa.cast(key + whole(_NINTH_DIGIT), sa.BigInteger))
    year, month, day = (dialect.part_of(digits, *span) for span in ((2, 4), (6, 2), (8, 2)))
    dash = dialect.text_literal("-")
    return year + dash + month + dash + day


def mark_kept_pairs(pairs: sa.Select[Any], records: StatementRecords, most: int) -> sa.Select[Any]:
    """Bound the groups per unit: add the flag `kept` to pairs of units and groups, for at most `most` groups a unit.

    Matching groups come first, then a pseudorandom order by a hash of unit and group.

    Args:
        pairs: Rows with the unit `u`, the group's hash `tag`, the flag `m` of pairs that match, and other columns.
        records: The records of the pairs.
        most: The largest number of groups of a unit, at least 1.
    """
    dialect = records.dialect
    kind = None if records.person is None else records.person.kind
    tagged = pairs.subquery("tagged")
    hashed = dialect.hashed(tagged.c.tag + dialect.unit_text(tagged.c.u, kind)).label("hash")
    rows = dialect.evaluated_once(sa.select(tagged, hashed)).subquery("hashed")
    order = sa.func.row_number().over(partition_by=rows.c.u, order_by=[rows.c.m.desc(), dialect.in_order(rows.c.hash)])
    numbered = sa.select(rows, order.label("number")).subquery("numbered")
    is_kept = sa.and_(dialect.is_set(numbered.c.m), numbered.c.number <= whole(most))
    return sa.select(numbered, dialect.flag(is_kept).label("kept"))


def require_units(without_unit: Iterable[Any]) -> None:
    """Raise SourceError if records have no unit.

    `without_unit` has numbers of records without a unit, each as an integer or a flag. When the source was opened, all
    were 0.
    """
    if any(without_unit):
        raise SourceError(
            "records without a unit were added since the opening, and cannot be counted: "
            "fill the units in, or remove those records"
        )
