"""Objects of JSON, one a line, and sheets of workbooks: no key is lost, and no value becomes another."""

import gzip
import json
import re
import sys
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.findings import with_findings
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.errors import SourceError
from noisycount.query.schema import Kind
from tests.engines.duckdb.test_source import counts
from tests.helpers.workbooks import Raw, write_workbook

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
    """Return objects as lines of JSON."""
    return "".join(f"{json.dumps(each)}\n" for each in objects).encode()


@pytest.mark.thorough
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
    (column,) = DuckDBSource.check_file(path).columns
    assert (column.kind, column.unreadable, column.examples) == (Kind.INTEGER, 1, ("unknown",))
    with pytest.raises(SourceError, match="answers nothing, as cells of 'age'"):
        DuckDBSource.open(path)
    form = ColumnFormat(Kind.INTEGER, missing=("NA",), accepts_unreadable=True)
    assert counts(path, "age < 10", "age is null", kinds={"age": form}) == [10, 2]


def test_objects_within_objects_are_reported(tmp_path: Path) -> None:
    """Each is one text, in which questions cannot name its parts."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines([{"a": {"b": 1}, "c": "{}"}, {"a": [1], "c": 2}, {"a": "text"}, {"a": None}]))
    check = with_findings(DuckDBSource.check_file(path), None)
    assert [dict(column.losses) for column in check.columns] == [{"objects": 2}, {}]
    assert [finding.title for finding in check.findings] == ["objects within objects"]


def test_texts_can_be_stated_to_be_numbers(tmp_path: Path) -> None:
    """As those of any other file."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines([{"cost": "1.234,5"}, {"cost": "2,5"}]))
    assert counts(path, "cost like '2%'") == [1]
    assert counts(path, "cost > 1000", kinds={"cost": ColumnFormat(Kind.REAL, decimal=",")}) == [1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "a line must be one JSON object"),
        (b'{"a": 1}\n\n{"a": \n', "line 3 is no JSON: a line must be one JSON object"),
        (b'{"a": 1}\n[2]\n', "line 2 is no object: a line must be one JSON object"),
        (b'[{"a": 1},\n{"a": 2}]\n', "line 1 is no JSON: .* put no array around the lines"),
        (b'{"a": 1}\n{"b": 1, "b": 2}\n', "line 2 has a key twice: mend it there"),
        (b'{"a": 1}\n{"A": 2}\n', "has one name for columns 1 and 2, apart from case: give"),
        (b'{"a": 1}\n{"a": "\xff"}\n', "line 2 is not in utf-8: write it so"),
        (b"{}\n", "no columns: give it some"),
        (b'{"a": 1}\n{"a": 1, "": 2}\n', "line 2 has an empty key: give it a name"),
        (b'{"a": "\\ud83d"}\n', r"line 1 has half of a character, such as .ud83d without what follows it"),
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
    for form in (FileFormat(skip=1), FileFormat(delimiter=";"), FileFormat(encoding="cp1252")):
        with pytest.raises(SourceError, match=r"does not apply to .*, a file of JSON: leave it out"):
            DuckDBSource.open(path, form=form)


HEADER = ["person", "age", "cost", "smoker", "born", "seen", "zip", "note"]
NOON = datetime(2020, 1, 31, 12)  # noqa: DTZ001 - cells have no zone
ROWS = [
    HEADER,
    ["a", 31, 2.5, True, date(1990, 1, 31), NOON, "00501", "x, y"],
    ["a", 32, 1234, False, date(1950, 12, 1), NOON.replace(minute=30), "10001", "é\n"],
    ["b", 29, None, None, None, None, "501", None],
]
SHEET_QUESTIONS = {
    "true": 3,
    "age >= 31": 2,
    "cost = 1234": 1,
    "cost is null": 1,
    "smoker": 1,
    "born < '1960-01-01'": 1,
    "seen >= '2020-01-31 12:30'": 1,
    "zip = '501'": 1,
    "note = 'x, y'": 1,
}


def kinds(path: Path, **options: object) -> dict[str, Kind | None]:
    """The kind of each column, as a check finds it."""
    return {column.name: column.kind for column in DuckDBSource.check_file(path, **options).columns}


