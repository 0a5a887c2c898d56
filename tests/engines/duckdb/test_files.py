"""Parquet files of a folder or a pattern, which are read as one table, and copies of files of texts."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import ColumnFormat
from noisycount.errors import SourceError
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.engines.duckdb.test_source import counts
from tests.helpers.sources import database

QUESTIONS = {"true": 5, "age >= 31": 4, "cost > 2": 2, "cost is null": 3, "note = 'it''s'": 3}


def write(path: Path, select: str) -> Path:
    """A Parquet file of what a SELECT gives."""
    path.parent.mkdir(parents=True, exist_ok=True)
    duckdb.sql(select).write_parquet(str(path))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of files whose columns stand in another order, or lack in one of them, and a note of who made it."""
    place = tmp_path / "it's [a] folder"
    write(place / "1.parquet", "SELECT 1 AS person, unnest([31, 32, 20]) AS age, 'it''s' AS note")
    write(place / "below" / "2.PQ", "SELECT 'x' AS note, unnest([2.5, 7.5]) AS cost, 31 AS age, 2 AS person")
    (place / "README.txt").write_text("hello")
    return place


def as_folder(place: Path) -> Path:
    """The folder itself."""
    return place


def as_pattern(place: Path) -> Path:
    """A pattern of the files in and below it."""
    return Path(str(place).replace("[a]", "[[]a[]]"), "**", "*.[pP]*")


@pytest.mark.parametrize("named", [as_folder, as_pattern])
def test_files_of_a_place_count_as_one_table(folder: Path, named: Callable[[Path], Path]) -> None:
    """Columns of one name are one; what a file lacks is missing in its records."""
    write(folder / "3.parquet", "SELECT 3 AS person, 29 AS age, NULL::VARCHAR AS note LIMIT 0")
    assert dict(zip(QUESTIONS, counts(named(folder), *QUESTIONS), strict=True)) == QUESTIONS
    assert counts(named(folder), "true", unit="person") == [2]
    with DuckDBSource.open_unprepared(named(folder)) as source:
        assert dict(source.schema)["cost"] is Kind.REAL


@pytest.mark.parametrize(
    ("name", "select", "words"),
    [
        ("3.parquet", "SELECT 'x' AS age", "files whose column 'age' is not of one type: make it INTEGER in all"),
        ("3.parquet", "SELECT 1::BIGINT AS age", "column 'age' is not of one type: make it INTEGER in all"),
        ("3.parquet", "SELECT 1 AS AGE", "names a column 'age' in one file and 'AGE' in another"),
        ("year=2020/3.parquet", "SELECT 1 AS age", "in folders of different keys (none and year): use the same"),
    ],
)
def test_files_that_do_not_go_together_are_refused(folder: Path, name: str, select: str, words: str) -> None:
    """In one line that says what to make the same."""
    write(folder / name, select)
    with pytest.raises(SourceError) as caught:
        DuckDBSource.open(folder)
    assert words in str(caught.value)


@pytest.fixture
def hive(tmp_path: Path) -> Path:
    """A folder that another program wrote by year, day and town, one town missing, below a folder that is no key."""
    place = tmp_path / "run=7" / "visits"
    place.parent.mkdir()
    made = (
        "SELECT i AS person, i % 5 AS age, 2020 + i % 3 AS year, DATE '2024-02-28' + (i % 2)::INTEGER AS day, "
        "CASE i % 4 WHEN 0 THEN 'a b' WHEN 1 THEN 'x/y=z' WHEN 2 THEN '007' END AS town, FROM range(120) AS t(i)"
    )
    duckdb.sql(made).write_parquet(str(place), partition_by=["year", "day", "town"])
    return place


HIVE = {
    "true": 120,
    "year = 2021": 40,
    "day >= '2024-02-29'": 60,
    "town = 'x/y=z'": 30,
    "town = '007' and year < 2022 and age = 2": 4,
    "town is null": 30,
}


@pytest.mark.parametrize("pattern", ["", "*/*/*/*.parquet", "**/*.parquet"])
def test_the_keys_of_folders_are_columns(hive: Path, pattern: str) -> None:
    """Whole numbers, dates and texts, as they were before their folders were named by them."""
    assert dict(zip(HIVE, counts(hive / pattern, *HIVE, unit="person"), strict=True)) == HIVE
    with DuckDBSource.open(hive / pattern) as source:
        kinds = {"person": Kind.INTEGER, "age": Kind.INTEGER, "year": Kind.INTEGER, "day": Kind.DATE, "town": Kind.TEXT}
        assert dict(source.schema) == kinds


def test_folders_that_a_link_leads_to_have_the_keys_of_the_link(hive: Path) -> None:
    """The link's name gives the key, whatever the name of the folder behind it."""
    (hive / "year=2020").rename(hive.parent / "old")
    (hive / "year=1999").symlink_to(hive.parent / "old")
    files = Path(str(hive), "year=*", "*", "*", "*.parquet")
    assert counts(files, "true", "year = 1999", "year = 2020") == [120, 40, 0]


