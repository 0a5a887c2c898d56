"""Values of a person, computed from all rows of the person: `count(lab = 'pos')`, `first(day where drug = 'B01')`.

In a predicate such a value stands where a column may stand. `Shifted` is a date or time that is moved by a duration.
Every value is a function of the rows of one person, so that a count of persons moves by at most one if a person joins.
"""

from calendar import monthrange
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from enum import Enum
from typing import TypeVar

from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query import predicate as tree
from noisycount.query.predicate import Column, Operator, Predicate
from noisycount.query.schema import Kind

EVERY_ROW = tree.Constant(value=True)
MOST_NESTED = 3  # largest depth of values inside values: each level takes one more pass over the rows
MILLIONTHS = 10**6  # a real is added as a whole number of millionths
LARGEST_REAL = 9 * 10**12  # largest real that is added
_MOST_YEARS = 10_000  # longest duration

Moment = TypeVar("Moment", bound=date)


class Function(Enum):
    """A function of the rows of a person, by its name in the language."""

    ANY = "any"
    EVERY = "every"
    COUNT = "count"
    SMALLEST = "min"
    LARGEST = "max"
    FIRST = "first"
    LAST = "last"
    TOTAL = "sum"


@frozen
class _ComputedColumn(Column):
    """A value that is computed from columns. Its name is its text in the language, such as `any(x > 1)`."""

    def __str__(self) -> str:
        return f"{tree.short_text(self.name)} ({self.kind.value})"

    @property
    def text(self) -> str:
        """The value as a query writes it."""
        return self.name


# Name of the function that is true of a person of whom `any` is false.
NONE = "none"
OF_CONDITIONS = {Function.ANY: Kind.BOOLEAN, Function.EVERY: Kind.BOOLEAN, Function.COUNT: Kind.INTEGER}
_OF_MOMENTS = {Function.SMALLEST: "first", Function.LARGEST: "last"}
_EXTREMES = {Function.FIRST: Function.SMALLEST, Function.LAST: Function.LARGEST}


@frozen(kw_only=True)
class PersonValue(_ComputedColumn):
    """A value of a person. `PersonValue.from_function` makes it.

    | function | value | without rows |
    | --- | --- | --- |
    | `any` | some row satisfies `where` | false |
    | `every` | each row satisfies `where` | true |
    | `count` | number of rows that satisfy it; with `column`, of the different values in them | 0 |
    | `min`, `max` | smallest or largest value of `column` in these rows | missing |
    | `first`, `last` | smallest `column` of those of these rows that have the first or last `by` | missing |
    | `sum` | sum of `column` in these rows, or the nearest number of 64 bits; see below for reals | 0 |

    Each real is rounded to the next millionth before it is added, so that the sum is equal on every engine and in every
    order of the rows. It is at most 9e12 and at least -9e12; NaN is left out.
    """

    function: Function
    where: Predicate  # condition of the rows from which the value is computed
    column: Column | None = None  # column whose values are compared, counted or added; None: rows are counted
    by: Column | None = None  # column that orders the rows of `first` and `last`

    @classmethod
    def from_function(
        cls,
        function: Function,
        where: Predicate = EVERY_ROW,
        column: Column | None = None,
        by: Column | None = None,
        table: str | None = None,
    ) -> "PersonValue":
        """Return a value of a person, with its kind and its text in the language.

        Args:
            function: The function.
            where: The condition of the rows.
            column: The column whose values are compared, counted or added; None: rows are counted.
            by: The column that orders the rows.
            table: The table of the rows in a data set of several tables; None: that of the columns.

        Raises:
            PredicateError: The function does not apply to the kind of its column, or the columns are of two tables.
        """
        table = _table_of_rows(function, where, [column, by], table)
        kind = OF_CONDITIONS.get(function)
        if kind is None:
            if column is None:
                raise PredicateError(f"where has {function.value}() without a column: write {function.value}(day)")
            _require_kind(function, column, by)
            kind = column.kind
        if by is None:
            function = _EXTREMES.get(function, function)
        name = _value_text(function, where, column, by, table)
        return cls(name=name, kind=kind, function=function, where=where, column=column, by=by, table=table)

    @property
    def negated_text(self) -> str:
        """The negation of a condition of a person, as a query writes it."""
        if self.function is Function.ANY:
            return f"{NONE}{self.name.removeprefix(self.function.value)}"
        return f"not {self.name}"

    @property
    def origin(self) -> Column:
        """Column of the records from which the values come; this value itself for a number of rows or a truth value."""
        return self if self.column is None or self.function is Function.COUNT else self.column.origin

    @property
    def source_name(self) -> str:
        """Name of the column of the records that has the values; empty for a number, a truth and a sum."""
        return "" if self.function is Function.TOTAL or self.origin is self else self.origin.name

    @property
    def stored_columns(self) -> Iterator[Column]:
        """Columns of the records that the value reads."""
        for column in filter(None, (self.column, self.by)):
            yield from column.stored_columns
        yield from tree.columns(self.where)

    @property
    def definition(self) -> "PersonValue":
        """The value as an aggregate of all rows of the person, whatever their table, and without `by`.

        `first(c by d where P)` is the smallest `c` where `P` and `d` is its first value. `any`, `every` and `count` of
        a table have a condition that the rows are of that table; a column is missing in the rows of other tables.
        """
        if self.column is None and self.table is not None:
            is_of_table = tree.Flag(row_flag(self.table))
            if self.function is Function.EVERY:
                return replace(self, where=tree.joined(tree.Or, [tree.Not(is_of_table), self.where]))
            return replace(self, where=tree.joined(tree.And, [is_of_table, self.where]))
        if self.by is None:
            return self
        end = PersonValue.from_function(_EXTREMES[self.function], self.where, self.by)
        is_at_end = tree.Comparison(self.by, Operator.EQUAL, end)
        where = is_at_end if self.where == EVERY_ROW else tree.joined(tree.And, [self.where, is_at_end])
        return replace(self, function=Function.SMALLEST, where=where, by=None)

    def with_where(self, where: Predicate) -> "PersonValue":
        """Return the value with another condition of the rows."""
        if where is self.where:
            return self
        return PersonValue.from_function(self.function, where, self.column, self.by, self.table)


