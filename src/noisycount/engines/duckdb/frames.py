# ruff: noqa: S608, as all SQL here is made of typed trees and of names that it quotes
"""Sources of records in memory: tables of pandas, Polars, Arrow or DuckDB, counted by DuckDB where they are.

`FrameSource` is the source. It digests all cells when it is opened, and checks the columns again after each count.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import duckdb

from noisycount.engines.check import Check
from noisycount.engines.counting import EngineSource, Reading
from noisycount.engines.duckdb import connection as duck
from noisycount.engines.duckdb.check_facts import with_value_facts
from noisycount.engines.duckdb.dialect import DuckDBCounting
from noisycount.engines.duckdb.snapshot import FRAME, Snapshot, column_facts, content_hash, read_cells, take_snapshot
from noisycount.engines.duckdb.table import column_types, require_units, typed_values, whole_schema
from noisycount.errors import SourceError
from noisycount.query.schema import Schema

_ZONED = ("timestamp with time zone", "timestamptz_ns")  # types of which DuckDB may fail to read cells
_UNREADABLE = "unknown"  # type of a column that DuckDB cannot read


def frame_types(snapshot: Snapshot, connection: duck.Connection) -> dict[str, str]:
    """Return DuckDB's name of the type of each column; `unknown` for a column that DuckDB cannot read."""
    types: dict[str, str] = {}
    for names in snapshot.parts:
        types |= _types_of(names, snapshot, connection)
    return {name: types[name] for name in snapshot.names}


def _types_of(names: Sequence[str], snapshot: Snapshot, connection: duck.Connection) -> dict[str, str]:
    """Return the types of some columns; split them in halves to isolate a column that cannot be read."""
    try:
        snapshot.attach(connection, names)
        return column_types(connection, FRAME)
    except duckdb.Error:
        if len(names) == 1:
            return {names[0]: _UNREADABLE}
    middle = len(names) // 2
    return _types_of(names[:middle], snapshot, connection) | _types_of(names[middle:], snapshot, connection)


def require_readable_cells(
    snapshot: Snapshot, connection: duck.Connection, types: dict[str, str], unit: str | None
) -> None:
    """Raise SourceError if cells cannot be read, or if a record has no unit."""
    zoned = [name for name, type_ in types.items() if type_ in _ZONED]
    try:
        if zoned:
            snapshot.attach(connection, zoned)
            latest = ", ".join(f"max({duck.quoted_name(name)}) IS NULL" for name in zoned)
            # an open result would keep another table from being registered
            connection.execute(f"SELECT {latest} FROM {FRAME}").fetchall()
        if unit is not None:
            snapshot.attach(connection, [unit])
            require_units(connection, FRAME, unit)
    except duckdb.Error:
        columns_ = ", ".join(map(repr, [*zoned, *([unit] if unit else [])]))
        message = f"frame has cells in {columns_} that cannot be read: convert them"
    else:
        return
    raise SourceError(message)


_FAILURE = "frame cannot be counted: check that it is not closed meanwhile, and that memory is free"
# Types of units whose distinct values have distinct digests. Other types lose precision when converted, or have
# different values with the same text.
_EXACT_UNITS = {
    *("varchar", "enum", "boolean", "uuid", "date", "timestamp", "timestamp with time zone", "float", "double"),
    *(f"{sign}{size}" for sign in ("", "u") for size in ("tinyint", "smallint", "integer", "bigint")),
}


