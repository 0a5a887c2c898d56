"""Snapshots of tables in memory, and digests of their cells.

A digest does not depend on the library or on the chunks of a table: DuckDB writes the cells as an Arrow stream, and
nanoarrow reads it as arrays that borrow its memory. pyarrow is not needed.
"""
# ruff: noqa: ANN401, as tables are of any library

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.duckdb.connection import Connection, without_engine_errors
from noisycount.errors import SourceError, install_hint
from noisycount.frozen import frozen


class Streamed:
    """A table that shows the engine only its Arrow stream, and hides its library."""

    __slots__ = ("_table",)

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


@frozen
class Cells:
    """Some cells of a column. Their memory is valid until the next cells are read."""

    format: str  # Arrow's name of the type
    missing: NDArray[np.bool_] | None  # True for missing cells; None: none is missing
    values: NDArray[Any]  # values; for texts, the number of bytes of each
    texts: NDArray[np.uint8] | None = None  # bytes of all texts together


def read_cells(stream: object) -> Iterator[Cells]:
    """Yield the cells of a stream of one column, batch by batch."""
    from nanoarrow import c_array_stream  # noqa: PLC0415 - for frames only, and slow to import

    for batch in c_array_stream(stream):
        column = batch.child(0)
        yield _cells_of_batch(column.schema.format, column.view())


def _cells_of_batch(format_: str, column: Any) -> Cells:
    """Return the cells of a column of a batch. Booleans are bits. Texts have two buffers: ends and bytes."""
    is_valid, values, *texts = column.buffers
    missing = ~_unpack_bits(is_valid, column.length) if column.null_count else None
    match format_:
        case "b":
            return Cells(format_, missing, _unpack_bits(values, column.length))
        case "u":
            return Cells(format_, missing, np.diff(np.asarray(values)), np.frombuffer(texts[0], np.uint8))
        case _:
            return Cells(format_, missing, np.asarray(values))


def _unpack_bits(bits: Any, length: int) -> NDArray[np.bool_]:
    """Return bits as an array of booleans."""
    return np.unpackbits(np.frombuffer(bits, "u1"), count=length, bitorder="little").view(np.bool_)


def column_facts(batches: Iterable[Cells]) -> list[object]:
    """Return the format of a column, the number of its cells, and digests of values, texts and missing cells.

    The bytes of a missing cell are arbitrary and left out; its position is part of a digest.
    """
    hashes: list[Any] = [hashlib.sha256() for _ in range(3)]
    values_hash, texts_hash, missing_hash = hashes
    format_, length = "", 0
    for cells in batches:
        values = cells.values
        if cells.missing is not None:
            values = np.where(cells.missing, np.zeros(1, values.dtype), values)
            missing_hash.update((np.flatnonzero(cells.missing) + length).astype("<i8"))
        values_hash.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")))
        if cells.texts is not None:
            texts_hash.update(cells.texts)
        format_, length = cells.format, length + len(values)
    return [format_, length, *(part.hexdigest() for part in hashes)]


