"""A table or view of an SQL server, which counts its records: only counts are returned.

`connection` opens transactions, `dialect` and `postgresql` write what differs between servers, `table` reads columns.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.counting import Counting, EngineSource, Part, Reading, Result
from noisycount.engines.counts import KEYS_AT_ONCE
from noisycount.engines.dialect import Expression
from noisycount.engines.expressions import Person, StatementRecords, is_nan, type_of
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import missing_units_error, require_typed
from noisycount.engines.places import ServerPlace
from noisycount.engines.sql import table as tables
from noisycount.engines.sql.connection import Server, without_server_errors
from noisycount.engines.sql.dialect import ServerDialect
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.schema import Kind, Schema


@frozen
class CountedTable:
    """A table whose records are counted."""

    dialect: ServerDialect
    name: tables.FoundName
    columns: tuple[tables.FoundColumn, ...]  # those that questions may use, and the unit
    unit: str | None  # column that names the person; None: every record is a unit
    uses_indexes: bool  # True if only matching records are read: faster, but the time reveals their number
    claim: UnitClaim = UnitClaim()  # the owner's statement about the rows of a view
    nan_missing: frozenset[str] = frozenset()  # columns in which NaN is a missing value

    def __post_init__(self) -> None:
        if self.unit is not None:
            tables.require_unit(self._unit)

    @property
    def records(self) -> StatementRecords:
        """Records as statements read them."""
        values = {
            each.name: sa.case((sa.not_(is_nan(value)), value)) if each.name in self.nan_missing else value
            for each in self.columns
            for value in [self._value(each)]
        }
        person = None
        if self.unit is not None:  # texts differ as the dialect compares texts
            unit, value = self._unit, self._column(self._unit)
            is_text = unit.kind is Kind.TEXT and unit.form is not tables.Form.NAMED
            person = Person(self.dialect.text(value) if is_text else value, unit.kind, unit.is_required)
        return StatementRecords(
            self._clause, lambda column: values[column.name], person, self.dialect, self.uses_indexes
        )

    def require_same(self, connection: sa.Connection) -> None:
        """Raise SourceError if the table changed its columns, may not be read, or is a view that may not be counted.

        An empty read comes first: from then on the transaction keeps the columns from changing.
        """
        columns: list[Expression] = [self._column(each) for each in self.columns]
        connection.execute(sa.select(*(columns or [sa.literal_column("1")])).select_from(self._clause).limit(0))
        if not set(self.columns) <= set(self.dialect.columns(connection, self.name)):
            raise SourceError(f"the columns of {self.name.name!r} changed since its opening: open it again")
        self.dialect.require_stable(connection, self.name, self.claim)

    def require_units(self, connection: sa.Connection) -> None:
        """Raise SourceError if a record has no unit. Skip the search if the server itself refuses such records."""
        self.require_same(connection)
        if self.unit is None or self._unit.is_required:
            return
        value = self._column(self._unit)
        missing = sa.select(sa.func.count()).select_from(self._clause).where(value.is_(None))
        if connection.execute(missing).scalar():
            raise missing_units_error(self.unit)

    @property
    def _unit(self) -> tables.FoundColumn:
        return next(each for each in self.columns if each.name == self.unit)

    def _value(self, found: tables.FoundColumn) -> Expression:
        """Return an expression of a column's values in the type of its kind."""
        value = self._column(found)
        if found.kind is Kind.TEXT:
            return self.dialect.text(value)
        match found.form:
            case tables.Form.ZONED:
                return self.dialect.in_utc(value)
            case tables.Form.DECIMAL:
                return self.dialect.nearest_double(value)
            case tables.Form.CAST:
                return self.dialect.double(value)
            case _:
                return value

    @property
    def _clause(self) -> sa.TableClause:
        columns: list[sa.ColumnClause[Any]] = [
            sa.column(sa.quoted_name(each.name, self.dialect.quote)) for each in self.columns
        ]
        schema = self.name.schema and sa.quoted_name(self.name.schema, self.dialect.quote)
        return sa.table(sa.quoted_name(self.name.name, self.dialect.quote), *columns, schema=schema)

    def _column(self, found: tables.FoundColumn) -> Expression:
        return sa.column(sa.quoted_name(found.name, self.dialect.quote), type_of(found.kind))


_IDENTIFY_TIMEOUT = 10.0  # s, to read a few rows of the server's catalog


