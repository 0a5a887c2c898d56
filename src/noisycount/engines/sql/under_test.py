"""An SQL server as an engine under test: given records in a temporary table, for the conformance suite."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field

from sqlalchemy import Column, MetaData, Table
from sqlalchemy.pool import StaticPool

from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.places import ServerPlace
from noisycount.engines.sql.connection import Server, dialect_of, engine_of, without_server_errors
from noisycount.engines.sql.source import SqlSource
from noisycount.engines.truth import Record
from noisycount.frozen import frozen
from noisycount.query.schema import Kind

_NAME = "noisycount_made_records"
_DENIED = "lets this account make no temporary tables: let its owner grant TEMPORARY on the database"


@frozen
class ServerUnderTest:
    """A server on which the account may make temporary tables; it needs no other right."""

    url: str = field(repr=False)  # may name a table after a #, which is not read

    @property
    def place(self) -> ServerPlace:
        """Temporary table of the records."""
        return ServerPlace.read(f"{self.url.partition('#')[0]}#{_NAME}")

    @property
    def identity(self) -> Identity:
        """Name, version and collation of the server."""

        def read(server: Server) -> Identity:
            with server.transaction() as connection:
                return server.dialect.identity(connection)

        with self._server() as server:
            return without_server_errors(server.shown, lambda: read(server))

    @contextmanager
    def source(
        self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None = None
    ) -> Iterator[SqlSource]:
        """Yield the records in a temporary table; see `EngineUnderTest.source`."""
        with self._server() as server:
            without_server_errors(server.shown, lambda: _fill_table(server, records, schema), _DENIED)
            with SqlSource.open(self.place, unit=unit, columns=None, session=server) as source:
                yield source

    @contextmanager
    def _server(self) -> Iterator[Server]:
        """Yield the server, with a single connection for all transactions, so that they see its temporary tables."""
        place = self.place
        engine = engine_of(place.url, place.shown, StaticPool)
        try:
            yield Server(engine, dialect_of(engine.dialect.name), place.shown)
        finally:
            without_server_errors(place.shown, engine.dispose)


def _fill_table(server: Server, records: Sequence[Record], schema: Mapping[str, Kind]) -> None:
    """Make the table and insert the records. The server drops it with the connection."""
    columns = [
        Column(name, server.dialect.column_type(kind), key=f"c{number}")
        for number, (name, kind) in enumerate(schema.items())
    ]
    table = Table(_NAME, MetaData(), *columns, prefixes=server.dialect.temporary)
    rows = [{f"c{n}": each.get(name) for n, name in enumerate(schema)} for each in records]
    with server.engine.begin() as connection:
        table.create(connection)
        if rows:
            connection.execute(table.insert(), rows)
