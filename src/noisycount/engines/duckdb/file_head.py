"""The first bytes and lines of a file: its format, and the encoding, delimiter and titles of a file of texts."""

import csv
import gzip
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from noisycount.engines.duckdb.layout import count_titles, usual_width
from noisycount.engines.formats import FileFormat
from noisycount.errors import EncodingError, SourceError
from noisycount.frozen import frozen

_FORMAT_HEAD = 4096  # bytes that the format of a file is found from


@frozen
class ContentType:
    """A kind of content of files."""

    words: str  # description of such a file, for messages
    # what its owner can do if the name of the file ends otherwise; empty: give it a name with the first ending
    remedy: str = ""
    endings: tuple[str, ...] = ()  # of the names of such files, if they can be read


_DATABASES = (".duckdb", ".db", ".ddb", ".sqlite", ".sqlite3")
SQLITE = ContentType("a SQLite database", endings=(".sqlite", *_DATABASES))
DUCKDB = ContentType("a DuckDB database", endings=_DATABASES)
_EXPORT = "export its table as CSV"
_CONTENTS = {
    rb"SQLite format 3\0": SQLITE,
    rb".{8}DUCK": DUCKDB,
    rb"PAR1": ContentType("a Parquet file", endings=(".parquet", ".pq")),
    rb"PK\x03\x04": ContentType("a workbook or another packed file", "name a workbook .xlsx, or unpack it", (".xlsx",)),
    rb"\x1f\x8b": ContentType("a file packed by gzip", endings=(".csv.gz", ".tsv.gz", ".jsonl.gz", ".ndjson.gz")),
    rb"BZh|\xfd7zXZ|7z\xbc\xaf|Rar!|\x28\xb5\x2f\xfd": ContentType("a packed file", "unpack it"),
    rb"\xd0\xcf\x11\xe0": ContentType("a document of an older office program", "save it as .xlsx or as CSV"),
    rb"\x00\x01\x00\x00Standard": ContentType("a database of Microsoft Access", _EXPORT),
    rb"\$FL[23]": ContentType("a file of SPSS", endings=(".sav", ".zsav")),
    rb"<stata_dta>": ContentType("a file of Stata", endings=(".dta",)),
    rb"%PDF-": ContentType("a PDF document", _EXPORT),
    rb"\{\\rtf": ContentType("a document in Rich Text Format", "save it as plain text"),
    rb"\x89PNG|\xff\xd8\xff|GIF8": ContentType("a picture", _EXPORT),
    rb"version https://git-lfs": ContentType("a pointer of Git LFS", "fetch the file itself"),
    rb"\s*<(!doctype html|(html|head|body|table|script|meta|div)\b)": ContentType(
        "a web page", "download the file again, as a login or an error may stand in its place"
    ),
    rb"\s*<(\?xml|!--|svg\b|kml\b|gpx\b)": ContentType("XML", _EXPORT),
    rb'\s*(\{\s*("[^"]*"\s*:|\})|\[\s*[\[{"])': ContentType(
        "JSON", "write one object a line into a .jsonl file", (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
    ),
}


def content_of(path: Path) -> ContentType | None:
    """Return the type of a file's content by its first bytes; None if it has lines of cells, or is unreadable."""
    with suppress(OSError, EOFError, zlib.error, ValueError):
        is_compressed = path.suffix.lower() == ".gz"
        with (gzip.open if is_compressed else open)(path, "rb") as file:
            head = file.read(_FORMAT_HEAD).removeprefix(b"\xef\xbb\xbf")
        return next(
            (content for start, content in _CONTENTS.items() if re.match(start, head, re.DOTALL | re.IGNORECASE)), None
        )
    return None


def require_content(path: Path, kind: str) -> None:
    """Raise SourceError if the content of a file does not agree with its name.

    `kind` is the content that the name suggests.
    """
    content = content_of(path) if path.is_file() else None
    if content is not None and not path.name.lower().endswith(content.endings or ("\0",)):
        remedy = content.remedy or f"give it a name that ends in {content.endings[0]}"
        raise SourceError(f"{str(path)!r} holds {content.words}, which cannot be read as {kind}: {remedy}")


_HEAD = 65536  # bytes that the form of a file is found from, or more if its first lines are longer
_LONGEST_HEAD = 1 << 26
_RECORDS = 50  # lines of them that are compared
_FEWEST = 3  # of them: titles, the names, and a record
_DELIMITERS = ",;\t|"
_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_UNMARKED = ("utf-16-le", "utf-16-be")
CHUNK = 1 << 18  # bytes that are decoded at once: as many as stay in a cache
UNREADABLE = (OSError, EOFError, zlib.error)


def opened_bytes(place: Path) -> BinaryIO:
    """Open a file for its bytes, decompressed."""
    open_file = gzip.open if is_compressed(place) else open
    return open_file(place, "rb")  # type: ignore[return-value]  # a GzipFile is read as any other


def is_compressed(place: Path) -> bool:
    """Return True if the name of a file says that gzip has compressed it.

    Python checks that such a file is complete when it reads the file.
    """
    return place.suffix.lower() == ".gz"


def is_whole(place: Path) -> bool:
    """Return False if a file that gzip has compressed is damaged. DuckDB does not compare its checksum."""
    with suppress(*UNREADABLE), opened_bytes(place) as file:
        while is_compressed(place) and file.read(CHUNK):
            pass
        return True
    return False


def read_head(place: Path, stated: FileFormat) -> tuple[str, str]:
    """Return the encoding of a file and its first characters, which hold the whole line of names."""
    size = _HEAD
    while True:
        head = _read_first_bytes(place, size)
        encoding = stated.encoding or _encoding_of_mark(head)
        text = _decode_head(place, head, encoding)
        records = len(first_records(text, ",", stated.quoted_by, stated.skip or 0))
        is_enough = records >= _RECORDS - 1 or (size > _HEAD and records > _FEWEST)
        if len(head) < size or size >= _LONGEST_HEAD or is_enough:
            return encoding, text
        size *= 4


def _read_first_bytes(place: Path, size: int) -> bytes:
    """Return the first bytes of a file."""
    with suppress(*UNREADABLE), opened_bytes(place) as file:
        return file.read(size)
    with suppress(OSError):
        with place.open("rb") as file:
            is_other = is_compressed(place) and file.read(2) != _PACKED
        if is_other:
            raise SourceError(f"{str(place)!r} cannot be read: gzip has not packed it, so leave .gz out of its name")
    raise SourceError(f"{str(place)!r} cannot be read, as it is damaged: {COPY_AGAIN}")


_PACKED = b"\x1f\x8b"
COPY_AGAIN = "check that the file is whole, and copy or pack it again"


def delimiter_of(place: Path) -> str | None:
    """Return the delimiter that the ending of a file states; None if it states none."""
    return "\t" if ".tsv" in map(str.lower, place.suffixes[-2:]) else None


def _encoding_of_mark(head: bytes) -> str:
    """Return the encoding that a byte order mark at the beginning of a file states, or else UTF-8."""
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), "utf-8")


