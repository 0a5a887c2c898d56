# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes
"""Formats of files that DuckDB reads, itself or from a table of texts that is made for it.

`format_of` chooses the format by the ending of a file. Its `relation` makes the file a relation of a connection.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import date
from functools import partial
from glob import escape
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING, Any

import duckdb

from noisycount.engines.check import Check
from noisycount.engines.duckdb import file_head, foreign
from noisycount.engines.duckdb.check_facts import ParquetMetadata, are_of_pandas
from noisycount.engines.duckdb.connection import (
    Connection,
    Result,
    path_pattern,
    private_connection,
    quoted_name,
    quoted_text,
    without_engine_errors,
)
from noisycount.engines.duckdb.definitions import duckdb_relations, require_stable_duckdb, sqlite_relations
from noisycount.engines.duckdb.layout import Layout
from noisycount.engines.duckdb.odd_rows import with_odd_rows
from noisycount.engines.duckdb.relation import Description, Relation
from noisycount.engines.duckdb.table import READ_TYPES, column_types
from noisycount.engines.duckdb.texts import Lines, fits_unquoted, load_texts
from noisycount.engines.duckdb.typed_texts import TextTable, with_lines
from noisycount.engines.duckdb.workbooks import lines_of_objects, load_objects, load_sheet
from noisycount.engines.formats import FileFormat, by_ending
from noisycount.engines.places import Keys, files_below, files_of, hive_keys, is_several
from noisycount.engines.views.relations import UnprovenError
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.query.close_names import close_names

if TYPE_CHECKING:
    from noisycount.engines.duckdb.lake import Lake

_OPTIONS = "FORMAT parquet, COMPRESSION snappy, USE_TMP_FILE false"


def write_copy(  # noqa: PLR0913 - one argument a property of the records
    connection: Connection, copy: Path | None, relation: Relation, view: str, unit: str | None, *, copies_types: bool
) -> None:
    """Write the values of a file to the file `copy`, if there must be a copy.

    A file of texts is always copied, another file only if `copies_types`. Only the current user can read the copy. It
    appears only when it is complete: if space or a permission is missing, no part of it remains.

    Raises:
        SourceError: The copy of a file with types has another number of persons than the file: Parquet changes large
            integers and drops collations.
    """
    if copy is None or relation.is_refused or not (relation.check or copies_types):
        return
    values = "typed" if relation.check else view
    with suppress(OSError, duckdb.Error):
        descriptor, name = mkstemp(dir=copy.parent, prefix=f".{copy.name.removeprefix('.')}.", suffix=".part")
        part = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                connection.execute(f"COPY {values} TO {quoted_text(name)} ({_OPTIONS})")
                os.fsync(file.fileno())
            if relation.check is None and unit is not None:
                persons = f"SELECT count(DISTINCT {quoted_name(unit)}) FROM"
                copied = f"{persons} read_parquet({quoted_text(name)}, hive_partitioning=false)"
                if connection.execute(copied).fetchall() != connection.execute(f"{persons} {values}").fetchall():
                    raise SourceError(
                        f"column {unit!r} names persons by values that a copy cannot hold: store them as texts that "
                        "differ in more than case, or as integers of 64 bits"
                    )
            part.replace(copy)
        finally:
            part.unlink(missing_ok=True)


def _open_texts(connection: Connection, place: Path, description: Description) -> Relation:
    file = load_texts(place, description.form, connection, repairs=description.is_for_check)
    table = TextTable(connection, file.names)
    relation = _typed_relation(table, description, file.form, partial(file.lines, connection), file.layout)
    check = relation.check
    has_several = check is not None and any(odd.kind == "several" for odd in check.odd_rows)
    if check is not None and has_several and fits_unquoted(place, description.form):
        return replace(relation, check=replace(check, fits_unquoted=True))
    return relation


def _open_json(connection: Connection, place: Path, description: Description) -> Relation:
    table = load_objects(place, connection)
    return _typed_relation(table, description, FileFormat(), partial(lines_of_objects, place, connection))


def _open_workbook(connection: Connection, place: Path, description: Description) -> Relation:
    is_for_check = description.is_for_check
    table, layout, places = load_sheet(place, connection, description.table, description.form, repairs=is_for_check)
    return _typed_relation(table, description, layout.form, lambda rows: {row: places[row] for row in rows}, layout)


def _open_sqlite(connection: Connection, place: Path, description: Description) -> Relation:
    table = foreign.sqlite_table(connection, place, description.table, description.claim)
    return _typed_relation(table, description, FileFormat(), lambda _: {})


def _open_statistics_file(connection: Connection, place: Path, description: Description) -> Relation:
    encoding = description.form.encoding
    table = foreign.statistics_table(connection, place, encoding, description.coded)
    return _typed_relation(table, description, FileFormat(encoding=encoding), lambda _: {})


_RENEWAL = "if only the ledger names it, `noisycount check NAME --renew` replaces the columns there"


def _typed_relation(
    table: TextTable, description: Description, form: FileFormat, lines: Lines, layout: Layout | None = None
) -> Relation:
    """Turn the table `loaded` of texts into the relation `typed` of values, and drop `loaded`.

    Raises:
        SourceError: `kinds` or the unit names an unknown column, or a stated form does not suit its column.
    """
    for name, stated in (description.kinds or {}).items():
        if name not in table.names:
            renewal = f"; {_RENEWAL}" if description.is_known else ""
            raise SourceError(
                f"kinds names {name!r}, which is no column: use {close_names(name, table.names)}{renewal}"
            )
        stated.require_applicable(name, is_unit=name == description.unit)
    if layout is not None and layout.may_name_groups and description.unit not in {None, *table.names}:
        close = close_names(str(description.unit), table.names)
        raise SourceError(
            f"unit names {description.unit!r}, which is no column: use {close}; or, if the "
            f"names stand in the line below, state skip = {(form.skip or 0) + 1}, as `noisycount init --accept` does"
        )
    columns = table.make_typed(description.kinds or {}, description.unit, explains=description.is_for_check)
    check = Check(table.rows, tuple(columns), form)
    if description.is_for_check:
        if layout is not None:
            check, odd = with_odd_rows(table.connection, check, layout, lines, description.form)
            check = table.without_rows(check, odd, description.kinds or {}, description.unit) if odd else check
        check = with_lines(table.connection, check, description.unit, lines)
    table.connection.execute("DROP TABLE loaded")
    return Relation("typed", check)


def allow_parquet_files(connection: Connection, *files: Path) -> None:
    """Allow the connection to read these Parquet files too, and parse each footer only once."""
    _allow_paths(connection, [name for file in files for name in (file.as_posix(), path_pattern(file))])
    connection.execute("SET parquet_metadata_cache = true")


def _allow_paths(connection: Connection, paths: Iterable[str]) -> None:
    """Allow the connection to read these paths too."""
    ((allowed,),) = connection.execute("SELECT current_setting('allowed_paths')").fetchall()
    connection.execute(f"SET allowed_paths = [{', '.join(map(quoted_text, dict.fromkeys([*allowed, *paths])))}]")


def _open_parquet(connection: Connection, place: Path, description: Description) -> Relation:
    """Return the relation of one or several Parquet files, with the columns that their folders name.

    Columns of the same name in several files become one column. A file without the column has missing values.

    Raises:
        SourceError: The files do not fit together.
    """
    _require_only_parquet(place)
    files = files_of(place)
    keys = hive_keys(place, files)
    allow_parquet_files(connection, *files, *(file.resolve() for file in files))
    patterns = [path_pattern(file) for file in files]
    columns = _require_one_type(connection, str(place), patterns)
    is_of_pandas = are_of_pandas(connection, patterns)
    names = tuple(dict(keys[0])) if keys else ()
    for name in names:
        if name.lower() in columns:
            raise SourceError(f"{str(place)!r} has the column {name!r} in its files and in its folders: rename one")
    selected = [*_selected_columns(keys)] if keys else ["*"]

    def part(cursor: Connection, numbers: Sequence[int]) -> str:
        sql = _files_sql([patterns[number] for number in numbers], names_files=bool(keys))
        present = {name.lower() for name in cursor.sql(f"SELECT * FROM {sql}").columns}
        absent = [column for name, column in columns.items() if name not in present]
        nulls = (f"CAST(NULL AS {type_}) AS {quoted_name(name)}" for name, type_ in absent)
        return f"(SELECT {', '.join([*selected, *nulls])} FROM {sql})"

    sql = _files_sql(patterns, names_files=bool(keys))
    sql = f"(SELECT {', '.join(selected)} FROM {sql})" if keys else sql
    metadata = ParquetMetadata.read(connection, patterns) if description.is_for_check else ParquetMetadata()
    return Relation(sql, part=part, keys=names, is_of_pandas=is_of_pandas, metadata=metadata)


def _selected_columns(keys: tuple[Keys, ...]) -> Iterator[str]:
    """Yield the SQL of the columns of the files, and of those whose values are in the names of folders."""
    yield f"* EXCLUDE ({quoted_name(_FILE)})"
    names = [name for name, _ in keys[0]]
    around = "".join(f"/{re.escape(name)}=([^/]*)" for name in names) + "/[^/]*$"
    for number, name in enumerate(names, start=1):
        values = {folder_keys[number - 1][1] for folder_keys in keys} - {_NO_KEY}
        text = f"regexp_extract({quoted_name(_FILE)}, {quoted_text(around)}, {number})"
        decoded = f"url_decode(nullif({text}, {quoted_text(_NO_KEY)}))"
        yield f"CAST({decoded} AS {_key_type(values)}) AS {quoted_name(name)}"


_FILE = "file of noisycount"  # name of the column with the path of each record's file
_NO_KEY = "__HIVE_DEFAULT_PARTITION__"  # name that Hive, Spark and DuckDB give to the folder of missing values


def _key_type(values: Collection[str]) -> str:
    """Return the type of a column whose values are names of folders; codes with leading zeros are texts."""
    if values and all(re.fullmatch("-?(0|[1-9][0-9]{0,17})", value) for value in values):
        return "BIGINT"
    return "DATE" if values and all(map(_is_date, values)) else "VARCHAR"


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _require_only_parquet(place: Path) -> None:
    """Raise SourceError if a folder has files of records that would not be read."""
    for file in files_below(place) if place.is_dir() else ():
        kind = next((kind for ending, kind in FORMATS.items() if file.name.lower().endswith(ending)), PARQUET)
        if kind not in {PARQUET, _DATABASE}:
            below = file.relative_to(place).as_posix()
            raise SourceError(
                f"{str(place)!r} has {below!r} beside its Parquet files, which is not read with them: move it away, or "
                f"name the files that count, as {escape(str(place)) + '/**/*.parquet'!r}"
            )


def _open_lake(connection: Connection, lake: "Lake", _: Description) -> Relation:
    names = lake.names(connection)
    _allow_paths(connection, names)
    _require_one_type(connection, str(lake), names)
    return Relation(_files_sql(names))


def _files_sql(names: list[str], *, names_files: bool = False) -> str:
    """Return the SQL that reads some files; if `names_files`, with the path of each record's file."""
    patterns = ", ".join(map(quoted_text, names))
    path = f", filename={quoted_text(_FILE)}" if names_files else ""
    return f"read_parquet([{patterns}], union_by_name=true, hive_partitioning=false{path})"


