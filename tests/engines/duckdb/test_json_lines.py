"""Objects of JSON, one a line: no key is lost, and no value becomes another."""

import gzip
import json
import re
from pathlib import Path

import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.forms import ColumnForm, FileForm
from noisycount.errors import SourceError
from noisycount.query.schema import Kind
from tests.engines.duckdb.test_source import counts

OBJECTS = [
    {"person": "a", "age": 31, "cost": 2.5, "smoker": True, "zip": "00501", "born": "1990-01-31"},
    {"person": "a", "age": 32, "cost": 7, "smoker": True, "zip": "10001", "o'\"/~.$k": "é\n"},
    {"age": None, "person": "b", "cost": 1e-3, "zip": "501", "more": {"x": [1]}, "big": 2**70},
    {"person": "c", "age": 29, "cost": 1.0, "late": 5},
]
KINDS = {
    "person": Kind.TEXT,
    "age": Kind.INTEGER,
    "cost": Kind.REAL,
    "smoker": Kind.BOOLEAN,
    "zip": Kind.TEXT,
    "born": Kind.DATE,
    "o'\"/~.$k": Kind.TEXT,
    "more": Kind.TEXT,
    "big": Kind.REAL,
    "late": Kind.INTEGER,
}
QUESTIONS = {
    "true": 4,
    "age >= 31": 2,
    "age is null": 1,
    "cost = 0.001": 1,
    "cost >= 7": 1,
    "smoker": 2,
    "smoker is null": 2,
    "zip = '501'": 1,
    "born = '1990-01-31'": 1,
    '"o\'""/~.$k" = \'é\n\'': 1,
    "more = '{\"x\":[1]}'": 1,
    "big > 1e21": 1,
    "late = 5": 1,
}


def lines(objects: list[dict[str, object]]) -> bytes:
    """One object a line."""
    return "".join(f"{json.dumps(each)}\n" for each in objects).encode()


@pytest.mark.parametrize("name", ["x.jsonl", "x.NDJSON", "x.jsonl.gz", "x.ndjson.gz", "a*'[x].jsonl"])
def test_values_are_typed_as_they_are_written(tmp_path: Path, name: str) -> None:
    """A key of the last object alone is a column; a text of digits stays a text."""
    path = tmp_path / name
    content = lines(OBJECTS)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with DuckDBSource.open(path) as source:
        assert dict(source.schema) == KINDS
        assert [*source.schema] == [*KINDS]
    assert dict(zip(QUESTIONS, counts(path, *QUESTIONS), strict=True)) == QUESTIONS
    assert counts(path, "age >= 30", unit="person") == [1]


def test_texts_among_numbers_are_told(tmp_path: Path) -> None:
    """They refuse all until their owner accepts them."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines([*({"age": n} for n in range(20)), {"age": "unknown"}, {"age": "NA"}]))
    (column,) = DuckDBSource.checked(path).columns
    assert (column.kind, column.unreadable, column.examples) == (Kind.INTEGER, 1, ("unknown",))
    with pytest.raises(SourceError, match="answers nothing, as cells of 'age'"):
        DuckDBSource.open(path)
    form = ColumnForm(Kind.INTEGER, missing=("NA",), accepts_unreadable=True)
    assert counts(path, "age < 10", "age is null", kinds={"age": form}) == [10, 2]


def test_texts_can_be_stated_to_be_numbers(tmp_path: Path) -> None:
    """As those of any other file."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines([{"cost": "1.234,5"}, {"cost": "2,5"}]))
    assert counts(path, "cost like '2%'") == [1]
    assert counts(path, "cost > 1000", kinds={"cost": ColumnForm(Kind.REAL, decimal=",")}) == [1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "a line must be one JSON object"),
        (b'{"a": 1}\n\n{"a": \n', "line 3 is no JSON: a line must be one JSON object"),
        (b'{"a": 1}\n[2]\n', "line 2 is no object: a line must be one JSON object"),
        (b'[{"a": 1},\n{"a": 2}]\n', "line 1 is no JSON: .* put no array around the lines"),
        (b'{"a": 1}\n{"b": 1, "b": 2}\n', "line 2 has a key twice: mend it there"),
        (b'{"a": 1}\n{"A": 2}\n', "has one name for columns 1 and 2, in whatever case: give"),
        (b'{"a": 1}\n{"a": "\xff"}\n', "line 2 is not in utf-8: write it so"),
        (b"{}\n", "no columns: give it some"),
    ],
)
def test_what_is_no_object_is_refused_by_its_line(tmp_path: Path, content: bytes, words: str) -> None:
    """In our own words, for its owner."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        DuckDBSource.open(path)
    assert re.search(words, str(caught.value)), str(caught.value)
    assert caught.value.__context__ is None


def test_what_says_nothing_of_json_is_refused(tmp_path: Path) -> None:
    """Its lines have no delimiter, and no titles stand before them."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(OBJECTS))
    for form in (FileForm(skip=1), FileForm(delimiter=";"), FileForm(encoding="cp1252")):
        with pytest.raises(SourceError, match=r"says nothing of .*, as JSON files are: leave it out"):
            DuckDBSource.open(path, form=form)
