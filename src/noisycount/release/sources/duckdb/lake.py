"""Parquet files on an object store, of which DuckDB may read these and nothing else."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from noisycount.errors import SourceError, extra_words
from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.lakes import LakePlace

__all__ = ["Lake"]

Result = TypeVar("Result")

_BEYOND = {"gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs"}
"""What a kind of store needs that the extra `lake` does not have."""


@dataclass(frozen=True, slots=True)
class Lake:
    """The files of a place, as they were found.

    Attributes:
        place: Where they are.
        store: What gives their bytes: a file system of fsspec.
        paths: What the store calls each of them.
    """

    place: LakePlace
    store: Any = field(repr=False)
    paths: tuple[str, ...]

    @classmethod
    def found(cls, place: LakePlace) -> Self:
        """The files that there are now.

        Raises:
            SourceError: There are none, a package is missing, or the store does not answer.
        """
        scheme = place.shown.partition("://")[0]
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - on first use

            store, path = url_to_fs(place.url)
        except ImportError:
            refusal = f"{place.shown!r} needs packages that are not here: {extra_words('lake')}"
            if scheme in _BEYOND:
                refusal = f"{refusal}, and the package {_BEYOND[scheme]}"
        except Exception:  # noqa: BLE001 - its text could hold a signature
            refusal = _unreached(place)
        else:
            return cls(place, store, _answered(place, lambda: _paths(store, path)))
        raise SourceError(refusal)

    def __str__(self) -> str:
        return self.place.shown

    def state(self) -> str:
        """The digest of what tells the files from any others: their names, sizes and versions.

        Raises:
            SourceError: The store does not answer.
        """
        return _answered(self.place, self._state)

    def _state(self) -> str:
        self.store.invalidate_cache()
        found = [(path, str(self.store.checksum(path))) for path in self.paths]
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()

    def names(self, connection: Connection) -> list[str]:
        """What the files are called in a connection, which may read them and nothing else."""
        from noisycount.release.sources.duckdb.lake_files import PROTOCOL, LakeFiles  # noqa: PLC0415 - loads fsspec

        files = {f"{number}.parquet": path for number, path in enumerate(self.paths)}
        connection.register_filesystem(LakeFiles(self.store, files))
        return [f"{PROTOCOL}://{name}" for name in files]


def _paths(store: Any, path: str) -> tuple[str, ...]:  # noqa: ANN401 - of any file system
    """The file of a path, those of a pattern, or all Parquet files below a folder."""
    if not re.search(r"[*\[]", path):
        if store.isfile(path):
            return (path,)
        path = f"{path.rstrip('/')}/**/*.parquet"
    return tuple(sorted(found for found in store.glob(path) if found.endswith((".parquet", ".pq"))))


def _answered(place: LakePlace, work: Callable[[], Result]) -> Result:
    """The result of some work, or a refusal that keeps nothing of the store's error.

    Raises:
        SourceError: The store does not answer, or has no such file.
    """
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
