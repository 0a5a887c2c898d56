"""Copies of what the texts of a file stand for, as Parquet files that are read in their place."""
# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkstemp

import duckdb

from noisycount.errors import SourceError
from noisycount.release.sources.duckdb.cells import SQL_TYPES
from noisycount.release.sources.duckdb.paths import Connection, path_pattern
from noisycount.release.sources.duckdb.quoting import quoted_text
from noisycount.release.sources.forms import ColumnForm

__all__ = ["is_written", "require_copy"]

_OPTIONS = "FORMAT parquet, COMPRESSION snappy, USE_TMP_FILE false"


def is_written(connection: Connection, copy: Path) -> bool:
    """Whether the table `typed` could be written into a file, which nobody else can read.

    The file is there when all of it is written; where space or a permission lacks, no part is.

    Args:
        connection: Holds the table.
        copy: The file; an older one is replaced.
    """
    try:
        descriptor, name = mkstemp(dir=copy.parent, prefix=f".{copy.name}.", suffix=".part")
    except OSError:
        return False
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            connection.execute(f"COPY typed TO {quoted_text(name)} ({_OPTIONS})")
            os.fsync(file.fileno())
        part.replace(copy)
    except (OSError, duckdb.Error):
        return False
    finally:
        part.unlink(missing_ok=True)
    return True


def require_copy(connection: Connection, copy: Path, forms: Mapping[str, ColumnForm]) -> str:
    """The relation of a copy, which must have the columns that are said of it.

    Args:
        connection: Where.
        copy: The file.
        forms: What the texts of each of its columns stood for, in their order.

    Raises:
        SourceError: It has other columns.
    """
    relation = f"read_parquet({quoted_text(path_pattern(copy))}, hive_partitioning=false)"
    found = connection.sql(f"SELECT * FROM {relation}")
    types = {name: SQL_TYPES[form.kind] for name, form in forms.items()}
    if dict(zip(found.columns, map(str, found.types), strict=True)) != types:
        raise SourceError(f"{str(copy)!r} is no copy of these records: remove it")
    return relation