def row_flag(table: str) -> Column:
    """Return the column that is true in the rows of a table, and false in the rows of the other tables."""
    return Column(table, Kind.BOOLEAN)


def _table_of_rows(
    function: Function, where: Predicate, columns: Iterable[Column | None], table: str | None
) -> str | None:
    """Return the table whose rows have the columns of a value. Raise PredicateError if there are two."""
    tables = [each.table for column in columns if column is not None for each in column.stored_columns]
    named = [*dict.fromkeys(each for each in (table, *tables, *_tables_read(where)) if each is not None)]
    if len(named) > 1:
        name = function.value
        raise PredicateError(
            f"where has {name}() about rows of {named[0]} and of {named[1]}, but {name}() reads one table: write "
            f"{name}() for each table, or compare a column of {named[1]} with a value of the person, such as "
            f"first({named[0]}.day)"
        )
    return named[0] if named else None


def _require_kind(function: Function, column: Column, by: Column | None) -> None:
    """Raise PredicateError if a function does not apply to a column."""
    name = function.value
    if function is Function.TOTAL and not column.kind.is_number:
        raise PredicateError(f"where has sum() of {column}: only numbers have a sum")
    if function in {Function.SMALLEST, Function.LARGEST} and column.kind is Kind.BOOLEAN:
        raise PredicateError(f"where has {name}() of {column}: write any({column.text}) or every({column.text})")
    if function in _EXTREMES:
        order = column if by is None else by
        if not order.kind.is_moment and (by is None or order.kind is not Kind.INTEGER):
            raise PredicateError(
                f"where has {name}() in the order of {order}: write {name}(column by day), where day is a column of "
                "dates, times or whole numbers"
            )


def _tables_read(where: Predicate) -> dict[str | None, None]:
    """Return the tables whose rows a condition reads directly, as the keys of a dict in the order of the condition.

    Columns inside values of a person, such as `count(visits)`, are not read directly. None is the only table.
    """
    rows = (operand for operand in tree.operands(where) if value_of(operand) is None)
    return dict.fromkeys(column.table for operand in rows for column in operand.stored_columns)


def _value_text(
    function: Function, where: Predicate, column: Column | None, by: Column | None, table: str | None
) -> str:
    """Return a value as a query writes it."""
    condition = tree.canonical_text(where)
    if table is not None and column is None and table not in _tables_read(where):
        group = f"({condition})" if isinstance(where, tree.Or) else condition
        condition = tree.quoted_name(table) if where == EVERY_ROW else f"{tree.quoted_name(table)} and {group}"
    if column is None:
        return f"{function.value}({condition})"
    name = _OF_MOMENTS.get(function, function.value) if column.kind.is_moment else function.value
    distinct = "distinct " if function is Function.COUNT else ""
    order = "" if by is None else f" by {by.text}"
    of_rows = "" if where == EVERY_ROW else f" where {condition}"
    return f"{name}({distinct}{column.text}{order}{of_rows})"


