"""An SQL server as an engine under test: given records in a temporary table, for the conformance suite."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field

from sqlalchemy import Column, Connection, Engine, MetaData, Table

from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.places import ServerPlace
from noisycount.engines.sql.connection import OneConnection, dialect_of, engine_of, without_server_errors
from noisycount.engines.sql.dialect import ServerDialect
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
    place: ServerPlace = field(init=False)
    engine: Engine = field(init=False, repr=False)
    dialect: ServerDialect = field(init=False, repr=False)

    def __post_init__(self) -> None:
        address = self.url.partition("#")[0]
        place = ServerPlace.read(f"{address}#{_NAME}")
        engine = engine_of(place.url, place.shown)
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "engine", engine)
        object.__setattr__(self, "dialect", dialect_of(engine.dialect.name))

    @property
    def identity(self) -> Identity:
        """Name, version and collation of the server."""

        def read() -> Identity:
            with self.engine.connect() as connection:
                self.dialect.begin(connection, None)
                return self.dialect.identity(connection)

        return without_server_errors(self.place.shown, read)

    @contextmanager
    def source(
        self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None = None
    ) -> Iterator[SqlSource]:
        """Yield the records in a temporary table; see `EngineUnderTest.source`."""
        connection = without_server_errors(self.place.shown, self.engine.connect)
        try:
            without_server_errors(self.place.shown, lambda: self._fill_table(connection, records, schema), _DENIED)
            transactions = OneConnection(connection, self.dialect, self.place.shown)
            with SqlSource.from_server(transactions, self.place, unit=unit, columns=None) as source:
                yield source
        finally:
            without_server_errors(self.place.shown, connection.close)

    def _fill_table(self, connection: Connection, records: Sequence[Record], schema: Mapping[str, Kind]) -> None:
        """Make the table and insert the records. The server drops it with the connection."""
        columns = [
            Column(name, self.dialect.column_type(kind), key=f"c{number}")
            for number, (name, kind) in enumerate(schema.items())
        ]
        table = Table(_NAME, MetaData(), *columns, prefixes=self.dialect.temporary)
        rows = [{f"c{n}": each.get(name) for n, name in enumerate(schema)} for each in records]
        with connection.begin():
            table.create(connection)
            if rows:
                connection.execute(table.insert(), rows)
