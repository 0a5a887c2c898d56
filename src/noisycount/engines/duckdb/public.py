# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes
"""Tables without confidential records: public tables in files, and noisy measurements of a census.

`PublicTable` reads a file, and `PublicColumns` writes results. Everybody may see the cells of both.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from noisycount.display.columns import Cells, Columns, select_query
from noisycount.engines.duckdb import connection as duck
from noisycount.engines.duckdb.files import PARQUET, TEXTS
from noisycount.engines.duckdb.table import SQL_TYPES
from noisycount.engines.duckdb.texts import TextFile
from noisycount.engines.formats import FileFormat, by_ending
from noisycount.engines.interface import Closeable
from noisycount.errors import NoisyCountError, SourceError
from noisycount.frozen import frozen
from noisycount.query.close_names import close_names
from noisycount.query.schema import Kind

_OPTIONS = {
    "csv": "FORMAT csv, HEADER true",
    "tsv": "FORMAT csv, HEADER true, DELIMITER '\t'",
    "parquet": "FORMAT parquet",
}


def write_rows(connection: duck.Connection, query: str, out: Path, form: str) -> None:
    """Write the rows of a query to a file. An older file is replaced only when all rows are written."""
    part = out.with_name(f".{out.name}.{os.getpid()}")
    copy = f"COPY ({query}) TO {duck.quoted_text(str(part))} ({_OPTIONS[form]})"
    try:
        duck.without_engine_errors(
            lambda: connection.execute(copy), f"{str(out)!r} cannot be written: check its folder and the free space"
        )
        part.replace(out)
    except OSError as error:
        raise SourceError(f"{str(out)!r} cannot be written ({error.strerror}): name another file") from None
    finally:
        part.unlink(missing_ok=True)


Column: TypeAlias = NDArray[np.float64] | NDArray[np.int64]
Missing: TypeAlias = Mapping[str, NDArray[np.bool_]]
_CSV, _TSV, _PARQUET = "csv", "tsv", "parquet"
_FORMATS = {".csv": _CSV, ".tsv": _TSV, ".parquet": _PARQUET, ".pq": _PARQUET}
_CHECKS = {_CSV: TEXTS.check, _TSV: TEXTS.check, _PARQUET: PARQUET.check}


@frozen
class PublicTable(Closeable):
    r"""A public table in a file, made by `PublicTable.open`.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "answers.csv")
        ...     _ = path.write_text("region,answer\n01,31.5\n02,\n")
        ...     with PublicTable.open(path) as table:
        ...         table.numbers("answer").tolist()
        [31.5, nan]
    """

    connection: duck.Connection  # holds the table as `loaded`; the cells of a CSV file are texts
    path: Path
    columns: tuple[str, ...]

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read the whole table of a file.

        Raises:
            SourceError: The file cannot be read.
        """
        form, place = table_format(path), duck.require_readable_file(path)
        connection = duckdb.connect(":memory:")

        def load_table() -> tuple[str, ...]:
            if form != _PARQUET:
                TextFile.read(place, FileFormat()).load(connection, keeps_empty=True)
            else:
                pattern = duck.quoted_text(duck.path_pattern(place))
                connection.execute(
                    f"CREATE TABLE loaded AS SELECT * FROM read_parquet({pattern}, hive_partitioning=false)"
                )
            return tuple(connection.table("loaded").columns)

        try:
            columns = duck.without_engine_errors(
                load_table, f"{str(path)!r} cannot be read as {form}: check that {_CHECKS[form]}"
            )
        except BaseException:
            connection.close()
            raise
        return cls(connection, path, columns)

    def numbers(self, column: str, *, has_shares: bool = False) -> NDArray[np.float64]:
        """Return a column as numbers, NaN for empty cells, shape (rows,).

        Args:
            column: The name of the column.
            has_shares: True if a cell such as 2% is the number 0.02.

        Raises:
            NoisyCountError: The table has no such column.
            SourceError: A cell is not a number.
        """
        if column not in self.columns:
            raise NoisyCountError(
                f"{str(self.path)!r} has no column {column!r}: use {close_names(column, self.columns)}"
            )
        text = f"CAST({duck.quoted_name(column)} AS VARCHAR)"
        number, meant = f"TRY_CAST({text} AS DOUBLE)", "a number, or empty where missing"
        if has_shares:
            part = f"trim(regexp_replace({text}, '%\\s*$', ''))"
            percent = f"TRY_CAST({part} AS DOUBLE) / 100"
            number = f"CASE WHEN {text} LIKE '%\\%%' ESCAPE '\\' THEN {percent} ELSE {number} END"
            meant = "a share such as 0.02 or 2%, or be empty where it is missing"
        query = f"SELECT {number} AS value, {text} IS NOT NULL AS given FROM loaded"
        cells = duck.without_engine_errors(
            lambda: self.connection.execute(query).fetchnumpy(),
            f"column {column!r} of {str(self.path)!r} cannot be read: free some memory",
        )
        missing = np.ma.getmaskarray(cells["value"])
        broken = missing & cells["given"]
        if broken.any():
            raise self.refusal(column, int(np.argmax(broken)), meant)
        return np.ma.filled(cells["value"], np.nan)

    @property
    def length(self) -> int:
        """Number of rows."""
        (rows,) = self.connection.execute("SELECT count(*) FROM loaded").fetchall()
        return int(rows[0])

    def texts(self, names: Sequence[str] | None = None) -> list[tuple[str | None, ...]]:
        """Return the cells of each row as texts, None for an empty cell.

        Args:
            names: The columns; None: all.
        """
        columns = self.columns if names is None else names
        cells = (f"CAST({duck.quoted_name(name)} AS VARCHAR)" for name in columns)
        query = f"SELECT {', '.join(cells)} FROM loaded"
        return duck.without_engine_errors(
            lambda: self.connection.execute(query).fetchall(), f"{str(self.path)!r} cannot be read: free some memory"
        )

    def check_new_columns(self, out: Path, names: Sequence[str]) -> None:
        """Raise SourceError if `save` could not write to `out` or add columns with these names."""
        table_format(out)
        if out.exists() and out.samefile(self.path):
            raise SourceError(f"{str(out)!r} is the file that is read: write to another one")
        there = {name.lower() for name in self.columns}
        for name in names:
            if name.lower() in there:
                raise SourceError(
                    f"{str(self.path)!r} has a column {name!r} already, which would be added: rename it there first"
                )

    def save(self, out: Path, added: Mapping[str, Column], missing: Missing) -> None:
        """Write the table with added columns, in the order of its rows.

        An older file is replaced only when all rows are written. If a CSV file is written as a Parquet file, columns
        that hold only whole numbers, only numbers, only truth values or only dates get that type. All other columns
        remain texts.

        Args:
            out: A .csv, .tsv, .parquet or .pq file.
            added: The values of each added column, by its name.
            missing: True for each row without a value, shape (rows,), for each added column.
        """
        arrays: dict[str, NDArray[np.generic]] = {}
        new: list[str] = []
        for place, (name, values) in enumerate(added.items()):
            arrays |= {f"v{place}": values, f"m{place}": missing[name]}
            new.append(f"CASE WHEN NOT added.m{place} THEN added.v{place} END AS {duck.quoted_name(name)}")
        self._write_with(arrays, new, out)

    def save_shared(self, out: Path, shared: Mapping[str, Column], places: NDArray[np.int32]) -> None:
        """Write the table as `save` does, with added columns whose values many rows share.

        Args:
            out: A .csv, .tsv, .parquet or .pq file.
            shared: The different values of each added column, by its name; all of the same length.
            places: The index of each row's values in `shared`, -1 for a row without values, shape (rows,).
        """
        number = len(next(iter(shared.values())))
        arrays = {f"v{place}": values for place, values in enumerate(shared.values())}
        self.connection.register("shared", {"place": np.arange(number), **arrays})
        new = [
            f"(SELECT list(v{place} ORDER BY place) FROM shared)[added.place] AS {duck.quoted_name(name)}"
            for place, name in enumerate(shared)
        ]
        self._write_with({"place": places + 1}, new, out)  # a list begins at 1, and its element 0 is NULL

    def _write_with(self, arrays: Mapping[str, NDArray[np.generic]], new: Sequence[str], out: Path) -> None:
        """Write the table with new columns, which are SQL about the arrays, one element a row, of `added`."""
        form = table_format(out)
        query = f"SELECT {', '.join([self._file_columns(form), *new])} FROM loaded POSITIONAL JOIN added"
        self.connection.register("added", dict(arrays))
        write_rows(self.connection, query, out, form)

    def refusal(self, column: str, row: int, meant: str, remedy: str = "mend it") -> SourceError:
        """Return the error about a cell. Its message does not quote the cell."""
        return SourceError(
            f"row {row + 1:,} below the names in {str(self.path)!r} must have in column {column!r} {meant}: {remedy}"
        )

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def _file_columns(self, form: str) -> str:
        """Return the SQL of the columns of the file, typed if a CSV file is written as Parquet."""
        if form != _PARQUET or table_format(self.path) == _PARQUET:
            return "loaded.*"
        kinds = certain_kinds(self.connection, "loaded", self.columns)
        return ", ".join(
            f"CAST(loaded.{duck.quoted_name(name)} AS {SQL_TYPES[kind]}) AS {duck.quoted_name(name)}"
            for name, kind in kinds.items()
        )


