"""Several tables of one server, which the server joins and counts."""

from collections.abc import Callable, Mapping, Sequence

from noisycount.engines import tables as joined
from noisycount.engines.counting import Part
from noisycount.engines.places import ServedTable, ServerPlace
from noisycount.engines.sql.connection import Server
from noisycount.engines.sql.source import ServerCounting, SqlSource
from noisycount.engines.table_facts import TableFacts
from noisycount.engines.tables import TablesSource
from noisycount.query.schema import Schema


def join(  # noqa: PLR0913 - one argument a property of the tables
    server: ServedTable,
    tables: Sequence[TableFacts],
    *,
    openers: Mapping[str, Callable[[Server], SqlSource]],
    schema: Schema,
    unit: str,
    persons: str | None,
) -> TablesSource:
    """Open several tables of a server, and return the source that counts them together.

    Args:
        server: One of the tables, whose address, account and time-out serve for all.
        tables: The tables.
        openers: For each table, the function that opens it on the server.
        schema: The schema of all tables, with qualified names.
        unit: The column of persons, as the data set names it.
        persons: The table that has a row of every person who counts; None: all persons of all tables count.

    Raises:
        SourceError: A table cannot be opened, or a public look-up has a key twice.
    """
    if not isinstance(server.place, ServerPlace):
        raise TypeError(f"server must be a place of a server, got {server.place}")
    session = Server.from_place(server.place, server.seconds)
    sources = {name: open_table(session) for name, open_table in openers.items()}
    parts = {name: Part(source.table.records, source.schema.kinds) for name, source in sources.items()}
    records = joined.joined_records(tables, parts, schema.kinds)

    counting = ServerCounting(session, "the tables", records, [each.table for each in sources.values()], parts)
    joined.require_single_keys(tables, counting)
    return TablesSource(tables, sources, schema, unit, persons, counting)
