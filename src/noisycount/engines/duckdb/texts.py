# ruff: noqa: S608, as all SQL here is made of names and texts that it quotes
"""The texts of a CSV or TSV file as a table: its characters, delimiter, titles and line numbers."""

import csv
import os
import re
from codecs import iterdecode
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from io import StringIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Self

import duckdb

from noisycount.engines.check import EXAMPLES, SINGLE_QUOTED
from noisycount.engines.duckdb.connection import Connection, path_pattern, quoted_text
from noisycount.engines.duckdb.file_head import (
    CHUNK,
    COPY_AGAIN,
    UNREADABLE,
    delimiter_of,
    detect_form,
    first_records,
    is_compressed,
    opened_bytes,
    read_head,
    reader_options,
)
from noisycount.engines.duckdb.layout import Layout, RaggedLines
from noisycount.engines.formats import FileFormat
from noisycount.errors import EncodingError, SourceError
from noisycount.frozen import frozen

# The lines of some rows of the table `loaded`, which are counted from 0; none where in doubt.
Lines = Callable[[Collection[int]], Mapping[int, int]]


# DuckDB's own detection drops lines that it takes for comments or a preamble, and reads a ragged
# table as one column of text.
_OPTIONS = (
    "comment='', strict_mode=true, null_padding=false, ignore_errors=false, hive_partitioning=false, all_varchar=true"
)
_LONGEST_LINE = 1 << 21  # characters: as many as DuckDB reads
_END_OF_FILE = ["\x1a"]  # a line that programs of DOS write


