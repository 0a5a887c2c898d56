"""Several tables of one server, which the server joins and counts."""

from collections.abc import Mapping, Sequence
from typing import Any

from noisycount.engines import tables as joined
from noisycount.engines.counting import Part
from noisycount.engines.places import ServedTable, ServerPlace
from noisycount.engines.sql.connection import Server
from noisycount.engines.sql.source import ServerCounting, SqlSource
from noisycount.engines.table_facts import TableFacts
from noisycount.engines.tables import TablesSource
from noisycount.query.schema import Schema


def join(server: ServedTable, tables: Sequence[TableFacts], *, schema: Schema, **options: Any) -> TablesSource:  # noqa: ANN401 - of `open_tables`
    """Open several tables of a server, and return the source that counts them together; see `open_tables`.

    `server` is one of the tables, whose address, account and time-out serve for all.
    """
    if not isinstance(server.place, ServerPlace):
        raise TypeError(f"server must be a place of a server, got {server.place}")
    session = Server.from_place(server.place, server.seconds)

    def make_counting(sources: Mapping[str, SqlSource]) -> ServerCounting:
        parts = {name: Part(source.table.records, source.schema.kinds) for name, source in sources.items()}
        records = joined.joined_records(tables, parts, schema.kinds)
        return ServerCounting(session, "the tables", records, [each.table for each in sources.values()], parts)

    return joined.open_tables(session, tables, make_counting, schema=schema, **options)
