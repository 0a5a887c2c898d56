"""Files of our own, one of each kind of a public benchmark of messy CSV files, and what is right for its 97 files.

`messy_files.tsv` states for each of them the kind, the numbers of records and columns that are right once every
proposal of `check` is taken, and which parts of the form of a file are proposed. The files themselves are not part of
the project (HPI-Information-Systems/Pollock on GitHub, `survey_sample/csv`). Compare them with the table by
`python -m tests.helpers.messy_files FOLDER`.
"""

import csv
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from noisycount.catalog.folder import EngineCertificates
from noisycount.config.config import DatasetConfig
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.tasks.check import examine_place
from noisycount.tasks.init import accept_proposals

TABLE = Path(__file__).with_name("messy_files.tsv")
REFUSED = "refused"
Lines = list[list[str]]


@frozen
class MessyFile:
    """A file of the benchmark: its kind, and what is right."""

    kind: str
    rows: int | None  # the number of records; None: it is refused
    columns: int | None
    delimiter: str
    accepted: frozenset[str]  # the parts of the form of a file that are proposed
    file: str  # its name in the benchmark


@frozen
class Reading:
    """A file as it is read once every proposal is taken; None: it is refused."""

    rows: int | None
    columns: int | None
    accepted: frozenset[str] = frozenset()


def messy_files() -> Iterator[MessyFile]:
    """Yield the files of the benchmark."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for each in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            rows, columns = (None if each[key] == REFUSED else int(each[key]) for key in ("rows", "columns"))
            accepted = frozenset(each["accepted"].split("+")) - {"-"}
            yield MessyFile(each["kind"], rows, columns, each["delimiter"], accepted, each["file"])


def read_messy_file(path: Path) -> Reading:
    """Return how a file is read once every proposal is taken."""
    try:
        inspection = examine_place(DatasetConfig(name="messy", source=path, unit="row"))
        inspection, taken = accept_proposals(inspection, EngineCertificates())
    except SourceError:
        return Reading(None, None)
    accepted = frozenset(proposal.key for proposal in taken if not proposal.table)
    return Reading(inspection.check.rows, len(inspection.check.columns), accepted)


def written(kind: str, rows: int, columns: int, delimiter: str) -> str:
    """Return a file of our own of a kind with so many records and columns."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(_KINDS[kind](rows, columns))
    return text.getvalue()


def _names(columns: int) -> list[str]:
    return [f"name {place}" for place in range(1, columns + 1)]


def _records(rows: int, columns: int) -> Lines:
    """Return records: a text of each row, and numbers."""
    return [[f"person {row}", *(f"{row * place % 7 + 0.5}" for place in range(1, columns))] for row in range(rows)]


def _filled(cells: list[str], columns: int) -> list[str]:
    return [*cells, *[""] * (columns - len(cells))]


def _table(rows: int, columns: int) -> Lines:
    return [_names(columns), *_records(rows, columns)]


def _above(*titles: list[str]) -> Callable[[int, int], Lines]:
    """Return a writer of a table below titles."""
    return lambda rows, columns: [*titles, *_table(rows, columns)]


def _below(*others: list[str]) -> Callable[[int, int], Lines]:
    """Return a writer of a table with rows below it, which have as many cells."""
    return lambda rows, columns: [*_table(rows, columns), *(_filled(other, columns) for other in others)]


def _no_names(rows: int, columns: int) -> Lines:
    return [[str((row * 3 + place * place) % 11) for place in range(columns)] for row in range(rows)]


def _title_of_several_cells(rows: int, columns: int) -> Lines:
    values = [[f"{row}.5" for _ in range(columns)] for row in range(rows)]
    return [["Created, by an analyst", "Wednesday", "May 1", "2024"][: columns + 1], _names(columns), *values]


def _second_line(rows: int, columns: int) -> Lines:
    groups = [name if place % 2 == 0 else "" for place, name in enumerate(_names(columns))]
    values = [[f"{row * place % 7 + 0.5}" for place in range(1, columns + 1)] for row in range(rows)]
    return [groups, ["X" if place % 2 == 0 else "Y" for place in range(columns)], *values]


