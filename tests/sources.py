from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from noisycount.engines.duckdb.connection import private_connection
from noisycount.engines.duckdb.frames import FrameSource
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.interface import Source
from noisycount.engines.memory import MemorySource
from noisycount.engines.sql.source import SqlSource
from noisycount.query.schema import Kind
from tests.engines.frames import FRAMES, arrow_table
from tests.engines.sql.tables import table_of

if TYPE_CHECKING:
    from tests.postgresql import Server

Record = Mapping[str, object]
OpenSource = Callable[..., Source]


@cache
def writing() -> duckdb.DuckDBPyConnection:
    """An engine that writes files, started once: that takes longer than most tests."""
    return private_connection()


@contextmanager
def database(place: Path | str = ":memory:") -> Iterator[duckdb.DuckDBPyConnection]:
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
) -> Source:
    """Open records as a frame."""
    return FrameSource.open(made(records, schema), unit=unit, columns=columns)


def opened_table(
    server: "Server",
    records: Sequence[Record],
    schema: Mapping[str, Kind],
    unit: str | None = None,
    columns: Sequence[str] | None = None,
) -> Source:
    """Open records as a table of a server."""
    return SqlSource.open(table_of(server, records, schema), unit=unit, columns=columns)


@pytest.fixture(params=["memory", "duckdb", "arrow", "polars", "postgresql"])
def open_source(request: pytest.FixtureRequest, tmp_path: Path) -> OpenSource:
    """Open records as one kind of source; options are the unit and the columns."""
    if request.param == "memory":
        return MemorySource
    if request.param == "postgresql":
        return partial(opened_table, request.getfixturevalue("postgresql"))
    if request.param in FRAMES:
        return partial(opened_frame, FRAMES[request.param])

    def opened(records: Sequence[Record], schema: Mapping[str, Kind], **options: object) -> Source:
        path = tmp_path / "records.parquet"
        write_parquet(path, records, schema)
        return DuckDBSource.open(path, **options)

    return opened


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the address of a ledger that is not made yet, in each database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.db"
    server: Server = request.getfixturevalue("postgresql")
    return server.new_url()
