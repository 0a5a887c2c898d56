"""Public columns in memory: as a file, and as a stream that every table library reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from noisycount.release.sources.duckdb.public_table import table_format
from noisycount.release.sources.duckdb.written_file import write_rows
from noisycount.shown.columns import Cells, arrow_stream, query_of

__all__ = ["PublicColumns"]


@dataclass(frozen=True, slots=True)
class PublicColumns:
    """Columns that everybody may see.

    Args:
        columns: The cells of each by its name, equally many, each column of one type or None; all
            are texts where one is, such as the name of a range among numbers.

    Example:
        >>> import polars as pl
        >>> pl.DataFrame(PublicColumns({"town": ["Bern", None], "answer": [12, 3]})).rows()
        [('Bern', 12), (None, 3)]
    """

    columns: Mapping[str, Cells]

    def save(self, out: Path) -> None:
        """The writing of all rows, in their order; an older file is replaced when all is written.

        Args:
            out: A .csv, .parquet or .pq file.

        Raises:
            SourceError: It is another file, or cannot be written.
        """
        form = table_format(out)
        with duckdb.connect(":memory:") as connection:
            write_rows(connection, query_of(self.columns, connection), out, form)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream, which pandas, Polars, Arrow and DuckDB read."""
        return arrow_stream(self.columns, requested_schema)
