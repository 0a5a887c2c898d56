"""Several tables of files in one connection, as the view `records` that DuckDB counts."""

from collections.abc import Callable, Mapping, Sequence

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


def join(
    tables: Sequence[TableFacts],
    *,
    openers: Mapping[str, Callable[[duck.Cursors], DuckDBSource]],
    schema: Schema,
    unit: str,
    persons: str | None,
) -> TablesSource:
    """Open several tables in one connection, and return the source that counts them together.

    Args:
        tables: The tables.
        openers: For each table, the function that opens it in a connection.
        schema: The schema of all tables, with qualified names.
        unit: The column of persons, as the data set names it.
        persons: The table that has a row of every person who counts; None: all persons of all tables count.

    Raises:
        SourceError: A table cannot be opened, or a public look-up has a key twice.
    """
    session = duck.Cursors(duck.private_connection())
    try:
        sources = {name: open_table(session) for name, open_table in openers.items()}
        parts = {name: _table_records(source) for name, source in sources.items()}
        records = joined.joined_records(tables, parts, schema.kinds)
        _create_view(session.connection, records, tables, schema)
        duck.lock(session.connection)
        kind = None if records.person is None else records.person.kind
        rows = Schema({**schema.kinds, **({} if kind is None else {UNIT: kind})})
        open_view = session.cursor_for_query
        counting = DuckDBCounting(open_view, UNIT, rows, None, _REFUSAL, parts)
        joined.require_single_keys(tables, counting)
    except BaseException:
        session.close()
        raise
    return TablesSource(tables, sources, schema, unit, persons, counting)


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