def test_a_part_of_such_a_folder_has_the_keys_below_it(hive: Path) -> None:
    """The folder's own name gives no key, as for a file."""
    with DuckDBSource.open(hive / "year=2020") as source:
        assert set(source.schema) == {"person", "age", "day", "town"}
        assert source.count([parse("true", source.schema)]) == [40]


def test_a_key_lets_no_file_be_skipped(hive: Path) -> None:
    """The time of a count would tell which folders have what was asked for."""
    with DuckDBSource.open(hive) as source:
        asked = "EXPLAIN ANALYZE SELECT count(*) FROM records WHERE year = 2021"
        plan = source.cursors.connection.execute(asked).fetchall()[0][1]
        assert "120 rows" in " ".join(plan.split())


def test_a_key_that_is_a_column_too_is_refused(hive: Path) -> None:
    """Nobody could tell which one is meant."""
    write(
        hive / "year=2020" / "day=2024-02-28" / "town=x" / "0.parquet",
        "SELECT 1::BIGINT AS person, 2::BIGINT AS age, 3 AS Year",
    )
    with pytest.raises(SourceError, match="has the column 'year' in its files and in its folders: rename one"):
        DuckDBSource.open(hive)


@pytest.mark.parametrize("name", ["more.csv", "below/MORE.CSV", "visits.xlsx", "more.jsonl.gz"])
def test_records_beside_parquet_files_are_not_skipped_in_silence(folder: Path, name: str) -> None:
    """The refusal names them, and what to name in place of the folder."""
    (folder / name).write_text("person,age\n1,2\n")
    with pytest.raises(SourceError) as caught:
        DuckDBSource.open(folder)
    assert f"has {name!r} beside its Parquet files, which is not read with them" in str(caught.value)
    assert counts(as_pattern(folder), "true") == [5]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nothing", "does not exist, or contains no Parquet file"),
        ("*.parquet", "does not exist, or contains no Parquet file"),
        ("*.csv", "matches 'x.csv', but only Parquet files are read as one"),
    ],
)
def test_a_place_without_parquet_files_is_refused(tmp_path: Path, path: str, words: str) -> None:
    """In one line with a remedy."""
    (tmp_path / "nothing").mkdir()
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(SourceError) as caught:
        DuckDBSource.open_unprepared(tmp_path / path)
    assert words in str(caught.value)


def test_a_folder_that_cannot_be_looked_into_is_not_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records would be missing in silence. Here an account is kept out that is not the superuser."""
    scan = os.scandir

    def kept_out(place: str | Path) -> object:
        if Path(place).name == "below":
            raise PermissionError(13, "Permission denied", str(place))
        return scan(place)

    monkeypatch.setattr(os, "scandir", kept_out)
    with pytest.raises(SourceError, match=r"cannot be read completely: this account may not read .*below."):
        DuckDBSource.open(folder)


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """In one line, as the engine's own error is none of its usual ones."""
    path = tmp_path / "records.parquet"
    with database() as connection:
        connection.execute(f"COPY (SELECT 1 AS person, 2 AS quark) TO '{path}'")
    path.write_bytes(path.read_bytes().replace(b"quark", b"qu\xffrk"))
    with pytest.raises(SourceError, match="cannot be read as Parquet"):
        DuckDBSource.open(path, unit="person")


def test_a_place_that_changes_is_not_counted(folder: Path) -> None:
    """A changed or added file of an open place is refused."""
    with DuckDBSource.open(folder) as source:
        question = parse("true", source.schema)
        assert source.count([question]) == [5]
        more = write(folder / "3.parquet", "SELECT 1 AS age")
        with pytest.raises(SourceError, match="changed while it was open"):
            source.count([question])
        more.unlink()
        assert source.count([question]) == [5]


def test_a_place_is_locked_as_a_file_is(folder: Path) -> None:
    """Nothing but its files can be read."""
    other = write(folder.parent / "other.parquet", "SELECT 1 AS age")
    with DuckDBSource.open(folder) as source, pytest.raises(duckdb.Error):
        source.cursors.connection.execute(f"SELECT * FROM read_parquet('{other}')")  # noqa: S608 - our path


