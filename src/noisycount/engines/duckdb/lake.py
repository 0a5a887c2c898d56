"""Parquet files on an object store, as a file system from which DuckDB can read only these files."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.spec import AbstractBufferedFile

from noisycount.engines.duckdb.connection import Connection
from noisycount.engines.places import COLUMNAR, LakePlace
from noisycount.errors import SourceError
from noisycount.frozen import frozen

PROTOCOL = "lake"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_BLOCK = 2**22  # bytes of one read
_FAILURE = "the store did not answer"


class LakeFiles(AbstractFileSystem):  # type: ignore[misc]
    """A read-only file system with the files of a lake, each of which has a number as its name."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self, store: Any, paths: Mapping[str, str]) -> None:  # noqa: ANN401 - any file system
        super().__init__()
        self.store, self.paths = store, dict(paths)

    def path_of(self, name: str) -> str:
        """Return the path of a file on the store."""
        try:
            return self.paths[self._strip_protocol(name).strip("/")]
        except KeyError:
            raise FileNotFoundError(name) from None

    def info(self, path: str, **_: object) -> dict[str, object]:
        """Return the name and size of a file."""
        info = call_store(self.store.info, self.path_of(path))
        return {"name": path, "size": info["size"], "type": "file"}

    def exists(self, path: str, **_: object) -> bool:
        """Return True for a file of the lake."""
        return self._strip_protocol(path).strip("/") in self.paths

    def modified(self, path: str) -> datetime:
        """Return a constant time: DuckDB requires the method, and does not use the time."""
        self.path_of(path)
        return _LONG_AGO

    def glob(self, path: str, **_: object) -> list[str]:
        """Return only the given name: patterns are not expanded."""
        return [path] if self.exists(path) else []

    def _open(self, path: str, mode: str = "rb", **_: object) -> "LakeFile":
        """Open a file for reading."""
        if mode != "rb":
            raise PermissionError(path)
        self.path_of(path)
        return LakeFile(self, path, mode, block_size=_BLOCK)


class LakeFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file of a lake."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        """Read a range of bytes from the store."""
        store, path = self.fs.store, self.fs.path_of(self.path)
        content: bytes = call_store(store.cat_file, path, start=start, end=end)
        return content


def call_store(work: Any, *arguments: object, **options: object) -> Any:  # noqa: ANN401 - of any store
    """Call a function of a store. Replace its errors, which may quote a signature, by OSError."""
    with suppress(Exception):
        return work(*arguments, **options)
    raise OSError(_FAILURE)


Result = TypeVar("Result")


@frozen
class Lake:
    """The files of a place, as they were when it was opened."""

    place: LakePlace
    store: Any = field(repr=False)
    paths: tuple[str, ...]

    @classmethod
    def find(cls, place: LakePlace) -> Self:
        """Find the files that exist now. Raise SourceError if the store cannot be read."""
        store, path = _run_on_store(place, lambda: url_to_fs(place.url))
        return cls(place, store, _run_on_store(place, lambda: _paths_of_pattern(store, path)))

    def __str__(self) -> str:
        return self.place.shown

    def state(self) -> str:
        """Return a digest of the names, sizes and versions of the files."""
        return _run_on_store(self.place, self._table_state)

    def _table_state(self) -> str:
        self.store.invalidate_cache()
        checksums = [(path, str(self.store.checksum(path))) for path in self.paths]
        return hashlib.sha256(json.dumps(checksums).encode()).hexdigest()

    def names(self, connection: Connection) -> list[str]:
        """Register the files in a connection, and return their names there."""
        files = {f"{number}.parquet": path for number, path in enumerate(self.paths)}
        connection.register_filesystem(LakeFiles(self.store, files))
        return [f"{PROTOCOL}://{name}" for name in files]


def _paths_of_pattern(store: Any, path: str) -> tuple[str, ...]:  # noqa: ANN401 - of any file system
    """Return the file of a path, those of a pattern, or all Parquet files below a folder."""
    if not re.search(r"[*\[]", path):
        if store.isfile(path):
            return (path,)
        path = f"{path.rstrip('/')}/**/*.parquet"
    return tuple(sorted(file for file in store.glob(path) if file.endswith(COLUMNAR)))


def _run_on_store(place: LakePlace, work: Callable[[], Result]) -> Result:
    """Run some work and return its result. Raise SourceError without the store's error if it fails or finds nothing."""
    try:
        result = work()
    except ImportError:  # a package for this kind of store is missing
        raise
    except Exception:  # noqa: BLE001 - stores raise errors of any class, whose texts may contain a signature
        refusal = (
            f"{place.shown!r} cannot be read: check that its store answers, the address, and the "
            "credentials in the environment"
        )
    else:
        if result:
            return result
        refusal = f"{place.shown!r} does not exist, or contains no Parquet file: check its address"
    raise SourceError(refusal)
