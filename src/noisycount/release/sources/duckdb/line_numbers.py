"""The line of a file on which a record stands, for its owner."""
# ruff: noqa: S608, as all SQL here is made of numbers

import csv
import gzip
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.text_file import TextFile

__all__ = ["Lines", "object_lines", "text_lines"]

Lines = Callable[[Collection[int]], Mapping[int, int]]
"""The lines of some rows of the table `loaded`, which are counted from 0; none where in doubt."""

_UNREADABLE = (OSError, EOFError, UnicodeError, zlib.error, csv.Error)


def text_lines(file: TextFile, connection: Connection, rows: Collection[int]) -> dict[int, int]:
    """The lines on which some records of a file of texts begin.

    Records that are not found with the very cells that were loaded have none, as a wrong line
    would be worse than none.

    Args:
        file: As it was read.
        connection: Holds the table `loaded`.
        rows: Which records.
    """
    if not rows:
        return {}
    listed = ", ".join(map(str, sorted(rows)))
    query = f"SELECT rowid, * FROM loaded WHERE rowid IN ({listed})"
    cells = {row: given for row, *given in connection.execute(query).fetchall()}
    found: dict[int, int] = {}
    number = -2  # the names of the columns come first
    try:
        for line, record in file.records():
            number += bool(record)
            if record and number in cells:
                if [cell or None for cell in record] == [cell or None for cell in cells[number]]:
                    found[number] = line
                if number == max(cells):
                    break
    except _UNREADABLE:
        return {}
    return found


def object_lines(place: Path, total: int, rows: Collection[int]) -> dict[int, int]:
    """The lines of some objects; none where a line has not one object.

    Args:
        place: The file.
        total: How many objects it has.
        rows: Which of them.
    """
    if not rows:
        return {}
    opened = gzip.open if place.suffix.lower() == ".gz" else open
    try:
        with opened(place, "rb") as lines:
            numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    except _UNREADABLE:
        return {}
    return {row: numbers[row] for row in rows} if len(numbers) == total else {}
