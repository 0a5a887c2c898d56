# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes
"""Files of JSON objects, one in each line, and sheets of Excel workbooks, as tables of texts.

`load_objects` and `load_sheet` load them into a connection as the table `loaded`.
"""

import json
import zlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb

from noisycount.engines.duckdb import connection as duck
from noisycount.engines.duckdb.apart import read_in_subprocess
from noisycount.engines.duckdb.file_head import is_whole, opened_bytes
from noisycount.engines.duckdb.foreign import cell_text, choose_table, load_rows
from noisycount.engines.duckdb.layout import Layout, count_titles
from noisycount.engines.duckdb.typed_texts import TextTable
from noisycount.engines.formats import FileFormat
from noisycount.errors import SourceError, install_hint
from noisycount.query.schema import KINDS, Kind

_LONGEST = 1 << 26  # bytes of one object
_SPARSE = "a line must be one JSON object: mend it there, and put no array around the lines"


def load_objects(place: Path, connection: duck.Connection) -> TextTable:
    """Load the objects of a file into the table `loaded` of texts. The file may be compressed by gzip.

    The columns are all keys of all objects in the order of their first appearance, even a key that only a late object
    has. A key with null and an absent key are missing values. Arrays and objects within an object remain texts.

    Raises:
        SourceError: A line is not one object with different, non-empty keys.
    """
    if not (is_whole(place) and _load_object_lines(place, connection)):
        raise SourceError(f"{str(place)!r} cannot be read as JSON: {_fault_of_lines(place)}")
    names = _object_keys(connection)
    duck.require_single_names(names, f"{str(place)!r} has")
    shape = duck.quoted_text(json.dumps(dict.fromkeys(names, "JSON"), ensure_ascii=False))
    connection.execute(f"CREATE TABLE cells AS SELECT unnest(json_transform(object, {shape})) FROM objects")
    connection.execute("DROP TABLE objects")
    types = {name: _count_kinds(connection, name) for name in names}
    losses = {name: _count_arrays_and_objects(connection, name) for name in names if types[name][Kind.TEXT]}
    texts = ", ".join(f"{_json_text_sql(duck.quoted_name(name))} AS {duck.quoted_name(name)}" for name in names)
    connection.execute(f"CREATE TABLE loaded AS SELECT {texts} FROM cells")
    connection.execute("DROP TABLE cells")
    return TextTable(connection, names, types, losses)


def lines_of_objects(place: Path, connection: duck.Connection, rows: Collection[int]) -> dict[int, int]:
    """Return the line of each given row of `loaded`; empty if lines and rows do not correspond."""
    if not rows:
        return {}
    try:
        with opened_bytes(place) as lines:
            numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    except (OSError, EOFError, zlib.error):
        return {}
    total = connection.execute("SELECT count(*) FROM loaded").fetchall()[0][0]
    return {row: numbers[row] for row in rows} if len(numbers) == total else {}


def _load_object_lines(place: Path, connection: duck.Connection) -> bool:
    """Load the lines into the table `objects`. Return True if each line is an object with different, non-empty keys."""
    try:
        connection.execute(
            "CREATE TABLE objects AS SELECT json AS object "
            f"FROM read_json_objects({duck.quoted_text(duck.path_pattern(place))}, "
            f"format='newline_delimited', maximum_object_size={_LONGEST}, hive_partitioning=false)"
        )
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        return False
    keys = "json_keys(object)"
    odd = f"json_type(object) <> 'OBJECT' OR len({keys}) <> len(list_distinct({keys})) OR '' IN {keys}"
    query = f"SELECT count(*), count(CASE WHEN {odd} THEN 1 END) FROM objects"
    objects, wrong = connection.execute(query).fetchall()[0]
    return bool(objects) and not wrong


def _object_keys(connection: duck.Connection) -> tuple[str, ...]:
    """Return the keys of all objects, in the order of their first appearance."""
    rows = connection.execute(
        "SELECT key FROM (SELECT rowid AS line, unnest(json_keys(object)) AS key, "
        "generate_subscripts(json_keys(object), 1) AS place FROM objects) GROUP BY key ORDER BY min((line, place))"
    ).fetchall()
    return tuple(key for (key,) in rows)


def _count_kinds(connection: duck.Connection, name: str) -> Counter[Kind]:
    """Return the number of values of each kind in a column of JSON; arrays and objects count as texts."""
    text = f"CAST({duck.quoted_name(name)} AS VARCHAR)"
    kind = (
        f"CASE WHEN {text} IN ('true', 'false') THEN 'boolean' WHEN ascii({text}) BETWEEN 45 AND 57 THEN CASE WHEN "
        f"TRY_CAST({text} AS BIGINT) IS NOT NULL AND NOT contains({text}, '.') AND NOT contains({text}, 'e') AND NOT "
        f"contains({text}, 'E') THEN 'integer' ELSE 'real' END ELSE 'text' END"
    )
    query = f"SELECT {kind}, count(*) FROM cells WHERE {duck.quoted_name(name)} IS NOT NULL GROUP BY 1"
    return Counter({KINDS[kind]: number for kind, number in connection.execute(query).fetchall()})


def _count_arrays_and_objects(connection: duck.Connection, name: str) -> Counter[str]:
    """Return the number of arrays and objects in a column of JSON; empty if there are none."""
    query = f"SELECT count(*) FROM cells WHERE json_type({duck.quoted_name(name)}) IN ('ARRAY', 'OBJECT')"
    return +Counter(objects=connection.execute(query).fetchall()[0][0])


