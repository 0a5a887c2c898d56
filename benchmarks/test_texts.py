"""The first count of a CSV file, and further ones, beside DuckDB's own reading of it."""
# ruff: noqa: S608, as all SQL here is our own

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from benchmarks.comparison import Comparison, Run, Show, medians, sized
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import ColumnFormat
from noisycount.query.language import parse

ROUNDS = 5
RECORDS = sized(10**6, 1000)
QUESTION = "age >= 65 and region = 'region 7'"


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A million records of eight columns in a CSV file."""
    path = tmp_path_factory.mktemp("texts") / "records.csv"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT (hash(n, 'person') % 300000)::BIGINT AS person, "
            "(hash(n, 'age') % 100)::INTEGER AS age, "
            "'region ' || hash(n, 'region') % 20 AS region, "
            "(hash(n, 'cost') % 1000000)::INTEGER / 100 AS cost, "
            "DATE '2000-01-01' + (hash(n, 'day') % 9000)::INTEGER AS day, "
            "(hash(n, 'visits') % 9)::INTEGER AS visits, "
            "(hash(n, 'code') % 1000000)::INTEGER AS code, "
            "hash(n, 'smoker') % 3 = 0 AS smoker "
            f"FROM range({RECORDS}) AS numbers(n)) TO '{path}' (FORMAT csv, HEADER)"
        )
    yield path
    path.unlink()


def by_us(path: Path, copy: Path | None = None) -> Run:
    """Open the file, guess what its texts stand for, check them, count, close."""

    def counted() -> None:
        with DuckDBSource.open(path, copy=copy) as source:
            assert source.count([parse(QUESTION, source.schema)])[0] > 0

    return lambda: work(counted)


def by_duckdb(path: Path) -> Run:
    """Read the file as DuckDB sniffs it into a table, count, close."""

    def counted() -> None:
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE records AS SELECT * FROM read_csv('{path}')")
            query = f"SELECT count(*) FROM records WHERE {QUESTION}"
            assert connection.execute(query).fetchall()[0][0] > 0

    return lambda: work(counted)


def of_copy(copy: Path, forms: dict[str, ColumnFormat]) -> Run:
    """Open the copy, count, close."""

    def counted() -> None:
        with DuckDBSource.of_copy(copy, forms) as source:
            assert source.count([parse(QUESTION, source.schema)])[0] > 0

    return lambda: work(counted)


def work(action: Callable[[], object]) -> float:
    """The seconds that all processors work on an action."""
    start = time.process_time()
    action()
    return time.process_time() - start


def test_the_first_count_of_a_text_file(texts: Path, show: Show) -> None:
    """Guessing, checking and counting are at most twice the work of reading and counting."""
    ours, theirs = medians(ROUNDS, by_us(texts), by_duckdb(texts))
    found = Comparison("first count of a CSV file", ours, "DuckDB", theirs, limit=2 * theirs)
    show(found)
    assert found.kept


def test_further_counts_read_the_copy(texts: Path, show: Show) -> None:
    """In a fraction of a second of work, beside a first count that leaves a copy."""
    copy = texts.with_suffix(".copy")
    with DuckDBSource.open(texts, copy=copy) as source:
        assert copy.is_file()
        forms = source.forms
    ours, first = medians(ROUNDS, of_copy(copy, forms), by_us(texts, copy))
    copy.unlink()
    found = Comparison("further count of a CSV file", ours, "first, with a copy", first, 0.3)
    show(found)
    assert found.kept
