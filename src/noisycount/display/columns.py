# ruff: noqa: S608 - all names in the SQL of this file are quoted
"""Tables of public values that pandas, Polars, Arrow and DuckDB can read.

`Columns` is the base class of such tables. `select_query` is its SQL, which files of results are written with too.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.texts import label_text
from noisycount.errors import NoisyCountError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation


Cells: TypeAlias = Sequence[int | float | str | bool | None]


class Columns:
    """A table with plain columns, which pandas, Polars, Arrow and DuckDB read.

    Use `pd.DataFrame(table)` or `table.to_pandas()`. A subclass defines `columns`.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def columns(self) -> Mapping[str, Cells]:
            """Cells of each column, by column name. All columns have the same length."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as an Arrow stream (the Arrow PyCapsule interface)."""
        return self._arrow_relation.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dictionary from column names to cells."""
        columns = self.columns
        return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas has no types
        """Return a pandas DataFrame. Raises NoisyCountError if pandas is not installed."""
        with _explain_missing_package():
            return self._arrow_relation.df()

    def to_polars(self) -> Any:  # noqa: ANN401 - Polars is an optional dependency
        """Return a Polars DataFrame. Raises NoisyCountError if Polars is not installed."""
        with _explain_missing_package():
            return self._arrow_relation.pl()

    def to_arrow(self) -> Any:  # noqa: ANN401 - Arrow has no types
        """Return a pyarrow Table. Raises NoisyCountError if pyarrow is not installed."""
        with _explain_missing_package():
            return self._arrow_relation.to_arrow_table()

    @property
    def _arrow_relation(self) -> "DuckDBPyRelation":
        import duckdb  # noqa: PLC0415 - slow to import, and only needed here

        connection = duckdb.connect(":memory:")
        return connection.sql(select_query(self.columns, connection))


@contextmanager
def _explain_missing_package() -> Iterator[None]:
    """Replace an ImportError with a NoisyCountError that names the package to install."""
    try:
        yield
    except ImportError as error:
        raise NoisyCountError(f"{error.name} is not installed: pip install {error.name}") from None


def select_query(columns: Mapping[str, Cells], connection: "DuckDBPyConnection") -> str:
    """Return an SQL query for all rows. The columns are registered on the connection as the view `given`."""
    arrays: dict[str, NDArray[np.generic]] = {}
    expressions: list[str] = []
    for index, (name, cells) in enumerate(columns.items()):
        sql_type, values, missing = _sql_column(cells)
        arrays |= {f"v{index}": values, f"m{index}": missing}
        quoted = name.replace('"', '""')
        expressions.append(f'CASE WHEN NOT m{index} THEN CAST(v{index} AS {sql_type}) END AS "{quoted}"')
    connection.register("given", arrays)
    return f"SELECT {', '.join(expressions)} FROM given"


def free_name(name: str, taken: Container[str]) -> str:
    """Return the name, extended by underscores until no column in `taken` has it.

    Example:
        >>> free_name("level", {"level", "town"})
        'level_'
    """
    while name in taken:
        name += "_"
    return name


def _sql_column(cells: Cells) -> tuple[str, NDArray[np.generic], NDArray[np.bool_]]:
    """Return the SQL type of the cells, their values, and a mask that is True where a cell is missing."""
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
