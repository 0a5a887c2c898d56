"""Paths as DuckDB reads them."""

import os
import re
from pathlib import Path
from typing import TypeAlias

import duckdb

from noisycount.errors import SourceError
from noisycount.release.sources.places import files_of, is_several

__all__ = ["Connection", "path_pattern", "readable_file", "readable_place"]

_COLUMNAR = (".parquet", ".pq")

Connection: TypeAlias = duckdb.DuckDBPyConnection


def readable_place(path: Path) -> Path:
    """The absolute path of a file that can be read, or of a folder or pattern of Parquet files.

    Raises:
        SourceError: One cannot be, is of another format, or DuckDB would read another.
    """
    if not is_several(path):
        return readable_file(path)
    place = Path(os.path.abspath(path))  # noqa: PTH100 - a pattern is resolved by no disk
    for file in files_of(place):
        if file.suffix.lower() not in _COLUMNAR:
            raise SourceError(
                f"{str(path)!r} matches {file.name!r}, but only Parquet files are read as one: "
                "name the one file, or a pattern such as data/*.parquet"
            )
        readable_file(file)
    return place


def readable_file(path: Path) -> Path:
    """The absolute path of a file that can be read.

    Raises:
        SourceError: It cannot be, or DuckDB would read another.
    """
    shown = repr(str(path))
    try:
        place = path.resolve(strict=True)
        str(place).encode()
        if not place.is_file():
            raise SourceError(f"{shown} is not a file: name a CSV, Parquet or DuckDB file")
        with place.open("rb"):
            pass
    except FileNotFoundError:
        raise SourceError(f"{shown} does not exist: check the path of the file") from None
    except (OSError, ValueError):  # ValueError: a path that is no UTF-8, or has a NUL
        raise SourceError(f"{shown} cannot be read: check its path and permissions") from None
    if "\\" in place.as_posix():
        raise SourceError(
            f"{shown} has a backslash, which DuckDB reads as another character: rename it"
        )
    return place


def path_pattern(place: Path) -> str:
    """The path as a pattern that matches nothing else: DuckDB expands patterns in paths."""
    return re.sub(r"[*?\[]", r"[\g<0>]", place.as_posix())