@frozen
class ServerReading(Reading):
    """Records that are read in a transaction of a server."""

    records: StatementRecords
    connection: sa.Connection
    parts: Mapping[str, Part] = field(default_factory=dict)

    def rows(self, statement: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        """Return all rows of a statement's result."""
        return self.connection.execute(statement).all()

    def batches(self, statement: sa.Select[Any]) -> Iterator[Sequence[sa.Row[Any]]]:
        """Yield the rows of a statement's result, some at once."""
        result = self.connection.execute(statement)
        yield from iter(lambda: result.fetchmany(KEYS_AT_ONCE), [])


@frozen
class ServerCounting(Counting):
    """The counting of some records of a server."""

    server: Server
    shown: str  # name of the records in messages
    records: StatementRecords
    tables: Sequence[CountedTable]  # tables of the records
    parts: Mapping[str, Part] = field(default_factory=dict)  # records of each of several tables, by its name

    @contextmanager
    def open(self) -> Iterator[ServerReading]:
        """Begin a transaction. Raise SourceError if a table is not as it was at the opening."""
        with self.server.transaction() as connection:
            for table in self.tables:
                table.require_same(connection)
            yield ServerReading(self.records, connection, self.parts)

    def guard(self, work: Callable[[], Result]) -> Result:
        """Run some work and return its result; see `without_server_errors`."""
        return without_server_errors(self.shown, work)


@contextmanager
def _found_table(server: Server, place: ServerPlace) -> Iterator[tuple[sa.Connection, tables.FoundName]]:
    """Find a table on the search path of the account, and yield it with a connection that has no such path."""
    with server.transaction(has_own_path=True) as connection:
        path = server.dialect.search_path(connection)
    with server.transaction() as connection:
        yield connection, server.dialect.find_table(connection, *tables.table_name(place.table), path)


@frozen
class SqlSource(EngineSource):
    """The records of a table or view of a server. Open them with `SqlSource.open`.

    Whole numbers have up to 64 bits; FLOAT and DECIMAL count as DOUBLE; texts of fixed width lose their trailing
    blanks; enumerations and times of day are texts; times with a zone are read in UTC. Texts are compared by code
    points, whatever the collation.
    """

    server: Server
    table: CountedTable  # with the columns as they were at the opening
    schema: Schema  # columns that questions may use
    identity: Identity  # name, version and collation of the server
    shown: str  # name of the records in messages
    unit: str | None  # column that names the person; None: every record is a unit

    @classmethod
    def open(  # noqa: PLR0913 - one argument a property of the records
        cls,
        place: ServerPlace,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        seconds: float | None = None,
        uses_indexes: bool = False,
        claim: UnitClaim | None = None,
        kinds: Mapping[str, ColumnFormat] | None = None,
        session: Server | None = None,
    ) -> "SqlSource":
        """Open the records of a table.

        Args:
            place: The address and the table.
            unit: The column that names the person; None: every record is a unit.
            columns: The columns that questions may use; None: all.
            seconds: The time-out of statements.
            uses_indexes: True if only matching records are read. This is faster, but the time reveals their number.
            claim: What the owner states about the rows of a view; None: its unit only.
            kinds: The columns in which NaN is missing.
            session: The server that several tables share; None: the server of the address.

        Raises:
            SourceError: If the table cannot be read, a record has no unit, or a named column is computed.
        """
        server = session or Server.from_place(place, seconds)
        dialect = server.dialect

        def read() -> SqlSource:
            with _found_table(server, place) as (connection, name):
                identity = dialect.identity(connection)
                all_columns = dialect.columns(connection, name)
                tables.require_stored(all_columns, [unit, *(columns or ())])
                schema = tables.schema_of(all_columns).for_questions(unit, columns)
                used = tuple(each for each in all_columns if each.name in schema or each.name == unit)
                nan_missing = require_typed(place.shown, kinds or {}, schema, unit)
                table = CountedTable(dialect, name, used, unit, uses_indexes, claim or UnitClaim(unit), nan_missing)
                table.require_units(connection)
            return cls(server, table, schema, identity, place.shown, unit)

        return without_server_errors(place.shown, read)

    @classmethod
    def table_names(cls, place: ServerPlace) -> list[str]:
        """Return the names of the tables in the schema of the account, in order."""
        server = Server.from_place(place, _IDENTIFY_TIMEOUT)

        def names() -> list[str]:
            with server.transaction(has_own_path=True) as connection:
                return sorted(sa.inspect(connection).get_table_names())

        return without_server_errors(place.shown, names)

    @classmethod
    def relation_identities(cls, place: ServerPlace, public_tables: Sequence[str]) -> tuple[str, ...]:
        """Return the identity of a table, and those of tables whose records it shares; see `ServerDialect`."""
        server = Server.from_place(place, _IDENTIFY_TIMEOUT)

        def identities() -> tuple[str, ...]:
            with _found_table(server, place) as (connection, name):
                address = "\n".join(place.canonical[:3])
                return server.dialect.relation_identities(connection, name, address, public_tables)

        return without_server_errors(place.shown, identities)

    @property
    def nan_missing(self) -> frozenset[str]:
        """Columns in which NaN is a missing value, as the owner states."""
        return self.table.nan_missing

    @property
    def version(self) -> str:
        """Digest of the table's name and kinds. It does not follow the records of a live table."""
        whole = self.schema.entire
        kinds = {name: kind.value for name, kind in whole.items()}
        nan = [sorted(self.nan_missing)] if self.nan_missing else []
        facts = json.dumps([self.shown, kinds, sorted(whole.others), *nan], sort_keys=True)
        return sha256(facts.encode(errors="surrogatepass")).hexdigest()

    def require_unchanged(self) -> None:
        """Raise SourceError if the records are closed. `prepare` looks for changes."""
        self.server.require_open()

    def prepare(self, columns: Collection[str] | None = None) -> None:  # noqa: ARG002 - all are alike
        """Raise SourceError if the table cannot be counted now; see `Source.prepare`."""
        self._counting(()).run(lambda _: None)

    def _counting(self, columns: Collection[str]) -> ServerCounting:  # noqa: ARG002 - all are alike
        return ServerCounting(self.server, self.shown, self.table.records, [self.table])

    @property
    def type_facts(self) -> dict[str, dict[str, str]]:
        """The `types` and `reasons` of the columns."""
        return {
            "types": {column.name: column.type for column in self.table.columns},
            "reasons": {column.name: column.reason for column in self.table.columns},
        }

    def close(self) -> None:
        """Close the records. A running count is cancelled, and not awaited."""
        self.server.close()
