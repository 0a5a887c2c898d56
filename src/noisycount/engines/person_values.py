"""Values of a person as SQL: aggregates of the rows of each person, alone or beside each row.

`with_person_values` gives the records that a question about persons counts. If the question reads only values of
persons, the records have one row for each person. Otherwise each row is extended by the values of its person. If a
condition of rows uses a value of the person, the rows are joined with a query of these values, which reads the rows of
their tables a second time; `with_extremes` avoids this where the smallest or largest value of a column decides. The
work does not depend on which conditions hold.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from noisycount.engines.dialect import NOTHING, ONE, Dialect, Expression, whole
from noisycount.engines.expressions import Person, StatementRecords, is_nan, type_of
from noisycount.query.grouping import GroupBy
from noisycount.query.person_values import (
    EVERY_ROW,
    LARGEST_REAL,
    MILLIONTHS,
    Function,
    PersonValue,
    Shifted,
    row_flag,
    value_of,
    values_in,
    with_conditions,
)
from noisycount.query.predicate import (
    And,
    Column,
    Comparison,
    Flag,
    Missing,
    Not,
    Operator,
    Or,
    Predicate,
    joined,
    operands,
)
from noisycount.query.schema import INTEGERS, Kind


def with_person_values(
    records: StatementRecords, predicates: Iterable[Predicate | None], parts: Sequence[GroupBy] = ()
) -> StatementRecords:
    """Return the records with the per-person values that are used in predicates and groupings of a question.

    The records are returned unchanged if there are no such values.
    """
    asked = [*(part.column for part in parts)]
    for predicate in predicates:
        asked += [] if predicate is None else operands(predicate)
    values = [*dict.fromkeys(value for column in asked if (value := value_of(column)) is not None)]
    if not values or records.person is None:
        return records
    rows = [*dict.fromkeys(each for column in asked if value_of(column) is None for each in column.stored_columns)]
    return _rows_with_person_values(records, values, rows) if rows else _one_row_a_person(records, values)


def with_extremes(predicate: Predicate) -> Predicate:
    """Return an equivalent predicate in which fewer conditions of rows use a value of the person.

    `any(ward = 'ICU' and day > v)` is true exactly if `max(day where ward = 'ICU') > v`, for a value `v` of the person.
    The second form reads the rows once: it needs no value of the person beside each row.
    """
    predicate = with_conditions(predicate, with_extremes)
    match predicate:
        case Flag(PersonValue(function=Function.ANY) as value):
            return _extreme_comparison(value) or predicate
        case Not(operand):
            return Not(with_extremes(operand))
        case And(parts) | Or(parts):
            return joined(type(predicate), map(with_extremes, parts))
    return predicate


_DECIDING = {
    Operator.MORE: Function.LARGEST,
    Operator.AT_LEAST: Function.LARGEST,
    Operator.LESS: Function.SMALLEST,
    Operator.AT_MOST: Function.SMALLEST,
}


def _extreme_comparison(value: PersonValue) -> Predicate | None:
    """Return a comparison of the smallest or largest value of a column that is true exactly if `any` is true.

    Return None unless exactly one of the conditions that `any` joins by `and` uses a value of the person, to bound a
    column of dates, times or whole numbers. The comparison is false, not unknown, if a side is missing.
    """
    parts = value.where.operands if isinstance(value.where, And) else (value.where,)
    others = [part for part in parts if not any(values_in([part]))]
    match [part for part in parts if part not in others]:
        case [Comparison(column, operator, Column() as bound)]:
            if value_of(column) is not None:
                column, operator, bound = bound, operator.mirrored, column
        case _:
            return None
    is_bound = value_of(column) is None and value_of(bound) is not None and operator in _DECIDING
    is_ordered = column.kind is bound.kind and (column.kind.is_moment or column.kind is Kind.INTEGER)
    if not is_bound or not is_ordered or isinstance(column, Shifted):
        return None
    where = joined(And, others) if others else EVERY_ROW
    extreme = PersonValue.from_function(_DECIDING[operator], where, column, table=value.table)
    return And((Not(Missing(extreme)), Not(Missing(bound)), Comparison(extreme, operator, bound)))


def _one_row_a_person(
    records: StatementRecords, values: Sequence[PersonValue], tables: Collection[str] = ()
) -> StatementRecords:
    """Return one record a person, with values of the person.

    Args:
        records: The records.
        values: The values.
        tables: The only tables whose rows are read; empty: all rows are read.
    """
    definitions = [value.definition for value in values]
    inner = [*dict.fromkeys(values_in(value.where for value in definitions))]
    is_read = _rows_of_tables(records, tables)
    if inner:
        columns: dict[Column, None] = {}
        for value in definitions:
            columns |= dict.fromkeys(each for column in filter(None, [value.column]) for each in column.stored_columns)
            for operand in operands(value.where):
                columns |= {} if value_of(operand) else dict.fromkeys(operand.stored_columns)
        records, is_read = _rows_with_person_values(records, inner, [*columns], tables), []
    person = _person_of_query(records)
    selected = [_aggregate_function(value, records).label(_value_name(number)) for number, value in enumerate(values)]
    rows = sa.select(person.value.label("u"), *selected).select_from(records.table).where(*is_read)
    persons = _records_of_query(rows.group_by(person.value).cte(), records, values, ())
    return replace(persons, is_one_row_a_person=True)


def _rows_with_person_values(
    records: StatementRecords, values: Sequence[PersonValue], columns: Sequence[Column], tables: Collection[str] = ()
) -> StatementRecords:
    """Return rows with some of their columns, and with values of their person.

    Args:
        records: The records.
        values: The values.
        columns: The columns of the rows, and flags of tables.
        tables: The only tables whose rows are read. Empty: every person has a row. Rows of tables that only the values
            read are replaced by one row a person, without columns.
    """
    of_values = [*dict.fromkeys(value.table or "" for value in values)]
    of_values = [] if "" in of_values else of_values
    persons = _one_row_a_person(records, values, of_values).table
    of_rows = {column.table or column.name for column in columns}
    replaced = [] if tables else [table for table in of_values if table not in of_rows]
    is_read = [*_rows_of_tables(records, tables), *map(sa.not_, _rows_of_tables(records, replaced))]
    person = _person_of_query(records)
    stored = [records.value(column.stored).label(f"c{number}") for number, column in enumerate(columns)]
    branches = [sa.select(person.value.label("u"), *stored).select_from(records.table).where(*is_read)]
    if replaced:
        cells = [
            _value_without_rows(column, records.dialect).label(f"c{number}") for number, column in enumerate(columns)
        ]
        branches.append(sa.select(persons.c.u, *cells))
    rows = (branches[0] if len(branches) == 1 else sa.union_all(*branches)).subquery()
    joined = sa.select(
        *rows.c,
        *(_default_if_no_row(value, persons.c[_value_name(n)]).label(_value_name(n)) for n, value in enumerate(values)),
    )
    joined = joined.select_from(rows.outerjoin(persons, rows.c.u == persons.c.u))
    return _records_of_query(joined.subquery(), records, values, columns)


def _rows_of_tables(records: StatementRecords, tables: Iterable[str]) -> list[Expression]:
    """Return the condition that a row is of one of some tables, in a list that is empty if there are no tables."""
    conditions = [records.condition(Flag(row_flag(table))) for table in tables]
    return [sa.or_(*conditions)] if conditions else []


def _value_without_rows(column: Column, dialect: Dialect) -> Expression:
    """Return the value of a column in the row of a person without rows: a missing value, or the flag of no table."""
    if column.table is None:
        return whole(1) == whole(0) if dialect.has_booleans else NOTHING
    return sa.cast(sa.null(), dialect.text_type if column.stored.kind is Kind.TEXT else type_of(column.stored.kind))


def _default_if_no_row(value: PersonValue, found: Expression) -> Expression:
    """Return a value of a person; its value without rows if no row of the person was read."""
    default = {Function.ANY: NOTHING, Function.EVERY: ONE, Function.COUNT: whole(0)}.get(value.function)
    return found if default is None else sa.func.coalesce(found, default)


def _records_of_query(
    table: sa.FromClause, records: StatementRecords, values: Sequence[PersonValue], columns: Sequence[Column]
) -> StatementRecords:
    """Return the records of a query that has the person, values of the person, and columns of the rows."""
    shown: dict[Column, Expression] = {column.stored: table.c[f"c{number}"] for number, column in enumerate(columns)}
    for number, value in enumerate(values):
        found: Expression = table.c[_value_name(number)]
        if value.function is Function.TOTAL:
            found = _within_64_bits(found)
            found = found if value.kind is Kind.INTEGER else records.dialect.double(found) / _real_constant(MILLIONTHS)
        elif value.kind is Kind.BOOLEAN and records.dialect.has_booleans:
            found = found == ONE
        shown[value] = found
    person = Person(table.c.u, _person_of_query(records).kind, _person_of_query(records).is_required)
    return StatementRecords(table, shown.__getitem__, person, records.dialect)


def _within_64_bits(total: Expression) -> Expression:
    """Return a sum as a whole number of 64 bits: the nearest one; 0 if nothing was added."""
    least, most = INTEGERS[0], INTEGERS[-1]
    nearest = sa.case(
        (total.is_(None), whole(0)),
        (total > whole(most), whole(most)),
        (total < whole(least), whole(least)),
        else_=total,
    )
    return sa.cast(nearest, sa.BigInteger)


def _rounded_to_millionths(number: Expression) -> Expression:
    """Return a real as the nearest whole number of millionths. NaN is missing; no value can fail."""
    bounded = sa.case(
        (number >= _real_constant(LARGEST_REAL), _real_constant(LARGEST_REAL)),
        (number <= _real_constant(-LARGEST_REAL), _real_constant(-LARGEST_REAL)),
        else_=number,
    )
    millionths = sa.cast(
        sa.func.floor(bounded * _real_constant(MILLIONTHS) + sa.literal_column("0.5", sa.Double)), sa.BigInteger
    )
    return sa.case((sa.not_(is_nan(number)), millionths))


def _real_constant(number: int) -> Expression:
    """Return a constant real."""
    return sa.cast(sa.literal_column(str(number), sa.BigInteger), sa.Double)


def _person_of_query(records: StatementRecords) -> Person:
    if records.person is None:
        raise AssertionError("values of a person need records that name persons")
    return records.person


def _value_name(number: int) -> str:
    return f"p{number}"


def _row_condition(value: PersonValue, records: StatementRecords) -> Expression | None:
    """Return the condition of the rows from which a value is computed; None for every row."""
    if value.where == EVERY_ROW:
        return None
    return records.dialect.is_set(records.dialect.flag(records.condition(value.where)))


def _in_selected_rows(value: PersonValue, records: StatementRecords, found: Expression) -> Expression:
    """Return an expression that is missing except in the rows from which a value is computed."""
    condition = _row_condition(value, records)
    return found if condition is None else sa.case((condition, found))


def _column_value(value: PersonValue, records: StatementRecords) -> Expression:
    """Return the value of the column, in the rows from which a value of a person is computed."""
    if value.column is None:
        raise AssertionError(f"{value.text} has no column")
    found = records.value(value.column)
    if value.column.kind is Kind.BOOLEAN:
        found = sa.case((records.condition(Flag(value.column)), ONE), (found.is_not(None), NOTHING))
    if value.function is Function.TOTAL and value.column.kind is Kind.REAL:
        found = _rounded_to_millionths(found)
    return _in_selected_rows(value, records, found)


def _aggregate_function(value: PersonValue, records: StatementRecords) -> Any:  # noqa: ANN401 - an aggregate function of SQLAlchemy
    """Return the aggregate function of the rows of a person that gives a value."""
    value = value.definition
    match value.function:
        case Function.ANY | Function.EVERY:
            condition = _row_condition(value, records)
            is_true: Expression = ONE if condition is None else sa.case((condition, ONE), else_=NOTHING)
            return sa.func.max(is_true) if value.function is Function.ANY else sa.func.min(is_true)
        case Function.COUNT if value.column is None:
            return sa.func.count(_in_selected_rows(value, records, ONE))
        case Function.COUNT:
            return sa.func.count(sa.distinct(_column_value(value, records)))
        case Function.TOTAL:
            return records.dialect.total(_column_value(value, records))
        case Function.SMALLEST:
            return sa.func.min(_column_value(value, records))
        case _:
            return sa.func.max(_column_value(value, records))
