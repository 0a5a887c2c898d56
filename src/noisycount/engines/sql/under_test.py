"""A server that makes temporary tables, to be tested."""

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
_DENIED = "may not make temporary tables by this account: let its owner grant TEMPORARY of the database"


@frozen
class ServerUnderTest:
    """A server as a place of temporary tables; its account needs no other right there."""

    url: str = field(repr=False)  # its address, which may name a table behind a #
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
        """Which engine answers."""

        def told() -> Identity:
            with self.engine.connect() as connection:
                self.dialect.begin(connection, None)
                return self.dialect.identity(connection)

        return without_server_errors(self.place.shown, told)

    @contextmanager
    def source(
        self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None = None
    ) -> Iterator[SqlSource]:
        """The records in a temporary table; see `EngineUnderTest.source`."""
        connection = without_server_errors(self.place.shown, self.engine.connect)
        try:
            without_server_errors(self.place.shown, lambda: self._filled(connection, records, schema), _DENIED)
            transactions = OneConnection(connection, self.dialect, self.place.shown)
            with SqlSource.of(transactions, self.place, unit=unit, columns=None) as source:
                yield source
        finally:
            without_server_errors(self.place.shown, connection.close)

    def _filled(self, connection: Connection, records: Sequence[Record], schema: Mapping[str, Kind]) -> None:
        """The making of the table; it is gone with the connection."""
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
