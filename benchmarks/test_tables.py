"""Tables beside DuckDB alone, and beside OpenDP and SmartNoise.

`NOISYCOUNT_BENCH_RECORDS` says how many records are made, 1e7 if it is not set. The two rivals
cannot be installed beside what our tests need: SmartNoise 1.0.10 wants pandas before 3 and OpenDP
before 0.15; OpenDP 0.16 reads plans of Polars 1.36.1 alone, and refuses those of Polars 2.1
("incompatible schema"). So they get an environment of their own, made once a run, or that whose
Python `NOISYCOUNT_RIVALS` names.
"""
# ruff: noqa: S608, as all SQL here is our own

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from math import inf
from pathlib import Path

import duckdb
import numpy as np
import pytest

from benchmarks.comparison import Comparison, Run, Show, is_small, medians, seconds, sized
from benchmarks.table_rivals import RIVALS, plain
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.ledger.ledger import Ledger
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import CellQuestion, EachValue, GroupBy, KeyQuestion, KeySet, NumberRanges
from noisycount.query.language import parse
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk

ROUNDS = 7
RECORDS = int(float(os.environ.get("NOISYCOUNT_BENCH_RECORDS", "1e7")))
TOWNS = [f"town {number}" for number in range(500)]
TOWN = EachValue(Column("town", Kind.TEXT))
SIMPLE = [f"age >= {5 * number + 2}" for number in range(20)]
JOINED = [f"age >= {4 * n + 3} and income < {900 * n + 500}.5" for n in range(20)]
RICH = Dataset("records", Fraction(10**6))
RIVAL_PACKAGES = ["smartnoise-sql>=1.0", "opendp[polars]", "duckdb"]