def test_cells_are_typed_as_the_sheet_says(tmp_path: Path) -> None:
    """Numbers, truth values, dates and times are such; texts are none, whatever they look like."""
    path = write_workbook(tmp_path / "x.xlsx", {"Tabelle 1": ROWS})
    assert [*kinds(path).values()] == [
        *(Kind.TEXT, Kind.INTEGER, Kind.REAL, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP),
        *(Kind.TEXT, Kind.TEXT),
    ]
    assert dict(zip(SHEET_QUESTIONS, counts(path, *SHEET_QUESTIONS), strict=True)) == SHEET_QUESTIONS
    assert counts(path, "age >= 30", unit="person") == [1]


@pytest.mark.thorough
def test_a_copy_counts_as_its_workbook_does(tmp_path: Path) -> None:
    """Its cells are read once."""
    path, copy = write_workbook(tmp_path / "x.xlsx", {"a": ROWS}), tmp_path / "copy"
    with DuckDBSource.open(path, copy=copy):
        assert copy.is_file()
    with DuckDBSource.of_copy(copy, DuckDBSource.check_file(path).forms) as source:
        assert dict(source.schema) == kinds(path)


def test_texts_among_numbers_of_a_sheet_are_told(tmp_path: Path) -> None:
    """They refuse all until their owner accepts them; usual words for missing values do not."""
    rows = [["age"], *([n] for n in range(30)), ["unbekannt"], ["k.A."]]
    path = write_workbook(tmp_path / "x.xlsx", {"a": rows})
    (column,) = DuckDBSource.check_file(path).columns
    assert (column.kind, column.examples) == (Kind.INTEGER, ("unbekannt",))
    with pytest.raises(SourceError, match="answers nothing, as cells of 'age'"):
        DuckDBSource.open(path)
    form = ColumnFormat(Kind.INTEGER, missing=("k.A.",), accepts_unreadable=True)
    assert counts(path, "age < 10", "age is null", kinds={"age": form}) == [10, 2]


def test_titles_above_the_names_are_left_out(tmp_path: Path) -> None:
    """As many as look like it, or as many as are stated; empty rows are no records."""
    rows = [["Report 2026"], [None], *ROWS, [None] * 8]
    path = write_workbook(tmp_path / "x.xlsx", {"a": rows})
    assert counts(path, "true", "age = 31") == [3, 1]
    assert counts(path, "true", "age = 31", form=FileFormat(skip=2)) == [3, 1]


def test_one_of_several_sheets_must_be_named(tmp_path: Path) -> None:
    """The refusal lists them."""
    path = write_workbook(tmp_path / "x.xlsx", {"ages": ROWS, "notes": [["n"], [7]]})
    with pytest.raises(
        SourceError, match=r"has 2 sheets \('ages', 'notes'\): state the one with the records, by --table"
    ):
        DuckDBSource.open(path)
    with pytest.raises(SourceError, match="got 'note': use 'notes'"):
        DuckDBSource.open(path, table="note")
    assert counts(path, "n = 7", table="notes") == [1]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "no names of columns: write them there"),
        ([[None], [None]], "no names of columns"),
        ([["t"], ["a", "A"], [1, 2]], "row 2 of .* has one name for columns 1 and 2, apart"),
    ],
)
def test_a_sheet_without_names_is_refused(tmp_path: Path, rows: list[list[object]], words: str) -> None:
    """In one line that says where."""
    path = write_workbook(tmp_path / "x.xlsx", {"a": rows})
    with pytest.raises(SourceError, match=words):
        DuckDBSource.open(path)


