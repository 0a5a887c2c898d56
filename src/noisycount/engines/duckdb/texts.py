# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes
"""The texts of a CSV or TSV file as a table: its characters, delimiter, titles and line numbers."""

import csv
import gzip
import os
import re
import zlib
from codecs import getincrementaldecoder, iterdecode
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from io import StringIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Self

from noisycount.engines.duckdb.connection import Connection, path_pattern, quoted_text, require_single_names
from noisycount.engines.formats import FileFormat
from noisycount.errors import SourceError
from noisycount.frozen import frozen

# The lines of some rows of the table `loaded`, which are counted from 0; none where in doubt.
Lines = Callable[[Collection[int]], Mapping[int, int]]


def likely_width(records: Sequence[Sequence[str]]) -> tuple[int, int]:
    """How many records have as many cells as most have, and how many cells that is."""
    if not records:
        return 0, 0
    widths = Counter(map(len, records))
    return max((number, width) for width, number in widths.items())


def title_lines(records: Sequence[Sequence[str]]) -> int:
    """How many lines of one cell stand before the names of the columns.

    Spreadsheets fill such lines up with empty cells.
    """
    _, width = likely_width(records)
    first = next((n for n, record in enumerate(records) if not _is_title(record)), 0)
    names = records[first] if records else []
    are_names = all(name.strip() and not is_number(name) for name in names)
    return first if len(names) == width > 1 and are_names else 0


def _is_title(record: Sequence[str]) -> bool:
    """Whether a line says one thing at most, and in the first cell."""
    return not any(cell.strip() for cell in record[1:]) and "\n" not in "".join(record)


def is_number(text: str) -> bool:
    """Whether a text is made of digits, as names of columns hardly are."""
    return re.fullmatch(r"[+-]?[0-9.,]+", text.strip()) is not None


_HEAD = 65536  # bytes that the form of a file is found from
_RECORDS = 50  # lines of them that are compared
_DELIMITERS = ",;\t|"
_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_UNMARKED = ("utf-16-le", "utf-16-be")
_CHUNK = 1 << 18  # bytes that are decoded at once: as many as stay in a cache
_UNREADABLE = (OSError, EOFError, zlib.error)

# DuckDB's own detection drops lines that it takes for comments or a preamble, and reads a ragged
# table as one column of text.
_OPTIONS = (
    "header=true, comment='', quote='\"', escape='\"', strict_mode=true, null_padding=false, "
    "ignore_errors=false, hive_partitioning=false, all_varchar=true"
)