def made(path: Path, size: int) -> Path:
    """So many records, with three to a person, in a Parquet file."""
    with duckdb.connect() as connection:
        connection.sql(
            "SELECT 'town ' || (hash(i, 'town') % 500) AS town, "
            "(hash(i, 'age') % 100)::INTEGER AS age, hash(i, 'income') / 1e15 AS income, "
            f"(hash(i, 'person') % {max(1, 3 * size // 10)})::BIGINT AS person "
            f"FROM range({size}) AS t(i)"
        ).write_parquet(str(path))
    return path


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The records of most comparisons."""
    path = made(tmp_path_factory.mktemp("records") / "records.parquet", RECORDS)
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def plain_duckdb(records: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB as it is."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW records AS FROM read_parquet('{records}')")
        yield connection


def listed(part: GroupBy, keys: list[str] | list[int]) -> KeySet:
    """The keys of one part."""
    codes = np.arange(len(keys), dtype=np.int32).reshape(-1, 1)
    return KeySet((part,), (tuple(keys),), codes)


def cells(size: int) -> Level:
    """The cells themselves."""
    return Level("cells", np.arange(size, dtype=np.int32), size)


BY_TOWN = CellQuestion(listed(TOWN, TOWNS), None, (cells(500),))


@pytest.mark.parametrize(("texts", "most"), [(SIMPLE, 0.45), (JOINED, inf)], ids=["one column", "two columns"])
def test_twenty_predicates_in_one_scan_take_less_than_half_of_twenty_scans(
    show: Show, records: Path, plain_duckdb: duckdb.DuckDBPyConnection, texts: list[str], most: float
) -> None:
    """Of two columns DuckDB alone looks at the second one where the first matches only.

    We look at both of every record, so that no time tells how many match: that is shown only.
    """
    with DuckDBSource.open(records) as source:
        questions = [parse(text, source.schema) for text in texts]

        def scans() -> list[int]:
            queries = (f"SELECT count(*) FROM records WHERE {text}" for text in texts)
            return [plain_duckdb.execute(query).fetchall()[0][0] for query in queries]

        assert source.count(questions) == scans()
        ours, theirs = medians(ROUNDS, lambda: seconds(lambda: source.count(questions)), lambda: seconds(scans))
    name = f"20 predicates of {1 + (texts is JOINED)} columns, {RECORDS:.0e} records"
    found = Comparison(name, ours, "DuckDB, 20 scans", theirs, most * theirs)
    show(found)
    assert found.kept


def grouped(connection: duckdb.DuckDBPyConnection, query: str) -> Callable[[], list[tuple[str, int]]]:
    """Return the query that a person would write."""
    return lambda: connection.execute(query).fetchall()


@pytest.mark.parametrize("unit", [None, "person"], ids=["records", "persons"])
def test_500_keys_take_little_more_than_a_plain_group_by(
    show: Show, records: Path, plain_duckdb: duckdb.DuckDBPyConnection, unit: str | None
) -> None:
    """1.1 times its time and 50 ms for records, 1.15 times for distinct persons."""
    counted = "*" if unit is None else f"DISTINCT {unit}"
    rival = grouped(plain_duckdb, f"SELECT town, count({counted}) FROM records GROUP BY town")
    with DuckDBSource.open(records, unit=unit) as source:
        (counts,) = source.count_cells(BY_TOWN)
        assert dict(zip(TOWNS, counts.tolist(), strict=True)) == dict(rival())
        ours, theirs = medians(ROUNDS, lambda: seconds(lambda: source.count_cells(BY_TOWN)), lambda: seconds(rival))
    most = 1.1 * theirs + 0.05 if unit is None else 1.15 * theirs
    name = f"{'records' if unit is None else 'persons'} by 500 keys, {RECORDS:.0e} records"
    found = Comparison(name, ours, "DuckDB, GROUP BY", theirs, most)
    show(found)
    assert found.kept


def test_2048_ranges_are_found_by_bisection(show: Show, records: Path, plain_duckdb: duckdb.DuckDBPyConnection) -> None:
    """Beside an ASOF join with a table of the edges."""
    edges = tuple(range(0, 2048 * 9, 9))
    part = NumberRanges(Column("income", Kind.REAL), edges)
    question = CellQuestion(listed(part, list(range(2048))), None, (cells(2048),))
    plain_duckdb.execute("CREATE TEMP TABLE edges AS SELECT unnest(?) AS edge", [list(edges)])
    rival = grouped(plain_duckdb, "SELECT edge, count(*) FROM records ASOF JOIN edges ON income >= edge GROUP BY edge")
    with DuckDBSource.open(records) as source:
        (counts,) = source.count_cells(question)
        found = dict(zip(edges, counts.tolist(), strict=True))
        assert {edge: count for edge, count in found.items() if count} == dict(rival())
        ours, theirs = medians(3, lambda: seconds(lambda: source.count_cells(question)), lambda: seconds(rival))
    show(Comparison(f"2,048 ranges, {RECORDS:.0e} records", ours, "DuckDB, ASOF JOIN", theirs))


OURS_ALONE = """
import sys
from benchmarks.test_tables import BY_TOWN
from noisycount.engines.duckdb.source import DuckDBSource
with DuckDBSource.open(sys.argv[1], unit=sys.argv[2] or None) as source:
    source.count_cells(BY_TOWN)
"""
DUCKDB_ALONE = """
import sys
from benchmarks.test_tables import BY_TOWN
from noisycount.engines.duckdb.source import DuckDBSource
DuckDBSource.open(sys.argv[1], unit=sys.argv[2] or None).close()
import duckdb
counted = f"DISTINCT {sys.argv[2]}" if sys.argv[2] else "*"
with duckdb.connect() as connection:
    connection.execute(f"CREATE VIEW records AS FROM read_parquet('{sys.argv[1]}')")
    connection.execute(f"SELECT town, count({counted}) FROM records GROUP BY town").fetchall()
