"""Questions about persons in two tables, beside the SQL that a person would write for DuckDB."""
# ruff: noqa: S608, as all SQL here is our own

import resource
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from benchmarks.comparison import Comparison, Show, medians, processor_seconds, sized
from benchmarks.visits import write_visits
from noisycount.catalog.catalog import Catalog
from noisycount.config.config import load_config
from noisycount.query.normal_form import parse_predicate
from noisycount.release.records import Records
from noisycount.tasks.opening import stated_settings

ROUNDS = 5
ROWS = sized(10**7, 10**4)
LIMIT = 1.5
JOINED = 2.2  # two bounds of one column need its rows beside values of another table: a join, and a blind one is slow
MEMORY = 4 * 2**30
VISITS = "(SELECT patient, {} FROM visits GROUP BY patient)"
PATIENTS = "(SELECT patient, {} FROM patients GROUP BY patient)"
QUESTIONS = {
    "patients.sex = 'F' and any(visits.ward = 'ICU')": (
        f"FROM {PATIENTS.format('bool_or(sex = $$F$$) AS f')} JOIN {VISITS.format('bool_or(ward = $$ICU$$) AS i')} "
        "USING (patient) WHERE f AND i"
    ),
    "patients.born < 1960 and count(visits.dose > 50) >= 3": (
        f"FROM {PATIENTS.format('bool_or(born < 1960) AS b')} JOIN "
        f"{VISITS.format('count(*) FILTER (dose > 50) AS n')} USING (patient) WHERE b AND n >= 3"
    ),
    "patients.sex = 'F' and none(visits.ward = 'ICU')": (
        f"FROM {PATIENTS.format('bool_or(sex = $$F$$) AS f')} LEFT JOIN "
        f"{VISITS.format('bool_or(ward = $$ICU$$) AS i')} USING (patient) WHERE f AND i IS NOT TRUE"
    ),
    "any(visits.day > first(patients.enrolled) + 300 days)": (
        f"FROM (SELECT patient FROM visits JOIN {PATIENTS.format('min(enrolled) AS e')} USING (patient) "
        "GROUP BY patient HAVING bool_or(day > e + 300))"
    ),
    "any(visits.day between first(patients.enrolled) and first(patients.enrolled) + 300 days)": (
        f"FROM (SELECT patient FROM visits JOIN {PATIENTS.format('min(enrolled) AS e')} USING (patient) "
        "GROUP BY patient HAVING bool_or(day BETWEEN e AND e + 300))"
    ),
}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write ten million visits of a million patients, and a row for each patient, as Parquet files."""
    folder = tmp_path_factory.mktemp("clinic")
    write_visits(folder / "visits.parquet", ROWS)
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT number AS patient, ['F', 'M'][1 + (hash(number, 'sex') % 2)::INTEGER] AS sex, "
            "(1920 + hash(number, 'born') % 90)::INTEGER AS born, "
            "DATE '2025-01-01' + (hash(number, 'enrolled') % 100)::INTEGER AS enrolled "
            f"FROM range({ROWS // 10}) AS numbers(number)) TO '{folder}/patients.parquet' (FORMAT parquet)"
        )
    (folder / "noisycount.toml").write_text(
        '[datasets.clinic]\nunit = "patient"\n[datasets.clinic.tables]\n'
        'patients = { source = "patients.parquet", one_row_a_unit = true }\nvisits = { source = "visits.parquet" }\n',
        encoding="utf-8",
    )
    yield folder
    for file in folder.glob("*.parquet"):
        file.unlink()


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_about_two_tables(show: Show, clinic: Path, question: str) -> None:
    """A question takes at most 1.5 times the hand-written SQL, with two bounds 2.2 times, and has the same count."""
    described = load_config(clinic / "noisycount.toml").dataset("clinic")
    records = Records.open(described.source, stated_settings(described), Catalog(folder=clinic / "data"))
    with records._source as source, duckdb.connect() as connection:  # noqa: SLF001
        predicate = parse_predicate(question, source.schema).normal
        for table in ("visits", "patients"):
            connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{clinic}/{table}.parquet')")
        query = f"SELECT count(*) {QUESTIONS[question]}"
        assert source.count([predicate]) == [connection.execute(query).fetchall()[0][0]]
        ours, theirs = medians(
            ROUNDS,
            lambda: processor_seconds(lambda: source.count([predicate])),
            lambda: processor_seconds(lambda: connection.execute(query).fetchall()),
        )
    limit = JOINED if "between" in question else LIMIT
    result = Comparison(f"persons by {question}", ours, "DuckDB, plain SQL", theirs, limit * theirs)
    show(result)
    assert result.kept
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 <= MEMORY
