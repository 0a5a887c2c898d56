# ruff: noqa: S608, as all SQL here is made of names that it quotes
"""Tables of SQLite, and files of Stata, SPSS and SAS with their value labels, as tables of texts.

`sqlite_table` and `statistics_table` load them into a connection as the table `loaded`.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar
from urllib.parse import quote

import numpy as np

from noisycount.display.texts import toml_value
from noisycount.engines.duckdb import definitions
from noisycount.engines.duckdb.apart import EXACT, read_in_subprocess
from noisycount.engines.duckdb.connection import Connection, Result, quoted_name, require_single_names
from noisycount.engines.duckdb.typed_texts import TextTable
from noisycount.engines.places import pending_logs
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SeveralTablesError, SourceError, install_hint
from noisycount.query.close_names import close_names
from noisycount.query.schema import Kind

_LISTED = 8  # names of tables in an error
_AT_ONCE = 1 << 16  # rows that are in memory besides the table that is made of them


def load_rows(
    connection: Connection, where: str, names: Sequence[str], batches: Iterable[Sequence[Sequence[Any]]]
) -> TextTable:
    """Load rows of another program's file into the table `loaded` of texts.

    Args:
        connection: The connection.
        where: The file and the verb "has", as the beginning of an error about the names.
        names: The names of the columns.
        batches: The rows in batches, each with the cells of all columns, in types of Python.
    """
    require_single_names(names, where)
    cell_types: dict[str, Counter[type]] = {name: Counter() for name in names}
    columns = ", ".join(f"{quoted_name(name)} VARCHAR" for name in names)
    connection.execute(f"CREATE TABLE loaded ({columns})")
    texts = ", ".join(f"CAST(c{number} AS VARCHAR)" for number in range(len(names)))
    for batch in batches:
        columns_of_batch = enumerate(zip(names, batch, strict=True))
        arrays = {f"c{number}": _array_of_cells(cells, cell_types[name]) for number, (name, cells) in columns_of_batch}
        connection.register("batch", arrays)
        connection.execute(f"INSERT INTO loaded SELECT {texts} FROM batch")
        connection.unregister("batch")
    types = {name: _count_labels(_KINDS, cell_types[name], Kind.TEXT) for name in names}
    losses = {name: _count_labels(_LOSSES, cell_types[name], None) for name in names}
    return TextTable(connection, tuple(names), types, losses)


def _array_of_cells(cells: Sequence[Any], cell_types: Counter[type]) -> np.ndarray[Any, Any]:
    """Return cells as an array that DuckDB can read, and add their types to `cell_types`."""
    types = Counter(map(type, cells))
    cell_types.update(types)
    if types.keys() in ({int}, {float}):
        return np.array(cells)
    if not types.keys() <= {str, NoneType}:
        cells = [cell if cell is None or type(cell) is str else cell_text(cell) for cell in cells]
    return np.array([cell or None for cell in cells], dtype=object)


_KINDS = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.REAL,
    date: Kind.DATE,
    datetime: Kind.TIMESTAMP,
}
_LOSSES = {bytes: "bytes", timedelta: "durations"}
_Label = TypeVar("_Label")


def _count_labels(labels: Mapping[type, _Label], types: Mapping[type, int], other: _Label | None) -> Counter[_Label]:
    """Return the number of cells for each label of their types. Other types have the label `other`; None: no label."""
    counts: Counter[_Label] = Counter()
    for type_, number in types.items():
        label = labels.get(type_, other)
        if type_ is not NoneType and label is not None:
            counts[label] += number
    return counts


def cell_text(cell: object) -> str:
    """Return a cell as a text with the same meaning.

    Example:
        >>> cell_text(timedelta(hours=30)), cell_text(timedelta(seconds=-5.5))
        ('30:00:00', '-00:00:05.500000')
    """
    match cell:
        case bool():
            return str(cell).lower()
        case bytes():
            return cell.hex()
        case datetime():
            return cell.isoformat(" ")
        case timedelta():
            hours, rest = divmod(abs(cell), timedelta(hours=1))
            return f"{'-' * (cell < timedelta())}{hours:02}{str(rest)[1:]}"
        case float() | int():
            return repr(cell)
        case _:  # dates and times of day are written in ISO 8601
            return str(cell)


def choose_table(place: Path, names: Sequence[str], table: str | None, noun: str = "table") -> str:
    """Return the table with the given name, or the only table of a file.

    Args:
        place: The file.
        names: The names of its tables.
        table: The name that the owner states; None: the only one.
        noun: "table" or "sheet", for errors.

    Raises:
        SourceError: The file has no such table, or several if no name is stated.
    """
    if table in names:
        return str(table)
    if not names:
        raise SourceError(f"{str(place)!r} has no {noun}: choose a file that has a {noun} with the records")
    if table is None and len(names) == 1:
        return names[0]
    if table is not None:
        raise SourceError(f"table names no {noun} of {str(place)!r}, got {table!r}: use {close_names(table, names)}")
    listed = close_names("", names) + ", …" * (len(names) > _LISTED)
    raise SeveralTablesError(
        f"{str(place)!r} has {len(names):,} {noun}s ({listed}): state the one with the records, by --table "
        f"(in Python table=), or by table = {toml_value(names[0])} in noisycount.toml",
        names,
    )


def sqlite_table(connection: Connection, place: Path, table: str | None, claim: UnitClaim) -> TextTable:
    """Load a table or view of a SQLite file. The file is opened read-only: nothing is written, and no lock is set.

    Raises:
        SourceError: The file has changes in a log, or it or its table cannot be read.
    """
    for log in pending_logs(place):
        raise SourceError(
            f"{str(place)!r} has changes that are still in {log.name!r}: close the program that writes the file"
        )

    def load(database: sqlite3.Connection) -> TextTable:
        relation = _stable_table(database, place, table, claim)
        rows = database.execute(f"SELECT * FROM {quoted_name(relation)}")
        names = [column[0] for column in rows.description]
        table_of_texts = load_rows(connection, f"{str(place)!r} has", names, _row_batches(rows))
        for _, name, declared, *_ in database.execute(f"PRAGMA table_info({quoted_name(relation)})").fetchall():
            numbers = table_of_texts.types[name][Kind.INTEGER] + table_of_texts.types[name][Kind.REAL]
            if numbers and re.search("DATE|TIME", declared.upper()):
                table_of_texts.losses[name]["moments"] = numbers
        return table_of_texts

    return read_sqlite(place, load)


def require_stable_sqlite(place: Path, table: str | None, claim: UnitClaim) -> None:
    """Raise SourceError if a view of a SQLite file may not be counted; see `views.stability`."""
    read_sqlite(place, lambda database: _stable_table(database, place, table, claim))


def read_sqlite(place: Path, read: Callable[[sqlite3.Connection], Result]) -> Result:
    """Return the result of `read` for a SQLite file, which is opened read-only and without locks."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(place))}?mode=ro&immutable=1", uri=True)) as database:
            return read(database)
    except sqlite3.Error:
        pass  # the error below must not have this one as its context, since its message may quote cells
    raise SourceError(
        f"{str(place)!r} cannot be read as SQLite: check that the file is whole, and that its texts are UTF-8"
    )