@dataclass(slots=True, eq=False)
class FrameSource(EngineSource):
    """A source of the records of a table in memory, made by `FrameSource.open`.

    It counts the records that the table had when it was opened. Frames of pandas, Polars and Arrow are counted in
    place. Tables that another library computes while they are read, such as relations of DuckDB, are copied. All cells
    are digested at opening; each count digests the columns that it read again. A count raises SourceError if they have
    changed, for example because an array of NumPy that the table shares was written to. A float that pandas treats as
    missing (NaN) is missing; in Polars and Arrow NaN is a value. Categories and dictionaries count as their values,
    FLOAT and DECIMAL as DOUBLE. Times count in UTC and in microseconds; smaller parts are cut off.

    Example:
        >>> import polars as pl
        >>> from noisycount.query.language import parse
        >>> frame = pl.DataFrame({"person": [1, 1, 2], "age": [31, 32, 29]})
        >>> with FrameSource.open(frame, unit="person") as source:
        ...     source.count([parse("age >= 30", source.schema)])
        [1]
    """

    cursors: duck.Cursors
    snapshot: Snapshot
    types: dict[str, str]
    schema: Schema  # columns that queries may use
    unit: str | None  # column that names the person; None: each record is a privacy unit
    seconds: float | None = None  # time limit of a count; None: no limit
    _version: str = ""
    _contents: dict[str, list[object]] = field(
        default_factory=dict
    )  # digested facts of each column of the version, by its name
    # facts of each column of categories, by its name; see `Snapshot.category_facts`
    _categories: dict[str, list[object] | None] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        frame: Any,  # noqa: ANN401 - of any library
        *,
        unit: str | None,
        columns: Sequence[str] | None = None,
        seconds: float | None = None,
    ) -> Self:
        """Open the records of a table.

        Args:
            frame: The table. A named index of pandas is a column.
            unit: The column that names the person; None: each record is a privacy unit.
            columns: The columns that queries may use; None: all but the unit.
            seconds: Time limit of a count; None: no limit.

        Raises:
            SourceError: The table cannot be read, or a record has no unit.
        """
        connection = duck.private_connection()
        try:
            duck.lock(connection)
            snapshot = take_snapshot(frame, connection)
            types = frame_types(snapshot, connection)
            schema = whole_schema(types).for_questions(unit, columns)
            require_readable_cells(snapshot, connection, types, unit)
        except BaseException:
            connection.close()
            raise
        source = cls(duck.Cursors(connection), snapshot, types, schema, unit, seconds)
        try:
            source._version = duck.without_engine_errors(source._hash, _FAILURE)  # before the caller can change it
        except BaseException:
            connection.close()
            raise
        return source

    @property
    def version(self) -> str:
        """Digest of all columns that a query may use or that may be the unit.

        It is the same for the same records in the same order, whichever library holds them, whatever the number of
        chunks, and after they were written to a file and read again.
        """
        self.cursors.require_open()
        return self._version

    @property
    def has_exact_version(self) -> bool:
        """True if the version digests everything that is counted, so that a count detects every change.

        The digest contains the units as queries see their column: in microseconds, as DOUBLE or as text. Units are
        counted by their original values. In some types two units differ, but have equal values in the digest: then this
        is False.
        """
        return self.unit is None or self.types[self.unit] in _EXACT_UNITS

    def prepare(self, columns: Collection[str] | None = None) -> None:  # noqa: ARG002 - all are alike
        """Raise SourceError if the source is closed. All cells were checked when it was opened."""
        self.require_unchanged()

    def _hash(self) -> str:
        """Digest the columns, and return the digest with the number of records."""
        names = [n for n in self.types if n in self.schema.entire or n == self.unit]
        # Categories are read first: if a column changes before its texts are read, its first count fails.
        self._categories = {name: self.snapshot.category_facts(name) for name in names}
        self._contents = self._contents_of(names)
        with self._open_view(()) as cursor:
            ((rows,),) = cursor.execute("SELECT count(*) FROM records").fetchall()
        return content_hash(self._contents, rows)

    def _contents_of(self, names: Sequence[str]) -> dict[str, list[object]]:
        """Return the digested facts of some columns, by their names. Threads read the columns in parallel."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(names, pool.map(self._column_content, names), strict=True))

    def _require_same(self, columns: Collection[str]) -> None:
        """Close the source and raise SourceError if the unit or a column that a count read has changed.

        The comparison comes after the count, so that it detects every change between the version and the count.
        """
        counted = sorted(self._contents.keys() & {self.unit, *columns})

        def read_again() -> dict[str, list[object]]:
            known = ((name, self._categories[name]) for name in counted)
            return self._contents_of(
                [name for name, facts in known if facts is None or facts != self.snapshot.category_facts(name)]
            )

        contents = duck.without_engine_errors(read_again, _FAILURE)
        if any(facts != self._contents[name] for name, facts in contents.items()):
            self.close()
            raise SourceError("frame was changed in place while it was open: open it again")

    def _column_content(self, name: str) -> list[object]:
        """Return the kind or type of one column, its format, and the facts of its cells."""
        kind = self.schema.entire.get(name)
        value = typed_values(self.types, [name])[name] if kind else f"{duck.quoted_name(name)}::VARCHAR"
        with self.cursors.cursor_for_query() as cursor:
            self.snapshot.attach(cursor, [name])
            stream = cursor.sql(f"SELECT {value} FROM {FRAME}")
            facts = column_facts(read_cells(stream))
        return [kind.value if kind else self.types[name], *facts]

    def check(self, unit: str | None = None) -> Check:
        """Return the check of the records, for their owner."""
        unit_column = unit if unit in self.schema else self.unit
        reasons = dict.fromkeys(self.schema, "its type says so")

        def check_records(reading: Reading) -> Check:
            return reading.check(self.schema, unit_column, types=self.types, reasons=reasons)

        check = self._counting([*self.schema]).run(check_records)
        with self._open_view([*self.schema]) as cursor:
            return with_value_facts(cursor, check, unit_column)

    def require_unchanged(self) -> None:
        """Raise SourceError if the source is closed. A table in memory has no state that could be compared."""
        self.cursors.require_open()

    def _counting(self, columns: Collection[str]) -> DuckDBCounting:
        return DuckDBCounting(partial(self._open_view, columns), self.unit, self.schema, self.seconds, _FAILURE)

    @contextmanager
    def _open_view(self, names: Collection[str]) -> Iterator[duck.Connection]:
        """Yield a cursor with the view `records` of some columns, each converted to the type of its kind."""
        values = typed_values(self.types, names)
        selected = [f"{value} AS {duck.quoted_name(name)}" for name, value in values.items()]
        unit = [] if self.unit is None else [self.unit]
        columns = ", ".join([*selected, *map(duck.quoted_name, unit)]) or "1"
        with self.cursors.cursor_for_query() as cursor:
            self.snapshot.attach(cursor, [*names, *unit])
            cursor.execute(f"CREATE TEMP VIEW records AS SELECT {columns} FROM {FRAME}")
            yield cursor

    def close(self) -> None:
        """Close the source. A count that is running is interrupted."""
        self.cursors.close()
