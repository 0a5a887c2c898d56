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
from noisycount.release.sources.check import Check, ColumnCheck, require_readable
from noisycount.release.sources.closing import Closing
from noisycount.release.sources.duckdb.cursors import Cursors
from noisycount.release.sources.duckdb.failures import without_engine_errors
from noisycount.release.sources.duckdb.files import Description, Relation, format_of
from noisycount.release.sources.duckdb.paths import Connection, readable_file
from noisycount.release.sources.duckdb.quoting import quoted_name
from noisycount.release.sources.duckdb.sql import duckdb_sql
from noisycount.release.sources.forms import ColumnForm, FileForm
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
# DuckDB rounds nanoseconds, over midnight too: here they are cut off, also before 1970, where the
# remainder is negative. What has no such number is infinite, or missing.
_CUT_NANOSECONDS = (
    "coalesce(make_timestamp(epoch_ns({0}) // 1000 - (epoch_ns({0}) % 1000 < 0)::BIGINT), "
    "TRY_CAST({0} AS TIMESTAMP))"
)

# Statistics and pushed-down filters would let the time of a count tell which values occur.
_LOCKS = (
    "disabled_optimizers = 'statistics_propagation,filter_pushdown'",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
    "python_enable_replacements = false",
    "enable_external_access = false",
    "lock_configuration = true",
)


