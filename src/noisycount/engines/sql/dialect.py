"""What SQL servers say in their own way of their sessions, their tables and in the counting statement.

Our own tests have but one of them: the owners of the others test them by `noisycount doctor`. Each has a collation, or
bytes, in the order of code points; where it has no truth values, conditions are kept as numbers.
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
from noisycount.engines.views.claim import UnitClaim
from noisycount.engines.views.stability import unproven_view
from noisycount.query.schema import Kind


class ServerDialect(Dialect):
    """A server that differs from others in nothing that is known, beyond what SQLAlchemy knows."""

    settings: tuple[str, ...] = ()  # the statements that begin a transaction
    temporary: tuple[str, ...] = ("TEMPORARY",)  # the words of a temporary table
    quote: bool | None = None  # whether names stand in quotes; None: where SQLAlchemy finds that they must

    def begin(self, connection: Connection, seconds: float | None, *, has_own_path: bool = False) -> None:
        """The beginning of a transaction.

        `seconds`: after which each statement is given up; None: when the server does. `has_own_path`: whether names
        without a schema are looked for where the account does.
        """
        del seconds, has_own_path
        for statement in self.settings:
            connection.exec_driver_sql(statement)

    def path(self, connection: Connection) -> Sequence[str]:
        """Where the account looks for names without a schema, in a transaction as it begins one."""
        del connection
        return ()

    def found(self, connection: Connection, schema: str | None, name: str, path: Sequence[str]) -> FoundName:
        """A table or view by its name.

        `schema`: as it was stated; None: the first of the path that has such a table. `path`: where the account looks.
        """
        del connection, path
        return FoundName(schema, name)

    def columns(self, connection: Connection, table: FoundName) -> tuple[FoundColumn, ...]:
        """The columns of a table or view."""
        return reflected_columns(connection, table.schema, table.name)

    def relation_identities(
        self,
        connection: Connection,  # noqa: ARG002 - PostgreSQL asks
        table: FoundName,  # noqa: ARG002 - as above
        address: str,  # noqa: ARG002 - as above
        public_tables: Sequence[str],  # noqa: ARG002 - as above
    ) -> tuple[str, ...]:
        """Return what identifies a table by whatever address, then the tables whose records it has; () if unknown."""
        return ()

    def require_stable(self, connection: Connection, table: FoundName, claim: UnitClaim) -> None:
        """Raise SourceError if each row of a materialised view is not known to be of one unit; others are refused."""
        try:
            names = inspect(connection).get_materialized_view_names(table.schema)
        except NotImplementedError:
            return
        is_known = claim.vouched is not None or not claim.is_stated
        if not is_known and table.name.casefold() in map(str.casefold, names):
            raise unproven_view(table.name, claim.unit, "its definition is not read on this server")

    def identity(self, connection: Connection) -> Identity:
        """Which engine answers."""
        version = connection.dialect.server_version_info or ()
        told = ".".join(map(str, version[:2])) or "of no stated version"
        return Identity(connection.dialect.name, told, self.collation or "of no stated collation")

    def column_type(self, kind: Kind) -> TypeEngine[Any]:
        """The type of a column of a kind, in a table of ours."""
        return self.text_type if kind is Kind.TEXT else type_of(kind)


_LONGEST = 4000  # characters of a text of Oracle
_UTC = literal_column("'UTC'", String)
_TIME: TypeEngine[datetime] = mssql.DATETIME2(6)  # type: ignore[no-untyped-call]  # it has no types


class SqlServer(ServerDialect):
    """Microsoft SQL Server from 2019 on, and Azure SQL."""

    collation = "Latin1_General_100_BIN2_UTF8"
    text_type: TypeEngine[str] = String()
    has_booleans = False
    most_bound = 2_000
    settings = ("SET DATEFORMAT ymd",)
    temporary = ()

    def column_type(self, kind: Kind) -> TypeEngine[Any]:
        """The type of a column of a kind: times of microseconds need one of their own."""
        if kind is Kind.TEXT:
            return Unicode()
        return _TIME if kind is Kind.TIMESTAMP else super().column_type(kind)

    def text(self, value: Expression) -> Expression:
        """A value as a text in UTF-8: another cast would take the letters of the database's."""
        return cast(cast(value, Unicode()).collate(self.collation), self.text_type)

    def is_like(self, text: Expression, pattern: str) -> Expression:
        """Whether a text is like a pattern, in which brackets stand for themselves too."""
        escaped = pattern.replace("\\", "\\\\").replace("[", "\\[")
        return text.like(self.text_literal(escaped), escape="\\")

    def in_utc(self, moment: Expression) -> Expression:
        """A moment as a time in UTC."""
        return cast(moment.op("AT TIME ZONE")(_UTC), _TIME)

    def md5(self, text: Expression) -> Expression:
        """The hash of the bytes of a text in UTF-8."""
        hashed = func.hashbytes(literal_column("'MD5'", String), self.text(text))
        digits = func.convert(literal_column("CHAR(32)", String), hashed, literal_column("2", Integer))
        return func.lower(digits)

    def part_of(self, text: Expression, first: int, size: int) -> Expression:
        """So many characters of a text, from one on; the first is 1."""
        return func.substring(text, first, size, type_=self.text_type)

    def length(self, text: Expression) -> Expression:
        """How many characters a text has, with the blanks at its end, which LEN leaves out."""
        return func.len(text + self.text_literal(".")) - literal_column("1")


