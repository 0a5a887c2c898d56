"""Values of a person as SQL: aggregates of the rows of each person, in a group or beside each row.

`with_person_values` gives the records that a question about persons counts. If the question reads only values of
persons, these are one row a person; else all rows, each with the values of its person. All rows are read once, and the
work does not depend on which conditions hold.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from noisycount.engines.dialect import NOTHING, ONE, Expression, whole
from noisycount.engines.expressions import Person, StatementRecords, is_nan
from noisycount.query.grouping import GroupBy
from noisycount.query.person_values import EVERY_ROW, LARGEST_REAL, MILLIONTHS, Function, PersonValue, value_of
from noisycount.query.predicate import Column, Flag, Predicate, operands
from noisycount.query.schema import INTEGERS, Kind


def with_person_values(
    records: StatementRecords, predicates: Iterable[Predicate | None], parts: Sequence[GroupBy] = ()
) -> StatementRecords:
    """Return the records with the values of persons that predicates and groupings of a question read.

    The records are returned unchanged if there are no such values.
    """
    asked = [*(part.column for part in parts)]
    for predicate in predicates:
        asked += [] if predicate is None else operands(predicate)
    values = [*dict.fromkeys(value for column in asked if (value := value_of(column)) is not None)]
    if not values or records.person is None:
        return records
    rows = [*dict.fromkeys(each for column in asked if value_of(column) is None for each in column.stored_columns)]
    return _beside_rows(records, values, rows) if rows else _by_person(records, values)


def _by_person(records: StatementRecords, values: Sequence[PersonValue]) -> StatementRecords:
    """Return one record a person, with values of the person."""
    prepared = _with_inner_values(records, values)
    person = _person(prepared)
    selected = [_aggregate(value, prepared).label(_name(number)) for number, value in enumerate(values)]
    grouped = sa.select(person.value.label("u"), *selected).select_from(prepared.table).group_by(person.value)
    return replace(_records_of(grouped.subquery("persons"), prepared, values, ()), is_one_row_a_person=True)


def _beside_rows(
    records: StatementRecords, values: Sequence[PersonValue], columns: Sequence[Column]
) -> StatementRecords:
    """Return all rows with some of their columns, and with values of their person."""
    prepared = _with_inner_values(records, values, columns)
    person = _person(prepared)
    stored = [prepared.value(column.stored).label(f"c{number}") for number, column in enumerate(columns)]
    counted = [value for value in values if value.function is Function.COUNT and value.column is not None]
    ranks = {value: _rank(value, prepared).label(f"d{number}") for number, value in enumerate(counted)}
    selected = [
        _aggregate(value, prepared).over(partition_by=person.value).label(_name(number))
        for number, value in enumerate(values)
        if value not in ranks
    ]
    rows = sa.select(person.value.label("u"), *stored, *selected, *ranks.values()).select_from(prepared.table)
    if ranks:  # the number of different values is the largest rank
        ranked = rows.subquery("ranked")
        kept = [each for each in ranked.c if each.name not in {rank.name for rank in ranks.values()}]
        numbers = [
            sa.func.coalesce(sa.func.max(ranked.c[ranks[value].name]).over(partition_by=ranked.c.u), whole(0)).label(
                _name(values.index(value))
            )
            for value in counted
        ]
        rows = sa.select(*kept, *numbers)
    return _records_of(rows.subquery("rows_of_persons"), prepared, values, columns)


def _with_inner_values(
    records: StatementRecords, values: Sequence[PersonValue], columns: Iterable[Column] = ()
) -> StatementRecords:
    """Return records beside which the values stand that the conditions of other values use."""
    definitions = [value.definition for value in values]
    inner = [*dict.fromkeys(each for value in definitions for each in value.inner)]
    if not inner:
        return records
    read = dict.fromkeys(columns)
    for value in definitions:
        read |= dict.fromkeys(each for column in filter(None, [value.column]) for each in column.stored_columns)
        for operand in operands(value.where):
            read |= {} if value_of(operand) else dict.fromkeys(operand.stored_columns)
    return _beside_rows(records, inner, [*read])


def _records_of(
    table: sa.Subquery, records: StatementRecords, values: Sequence[PersonValue], columns: Sequence[Column]
) -> StatementRecords:
    """Return the records of a subquery that has the person, values of the person, and columns of the rows."""
    shown: dict[Column, Expression] = {column.stored: table.c[f"c{number}"] for number, column in enumerate(columns)}
    for number, value in enumerate(values):
        found: Expression = table.c[_name(number)]
        if value.function is Function.TOTAL:
            found = _within_64_bits(found)
            found = found if value.kind is Kind.INTEGER else records.dialect.double(found) / _real(MILLIONTHS)
        elif value.kind is Kind.BOOLEAN and records.dialect.has_booleans:
            found = found == ONE
        shown[value] = found
    person = Person(table.c.u, _person(records).kind, _person(records).is_required)
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


def _in_millionths(number: Expression) -> Expression:
    """Return a real as the nearest whole number of millionths. NaN is missing; no value can fail."""
    bounded = sa.case(
        (number >= _real(LARGEST_REAL), _real(LARGEST_REAL)),
        (number <= _real(-LARGEST_REAL), _real(-LARGEST_REAL)),
        else_=number,
    )
    millionths = sa.cast(
        sa.func.floor(bounded * _real(MILLIONTHS) + sa.literal_column("0.5", sa.Double)), sa.BigInteger
    )
    return sa.case((sa.not_(is_nan(number)), millionths))


def _real(number: int) -> Expression:
    """Return a constant real."""
    return sa.cast(sa.literal_column(str(number), sa.BigInteger), sa.Double)


def _person(records: StatementRecords) -> Person:
    if records.person is None:
        raise AssertionError("values of a person need records that name persons")
    return records.person


def _name(number: int) -> str:
    return f"p{number}"


def _rows(value: PersonValue, records: StatementRecords) -> Expression | None:
    """Return the condition of the rows from which a value is computed; None for every row."""
    if value.where == EVERY_ROW:
        return None
    return records.dialect.is_set(records.dialect.flag(records.condition(value.where)))


def _of_rows(value: PersonValue, records: StatementRecords, found: Expression) -> Expression:
    """Return an expression in the rows from which a value is computed; it is missing in all other rows."""
    condition = _rows(value, records)
    return found if condition is None else sa.case((condition, found))


def _column_value(value: PersonValue, records: StatementRecords) -> Expression:
    """Return the value of the column, in the rows from which a value of a person is computed."""
    if value.column is None:
        raise AssertionError(f"{value.text} has no column")
    found = records.value(value.column)
    if value.column.kind is Kind.BOOLEAN:
        found = sa.case((records.condition(Flag(value.column)), ONE), (found.is_not(None), NOTHING))
    if value.function is Function.TOTAL and value.column.kind is Kind.REAL:
        found = _in_millionths(found)
    return _of_rows(value, records, found)


def _aggregate(value: PersonValue, records: StatementRecords) -> Any:  # noqa: ANN401 - an aggregate function of SQLAlchemy
    """Return the aggregate function of the rows of a person that gives a value."""
    value = value.definition
    match value.function:
        case Function.ANY | Function.EVERY:
            condition = _rows(value, records)
            is_true: Expression = ONE if condition is None else sa.case((condition, ONE), else_=NOTHING)
            return sa.func.max(is_true) if value.function is Function.ANY else sa.func.min(is_true)
        case Function.COUNT if value.column is None:
            return sa.func.count(_of_rows(value, records, ONE))
        case Function.COUNT:
            return sa.func.count(sa.distinct(_column_value(value, records)))
        case Function.TOTAL:
            return records.dialect.total(_column_value(value, records))
        case Function.SMALLEST:
            return sa.func.min(_column_value(value, records))
        case _:
            return sa.func.max(_column_value(value, records))


def _rank(value: PersonValue, records: StatementRecords) -> Expression:
    """Return the rank of a row's value among the different values of its person; missing if the row has none."""
    found = _column_value(value, records)
    is_missing = sa.case((found.is_(None), ONE), else_=NOTHING)
    order = sa.func.dense_rank().over(partition_by=_person(records).value, order_by=[is_missing, found])
    return sa.case((found.is_not(None), order))