"""
# Of the process alone: what `getrusage` tells began before it was the child that it is.
PEAK = """
import pathlib
(line,) = [line for line in pathlib.Path("/proc/self/status").open() if line.startswith("VmHWM")]
print(int(line.split()[1]) * 1024)
"""


def peak(code: str, *words: object) -> float:
    """The most memory that a process took, in bytes."""
    ran = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code + PEAK, *map(str, words)], capture_output=True, check=True, text=True
    )
    return float(ran.stdout.split()[-1])


@pytest.mark.parametrize("unit", [None, "person"], ids=["records", "persons"])
def test_a_table_takes_at_most_1_2_times_the_memory_of_duckdb(
    records: Path, capsys: pytest.CaptureFixture[str], unit: str | None
) -> None:
    """At its peak, of whole processes, both of which have opened the records with us before."""
    ours, theirs = (peak(code, records, unit or "") for code in (OURS_ALONE, DUCKDB_ALONE))
    with capsys.disabled():
        print(f"\npeak by 500 keys: {ours / 1e6:.0f} MB, DuckDB {theirs / 1e6:.0f} MB")  # noqa: T201
    assert ours <= 1.2 * theirs or is_small()


def test_hidden_keys_are_given_as_they_are_read(
    show: Show, records: Path, plain_duckdb: duckdb.DuckDBPyConnection
) -> None:
    """As many groups as persons, beside all of DuckDB's rows at once."""
    question = KeyQuestion([EachValue(Column("person", Kind.INTEGER))], None)
    rival = grouped(plain_duckdb, "SELECT person, count(*) FROM records GROUP BY person")
    with DuckDBSource.open(records) as source:

        def counted() -> int:
            return sum(len(batch.keys) for batch in source.count_keys(question))

        assert counted() == len(rival())
        ours, theirs = medians(3, lambda: seconds(counted), lambda: seconds(rival))
    show(Comparison(f"hidden keys, {RECORDS:.0e} records", ours, "DuckDB, GROUP BY", theirs))


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records that peers count."""
    return made(tmp_path_factory.mktemp("million") / "records.parquet", sized(10**6, 10**4))


@pytest.fixture(scope="module")
def rivals(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of the peers; ours with `--small`, where DuckDB takes their place, as they take minutes to install."""
    if named := os.environ.get("NOISYCOUNT_RIVALS") or (is_small() and sys.executable):
        return named
    folder = tmp_path_factory.mktemp("rivals")
    python = str(folder / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)  # noqa: S603 - our own
    install = ["-m", "pip", "install", "--quiet", *RIVAL_PACKAGES]
    subprocess.run([python, *install], check=True)  # noqa: S603 - our own
    return python


def through_the_desk(path: Path, ledger: str, errors: list[float]) -> Run:
    """Open the records and the ledger, release a table, close both; note the mean error."""
    numbers = count(1)
    true = plain(str(path))

    def released() -> None:
        with DuckDBSource.open(path) as source, Ledger.open(ledger) as budget:
            desk = Desk(source, budget, RICH)
            where = f"age >= -{next(numbers)}"  # all, in words that were not asked before
            table = desk.release_table("town", {"town": TOWNS}, where, epsilon=Fraction(1))
        wrong = np.abs(table.answers[0] - np.array([true[town] for town in TOWNS]))
        errors.append(float(wrong.mean()))

    return lambda: seconds(released)


@pytest.mark.parametrize("rival", RIVALS)
def test_a_table_of_1e6_records_beside_a_peer(  # noqa: PLR0913, PLR0917 - fixtures
    show: Show, million: Path, rivals: str, rival: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """500 keys at epsilon 1, from opening to the answers: at most their time, with their error."""
    ours_wrong: list[float] = []
    theirs_wrong: list[float] = []

    def peer() -> float:
        program = Path(__file__).with_name("table_rivals.py")
        ran = subprocess.run(  # noqa: S603 - our own code
            [rivals, program, "DuckDB" if is_small() else rival, million], capture_output=True, check=True, text=True
        )
        taken, error = map(float, ran.stdout.split()[-2:])
        theirs_wrong.append(error)
        return taken

    us = through_the_desk(million, f"sqlite:///{tmp_path}/ledger.db", ours_wrong)
    ours, theirs = medians(3, us, peer)
    found = Comparison(f"500 keys of 1e6 records, {rival}", ours, rival, theirs, theirs)
    show(found)
    with capsys.disabled():
        print(f"\nmean absolute error: {np.mean(ours_wrong):.3f}", end=", ")  # noqa: T201
        print(f"{rival} {np.mean(theirs_wrong):.3f}")  # noqa: T201
    assert found.kept
    assert np.mean(ours_wrong) < 1.2 * np.mean(theirs_wrong) or is_small()
