"""Files of texts: what their cells stand for, what is refused, and that nothing of them is left on a disk."""

import traceback
from pathlib import Path

import duckdb
import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.errors import SourceError
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.engines.duckdb.test_source import CANARY, counts, write_csv


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,city\nbob,rome\nann,oslo\n", {"true": 2, "name = 'bob'": 1}),
        ("a;b\n1;2,5\n2;3,5\n", {"a = 1": 1, "b = 2.5": 1, "b > 3": 1}),
        ("a\tb\n1\t2\n", {"a = 1 and b = 2": 1}),
        ("a|b\n1|2\n", {"a = 1 and b = 2": 1}),
        ('"a,1";b\n1;2\n', {'"a,1" = 1': 1}),
        ("a,b\n#3,4\n6,7\n", {"true": 2, "a = '#3'": 1}),
        ('a,b\n1,\n2,""\n3,x\n', {"b is null": 2, "b is not null": 1}),
        ('a,b\n1,"x\ny"\n2,\'\n', {"b = 'x\ny'": 1, "b = ''''": 1}),
        ("a\n2020-01-31\n2020-02-01\n", {"a < '2020-02-01'": 1}),
        ("a\n2020-01-31 12:00:00\n2020-02-01T12:00:00.5\n", {"a < '2020-02-01'": 1}),
        ("a\n01/02/2020\n13/02/2020\n", {"a = '2020-02-01'": 1}),
        ("a\n01/02/2020\n03/02/2020\n", {"a like '01/02%'": 1}),
        ("a\n00501\n10001\n", {"a = '00501'": 1}),
        ("a\n" + "1\n" * 30000 + "k.A.\n", {"a = 1": 30000, "a is null": 1}),
        ("\ufeffa,b\r\n1,2\r\n", {"a = 1 and b = 2": 1}),
        ("from,not\n1,2\n", {'from = 1 and "not" = 2': 1}),
    ],
)
def test_csv_reads_as_its_header_says(tmp_path: Path, text: str, expected: dict[str, int]) -> None:
    """No line is lost, no doubtful date guessed, no delimiter but that of the header used."""
    path = write_csv(tmp_path, text)
    assert dict(zip(expected, counts(path, *expected), strict=True)) == expected


@pytest.mark.parametrize(
    "content",
    [
        f"a,b\n1,2\n{CANARY},4,5\n",
        f"a,b,c\n1,2,3\n{CANARY},4\n",
        f"a,b,c\n{CANARY},4\n",
        f'a,b\n1,"{CANARY}\n2,y\n',
        f"a,b\n1,2\n# {CANARY}\n3,4\n",
        f"a,b\n1,{CANARY}\n".encode() * 9999 + b"1,Jos\xe9\n",
    ],
)
def test_csv_that_does_not_parse_is_refused_without_a_cell(tmp_path: Path, content: str | bytes) -> None:
    """A ragged, unquoted or binary file is refused as a whole, in our own words."""
    with pytest.raises(SourceError, match=r"cannot be read as CSV: (line|what follows)") as caught:
        DuckDBSource.open(write_csv(tmp_path, content))
    assert caught.value.__context__ is None
    assert CANARY not in "".join(traceback.format_exception(caught.value))


STATED = {
    name: ColumnFormat(kind, accepts_unreadable=True)
    for name, kind in {"age": Kind.INTEGER, "born": Kind.DATE, "bmi": Kind.REAL, "smoker": Kind.BOOLEAN}.items()
}


def test_stated_kinds_hold_whatever_the_cells_are(tmp_path: Path) -> None:
    """A cell that does not fit, as its owner accepted, is missing; a column of no kind is text."""
    path = write_csv(
        tmp_path,
        "age,born,bmi,smoker,zip\n31,2020-01-31,2.5,true,00501\nx,y,z,w,\n,,,,1\n"
        "9223372036854775808,0000-13-01,1e400,2,2\n",
    )
    questions = {
        "age = 31": 1,
        "age is null": 3,
        "born = '2020-01-31'": 1,
        "born is null": 3,
        "bmi = 2.5": 1,
        "bmi is null": 3,
        "smoker": 1,
        "zip = '00501'": 1,
        "zip is null": 1,
        "true": 4,
    }
    assert dict(zip(questions, counts(path, *questions, kinds=STATED), strict=True)) == questions


def test_one_record_changes_no_stated_schema(tmp_path: Path) -> None:
    """No refusal of a question can tell whether the record is there."""
    schemas = []
    for text in ("age\n", "age\n31\n32\n", "age\n31\n32\nunknown\n"):
        with DuckDBSource.open(write_csv(tmp_path, text), kinds={"age": STATED["age"]}) as source:
            schemas.append(dict(source.schema))
    assert schemas == [{"age": Kind.INTEGER}] * 3


def test_a_csv_file_larger_than_memory_is_refused_and_spills_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of it on a disk could be read by others, and would stay after a kill."""
    connect = duckdb.connect

    def small(path: str, config: dict[str, str] | None = None) -> duckdb.DuckDBPyConnection:
        return connect(path, config={"memory_limit": "100MB", **(config or {})})

    path = write_csv(tmp_path, "note\n" + f"{CANARY * 100}\n" * 100_000)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(duckdb, "connect", small)
    with pytest.raises(SourceError, match="needs more memory than there is: a CSV file is held"):
        DuckDBSource.open(path)
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("text", ["town\nZürich\nGenf\n", "town\nZürich\r\nGenf\n"])
def test_texts_that_are_written_anew_touch_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """They pass through a pipe: a copy could stay after a kill."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    path = write_csv(tmp_path, text.encode("cp1252"))
    form = FileFormat(encoding="cp1252")
    assert counts(path, "town = 'Zürich'", form=form, kinds={}) == [1]
    assert [*tmp_path.iterdir()] == [path]


def test_file_that_is_gone_is_not_counted_from_memory(tmp_path: Path) -> None:
    """A CSV file is held in memory, but its version cannot be vouched for without the file."""
    path = write_csv(tmp_path, "a\n1\n")
    with DuckDBSource.open(path) as source:
        path.unlink()
        with pytest.raises(SourceError, match="cannot be read any more"):
            source.count([parse("a = 1", source.schema)])


def test_a_mark_before_a_quoted_cell_is_no_part_of_it(tmp_path: Path) -> None:
    """Also where no line names the columns and rows are left out, so that Python reads the lines."""
    path = tmp_path / "x.csv"
    path.write_text('\ufeff"1,5","a"\n"2,5","b"\n"",""\n', encoding="utf-8")
    form = FileFormat.from_parts({"header": False, "names": ["n", "t"], "drop_empty_rows": True})
    assert counts(path, "n = 1.5", form=form) == [1]
    assert counts(path, "true", form=form) == [2]