def content_hash(columns: Mapping[str, list[object]], rows: int) -> str:
    """Return the digest of records, which depends on their order, but not on the order of columns."""
    text = json.dumps([rows, columns], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


FRAME = "frame"  # name of the table in a connection
_LIBRARIES = ("pandas", "polars", "pyarrow")


@frozen
class Snapshot:
    """A table that no longer changes. This base class is a table `frame` of the connection."""

    names: tuple[str, ...]

    @property
    def parts(self) -> list[tuple[str, ...]]:
        """Groups of columns that are read in the same way."""
        return [self.names]

    def attach(self, connection: Connection, names: Sequence[str]) -> None:
        """Make the table available as `frame` on a connection, with at least the given columns."""

    def category_facts(self, name: str) -> list[object] | None:  # noqa: ARG002 - for tables with categories
        """Return the categories of a column and a digest of their numbers, or a digest of both; None for other columns.

        They are read faster than the texts of all cells. If they are the same again, so are the cells. If not, the
        library may only have numbered other categories.
        """
        return None


def take_snapshot(frame: Any, connection: Connection) -> Snapshot:
    """Take a snapshot of a table.

    Args:
        frame: The table.
        connection: Receives a copy of a table that can be read only once, or is computed when it is read.

    Raises:
        SourceError: If the object is no table, or has columns without a distinct name.
    """
    library, kind = _library_and_class(frame)
    snapshot: Snapshot
    match library, kind:
        case "pandas", "DataFrame":
            snapshot = _PandasTable.from_frame(frame)
        case "polars", "DataFrame":
            snapshot = _ArrowTable(tuple(frame.columns), frame.clone())
        case "polars", "LazyFrame":
            raise SourceError("frame is a LazyFrame of Polars: collect() it")
        case "pyarrow", "Table" | "RecordBatch" | "RecordBatchReader":
            table = frame if kind == "Table" else import_module("pyarrow").table(frame)
            snapshot = _ArrowTable(tuple(table.schema.names), table)
        case _ if kind != "Series" and hasattr(frame, "__arrow_c_stream__"):
            snapshot = _copy_table(frame, connection)
        case _:
            raise SourceError(
                "frame must be a table that has __arrow_c_stream__, such as a DataFrame of "
                f"pandas or Polars, got {type(frame).__name__}: convert it"
            )
    _require_names(snapshot.names)
    return snapshot


def _library_and_class(frame: object) -> tuple[str, str]:
    """Return the library of a table and the name of its class, also for a subclass."""
    for base in type(frame).__mro__:
        library = base.__module__.split(".")[0]
        if library in _LIBRARIES:
            return library, base.__name__
    return "", ""


def _copy_table(frame: object, connection: Connection) -> Snapshot:
    """Copy a table that is computed when it is read, or that can be read only once."""

    def copy() -> tuple[str, ...]:
        connection.register("table_to_copy", Streamed(frame))
        connection.execute(f"CREATE TABLE {FRAME} AS FROM table_to_copy")
        connection.unregister("table_to_copy")
        return tuple(connection.table(FRAME).columns)

    names = without_engine_errors(
        copy,
        "frame cannot be read as a table: check that it can be read more than once, and is open",
        "frame needs more memory than there is: make some free",
    )
    return Snapshot(names)


def _require_names(names: Sequence[str]) -> None:
    """Raise SourceError if columns have no distinct names."""
    if not names:
        raise SourceError("frame has no columns: pass a frame with the columns of the records")
    repeated = [name for name, number in Counter(map(str.lower, names)).items() if number > 1]
    if repeated:
        raise SourceError(f"frame has the name {repeated[0]!r} twice, apart from case: give each column another name")
    for name in names:
        if not name or "\0" in name:
            raise SourceError(f"frame has a column that is named by {name!r}: rename it")


_COPYING_ON_WRITE = 3  # version from which pandas copies shared memory before it writes
_NUMPY_KINDS = "iufbM"
_MASKED = {"boolean", "Float32", "Float64"} | {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
_ARROW_ERRORS = (TypeError, ValueError, OverflowError, NotImplementedError)  # also of pyarrow


@frozen
class _PandasTable(Snapshot):
    """A snapshot of a pandas frame: later writes to the original go to a copy."""

    frame: Any  # shares memory with the original
    arrow: dict[str, Any]  # columns read by pyarrow, as DuckDB would guess their types

    @classmethod
    def from_frame(cls, frame: Any) -> "_PandasTable":
        """Take a snapshot. A level of the index becomes a column if it has a name."""
        levels = [name for name in frame.index.names if name is not None]
        labels = [*frame.columns, *levels]
        strange = next((label for label in labels if not isinstance(label, str)), None)
        if strange is not None:
            raise SourceError(
                f"frame has a column that is named by {strange!r}, not by a text: use frame.rename(columns=str)"
            )
        _require_names(labels)
        version = sys.modules["pandas"].__version__
        owned = frame.copy(deep=int(version.split(".")[0]) < _COPYING_ON_WRITE)
        unnamed = [n for n, name in enumerate(owned.index.names) if name is None]
        owned = owned.reset_index(level=unnamed, drop=True) if unnamed else owned
        owned = _with_known_types(owned.reset_index() if levels else owned)
        arrow = {
            name: _to_arrow(name, owned[name]) for name in owned.columns if not _is_of_known_type(owned[name].dtype)
        }
        return cls(tuple(owned.columns), owned, arrow)

    @property
    def parts(self) -> list[tuple[str, ...]]:
        """Columns that DuckDB reads in place, and columns that pyarrow read."""
        by_arrow = tuple(name for name in self.names if name in self.arrow)
        in_place = tuple(name for name in self.names if name not in self.arrow)
        return [part for part in (in_place, by_arrow) if part]

    def attach(self, connection: Connection, names: Sequence[str]) -> None:
        """Register the frame, or if a column was read by pyarrow, an Arrow table of all columns."""
        names = names or self.names[:1]
        if not any(name in self.arrow for name in names):
            connection.register(FRAME, self.frame[list(names)])
            return
        columns = {
            name: self.arrow[name] if name in self.arrow else _to_arrow(name, self.frame[name]) for name in names
        }
        connection.register(FRAME, Streamed(import_module("pyarrow").table(columns)))

    def category_facts(self, name: str) -> list[object] | None:
        """Return the categories of a column and a digest of their numbers; see `Snapshot.category_facts`."""
        column = self.frame[name].array
        if name in self.arrow or not hasattr(column, "codes"):
            return None
        return [column.categories.tolist(), hashlib.sha256(column.codes.tobytes()).hexdigest()]


def _with_known_types(frame: Any) -> Any:
    """Give a type to categories without values, and to floats of 16 bits."""
    types = {}
    for name, dtype in frame.dtypes.items():
        if getattr(dtype, "categories", None) is not None and not len(dtype.categories):
            types[name] = "str"
        elif dtype == "float16":
            types[name] = "float32"
    return frame.astype(types) if types else frame


def _is_of_known_type(dtype: Any) -> bool:
    """Return True if the type of a column does not depend on its cells."""
    types = sys.modules["pandas"].api.types
    if isinstance(dtype, types.CategoricalDtype):
        return bool(dtype.categories.inferred_type == "string")
    if isinstance(dtype, types.DatetimeTZDtype | sys.modules["pandas"].StringDtype):
        return True
    return getattr(dtype, "name", "") in _MASKED or (
        type(dtype).__module__.startswith("numpy") and dtype.kind in _NUMPY_KINDS
    )


def _to_arrow(name: str, series: Any) -> object:
    """Convert a column of pandas to an array of pyarrow."""
    try:
        arrow = import_module("pyarrow")
    except ImportError:
        raise SourceError(
            f"column {name!r} of the frame has the type {series.dtype}, which only pyarrow reads: "
            f"{install_hint('frames')}; or give the column another type"
        ) from None
    try:
        return arrow.array(series, from_pandas=True)
    except _ARROW_ERRORS:
        pass  # the refusal below must not have this error as its context, as it quotes cells
    raise SourceError(
        f"column {name!r} of the frame has values of several types: give it one, such as by "
        f"frame[{name!r}] = frame[{name!r}].astype('str')"
    )


@frozen
class _ArrowTable(Snapshot):
    """A snapshot of a table of Polars or Arrow, whose columns are immutable."""

    table: Any

    def attach(self, connection: Connection, names: Sequence[str]) -> None:
        """Register the stream of the columns."""
        connection.register(FRAME, Streamed(self.table.select([*(names or self.names[:1])])))

    def category_facts(self, name: str) -> list[object] | None:
        """Return a digest of the numbers and texts of each part of a column; see `Snapshot.category_facts`."""
        from nanoarrow import c_array_stream  # noqa: PLC0415 - for frames only, and slow to import

        digest: Any = hashlib.sha256()
        sizes: list[object] = []
        for batch in c_array_stream(self.table.select([name])):
            numbers = batch.child(0)
            if numbers.dictionary is None:
                return None
            buffers = [*numbers.view().buffers, *numbers.dictionary.view().buffers]
            sizes.append([numbers.length, numbers.offset, *(buffer.size_bytes for buffer in buffers)])
            for buffer in buffers:
                digest.update(np.frombuffer(buffer, np.uint8) if buffer.size_bytes else b"")
        return [sizes, digest.hexdigest()]