def _decode_head(place: Path, head: bytes, encoding: str) -> str:
    """Return the first characters of a file, without a byte order mark and without a last character that was cut."""
    text = None
    with suppress(UnicodeError):  # which holds the bytes
        text = getincrementaldecoder(encoding)().decode(head)
    if text is None or "\0" in text:
        raise _encoding_error(place, head, encoding, is_text=text is not None)
    return text.removeprefix("\ufeff")


def _encoding_error(place: Path, head: bytes, encoding: str, *, is_text: bool) -> SourceError:
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


def reader_options(delimiter: str, quote: str) -> dict[str, Any]:
    """Return the options of a reader of lines. An empty `quote`: no mark stands around cells."""
    quoting = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    return {"delimiter": delimiter, "quotechar": quote or None, "quoting": quoting}


def first_records(text: str, delimiter: str, quote: str, skip: int) -> list[list[str]]:
    """Return the first records of a text, all but the last of them if it may have been cut."""
    lines = StringIO(text, newline="")
    for _ in range(skip):
        lines.readline()
    records: list[list[str]] = []
    with suppress(csv.Error):  # of a line that is refused when the records are read
        for record in islice(csv.reader(lines, **reader_options(delimiter, quote)), _RECORDS):
            records.append(record)  # noqa: PERF402 - what comes before an error is kept
    was_cut = len(text) * 4 >= _HEAD and len(records) < _RECORDS  # bytes of a character: at most 4
    return records[:-1] if was_cut and len(records) > 1 else records


def detect_form(form: FileFormat, text: str) -> FileFormat:
    """Return the form with the delimiter and the number of titles that fit the first lines of the file best."""
    marked = re.match(r"sep=([^\w\s\"]|\t)\r?\n", text)  # as spreadsheets write it
    if marked is not None:
        return replace(form, delimiter=form.delimiter or marked[1], skip=form.skip or 1)
    skip, quote = form.skip or 0, form.quoted_by
    tried = {delimiter: first_records(text, delimiter, quote, skip) for delimiter in form.delimiter or _DELIMITERS}
    delimiter = max(tried, key=lambda mark: _delimiter_sort_key(tried[mark]))
    titles = tried[delimiter][: count_titles(tried[delimiter])]
    lines = sum(1 + "".join(title).count("\n") for title in titles)
    return replace(form, delimiter=delimiter, skip=lines if form.skip is None else form.skip)


def _delimiter_sort_key(records: Sequence[Sequence[str]]) -> tuple[bool, bool, int, int]:
    """Return a sort key of the records that a delimiter gives: the likelier the delimiter, the larger the key."""
    number, width = usual_width(records)
    has_names = width > 1 and len(records[count_titles(records)]) > 1  # the comma of decimals stands in no name
    return width > 1, has_names, number, width
