"""Paths as DuckDB reads them."""

import re
from pathlib import Path
from typing import TypeAlias

import duckdb

from noisycount.errors import SourceError

__all__ = ["Connection", "path_pattern", "readable_file"]

Connection: TypeAlias = duckdb.DuckDBPyConnection


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
