"""Tables on the server of the tests."""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from noisycount.engines.places import ServerPlace
from noisycount.query.schema import Kind
from tests.helpers.postgresql import Server

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["TYPES", "made_by", "place_of", "table_of"]

TYPES = {
    Kind.INTEGER: "bigint",
    Kind.REAL: "double precision",
    Kind.TEXT: "text",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
}
NUMBERS = itertools.count()


def place_of(server: Server, table: str, user: str = "owner", options: str = "") -> ServerPlace:
    """Return the place of a table of the server."""
    return ServerPlace.read(f"{server.url('postgres', user, options)}#{table}")


def made_by(server: Server, columns: str, *rows: str, before: str = "") -> str:
    """The name of a new table of the owner's, with rows that are written as SQL."""
    name = f"records_{next(NUMBERS)}"
    with server.shell("postgres") as shell:
        shell.execute(f"{before}; CREATE TABLE {name} ({columns})".replace("{}", name).encode())
        for row in rows:
            shell.execute(f"INSERT INTO {name} VALUES ({row})".encode())  # noqa: S608 - our own text
    return name


def table_of(server: Server, records: Sequence[Mapping[str, object]], schema: Mapping[str, Kind]) -> ServerPlace:
    """The place of a new table with some records."""
    from psycopg import sql

    name = f"records_{next(NUMBERS)}"
    columns = [sql.SQL("{} {}").format(sql.Identifier(column), sql.SQL(TYPES[kind])) for column, kind in schema.items()]
    with server.shell("postgres") as shell:
        made = sql.SQL("CREATE TABLE {} ({})")
        shell.execute(made.format(sql.Identifier(name), sql.SQL(", ").join(columns)))
        filled_table(shell, name, records, schema)
    return place_of(server, name)


def filled_table(
    shell: "Connection", name: str, records: Sequence[Mapping[str, object]], schema: Mapping[str, Kind]
) -> None:
    """Write records to a table."""
    from psycopg import sql

    copying = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))
    with shell.cursor() as cursor, cursor.copy(copying) as copy:
        copy.set_types([TYPES[kind] for kind in schema.values()])
        for record in records:
            copy.write_row([record.get(column) for column in schema])