def _require_one_type(connection: Connection, place: str, names: list[str]) -> dict[str, tuple[str, str]]:
    """Return the name and type of each column of files, by its name in lower case.

    Raises:
        SourceError: A column has another name or type in another file.
    """
    known: dict[str, tuple[str, str]] = {}
    for file in names:
        columns = connection.sql(f"SELECT * FROM {_files_sql([file])}")
        for name, type_ in zip(columns.columns, map(str, columns.types), strict=True):
            first_column = known.setdefault(name.lower(), (name, type_))
            if first_column[0] != name:
                raise SourceError(
                    f"{place!r} names a column {first_column[0]!r} in one file and {name!r} in "
                    "another: name it the same in all"
                )
            if first_column[1] != type_:
                raise SourceError(
                    f"{place!r} has files whose column {name!r} is not of one type: make it {first_column[1]} in all"
                )
    return known


def _open_copy(connection: Connection, place: Path, description: Description) -> Relation:
    """Return the relation of a copy. A unit without a form may be of any type.

    Raises:
        SourceError: The copy does not have the columns and types of the forms.
    """
    allow_parquet_files(connection, place)
    sql = f"read_parquet({quoted_text(path_pattern(place))}, hive_partitioning=false)"
    types, forms, unit = column_types(connection, sql), description.kinds or {}, description.unit
    kinds = {name: READ_TYPES.get(type_, (None,))[0] for name, type_ in types.items() if name in forms or name != unit}
    if kinds != {name: form.kind for name, form in forms.items()}:
        raise SourceError(f"{str(place)!r} is no copy of these records: remove it")
    return Relation(sql, part=lambda *_: sql)


