"""Readers of workbooks and of statistics files, each in a process of its own whose memory is limited.

A compressed file of a megabyte can need any amount of memory. If memory is short, the reading process ends. So the
process of the desk or the service never reads such a file itself.
"""

import os
import pickle
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, time, timedelta
from functools import partial, reduce
from html import unescape
from importlib import import_module
from itertools import islice
from pathlib import Path
from posixpath import join, normpath
from subprocess import DEVNULL, PIPE, Popen
from typing import Any
from zipfile import BadZipFile, ZipFile

from noisycount.errors import SourceError

_BASE = 1 << 29  # bytes that a reader may use for a file of any size
_PER_BYTE = 100  # bytes that it may use besides for each byte of the file
_AT_ONCE = 1 << 12  # rows that are handed over together
_MEGABYTE = 1 << 20
EXACT = 2**53  # below it, a float is as good as an integer


def memory_limit(place: Path) -> int:
    """Return the number of bytes of memory that the reader of a file may use."""
    return _BASE + _PER_BYTE * place.stat().st_size


def read_in_subprocess(reader: str, place: Path, *arguments: object) -> list[Any] | None:
    """Return the parts that a reader of `READERS` yields for a file; None if it cannot read the file.

    Raises:
        SourceError: The reader needs more memory than `memory_limit`. macOS and Windows set no such limit: there a
            reader gets all the memory that is free.
    """
    limit = memory_limit(place)
    process = Popen(  # noqa: S603 - of this interpreter and this module alone
        [sys.executable, "-P", "-m", __name__],
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,  # a reader's message may quote a cell
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
    )
    parts: list[Any] = []
    with process as running, suppress(EOFError, pickle.UnpicklingError):
        running.stdin.write(pickle.dumps((reader, str(place), limit, arguments)))  # type: ignore[union-attr]  # a pipe
        running.stdin.close()  # type: ignore[union-attr]  # as above
        while True:
            parts.append(pickle.load(running.stdout))  # type: ignore[arg-type]  # noqa: S301 - as above; of this file
    match parts[-1:]:
        case [True]:
            return parts[:-1]
        case [False]:
            return None
        case [str(fault)]:
            raise SourceError(f"{str(place)!r} {fault}")
    raise SourceError(
        f"{str(place)!r} needs more than {limit // _MEGABYTE:,} MB of memory to be read, which is the limit for a file "
        "of its size: save it as CSV or Parquet"
    )


def sheet_rows(place: str, table: str | None, explains: bool) -> Iterator[Any]:  # noqa: FBT001 - pickled by place
    """Yield the names of a workbook's sheets, its losses, and batches of rows of the sheet `table`, or of the only one.

    If `explains` is False, losses are not examined.
    """
    calamine = import_module("python_calamine")  # an extra, and only for workbooks
    _require_short_cells(place)
    with calamine.load_workbook(place) as book:
        names = book.sheet_names
        yield names
        name = names[0] if table is None and len(names) == 1 else table
        if name in names:
            yield sheet_losses(place, name) if explains else {}
            rows = iter(book.get_sheet_by_name(name).to_python(skip_empty_area=False))
            while batch := [list(map(_sheet_cell, row)) for row in islice(rows, _AT_ONCE)]:
                yield batch


_MOST_CHARACTERS = 32_767  # of a cell, as Excel keeps them
_LONGEST_TEXT = 8 * _MOST_CHARACTERS  # bytes of as many characters, as XML writes them
_LONGEST_CELL = 512 * _MOST_CHARACTERS  # bytes of a cell whose characters each have a font of their own
_CELLS = (b"c r=", b"si>", b"si ", b"row ")  # of tags that begin or end a cell or more


def _require_short_cells(place: str) -> None:
    """Raise SourceError if a cell of a workbook is longer than Excel allows. Reads in pieces, as a cell may expand."""
    with suppress(BadZipFile), ZipFile(place) as book:  # another file is refused when it is read
        for part in book.infolist():
            if part.file_size > _LONGEST_TEXT and part.filename.endswith(".xml"):
                with book.open(part) as file:
                    _require_short_texts(iter(partial(file.read, _MEGABYTE), b""))