@frozen
class TextFile:
    """A file of lines of cells, and how its texts are found in it."""

    place: Path  # the file, which may be compressed by gzip
    form: FileFormat  # how its texts are found, with nothing left open
    line_end: str | None  # what ends a line, where that is the carriage return of old; else None
    names: tuple[str, ...]

    @classmethod
    def read(cls, place: Path, stated: FileFormat) -> Self:
        """The file as it is described, and found for the rest."""
        head = _head(place)
        encoding = stated.encoding or _encoding(head)
        text = _decoded(place, head, encoding)
        line_end = "\r" if "\r" in text and "\n" not in text else None
        delimiter = stated.delimiter or _delimiter_of(place)
        form = _found(replace(stated, encoding=encoding, delimiter=delimiter), text)
        skip = form.skip or 0
        names = _names(place, _records(text, form.delimiter or ",", skip), skip)
        return cls(place, form, line_end, names)

    def load(self, connection: Connection, *, keeps_empty: bool = False, rewrites: bool = False) -> None:
        """The making of a table `loaded` of its texts.

        `keeps_empty`: whether a quoted empty cell is a text, and not missing. `rewrites`: whether its lines are written
        anew on the way, with one end and one delimiter, as Python reads them: it takes longer, and several ends for
        lines of one file.
        """
        columns = ", ".join(f"{quoted_text(name)}: 'VARCHAR'" for name in self.names)
        skip, delimiter = (0, ",") if rewrites else (self.form.skip, self.form.delimiter or ",")
        options = f"delim={quoted_text(delimiter)}, skip={skip}, {_OPTIONS}"
        if keeps_empty:
            options += ", allow_quoted_nulls=false"
        if self.line_end and not rewrites:
            options += ", new_line='\\r'"
        if rewrites or self.form.encoding != "utf-8" or not _ends_in_short_line(self.place):
            options += ", parallel=false"  # in parallel DuckDB drops a last line that is longer than its buffer
        with self._readable(rewrites=rewrites) as path:
            connection.execute(
                f"CREATE TABLE loaded AS SELECT * FROM read_csv({quoted_text(path)}, {options}, encoding='utf-8', "
                f"auto_detect=false, columns={{{columns}}})"
            )

    def fault(self) -> str | None:
        """The number and the cells of the first line that is not as the others; None: all are.

        No cell is quoted. DuckDB's own numbers of rejected lines are those of records: they are too small behind a cell
        of several lines.
        """
        number = 0
        try:
            for _, number, record in self._records():
                if record and len(record) != len(self.names):
                    cells = f"{len(record):,} cell{'s' * (len(record) != 1)}"
                    names = f"{len(self.names):,} name{'s' * (len(self.names) != 1)}"
                    return f"line {number:,} has {cells} for {names}"
        except UnicodeError:
            return f"what follows line {number:,} is not in {self.form.encoding}"
        except _UNREADABLE:
            return f"what follows line {number:,} is damaged"
        except csv.Error as error:
            if "field limit" in str(error):
                return f"what follows line {number:,} has a cell of more than {csv.field_size_limit():,} characters"
            return f"what follows line {number:,} has a quotation mark without its second"
        return None

    def lines(self, connection: Connection, rows: Collection[int]) -> dict[int, int]:
        """The lines on which some rows of the table `loaded` begin.

        Rows that are not found with the very cells that were loaded have none, as a wrong line would be worse than
        none.
        """
        if not rows:
            return {}
        listed = ", ".join(map(str, sorted(rows)))
        query = f"SELECT rowid, * FROM loaded WHERE rowid IN ({listed})"
        found_rows = connection.execute(query).fetchall()
        cells = {row: [cell or None for cell in given] for row, *given in found_rows}
        found: dict[int, int] = {}
        last = max(cells)
        number = -2  # the names of the columns come first
        try:
            for line, _, record in self._records():
                number += bool(record)
                if number not in cells or not record:
                    continue
                if [cell or None for cell in record] == cells[number]:
                    found[number] = line
                if number == last:
                    break
        except (UnicodeError, csv.Error, *_UNREADABLE):
            return {}
        return found

    def _records(self) -> Iterator[tuple[int, int, list[str]]]:
        """The names and then the records as Python reads them, with their first and last lines.

        An empty line is an empty record.
        """
        with opened_bytes(self.place) as file:
            texts = TextIOWrapper(file, encoding=self.form.encoding, newline="")
            titles = self.form.skip or 0
            for _ in range(titles):
                texts.readline()
            reader = csv.reader(texts, delimiter=self.form.delimiter or ",", strict=True)
            first = titles + 1
            for record in reader:
                last = titles + reader.line_num
                yield first, last, record
                first = last + 1

    @contextmanager
    def _readable(self, *, rewrites: bool) -> Iterator[str]:
        """The path of something in UTF-8 that the engine reads: of the file, or of a pipe.

        A file of all characters would take as much memory again, or lie on a disk.
        """
        if self.form.encoding == "utf-8" and not rewrites:
            yield path_pattern(self.place)
            return
        out, into = os.pipe()
        with ThreadPoolExecutor(1) as pool:
            is_whole = pool.submit(self._is_written, into, rewrites=rewrites)
            try:
                yield f"/dev/fd/{out}"
            finally:
                os.close(out)
        if not is_whole.result():
            raise SourceError(f"{str(self.place)!r} is not all in {self.form.encoding}: state its encoding")

    def _is_written(self, into: int, *, rewrites: bool) -> bool:
        """Whether all characters could be written in UTF-8, or all lines from the names on."""
        encoding = self.form.encoding or "utf-8"
        try:
            with os.fdopen(into, "wb") as pipe:
                if rewrites:
                    records = (record for *_, record in self._records() if record)
                    with TextIOWrapper(pipe, encoding="utf-8", newline="") as lines:
                        csv.writer(lines, lineterminator="\n").writerows(records)
                    return True
                with opened_bytes(self.place) as file:
                    chunks = iterdecode(iter(partial(file.read, _CHUNK), b""), encoding)
                    pipe.writelines(map(str.encode, chunks))
        except (UnicodeError, *_UNREADABLE):
            return False
        return True