@dataclass(frozen=True, slots=True)
class DuckDBSource(Closing):
    r"""The records of one file; made by ``DuckDBSource.open``.

    A CSV file is read once, at opening: its first line names the columns, every line has as many
    cells, an empty cell is a missing value. What the cells stand for is stated, or guessed from
    them; if cells do not fit, the file answers nothing until whoever owns it accepts them as
    missing. Parquet and DuckDB files are read at every count.
    Integers have 8 to 64 bits; FLOAT and DECIMAL count as DOUBLE, ENUM as text, every TIMESTAMP
    without a zone as one of microseconds, finer ones cut off.

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
    told: Description
    state: str
    relation: Relation
    seconds: float | None = None

    @classmethod
    def open(  # noqa: PLR0913 - one argument a property of the file
        cls,
        path: Path | str,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        table: str | None = None,
        kinds: Mapping[str, Kind | ColumnForm] | None = None,
        form: FileForm = FileForm(),  # noqa: B008 - frozen
        seconds: float | None = None,
    ) -> Self:
        """The records of a file.

        Args:
            path: a .csv, .parquet, .pq, .duckdb, .db or .ddb file, taken literally.
            unit: the column that names the person, or None where every record is one unit.
            columns: the columns that questions may use, or None for all but the unit.
            table: which table of a DuckDB file; not needed if it has only one.
            kinds: what the texts of a CSV file's columns stand for; those left out are texts.
                None: what they most likely stand for; the unit is text.
            form: how the texts of a CSV file are found in it.
            seconds: after which a count is given up; None: never.

        Raises:
            SourceError: the file cannot be read, lacks a named column or table, has records
                without a unit, or cells that do not fit the kinds and were not accepted so.
        """
        told = Description(unit, columns, table, _forms(kinds), form)
        source = cls._read(Path(path), told, seconds)
        try:
            require_readable(repr(str(path)), source.used())
        except BaseException:
            source.close()
            raise
        return source

    @classmethod
    def checked(
        cls,
        path: Path | str,
        *,
        table: str | None = None,
        kinds: Mapping[str, Kind | ColumnForm] | None = None,
        form: FileForm = FileForm(),  # noqa: B008 - frozen
        unit: str | None = None,
    ) -> Check:
        """What is in a file, for its owner, whether or not its cells fit.

        Args:
            path: As `open` takes it, like the rest.
            table: Which table of a DuckDB file.
            kinds: What is stated of the columns.
            form: What is stated of the file.
            unit: The column that names the person.

        Raises:
            SourceError: The file cannot be read.
        """
        told = Description(unit, None, table, _forms(kinds), form)
        with cls._read(Path(path), told, None) as source:
            return source.check()

    @classmethod
    def _read(cls, path: Path, told: Description, seconds: float | None) -> Self:
        """The records of a file, which may have cells that do not fit."""
        kind = format_of(path, told)
        place = readable_file(path)
        state = _state(place)
        # Nothing private may spill to a disk, where it would stay after a kill.
        connection = duckdb.connect(":memory:", config={"temp_directory": ""})

        def readable() -> tuple[Schema, Relation]:
            relation = kind.relation(connection, place, told)
            schema = _view(connection, relation.sql, told.unit, told.columns)
            _read_all(connection)
            for lock in _LOCKS:
                connection.execute(f"SET {lock}")
            return schema, relation

        try:
            schema, relation = without_engine_errors(
                readable,
                f"{str(path)!r} cannot be read as {kind.name}: check that {kind.check}",
                f"{str(path)!r} needs more memory than there is: {kind.relief}",
            )
        except BaseException:
            connection.close()
            raise
        return cls(Cursors(connection), place, schema, told, state, relation, seconds)

    def used(self) -> list[ColumnCheck]:
        """What is in the columns that questions may use and in the unit, where they are texts."""
        return [
            column
            for column in self.relation.checks
            if column.name in self.schema or column.name == self.unit
        ]

    def check(self) -> Check:
        """What is in the records; see ``Source.check``."""
        if self.relation.checks:
            (rows,) = self._row("SELECT count(*) FROM records")
            return Check(rows, self.relation.checks, self.relation.form)
        names = [quoted_name(name) for name in self.schema]
        counts = ", ".join(["count(*)", *(f"count({name})" for name in names)])
        rows, *given = self._row(f"SELECT {counts} FROM records")
        columns = [
            ColumnCheck(name, kind, kind.value, None, rows - cells)
            for (name, kind), cells in zip(self.schema.items(), given, strict=True)
        ]
        unused = [
            ColumnCheck(name, None, type_, None, 0) for name, type_ in self.schema.others.items()
        ]
        return Check(rows, (*columns, *unused))

    @property
    def version(self) -> str:
        """The state of the file, and how it is read: what is counted may change with either."""
        forms = {column.name: column.form.parts for column in self.relation.checks if column.form}
        said = [self.told.table, forms]
        return f"{self.state} {json.dumps(said, sort_keys=True)}" if any(said) else self.state

    @property
    def unit(self) -> str | None:
        """The column that names the person, or None where every record is one unit."""
        return self.told.unit

    @property
    def connection(self) -> Connection:
        """The connection that holds the view ``records``."""
        return self.cursors.connection

    def require_unchanged(self) -> None:
        """The refusal of a file that changed; see ``Source.require_unchanged``."""
        self.cursors.require_open()
        if _state(self.path) != self.state:
            raise SourceError(f"{str(self.path)!r} changed while it was open: open it again")

    def count(self, predicates: Sequence[Predicate]) -> list[int]:
        """The true count for each predicate; see ``Source.count``."""
        require_known_columns(predicates, self.schema)
        if not predicates:
            return []
        query = _count_sql([duckdb_sql(predicate) for predicate in predicates], self.unit)
        row = without_engine_errors(
            lambda: self._row(query),
            f"{str(self.path)!r} cannot be counted: check that the file is whole, "
            "that it is not closed meanwhile, and that memory is free",
        )
        self.require_unchanged()
        return list(row)

    def _row(self, query: str) -> tuple[int, ...]:
        """The only row of a result."""
        with self.cursors.one() as cursor:
            return _row_within(self.seconds, cursor, query)

    def close(self) -> None:
        """The end of their use; a count that goes on is given up, and not waited for."""
        self.cursors.close()


def _read_all(connection: Connection) -> None:
    """The reading of every cell that a question may use, so that a broken one is found now.

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


def _forms(
    kinds: Mapping[str, Kind | ColumnForm] | None,
) -> dict[str, ColumnForm] | None:
    """What the texts of columns stand for; a kind alone is the usual form of its texts."""
    if kinds is None:
        return None
    return {n: ColumnForm(kind) if isinstance(kind, Kind) else kind for n, kind in kinds.items()}


def _view(
    connection: Connection,
    relation: str,
    unit: str | None,
    columns: Sequence[str] | None,
) -> Schema:
    """The schema of the view ``records``, made of the needed columns once it can be counted."""
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
        f"{_conversion(kind, types[name]).format(quoted_name(name))} AS {quoted_name(name)}"
        for name, kind in schema.items()
    ]
    if unit is not None:
        selected.append(quoted_name(unit))
    connection.execute(
        f"CREATE VIEW records AS SELECT {', '.join(selected) or '1'} FROM {relation}"
    )
    return schema


def _conversion(kind: Kind, type_: str) -> str:
    """The SQL, with a place for the name, of a column of a type as one of its kind."""
    return _CUT_NANOSECONDS if type_ == "timestamp_ns" else _CONVERSIONS.get(kind, "{}")
