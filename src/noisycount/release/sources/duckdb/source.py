"""CSV, Parquet and DuckDB files, counted by DuckDB in a connection that can read nothing else."""
# ruff: noqa: S608, as all SQL here is made of typed trees and of names and texts that it quotes

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Self

import duckdb

from noisycount.errors import SourceError
from noisycount.release.question.schema import Kind, Schema
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.closing import Closing
from noisycount.release.sources.duckdb.cursors import Cursors
from noisycount.release.sources.duckdb.files import (
    CSV,
    Connection,
    engine_errors_as,
    format_of,
    readable_file,
)
from noisycount.release.sources.duckdb.sql import duckdb_sql, quoted_name
from noisycount.release.sources.interface import require_known_columns

__all__ = ["DuckDBSource"]


_TYPES = {
    Kind.INTEGER: "tinyint smallint integer bigint utinyint usmallint uinteger ubigint",
    Kind.REAL: "float double decimal",
    Kind.TEXT: "varchar enum",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp timestamp_s timestamp_ms timestamp_ns",
}
_KINDS = {type_: kind for kind, types in _TYPES.items() for type_ in types.split()}

# How columns of a kind are brought to one type, with one order, and without an error.
_CONVERSIONS = {
    Kind.REAL: "CAST({} AS DOUBLE)",
    Kind.TEXT: 'CAST({} AS VARCHAR) COLLATE "binary"',
    Kind.TIMESTAMP: "TRY_CAST({} AS TIMESTAMP)",
}

# Statistics and pushed-down filters would let the time of a count tell which values occur.
_LOCKS = (
    "disabled_optimizers = 'statistics_propagation,filter_pushdown'",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
    "python_enable_replacements = false",
    "temp_directory = ''",
    "enable_external_access = false",
    "lock_configuration = true",
)


