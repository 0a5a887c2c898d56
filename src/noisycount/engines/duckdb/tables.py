"""Several tables of files in one connection, as the view `records` that DuckDB counts."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from noisycount.engines import dialect as shared
from noisycount.engines import tables as joined
from noisycount.engines.counting import Part
from noisycount.engines.duckdb import connection as duck
from noisycount.engines.duckdb.dialect import DUCKDB, DuckDBCounting, DuckDBDialect
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.expressions import Person, StatementRecords, type_of
from noisycount.engines.table_facts import TableFacts
from noisycount.engines.tables import UNIT, TablesSource
from noisycount.query.person_values import row_flag
from noisycount.query.predicate import Column
from noisycount.query.schema import Schema

_REFUSAL = "the tables cannot be counted: check that their files are whole, and that memory is free"


def join(tables: Sequence[TableFacts], *, schema: Schema, **options: Any) -> TablesSource:  # noqa: ANN401 - of `open_tables`
    """Open several tables in one connection, and return the source that counts them together; see `open_tables`."""
    session = duck.Cursors(duck.private_connection())

    def make_counting(sources: Mapping[str, DuckDBSource]) -> DuckDBCounting:
        parts = {name: _table_records(source) for name, source in sources.items()}
        records = joined.joined_records(tables, parts, schema.kinds)
        _create_view(session.connection, records, tables, schema)
        duck.lock(session.connection)
        kind = None if records.person is None else records.person.kind
        rows = Schema({**schema.kinds, **({} if kind is None else {UNIT: kind})})
        return DuckDBCounting(session.cursor_for_query, UNIT, rows, None, _REFUSAL, parts)

    return joined.open_tables(session, tables, make_counting, schema=schema, **options)


def _table_records(source: DuckDBSource) -> Part:
    """Return the records of a table in its view."""
    kinds = source.schema.entire.kinds

    def value_of(column: Column) -> shared.Expression:
        return sa.column(sa.quoted_name(column.name, quote=True), type_of(column.kind))

    person = None
    if source.unit is not None:
        kind = kinds.get(source.unit)
        value = sa.column(sa.quoted_name(source.unit, quote=True), type_of(kind))
        person = Person(value, kind, is_required=True)
    columns = {name: kinds[name] for name in source.schema}
    return Part(StatementRecords(sa.table(source.view), value_of, person, DuckDBDialect()), columns)


def _create_view(
    connection: duck.Connection, records: StatementRecords, tables: Sequence[TableFacts], schema: Schema
) -> None:
    """Create the view `records` of the rows of all tables: the unit, a flag for each table, and all columns."""
    columns = [row_flag(table.name) for table in tables if table.on is None]
    columns += [Column(name, kind) for name, kind in schema.kinds.items()]
    selected = [records.value(column).label(sa.quoted_name(column.name, quote=True)) for column in columns]
    person = [] if records.person is None else [records.person.value.label(sa.quoted_name(UNIT, quote=True))]
    text, values = shared.text_of(sa.select(*person, *selected).select_from(records.table), DUCKDB)
    if values:
        raise AssertionError("a view has no values")
    duck.without_engine_errors(lambda: connection.execute(f"CREATE VIEW records AS {text}"), _REFUSAL)