def _open_database(connection: Connection, place: Path, description: Description) -> Relation:
    path = quoted_text(place.as_posix())
    connection.execute(f"ATTACH {path} AS file (READ_ONLY, TYPE duckdb)")
    connection.execute("SET enable_external_access = false")  # views could read other files
    connection.execute("SET TimeZone = 'UTC'")  # the rows of a view must not depend on the time zone of this machine
    relations = duckdb_relations(connection)
    table = foreign.choose_table(place, [*relations.names], description.table)
    require_stable_duckdb(connection, relations, table, description.claim)
    schema, name = relations.names[table]
    is_view = relations.named(table).is_view
    sql = f"file.{quoted_name(schema)}.{quoted_name(name)}"
    return Relation(sql, part=None if is_view else lambda *_: sql, is_computed=is_view)


@frozen
class Format:
    """A file format: its reader, with advice for files that cannot be read."""

    name: str
    check: str  # advice if a file cannot be read
    relation: Callable[[Connection, Any, Description], Relation]  # makes a file a relation of a connection
    held: str = ""  # a file that is held in memory as a whole, in words; empty: it is read at each count
    describes: frozenset[str] = frozenset()  # parts of the layout that an owner can state
    has_tables: bool = False  # True if a file can have several tables

    @property
    def relief(self) -> str:
        """Advice if there is too little memory."""
        if not self.held:
            return "make some free"
        return f"{self.held} is held in memory as a whole, so make some free, or make it a Parquet file"


