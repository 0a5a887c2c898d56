"""What a copy of a file of texts holds, who can read it, and what is done with a damaged one."""

import os
import stat
from pathlib import Path

import duckdb
import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.forms import ColumnForm
from noisycount.errors import SourceError
from noisycount.query.language import parse
from noisycount.query.schema import Kind

TEXTS = (
    "person,age,cost,born,smoker,seen,note\n"
    '1,31,"1.234,50",31.01.1990,ja,2020-01-31 12:00,"a, ""b""\nc"\n'
    '1,32,"2,25",01.02.1990,nein,2020-01-31 12:00:00.5,\n'
    '2,,"-0,5",,ja,,é\n'
    '3,x,"1e3",29.02.1990,,2020-01-31,' + "z" * 300 + "\n"
)
FORMS = {
    "person": ColumnForm(Kind.TEXT),
    "age": ColumnForm(Kind.INTEGER, accepts_unreadable=True),
    "cost": ColumnForm(Kind.REAL, decimal=","),
    "born": ColumnForm(Kind.DATE, date_format="%d.%m.%Y", accepts_unreadable=True),
    "smoker": ColumnForm(Kind.BOOLEAN, true=("ja",), false=("nein",)),
    "seen": ColumnForm(Kind.TIMESTAMP),
    "note": ColumnForm(Kind.TEXT),
}
QUESTIONS = [
    *("true", "age >= 31", "age is null", "cost > 1000", "cost < 0", "born = '1990-01-31'"),
    *("born is null", "smoker", "not smoker", "seen >= '2020-01-31 12:00'", "seen is null"),
    *("note like 'a%'", "note = 'é'", "note is null", "note > 'a'", "smoker and age > 30"),
]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A CSV file with a column of each kind."""
    path = tmp_path / "records.csv"
    path.write_text(TEXTS, encoding="utf-8")
    return path


def copy_of(texts: Path, unit: str | None = None) -> Path:
    """The copy that a source makes when it opens a file."""
    copy = texts.with_name("a [copy]*'.parquet")
    with DuckDBSource.open(texts, unit=unit, kinds=FORMS, copy=copy) as source:
        assert source.copied
    return copy


def counted(source: DuckDBSource) -> list[int]:
    """The counts of all questions."""
    return source.count([parse(question, source.schema) for question in QUESTIONS])


@pytest.mark.parametrize("unit", [None, "person"])
@pytest.mark.parametrize("columns", [None, ["age", "cost", "born", "smoker", "seen", "note"]])
def test_a_copy_counts_as_its_original_does(texts: Path, unit: str | None, columns: list[str] | None) -> None:
    """The columns, their kinds, the unit, and every count are the same."""
    copy = copy_of(texts, unit)
    with (
        DuckDBSource.open(texts, unit=unit, columns=columns, kinds=FORMS) as source,
        DuckDBSource.of_copy(copy, FORMS, unit=unit, columns=columns) as copied,
    ):
        assert dict(copied.schema) == dict(source.schema)
        assert copied.unit == source.unit
        assert counted(copied) == counted(source)


def test_only_its_owner_reads_a_copy(texts: Path) -> None:
    """Whatever the mask of the process is, and nothing else is left in the folder."""
    mask = os.umask(0)
    try:
        copy = copy_of(texts)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert {*texts.parent.iterdir()} == {texts, copy}


def test_what_is_not_copied_is_counted_all_the_same(texts: Path) -> None:
    """Where the folder is missing, or the file's place is taken by one, no part is left."""
    taken = texts.with_name("taken")
    taken.mkdir()
    for copy in (texts.with_name("nowhere") / "copy", taken):
        with DuckDBSource.open(texts, kinds=FORMS, copy=copy) as source:
            assert not source.copied
            assert counted(source)[0] == 4
    assert {*texts.parent.iterdir()} == {texts, taken}
    assert [*taken.iterdir()] == []


def test_a_copy_that_fills_the_disk_is_removed(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a copy would be private records that nobody reads."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with DuckDBSource.open(texts, kinds=FORMS, copy=texts.with_name("copy")) as source:
        assert not source.copied
    assert [*texts.parent.iterdir()] == [texts]


def test_what_answers_nothing_is_not_copied(texts: Path) -> None:
    """Cells that their owner has not accepted keep the records from being used at all."""
    copy = texts.with_name("copy")
    kinds = FORMS | {"age": ColumnForm(Kind.INTEGER)}
    with pytest.raises(SourceError, match="answers nothing"):
        DuckDBSource.open(texts, kinds=kinds, copy=copy)
    assert not copy.exists()


def test_a_file_that_needs_no_copy_gets_none(tmp_path: Path) -> None:
    """A Parquet file is read where it lies."""
    path, copy = tmp_path / "x.parquet", tmp_path / "copy"
    duckdb.sql("SELECT 1 AS x").write_parquet(str(path))
    with DuckDBSource.open(path, copy=copy) as source:
        assert not source.copied
    assert not copy.exists()


@pytest.mark.parametrize("damage", ["cut", "empty", "text"])
def test_a_damaged_copy_is_refused(texts: Path, damage: str) -> None:
    """Who asked for it reads the original instead."""
    copy = copy_of(texts)
    whole = copy.read_bytes()
    copy.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"", "text": b"a,b\n"}[damage])
    with pytest.raises(SourceError, match="cannot be read as Parquet: check that the file is"):
        DuckDBSource.of_copy(copy, FORMS)


@pytest.mark.parametrize(
    "forms",
    [
        {**FORMS, "age": ColumnForm(Kind.REAL)},
        {**FORMS, "more": ColumnForm(Kind.TEXT)},
        {name: form for name, form in FORMS.items() if name != "note"},
        {},
    ],
)
def test_a_copy_of_something_else_is_refused(texts: Path, forms: dict[str, ColumnForm]) -> None:
    """Its columns must be those that are said of it."""
    copy = copy_of(texts)
    with pytest.raises(SourceError, match="is no copy of these records: remove it"):
        DuckDBSource.of_copy(copy, forms)


def test_a_copy_is_locked_as_its_original_is(texts: Path) -> None:
    """Nothing but the copy can be read, and it must not change while it is open."""
    copy = copy_of(texts)
    with DuckDBSource.of_copy(copy, FORMS) as source:
        with pytest.raises(duckdb.Error):
            source.connection.execute(f"SELECT * FROM read_csv('{texts}')")  # noqa: S608 - our path
        copy.write_bytes(copy.read_bytes() + b"x")
        with pytest.raises(SourceError, match=r"changed while it was open|cannot be counted"):
            counted(source)
