"""What is in records, for their owner."""

from collections.abc import Mapping

from noisycount.release.question.operands import Column
from noisycount.release.question.schema import Schema
from noisycount.release.sources.check import Check, ColumnCheck
from noisycount.release.sources.spark.kinds import ColumnType
from noisycount.release.sources.spark.records import Records

__all__ = ["checked_columns"]


def checked_columns(records: Records, schema: Schema, types: Mapping[str, ColumnType]) -> Check:
    """How many records there are, and how many cells of each column are missing."""
    make = records.api.functions
    columns = [Column(name, kind) for name, kind in schema.items()]
    given = [
        make.count(records.algebra.column(column, column.kind)).alias(f"n{number}")
        for number, column in enumerate(columns)
    ]
    ((rows, *cells),) = records.frame.agg(make.count(make.lit(1)).alias("rows"), *given).collect()
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
    return Check(rows, (*used, *unused))
