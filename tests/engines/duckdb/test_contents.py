"""Files that hold something else than their name says are refused with a remedy."""

import gzip
import re
from pathlib import Path

import pytest

from noisycount.engines.duckdb.file_head import content_of
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import FileFormat
from noisycount.errors import SourceError

OTHERS = {
    "html": (b"<!DOCTYPE html>\n<html><p>Log in, please</p></html>\n", "a web page", "download the file again"),
    "fragment": (
        b"\xef\xbb\xbf\n <TABLE border=1><tr></tr></TABLE>",
        "a web page",
        "download the file again",
    ),
    "xml": (b'<?xml version="1.0"?>\n<rows><row id="1"/></rows>\n', "XML", "export its table as CSV"),
    "array": (b'[{"id": 1, "age": 2},\n {"id": 2, "age": 3}]\n', "JSON", "into a .jsonl file"),
    "pretty": (b'[\n  {\n    "id": 1\n  }\n]\n', "JSON", "into a .jsonl file"),
    "rows": (b'[["id", "age"], [1, 2]]\n', "JSON", "into a .jsonl file"),
    "object": (b'{"id": 1, "age": 2}\n{"id": 2, "age": 3}\n', "JSON", "into a .jsonl file"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "a PDF document", "export its table as CSV"),
    "rtf": (b"{\\rtf1\\ansi\nid,age\\line\n}", "a document in Rich Text Format", "save it as plain text"),
    "zip": (b"PK\x03\x04" + bytes(99), "a workbook or another packed file", "name a workbook .xlsx"),
    "gzip": (gzip.compress(b"id\n1\n"), "a file packed by gzip", "ends in .csv.gz"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of an older office program", "save it as .xlsx or as CSV"),
    "parquet": (b"PAR1\x15\x04", "a Parquet file", "ends in .parquet"),
    "sqlite": (b"SQLite format 3\0\x10\0", "a SQLite database", "ends in .sqlite"),
    "duckdb": (b"12345678DUCK\x40", "a DuckDB database", "ends in .duckdb"),
    "spss": (b"$FL2@(#) IBM SPSS", "a file of SPSS", "ends in .sav"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS", "fetch the file itself"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_content_is_refused_by_what_it_is(tmp_path: Path, name: str) -> None:
    """And never read as lines of cells."""
    content, words, remedy = OTHERS[name]
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    match = f"holds {re.escape(words)}, which cannot be read as CSV: .*{re.escape(remedy)}"
    with pytest.raises(SourceError, match=match):
        DuckDBSource.open(path)
    if name != "gzip":
        (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content))
        with pytest.raises(SourceError, match=match):
            DuckDBSource.open(tmp_path / "a.csv.gz")


@pytest.mark.parametrize(
    "text",
    [
        "[id],[name]\n1,2\n",
        "<id>,<name>\n1,2\n",
        "{id},{name}\n1,2\n",
        '"[x]";"<5"\n1;2\n',
        "pk,id\n1,2\n",
        "html,<p>\n1,2\n",
        "BZ,h\n1,2\n",
        "tabledate,metadata\n1,2\n",
    ],
)
def test_names_of_columns_are_no_other_content(tmp_path: Path, text: str) -> None:
    """In brackets of any kind, as servers export them."""
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert content_of(path) is None
    with DuckDBSource.open(path) as source:
        assert len(source.schema) == 2


def test_a_first_record_is_never_taken_for_another_content(tmp_path: Path) -> None:
    """A file without a header is never refused for the content of its first record."""
    path = tmp_path / "a.csv"
    path.write_text("<html>,1\nb,2\n")
    with DuckDBSource.open(path, form=FileFormat(header=False, names=((1, "x"), (2, "y")))) as source:
        assert source.check().rows == 2
