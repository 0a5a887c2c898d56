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
from typing import Any, BinaryIO, Self

import duckdb

from noisycount.engines.duckdb.connection import Connection, path_pattern, quoted_text
from noisycount.engines.duckdb.layout import Layout, likely_width, title_lines
from noisycount.engines.formats import FileFormat
from noisycount.errors import EncodingError, SourceError
from noisycount.frozen import frozen

# The lines of some rows of the table `loaded`, which are counted from 0; none where in doubt.
Lines = Callable[[Collection[int]], Mapping[int, int]]


_HEAD = 65536  # bytes that the form of a file is found from, or more if its first lines are longer
_LONGEST_HEAD = 1 << 26
_RECORDS = 50  # lines of them that are compared
_FEWEST = 3  # of them: titles, the names, and a record
_DELIMITERS = ",;\t|"
_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_UNMARKED = ("utf-16-le", "utf-16-be")
_CHUNK = 1 << 18  # bytes that are decoded at once: as many as stay in a cache
_UNREADABLE = (OSError, EOFError, zlib.error)

# DuckDB's own detection drops lines that it takes for comments or a preamble, and reads a ragged
# table as one column of text.
_OPTIONS = (
    "comment='', strict_mode=true, null_padding=false, ignore_errors=false, hive_partitioning=false, all_varchar=true"
)
_LONGEST_LINE = 1 << 21  # characters: as many as DuckDB reads
_END_OF_FILE = ["\x1a"]  # a line that programs of DOS write
_SHOWN = 3  # lines that a refusal lists
_PAIR = 2
_FEW = 2  # if more than one of so many lines is ragged, the file may hold several tables
_LONG_SHARE = 10  # unless only one of so many lines has too many cells


@frozen
class RaggedLines:
    """Lines that have other numbers of cells than there are names."""

    lines: tuple[tuple[int, int], ...]  # the first ones, with how many cells each has
    number: int  # of all of them
    widths: Counter[int]  # the numbers of cells of all records
    long: int  # the number of those with more cells than names which are not empty

    def words(self, names: int) -> str:
        """Return what is wrong with the first line, and how many others are like it."""
        (line, cells), *others = self.lines
        fault = f"line {line:,} has {cells:,} cell{'s' * (cells != 1)} for {names:,} name{'s' * (names != 1)}"
        listed = ", ".join(f"{number:,}" for number, _ in others)
        more = ", …" if self.number > len(self.lines) else ""
        are = "line is" if self.number == _PAIR else "lines are"
        return f"{fault}, and {self.number - 1:,} more {are} ragged ({listed}{more})" if others else fault

    def mended(self, form: FileFormat, names: int) -> FileFormat:
        """Return the form by which these lines can be read: it leaves out as few lines as possible.

        If the file may hold several tables, that is the form as it is.
        """
        widest, usual = max(self.widths), self.widths.most_common(1)[0][0]
        if not self.long:
            return replace(form, ragged="pad")
        if usual > names:
            added = {place: f"column{place}" for place in range(names + 1, widest + 1)}
            named = tuple(sorted({**added, **dict(form.names or ())}.items()))
            return replace(form, names=named, ragged="pad" if len(self.widths) > 1 else None)
        if min(self.number * _FEW, self.long * _LONG_SHARE) > self.widths.total():
            return form
        return replace(form, ragged="drop" if self.long == self.number else "pad_or_drop")


