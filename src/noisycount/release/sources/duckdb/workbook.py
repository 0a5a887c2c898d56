"""A sheet of a workbook (.xlsx) as a table of texts."""
# ruff: noqa: S608, as all SQL here is made of names that it quotes

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np

from noisycount.errors import SourceError, extra_words
from noisycount.release.question.schema import Kind, close_names
from noisycount.release.sources.duckdb.names import require_single_names
from noisycount.release.sources.duckdb.paths import Connection
from noisycount.release.sources.duckdb.quoting import quoted_name
from noisycount.release.sources.duckdb.titles import title_lines

__all__ = ["Workbook"]

_HEAD = 50  # rows in which the names of the columns are sought
_EXACT = 2**53  # below it, a float is as good as an integer


@dataclass(frozen=True, slots=True)
class Workbook:
    """The rows of a sheet, held by a connection as the table `loaded` of texts.

    Attributes:
        names: Of the columns.
        types: How many values of a kind each of them has.
        skip: How many rows stand before the names.
        places: Which row of the sheet each record is, from 1.
    """

    names: tuple[str, ...]
    types: Mapping[str, Counter[Kind]]
    skip: int
    places: Sequence[int]

    @classmethod
    def load(cls, place: Path, connection: Connection, table: str | None, skip: int | None) -> Self:
        """The making of the table.

        Args:
            place: The file.
            connection: Where.
            table: The name of the sheet; None: the only one.
            skip: How many rows stand before the names; None: as many as look like titles.

        Raises:
            SourceError: The file or the sheet cannot be read, or names no columns.
        """
        rows = _rows(place, table)
        texts = [list(map(_text, row)) for row in rows[:_HEAD]]
        first = (
            title_lines([[cell or "" for cell in row] for row in texts]) if skip is None else skip
        )
        header = texts[first] if first < len(texts) else []
        if not any(header):
            raise SourceError(
                f"{str(place)!r} has no names of columns: write them into its first row"
            )
        names = tuple(name or f"column{number}" for number, name in enumerate(header))
        require_single_names(names, f"row {first + 1} of {str(place)!r} has")
        places = [
            number
            for number, row in enumerate(rows[first + 1 :], start=first + 2)
            if any(cell != "" for cell in row)
        ]
        records = [rows[place - 1] for place in places]
        cells = zip(*records, strict=True) if records else [()] * len(names)
        columns = dict(zip(names, cells, strict=True))
        _load(connection, columns)
        types = {name: Counter(map(_kind, _given(cells))) for name, cells in columns.items()}
        return cls(names, types, first, places)


def _rows(place: Path, table: str | None) -> list[list[Any]]:
    """The rows of a sheet, all of one length."""
    try:
        import python_calamine as calamine  # noqa: PLC0415 - an extra, and only for workbooks
    except ImportError:
        raise SourceError(
            f"{str(place)!r} needs a reader of workbooks: {extra_words('excel')}; or save it as CSV"
        ) from None
    refusal = (
        f"{str(place)!r} cannot be read as a workbook: save it as .xlsx again, without a password"
    )
    sheets: list[str] = []
    try:
        with calamine.load_workbook(str(place)) as book:
            sheets = book.sheet_names
            name = sheets[0] if table is None and len(sheets) == 1 else table
            if name in sheets:
                return book.get_sheet_by_name(name).to_python(skip_empty_area=False)
            refusal = (
                f"table must name a sheet of {str(place)!r}, got {table!r}: "
                f"use {close_names(table or '', sheets)}"
            )
    except (calamine.CalamineError, OSError, ValueError):
        pass
    raise SourceError(refusal)


def _load(connection: Connection, columns: Mapping[str, Sequence[object]]) -> None:
    """The making of the table of the texts of the cells."""
    if not columns or not len(next(iter(columns.values()))):
        types = ", ".join(f"{quoted_name(name)} VARCHAR" for name in columns)
        connection.execute(f"CREATE TABLE loaded ({types})")
        return
    places = {f"c{number}": name for number, name in enumerate(columns)}
    texts = {
        place: np.array([_text(cell) for cell in columns[name]], dtype=object)
        for place, name in places.items()
    }
    selected = ", ".join(
        f"CAST({place} AS VARCHAR) AS {quoted_name(name)}" for place, name in places.items()
    )
    connection.register("sheet", texts)
    connection.execute(f"CREATE TABLE loaded AS SELECT {selected} FROM sheet")
    connection.unregister("sheet")


def _given(cells: Iterable[object]) -> Iterable[object]:
    return (cell for cell in cells if cell not in {"", None})


def _text(cell: object) -> str | None:
    """A cell as a text that stands for the same; None: it is empty."""
    match cell:
        case None | "":
            return None
        case bool():
            return str(cell).lower()
        case float() if cell.is_integer() and abs(cell) < _EXACT:
            return str(int(cell))
        case datetime():
            return cell.isoformat(" ")
        case _:  # a date or a time of day, too, is written in ISO 8601
            return str(cell)


def _kind(cell: object) -> Kind:
    """What a cell is, as the sheet says."""
    match cell:
        case bool():
            return Kind.BOOLEAN
        case int():
            return Kind.INTEGER
        case float():
            return Kind.INTEGER if cell.is_integer() and abs(cell) < _EXACT else Kind.REAL
        case datetime():
            return Kind.TIMESTAMP
        case date():
            return Kind.DATE
        case _:
            return Kind.TEXT