class _WithoutTranslate(ServerDialect):
    """A server whose SQL replaces one text at a time."""

    def translated(self, text: Expression, characters: str, substitutes: str) -> Expression:
        """Return a text with a substitute in place of each of some characters."""
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
        """A number as a double, which it is beside one: older servers have no such cast."""
        return literal_column("0E0", Double) + value


class Oracle(ServerDialect):
    """Oracle Database from 12.2 on."""

    collation = "BINARY"
    text_type: TypeEngine[str] = Unicode(_LONGEST)
    has_booleans = False
    settings = ("SET TRANSACTION READ ONLY",)
    temporary = ("PRIVATE TEMPORARY",)

    def day(self, text: Expression) -> Expression:
        """Return the day that a text names, whatever form of days the session has."""
        return func.to_date(text, self.text_literal("YYYY-MM-DD"), type_=Date())


class Sqlite(_WithoutTranslate):
    """SQLite, which has no truth values; as a file it is no server."""

    collation = "BINARY"
    has_booleans = False

    def day(self, text: Expression) -> Expression:
        """Return the text, as SQLite keeps days as texts."""
        return type_coerce(text, Date())


class Snowflake(ServerDialect):
    """Snowflake, whose texts without a collation are in the order of their bytes."""

    collation = "utf8"
    text_type: TypeEngine[str] = String()
    settings = ("ALTER SESSION SET TIMEZONE = 'UTC'",)

    def in_utc(self, moment: Expression) -> Expression:
        """A moment as a time in UTC."""
        return func.to_timestamp_ntz(func.convert_timezone(_UTC, moment), type_=DateTime())


class BigQuery(ServerDialect):
    """Google BigQuery."""

    collation = None
    text_type: TypeEngine[str] = String()

    def is_like(self, text: Expression, pattern: str) -> Expression:
        r"""Whether a text is like a pattern; \ always escapes, and cannot be another."""
        return text.like(self.text_literal(pattern.replace("\\", "\\\\")))

    def md5(self, text: Expression) -> Expression:
        """The hash of a text."""
        return func.to_hex(func.md5(text))


class Trino(ServerDialect):
    """Trino, whose texts have no collation."""

    text_type: TypeEngine[str] = String()
    settings = ("SET TIME ZONE 'UTC'",)

    def in_utc(self, moment: Expression) -> Expression:
        """A moment as a time in UTC."""
        return cast(moment.op("AT TIME ZONE")(_UTC), DateTime())

    def md5(self, text: Expression) -> Expression:
        """The hash of the bytes of a text in UTF-8."""
        return func.lower(func.to_hex(func.md5(func.to_utf8(text))))

    def length(self, text: Expression) -> Expression:
        """How many characters a text has."""
        return func.length(text)


class Databricks(ServerDialect):
    """Databricks SQL."""

    collation = "UTF8_BINARY"
    text_type: TypeEngine[str] = String()
    settings = ("SET TIME ZONE 'UTC'",)

    def in_utc(self, moment: Expression) -> Expression:
        """A moment as a time in UTC, which is the zone of the session."""
        return func.to_timestamp_ntz(moment, type_=DateTime())
