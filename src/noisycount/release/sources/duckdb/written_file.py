"""Public rows written as a file, all of it or nothing."""

import os
from pathlib import Path

from noisycount.errors import SourceError
from noisycount.release.sources.duckdb.failures import without_engine_errors
from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.quoting import quoted_text

__all__ = ["write_rows"]

_OPTIONS = {
    "csv": "FORMAT csv, HEADER true",
    "tsv": "FORMAT csv, HEADER true, DELIMITER '\t'",
    "parquet": "FORMAT parquet",
}


def write_rows(connection: Connection, query: str, out: Path, form: str) -> None:
    """The writing of the rows of a query; an older file is replaced when all is written.

    Args:
        connection: Which knows what the query names.
        query: Whose rows are written.
        out: The file.
        form: `csv`, `tsv` or `parquet`.

    Raises:
        SourceError: The file cannot be written.
    """
    part = out.with_name(f".{out.name}.{os.getpid()}")
    copy = f"COPY ({query}) TO {quoted_text(str(part))} ({_OPTIONS[form]})"
    try:
        without_engine_errors(
            lambda: connection.execute(copy),
            f"{str(out)!r} cannot be written: check its folder and the free space",
        )
        part.replace(out)
    except OSError as error:
        raise SourceError(
            f"{str(out)!r} cannot be written ({error.strerror}): name another file"
        ) from None
    finally:
        part.unlink(missing_ok=True)
