"""Parquet files of a folder or a pattern, which are read as one table."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.errors import SourceError
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.engines.duckdb.test_source import counts
from tests.sources import database

QUESTIONS = {"true": 5, "age >= 31": 4, "cost > 2": 2, "cost is null": 3, "note = 'it''s'": 3}


def write(path: Path, select: str) -> Path:
    """A Parquet file of what a SELECT gives."""
    path.parent.mkdir(parents=True, exist_ok=True)
    duckdb.sql(select).write_parquet(str(path))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of files whose columns stand in another order, or lack in one of them."""
    place = tmp_path / "it's [a] folder"
    write(place / "1.parquet", "SELECT 1 AS person, unnest([31, 32, 20]) AS age, 'it''s' AS note")
    write(place / "below" / "2.PQ", "SELECT 'x' AS note, unnest([2.5, 7.5]) AS cost, 31 AS age, 2 AS person")
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
    with DuckDBSource.found(named(folder)) as source:
        assert dict(source.schema)["cost"] is Kind.REAL


def test_other_files_of_a_folder_are_none_of_its_records(folder: Path) -> None:
    """Such as a note of whoever made it."""
    (folder / "README.txt").write_text("hello")
    assert counts(folder, "true") == [5]


@pytest.mark.parametrize(
    ("select", "words"),
    [
        ("SELECT 'x' AS age", "files whose column 'age' is not of one type: make it INTEGER in all"),
        ("SELECT 1::BIGINT AS age", "column 'age' is not of one type: make it INTEGER in all"),
        ("SELECT 1 AS AGE", "names a column 'age' in one file and 'AGE' in another"),
    ],
)
def test_files_that_do_not_go_together_are_refused(folder: Path, select: str, words: str) -> None:
    """In one line that says what to make the same."""
    write(folder / "3.parquet", select)
    with pytest.raises(SourceError) as caught:
        DuckDBSource.open(folder)
    assert words in str(caught.value)


def test_columns_in_the_names_of_folders_are_not_lost(folder: Path) -> None:
    """Such a place is refused."""
    write(folder / "year=2020" / "3.parquet", "SELECT 1 AS age")
    with pytest.raises(SourceError, match="folders such as 'year=2020', whose names hold a column"):
        DuckDBSource.open(folder)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nothing", "does not exist, or holds no Parquet file"),
        ("*.parquet", "does not exist, or holds no Parquet file"),
        ("*.csv", "matches 'x.csv', but only Parquet files are read as one"),
    ],
)
def test_a_place_without_parquet_files_is_refused(tmp_path: Path, path: str, words: str) -> None:
    """In one line with a remedy."""
    (tmp_path / "nothing").mkdir()
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(SourceError) as caught:
        DuckDBSource.found(tmp_path / path)
    assert words in str(caught.value)


def test_a_place_that_changes_is_not_counted(folder: Path) -> None:
    """One of its files, or one more."""
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
        source.connection.execute(f"SELECT * FROM read_parquet('{other}')")  # noqa: S608 - our path


VIEWS = ["read_csv('{csv}')", "'{csv}'", "read_text('{csv}')", "glob('{csv}')"]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_that_reads_other_files_is_refused(tmp_path: Path, view: str) -> None:
    """What it reads is no part of the file, whose state would not tell that it changed."""
    path, csv = tmp_path / "x.duckdb", tmp_path / "other.csv"
    csv.write_text("a\n1\n")
    with database(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        connection.execute(f"CREATE VIEW v AS SELECT * FROM {view.format(csv=csv)}")  # noqa: S608 - our own
        connection.execute("CREATE VIEW w AS SELECT a + 1 AS b FROM t")
    with pytest.raises(SourceError, match=r"'v' of .* is a view that reads other files: make it a"):
        DuckDBSource.open(path, table="v")
    assert counts(path, "b = 2", table="w") == [1]
