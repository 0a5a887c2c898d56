# ruff: noqa: S608, as all SQL here is made of names that it quotes
"""The view `records`: the columns that queries may use, each converted to the type of its kind.

`typed_values` has the SQL that brings a column to that type, and `create_records` makes the view.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from noisycount.engines.duckdb.connection import Connection, quoted_name, without_engine_errors
from noisycount.engines.interface import missing_units_error
from noisycount.query.schema import Kind, Schema

# DuckDB rounds nanoseconds, even over midnight. This cuts them off, also before 1970, where the remainder is negative.
# Infinite and missing moments have no number of nanoseconds.
_NANOSECONDS = (
    "coalesce(make_timestamp(epoch_ns({0}) // 1000 - (epoch_ns({0}) % 1000 < 0)::BIGINT), TRY_CAST({0} AS TIMESTAMP))"
)
# Moments are converted to UTC. Infinite moments have no number of microseconds.
_UTC = "coalesce(make_timestamp(epoch_us({0})), TRY_CAST({0} AS TIMESTAMP))"
_INTEGERS = "tinyint, smallint, integer, bigint, utinyint, usmallint, uinteger, ubigint"
_TIMES = "timestamp, timestamp_s, timestamp_ms"
# For each kind: its type in DuckDB, the types that are converted to it, and the conversion, which keeps the order and
# never fails.
_COLUMNS = (
    (Kind.INTEGER, "BIGINT", _INTEGERS, "{}"),
    (Kind.REAL, "DOUBLE", "float, double, decimal", "CAST({} AS DOUBLE)"),
    (Kind.TEXT, "VARCHAR", "varchar, enum, time", 'CAST({} AS VARCHAR) COLLATE "binary"'),
    (Kind.BOOLEAN, "BOOLEAN", "boolean", "{}"),
    (Kind.DATE, "DATE", "date", "{}"),
    (Kind.TIMESTAMP, "TIMESTAMP", _TIMES, "TRY_CAST({} AS TIMESTAMP)"),
    (Kind.TIMESTAMP, "TIMESTAMP", "timestamp_ns, timestamptz_ns", _NANOSECONDS),
    (Kind.TIMESTAMP, "TIMESTAMP", "timestamp with time zone", _UTC),
)
SQL_TYPES = {kind: type_ for kind, type_, *_ in _COLUMNS}
# For each type that is read: the kind of its columns, and the SQL that converts a column.
READ_TYPES = {type_: (kind, conversion) for kind, _, types, conversion in _COLUMNS for type_ in types.split(", ")}


_NOT_COMPUTED = "table names a view whose cells cannot all be computed: mend the view, or name a table"
_NOT_KEPT = "table names a view that needs more memory than there is, as it is computed once and kept: make it a table"
_EXACT_DIGITS = 15  # every double keeps as many
_REASONS = {
    "TIME": "the file says that they are times of day, which are texts such as '08:30:00' here",
    "TIMESTAMP WITH TIME ZONE": "the file says so, and they are read in UTC",
    "TIMESTAMP_NS": "the file says so, and what is finer than microseconds is cut off",
}


def create_records(
    connection: Connection, relation: str, selected: Sequence[str], name: str = "records", *, is_computed: bool = False
) -> None:
    """Create the view of the selected columns of a relation.

    Args:
        connection: The connection.
        relation: SQL of the relation.
        selected: SQL of each column.
        name: The name of the view.
        is_computed: True if the relation is a view of the owner's file. Its rows are then computed once, here: a query
            must not fail at a record whose cells cannot be computed.
    """
    view = f"{name} AS SELECT {', '.join(selected) or '1'} FROM {relation}"
    if is_computed:
        create_table = lambda: connection.execute(f"CREATE TABLE {view}")  # noqa: E731 - one use
        without_engine_errors(create_table, _NOT_COMPUTED, _NOT_KEPT)
    else:
        connection.execute(f"CREATE VIEW {view}")


def column_types(connection: Connection, relation: str) -> dict[str, str]:
    """Return the type of each column of a relation, as DuckDB names it."""
    described = connection.sql(f"SELECT * FROM {relation}")
    return {
        name: "json" if str(type_) == "JSON" else type_.id  # JSON is stored as varchar
        for name, type_ in zip(described.columns, described.types, strict=True)
    }


def type_reason(type_: str) -> str:
    """Return the reason why a column of a DuckDB type has its kind, and the precision that is lost.

    Example:
        >>> type_reason("DECIMAL(38,2)")
        'the file says so, and of more than 15 digits the nearest number is taken'
    """
    decimal = re.fullmatch(r"DECIMAL\(([0-9]+),[0-9]+\)", type_)
    if decimal and int(decimal[1]) > _EXACT_DIGITS:
        return "the file says so, and of more than 15 digits the nearest number is taken"
    return _REASONS.get(type_, "the file says so")


def whole_schema(types: Mapping[str, str]) -> Schema:
    """Return the schema of columns of these types. Columns of types that cannot be read become `others`."""
    return Schema(
        {name: READ_TYPES[type_][0] for name, type_ in types.items() if type_ in READ_TYPES},
        {name: type_ for name, type_ in types.items() if type_ not in READ_TYPES},
    )


def require_units(connection: Connection, relation: str, unit: str | None) -> None:
    """Raise SourceError if a record has no unit."""
    if unit is None:
        return
    total, with_unit = connection.execute(f"SELECT count(*), count({quoted_name(unit)}) FROM {relation}").fetchall()[0]
    if with_unit < total:
        raise missing_units_error(unit)


def typed_values(types: Mapping[str, str], names: Iterable[str], nan_missing: Collection[str] = ()) -> dict[str, str]:
    """Return the SQL of each column, by name: its values, converted to the type of its kind.

    Args:
        types: The type of each column.
        names: The columns.
        nan_missing: Columns of reals in which NaN is a missing value.
    """
    values = {name: READ_TYPES[types[name]][1].format(quoted_name(name)) for name in names}
    for name in nan_missing:
        if name in values:
            values[name] = f"CASE WHEN NOT isnan({values[name]}) THEN {values[name]} END"
    return values
