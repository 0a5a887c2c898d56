"""Dialects of SQL servers: sessions, tables, and what differs in the counting statements.

The tests of this project run PostgreSQL and SQLite only; owners of other servers test theirs with `noisycount doctor`.
Each dialect names a collation, or compares bytes, in the order of code points. On a server without a boolean type,
conditions are numbers.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Connection,
    Date,
    DateTime,
    Double,
    Integer,
    String,
    Unicode,
    cast,
    func,
    inspect,
    literal_column,
    type_coerce,
)
from sqlalchemy.dialects import mssql, mysql
from sqlalchemy.types import TypeEngine

from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.dialect import Dialect, Expression
from noisycount.engines.expressions import type_of
from noisycount.engines.sql.table import FoundColumn, FoundName, reflected_columns
from noisycount.engines.views.relations import UnitClaim, unproven_view_error
from noisycount.query.schema import Kind


class ServerDialect(Dialect):
    """The dialect of a server about which nothing is known beyond what SQLAlchemy knows."""

    settings: tuple[str, ...] = ()  # statements that begin a transaction
    temporary: tuple[str, ...] = ("TEMPORARY",)  # words that make a table temporary
    quote: bool | None = None  # True if names are quoted; None: as SQLAlchemy decides

    def begin(self, connection: Connection, seconds: float | None, *, has_own_path: bool = False) -> None:
        """Begin a read-only transaction.

        Args:
            connection: The connection.
            seconds: The time-out of each statement; None: that of the server.
            has_own_path: True if names without a schema use the search path of the account.
        """
        del seconds, has_own_path
        for statement in self.settings:
            connection.exec_driver_sql(statement)

    def search_path(self, connection: Connection) -> Sequence[str]:
        """Return the schemas in which the account looks for names without a schema."""
        del connection
        return ()

    def find_table(self, connection: Connection, schema: str | None, name: str, path: Sequence[str]) -> FoundName:
        """Return the name of a table or view with its schema.

        Args:
            connection: The connection.
            schema: The stated schema; None: the first schema of the path with such a table.
            name: The name of the table.
            path: The result of `search_path`.
        """
        del connection, path
        return FoundName(schema, name)

    def columns(self, connection: Connection, table: FoundName) -> tuple[FoundColumn, ...]:
        """Return the columns of a table or view."""
        return reflected_columns(connection, table.schema, table.name)

    def relation_identities(
        self,
        connection: Connection,  # noqa: ARG002 - PostgreSQL uses it
        table: FoundName,  # noqa: ARG002 - as above
        address: str,  # noqa: ARG002 - as above
        public_tables: Sequence[str],  # noqa: ARG002 - as above
    ) -> tuple[str, ...]:
        """Return an identity of the table that is equal at every address, then those of tables whose records it shares.

        Return () if the server has no such identity.
        """
        return ()

    def require_stable(self, connection: Connection, table: FoundName, claim: UnitClaim) -> None:
        """Raise SourceError for a materialised view unless its owner vouches for it, or states nothing about its rows.

        Other views are refused where their columns are read.
        """
        try:
            names = inspect(connection).get_materialized_view_names(table.schema)
        except NotImplementedError:
            return
        is_known = claim.vouched is not None or not claim.is_stated
        if not is_known and table.name.casefold() in map(str.casefold, names):
            raise unproven_view_error(table.name, claim.unit, "its definition is not read on this server")

    def identity(self, connection: Connection) -> Identity:
        """Return name, version and collation of the server."""
        version = connection.dialect.server_version_info or ()
        number = ".".join(map(str, version[:2])) or "of no stated version"
        return Identity(connection.dialect.name, number, self.collation or "of no stated collation")

    def column_type(self, kind: Kind) -> TypeEngine[Any]:
        """Return the type of a column of a kind in a temporary table."""
        return self.text_type if kind is Kind.TEXT else type_of(kind)


_LONGEST = 4000  # characters of Oracle's texts
_UTC = literal_column("'UTC'", String)
_TIME: TypeEngine[datetime] = mssql.DATETIME2(6)  # type: ignore[no-untyped-call]  # SQLAlchemy has no types here


class SqlServer(ServerDialect):
    """Microsoft SQL Server from 2019 on, and Azure SQL."""

    collation = "Latin1_General_100_BIN2_UTF8"
    text_type: TypeEngine[str] = String()
    has_booleans = False
    most_bound = 2_000
    settings = ("SET DATEFORMAT ymd",)
    temporary = ()

    def column_type(self, kind: Kind) -> TypeEngine[Any]:
        """Return the type of a column of a kind: DATETIME2 for times, as DATETIME has no microseconds."""
        if kind is Kind.TEXT:
            return Unicode()
        return _TIME if kind is Kind.TIMESTAMP else super().column_type(kind)

    def text(self, value: Expression) -> Expression:
        """Return a value as a text in UTF-8. A direct cast would use the character set of the database."""
        return cast(cast(value, Unicode()).collate(self.collation), self.text_type)

    def is_like(self, text: Expression, pattern: str) -> Expression:
        """Return an expression that is true if a text matches a `like` pattern. Brackets are escaped."""
        escaped = pattern.replace("\\", "\\\\").replace("[", "\\[")
        return text.like(self.text_literal(escaped), escape="\\")

    def in_utc(self, moment: Expression) -> Expression:
        """Return a time with a zone as a time in UTC."""
        return cast(moment.op("AT TIME ZONE")(_UTC), _TIME)

    def md5(self, text: Expression) -> Expression:
        """Return the MD5 hash of a text in UTF-8, as hexadecimal digits."""
        hashed = func.hashbytes(literal_column("'MD5'", String), self.text(text))
        digits = func.convert(literal_column("CHAR(32)", String), hashed, literal_column("2", Integer))
        return func.lower(digits)

    def part_of(self, text: Expression, first: int, size: int) -> Expression:
        """Return `size` characters of a text from the character `first` on, counted from 1."""
        return func.substring(text, first, size, type_=self.text_type)

    def length(self, text: Expression) -> Expression:
        """Return the number of characters of a text. LEN alone would not count trailing blanks."""
        return func.len(text + self.text_literal(".")) - literal_column("1")


class _WithoutTranslate(ServerDialect):
    """A server without the function TRANSLATE."""

    def translated(self, text: Expression, characters: str, substitutes: str) -> Expression:
        """Return a text with each of some characters replaced by its substitute."""
        for character, substitute in zip(characters, substitutes, strict=True):
            pair = self.text_literal(character), self.text_literal(substitute)
            text = func.replace(text, *pair, type_=self.text_type)
        return text


class MySQL(_WithoutTranslate):
    """MySQL from 8.0 on."""

    collation = "utf8mb4_0900_bin"
    text_type: TypeEngine[str] = mysql.CHAR(charset="utf8mb4")
    has_booleans = False
    settings = ("SET SESSION time_zone = '+00:00'", "SET SESSION TRANSACTION READ ONLY")

    def double(self, value: Expression) -> Expression:
        """Return a number as a double, by adding a double: older servers have no such cast."""
        return literal_column("0E0", Double) + value


class Oracle(ServerDialect):
    """Oracle Database from 12.2 on."""

    collation = "BINARY"
    text_type: TypeEngine[str] = Unicode(_LONGEST)
    has_booleans = False
    settings = ("SET TRANSACTION READ ONLY",)
    temporary = ("PRIVATE TEMPORARY",)

    def day(self, text: Expression) -> Expression:
        """Return the date of an ISO text, whatever the date format of the session."""
        return func.to_date(text, self.text_literal("YYYY-MM-DD"), type_=Date())


class Sqlite(_WithoutTranslate):
    """SQLite, which has no boolean type. SQLite files are read by DuckDB instead."""

    collation = "BINARY"
    has_booleans = False

    def day(self, text: Expression) -> Expression:
        """Return the text itself, as SQLite stores dates as texts."""
        return type_coerce(text, Date())


class Snowflake(ServerDialect):
    """Snowflake. Texts without a collation are compared by their bytes."""

    collation = "utf8"
    text_type: TypeEngine[str] = String()
    settings = ("ALTER SESSION SET TIMEZONE = 'UTC'",)

    def in_utc(self, moment: Expression) -> Expression:
        """Return a time with a zone as a time in UTC."""
        return func.to_timestamp_ntz(func.convert_timezone(_UTC, moment), type_=DateTime())


class BigQuery(ServerDialect):
    """Google BigQuery."""

    collation = None
    text_type: TypeEngine[str] = String()

    def is_like(self, text: Expression, pattern: str) -> Expression:
        r"""Return an expression that is true if a text matches a `like` pattern. \ is always the escape character."""
        return text.like(self.text_literal(pattern.replace("\\", "\\\\")))

    def md5(self, text: Expression) -> Expression:
        """Return the MD5 hash of a text, as hexadecimal digits."""
        return func.to_hex(func.md5(text))


class Trino(ServerDialect):
    """Trino. Texts have no collation."""

    text_type: TypeEngine[str] = String()
    settings = ("SET TIME ZONE 'UTC'",)

    def in_utc(self, moment: Expression) -> Expression:
        """Return a time with a zone as a time in UTC."""
        return cast(moment.op("AT TIME ZONE")(_UTC), DateTime())

    def md5(self, text: Expression) -> Expression:
        """Return the MD5 hash of a text in UTF-8, as hexadecimal digits."""
        return func.lower(func.to_hex(func.md5(func.to_utf8(text))))

    def length(self, text: Expression) -> Expression:
        """Return the number of characters of a text."""
        return func.length(text)


class Databricks(ServerDialect):
    """Databricks SQL."""

    collation = "UTF8_BINARY"
    text_type: TypeEngine[str] = String()
    settings = ("SET TIME ZONE 'UTC'",)

    def in_utc(self, moment: Expression) -> Expression:
        """Return a time with a zone as a time in UTC, which is the zone of the session."""
        return func.to_timestamp_ntz(moment, type_=DateTime())
