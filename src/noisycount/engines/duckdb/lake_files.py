"""A file system of the files of one lake: DuckDB can read them, and nothing else in it."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.spec import AbstractBufferedFile

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