@frozen
class TextFile:
    """A file of lines of cells, and the form in which it is read."""

    place: Path  # the file, which may be compressed by gzip
    form: FileFormat  # how its texts are found, with nothing left open
    line_end: str | None  # what ends a line, where that is the carriage return of old; else None
    layout: Layout  # its names, and which of its rows are records
    # True if DuckDB misreads the first lines: a quotation mark stands above the names, a line break stands in a name,
    # or the lines above the names end otherwise
    has_odd_beginning: bool = False

    @classmethod
    def read(cls, place: Path, stated: FileFormat, *, repairs: bool = False) -> Self:
        """Return the file with its form. Parts of the form that the owner does not state are detected.

        If `repairs`, a form in which its names can be read is chosen, and listed as a fault.
        """
        encoding, text = read_head(place, stated)
        quote = stated.quoted_by
        if not text.strip() and stated.header is not False:
            raise SourceError(f"{str(place)!r} is empty: check that it was exported or copied as a whole")
        line_end = "\r" if "\r" in text and "\n" not in text else None
        delimiter = stated.delimiter or delimiter_of(place)
        form = detect_form(replace(stated, encoding=encoding, delimiter=delimiter), text)
        skip = form.skip or 0
        first, *_ = first_records(text, form.delimiter or ",", quote, skip) or [[]]
        layout = Layout.read(first, form, f"line {skip + 1} of {str(place)!r}", repairs=repairs)
        *titles, _ = lines = [*islice(StringIO(text, newline=""), skip + 1), ""][: skip + 1]
        has_quoted_titles = quote != "" and any(quote in line for line in titles)
        has_mixed_ends = skip > 0 and len({line[len(line.rstrip("\r\n")) :] for line in lines}) > 1
        has_broken_names = any("\n" in name or "\r" in name for name in first)
        return cls(place, layout.form, line_end, layout, has_quoted_titles or has_mixed_ends or has_broken_names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.layout.names

    @property
    def needs_python(self) -> bool:
        """True if Python must read the rows, as the engine cannot apply the rules that decide which rows are records.

        The engine drops a last line that is longer than its buffer, without an error.
        """
        has_rules = self.layout.has_rules or bool(self.form.skip_rows_after_header)
        return has_rules or self.has_odd_beginning or not (is_compressed(self.place) or _ends_in_short_line(self.place))

    def load(self, connection: Connection, *, keeps_empty: bool = False, rewrites: bool = False) -> None:
        """Make a table `loaded` of its texts.

        If `keeps_empty`, a quoted empty cell is a text, and not missing. If `rewrites`, Python reads the records and
        writes them anew, with one line end and one delimiter. This is slower, but can read a file whose lines end in
        different ways.
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
        with self._readable_path(rewrites=rewrites) as (path, is_pipe):
            options += ", parallel=false" if is_pipe else ""
            connection.execute(
                f"CREATE OR REPLACE TABLE loaded AS SELECT * FROM read_csv({quoted_text(path)}, {options}, "
                f"encoding='utf-8', auto_detect=false, columns={{{columns}}})"
            )

    def with_ragged_lines(self, ragged: RaggedLines) -> Self:
        """Return the file with a form that states how its ragged lines are read, and with their fault."""
        form = ragged.readable_form(self.form, len(self.names))
        return replace(self, form=form, layout=self.layout.with_form(form, ragged.fault(len(self.names))))

    def ragged_lines(self) -> RaggedLines | None:
        """Return the lines whose number of cells differs from the number of names; None if there are none.

        DuckDB's own numbers of rejected lines are those of records: they are too small behind a cell of several lines.

        Raises:
            SourceError: A line is damaged, is not in the encoding, or cannot be split into cells.
        """
        lines: list[tuple[int, int]] = []
        widths, number, long = Counter[int](), 0, 0
        for _, line, record in self._record_rows():
            widths[len(record)] += 1
            if self.layout.padded_row(record) is None:
                number += 1
                long += len(record) > len(self.names)
                if len(lines) < EXAMPLES:
                    lines.append((line, len(record)))
        return RaggedLines(tuple(lines), number, widths, long) if lines else None

    def has_single_cells(self) -> bool:
        """Return True if quotation marks can be ordinary signs.

        They can if no cell has two of them, each line has one cell for each name or one cell at all (it may be a note),
        and the only mark is not in the last record, where the file may have been cut.
        """
        last, marked = 0, [0] * any(name.startswith('"') for name in self.layout.first)
        with suppress(SourceError):
            for number, (_, _, row) in enumerate(self._record_rows(), start=1):
                is_record = self.layout.padded_row(row) is not None
                if any(map(_QUOTED.fullmatch, row)) or not (is_record or sum(map(bool, row)) == 1):
                    return False
                last = number if is_record else last
                marked += [number] * any(cell.startswith('"') for cell in row)
            return marked != [last]
        return False

    def with_rows_by_rule(self) -> Self:
        """Return the file with the rows that each stated rule leaves out or fills up."""
        if not (self.layout.has_rules or self.form.skip_rows_after_header or self.form.ragged):
            return self
        rows = ((line, row) for line, _, row in self.rows_below_names())
        return replace(self, layout=self.layout.with_rows_by_rule(rows))

    def lines(self, connection: Connection, rows: Collection[int]) -> dict[int, int]:
        """Return the lines on which some rows of the table `loaded` begin.

        A row whose loaded cells are not found again in the file is left out, as a wrong line would be worse than none.
        """
        if not rows:
            return {}
        numbers = ", ".join(map(str, sorted(rows)))
        query = f"SELECT rowid, * FROM loaded WHERE rowid IN ({numbers})"
        found_rows = connection.execute(query).fetchall()
        cells = {row: [cell or None for cell in row_cells] for row, *row_cells in found_rows}
        line_of_row: dict[int, int] = {}
        last = max(cells)
        try:
            for number, (line, record) in enumerate(self._records()):
                if number in cells and [cell or None for cell in record] == cells[number]:
                    line_of_row[number] = line
                if number == last:
                    break
        except SourceError:
            return {}
        return line_of_row

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the records with their first lines, each with as many cells as there are names."""
        for line, last, record in self._record_rows():
            cells = self.layout.padded_row(record)
            if cells is not None:
                yield line, cells
            elif self.form.ragged not in {"drop", "pad_or_drop"}:
                raise SourceError(
                    f"line {last:,} of {str(self.place)!r} has another number of cells than there are names"
                )

    def _record_rows(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the first line, last line and cells of each row below the names, except rows that a rule leaves out."""
        rows = islice(self.rows_below_names(), self.form.skip_rows_after_header or 0, None)
        return (row for row in rows if self.layout.rule_against(row[2]) is None)

    def rows_below_names(self) -> Iterator[tuple[int, int, list[str]]]:
        """Yield all rows below the names, with their first and last lines."""
        rows = (row for row in self._rows_from_names() if row[2] and row[2] != _END_OF_FILE)
        return islice(rows, self.form.header is not False, None)

    def _rows_from_names(self) -> Iterator[tuple[int, int, list[str]]]:
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
                lines = _lines_of_text(texts)
                for _ in islice(lines, titles):
                    pass
                reader = csv.reader(
                    lines, strict=True, **reader_options(self.form.delimiter or ",", self.form.quoted_by)
                )
                for record in reader:
                    first, last = last + 1, titles + reader.line_num
                    yield first, last, record
        except UnicodeError:  # which holds the bytes, as no refusal may
            fault, is_encoded = f"is not in {self.form.encoding}", False
        except UNREADABLE:
            is_damaged = True
        except csv.Error as error:
            fault = f"has {_fault_words(error)}"
        if is_damaged:
            place = repr(str(self.place))
            raise SourceError(f"{place} cannot be read as CSV: what follows line {last:,} is damaged: {COPY_AGAIN}")
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
    def _readable_path(self, *, rewrites: bool) -> Iterator[tuple[str, bool]]:
        """Yield the path of a file or pipe in UTF-8 that the engine can read, and True if it is a pipe.

        A pipe is used as a converted copy of the file would need memory, or lie on a disk.
        """
        if self.form.encoding == "utf-8" and not rewrites and not is_compressed(self.place):
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
        with suppress(UnicodeError, *UNREADABLE), os.fdopen(into, "wb") as pipe:
            if rewrites:
                with TextIOWrapper(pipe, encoding="utf-8", newline="") as lines:
                    csv.writer(lines, lineterminator="\n").writerows(record for _, record in self._records())
                return
            marks, quote = 0, self.form.quoted_by.encode()
            with opened_bytes(self.place) as file:
                chunks = iter(partial(file.read, CHUNK), b"")
                for chunk in chunks if encoding == "utf-8" else map(str.encode, iterdecode(chunks, encoding)):
                    marks += chunk.count(quote) if quote else 0
                    pipe.write(chunk)
            if marks % 2:  # from a pipe DuckDB reads such a file, and drops its last rows
                raise self.refusal("it has a quotation mark that is not closed")
            return
        raise EncodingError(f"{str(self.place)!r} is not all in {encoding}: state its encoding")


def load_texts(place: Path, stated: FileFormat, connection: Connection, *, repairs: bool) -> TextFile:
    """Make the table `loaded` of a file, and return the file as it was read.

    If `repairs`, the form is completed so that names and ragged lines can be read, and the faults are listed.

    Raises:
        SourceError: A line is wrong; the refusal names it.
    """
    file = TextFile.read(place, stated, repairs=repairs)
    if not file.needs_python and _try_to_load(file, connection, rewrites=False):  # then no line is ragged
        return replace(file, layout=file.layout.with_rows_by_rule(()))
    if _try_to_load(file, connection, rewrites=True):
        return file.with_rows_by_rule() if repairs else file
    try:
        ragged = file.ragged_lines()
    except SourceError as error:
        if isinstance(error, EncodingError) or not (repairs and fits_unquoted(place, stated)):
            raise
        return _load_with_quote("", "a quotation mark stands before a cell and not behind it", file, stated, connection)
    if ragged is not None and repairs and file.form.ragged is None:
        if stated.quote is None and all(map(SINGLE_QUOTED.fullmatch, file.layout.first)):
            return _load_with_quote("'", "single quotation marks stand around the names", file, stated, connection)
        require_readable_file = file.with_ragged_lines(ragged)
        if _try_to_load(require_readable_file, connection, rewrites=True):
            return require_readable_file.with_rows_by_rule()
    raise file.refusal("the ends of its lines cannot be detected" if ragged is None else ragged.fault(len(file.names)))


def _load_with_quote(quote: str, fault: str, file: TextFile, stated: FileFormat, connection: Connection) -> TextFile:
    """Make the table of a file with another mark around its cells, and return the file with its fault."""
    file = load_texts(file.place, replace(stated, quote=quote), connection, repairs=True)
    return replace(file, layout=replace(file.layout, faults={"quote": fault, **file.layout.faults}))


def fits_unquoted(place: Path, stated: FileFormat) -> bool:
    """Return True if no mark around cells is stated, and the file can be read if quotation marks are ordinary signs."""
    return stated.quote is None and TextFile.read(place, replace(stated, quote=""), repairs=True).has_single_cells()


_QUOTED = re.compile('".*"', re.DOTALL)


def _try_to_load(file: TextFile, connection: Connection, *, rewrites: bool) -> bool:
    """Return True if the table could be made."""
    try:
        file.load(connection, rewrites=rewrites)
    except duckdb.OutOfMemoryException:
        raise
    except (duckdb.Error, SourceError):
        return False
    return True


def _lines_of_text(texts: TextIOWrapper) -> Iterator[str]:
    """Yield the lines of a file without its byte order mark. Raise an error at a line that is too long."""
    mark = "\ufeff"
    while line := texts.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise csv.Error(_LONG)
        yield line.removeprefix(mark)
        mark = ""


_LONG = "a line is too long"


def _fault_words(error: csv.Error) -> str:
    """Return the fault of a line that cannot be split into cells, in words."""
    text = str(error)
    if text == _LONG:
        return f"a cell or a line of more than {_LONGEST_LINE:,} characters"
    if "field limit" in text:
        return f"a quotation mark that is not closed, or a cell of more than {_LONGEST_LINE:,} characters"
    if "expected after" in text:
        return "a quotation mark that ends no cell"
    return "a quotation mark that is not closed"


_SHORT = 1 << 21  # bytes of a line: more than DuckDB reads, and less than its buffer


def _ends_in_short_line(place: Path) -> bool:
    """Return True if the last line of a file that is not packed is short."""
    with place.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _SHORT))
        end = file.read().rstrip(b"\r\n")
    return size <= _SHORT or b"\n" in end or b"\r" in end
