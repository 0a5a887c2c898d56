"""Sources of records for tests. An engine is loaded when a test opens one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from noisycount.query.schema import Kind
from tests.helpers.frames import arrow_table
from tests.helpers.server_tables import table_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from noisycount.engines.interface import Source
    from tests.helpers.postgresql import Server

Record = Mapping[str, object]
OpenSource = Callable[..., "Source"]


@cache
def writing() -> "DuckDBPyConnection":
    """An engine that writes files, started once: that takes longer than most tests."""
    from noisycount.engines.duckdb.connection import private_connection

    return private_connection()


@contextmanager
def database(place: Path | str = ":memory:") -> Iterator["DuckDBPyConnection"]:
    """A DuckDB file, or a new database in memory, of the engine that is started already."""
    with writing().cursor() as connection:
        quoted = str(place).replace("'", "''")
        connection.execute(f"ATTACH '{quoted}' AS made; USE made")
        try:
            yield connection
        finally:
            connection.execute("USE memory; DETACH made")


def write_parquet(path: Path, records: Sequence[Record], schema: Mapping[str, Kind]) -> None:
    """Write records to a Parquet file by way of DuckDB."""
    with writing().cursor() as connection:
        connection.from_arrow(arrow_table(records, schema)).write_parquet(str(path))


def opened_frame(
    made: Callable[..., object],
    records: Sequence[Record],
    schema: Mapping[str, Kind],
    unit: str | None = None,
    columns: Sequence[str] | None = None,
) -> "Source":
    """Open records as a frame."""
    from noisycount.engines.duckdb.frames import FrameSource

    return FrameSource.open(made(records, schema), unit=unit, columns=columns)


def opened_table(
    server: "Server",
    records: Sequence[Record],
    schema: Mapping[str, Kind],
    unit: str | None = None,
    columns: Sequence[str] | None = None,
) -> "Source":
    """Open records as a table of a server."""
    from noisycount.engines.sql.source import SqlSource

    return SqlSource.open(table_of(server, records, schema), unit=unit, columns=columns)
