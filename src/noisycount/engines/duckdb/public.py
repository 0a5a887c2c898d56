# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes
"""What everybody may see: public tables in files, and noisy measurements of a census."""

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
from noisycount.query.schema import Kind, close_names

_OPTIONS = {
    "csv": "FORMAT csv, HEADER true",
    "tsv": "FORMAT csv, HEADER true, DELIMITER '\t'",
    "parquet": "FORMAT parquet",
}


def write_rows(connection: duck.Connection, query: str, out: Path, form: str) -> None:
    """The writing of the rows of a query; an older file is replaced when all is written."""
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
Missing: TypeAlias = NDArray[np.bool_] | Mapping[str, NDArray[np.bool_]]
_CSV, _TSV, _PARQUET = "csv", "tsv", "parquet"
_FORMATS = {".csv": _CSV, ".tsv": _TSV, ".parquet": _PARQUET, ".pq": _PARQUET}
_CHECKS = {_CSV: TEXTS.check, _TSV: TEXTS.check, _PARQUET: PARQUET.check}


@frozen
class PublicTable(Closeable):
    r"""A table that everybody may see; made by ``PublicTable.open``.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "answers.csv")
        ...     _ = path.write_text("region,answer\n01,31.5\n02,\n")
        ...     with PublicTable.open(path) as table:
        ...         table.numbers("answer").tolist()
        [31.5, nan]
    """

    connection: duck.Connection  # holds the table as ``loaded``; the cells of a CSV file are text
    path: Path
    columns: tuple[str, ...]

    @classmethod
    def open(cls, path: Path) -> Self:
        """The table in a file, read as a whole."""
        form, place = table_format(path), duck.readable_file(path)
        connection = duckdb.connect(":memory:")

        def loaded() -> tuple[str, ...]:
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
                loaded, f"{str(path)!r} cannot be read as {form}: check that {_CHECKS[form]}"
            )
        except BaseException:
            connection.close()
            raise
        return cls(connection, path, columns)

    def numbers(self, column: str, *, has_shares: bool = False) -> NDArray[np.float64]:
        """A column as numbers, nan where a cell is empty, shape (rows,).

        `has_shares`: whether a cell such as 2% is the number 0.02.
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
        found = duck.without_engine_errors(
            lambda: self.connection.execute(query).fetchnumpy(),
            f"column {column!r} of {str(self.path)!r} cannot be read: free some memory",
        )
        missing = np.ma.getmaskarray(found["value"])
        broken = missing & found["given"]
        if broken.any():
            raise self.refusal(column, int(np.argmax(broken)), meant)
        return np.ma.filled(found["value"], np.nan)

    @property
    def length(self) -> int:
        """How many rows there are."""
        (rows,) = self.connection.execute("SELECT count(*) FROM loaded").fetchall()
        return int(rows[0])

    def texts(self, names: Sequence[str] | None = None) -> list[tuple[str | None, ...]]:
        """The cells of each row as text, None where one is empty."""
        columns = self.columns if names is None else names
        cells = (f"CAST({duck.quoted_name(name)} AS VARCHAR)" for name in columns)
        query = f"SELECT {', '.join(cells)} FROM loaded"
        return duck.without_engine_errors(
            lambda: self.connection.execute(query).fetchall(), f"{str(self.path)!r} cannot be read: free some memory"
        )

    def check_addition(self, out: Path, names: Sequence[str]) -> None:
        """The refusal of what `save` could not do, before the work for it is done."""
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
        """The writing of the table with columns added, in the order of its rows.

        Where a CSV file becomes a Parquet file, columns that hold only whole numbers, numbers, truth values or dates
        get that type; all others stay text.

        `out`: a .csv, .tsv, .parquet or .pq file; an older one is replaced when all is written. `missing`: whether the
        row has none of these values, shape (rows,); or so for each name.
        """
        form = table_format(out)
        given: dict[str, NDArray[np.generic]] = {}
        new: list[str] = []
        for place, (name, values) in enumerate(added.items()):
            own = missing[name] if isinstance(missing, Mapping) else missing
            given |= {f"v{place}": values, f"m{place}": own}
            new.append(f"CASE WHEN NOT added.m{place} THEN added.v{place} END AS {duck.quoted_name(name)}")
        query = f"SELECT {', '.join([self._kept(form), *new])} FROM loaded POSITIONAL JOIN added"
        self.connection.register("added", given)
        write_rows(self.connection, query, out, form)

    def refusal(self, column: str, row: int, meant: str, remedy: str = "mend it") -> SourceError:
        """The refusal of one cell, which it does not quote."""
        return SourceError(
            f"row {row + 1:,} below the names in {str(self.path)!r} must have in column {column!r} {meant}: {remedy}"
        )

    def close(self) -> None:
        """The end of its use."""
        self.connection.close()

    def _kept(self, form: str) -> str:
        """The columns of the file, with the types that their texts stand for in Parquet."""
        if form != _PARQUET or table_format(self.path) == _PARQUET:
            return "loaded.*"
        kinds = certain_kinds(self.connection, "loaded", self.columns)
        return ", ".join(
            f"CAST(loaded.{duck.quoted_name(name)} AS {SQL_TYPES[kind]}) AS {duck.quoted_name(name)}"
            for name, kind in kinds.items()
        )


def table_format(path: Path) -> str:
    """The format of a public table by the ending of its file: `csv`, `tsv` or `parquet`.

    Example:
        >>> table_format(Path("answers.pq"))
        'parquet'
    """
    return by_ending(path, _FORMATS)


@frozen
class PublicColumns(Columns):
    """Columns that everybody may see.

    Example:
        >>> import polars as pl
        >>> pl.DataFrame(PublicColumns({"town": ["Bern", None], "answer": [12, 3]})).rows()
        [('Bern', 12), (None, 3)]
    """

    # the cells of each by its name, equally many, each column of one type or None; all are texts where one is, such as
    # the name of a range among numbers
    columns: Mapping[str, Cells]

    def save(self, out: Path) -> None:
        """The writing of all rows in their order; an older file is replaced when all is written."""
        form = table_format(out)
        with duckdb.connect(":memory:") as connection:
            write_rows(connection, select_query(self.columns, connection), out, form)


_MEASURED = {"geocode", "query_name", "value", "variance"}


@frozen
class NoisyMeasurement:
    """The answers to one query about one place."""

    query: str  # its name, such as "votingage * hispanic"
    values: NDArray[np.int64]  # a noisy count for each of its cells, shape (cells,)
    variance: float  # of the noise of each


def has_measurements(path: Path) -> bool:
    """Whether a Parquet file has the columns of noisy measurements; none of its rows are read."""
    names = _asked(path, "DESCRIBE SELECT * FROM {}")
    return {str(name) for name, *_ in names} >= _MEASURED


def measured_places(path: Path, most: int) -> list[str]:
    """The codes of the first places, in order."""
    query = f"SELECT DISTINCT geocode FROM {{}} ORDER BY geocode LIMIT {int(most)}"
    return [str(place) for (place,) in _asked(path, query)]


def measurements(path: Path, geocode: str) -> list[NoisyMeasurement]:
    """All that was measured of one place; only its rows are read.

    `path`: a Parquet file with the columns `geocode`, `query_name`, `value` (a list of whole numbers) and `variance`.
    """
    rows = _asked(
        path,
        "SELECT query_name, CAST(value AS BIGINT[]), CAST(variance AS DOUBLE) FROM {} "
        f"WHERE CAST(geocode AS VARCHAR) = {duck.quoted_text(geocode)}",
    )
    return [
        NoisyMeasurement(str(query), np.array(values or [], dtype=np.int64), float(variance))
        for query, values, variance in rows
    ]


def _asked(path: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query about a file."""
    place = duck.quoted_text(duck.path_pattern(duck.readable_file(path)))
    relation = f"read_parquet({place}, hive_partitioning=false)"

    def fetched() -> list[tuple[Any, ...]]:
        with duckdb.connect(":memory:") as connection:
            return connection.execute(query.format(relation)).fetchall()

    return duck.without_engine_errors(
        fetched,
        f"{str(path)!r} cannot be read as noisy measurements: check that it is a Parquet file "
        "with geocode, query_name, value (a list of whole numbers) and variance",
    )