@frozen(kw_only=True)
class Shifted(_ComputedColumn):
    """A date or time that is moved by a duration. It is missing if the result is outside the years 1 to 9999.

    A month ends with its last day: one month after 31 January is the last day of February.
    """

    base: Column  # date or time that is moved
    months: int = 0  # months, negative for earlier
    days: int = 0  # days, negative for earlier

    @classmethod
    def from_duration(cls, base: Column, amount: int, unit: str) -> "Shifted":
        """Return a column that is moved by days, months or years.

        Raises:
            PredicateError: The column has no dates or times, or the duration is longer than 10,000 years.
        """
        if not base.kind.is_moment:
            raise PredicateError(f"where moves {base} by a duration: only dates and times move")
        if isinstance(base, Shifted):
            raise PredicateError("where moves a date twice: write one duration, such as + 30 days")
        months, days = {"day": (0, amount), "month": (amount, 0), "year": (12 * amount, 0)}[unit]
        if abs(months) > 12 * _MOST_YEARS or abs(days) > 366 * _MOST_YEARS:
            raise PredicateError(f"where has a duration of more than {_MOST_YEARS:,} years: write a shorter one")
        return cls(name=_shifted_text(base, months, days), kind=base.kind, base=base, months=months, days=days)

    @property
    def origin(self) -> Column:
        """Column of the records that has the values."""
        return self.base.origin

    @property
    def source_name(self) -> str:
        """An empty name: a moved date is no value of a column."""
        return ""

    @property
    def stored_columns(self) -> Iterator[Column]:
        """Columns of the records that the value reads."""
        return self.base.stored_columns

    @property
    def in_words(self) -> str:
        """The duration and its direction, such as "30 days after"."""
        return f"{_duration_text(self.months, self.days)} {'before' if min(self.months, self.days) < 0 else 'after'}"

    @property
    def bounds(self) -> tuple[date, date]:
        """First and last day that can be moved within the years 1 to 9999."""
        try:
            if self.days:
                span = timedelta(days=self.days)
                return (date.min, date.max - span) if self.days > 0 else (date.min - span, date.max)
            end = date.max if self.months >= 0 else date.min
            year, month = divmod(12 * end.year + end.month - 1 - self.months, 12)
            if self.months < 0:
                return date(year, month + 1, 1), date.max
            return date.min, date(year, month + 1, monthrange(year, month + 1)[1])
        except (OverflowError, ValueError):  # no day can be moved
            return date.max, date.min

    def shift(self, moment: Moment) -> Moment | None:
        """Return a moment moved by the duration; None if it leaves the years 1 to 9999.

        Example:
            >>> day = Column("day", Kind.DATE)
            >>> Shifted.from_duration(day, 1, "month").shift(date(2026, 1, 31))
            datetime.date(2026, 2, 28)
            >>> Shifted.from_duration(day, 1, "day").shift(date.max)
        """
        try:
            if self.days:
                return moment + timedelta(days=self.days)
            year, month = divmod(12 * moment.year + moment.month - 1 + self.months, 12)
            last = monthrange(year, month + 1)[1]
            return moment.replace(year=year, month=month + 1, day=min(moment.day, last))
        except (OverflowError, ValueError):
            return None


def _shifted_text(base: Column, months: int, days: int) -> str:
    return f"{base.text} {'-' if min(months, days) < 0 else '+'} {_duration_text(months, days)}"


