"""Questions about all rows of a person, beside the SQL that a person would write for DuckDB."""
# ruff: noqa: S608, as all SQL here is our own

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from benchmarks.comparison import Comparison, Show, medians, seconds, sized
from benchmarks.visits import write_visits
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.query.normal_form import parse_predicate

ROUNDS = 5
ROWS = sized(10**7, 10**4)
LIMIT = 1.5
QUESTIONS = {
    "any(ward = 'ICU') and count(dose > 50) >= 3": (
        "SELECT patient, bool_or(ward = 'ICU') AS a, count(*) FILTER (dose > 50) AS n FROM visits GROUP BY patient",
        "a AND n >= 3",
    ),
    "none(ward = 'ICU') and last(day) > first(day) + 300 days": (
        "SELECT patient, bool_or(ward = 'ICU') AS a, min(day) AS f, max(day) AS l FROM visits GROUP BY patient",
        "NOT a AND l > f + 300",
    ),
    "any(ward = 'A' and day between first(day where ward = 'ICU') and first(day where ward = 'ICU') + 30 days)": (
        (
            "SELECT patient, bool_or(ward = 'A' AND day BETWEEN f AND f + 30) AS a FROM (SELECT *, "
            "min(CASE WHEN ward = 'ICU' THEN day END) OVER (PARTITION BY patient) AS f FROM visits) GROUP BY patient"
        ),
        "a",
    ),
    "count(distinct ward) >= 3": (
        "SELECT patient, count(DISTINCT ward) AS n FROM visits GROUP BY patient",
        "n >= 3",
    ),
}


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Ten million visits of a million patients in a Parquet file."""
    path = tmp_path_factory.mktemp("visits") / "visits.parquet"
    write_visits(path, ROWS)
    yield path
    path.unlink()


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_about_persons(show: Show, visits: Path, question: str) -> None:
    """A question about persons takes at most 1.5 times the hand-written SQL, and has the same count."""
    groups, condition = QUESTIONS[question]
    with DuckDBSource.open(visits, unit="patient") as source, duckdb.connect() as connection:
        predicate = parse_predicate(question, source.schema).normal
        connection.execute(f"CREATE VIEW visits AS FROM read_parquet('{visits}')")
        query = f"SELECT count(*) FROM ({groups}) WHERE {condition}"
        assert source.count([predicate]) == [connection.execute(query).fetchall()[0][0]]
        ours, theirs = medians(
            ROUNDS,
            lambda: seconds(lambda: source.count([predicate])),
            lambda: seconds(lambda: connection.execute(query).fetchall()),
        )
    found = Comparison(
        f"persons by {question.split(' and ', maxsplit=1)[0]} …", ours, "DuckDB, plain SQL", theirs, LIMIT * theirs
    )
    show(found)
    assert found.kept
