"""Public columns in memory: as a file, and as a stream that every table library reads."""
# ruff: noqa: S608, as all SQL here is made of names that it quotes

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.public_table import table_format
from noisycount.release.sources.duckdb.quoting import quoted_name
from noisycount.release.sources.duckdb.written_file import write_rows
from noisycount.shown.label import label_text

__all__ = ["Cells", "PublicColumns"]

Cells: TypeAlias = Sequence[int | float | str | bool | None]


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
            write_rows(connection, self._registered(connection), out, form)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream, which pandas, Polars, Arrow and DuckDB read."""
        connection = duckdb.connect(":memory:")
        rows = connection.sql(self._registered(connection))
        return rows.__arrow_c_stream__(requested_schema)

    def _registered(self, connection: Connection) -> str:
        """The query of all rows, once the connection knows the columns."""
        given: dict[str, NDArray[np.generic]] = {}
        selected: list[str] = []
        for place, (name, cells) in enumerate(self.columns.items()):
            sql_type, values, missing = _typed(cells)
            given |= {f"v{place}": values, f"m{place}": missing}
            selected.append(
                f"CASE WHEN NOT m{place} THEN CAST(v{place} AS {sql_type}) END AS "
                f"{quoted_name(name)}"
            )
        connection.register("given", given)
        return f"SELECT {', '.join(selected)} FROM given"


def _typed(cells: Cells) -> tuple[str, NDArray[np.generic], NDArray[np.bool_]]:
    """The type of cells in SQL, their values, and which of them are missing."""
    missing = np.array([cell is None for cell in cells], dtype=np.bool_)
    first = next((cell for cell in cells if cell is not None), "")
    if any(isinstance(cell, str) for cell in cells):
        cells, first = [cell if cell is None else label_text(cell) for cell in cells], ""
    if isinstance(first, bool):
        return "BOOLEAN", np.array([bool(cell) for cell in cells], dtype=np.bool_), missing
    if isinstance(first, int):
        return "BIGINT", np.array([cell or 0 for cell in cells], dtype=np.int64), missing
    if isinstance(first, float):
        return "DOUBLE", np.array([cell or 0.0 for cell in cells], dtype=np.float64), missing
    texts = np.empty(len(cells), dtype=object)
    texts[:] = ["" if cell is None else cell for cell in cells]
    return "VARCHAR", texts, missing
