# ruff: noqa: S608, as all SQL here is made of typed trees and of names that it quotes
"""Parquet files as one relation, on a disk or an object store, of which nothing else is read."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any, Self, TypeVar

from noisycount.display.texts import told_name
from noisycount.engines.duckdb.connection import Connection, path_pattern, quoted_text
from noisycount.engines.places import COLUMNAR, LakePlace, files_of, is_several
from noisycount.errors import SourceError, extra_words
from noisycount.frozen import frozen

Result = TypeVar("Result")

# What a kind of store needs that the extra `lake` does not have.
_BEYOND = {"gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs"}


@frozen
class Lake:
    """The files of a place, as they were found."""

    place: LakePlace
    store: Any = field(repr=False)
    paths: tuple[str, ...]

    @classmethod
    def found(cls, place: LakePlace) -> Self:
        """The files that there are now."""
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
        """The digest of what tells the files from any others: their names, sizes and versions."""
        return _answered(self.place, self._state)

    def _state(self) -> str:
        self.store.invalidate_cache()
        found = [(path, str(self.store.checksum(path))) for path in self.paths]
        return hashlib.sha256(json.dumps(found).encode()).hexdigest()

    def names(self, connection: Connection) -> list[str]:
        """What the files are called in a connection, which may read them and nothing else."""
        from noisycount.engines.duckdb.lake_files import PROTOCOL, LakeFiles  # noqa: PLC0415 - loads fsspec

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


def allow(connection: Connection, *files: Path) -> None:
    """The only files that may be read behind the locks."""
    paths = [name for file in files for name in (file.as_posix(), path_pattern(file))]
    connection.execute(f"SET allowed_paths = [{', '.join(map(quoted_text, paths))}]")


def parquet_relation(connection: Connection, place: Path | Lake) -> str:
    """The relation of all records, in which columns of one name are one column."""
    if isinstance(place, Lake):
        names = place.names(connection)
        connection.execute(f"SET allowed_paths = [{', '.join(map(quoted_text, names))}]")
        _require_one_type(connection, str(place), names)
        return _read(names)
    if not is_several(place):
        allow(connection, place)
        return _read([path_pattern(place)])
    files = [file.resolve() for file in files_of(place)]
    partition = next((file.parent.name for file in files if "=" in file.parent.name), None)
    if partition is not None:
        raise SourceError(
            f"{str(place)!r} has folders such as {partition!r}, whose names hold a column: "
            "write that column into the files"
        )
    allow(connection, *files)
    patterns = [path_pattern(file) for file in files]
    _require_one_type(connection, str(place), patterns)
    return _read(patterns)


def _read(names: list[str]) -> str:
    """The relation of some files."""
    patterns = ", ".join(map(quoted_text, names))
    return f"read_parquet([{patterns}], union_by_name=true, hive_partitioning=false)"


def _require_one_type(connection: Connection, place: str, names: list[str]) -> None:
    """The refusal of a column that is not of one type in all files."""
    known: dict[str, tuple[str, str]] = {}
    for file in names:
        found = connection.sql(f"SELECT * FROM {_read([file])}")
        for name, type_ in zip(found.columns, map(str, found.types), strict=True):
            first = known.setdefault(name.lower(), (name, type_))
            if first[0] != name:
                raise SourceError(
                    f"{place!r} names a column {first[0]!r} in one file and {name!r} in "
                    "another: name it the same in all"
                )
            if first[1] != type_:
                raise SourceError(
                    f"{place!r} has files whose column {name!r} is not of one type: make it {first[1]} in all"
                )


def state_of(place: Path | Lake) -> str:
    """The size and time of each file of a place, and of the write-ahead log of a database."""
    if isinstance(place, Lake):
        return place.state()
    try:
        states = [file.stat() for file in files_of(place)]
    except (OSError, SourceError):
        states = []
    if not states:
        raise SourceError(f"{told_name(place)!r} cannot be read any more: open it again")
    return " ".join(f"{state.st_size}-{state.st_mtime_ns}" for state in states)


def require_state(place: Path | Lake, state: str, while_it: str) -> None:
    """The refusal of a file that is not in its state any more."""
    if state_of(place) != state:
        raise SourceError(f"{told_name(place)!r} changed while it {while_it}: open it again")