def _require_short_texts(pieces: Iterator[bytes]) -> None:
    """Raise SourceError if a text of XML, or all of a cell, is too long."""
    text = cell = 0
    for piece in pieces:
        first, *later_texts = piece.split(b"<")
        longest = max(text + len(first), *map(len, later_texts)) if later_texts else text + len(first)
        text = len(later_texts[-1]) if later_texts else longest
        mark = max(map(piece.rfind, _CELLS))
        is_text = b"t>" in piece  # no other part of a sheet is as long
        cell = len(piece) - mark if mark >= 0 else (cell + len(piece)) * is_text
        if longest > _LONGEST_TEXT or cell > _LONGEST_CELL:
            raise SourceError(
                f"has a cell of more than {_MOST_CHARACTERS:,} characters, which Excel does not keep: shorten it, or "
                "save the sheet as CSV"
            )


def sheet_losses(place: str, sheet: str | None) -> dict[int, Counter[str]]:
    """Return the numbers of cells of a sheet that are read as empty, by the place of their column from 0.

    They are `errors` of formulas, and `formulas` whose result no program has stored.
    """
    losses: dict[int, Counter[str]] = {}
    with suppress(BadZipFile), ZipFile(place) as book:
        parts = {
            tag["Id"]: tag["Target"] for tag in _tag_attributes(book, "xl/_rels/workbook.xml.rels", "Relationship")
        }
        sheets = {tag["name"]: parts.get(tag["id"], "") for tag in _tag_attributes(book, "xl/workbook.xml", "sheet")}
        part = normpath(join("/xl", sheets.get(sheet or "", "")))[1:]
        if part not in book.namelist():
            return {}
        remainder = b""
        with book.open(part) as file:
            for piece in iter(partial(file.read, _MEGABYTE), b""):
                # the remainder stands after the last whole cell
                cells, mark, remainder = (remainder[-_LONGEST_CELL:] + piece).rpartition(b"c>")
                for letters, attributes, cell in _CELL.findall(cells + mark) if _MAY_LOSE(cells) else ():
                    if loss := _unreadable_reason(attributes, cell):
                        place_from_1 = reduce(lambda number, letter: 26 * number + letter - 64, letters, 0)
                        losses.setdefault(place_from_1 - 1, Counter())[loss] += 1
    return losses


_CELL = re.compile(rb'<(?:\w+:)?c r="([A-Z]+)[0-9]+"([^>/]*)>(.*?)</(?:\w+:)?c>', re.DOTALL)
_MAY_LOSE = re.compile(rb't="e"|<(\w+:)?f\b').search
_HAS_RESULT = re.compile(rb"<(?:\w+:)?v[^>/]*>[^<]").search


def _unreadable_reason(attributes: bytes, cell: bytes) -> str | None:
    """Return the reason why a cell of a sheet cannot be read; None if it can be read."""
    if b't="e"' in attributes:
        return "errors"
    is_lost = _MAY_LOSE(cell) and b't="str"' not in attributes and not _HAS_RESULT(cell)
    return "formulas" if is_lost else None


def _tag_attributes(book: ZipFile, part: str, name: str) -> Iterator[dict[str, str]]:
    """Yield the attributes of each tag of a name in a part of a workbook, without their prefixes."""
    text = book.read(part).decode("utf-8", "replace") if part in book.namelist() else ""
    for tag in re.findall(rf"<(?:\w+:)?{name}\s[^>]*>", text):
        yield defaultdict(str, {key: unescape(value) for key, value in re.findall(r'(\w+)="([^"]*)"', tag)})


