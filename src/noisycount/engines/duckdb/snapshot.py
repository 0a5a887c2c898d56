"""Tables in memory, held as they are now, and what tells their records from others.

Nobody changes what will be counted. No chunk, library or file changes the hash of the cells: they are read from streams
of Arrow's C interface as DuckDB writes them, as arrays that borrow their memory, without pyarrow:
https://arrow.apache.org/docs/format/CDataInterface.html.
"""
# ruff: noqa: ANN401, as tables are of any library

import ctypes
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisycount.engines.duckdb.connection import Connection, without_engine_errors
from noisycount.errors import SourceError, install_hint
from noisycount.frozen import frozen

_TEXT = "u"
_BIT = "b"
_FORMATS = ("c", "s", "i", "l", "C", "S", "I", "L", "f", "g", "tdD", "tsu:")
_NAMES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "i4", "i8")
_TYPES = dict(zip(_FORMATS, _NAMES, strict=True))  # what NumPy calls the values of a format of Arrow


class Streamed:
    """A table of which an engine sees the stream only, and nothing that is its library's own."""

    __slots__ = ("_table",)

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class _Array(ctypes.Structure):
    """A batch of one column, or of all as its children."""


_Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset")),
    *((name, ctypes.c_int64) for name in ("n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]


class _Schema(ctypes.Structure):
    """The type of one column, or of all as its children."""


_Schema._fields_ = [
    *((name, ctypes.c_char_p) for name in ("format", "name", "metadata")),
    *((name, ctypes.c_int64) for name in ("flags", "n_children")),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    """Batches, one after another."""


_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, *map(ctypes.POINTER, (_Stream, _Schema)))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, *map(ctypes.POINTER, (_Stream, _Array)))),
    *((name, ctypes.c_void_p) for name in ("get_last_error", "release", "private_data")),
]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


@frozen
class Cells:
    """Some cells of a column, which may be read until the next ones are asked for."""

    format: str  # of the values, as Arrow names it
    missing: NDArray[np.bool_] | None  # which cells say nothing; None: all say something
    values: NDArray[Any]  # what they say; of texts, the number of bytes of each
    texts: NDArray[np.uint8] | None = None  # the bytes of all texts together


def read_cells(capsule: object) -> Iterator[Cells]:
    """The cells of a stream of one column."""
    stream = _Stream.from_address(_pointer(capsule, b"arrow_array_stream"))
    format_ = _format(stream)
    while True:
        batch = _Array()
        if stream.get_next(stream, batch):
            raise SourceError("the records cannot be read as a whole: check that memory is free")
        if not batch.release:
            return
        try:
            yield _cells(format_, batch.children[0].contents)
        finally:
            batch.release(batch)


def _format(stream: _Stream) -> str:
    """The format of the only column."""
    schema = _Schema()
    if stream.get_schema(stream, schema):
        raise SourceError("the records cannot be read: check that memory is free")
    try:
        format_: bytes = schema.children[0].contents.format
        return format_.decode()
    finally:
        schema.release(schema)


def _cells(format_: str, column: Any) -> Cells:
    """The cells of a column of a batch."""
    length = column.length
    missing = None
    if column.null_count and column.buffers[0]:
        missing = ~_bits(column.buffers[0], length)
    if format_ == _BIT:
        return Cells(format_, missing, _bits(column.buffers[1], length))
    if format_ != _TEXT:
        return Cells(format_, missing, _borrowed(column.buffers[1], _TYPES[format_], length))
    ends = _borrowed(column.buffers[1], "i4", length + 1)
    texts = _borrowed(column.buffers[2], "u1", int(ends[-1]))
    return Cells(format_, missing, np.diff(ends), texts)


def _borrowed(address: int | None, type_: str, length: int) -> NDArray[Any]:
    """Memory as an array."""
    size = length * np.dtype(type_).itemsize
    if not size or address is None:
        return np.zeros(length, type_)
    memory = memoryview((ctypes.c_uint8 * size).from_address(address))
    return np.frombuffer(memory, np.dtype(type_))