def test_a_sheet_of_names_alone_has_no_records(tmp_path: Path) -> None:
    """It is counted as any other."""
    path = write_workbook(tmp_path / "x.xlsx", {"a": [HEADER]})
    assert counts(path, "true", "note is null") == [0, 0]


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04" + bytes(50)])
def test_what_is_no_workbook_is_refused(tmp_path: Path, content: bytes) -> None:
    """Without the words of the reader."""
    path = tmp_path / "x.xlsx"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"cannot be read as a workbook: save it as .xlsx again"):
        DuckDBSource.open(path)


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what installs it."""
    path = write_workbook(tmp_path / "x.xlsx", {"a": ROWS})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(SourceError, match=r"pip install '\.\[excel\]' in .*; or save it as CSV"):
        DuckDBSource.open(path)


def test_what_says_nothing_of_a_workbook_is_refused(tmp_path: Path) -> None:
    """Its texts have no encoding and no delimiter of their own."""
    path = write_workbook(tmp_path / "x.xlsx", {"a": ROWS})
    with pytest.raises(SourceError, match=r"delimiter does not apply to .*, a file of Excel: leave it"):
        DuckDBSource.open(path, form=FileFormat(delimiter=";"))


@pytest.mark.parametrize(
    ("cells", "number"),
    [
        ([1234567890123456789, 1234567890123456788, 7], 2),
        ([123456789012345, -7, None], 0),
        ([1e300, 0.5], 0),  # measurements
        (["1234567890123456789", "1234567890123456788"], 0),  # texts keep all digits
    ],
)
def test_whole_numbers_that_a_workbook_does_not_keep_are_reported(
    tmp_path: Path, cells: list[object], number: int
) -> None:
    """Two ids of more than 15 digits may be one number in a workbook, also as the unit."""
    path = write_workbook(tmp_path / "x.xlsx", {"a": [["person", "n"], *[[cell, cell] for cell in cells]]})
    check = DuckDBSource.check_file(path, unit="person" if None not in cells else None)
    assert [column.losses.get("digits", 0) for column in check.columns] == [number, number]
    texts = with_findings(check, None).findings
    assert [finding.rows for finding in texts if "digits" in finding.title] == [number] * (2 if number else 0)


def test_errors_and_formulas_without_a_result_are_reported(tmp_path: Path) -> None:
    """They are read as missing; a formula whose stored result is the empty text has lost nothing."""
    cells = [
        Raw('t="e"', "<f>NA()</f><v>#N/A</v>"),
        Raw('t="e"', "<v>#DIV/0!</v>"),
        Raw("", "<f>B1*2</f><v></v>"),
        Raw('s="0"', '<f t="shared" si="0"/>'),
        Raw('t="str"', '<f>""</f><v></v>'),
        Raw("", "<f>1+6</f><v>7</v>"),
    ]
    rows = [["id", "a", *[None] * 24, "late"], *([n, cell, *[None] * 24, cell] for n, cell in enumerate(cells))]
    path = write_workbook(tmp_path / "x.xlsx", {"first": [["errors"], [Raw('t="e"', "<v>#N/A</v>")]], "a & b": rows})
    check = with_findings(DuckDBSource.check_file(path, table="a & b"), None)
    losses = {column.name: dict(column.losses) for column in check.columns if column.losses}
    assert losses == {name: {"errors": 2, "formulas": 2} for name in ("a", "late")}
    texts = [finding.text for finding in check.findings if finding.column == "a"]
    assert texts[0] == "2 cells hold an error, such as #N/A or #DIV/0!: it is read as a missing value"
    assert texts[1].startswith("2 formulas have no stored result and are read as missing: open the workbook")
    assert counts(path, "a = 7", "a is null", table="a & b") == [1, 5]


def test_durations_of_a_workbook_are_reported(tmp_path: Path) -> None:
    """They are texts with as many hours as there are."""
    path = write_workbook(tmp_path / "x.xlsx", {"a": [["took"], [timedelta(hours=30)], [timedelta(minutes=90)]]})
    (column,) = DuckDBSource.check_file(path).columns
    assert dict(column.losses) == {"durations": 2}
    assert counts(path, "took = '30:00:00'", "took = '01:30:00'") == [1, 1]


def test_letters_of_a_workbook_are_no_truth_values(tmp_path: Path) -> None:
    """A region is one of texts there too."""
    path = write_workbook(tmp_path / "x.xlsx", {"a": [["region"], *[[cell] for cell in "NS" * 10]]})
    assert counts(path, "region = 'N'") == [10]
