"""How DuckDB reads a file: as CSV, Parquet or a database."""
# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import duckdb

from noisycount.errors import SourceError
from noisycount.release.question.schema import Kind, close_names
from noisycount.release.sources.duckdb.cells import typed_cell
from noisycount.release.sources.duckdb.quoting import quoted_name, quoted_text
from noisycount.release.sources.endings import by_ending

__all__ = [
    "CSV",
    "FORMATS",
    "PARQUET",
    "Connection",
    "delimiter",
    "format_of",
    "path_pattern",
    "readable_file",
]

Connection: TypeAlias = duckdb.DuckDBPyConnection

HEADER_BYTES = 65536  # of the first line: more than the names of 1,000 columns need
DELIMITERS = ",;\t|"

# DuckDB's own detection drops lines that it takes for comments or a preamble, and reads a ragged
# table as one column of text.
_CSV_OPTIONS = (
    "header=true, skip=0, comment='', quote='\"', escape='\"', strict_mode=true, "
    "null_padding=false, ignore_errors=false, hive_partitioning=false, all_varchar=true"
)


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


def delimiter(place: Path) -> str:
    """The character between the cells of a CSV file: that which its first line has most of."""
    return max(DELIMITERS, key=re.sub('"[^"]*"', "", _header(place)).count)


def _header(place: Path) -> str:
    with place.open("rb") as file:
        return file.readline(HEADER_BYTES).decode(errors="replace")


def _csv_relation(
    connection: Connection, place: Path, _table: str | None, kinds: Mapping[str, Kind] | None
) -> str:
    options = f"delim='{delimiter(place)}', {_CSV_OPTIONS}"
    read = f"{quoted_text(path_pattern(place))}, {options}"
    connection.execute(f"CREATE TABLE loaded AS SELECT * FROM read_csv({read})")
    header = _header(place)
    if not header.strip() or "\0" in header:
        raise SourceError(f"{str(place)!r} has no names of columns: write them into its first line")
    if kinds is None:
        return "loaded"
    names = connection.table("loaded").columns
    for name in kinds:
        if name not in names:
            raise SourceError(
                f"kinds names {name!r}, which is no column: use {close_names(name, names)}"
            )
    cells = [f"{typed_cell(n, kinds.get(n, Kind.TEXT))} AS {quoted_name(n)}" for n in names]
    # From a table, not from the file: DuckDB turns a TRY_CAST of what it reads into a CAST.
    connection.execute(f"CREATE TABLE typed AS SELECT {', '.join(cells)} FROM loaded")
    connection.execute("DROP TABLE loaded")
    return "typed"


def _parquet_relation(
    connection: Connection, place: Path, _table: str | None, _kinds: Mapping[str, Kind] | None
) -> str:
    path, pattern = quoted_text(place.as_posix()), quoted_text(path_pattern(place))
    connection.execute(f"SET allowed_paths = [{path}, {pattern}]")
    return f"read_parquet({pattern}, hive_partitioning=false)"


def _database_relation(
    connection: Connection, place: Path, table: str | None, _kinds: Mapping[str, Kind] | None
) -> str:
    path = quoted_text(place.as_posix())
    connection.execute(f"ATTACH {path} AS file (READ_ONLY, TYPE duckdb)")
    rows = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() "
        "WHERE database_name = 'file' AND NOT internal ORDER BY ALL"
    ).fetchall()
    found = {
        name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in rows
    }
    if not found:
        raise SourceError(f"{str(place)!r} has no table: give it one with the records")
    if table is None and len(found) == 1:
        table = next(iter(found))
    if table is None or table not in found:
        raise SourceError(
            f"table must name a table of the file, got {table!r}: "
            f"use {close_names(table or '', [*found])}"
        )
    schema, name = found[table]
    return f"file.{quoted_name(schema)}.{quoted_name(name)}"


@dataclass(frozen=True, slots=True)
class _Format:
    """How files of an ending are read, and what to do where they cannot be.

    Attributes:
        name: Of the format.
        check: What to check where a file cannot be read.
        relief: What to do where memory does not suffice.
        relation: Makes a file a relation of a connection, and gives its SQL.
    """

    name: str
    check: str
    relief: str
    relation: Callable[[Connection, Path, str | None, Mapping[str, Kind] | None], str]


CSV = _Format(
    "CSV",
    "it is UTF-8, that its first line names the columns, and that every line has as many cells",
    "a CSV file is held in memory as a whole, so make some free, or make it a Parquet file",
    _csv_relation,
)
PARQUET = _Format("Parquet", "the file is whole", "make some free", _parquet_relation)
_DATABASE = _Format(
    "DuckDB",
    "the file is whole and that no other program is writing it",
    "make some free",
    _database_relation,
)
FORMATS = {
    ".csv": CSV,
    **dict.fromkeys([".parquet", ".pq"], PARQUET),
    **dict.fromkeys([".duckdb", ".db", ".ddb"], _DATABASE),
}


def format_of(path: Path, table: str | None, kinds: Mapping[str, Kind] | None) -> _Format:
    """The format of a file by its ending.

    Args:
        path: The file.
        table: Which table of it is meant; None: its only one.
        kinds: Of its columns; None: what it says, or its cells.

    Raises:
        SourceError: No format has this ending, or the format has no tables or states its kinds.
    """
    form = by_ending(path, FORMATS)
    if table is not None and form is not _DATABASE:
        raise SourceError(f"table is {table!r}, but only DuckDB files have tables: leave it out")
    if kinds is not None and form is not CSV:
        raise SourceError(
            f"kinds are stated for {str(path)!r}, but only CSV files lack them: leave kinds out"
        )
    return form