def opened_bytes(place: Path) -> BinaryIO:
    """The bytes of a file, decompressed."""
    opened = gzip.open if place.suffix.lower() == ".gz" else open
    return opened(place, "rb")  # type: ignore[return-value]  # a GzipFile is read as any other


_SHORT = 1 << 21  # bytes of a line: more than DuckDB reads, and less than its buffer


def _ends_in_short_line(place: Path) -> bool:
    """Return True if the last line is seen to be short; the end of a compressed file cannot be seen."""
    if place.suffix.lower() == ".gz":
        return False
    with place.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _SHORT))
        end = file.read().rstrip(b"\r\n")
    return size <= _SHORT or b"\n" in end or b"\r" in end


def _head(place: Path) -> bytes:
    """The first bytes of a file."""
    with suppress(*_UNREADABLE), opened_bytes(place) as file:
        return file.read(_HEAD)
    raise SourceError(f"{str(place)!r} cannot be read: check that the file is whole")


def _delimiter_of(place: Path) -> str | None:
    """What the ending of a file says that stands between cells."""
    return "\t" if ".tsv" in map(str.lower, place.suffixes[-2:]) else None


def _encoding(head: bytes) -> str:
    """The encoding that a mark at the beginning of a file says, else UTF-8."""
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), "utf-8")


def _decoded(place: Path, head: bytes, encoding: str) -> str:
    """The first characters of a file, without a mark and without a last one that was cut."""
    text = None
    with suppress(UnicodeError):  # which holds the bytes
        text = getincrementaldecoder(encoding)().decode(head)
    if text is None or "\0" in text:
        raise SourceError(_undecoded(place, head, encoding, is_text=text is not None))
    return text.removeprefix("\ufeff")


def _undecoded(place: Path, head: bytes, encoding: str, *, is_text: bool) -> str:
    """The refusal of what is not in an encoding, or has NUL characters in it."""
    likely = None if is_text else "cp1252"
    if head.count(0) * 4 > len(head):  # as there are between letters of the alphabet
        likely = _UNMARKED[head[::2].count(0) > head[1::2].count(0)]
    if likely:
        return (
            f"{str(place)!r} is not in {encoding}: state its encoding, such as encoding = "
            f'"{likely}", in noisycount.toml, which `noisycount init FILE` writes'
        )
    line = head.partition(b"\0")[0].count(b"\n") + 1
    return (
        f"line {line} of {str(place)!r} has a NUL character, which no text has: export the file "
        "again, or remove that character"
    )


def _records(text: str, delimiter: str, skip: int) -> list[list[str]]:
    """The first records of a text, all but the last of them if it may have been cut."""
    lines = StringIO(text, newline="")
    for _ in range(skip):
        lines.readline()
    try:
        found = list(islice(csv.reader(lines, delimiter=delimiter), _RECORDS))
    except csv.Error:
        found = []
    was_cut = len(text) * 4 >= _HEAD and len(found) < _RECORDS  # bytes of a character: at most 4
    return found[:-1] if was_cut and len(found) > 1 else found


def _found(form: FileFormat, text: str) -> FileFormat:
    """The form with its delimiter and how many lines are titles, from the first lines."""
    marked = re.match(r"sep=([^\w\s\"]|\t)\r?\n", text)  # as spreadsheets write it
    if marked is not None:
        return replace(form, delimiter=form.delimiter or marked[1], skip=form.skip or 1)
    tried = {delimiter: _records(text, delimiter, form.skip or 0) for delimiter in form.delimiter or _DELIMITERS}
    delimiter = max(tried, key=lambda each: _likelihood(tried[each]))
    skip = title_lines(tried[delimiter]) if form.skip is None else form.skip
    return replace(form, delimiter=delimiter, skip=skip)


def _likelihood(records: Sequence[Sequence[str]]) -> tuple[bool, int, int]:
    """How much speaks for the delimiter that gave these records."""
    number, width = likely_width(records)
    return width > 1, number, width


def _names(place: Path, records: Sequence[Sequence[str]], skip: int) -> tuple[str, ...]:
    """The names of the columns: those of the first record, `column0` where one is empty."""
    header = records[0] if records else []
    names = [name.strip() or f"column{number}" for number, name in enumerate(header)]
    if not any(map(str.strip, header)) or all(map(is_number, header)):
        raise SourceError(f"{str(place)!r} has no names of columns: write them into its first line")
    require_single_names(names, f"line {skip + 1} of {str(place)!r} has")
    return tuple(names)
