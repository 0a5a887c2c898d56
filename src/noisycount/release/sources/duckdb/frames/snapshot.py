"""Tables in memory, held as they are now, so that nobody changes what will be counted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from noisycount.errors import SourceError
from noisycount.release.sources.duckdb.failures import without_engine_errors
from noisycount.release.sources.duckdb.frames.categories import (
    Categories,
    categories_of,
    with_numbers,
)
from noisycount.release.sources.duckdb.frames.column_names import require_names
from noisycount.release.sources.duckdb.frames.of_pandas import PandasTable
from noisycount.release.sources.duckdb.frames.stream import Streamed
from noisycount.release.sources.duckdb.paths import Connection

__all__ = ["FRAME", "Snapshot"]

FRAME = "frame"
"""What a connection calls the table."""

_LIBRARIES = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, slots=True)
class _Selected:
    """A table of Polars or Arrow, whose columns do not change when those of another do.

    Attributes:
        table: The table.
        categories: Its columns of categories.
    """

    table: Any
    categories: dict[str, Categories]

    @classmethod
    def of(cls, table: Any) -> "_Selected":  # noqa: ANN401 - of Polars or Arrow
        """The table, and its columns of categories."""
        return cls(table, categories_of(table))

    def scanned(self, names: Sequence[str], numbered: Collection[str] = ()) -> object:
        """What DuckDB reads some columns from, some of which as the numbers of categories."""
        chosen = self.table.select(list(names))
        for place, name in enumerate(names):
            if name in numbered:
                chosen = with_numbers(chosen, place, name, self.categories[name])
        return Streamed(chosen)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A table that does not change any more.

    Attributes:
        names: Its columns.
        table: What they are read from; None: a connection has a copy.
    """

    names: tuple[str, ...]
    table: _Selected | PandasTable | None = None

    @classmethod
    def of(cls, frame: Any, connection: Connection) -> "Snapshot":  # noqa: ANN401 - any table
        """The table as it is now.

        Args:
            frame: Of pandas, Polars, Arrow or DuckDB, or any other with `__arrow_c_stream__`.
            connection: Takes a copy of what can be read only once, or is computed when it is read.

        Raises:
            SourceError: It is no such table, or its columns have no names of their own.
        """
        library, kind = _origin(frame)
        match library, kind:
            case "pandas", "DataFrame":
                owned = PandasTable.of(frame)
                snapshot = cls(owned.names, owned)
            case "polars", "DataFrame":
                snapshot = cls(tuple(frame.columns), _Selected.of(frame.clone()))
            case "polars", "LazyFrame":
                raise SourceError("frame is a LazyFrame of Polars: collect() it")
            case "pyarrow", "Table" | "RecordBatch" | "RecordBatchReader":
                table = frame if kind == "Table" else import_module("pyarrow").table(frame)
                snapshot = cls(tuple(table.schema.names), _Selected.of(table))
            case _ if kind != "Series" and hasattr(frame, "__arrow_c_stream__"):
                snapshot = _copied(frame, connection)
            case _:
                raise SourceError(
                    "frame must be a table that has __arrow_c_stream__, such as a DataFrame of "
                    f"pandas or Polars, got {type(frame).__name__}: make it one"
                )
        require_names(snapshot.names)
        return snapshot

    @property
    def parts(self) -> list[tuple[str, ...]]:
        """The columns in groups, each of which is read in one way."""
        return self.table.parts if isinstance(self.table, PandasTable) else [self.names]

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """What the numbers of columns of categories stand for, where they can be had."""
        if not isinstance(self.table, _Selected):
            return {}
        return {name: found.texts for name, found in self.table.categories.items()}

    def attach(
        self, connection: Connection, names: Sequence[str], numbered: Collection[str] = ()
    ) -> None:
        """The table as `frame` on a connection.

        Args:
            connection: Where.
            names: Its columns, at least these.
            numbered: Those that are there as the numbers of their categories.
        """
        chosen = names or self.names[:1]
        if isinstance(self.table, _Selected):
            connection.register(FRAME, self.table.scanned(chosen, numbered))
        elif self.table is not None:
            connection.register(FRAME, self.table.scanned(chosen))


def _origin(frame: object) -> tuple[str, str]:
    """The library of a table and the name of its class, also where it is a subclass."""
    for base in type(frame).__mro__:
        library = base.__module__.split(".")[0]
        if library in _LIBRARIES:
            return library, base.__name__
    return "", ""


def _copied(frame: object, connection: Connection) -> Snapshot:
    """A table that another library computes as it is read, or that can be read only once."""

    def copied() -> tuple[str, ...]:
        connection.register("given", Streamed(frame))
        connection.execute(f"CREATE TABLE {FRAME} AS FROM given")
        connection.unregister("given")
        return tuple(connection.table(FRAME).columns)

    names = without_engine_errors(
        copied,
        "frame cannot be read as a table: check that it can be read more than once, and is open",
        "frame needs more memory than there is: make some free",
    )
    return Snapshot(names)
