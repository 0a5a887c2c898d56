"""What tells records from others: a hash of their cells that no chunk, library or file changes.

The cells are read from streams of Arrow's C interface as DuckDB writes them, as arrays that borrow their memory,
without pyarrow: https://arrow.apache.org/docs/format/CDataInterface.html.
"""

import ctypes
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisycount.errors import SourceError
from noisycount.frozen import frozen

_TEXT = "u"
_BIT = "b"

_TYPES = {
    "c": "i1",
    "s": "i2",
    "i": "i4",
    "l": "i8",
    "C": "u1",
    "S": "u2",
    "I": "u4",
    "L": "u8",
    "f": "f4",
    "g": "f8",
    "tdD": "i4",
    "tsu:": "i8",
}


class Streamed:
    """A table of which an engine sees the stream only, and nothing that is its library's own."""

    __slots__ = ("_table",)

    def __init__(self, table: Any) -> None:  # noqa: ANN401 - of any library
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


def _cells(format_: str, column: Any) -> Cells:  # noqa: ANN401 - a structure of C
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


def _sha256() -> Any:  # noqa: ANN401 - hashlib does not name its type
    return hashlib.sha256()


@dataclass(slots=True)
class ColumnContent:
    """The content of one column, cell by cell.

    Where cells are missing, what their bytes happen to be is left out, and their places are kept.
    """

    length: int = 0
    format: str = ""
    _values: Any = field(default_factory=_sha256)
    _texts: Any = field(default_factory=_sha256)
    _missing: Any = field(default_factory=_sha256)

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