# Texts that stand for a value without doubt: a 007 may be the name of a region.
_CERTAIN = {
    Kind.INTEGER: "-?(0|[1-9][0-9]{0,17})",
    Kind.REAL: r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?([eE][+-]?[0-9]{1,2})?",
    Kind.BOOLEAN: "true|false",
    Kind.DATE: "[0-9]{4}-[0-9]{2}-[0-9]{2}",
}


def certain_kinds(connection: duck.Connection, table: str, names: Sequence[str]) -> dict[str, Kind]:
    """The kind of each column of a public table of texts: the first for which all its cells stand.

    One cell can change it, and what all others stand for: it is nothing for private records.
    """
    tests = [_all_stand_for(name, kind) for name in names for kind in _CERTAIN]
    fits = iter(connection.execute(f"SELECT {', '.join(tests)} FROM {table}").fetchall()[0])
    found = {name: [kind for kind in _CERTAIN if next(fits)] for name in names}
    return {name: next(iter(kinds), Kind.TEXT) for name, kinds in found.items()}


def _all_stand_for(name: str, kind: Kind) -> str:
    """The SQL of whether all cells of a column stand for a kind; null where there are none."""
    text = duck.quoted_name(name)
    value = f"TRY_CAST({text} AS {SQL_TYPES[kind]})"
    return (
        f"bool_and(regexp_full_match({text}, '{_CERTAIN[kind]}') AND {value} IS NOT NULL) "
        f"FILTER (WHERE {text} IS NOT NULL)"
    )