_LAYOUT = frozenset(part.name for part in fields(FileFormat)) - {"encoding", "delimiter", "quote", "ragged"}
TEXTS = Format(
    "CSV",
    "it is UTF-8, that its first line names the columns, and that every line has as many cells",
    _open_texts,
    held="a CSV file",
    describes=_LAYOUT | {"encoding", "delimiter", "quote", "ragged"},
)
_OBJECTS = Format(
    "JSON",
    "it is UTF-8, and that every line is an object",
    _open_json,
    held="such a file",
)
_WORKBOOK = Format(
    "Excel",
    "the file is whole",
    _open_workbook,
    held="a workbook",
    describes=_LAYOUT,
    has_tables=True,
)
PARQUET = Format("Parquet", "the file is whole", _open_parquet)
LAKE = Format("Parquet", "its files are whole, and that the store answers", _open_lake)
COPY = Format("Parquet", "the file is whole, or remove it", _open_copy)
_DATABASE = Format(
    "DuckDB", "the file is whole and that no other program is writing it", _open_database, has_tables=True
)
SQLITE = Format(
    "SQLite",
    "the file is whole, and that its texts are UTF-8",
    _open_sqlite,
    held="a table of SQLite",
    has_tables=True,
)
STATISTICS = Format(
    "Stata, SPSS or SAS",
    "the file is whole",
    _open_statistics_file,
    held="such a file",
    describes=frozenset({"encoding"}),
)
FORMATS = {
    **dict.fromkeys([".csv", ".tsv", ".csv.gz", ".tsv.gz"], TEXTS),
    **dict.fromkeys([".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"], _OBJECTS),
    ".xlsx": _WORKBOOK,
    **dict.fromkeys([".parquet", ".pq"], PARQUET),
    **dict.fromkeys([".duckdb", ".db", ".ddb", ".sqlite", ".sqlite3"], _DATABASE),
    **dict.fromkeys(foreign.STATISTICS, STATISTICS),
}


