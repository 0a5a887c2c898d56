"""Format of a file, detected from its first bytes and not from its name."""

import gzip
import re
import zlib
from contextlib import suppress
from pathlib import Path

from noisycount.errors import SourceError
from noisycount.frozen import frozen

_HEAD = 4096  # bytes


@frozen
class ContentType:
    """A kind of content of files."""

    words: str  # what a file of it is, for messages
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
    """Return what a file holds, if its first bytes reveal that; None for lines of cells, and if it cannot be read."""
    with suppress(OSError, EOFError, zlib.error, ValueError):
        is_packed = path.suffix.lower() == ".gz"
        with (gzip.open if is_packed else open)(path, "rb") as file:
            head = file.read(_HEAD).removeprefix(b"\xef\xbb\xbf")
        return next(
            (content for start, content in _CONTENTS.items() if re.match(start, head, re.DOTALL | re.IGNORECASE)), None
        )
    return None


def require_content(path: Path, kind: str) -> None:
    """Raise SourceError if a file holds something else than its name says. `kind`: what files of that name are."""
    content = content_of(path) if path.is_file() else None
    if content is not None and not path.name.lower().endswith(content.endings or ("\0",)):
        remedy = content.remedy or f"give it a name that ends in {content.endings[0]}"
        raise SourceError(f"{str(path)!r} holds {content.words}, which cannot be read as {kind}: {remedy}")
