"""Parquet files on an object store, of which DuckDB can read these and nothing else."""

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
_BLOCK = 2**22  # bytes that are read at once
_FAILURE = "the store gave no answer"


class LakeFiles(AbstractFileSystem):  # type: ignore[misc]
    """The files of a lake by their numbers, for reading only."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self, store: Any, paths: Mapping[str, str]) -> None:  # noqa: ANN401 - any file system
        super().__init__()
        self.store, self.paths = store, dict(paths)

    def path_of(self, name: str) -> str:
        """What the store calls a file."""
        try:
            return self.paths[self._strip_protocol(name).strip("/")]
        except KeyError:
            raise FileNotFoundError(name) from None

    def info(self, path: str, **_: object) -> dict[str, object]:
        """The size of a file."""
        found = quietly(self.store.info, self.path_of(path))
        return {"name": path, "size": found["size"], "type": "file"}

    def exists(self, path: str, **_: object) -> bool:
        """Whether it is a file of the lake."""
        return self._strip_protocol(path).strip("/") in self.paths

    def modified(self, path: str) -> datetime:
        """When it was written, which nobody asks here."""
        self.path_of(path)
        return _LONG_AGO

    def glob(self, path: str, **_: object) -> list[str]:
        """A name stands for itself alone."""
        return [path] if self.exists(path) else []

    def _open(self, path: str, mode: str = "rb", **_: object) -> "LakeFile":
        """A file for reading."""
        if mode != "rb":
            raise PermissionError(path)
        self.path_of(path)
        return LakeFile(self, path, mode, block_size=_BLOCK)


class LakeFile(AbstractBufferedFile):  # type: ignore[misc]
    """One file of a lake."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        """Some bytes of it, as the store has them."""
        store, path = self.fs.store, self.fs.path_of(self.path)
        found: bytes = quietly(store.cat_file, path, start=start, end=end)
        return found


def quietly(work: Any, *words: object, **options: object) -> Any:  # noqa: ANN401 - of any store
    """What a store answers; its errors, which may quote a signature, become one."""
    with suppress(Exception):
        return work(*words, **options)
    raise OSError(_FAILURE)


Result = TypeVar("Result")


@frozen
class Lake:
    """The files of a place, as they were found."""

    place: LakePlace
    store: Any = field(repr=False)
    paths: tuple[str, ...]

    @classmethod
    def found(cls, place: LakePlace) -> Self:
        """The files that there are now."""
        try:
            store, path = url_to_fs(place.url)
        except ImportError:  # of what its kind of store needs
            raise
        except Exception:  # noqa: BLE001 - its text could hold a signature
            refusal = _unreached(place)
        else:
            return cls(place, store, _answered(place, lambda: _paths(store, path)))
        raise SourceError(refusal)

    def __str__(self) -> str:
        return self.place.shown

    def state(self) -> str:
        """The digest of what tells the files from any others: their names, sizes and versions."""
        return _answered(self.place, self._state)

    def _state(self) -> str:
        self.store.invalidate_cache()
        found = [(path, str(self.store.checksum(path))) for path in self.paths]
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()

    def names(self, connection: Connection) -> list[str]:
        """What the files are called in a connection, which may read them and nothing else."""
        files = {f"{number}.parquet": path for number, path in enumerate(self.paths)}
        connection.register_filesystem(LakeFiles(self.store, files))
        return [f"{PROTOCOL}://{name}" for name in files]


def _paths(store: Any, path: str) -> tuple[str, ...]:  # noqa: ANN401 - of any file system
    """The file of a path, those of a pattern, or all Parquet files below a folder."""
    if not re.search(r"[*\[]", path):
        if store.isfile(path):
            return (path,)
        path = f"{path.rstrip('/')}/**/*.parquet"
    return tuple(sorted(found for found in store.glob(path) if found.endswith(COLUMNAR)))


def _answered(place: LakePlace, work: Callable[[], Result]) -> Result:
    """The result of some work, or a refusal that keeps nothing of the store's error."""
    try:
        found = work()
    except Exception:  # noqa: BLE001 - stores raise what they like
        refusal = _unreached(place)
    else:
        if found:
            return found
        refusal = f"{place.shown!r} does not exist, or holds no Parquet file: check its address"
    raise SourceError(refusal)


def _unreached(place: LakePlace) -> str:
    return (
        f"{place.shown!r} cannot be read: check that its store answers, the address, and the "
        "credentials in the environment"
    )