def _stable_table(database: sqlite3.Connection, place: Path, table: str | None, claim: UnitClaim) -> str:
    """Return the name of the table or view to count.

    Raises:
        SourceError: There is no such table, or it is a view that may not be counted.
    """
    relations = definitions.sqlite_relations(database)
    name = choose_table(place, sorted(relations.names), table)
    definitions.require_stable_sqlite(database, relations, name, claim)
    return name


def _row_batches(rows: sqlite3.Cursor) -> Iterator[list[tuple[Any, ...]]]:
    while some := rows.fetchmany(_AT_ONCE):
        yield list(zip(*some, strict=True))


STATISTICS = {
    ".sav": ("SPSS", "read_sav"),
    ".zsav": ("SPSS", "read_sav"),
    ".por": ("SPSS", "read_por"),
    ".dta": ("Stata", "read_dta"),
    ".sas7bdat": ("SAS", "read_sas7bdat"),
    ".xpt": ("SAS", "read_xport"),
}
_XPORT_RECORD = 80  # bytes: the size of a complete file is a multiple; the file does not state its number of rows


def statistics_table(
    connection: Connection, place: Path, encoding: str | None, coded: Collection[str] = ()
) -> TextTable:
    """Load the records of a file of Stata, SPSS or SAS. Labels replace the codes that have one, except in some columns.

    Values that the file declares as missing are missing.

    Args:
        connection: The connection.
        place: The file.
        encoding: The encoding that the owner states; None: that which the file states.
        coded: The columns whose values are their codes.

    Raises:
        SourceError: The file cannot be read, a label equals a value without a label, or a column in `coded` has no
            labels.
    """
    program, reader = STATISTICS[place.suffix.lower()]
    if find_spec("pyreadstat") is None:
        raise SourceError(
            f"{str(place)!r} needs a reader of {program} files: {install_hint('statistics')}; or save it as CSV"
        )
    parts = read_in_subprocess("statistics", place, reader, encoding)
    is_cut = reader == "read_xport" and place.stat().st_size % _XPORT_RECORD
    if parts is None or is_cut:
        raise SourceError(
            f"{str(place)!r} cannot be read as {program}: check that the file is whole, or state its encoding"
        )
    labels, *cells = parts
    for name in coded:
        if not labels.pop(name, None):
            raise no_labels_error(name)
    columns = [
        _with_labels(f"column {name!r} of {str(place)!r}", column, _label_texts(labels.get(name, {})))
        for name, column in cells
    ]
    batches = (
        [column[first : first + _AT_ONCE] for column in columns]
        for first in range(0, max(map(len, columns), default=0), _AT_ONCE)
    )
    table_of_texts = load_rows(connection, f"{str(place)!r} has", [name for name, _ in cells], batches)
    for name in labels.keys() & table_of_texts.types.keys():
        types = table_of_texts.types[name]
        if types[Kind.TEXT] and types.keys() & {Kind.INTEGER, Kind.REAL}:
            table_of_texts.losses[name]["labels"] = types[Kind.TEXT]
    return table_of_texts