def table_format(path: Path) -> str:
    """Return the format of a public table, from the ending of its file: `csv`, `tsv` or `parquet`.

    Example:
        >>> table_format(Path("answers.pq"))
        'parquet'
    """
    return by_ending(path, _FORMATS)


@frozen
class PublicColumns(Columns):
    """Columns of public values, such as the rows of a result.

    Example:
        >>> import polars as pl
        >>> pl.DataFrame(PublicColumns({"town": ["Bern", None], "answer": [12, 3]})).rows()
        [('Bern', 12), (None, 3)]
    """

    # Cells of each column by its name. All columns have the same length, and each has cells of one type or None. A
    # column with a text, such as the name of a range among numbers, has only texts.
    columns: Mapping[str, Cells]

    def save(self, out: Path) -> None:
        """Write all rows in their order. An older file is replaced when all rows are written."""
        form = table_format(out)
        with duckdb.connect(":memory:") as connection:
            write_rows(connection, select_query(self.columns, connection), out, form)


_MEASURED = {"geocode", "query_name", "value", "variance"}


@frozen
class NoisyMeasurement:
    """Noisy answers to one query about one place of a census."""

    query: str  # name of the query, such as "votingage * hispanic"
    values: NDArray[np.int64]  # noisy count of each cell of the query, shape (cells,)
    variance: float  # variance of the noise of each count