@frozen
class TextFile:
    """A file of lines of cells, and how its texts are found in it."""

    place: Path  # the file, which may be compressed by gzip
    form: FileFormat  # how its texts are found, with nothing left open
    line_end: str | None  # what ends a line, where that is the carriage return of old; else None
    layout: Layout  # its names, and which of its rows are records
    # True if DuckDB misreads the first lines: a quotation mark stands above the names, or a line break in a name
    has_odd_beginning: bool = False

    @classmethod
    def read(cls, place: Path, stated: FileFormat, *, mends: bool = False) -> Self:
        """Return the file as it is described, and found for the rest.

        `mends`: whether to state in the form what keeps its names from being read, and to list it as a fault.
        """
        encoding, text = _head(place, stated)
        quote = stated.quoted_by
        if not text.strip() and stated.header is not False:
            raise SourceError(f"{str(place)!r} is empty: look whether it was exported or copied as a whole")
        line_end = "\r" if "\r" in text and "\n" not in text else None
        delimiter = stated.delimiter or _delimiter_of(place)
        form = _found(replace(stated, encoding=encoding, delimiter=delimiter), text)
        skip = form.skip or 0
        first, *_ = _records(text, form.delimiter or ",", quote, skip) or [[]]
        layout = Layout.read(first, form, f"line {skip + 1} of {str(place)!r}", mends=mends)
        has_quoted_titles = quote != "" and any(quote in line for line in islice(StringIO(text, newline=""), skip))
        has_broken_names = any("\n" in name or "\r" in name for name in first)
        return cls(place, layout.form, line_end, layout, has_quoted_titles or has_broken_names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.layout.names

    @property
    def needs_python(self) -> bool:
        """True if Python must read the rows, as the engine knows no rules of which of them are records.

        The engine drops a last line that is longer than its buffer, without an error.
        """
        has_rules = self.layout.has_rules or bool(self.form.skip_rows_after_header)
        return has_rules or self.has_odd_beginning or not (is_packed(self.place) or _ends_in_short_line(self.place))

    def load(self, connection: Connection, *, keeps_empty: bool = False, rewrites: bool = False) -> None:
        """Make a table `loaded` of its texts.

        `keeps_empty`: whether a quoted empty cell is a text, and not missing. `rewrites`: whether its records are
        written anew on the way, with one end and one delimiter, as Python reads them: it takes longer, and several ends
        for lines of one file.
        """
        columns = ", ".join(f"{quoted_text(name)}: 'VARCHAR'" for name in self.names)
        skip, delimiter = (0, ",") if rewrites else (self.form.skip, self.form.delimiter or ",")
        quote = quoted_text('"' if rewrites else self.form.quoted_by)
        header = self.form.header is not False and not rewrites
        options = f"delim={quoted_text(delimiter)}, quote={quote}, escape={quote}, skip={skip}, header={header}"
        options += f", {_OPTIONS}"
        if keeps_empty:
            options += ", allow_quoted_nulls=false"
        if self.line_end or rewrites:
            options += ", new_line='\\n'" if rewrites else ", new_line='\\r'"
        with self._readable(rewrites=rewrites) as (path, is_pipe):
            options += ", parallel=false" if is_pipe else ""
            connection.execute(
                f"CREATE OR REPLACE TABLE loaded AS SELECT * FROM read_csv({quoted_text(path)}, {options}, "
                f"encoding='utf-8', auto_detect=false, columns={{{columns}}})"
            )

    def mended(self, ragged: RaggedLines) -> Self:
        """Return the file with a form that states how its ragged lines are read, and with their fault."""
        form = ragged.mended(self.form, len(self.names))
        return replace(self, form=form, layout=self.layout.stated(form, ragged.words(len(self.names))))

    def ragged_lines(self) -> RaggedLines | None:
        """Return the lines that have other numbers of cells than there are names.

        DuckDB's own numbers of rejected lines are those of records: they are too small behind a cell of several lines.

        Raises:
            SourceError: A line is damaged, is not in the encoding, or cannot be split into cells.
        """
        lines: list[tuple[int, int]] = []
        widths, number, long = Counter[int](), 0, 0
        for _, line, record in self._rows():
            widths[len(record)] += 1
            if self.layout.filled(record) is None:
                number += 1
                long += len(record) > len(self.names)
                if len(lines) < _SHOWN:
                    lines.append((line, len(record)))
        return RaggedLines(tuple(lines), number, widths, long) if lines else None

    def has_single_cells(self) -> bool:
        """Return True if marks can be signs: no cell has two, and all lines have as many cells as there are names.

        Lines of one cell may be notes. A file whose only mark stands in its last line may have been cut.
        """
        number, marked = 0, [0] * any(name.startswith('"') for name in self.layout.first)
        with suppress(SourceError):
            for number, (_, _, row) in enumerate(self._rows(), start=1):
                has_fitting_cells = self.layout.filled(row) is not None or sum(map(bool, row)) == 1
                if not has_fitting_cells or any(map(_QUOTED.fullmatch, row)):
                    return False
                marked += [number] * any(cell.startswith('"') for cell in row)
            return marked != [number]
        return False

    def with_rows_by_rule(self) -> Self:
        """Return the file with the rows that each stated rule leaves out or fills up."""
        if not (self.layout.has_rules or self.form.skip_rows_after_header or self.form.ragged):
            return self
        rows = ((line, row) for line, _, row in self.rows_below_names())
        return replace(self, layout=self.layout.with_rows_by_rule(rows))

    def lines(self, connection: Connection, rows: Collection[int]) -> dict[int, int]:
        """Return the lines on which some rows of the table `loaded` begin.

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
        try:
            for number, (line, record) in enumerate(self._records()):
                if number in cells and [cell or None for cell in record] == cells[number]:
                    found[number] = line
                if number == last:
                    break
        except SourceError:
            return {}
        return found

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the records with their first lines, each with as many cells as there are names."""
        for line, last, record in self._rows():
            cells = self.layout.filled(record)
            if cells is not None:
                yield line, cells
            elif self.form.ragged not in {"drop", "pad_or_drop"}:
                raise SourceError(f"line {last:,} of {str(self.place)!r} has other cells than names")

    def _rows(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the rows below the names that no rule leaves out, with their first and last lines."""
        rows = islice(self.rows_below_names(), self.form.skip_rows_after_header or 0, None)
        return (row for row in rows if self.layout.rule_against(row[2]) is None)

    def rows_below_names(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield all rows below the names, with their first and last lines."""
        rows = (row for row in self._lines() if row[2] and row[2] != _END_OF_FILE)
        return islice(rows, self.form.header is not False, None)

    def _lines(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield all rows from the names on as Python reads them, with their first and last lines.

        An empty line is an empty row.
        """
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_LINE))
        titles = last = self.form.skip or 0
        fault, is_encoded, is_damaged = "", True, False
        try:
            with (
                opened_bytes(self.place) as file,
                TextIOWrapper(file, encoding=self.form.encoding, newline="") as texts,
            ):
                lines = _lines(texts)
                for _ in islice(lines, titles):
                    pass
                reader = csv.reader(lines, strict=True, **_dialect(self.form.delimiter or ",", self.form.quoted_by))
                for record in reader:
                    first, last = last + 1, titles + reader.line_num
                    yield first, last, record
        except UnicodeError:  # which holds the bytes, as no refusal may
            fault, is_encoded = f"is not in {self.form.encoding}", False
        except _UNREADABLE:
            is_damaged = True
        except csv.Error as error:
            fault = f"has {_fault(error)}"
        if is_damaged:
            place = repr(str(self.place))
            raise SourceError(f"{place} cannot be read as CSV: what follows line {last:,} is damaged: {_AGAIN}")
        if fault:
            refusal = self.refusal(f"what follows line {last:,} {fault}")
            raise refusal if is_encoded else EncodingError(str(refusal))

    def refusal(self, fault: str) -> SourceError:
        """Return the refusal of a file with a fault."""
        return SourceError(
            f"{str(self.place)!r} cannot be read as CSV: {fault}: mend it there, or state ragged, delimiter, quote, "
            "skip or encoding in noisycount.toml"
        )

    @contextmanager
    def _readable(self, *, rewrites: bool) -> Iterator[tuple[str, bool]]:
        """Yield the path of something in UTF-8 that the engine reads, and True if it is a pipe and not the file.

        A file of all characters would take as much memory again, or lie on a disk.
        """
        if self.form.encoding == "utf-8" and not rewrites and not is_packed(self.place):
            yield path_pattern(self.place), False
            return
        out, into = os.pipe()
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(self._write, into, rewrites=rewrites)
            try:
                yield f"/dev/fd/{out}", True
            finally:
                os.close(out)
        writing.result()

    def _write(self, into: int, *, rewrites: bool) -> None:
        """Write all characters in UTF-8, or all records.

        Raises:
            SourceError: They cannot all be read.
        """
        encoding = self.form.encoding or "utf-8"
        with suppress(UnicodeError, *_UNREADABLE), os.fdopen(into, "wb") as pipe:
            if rewrites:
                with TextIOWrapper(pipe, encoding="utf-8", newline="") as lines:
                    csv.writer(lines, lineterminator="\n").writerows(record for _, record in self._records())
                return
            marks, quote = 0, self.form.quoted_by.encode()
            with opened_bytes(self.place) as file:
                chunks = iter(partial(file.read, _CHUNK), b"")
                for chunk in chunks if encoding == "utf-8" else map(str.encode, iterdecode(chunks, encoding)):
                    marks += chunk.count(quote) if quote else 0
                    pipe.write(chunk)
            if marks % 2:  # from a pipe DuckDB reads such a file, and drops its last rows
                raise self.refusal("it has a quotation mark without its second")
            return
        raise EncodingError(f"{str(self.place)!r} is not all in {encoding}: state its encoding")


def load_texts(place: Path, stated: FileFormat, connection: Connection, *, mends: bool) -> TextFile:
    """Make the table `loaded` of a file, and return the file as it was read.

    `mends`: whether to state in its form what its names lack and how its ragged lines are read, and to list the faults.

    Raises:
        SourceError: A line is wrong; the refusal names it.
    """
    file = TextFile.read(place, stated, mends=mends)
    if not file.needs_python and _is_loaded(file, connection, rewrites=False):  # then no line is ragged
        return replace(file, layout=file.layout.with_rows_by_rule(()))
    if _is_loaded(file, connection, rewrites=True):
        return file.with_rows_by_rule() if mends else file
    try:
        ragged = file.ragged_lines()
    except SourceError as error:
        if isinstance(error, EncodingError) or not (mends and fits_unquoted(place, stated)):
            raise
        file = load_texts(place, replace(stated, quote=""), connection, mends=True)
        faults = {"quote": "a quotation mark stands before a cell and not behind it", **file.layout.faults}
        return replace(file, layout=replace(file.layout, faults=faults))
    if ragged is not None and mends and file.form.ragged is None:
        mended = file.mended(ragged)
        if _is_loaded(mended, connection, rewrites=True):
            return mended.with_rows_by_rule()
    raise file.refusal("its lines cannot be told apart" if ragged is None else ragged.words(len(file.names)))


def fits_unquoted(place: Path, stated: FileFormat) -> bool:
    """Return True if marks around cells are not stated, and a file can be read as one in which they are signs."""
    return stated.quote is None and TextFile.read(place, replace(stated, quote=""), mends=True).has_single_cells()


_QUOTED = re.compile('".*"', re.DOTALL)


def _is_loaded(file: TextFile, connection: Connection, *, rewrites: bool) -> bool:
    """Return True if the table could be made."""
    try:
        file.load(connection, rewrites=rewrites)
    except duckdb.OutOfMemoryException:
        raise
    except (duckdb.Error, SourceError):
        return False
    return True


def opened_bytes(place: Path) -> BinaryIO:
    """The bytes of a file, decompressed."""
    opened = gzip.open if is_packed(place) else open
    return opened(place, "rb")  # type: ignore[return-value]  # a GzipFile is read as any other


def is_packed(place: Path) -> bool:
    """Return True if a file is named as one that gzip has packed. Reading it in Python checks that it is whole."""
    return place.suffix.lower() == ".gz"


def _lines(texts: TextIOWrapper) -> Iterator[str]:
    """Yield the lines of a file without the mark at its beginning; no line is held that is too long."""
    mark = "\ufeff"
    while line := texts.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise csv.Error(_LONG)
        yield line.removeprefix(mark)
        mark = ""


_LONG = "a line is too long"


def _fault(error: csv.Error) -> str:
    """Return what is wrong with a line that cannot be split into cells."""
    text = str(error)
    if text == _LONG:
        return f"a cell or a line of more than {_LONGEST_LINE:,} characters"
    if "field limit" in text:
        return f"a quotation mark without its second, or a cell of more than {_LONGEST_LINE:,} characters"
    if "expected after" in text:
        return "a quotation mark that ends no cell"
    return "a quotation mark without its second"


def is_whole(place: Path) -> bool:
    """Return True unless gzip has packed a file and it was damaged since: DuckDB does not compare its checksum."""
    with suppress(*_UNREADABLE), opened_bytes(place) as file:
        while is_packed(place) and file.read(_CHUNK):
            pass
        return True
    return False


_SHORT = 1 << 21  # bytes of a line: more than DuckDB reads, and less than its buffer


def _ends_in_short_line(place: Path) -> bool:
    """Return True if the last line of a file that is not packed is short."""
    with place.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _SHORT))
        end = file.read().rstrip(b"\r\n")
    return size <= _SHORT or b"\n" in end or b"\r" in end


def _head(place: Path, stated: FileFormat) -> tuple[str, str]:
    """Return the encoding of a file and its first characters, which hold the whole line of names."""
    size = _HEAD
    while True:
        head = _first_bytes(place, size)
        encoding = stated.encoding or _encoding(head)
        text = _decoded(place, head, encoding)
        records = len(_records(text, ",", stated.quoted_by, stated.skip or 0))
        is_enough = records >= _RECORDS - 1 or (size > _HEAD and records > _FEWEST)
        if len(head) < size or size >= _LONGEST_HEAD or is_enough:
            return encoding, text
        size *= 4


def _first_bytes(place: Path, size: int) -> bytes:
    """Return the first bytes of a file."""
    with suppress(*_UNREADABLE), opened_bytes(place) as file:
        return file.read(size)
    with suppress(OSError):
        with place.open("rb") as file:
            is_other = is_packed(place) and file.read(2) != _PACKED
        if is_other:
            raise SourceError(f"{str(place)!r} cannot be read: gzip has not packed it, so leave .gz out of its name")
    raise SourceError(f"{str(place)!r} cannot be read, as it is damaged: {_AGAIN}")


_PACKED = b"\x1f\x8b"
_AGAIN = "check that the file is whole, and copy or pack it again"


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
        raise _undecoded(place, head, encoding, is_text=text is not None)
    return text.removeprefix("\ufeff")


def _undecoded(place: Path, head: bytes, encoding: str, *, is_text: bool) -> SourceError:
    """Return the refusal of a file that is not in an encoding, or has NUL characters in it."""
    has_many = head.count(0) * 4 > len(head)  # as there are between letters of the alphabet
    if is_text and not has_many:
        line = head.partition(b"\0")[0].count(b"\n") + 1
        return SourceError(
            f"line {line} of {str(place)!r} has a NUL character, which no text has: export the file "
            "again, or remove that character"
        )
    likely = _UNMARKED[head[::2].count(0) > head[1::2].count(0)] if has_many else "cp1252"
    return EncodingError(
        f"{str(place)!r} is not in {encoding}: state its encoding, such as encoding = "
        f'"{likely}", in noisycount.toml, which `noisycount init FILE` writes',
        likely,
    )


def _dialect(delimiter: str, quote: str) -> dict[str, Any]:
    """Return the options of a reader of lines. An empty `quote`: no mark stands around cells."""
    quoting = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    return {"delimiter": delimiter, "quotechar": quote or None, "quoting": quoting}


def _records(text: str, delimiter: str, quote: str, skip: int) -> list[list[str]]:
    """Return the first records of a text, all but the last of them if it may have been cut."""
    lines = StringIO(text, newline="")
    for _ in range(skip):
        lines.readline()
    found: list[list[str]] = []
    with suppress(csv.Error):  # of a line that is refused when the records are read
        for record in islice(csv.reader(lines, **_dialect(delimiter, quote)), _RECORDS):
            found.append(record)  # noqa: PERF402 - what comes before an error is kept
    was_cut = len(text) * 4 >= _HEAD and len(found) < _RECORDS  # bytes of a character: at most 4
    return found[:-1] if was_cut and len(found) > 1 else found


def _found(form: FileFormat, text: str) -> FileFormat:
    """The form with its delimiter and how many lines are titles, from the first lines."""
    marked = re.match(r"sep=([^\w\s\"]|\t)\r?\n", text)  # as spreadsheets write it
    if marked is not None:
        return replace(form, delimiter=form.delimiter or marked[1], skip=form.skip or 1)
    skip, quote = form.skip or 0, form.quoted_by
    tried = {delimiter: _records(text, delimiter, quote, skip) for delimiter in form.delimiter or _DELIMITERS}
    delimiter = max(tried, key=lambda each: _likelihood(tried[each]))
    titles = tried[delimiter][: title_lines(tried[delimiter])]
    lines = sum(1 + "".join(title).count("\n") for title in titles)
    return replace(form, delimiter=delimiter, skip=lines if form.skip is None else form.skip)


def _likelihood(records: Sequence[Sequence[str]]) -> tuple[bool, bool, int, int]:
    """Return what is larger for the delimiter that gave these records if it is more likely."""
    number, width = likely_width(records)
    return width > 1, width > 1 and len(records[title_lines(records)]) == width, number, width