def _json_text_sql(value: str) -> str:
    """Return the SQL that converts a JSON value to a text; a string loses its quotation marks."""
    text = f"CAST({value} AS VARCHAR)"
    return f"nullif(CASE WHEN ascii({text}) = 34 THEN {value} ->> '$' ELSE {text} END, '')"


def _fault_of_lines(place: Path) -> str:
    """Return the fault of the first invalid line, without quoting the line."""
    number = 0
    try:
        with opened_bytes(place) as file:
            for number, line in enumerate(iter(partial(file.readline, _LONGEST + 1), b""), start=1):
                if line.strip() and (wrong := _fault_of_line(line)):
                    return f"line {number:,} {wrong}"
    except (OSError, EOFError, zlib.error):
        return f"what follows line {number:,} is damaged"
    return _SPARSE


def _fault_of_line(line: bytes) -> str | None:
    """Return the fault of a line; None if it is one object with different, non-empty keys."""
    if len(line) > _LONGEST:
        return f"has more than {_LONGEST >> 20} MB, which no object may have: shorten it"
    try:
        pairs = json.loads(line.decode("utf-8"), object_pairs_hook=_ObjectEntries)
        json.dumps(pairs, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError:
        return "is not in utf-8: write it so"
    except UnicodeEncodeError:
        return "has half of a character, such as \\ud83d without what follows it: mend it there"
    except (ValueError, RecursionError):
        return f"is no JSON: {_SPARSE}"
    if not isinstance(pairs, _ObjectEntries):
        return f"is no object: {_SPARSE}"
    keys = dict(pairs)
    twice = "has a key twice: mend it there" if len(keys) < len(pairs) else None
    return "has an empty key: give it a name" if "" in keys else twice


class _ObjectEntries(list[tuple[str, object]]):
    """The entries of a JSON object as pairs, so that a key that occurs twice is visible."""


_HEAD = 50  # rows among which the names of the columns are sought


def load_sheet(
    place: Path, connection: duck.Connection, table: str | None, stated: FileFormat, *, repairs: bool
) -> tuple[TextTable, Layout, Sequence[int]]:
    """Load a sheet into the table `loaded` of texts. Return it, its layout, and the row of each record in the sheet.

    Args:
        place: The workbook.
        connection: The connection.
        table: The sheet; None: the only one.
        stated: The layout that the owner states.
        repairs: True to complete the layout so that its names are usable, to list its faults, and to count the
            cells that other programs show in another way.
    """
    rows, losses = _sheet_rows(place, table, explains=repairs)
    skip = count_titles([*map(_cell_texts, rows[:_HEAD])]) if stated.skip is None else stated.skip
    first = _cell_texts(rows[skip]) if skip < len(rows) else []
    where = f"row {skip + 1} of {str(place)!r}"
    layout = Layout.read(first, replace(stated, skip=skip), where, repairs=repairs)
    begin, skipped = skip + (layout.form.header is not False), stated.skip_rows_after_header or 0
    added = [None] * (len(layout.names) - len(first))
    below = [*enumerate(rows[begin:], start=begin + 1)]
    below[skipped:] = [(number, row) for number, row in below[skipped:] if any(cell is not None for cell in row)]
    records = {
        number: [*row, *added]
        for number, row in below[skipped:]
        if not (layout.has_rules and layout.rule_against(_cell_texts(row)))
    }
    if repairs:
        layout = layout.with_rows_by_rule((number, _cell_texts(row)) for number, row in below)
    cells = [list(zip(*records.values(), strict=True))] if records else []
    text_table = load_rows(connection, f"{where} has", layout.names, cells)
    columns = cells[0] if cells else [()] * len(layout.names)
    for number, (name, column) in enumerate(zip(layout.names, columns, strict=True)):
        text_table.losses[name].update({**losses.get(number, {}), "digits": _count_long_numbers(column)})
    losses_of_columns = {name: +counts for name, counts in text_table.losses.items()}
    return replace(text_table, losses=losses_of_columns), layout, tuple(records)


_KEPT_DIGITS = 15


def _count_long_numbers(cells: Sequence[object]) -> int:
    """Return the count of numbers with more digits than a workbook keeps; 0 if a number of the column is not whole."""
    numbers = [cell for cell in cells if type(cell) in {int, float}]
    long = [number for number in numbers if abs(number) >= 10**_KEPT_DIGITS]  # type: ignore[arg-type]  # a number
    return len(long) if long and all(number == int(number) for number in numbers) else 0  # type: ignore[call-overload]  # as above


def _cell_texts(row: Sequence[Any]) -> list[str]:
    """Return the cells of a row as texts; an empty cell is an empty text."""
    return ["" if cell is None else cell_text(cell) for cell in row]


def _sheet_rows(place: Path, table: str | None, *, explains: bool) -> tuple[list[list[Any]], dict[int, dict[str, int]]]:
    """Return the rows of a sheet, all of one length, and the losses of each column by its index.

    Args:
        place: The workbook.
        table: The sheet; None: the only one.
        explains: True to look for losses, see `apart.sheet_losses`.
    """
    if find_spec("python_calamine") is None:
        raise SourceError(f"{str(place)!r} needs a reader of workbooks: {install_hint('excel')}; or save it as CSV")
    parts = read_in_subprocess("sheet", place, table, explains)
    if parts is None:
        raise SourceError(f"{str(place)!r} cannot be read as a workbook: save it as .xlsx again, without a password")
    sheets, *sheet = parts
    choose_table(place, sheets, table, "sheet")
    losses, *batches = sheet
    return [row for batch in batches for row in batch], losses