def no_labels_error(column: str) -> SourceError:
    """Return the error for a column whose `kinds` asks for codes, although the file labels none of its values."""
    return SourceError(f"kinds states codes of {column!r}, which has no labels in the file: leave codes out")


def _with_labels(where: str, cells: Sequence[Any], labels: Mapping[Any, str]) -> Sequence[Any]:
    """Return cells with labels in place of their codes. Without labels, numbers become integers if all are whole."""
    if not {*map(type, cells)} <= {float, int, type(None)}:
        return _replace_codes(where, cells, labels) if labels else cells
    numbers = np.array(cells, dtype=float)
    if labels:
        values, places = np.unique(numbers, return_inverse=True)
        objects = np.empty(len(values), dtype=object)
        objects[:] = _replace_codes(where, list(map(_integer_or_none, values.tolist())), labels)
        return objects[places].tolist()  # type: ignore[no-any-return]  # of objects
    missing = np.isnan(numbers)
    present = numbers[~missing]
    if np.array_equal(present, np.trunc(present)) and bool(np.all(np.abs(present) < EXACT)):
        numbers = np.where(missing, 0, numbers).astype(np.int64)
    if not missing.any():
        return numbers.tolist()  # type: ignore[no-any-return]  # as above
    objects = numbers.astype(object)
    objects[missing] = None
    return objects.tolist()


def _replace_codes(where: str, cells: Sequence[Any], labels: Mapping[Any, str]) -> list[Any]:
    """Return cells with labels in place of their codes.

    Raises:
        SourceError: A label equals another cell, so that the two could not be distinguished.
    """
    texts = {cell: labels.get(cell, cell) for cell in {*cells}}
    often = Counter(map(str, texts.values()))
    twice = next((text for text in labels.values() if often[text] > 1), None)
    if twice is not None:
        raise SourceError(f"{where} has {twice!r} as a label and as a value without a label: change the label")
    return [texts[cell] for cell in cells]


def _integer_or_none(number: float) -> float | int | None:
    """Return a whole number as an integer, and NaN as None."""
    if np.isnan(number):
        return None
    return int(number) if number.is_integer() and abs(number) < EXACT else number


def _label_texts(labels: Mapping[Any, str]) -> dict[Any, str]:
    """Return the label of each code. A label that is ambiguous, or could be another code, has its code in parentheses.

    Example:
        >>> _label_texts({1: "yes", 2: "no", 8: "other", 9: "other", 3: "4"})
        {1: 'yes', 2: 'no', 8: 'other (8)', 9: 'other (9)', 3: '4 (3)'}
    """
    codes = [_integer_or_none(code) if isinstance(code, float) else code for code in labels]
    stripped = dict(zip(codes, map(str.strip, labels.values()), strict=True))
    often = Counter(stripped.values())
    found = {}
    for code, label in stripped.items():
        is_own = label == str(code)
        is_clear = often[label] == 1 and (is_own or not _is_code(label))
        if label:
            found[code] = label if is_clear else f"{label} ({code})"
    return found


def _is_code(label: str) -> bool:
    """Return True if a label reads as a number: it could be taken for the code of another value."""
    try:
        float(label)
    except ValueError:
        return False
    return True
