# ruff: noqa: S608, as all SQL here is made of names that it quotes
"""Columns that everybody may see, as a stream that every table library reads."""

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
    """What has plain columns, which pandas, Polars, Arrow and DuckDB read: `pd.DataFrame(table)`, or `.to_pandas()`."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def columns(self) -> Mapping[str, Cells]:
            """The cells of each column by its name, equally many."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream."""
        return self._relation.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Its rows, each with its cells by the names of their columns."""
        columns = self.columns
        return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas has no types
        """A DataFrame of pandas; NoisyCountError where pandas is not installed."""
        with _installed():
            return self._relation.df()

    def to_polars(self) -> Any:  # noqa: ANN401 - of Polars, which is no need of ours
        """A DataFrame of Polars; NoisyCountError where Polars is not installed."""
        with _installed():
            return self._relation.pl()

    def to_arrow(self) -> Any:  # noqa: ANN401 - Arrow has no types
        """A table of Arrow; NoisyCountError where pyarrow is not installed."""
        with _installed():
            return self._relation.to_arrow_table()

    @property
    def _relation(self) -> "DuckDBPyRelation":
        import duckdb  # noqa: PLC0415 - on first use

        connection = duckdb.connect(":memory:")
        return connection.sql(query_of(self.columns, connection))


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise NoisyCountError(f"{error.name} is not installed: pip install {error.name}") from None


def query_of(columns: Mapping[str, Cells], connection: "DuckDBPyConnection") -> str:
    """The query of all rows, once a connection knows the columns."""
    given: dict[str, NDArray[np.generic]] = {}
    selected: list[str] = []
    for place, (name, cells) in enumerate(columns.items()):
        sql_type, values, missing = _typed(cells)
        given |= {f"v{place}": values, f"m{place}": missing}
        quoted = name.replace('"', '""')
        selected.append(f'CASE WHEN NOT m{place} THEN CAST(v{place} AS {sql_type}) END AS "{quoted}"')
    connection.register("given", given)
    return f"SELECT {', '.join(selected)} FROM given"


def free_name(name: str, taken: Container[str]) -> str:
    """A name that no column has yet.

    Example:
        >>> free_name("level", {"level", "town"})
        'level_'
    """
    while name in taken:
        name += "_"
    return name


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
