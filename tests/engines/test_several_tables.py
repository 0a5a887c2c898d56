"""Several tables of the same persons on each engine: counts equal those of plain Python.

Tests of `engines/tables.py`, `engines/table_facts.py`, `catalog/tables.py`, `catalog/served.py`,
 `engines/duckdb/tables.py`, `engines/sql/tables.py` and `engines/spark/tables.py`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

import pytest

from noisycount.catalog.sources import LazySource
from noisycount.query.language import parse
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


@pytest.mark.thorough  # seconds, as Spark plans each statement anew
def test_random_questions_of_a_cluster_have_their_true_counts(spark_url: str, tmp_path: Path) -> None:
    """Spark joins and counts the same tables."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {Kind.INTEGER: pa.int64(), Kind.REAL: pa.float64(), Kind.TEXT: pa.string()}
    types |= {Kind.BOOLEAN: pa.bool_(), Kind.DATE: pa.date32()}
    hospital = random_hospital("cluster", 20)
    lines = []
    for name, rows in hospital.tables.items():
        unit = {} if name in {"notes", "wards"} else {"patient": Kind.TEXT}
        fields = pa.schema([(column, types[kind]) for column, kind in {**unit, **COLUMNS[name]}.items()])
        pq.write_table(pa.Table.from_pylist(rows, schema=fields), tmp_path / f"{name}.parquet")
        lines.append(f'{name} = {{ source = "{spark_url}#{tmp_path}/{name}.parquet"{LINKS.get(name, "")} }}')
    path = tmp_path / "noisycount.toml"
    path.write_text(CONFIGURATION.partition("patients =")[0] + "\n".join(lines), encoding="utf-8")
    predicates = list(random_questions("cluster", 6))
    with open_source(path) as source:
        counts = counted(source, predicates, 2)
    assert counts == true_counts(hospital, predicates)


def cohorts(hospital: Hospital) -> Iterator[tuple[str, Callable[[object], bool]]]:
    """Yield twelve cohorts as questions of the language, each with its condition of a patient in plain Python."""
    visits, labs, drugs = (of_patients(hospital, name) for name in ("visits", "labs", "drugs"))
    patients, diagnoses = (of_patients(hospital, name) for name in ("patients", "diagnoses"))
    infarct = "first(diagnoses.day where diagnoses.code = 'I21')"
    falls = {note["visit_id"] for note in hospital.tables["notes"] if note["word"] == "fall"} - {None}

    def is_woman(patient: object) -> bool:
        return any(row["sex"] == "F" for row in patients[patient])

    def days(rows: list[Row]) -> list[date]:
        return sorted(row["day"] for row in rows if row["day"] is not None)

    def infarcts(patient: object) -> list[date]:
        return days([row for row in diagnoses[patient] if row["code"] == "I21"])

    def first_tests(patient: object) -> list[str]:
        first = days(labs[patient])[:1]
        return sorted(str(row["test"]) for row in labs[patient] if row["day"] in first and row["test"] is not None)

    yield (
        "patients.sex = 'F' and any(labs.test = 'CRP')",
        lambda p: is_woman(p) and any(row["test"] == "CRP" for row in labs[p]),
    )
    yield (
        "any(wards.name = 'ICU') and none(labs.test = 'HbA1c')",
        lambda p: (
            any(row["ward_id"] == "W1" for row in visits[p]) and not any(row["test"] == "HbA1c" for row in labs[p])
        ),
    )
    yield "count(visits) >= 3", lambda p: len(visits[p]) >= 3
    yield (
        "count(visits.day between '2025-03-01' and '2025-06-30') >= 2",
        lambda p: sum(date(2025, 3, 1) <= day <= date(2025, 6, 30) for day in days(visits[p])) >= 2,
    )
    yield "count(distinct visits.ward_id) >= 2", lambda p: len({row["ward_id"] for row in visits[p]} - {None}) >= 2
    yield (
        "any(diagnoses.code = 'I21') and patients.born <= 1959",
        lambda p: (
            any(row["code"] == "I21" for row in diagnoses[p])
            and any(row["born"] is not None and row["born"] <= 1959 for row in patients[p])
        ),
    )
    yield (
        f"any(drugs.drug = 'B01' and drugs.day between {infarct} and {infarct} + 90 days)",
        lambda p: any(
            infarcts(p)[0] <= day <= infarcts(p)[0] + timedelta(90)
            for day in days([row for row in drugs[p] if row["drug"] == "B01"])
            if infarcts(p)
        ),
    )
    yield (
        "last(visits.day) > first(visits.day) + 14 days",
        lambda p: bool(days(visits[p])) and days(visits[p])[-1] > days(visits[p])[0] + timedelta(14),
    )
    yield "first(labs.test by labs.day) = 'CRP'", lambda p: first_tests(p)[:1] == ["CRP"]
    yield (
        "sum(drugs.doses where drugs.drug = 'B01') > 10",
        lambda p: sum(row["doses"] or 0 for row in drugs[p] if row["drug"] == "B01") > 10,
    )
    yield (
        "max(labs.value) >= 9 and none(drugs.drug = 'A10')",
        lambda p: any(row["value"] == 9.25 for row in labs[p]) and not any(row["drug"] == "A10" for row in drugs[p]),
    )
    yield (
        "patients.smoker and any(notes.word = 'fall')",
        lambda p: any(row["smoker"] for row in patients[p]) and any(row["visit_id"] in falls for row in visits[p]),
    )


def of_patients(hospital: Hospital, table: str) -> dict[object, list[Row]]:
    """Return the rows of a table by patient."""
    rows: defaultdict[object, list[Row]] = defaultdict(list)
    for row in hospital.tables[table]:
        rows[row["patient"]].append(row)
    return rows


@pytest.mark.thorough  # opens seven files
def test_twelve_cohorts_have_their_true_counts(tmp_path: Path) -> None:
    """Cohorts, written as the page *Count persons across tables* explains, have the counts of plain Python."""
    hospital = random_hospital("cohorts", 80)
    asked = list(cohorts(hospital))
    everybody = hospital.rows_of_persons()
    expected = [sum(map(condition, everybody)) for _, condition in asked]
    with open_source(write_hospital(hospital, tmp_path)) as source:
        counts = source.count([parse(text, source.schema) for text, _ in asked])
    assert (len(asked), min(expected) > 0, counts) == (12, True, expected)