def _sheet_cell(cell: object) -> object:
    """Return the value of a cell of a sheet; None if it is empty. Sheets store all numbers as floats."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < EXACT:
        return int(cell)
    return None if cell == "" else cell


def statistics_columns(place: str, reader: str, encoding: str | None) -> Iterator[Any]:
    """Yield the value labels of a file of SPSS, Stata or SAS, then each column's name and cells.

    Months, quarters and weeks are read as their first day. Times of 24 hours or more are read as durations.
    """
    pyreadstat = import_module("pyreadstat")  # an extra, and only for such files
    encoded = {} if encoding is None else {"encoding": encoding}
    read_columns = partial(getattr(pyreadstat, reader), place, output_format="dict", **encoded)
    formats = {name: text or "" for name, text in read_columns(metadataonly=True)[1].original_variable_types.items()}
    columns, facts = read_columns(extra_date_formats=[*filter(_DAY_FORMAT, {*formats.values()})])
    clocks = [name for name, cells in columns.items() if any(type(cell) is time for cell in cells)]
    seconds = read_columns(usecols=clocks, disable_datetime_conversion=True)[0] if clocks else {}
    yield facts.variable_value_labels
    for name, cells in columns.items():
        if name in seconds and not all(_is_missing(number) or 0 <= number < _DAY for number in seconds[name]):
            yield name, [None if _is_missing(number) else timedelta(seconds=number) for number in seconds[name]]
        elif first_day := _FIRST_DAYS.get(formats[name][:3]):
            yield name, [None if _is_missing(cell) else _first_day(cell, first_day) for cell in cells]
        else:
            yield name, list(cells)


_DAY = 86_400  # seconds
# formats of SPSS and SAS that show only a part of a date, or its words
_DAY_FORMAT = re.compile("MOYR|QYR|WKYR|MONYY|YYMON|YYMM|MMYY|YYQ|WORDDAT|NLDATE").match
_FIRST_DAYS: dict[str, Callable[[int], date]] = {  # of periods since January 1960, as Stata counts them
    "%tm": lambda months: date(1960 + months // 12, months % 12 + 1, 1),
    "%tq": lambda quarters: date(1960 + quarters // 4, quarters % 4 * 3 + 1, 1),
    "%th": lambda halves: date(1960 + halves // 2, halves % 2 * 6 + 1, 1),
    "%tw": lambda weeks: (
        date(1960 + weeks // 52, 1, 1) + timedelta(weeks=weeks % 52)
    ),  # the last has eight days or more
}


def _first_day(cell: float, first_day: Callable[[int], date]) -> date | float:
    """Return the first day of the period with a number, or the number itself if no period has it."""
    with suppress(ValueError, OverflowError):
        return first_day(int(cell)) if cell == int(cell) else cell
    return cell


def _is_missing(cell: float | None) -> bool:
    """Return True if a number of a statistics file is missing."""
    return cell is None or cell != cell  # noqa: PLR0124 - NaN alone differs from itself


READERS: dict[str, Callable[..., Iterator[Any]]] = {"sheet": sheet_rows, "statistics": statistics_columns}


def _limit_memory(size: int) -> None:
    """Limit the memory of this process, in bytes, and prevent a core dump."""
    try:
        import resource  # noqa: PLC0415 - of this system alone
    except ImportError:
        return
    for limit, largest in ((resource.RLIMIT_AS, size), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):  # macOS refuses some, and a lower limit of the system stays
            resource.setrlimit(limit, (largest, largest))


def _serve_one_file() -> None:
    """Read the file that standard input names, and write its parts to standard output, and True after the last part."""
    reader, place, limit, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by `read_in_subprocess`
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a reader prints gets between the parts
    _limit_memory(limit)
    is_whole = False
    with output:
        try:
            for part in READERS[reader](place, *arguments):
                pickle.dump(part, output)
            is_whole = True
        except MemoryError:
            sys.exit(1)
        except SourceError as error:  # without any cell
            pickle.dump(str(error), output)
            return
        except BaseException:  # noqa: BLE001, S110 - of readers in C and Rust, with messages that may quote cells
            pass
        pickle.dump(is_whole, output)


if __name__ == "__main__":
    _serve_one_file()
