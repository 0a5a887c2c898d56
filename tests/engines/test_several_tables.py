"""Several tables of the same persons on each engine: counts equal those of plain Python.

Tests of `engines/tables.py`, `engines/table_facts.py`, `catalog/tables.py`, `catalog/served.py`,
 `engines/duckdb/tables.py`, `engines/sql/tables.py` and `engines/spark/tables.py`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from noisycount.catalog.sources import LazySource
from noisycount.query.normal_form import parse_predicate
from noisycount.query.predicate import Predicate
from noisycount.query.schema import Kind
from tests.helpers.hospital import (
    COLUMNS,
    CONFIGURATION,
    Hospital,
    Row,
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


ADMISSIONS: Sequence[Row] = [
    {"patient": "p1", "admission": 1, "clinic": "A"},
    {"patient": "p1", "admission": 2, "clinic": "B"},
    {"patient": "p2", "admission": 3, "clinic": "A"},
    {"patient": "p3", "admission": 3, "clinic": "B"},  # an admission of two persons
    {"patient": "p4", "admission": None, "clinic": "A"},
]
VISITS: Sequence[Row] = [
    {"admission": 1, "visit": 10, "ward": "ICU"},
    {"admission": 2, "visit": 11, "ward": "E1"},
    {"admission": 3, "visit": 12, "ward": "ICU"},
    {"admission": 9, "visit": 13, "ward": "ICU"},  # leads to no admission
    {"admission": None, "visit": 14, "ward": "E1"},
    {"admission": 2, "visit": 10, "ward": "E1"},  # a second visit with one number
]
NOTES: Sequence[Row] = [
    {"visit": 10, "word": "fall"},
    {"visit": 12, "word": "fall"},
    {"visit": 12, "word": "pain"},
    {"visit": 13, "word": "home"},
    {"visit": 11, "word": "home"},
    {"visit": None, "word": "fall"},
]
CHAIN = {
    "any(notes.word = 'fall')": 3,  # p1 by visit 10, p2 and p3 by visit 12
    "any(notes.word = 'pain')": 2,
    "any(notes.word = 'home')": 1,  # visit 13 leads to nobody
    "count(notes) >= 2": 3,  # p1 has visit 10 twice, and its note once
    "count(notes) = 3": 0,
    "none(notes)": 1,  # p4, whose admission has no number
    "any(visits.ward = 'ICU') and none(visits.ward = 'E1')": 2,
    "count(visits) = 3": 1,
    "any(notes.word = 'fall' and notes.visit > min(admissions.admission))": 3,
    "count(notes.word = 'pain' and notes.visit > count(visits)) = 0": 2,
    "every(notes.visit > min(admissions.admission))": 4,
    "notes.word = 'fall'": 3,
}
"""Questions about notes of visits of admissions, each with the number of persons of whom it is true."""


def chain(folder: Path, places: Mapping[str, str]) -> Path:
    """Write a configuration of notes that are linked to visits, which are linked to admissions; return its path."""
    links = {"visits": ', through = "admissions.admission"', "notes": ', through = "visits.visit"'}
    tables = [f'{name} = {{ source = "{place}"{links.get(name, "")} }}\n' for name, place in places.items()]
    path = folder / "noisycount.toml"
    path.write_text('[datasets.clinic]\nunit = "patient"\n[datasets.clinic.tables]\n' + "".join(tables), "utf-8")
    return path


def write_chain(folder: Path) -> dict[str, str]:
    """Write the tables of the chain as Parquet files; return their paths by their names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, rows in {"admissions": ADMISSIONS, "visits": VISITS, "notes": NOTES}.items():
        pq.write_table(pa.Table.from_pylist(list(rows)), folder / f"{name}.parquet")
    return {name: f"{folder}/{name}.parquet" for name in ("admissions", "visits", "notes")}


def require_chain(configuration: Path, questions: Sequence[str]) -> None:
    """Fail if a question about the chain has another count."""
    with open_source(configuration) as source:
        counts = source.count([parse_predicate(text, source.schema).normal for text in questions])
    assert dict(zip(questions, counts, strict=True)) == {text: CHAIN[text] for text in questions}


def test_files_that_are_linked_through_a_linked_file_have_its_persons(tmp_path: Path) -> None:
    """A note belongs to each person of the admissions of its visit, and counts once for each."""
    require_chain(chain(tmp_path, write_chain(tmp_path)), [*CHAIN])


def test_tables_of_a_server_that_are_linked_through_a_linked_table_have_its_persons(
    postgresql: Server, tmp_path: Path
) -> None:
    """PostgreSQL follows both links too."""
    kinds = {"patient": Kind.TEXT, "admission": Kind.INTEGER, "visit": Kind.INTEGER}
    tables = {"admissions": ADMISSIONS, "visits": VISITS, "notes": NOTES}
    places = {
        name: table_of(postgresql, rows, {column: kinds.get(column, Kind.TEXT) for column in rows[0]})
        for name, rows in tables.items()
    }
    require_chain(chain(tmp_path, {name: f"{place.url}#{place.table}" for name, place in places.items()}), [*CHAIN])


@pytest.mark.thorough  # seconds, as Spark plans each statement anew
def test_tables_of_a_cluster_that_are_linked_through_a_linked_table_have_its_persons(
    spark_url: str, tmp_path: Path
) -> None:
    """Spark follows both links too."""
    places = {name: f"{spark_url}#{path}" for name, path in write_chain(tmp_path).items()}
    require_chain(chain(tmp_path, places), ["count(notes) >= 2", "none(notes)", [*CHAIN][8]])
