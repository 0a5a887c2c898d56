"""Several tables of the same persons on each engine: counts equal those of plain Python.

Tests of `engines/tables.py`, `engines/table_facts.py`, `catalog/tables.py`, `catalog/served.py`,
 `engines/duckdb/tables.py`, `engines/sql/tables.py` and `engines/spark/tables.py`.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from noisycount.catalog.sources import LazySource
from noisycount.query.predicate import Predicate
from noisycount.query.schema import Kind
from tests.helpers.hospital import (
    COLUMNS,
    CONFIGURATION,
    Hospital,
    open_source,
    random_hospital,
    random_questions,
    true_counts,
    write_hospital,
    write_parquet,
)
from tests.helpers.postgresql import Server
from tests.helpers.server_tables import table_of

BATCH = 20
LINKS = {
    "patients": ", one_row_a_unit = true",
    "notes": ', through = "visits.visit_id"',
    "wards": ', public = true, on = "visits.ward_id"',
}


def counted(source: LazySource, predicates: Sequence[Predicate], at_once: int = BATCH) -> list[int]:
    """Return the counts of predicates, some at once."""
    batches = (predicates[start : start + at_once] for start in range(0, len(predicates), at_once))
    return [count for batch in batches for count in source.count(batch)]


@pytest.mark.parametrize("number", [40, pytest.param(600, marks=pytest.mark.thorough)])
def test_random_questions_of_files_have_their_true_counts(tmp_path: Path, number: int) -> None:
    """Questions over linked tables, look-ups, repeated rows and missing values are counted as plain Python does."""
    hospital = random_hospital(number, 20)
    predicates = list(random_questions(f"tables {number}", number))
    with open_source(write_hospital(hospital, tmp_path)) as source:
        counts = counted(source, predicates)
    assert counts == true_counts(hospital, predicates)
    assert len({*counts}) > 5


def served_hospital(postgresql: Server, hospital: Hospital, folder: Path) -> Path:
    """Write the tables to a server, and a configuration that names them; return its path."""
    lines = []
    for name, rows in hospital.tables.items():
        unit = {} if name in {"notes", "wards"} else {"patient": Kind.TEXT}
        place = table_of(postgresql, rows, {**unit, **COLUMNS[name]})
        lines.append(f'{name} = {{ source = "{place.url}#{place.table}"{LINKS.get(name, "")} }}')
    path = folder / "noisycount.toml"
    head = CONFIGURATION.partition("patients =")[0]
    path.write_text(head + "\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("number", [20, pytest.param(400, marks=pytest.mark.thorough)])
def test_random_questions_of_a_server_have_their_true_counts(postgresql: Server, tmp_path: Path, number: int) -> None:
    """PostgreSQL joins and counts the same tables, and no row leaves it."""
    hospital = random_hospital(f"server {number}", 20)
    predicates = list(random_questions(f"server {number}", number))
    with open_source(served_hospital(postgresql, hospital, tmp_path)) as source:
        counts = counted(source, predicates)
    assert counts == true_counts(hospital, predicates)


def clustered_hospital(spark_url: str, hospital: Hospital, folder: Path) -> Path:
    """Write the tables as Parquet files, and a configuration with which Spark reads them; return its path."""
    write_parquet(hospital, folder)
    lines = [
        f'{name} = {{ source = "{spark_url}#{folder}/{name}.parquet"{LINKS.get(name, "")} }}'
        for name in hospital.tables
    ]
    path = folder / "noisycount.toml"
    path.write_text(CONFIGURATION.partition("patients =")[0] + "\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.thorough  # seconds, as Spark plans each statement anew
def test_random_questions_of_a_cluster_have_their_true_counts(spark_url: str, tmp_path: Path) -> None:
    """Spark joins and counts the same tables."""
    hospital = random_hospital("cluster", 20)
    predicates = list(random_questions("cluster", 6))
    with open_source(clustered_hospital(spark_url, hospital, tmp_path)) as source:
        counts = counted(source, predicates, 2)
    assert counts == true_counts(hospital, predicates)