def _expenses(rows: int, columns: int) -> Lines:
    titles = [_filled(["Expenses of the director"], columns), _filled([], columns)]
    kinds = ["", *(f"kind {place}" for place in range(1, columns))]
    total = [*_filled([], columns - 2), "Total Expenses Claim for Q1", "270.10"]
    return [*titles, _names(columns), kinds, *_records(rows, columns), _filled([], columns), total]


def _statistical_table(rows: int, columns: int) -> Lines:
    years = [*_filled([], columns - 2), "2013-14", "2012-13"]
    names = [*_names(columns - 2), "Total ", "Total"]
    units = [*_filled([], columns - 1), "Restated"]
    records, total = _records(rows, columns), ["Total", *["7.5"] * (columns - 1)]
    above = [_filled(["Average number"], columns), _filled([], columns), years, names, units]
    return [*above, *records[:2], total, _filled([], columns), *records[2:], total]


def _three_lines(rows: int, columns: int) -> Lines:
    units = ["", "", *(f"unit {place}" for place in range(columns - 2))]
    more = ["", "", *(f"more {place}" for place in range(columns - 2))]
    return [_names(columns), units, more, *_records(rows, columns), _filled([], columns)]


def _same_table_below(rows: int, columns: int) -> Lines:
    first, second = _records(rows, columns)[: rows // 2], _records(rows, columns)[rows // 2 :]
    titles = [_filled(["Summary of travel"], columns), _filled([], columns)]
    total = _filled(["Grand Total", "9.5"], columns)
    return [*titles, _names(columns), *first, total, _filled([], columns), _names(columns), *second, total]


def _other_table_below(rows: int, columns: int) -> Lines:
    """Return two tables; the names of the second one are counted, as only its owner can split the file."""
    other = [_names(columns)[0], *(f"other {place}" for place in range(1, columns))]
    records = _records(rows - 1, columns)
    return [_names(columns), *records[: rows // 2], _filled([], columns), other, *records[rows // 2 :]]


def _empty_row_between(rows: int, columns: int) -> Lines:
    records = _records(rows, columns)
    return [_names(columns), *records[:3], _filled([], columns), *records[3:]]


def _short_rows(rows: int, columns: int) -> Lines:
    return [_names(columns), *(record[:-2] for record in _records(rows, columns))]


def _empty_last_cells(rows: int, columns: int) -> Lines:
    return [_names(columns), *([*record, ""] for record in _records(rows, columns))]


def _equal_names(rows: int, columns: int) -> Lines:
    return [["x"] * columns, *_records(rows, columns)]


def _other_widths(rows: int, columns: int) -> Lines:
    return [*_table(rows, columns), *_records(rows, columns * 3), *_records(rows, 2)]


_NOTE = "All transactions listed below are made by card"
_KINDS: dict[str, Callable[[int, int], Lines]] = {
    "plain": _table,
    "no names": _no_names,
    "titles": _above(["Report 2026"], ["of the office"]),
    "lines above the names": _above(["$$info"], ["mass=[1.5"], ["is_here"]),
    "facts above the names": _above(*([f"#FACT {number}", "yes"] for number in range(22))),
    "quoted title": lambda rows, columns: [
        _filled(["", "Department\nof work"], columns),
        *_table(rows, columns),
        _filled([], columns),
    ],
    "title of several cells": _title_of_several_cells,
    "second line of names": _second_line,
    "three lines of names": _three_lines,
    "expenses": _expenses,
    "statistical table": _statistical_table,
    "equal names": _equal_names,
    "empty last cells": _empty_last_cells,
    "short rows": _short_rows,
    "empty rows": _below([], []),
    "note": _below([], [], [_NOTE]),
    "total": _below(["Total", "17.5"]),
    "same table below": _same_table_below,
    "other table below": _other_table_below,
    "empty row between tables": _empty_row_between,
    "tables of other widths": _other_widths,
    "empty": lambda _, __: [],
}
KINDS = tuple(_KINDS)


def _compare(folder: Path) -> int:
    """Print the files that are read otherwise than the table states, and return their number."""
    wrong = 0
    for each in messy_files():
        reading = read_messy_file(folder / each.file)
        if (reading.rows, reading.columns, reading.accepted) != (each.rows, each.columns, each.accepted):
            wrong += 1
            print(each.file, reading, "in place of", each)  # noqa: T201 - what the script is for
    return wrong


if __name__ == "__main__":
    sys.exit(bool(_compare(Path(sys.argv[1]))))
