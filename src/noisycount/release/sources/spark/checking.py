"""What is in records, for their owner."""

from collections.abc import Mapping

from noisycount.release.question.operands import Column
from noisycount.release.question.schema import Schema
from noisycount.release.sources.check import Check, ColumnCheck
from noisycount.release.sources.spark.kinds import ColumnType
from noisycount.release.sources.spark.records import UNIT, Records

__all__ = ["checked_columns"]


def checked_columns(
    records: Records, schema: Schema, types: Mapping[str, ColumnType], unit: str | None
) -> Check:
    """How many records and persons there are, and how many cells of each column are missing.

    Args:
        records: The records.
        schema: What questions may use.
        types: Of the columns.
        unit: The column that names persons, where the records were read without one.
    """
    make = records.api.functions
    columns = [Column(name, kind) for name, kind in schema.items()]
    given = [
        make.count(records.algebra.column(column, column.kind)).alias(f"n{number}")
        for number, column in enumerate(columns)
    ]
    persons = []
    if records.has_units:
        persons = [make.col(UNIT)]
    elif unit is not None and unit in schema:
        persons = [records.algebra.column(Column(unit, schema[unit]), schema[unit])]
    counts = [*given, *(make.countDistinct(one).alias("persons") for one in persons)]
    ((rows, *told),) = records.frame.agg(make.count(make.lit(1)).alias("rows"), *counts).collect()
    cells, units = told[: len(columns)], told[-1] if persons else None
    used = [
        ColumnCheck(
            column.name,
            column.kind,
            column.kind.value,
            None,
            rows - number,
            reason=types[column.name].reason,
        )
        for column, number in zip(columns, cells, strict=True)
    ]
    unused = [ColumnCheck(name, None, type_, None, 0) for name, type_ in schema.others.items()]
    return Check(rows, (*used, *unused), units=units)