def has_measurements(path: Path) -> bool:
    """Return True if a Parquet file has the columns of noisy measurements. Reads none of its rows."""
    names = _query_parquet(path, "DESCRIBE SELECT * FROM {}")
    return {str(name) for name, *_ in names} >= _MEASURED


def measured_places(path: Path, limit: int) -> list[str]:
    """Return the first `limit` codes of places in sorted order."""
    query = f"SELECT DISTINCT geocode FROM {{}} ORDER BY geocode LIMIT {int(limit)}"
    return [str(place) for (place,) in _query_parquet(path, query)]


def measurements(path: Path, geocode: str) -> list[NoisyMeasurement]:
    """Return all measurements of one place. Reads only the rows of this place.

    Args:
        path: A Parquet file with the columns `geocode`, `query_name`, `value` (a list of whole numbers) and `variance`.
        geocode: The code of the place.
    """
    rows = _query_parquet(
        path,
        "SELECT query_name, CAST(value AS BIGINT[]), CAST(variance AS DOUBLE) FROM {} "
        f"WHERE CAST(geocode AS VARCHAR) = {duck.quoted_text(geocode)}",
    )
    return [
        NoisyMeasurement(str(query), np.array(values or [], dtype=np.int64), float(variance))
        for query, values, variance in rows
    ]


def _query_parquet(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query about a Parquet file, whose relation replaces `{}`."""
    place = duck.quoted_text(duck.path_pattern(duck.require_readable_file(path)))
    relation = f"read_parquet({place}, hive_partitioning=false)"

    def fetched() -> list[tuple[Any, ...]]:
        with duckdb.connect(":memory:") as connection:
            return connection.execute(query.format(relation)).fetchall()

    return duck.without_engine_errors(
        fetched,
        f"{str(path)!r} cannot be read as noisy measurements: check that it is a Parquet file "
        "with geocode, query_name, value (a list of whole numbers) and variance",
    )


# Texts that represent a value beyond doubt. A text such as 007 is excluded, since it may be the code of a region.
_CERTAIN = {
    Kind.INTEGER: "-?(0|[1-9][0-9]{0,17})",
    Kind.REAL: r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?",
    Kind.BOOLEAN: "true|false",
    Kind.DATE: "[0-9]{4}-[0-9]{2}-[0-9]{2}",
}


def certain_kinds(connection: duck.Connection, table: str, names: Sequence[str]) -> dict[str, Kind]:
    """Return the kind of each column of a public table of texts: the first kind that fits all its cells, else text.

    A single cell can change the kind, and with it the values of all other cells. So this must not be used for
    confidential records.
    """
    tests = [_all_are_values(name, kind) for name in names for kind in _CERTAIN]
    fits = iter(connection.execute(f"SELECT {', '.join(tests)} FROM {table}").fetchall()[0])
    kinds_that_fit = {name: [kind for kind in _CERTAIN if next(fits)] for name in names}
    return {name: next(iter(kinds), Kind.TEXT) for name, kinds in kinds_that_fit.items()}


def _all_are_values(name: str, kind: Kind) -> str:
    """Return the SQL condition that all cells of a column are values of a kind; null if the column has no cells."""
    text = duck.quoted_name(name)
    value = f"TRY_CAST({text} AS {SQL_TYPES[kind]})"
    return (
        f"bool_and(regexp_full_match({text}, '{_CERTAIN[kind]}') AND {value} IS NOT NULL) "
        f"FILTER (WHERE {text} IS NOT NULL)"
    )