@dataclass(frozen=True, slots=True)
class DuckDBSource(Closing):
    r"""Counts the records of one file; made by ``DuckDBSource.open``.

    A CSV file is read once, at opening: its first line names the columns, every line has as many
    cells, dates are ISO 8601, an empty cell is a missing value. The kinds of its columns are what
    all cells fit, so that one record can change them, unless they are stated: then a cell that does
    not fit is a missing value, whatever the other records are. Parquet and DuckDB files are read
    at every count. Integers have 8 to 64 bits; FLOAT and DECIMAL count as DOUBLE, ENUM as text,
    every TIMESTAMP without a zone as one of microseconds.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from noisycount.release.question.parser import parse
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "survey.csv")
        ...     _ = path.write_text("person,age\n1,31\n1,32\n2,29\n")
        ...     with DuckDBSource.open(path, unit="person") as source:
        ...         source.count([parse("age >= 30", source.schema)])
        [1]
    """

    cursors: Cursors
    path: Path
    schema: Schema
    unit: str | None
    state: str
    reading: str = ""
    seconds: float | None = None

    @classmethod
    def open(  # noqa: PLR0913 - one argument a property of the file
        cls,
        path: Path | str,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        table: str | None = None,
        kinds: Mapping[str, Kind] | None = None,
        seconds: float | None = None,
    ) -> Self:
        """Open a file of records.

        Args:
            path: a .csv, .parquet, .pq, .duckdb, .db or .ddb file, taken literally.
            unit: the column that names the person, or None where every record is one unit.
            columns: the columns that questions may use, or None for all but the unit.
            table: which table of a DuckDB file; not needed if it has only one.
            kinds: of the columns of a CSV file; those left out are texts. None: as the cells are.
            seconds: after which a count is given up; None: never.

        Raises:
            SourceError: the file cannot be read, lacks a named column or table, has records without
                a unit, or is a CSV file without records whose kinds are not stated.
        """
        path = Path(path)
        form = format_of(path, table, kinds)
        place = readable_file(path)
        state = _state(place)
        connection = duckdb.connect(":memory:")
        try:
            with engine_errors_as(
                f"{str(path)!r} cannot be read as {form.name}: check that {form.check}"
            ):
                relation = form.relation(connection, place, table, kinds)
                if form is CSV and kinds is None:
                    _require_records(connection, relation, place)
                schema = _view(connection, relation, unit, columns)
                _read_all(connection)
                for lock in _LOCKS:
                    connection.execute(f"SET {lock}")
        except BaseException:
            connection.close()
            raise
        cursors = Cursors(connection)
        return cls(cursors, place, schema, unit, state, _reading(table, kinds), seconds)

    @property
    def version(self) -> str:
        """The state of the file, and how it is read: what is counted may change with either."""
        return f"{self.state}{self.reading}"

    @property
    def connection(self) -> Connection:
        """The connection that holds the view ``records``."""
        return self.cursors.connection

    def require_unchanged(self) -> None:
        """Refuse a file that changed since it was opened; see ``Source.require_unchanged``."""
        self.cursors.require_open()
        if _state(self.path) != self.state:
            raise SourceError(f"{str(self.path)!r} changed while it was open: open it again")

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The true count for each predicate; see ``Source.count``."""
        require_known_columns(predicates, self.schema)
        if not predicates:
            return []
        query = _count_sql([duckdb_sql(predicate) for predicate in predicates], self.unit)
        with (
            engine_errors_as(
                f"{str(self.path)!r} cannot be counted: check that the file is whole, "
                "that it is not closed meanwhile, and that memory is free"
            ),
            self.cursors.one() as cursor,
        ):
            row = _row_within(self.seconds, cursor, query)
        self.require_unchanged()
        return list(row)

    def close(self) -> None:
        """Close the connection; a count that goes on is given up, and not waited for."""
        self.cursors.close()


def _read_all(connection: Connection) -> None:
    """Read every cell that a question may use, so that one that is broken is found now, not later.

    A question that fails would tell that the record is there, after the debit.
    """
    names = connection.view("records").columns
    hashes = ", ".join(f"max(hash({quoted_name(name)}))" for name in names)
    connection.execute(f"SELECT {hashes} FROM records")


def _count_sql(conditions: Sequence[str], unit: str | None) -> str:
    """One scan without a filter: its time does not tell how many records match."""
    if unit is None:
        counts = ", ".join(f"count(CASE WHEN {condition} THEN 1 END)" for condition in conditions)
        return f"SELECT {counts} FROM records"
    numbered = list(enumerate(conditions))
    matches = ", ".join(f"bool_or({condition}) AS matches_{n}" for n, condition in numbered)
    counts = ", ".join(f"count(CASE WHEN matches_{n} THEN 1 END)" for n, _ in numbered)
    return f"SELECT {counts} FROM (SELECT {matches} FROM records GROUP BY {quoted_name(unit)})"


def _row_within(seconds: float | None, connection: Connection, query: str) -> tuple[int, ...]:
    """The only row of a result, unless the query takes longer."""
    timer = Timer(0 if seconds is None else seconds, connection.interrupt)
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        row: tuple[int, ...] = connection.execute(query).fetchall()[0]
    finally:
        timer.cancel()
    return row


def _state(place: Path) -> str:
    """The size and time of the file and of the write-ahead log that a DuckDB file may have."""
    log = place.with_name(f"{place.name}.wal")
    try:
        states = [file.stat() for file in (place, log) if file == place or file.exists()]
    except OSError:
        raise SourceError(f"{str(place)!r} cannot be read any more: open it again") from None
    return " ".join(f"{state.st_size}-{state.st_mtime_ns}" for state in states)


def _reading(table: str | None, kinds: Mapping[str, Kind] | None) -> str:
    """What the owner says of how a file is read; empty where that is nothing."""
    said = [table, {name: kind.value for name, kind in sorted((kinds or {}).items())}]
    return "" if table is None and kinds is None else f" {json.dumps(said)}"


def _require_records(connection: Connection, relation: str, place: Path) -> None:
    """Refuse a file whose columns have no kinds, as there are no cells to take them from."""
    if connection.execute(f"FROM {relation} LIMIT 1").fetchall() == []:
        raise SourceError(
            f"{str(place)!r} has no records: give at least one, or state the kinds of its columns"
        )


def _view(
    connection: Connection, relation: str, unit: str | None, columns: Sequence[str] | None
) -> Schema:
    """Make the view ``records`` of the needed columns, after checking that it can be counted."""
    described = connection.sql(f"SELECT * FROM {relation}")
    types = {
        name: "json" if str(type_) == "JSON" else type_.id  # JSON is stored as varchar
        for name, type_ in zip(described.columns, described.types, strict=True)
    }
    present = "*" if unit not in types else quoted_name(unit)
    total, with_unit = connection.execute(
        f"SELECT count(*), count({present}) FROM {relation}"
    ).fetchall()[0]
    schema = Schema(
        {name: _KINDS[type_] for name, type_ in types.items() if type_ in _KINDS},
        {name: type_ for name, type_ in types.items() if type_ not in _KINDS},
    ).for_questions(unit, columns)
    if with_unit < total:
        raise SourceError(
            f"unit column {unit!r} has missing values, and a record without a person cannot be "
            "counted for anybody: fill them in or remove those records"
        )
    selected = [
        f"{_CONVERSIONS.get(kind, '{}').format(quoted_name(name))} AS {quoted_name(name)}"
        for name, kind in schema.items()
    ]
    if unit is not None:
        selected.append(quoted_name(unit))
    connection.execute(
        f"CREATE VIEW records AS SELECT {', '.join(selected) or '1'} FROM {relation}"
    )
    return schema