VIEWS = ["read_csv('{csv}')", "'{csv}'", "read_text('{csv}')", "glob('{csv}')"]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_that_reads_other_files_is_refused(tmp_path: Path, view: str) -> None:
    """A view over other files is refused, as a change of these files would stay unnoticed."""
    path, csv = tmp_path / "x.duckdb", tmp_path / "other.csv"
    csv.write_text("a\n1\n")
    with database(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        connection.execute(f"CREATE VIEW v AS SELECT * FROM {view.format(csv=csv)}")  # noqa: S608 - our own
        connection.execute("CREATE VIEW w AS SELECT a + 1 AS b FROM t")
    with pytest.raises(
        SourceError,
        match=r"'v' (is a view that cannot be judged: it reads .*, which is no|has .*, which may give other)",
    ):
        DuckDBSource.open(path, table="v")
    assert counts(path, "b = 2", table="w") == [1]


TEXTS = (
    "person,age,cost,born,smoker,seen,note\n"
    '1,31,"1.234,50",31.01.1990,ja,2020-01-31 12:00,"a, ""b""\nc"\n'
    '1,32,"2,25",01.02.1990,nein,2020-01-31 12:00:00.5,\n'
    '2,,"-0,5",,ja,,é\n'
    '3,x,"1e3",29.02.1990,,2020-01-31,' + "z" * 300 + "\n"
)
FORMS = {
    "person": ColumnFormat(Kind.TEXT),
    "age": ColumnFormat(Kind.INTEGER, accepts_unreadable=True),
    "cost": ColumnFormat(Kind.REAL, decimal=","),
    "born": ColumnFormat(Kind.DATE, date_format="%d.%m.%Y", accepts_unreadable=True),
    "smoker": ColumnFormat(Kind.BOOLEAN, true=("ja",), false=("nein",)),
    "seen": ColumnFormat(Kind.TIMESTAMP),
    "note": ColumnFormat(Kind.TEXT),
}
OF_TEXTS = [
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
    with DuckDBSource.open(texts, unit=unit, kinds=FORMS, copy=copy):
        assert copy.is_file()
    return copy


def counted(source: DuckDBSource) -> list[int]:
    """The counts of all questions."""
    return source.count([parse(question, source.schema) for question in OF_TEXTS])


@pytest.mark.thorough
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
    """If no copy can be written, the original is counted, and no partial copy stays."""
    taken = texts.with_name("taken")
    taken.mkdir()
    for copy in (texts.with_name("nowhere") / "copy", taken):
        with DuckDBSource.open(texts, kinds=FORMS, copy=copy) as source:
            assert not copy.is_file()
            assert counted(source)[0] == 4
    assert {*texts.parent.iterdir()} == {texts, taken}
    assert [*taken.iterdir()] == []


def test_a_copy_that_fills_the_disk_is_removed(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a copy would be private records that nobody reads."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with DuckDBSource.open(texts, kinds=FORMS, copy=texts.with_name("copy")):
        pass
    assert [*texts.parent.iterdir()] == [texts]


def test_what_answers_nothing_is_not_copied(texts: Path) -> None:
    """Cells that their owner has not accepted keep the records from being used at all."""
    copy = texts.with_name("copy")
    kinds = FORMS | {"age": ColumnFormat(Kind.INTEGER)}
    with pytest.raises(SourceError, match="answers nothing"):
        DuckDBSource.open(texts, kinds=kinds, copy=copy)
    assert not copy.exists()


def test_a_file_that_needs_no_copy_gets_none(tmp_path: Path) -> None:
    """A Parquet file is read where it lies."""
    path, copy = tmp_path / "x.parquet", tmp_path / "copy"
    duckdb.sql("SELECT 1 AS x").write_parquet(str(path))
    with DuckDBSource.open(path, copy=copy):
        assert not copy.exists()


@pytest.mark.parametrize("damage", ["cut", "empty", "text"])
def test_a_damaged_copy_is_refused(texts: Path, damage: str) -> None:
    """A damaged copy is refused, so that the caller reads the original instead."""
    copy = copy_of(texts)
    whole = copy.read_bytes()
    copy.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"", "text": b"a,b\n"}[damage])
    with pytest.raises(SourceError, match="cannot be read as Parquet: check that the file is"):
        DuckDBSource.of_copy(copy, FORMS)


@pytest.mark.parametrize(
    "forms",
    [
        {**FORMS, "age": ColumnFormat(Kind.REAL)},
        {**FORMS, "more": ColumnFormat(Kind.TEXT)},
        {name: form for name, form in FORMS.items() if name != "note"},
        {},
    ],
)
def test_a_copy_of_something_else_is_refused(texts: Path, forms: dict[str, ColumnFormat]) -> None:
    """Its columns must be those that are said of it."""
    copy = copy_of(texts)
    with pytest.raises(SourceError, match="is no copy of these records: remove it"):
        DuckDBSource.of_copy(copy, forms)


def test_a_copy_is_locked_as_its_original_is(texts: Path) -> None:
    """Nothing but the copy can be read, and it must not change while it is open."""
    copy = copy_of(texts)
    with DuckDBSource.of_copy(copy, FORMS) as source:
        with pytest.raises(duckdb.Error):
            source.cursors.connection.execute(f"SELECT * FROM read_csv('{texts}')")  # noqa: S608 - our path
        copy.write_bytes(copy.read_bytes() + b"x")
        with pytest.raises(SourceError, match=r"changed while it was open|cannot be counted"):
            counted(source)