def _duration_text(months: int, days: int) -> str:
    """Return a duration without its sign, such as "30 days"."""
    amount, unit = (days, "day") if not months else (months // 12, "year") if months % 12 == 0 else (months, "month")
    plural = "" if abs(amount) == 1 else "s"
    return f"{abs(amount)} {unit}{plural}"


def value_of(operand: Column) -> PersonValue | None:
    """Return the value of a person on one side of a comparison, without its duration; None for a column of rows."""
    base = operand.base if isinstance(operand, Shifted) else operand
    return base if isinstance(base, PersonValue) else None


def values_in(predicates: Iterable[Predicate | None]) -> Iterator[PersonValue]:
    """Yield the values of a person that predicates compare, without those inside other values."""
    for predicate in predicates:
        for operand in () if predicate is None else tree.operands(predicate):
            if (value := value_of(operand)) is not None:
                yield value


def is_of_person(test: Predicate) -> bool | None:
    """Return True if a test compares only values of a person, False if it reads rows, None without a comparison."""
    of_person = [value_of(operand) is not None for operand in tree.operands(test)]
    return all(of_person) if of_person else None


def row_conditions(predicates: Iterable[Predicate]) -> Iterator[Predicate]:
    """Yield each predicate, and the condition inside each of its functions such as any(…), at any depth."""
    for predicate in predicates:
        yield predicate
        yield from row_conditions(value.where for value in values_in([predicate]))


def require_one_level(predicate: Predicate) -> None:
    """Raise PredicateError if a question joins conditions of rows and of persons, or nests values too deep."""
    levels = [(test, is_of_person(test)) for test in tree.tests(predicate)]
    rows = [test for test, of_person in levels if of_person is False]
    if rows and any(of_person for _, of_person in levels):
        raise _joined_levels_error(rows[0], "with conditions of a person")
    if _nesting_depth([predicate]) > MOST_NESTED:
        raise PredicateError(
            f"where nests values of a person more than {MOST_NESTED} deep, such as any() inside any(): ask less at once"
        )


def _joined_levels_error(test: Predicate, other: str) -> PredicateError:
    """Return the error about a condition of one row that is joined with another condition."""
    text = tree.canonical_text(test)
    return PredicateError(
        f"where joins {tree.short_text(text)}, a condition of one row, {other}: "
        f"write any({text}) if some row of the person shall satisfy it"
    )


def with_rows_of_tables(predicate: Predicate, single_tables: Collection[str]) -> Predicate:
    """Return a predicate about several tables as a condition of the rows of one table, or as a condition of persons.

    If all conditions are about the rows of one table, the predicate is unchanged. Otherwise a condition of the rows of
    a table becomes `any(…)` if the table has one row a person, and raises an error if it has more.

    Args:
        predicate: The predicate.
        single_tables: The tables with one row a person.

    Raises:
        PredicateError: Conditions of rows of a table with many rows a person stand beside other conditions.
    """
    if _single_table(predicate) is not None:
        return predicate

    def of_persons(node: Predicate) -> Predicate:
        table = _single_table(node)
        if table is not None and table in single_tables:
            return tree.Flag(PersonValue.from_function(Function.ANY, node, table=table))
        is_test = not isinstance(node, tree.Not | tree.And | tree.Or)
        if table is not None or (is_test and is_of_person(node) is False):
            raise _joined_levels_error(node, "with conditions of other tables or of a person")
        match node:
            case tree.Not(operand):
                return tree.Not(of_persons(operand))
            case tree.And(operands) | tree.Or(operands):
                groups: dict[str | None, list[Predicate]] = {}
                for operand in operands:
                    groups.setdefault(_single_table(operand), []).append(operand)
                others = groups.pop(None, [])
                rows = [tree.joined(type(node), group) for group in groups.values()]
                return tree.joined(type(node), map(of_persons, [*rows, *others]))
        return node

    return of_persons(predicate)


def _single_table(predicate: Predicate) -> str | None:
    """Return the table if all tests are conditions of the rows of one table; else None."""
    tables = _tables_read(predicate)
    is_of_rows = all(is_of_person(test) is False for test in tree.tests(predicate))
    return next(iter(tables)) if is_of_rows and len(tables) == 1 else None


def row_table(columns: Iterable[Column], predicates: Iterable[Predicate | None]) -> str | None:
    """Return the table whose rows a question reads directly; None if it reads rows only in values of a person.

    Raises:
        PredicateError: The question reads the rows of two tables.
    """
    tables = {column.table: column.text for column in columns if value_of(column) is None}
    for predicate in predicates:
        if predicate is not None:
            tables |= {table: tree.canonical_text(predicate) for table in _tables_read(predicate)}
    tables.pop(None, None)
    if len(tables) > 1:
        one, other = tables.values()
        raise PredicateError(
            f"where is about rows of another table than by: {tree.short_text(other)} beside {tree.short_text(one)}; "
            f"write any({other}) if some row of the person shall satisfy it"
        )
    return next(iter(tables), None)


def _nesting_depth(predicates: Iterable[Predicate]) -> int:
    """Return the depth to which values of a person are nested."""
    return max((1 + _nesting_depth([value.where]) for value in values_in(predicates)), default=0)


def with_conditions(predicate: Predicate, changed: Callable[[Predicate], Predicate]) -> Predicate:
    """Return a predicate in which `changed` was applied to the condition of each value of a person."""
    if not any(values_in([predicate])):
        return predicate

    def with_changed(operand: Column) -> Column:
        if isinstance(operand, Shifted):
            base = with_changed(operand.base)
            return replace(operand, base=base, name=_shifted_text(base, operand.months, operand.days))
        if isinstance(operand, PersonValue):
            return operand.with_where(changed(operand.where))
        return operand

    return tree.with_operands(predicate, with_changed)
