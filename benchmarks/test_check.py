"""`noisycount check` of a CSV file, beside DuckDB reading and describing the same file."""
# ruff: noqa: S608, as all SQL here is our own

from pathlib import Path

import duckdb
import pytest

from benchmarks.comparison import Comparison, Run, Show, medians, processor_seconds, sized
from noisycount.config.config import DatasetConfig, default_config
from noisycount.tasks.check import examine
from noisycount.tasks.check_display import column_table, finding_table, inspection_facts, verdict
from noisycount.tasks.findings import findings_of

ROUNDS = 3
ROWS, COLUMNS = sized(650_000, 2_000), sized(5_000, 50)  # 52 MB; and of few rows
_TALL = (
    "'P' || lpad((n // 3)::VARCHAR, 7, '0') AS person, (18 + hash(n, 'age') % 80)::INTEGER AS age, "
    "(hash(n, 'cost') % 100000)::INTEGER / 100 AS cost, "
    "CASE WHEN hash(n, 'smoker') % 2 = 0 THEN 'yes' ELSE 'no' END AS smoker, "
    "['Köln', 'Bonn', 'Bern', 'Basel', 'Zürich'][1 + (hash(n, 'town') % 5)::INTEGER] AS town, "
    "DATE '2010-01-01' + (hash(n, 'day') % 5000)::INTEGER AS visited, "
    "(hash(n, 'score') % 1000000)::INTEGER / 1e6 AS score, "
    "lpad((hash(n, 'code') % 100000)::VARCHAR, 5, '0') AS code, "
    "CASE WHEN n % 4 = 0 THEN 'visit ' || hash(n, 'note') % 1000000 END AS note, "
    "TIMESTAMP '2024-01-01' + to_minutes((hash(n, 'time') % 500000)::INTEGER) AS time"
)
_WIDE = (
    "hash(n, {0}) % 100",
    "(hash(n, {0}) % 1000)::INTEGER / 1000",
    "['a', 'b', 'c'][1 + (hash(n, {0}) % 3)::INTEGER]",
    "DATE '2010-01-01' + (hash(n, {0}) % 5000)::INTEGER",
    "NULL",
)


def _written(path: Path, columns: str, rows: int) -> Path:
    """Return a CSV file of made-up records."""
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {columns} FROM range({rows}) AS numbers(n)) TO '{path}' (FORMAT csv, HEADER)")
    return path


@pytest.fixture(autouse=True)
def own_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the check away from the configuration and the ledger of this account."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.fixture
def tall(tmp_path: Path) -> Path:
    """Return a file of ten columns."""
    return _written(tmp_path / "tall.csv", _TALL, ROWS)


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """Return a file of thousands of columns and 200 rows."""
    columns = (f"{_WIDE[n % len(_WIDE)].format(n)} AS c{n}" for n in range(COLUMNS))
    return _written(tmp_path / "wide.csv", f"n AS person, {', '.join(columns)}", 200)


def _check(path: Path) -> Run:
    """Check a file as the command does, without its ledger, and make its screen."""

    def check() -> None:
        inspection = examine(DatasetConfig(str(path), path), default_config())
        findings = findings_of(inspection)
        assert verdict(findings, is_unit_stated=inspection.is_unit_stated).startswith("Ready")
        assert inspection_facts(inspection)
        assert column_table(inspection, findings)[1]
        assert finding_table(inspection, findings)

    return lambda: processor_seconds(check)


def _describe(path: Path) -> Run:
    """Read a file as DuckDB sniffs it into a table, and have it summarised."""

    def describe() -> None:
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE records AS SELECT * FROM read_csv('{path}')")
            assert connection.execute("SUMMARIZE records").fetchall()

    return lambda: processor_seconds(describe)


def test_a_check_of_a_large_file(tall: Path, show: Show) -> None:
    """It reads the file once: at most 1.75 times the work of reading and summarising it."""
    assert _compared(tall, "check of 52 MB", 1.75, show).kept


def test_a_check_of_many_columns(wide: Path, show: Show) -> None:
    """Its statements do not grow with the columns: at most 0.5 times the work of summarising them."""
    assert _compared(wide, "check of 5,000 columns", 0.5, show).kept


def _compared(path: Path, title: str, limit: float, show: Show) -> Comparison:
    """Show the work of a check of a file beside that of DuckDB's summary, and the limit in times of that."""
    ours, theirs = medians(ROUNDS, _check(path), _describe(path))
    found = Comparison(title, ours, "DuckDB, SUMMARIZE", theirs, limit=limit * theirs)
    show(found)
    return found