def _bits(address: int, length: int) -> NDArray[np.bool_]:
    """Bits as an array of truths."""
    packed = _borrowed(address, "u1", (length + 7) // 8)
    return np.unpackbits(packed, count=length, bitorder="little").view(np.bool_)


@dataclass(slots=True)
class ColumnContent:
    """The content of one column, cell by cell.

    Where cells are missing, what their bytes happen to be is left out, and their places are kept.
    """

    length: int = 0
    format: str = ""
    _values: Any = field(default_factory=hashlib.sha256)
    _texts: Any = field(default_factory=hashlib.sha256)
    _missing: Any = field(default_factory=hashlib.sha256)

    @classmethod
    def of(cls, batches: Iterable[Cells]) -> "ColumnContent":
        """The content of all cells of a column."""
        content = cls()
        for cells in batches:
            content.add(cells)
        return content

    def add(self, cells: Cells) -> None:
        """The next cells."""
        values = cells.values
        if cells.missing is not None:
            values = np.where(cells.missing, np.zeros(1, values.dtype), values)
            places = np.flatnonzero(cells.missing) + self.length
            self._missing.update(places.astype("<i8"))
        self._values.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")))
        if cells.texts is not None:
            self._texts.update(cells.texts)
        self.format = cells.format
        self.length += len(values)

    @property
    def facts(self) -> list[object]:
        """The length, and what stands for the cells."""
        parts = (self._values, self._texts, self._missing)
        return [self.length, *(part.hexdigest() for part in parts)]


def content_hash(columns: Mapping[str, list[object]], rows: int) -> str:
    """The hash of records in their order; that of their columns does not matter."""
    said = json.dumps([rows, columns], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(said.encode()).hexdigest()


FRAME = "frame"  # what a connection calls the table
_LIBRARIES = ("pandas", "polars", "pyarrow")


@frozen
class Snapshot:
    """A table that does not change any more; this one a connection has as its table `frame`."""

    names: tuple[str, ...]

    @property
    def parts(self) -> list[tuple[str, ...]]:
        """The columns in groups, each of which is read in one way."""
        return [self.names]

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """What the numbers of columns of categories stand for, where they can be had."""
        return {}

    def attach(self, connection: Connection, names: Sequence[str], numbered: Collection[str] = ()) -> None:
        """The table as `frame` on a connection, with these columns at least.

        Those that are numbered are there as the numbers of their categories.
        """


def snapshot_of(frame: Any, connection: Connection) -> Snapshot:
    """A table as it is now.

    `connection`: takes a copy of what can be read only once, or is computed when it is read.
    """
    library, kind = _origin(frame)
    snapshot: Snapshot
    match library, kind:
        case "pandas", "DataFrame":
            snapshot = _PandasTable.of(frame)
        case "polars", "DataFrame":
            snapshot = _ArrowTable.of(frame.columns, frame.clone())
        case "polars", "LazyFrame":
            raise SourceError("frame is a LazyFrame of Polars: collect() it")
        case "pyarrow", "Table" | "RecordBatch" | "RecordBatchReader":
            table = frame if kind == "Table" else import_module("pyarrow").table(frame)
            snapshot = _ArrowTable.of(table.schema.names, table)
        case _ if kind != "Series" and hasattr(frame, "__arrow_c_stream__"):
            snapshot = _copied(frame, connection)
        case _:
            raise SourceError(
                "frame must be a table that has __arrow_c_stream__, such as a DataFrame of "
                f"pandas or Polars, got {type(frame).__name__}: make it one"
            )
    _require_names(snapshot.names)
    return snapshot


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


def _require_names(names: Sequence[str]) -> None:
    """The refusal of columns without a name of their own."""
    if not names:
        raise SourceError("frame has no columns: give it one with the records")
    twice = [name for name, number in Counter(map(str.lower, names)).items() if number > 1]
    if twice:
        raise SourceError(
            f"frame has the name {twice[0]!r} twice, in whatever case: give each column a name of its own"
        )
    for name in names:
        if not name or "\0" in name:
            raise SourceError(f"frame has a column that is named by {name!r}: rename it")


_COPYING_ON_WRITE = 3  # pandas writes into no memory that another frame uses, from this version
_NUMPY_KINDS = "iufbM"
_MASKED = {"boolean", "Float32", "Float64"} | {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
_ARROW_ERRORS = (TypeError, ValueError, OverflowError, NotImplementedError)  # also of pyarrow


@frozen
class _PandasTable(Snapshot):
    """A frame of pandas as it is now: whoever writes into it from now on writes into a copy."""

    frame: Any  # shares the memory of the frame that was given
    arrow: dict[str, Any]  # its columns that DuckDB would have to guess the type of, read by pyarrow

    @classmethod
    def of(cls, frame: Any) -> "_PandasTable":
        """The frame as it is now; a level of its index is a column if it has a name."""
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
        owned = _typed(owned.reset_index() if levels else owned)
        arrow = {name: _read(name, owned[name]) for name in owned.columns if not _is_of_known_type(owned[name].dtype)}
        return cls(tuple(owned.columns), owned, arrow)

    @property
    def parts(self) -> list[tuple[str, ...]]:
        """Those that DuckDB reads where they are, and those that pyarrow read."""
        by_arrow = tuple(name for name in self.names if name in self.arrow)
        rest = tuple(name for name in self.names if name not in self.arrow)
        return [part for part in (rest, by_arrow) if part]

    def attach(
        self,
        connection: Connection,
        names: Sequence[str],
        numbered: Collection[str] = (),  # noqa: ARG002 - there are none
    ) -> None:
        """The frame; where a column is of Arrow, all are."""
        names = names or self.names[:1]
        if not any(name in self.arrow for name in names):
            connection.register(FRAME, self.frame[list(names)])
            return
        columns = {name: self.arrow[name] if name in self.arrow else _read(name, self.frame[name]) for name in names}
        connection.register(FRAME, Streamed(import_module("pyarrow").table(columns)))


def _typed(frame: Any) -> Any:
    """The frame with a type for what has categories but none, and for halves of floats."""
    types = {}
    for name, dtype in frame.dtypes.items():
        if getattr(dtype, "categories", None) is not None and not len(dtype.categories):
            types[name] = "str"
        elif dtype == "float16":
            types[name] = "float32"
    return frame.astype(types) if types else frame


def _is_of_known_type(dtype: Any) -> bool:
    """Whether a column has a type that does not depend on its cells."""
    types = sys.modules["pandas"].api.types
    if isinstance(dtype, types.CategoricalDtype):
        return bool(dtype.categories.inferred_type == "string")
    if isinstance(dtype, types.DatetimeTZDtype | sys.modules["pandas"].StringDtype):
        return True
    return getattr(dtype, "name", "") in _MASKED or (
        type(dtype).__module__.startswith("numpy") and dtype.kind in _NUMPY_KINDS
    )


def _read(name: str, series: Any) -> object:
    """A column as pyarrow reads it."""
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
        pass  # what follows must not have that error as its context, as it quotes cells
    raise SourceError(
        f"column {name!r} of the frame holds values of several types: give it one, such as by "
        f"frame[{name!r}] = frame[{name!r}].astype('str')"
    )


@frozen
class _ArrowTable(Snapshot):
    """A table of Polars or Arrow, whose columns do not change when those of another do."""

    table: Any
    categories: dict[str, "_Categories"]

    @classmethod
    def of(cls, names: Sequence[str], table: Any) -> "_ArrowTable":
        """The table, and its columns that are stored as numbers of few texts."""
        found = _of_polars(table) if hasattr(table, "to_arrow") else _of_arrow(table)
        categories = {
            name: categories
            for name, categories in found
            if 0 < len(categories.texts) <= _MOST and None not in categories.texts
        }
        return cls(tuple(names), table, categories)

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """What the numbers of its columns of categories stand for."""
        return {name: found.texts for name, found in self.categories.items()}

    def attach(self, connection: Connection, names: Sequence[str], numbered: Collection[str] = ()) -> None:
        """The stream of the table, with numbers in the place of some categories."""
        chosen = self.table.select([*(names or self.names[:1])])
        for place, name in enumerate(names):
            if name in numbered:
                numbers = self.categories[name].numbers
                if hasattr(chosen, "to_arrow"):
                    chosen = chosen.with_columns(numbers)
                else:
                    chosen = chosen.set_column(place, name, numbers)
        connection.register(FRAME, Streamed(chosen))


_MOST = 62  # as many as a BIGINT has bits, but for its sign


@frozen
class _Categories:
    """A column of numbers, each of which stands for a text."""

    texts: tuple[str, ...]  # what the numbers stand for
    numbers: Any  # the column, in the library that it is of


def _of_polars(frame: Any) -> Iterator[tuple[str, _Categories]]:
    """The categories of a frame of Polars: fixed ones, or all that were met in this process."""
    for name, type_ in frame.schema.items():
        if str(type_).startswith(("Categorical", "Enum")):
            texts: Any = getattr(type_, "categories", None)
            if hasattr(texts, "to_series"):
                texts = texts.to_series()
            if texts is not None:
                few = tuple(texts[: _MOST + 1])
                yield name, _Categories(few, frame[name].to_physical())


def _of_arrow(table: Any) -> Iterator[tuple[str, _Categories]]:
    """The dictionaries of a table of Arrow that are the same in all of its parts."""
    for name, type_ in zip(table.schema.names, table.schema.types, strict=True):
        if not str(type_).startswith("dictionary<values=") or "string" not in str(type_):
            continue
        parts = table[name].chunks
        if parts and all(part.dictionary.equals(parts[0].dictionary) for part in parts):
            numbers = [part.indices for part in parts]
            yield name, _Categories(tuple(parts[0].dictionary[: _MOST + 1].to_pylist()), numbers)
