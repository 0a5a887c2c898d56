# ruff: noqa: S608, as all SQL here is made of names that it quotes
"""The DuckDB engine under the conformance tests.

`DuckDBUnderTest` counts tables of made-up records in temporary files.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from noisycount.engines.conformance.certificate import Identity
from noisycount.engines.duckdb.connection import quoted_name, without_engine_errors
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.duckdb.table import SQL_TYPES
from noisycount.engines.truth import Record
from noisycount.frozen import frozen
from noisycount.query.schema import Kind

_TABLE = "records"
_AT_ONCE = 200  # rows of one statement


@frozen
class DuckDBUnderTest:
    """The DuckDB engine, tested on files in a temporary folder."""

    @property
    def identity(self) -> Identity:
        """Identity of the installed DuckDB."""
        major, minor, *_ = duckdb.__version__.split(".")
        return Identity("duckdb", f"{major}.{minor}", "binary (UTF8)")

    @contextmanager
    def source(
        self, records: Sequence[Record], schema: Mapping[str, Kind], unit: str | None = None
    ) -> Iterator[DuckDBSource]:
        """Yield a source of the records, from a table of a temporary file."""
        with TemporaryDirectory() as folder:
            path = Path(folder, "records.duckdb")
            without_engine_errors(lambda: _write(path, records, schema), "DuckDB cannot hold such records in a table")
            with DuckDBSource.open(path, unit=unit, table=_TABLE) as source:
                yield source


def _write(path: Path, records: Sequence[Record], schema: Mapping[str, Kind]) -> None:
    columns = ", ".join(f"{quoted_name(name)} {SQL_TYPES[kind]}" for name, kind in schema.items())
    with duckdb.connect(path) as connection:
        connection.execute(f"BEGIN; CREATE TABLE {_TABLE} ({columns})")
        for first in range(0, len(records), _AT_ONCE):
            rows = [[record.get(name) for name in schema] for record in records[first : first + _AT_ONCE]]
            row = f"({', '.join('?' for _ in schema)})"
            connection.execute(f"INSERT INTO {_TABLE} VALUES {', '.join(row for _ in rows)}", [*chain(*rows)])
        connection.execute("COMMIT")