def _database_format(path: Path) -> Format:
    """Return the format of a database by its content, since formats share their endings.

    Raises:
        SourceError: The file is no database of DuckDB or SQLite.
    """
    try:
        is_empty = not path.stat().st_size
    except (OSError, ValueError):
        return _DATABASE  # opening it raises the error of a missing file
    content = file_head.content_of(path)
    if content is file_head.SQLITE:
        return SQLITE
    if content is file_head.DUCKDB:
        return _DATABASE
    what = content.words if content else "empty" if is_empty else "of another kind, or encrypted"
    remedy = content.remedy if content and not content.endings else "name a file by what it holds"
    raise SourceError(f"{str(path)!r} is no database of DuckDB or SQLite, but {what}: {remedy}")


def format_of(path: Path, description: Description) -> Format:
    """Return the format of a file by its ending, for a database by its content.

    Raises:
        SourceError: The format is unknown, or the description does not apply to it.
    """
    file_format = PARQUET if is_several(path) else by_ending(path, FORMATS)
    if file_format is _DATABASE:
        file_format = _database_format(path)
    elif not is_several(path) and description.form.header is not False:  # without a header, the first line is a record
        file_head.require_content(path, file_format.name)
    if description.table is not None and not file_format.has_tables:
        raise SourceError(
            f"table is {description.table!r}, but only databases and workbooks have several: leave it out"
        )
    is_portable = path.suffix.lower() == ".por"  # such a file of SPSS states its encoding itself
    for name in (part.name for part in fields(FileFormat)):
        if (name not in file_format.describes or is_portable) and getattr(description.form, name) is not None:
            raise SourceError(f"{name} does not apply to {str(path)!r}, a file of {file_format.name}: leave it out")
    for name in ("public_tables", "vouched"):
        if getattr(description.claim, name) and file_format not in {_DATABASE, SQLITE}:
            raise SourceError(f"{name} is about a view, and {str(path)!r} has none: leave it out")
    return file_format


def shares_records(place: Path, one: str, other: str, public_tables: Sequence[str] = ()) -> bool:
    """Return True if two tables or views of a file read a private table in common, or if a view cannot be read."""
    kind = by_ending(place, FORMATS)
    kind = _database_format(place) if kind is _DATABASE else kind
    if kind is SQLITE:
        relations, dialect = foreign.read_sqlite(place, sqlite_relations), "sqlite"
    elif kind is _DATABASE:
        relations, dialect = _with_database(place, duckdb_relations), "duckdb"
    else:
        return False
    from noisycount.engines.views.definition import base_tables  # noqa: PLC0415 - loads the parser of definitions

    try:
        tables = base_tables(relations.named(one), relations.find, dialect)
        private_tables = base_tables(relations.named(other), relations.find, dialect, public_tables)
        return any(table is other_table for table in tables for other_table in private_tables)
    except UnprovenError:
        return True
    except KeyError:  # opening the file refuses the name of an unknown table
        return False


def _with_database(place: Path, read: Callable[[Connection], Result]) -> Result:
    """Return the result of reading a DuckDB file, which is attached as `file` while `read` runs."""

    def work() -> Result:
        with private_connection() as connection:
            connection.execute(f"ATTACH {quoted_text(place.resolve().as_posix())} AS file (READ_ONLY, TYPE duckdb)")
            return read(connection)

    return without_engine_errors(work, f"{str(place)!r} cannot be read as DuckDB: check that {_DATABASE.check}")
