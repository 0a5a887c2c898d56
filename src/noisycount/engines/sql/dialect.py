"""What SQL servers say in their own way of their sessions and their tables."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.types import TypeEngine

from noisycount.engines.check import Identity
from noisycount.engines.sql.kinds import FoundColumn, FoundName, reflected_columns
from noisycount.engines.statement.dialect import Dialect
from noisycount.engines.statement.expressions import type_of
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

    def identity(self, connection: Connection) -> Identity:
        """Which engine answers."""
        version = connection.dialect.server_version_info or ()
        told = ".".join(map(str, version[:2])) or "of no stated version"
        return Identity(connection.dialect.name, told, self.collation or "of no stated collation")

    def column_type(self, kind: Kind) -> TypeEngine[Any]:
        """The type of a column of a kind, in a table of ours."""
        return self.text_type if kind is Kind.TEXT else type_of(kind)
