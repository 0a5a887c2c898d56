"""Twelve cohort questions over a made-up hospital of several tables, with true counts written out by hand.

Each engine counts them: DuckDB reads files, PostgreSQL and Spark count their own tables. Tests of `engines/tables.py`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from noisycount.query.normal_form import parse_predicate
from tests.engines.test_several_tables import clustered_hospital, served_hospital
from tests.helpers.hospital import Hospital, open_source, random_hospital, write_hospital
from tests.helpers.postgresql import Server

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


@pytest.fixture(scope="module")
def hospital() -> Hospital:
    """Return a hospital of 320 persons, of whom some are in no table of patients."""
    return random_hospital("cohorts", 320)


def tables_of_persons(hospital: Hospital) -> dict[object, Tables]:
    """Return the rows of each person by table; a note belongs to each person with a visit of its number."""
    persons: dict[object, Tables] = defaultdict(lambda: defaultdict(list))
    for name, rows in hospital.tables.items():
        for row in rows:
            if "patient" in row:
                persons[row["patient"]][name].append(row)
    for tables in persons.values():
        visits = {visit["visit_id"] for visit in tables["visits"]} - {None}
        tables["notes"] = [note for note in hospital.tables["notes"] if note["visit_id"] in visits]
    return persons


def days(rows: Rows, **cells: object) -> list[date]:
    """Return the days of the rows with some cells."""
    return [row["day"] for row in rows if row["day"] and all(row[name] == cell for name, cell in cells.items())]


def is_treated_in_30_days(person: Tables) -> bool:
    """Return True if a B01 was prescribed in the 30 days from the first I21."""
    diagnosed = days(person["diagnoses"], code="I21")
    prescribed = days(person["drugs"], drug="B01")
    return bool(diagnosed) and any(0 <= (day - min(diagnosed)).days <= 30 for day in prescribed)


def has_long_stay(person: Tables) -> bool:
    """Return True if the last visit is more than 3 months of the calendar after the first."""
    visited = days(person["visits"])
    if not visited:
        return False
    first = min(visited)
    month = first.month + 3
    year, month = first.year + (month - 1) // 12, (month - 1) % 12 + 1
    last_of_month = (date(year + month // 12, month % 12 + 1, 1) - timedelta(1)).day
    return max(visited) > date(year, month, min(first.day, last_of_month))


def first_value(rows: Rows) -> float | None:
    """Return the smallest value of the rows of the first day that has one."""
    measured = [row for row in rows if row["day"]]
    first = min((row["day"] for row in measured), default=None)
    return min((row["value"] for row in measured if row["day"] == first and row["value"] is not None), default=None)


def cohorts(hospital: Hospital) -> Iterator[tuple[str, int]]:
    """Yield the questions with the numbers of persons."""
    persons = tables_of_persons(hospital).values()
    beds = {ward["ward_id"]: ward["beds"] or 0 for ward in hospital.tables["wards"]}
    intensive = {ward["ward_id"] for ward in hospital.tables["wards"] if ward["name"] == "ICU"}

    def number(condition: Callable[[Tables], object]) -> int:
        return sum(1 for person in persons if condition(person))

    yield (
        (
            "any(drugs.drug = 'B01' and drugs.day between first(diagnoses.day where diagnoses.code = 'I21') "
            "and first(diagnoses.day where diagnoses.code = 'I21') + 30 days)"
        ),
        number(is_treated_in_30_days),
    )
    yield (
        "count(visits.day between '2025-01-01' and '2025-12-31') >= 3",
        number(lambda p: sum(day.year == 2025 for day in days(p["visits"])) >= 3),
    )
    yield (
        "any(wards.name = 'ICU') and patients.born < 1960",
        number(
            lambda p: (
                any(visit["ward_id"] in intensive for visit in p["visits"])
                and any(row["born"] is not None and row["born"] < 1960 for row in p["patients"])
            )
        ),
    )
    yield "none(labs) and any(visits)", number(lambda p: not p["labs"] and p["visits"])
    yield (
        "every(visits.cost > 0) and count(visits) >= 2",
        number(lambda p: len(p["visits"]) >= 2 and all((v["cost"] or -1) > 0 for v in p["visits"])),
    )
    yield (
        "count(distinct visits.ward_id) >= 2",
        number(lambda p: len({visit["ward_id"] for visit in p["visits"]} - {None}) >= 2),
    )
    yield (
        "any(notes.word = 'fall') and none(drugs.drug = 'A10')",
        number(
            lambda p: (
                any(note["word"] == "fall" for note in p["notes"])
                and not any(row["drug"] == "A10" for row in p["drugs"])
            )
        ),
    )
    yield "last(visits.day) > first(visits.day) + 3 months", number(has_long_stay)
    yield "first(labs.value by labs.day) >= 6.5", number(lambda p: (first_value(p["labs"]) or 0) >= 6.5)
    yield (
        "sum(drugs.doses where drugs.drug = 'B01') > 8",
        number(lambda p: sum(row["doses"] or 0 for row in p["drugs"] if row["drug"] == "B01") > 8),
    )
    yield (
        "max(wards.beds) >= 40 and not any(diagnoses.code is null)",
        number(
            lambda p: (
                max((beds.get(visit["ward_id"], 0) for visit in p["visits"]), default=0) >= 40
                and all(row["code"] is not None for row in p["diagnoses"])
            )
        ),
    )
    yield (
        "none(patients) or patients.smoker and count(labs.test = 'CRP') = 0",
        number(
            lambda p: (
                not p["patients"]
                or (any(row["smoker"] for row in p["patients"]) and all(row["test"] != "CRP" for row in p["labs"]))
            )
        ),
    )


def require_true_counts(configuration: Path, hospital: Hospital) -> None:
    """Fail if a count differs from that of plain Python."""
    questions = dict(cohorts(hospital))
    assert len(questions) == 12
    assert min(questions.values()) > 0
    with open_source(configuration) as source:
        predicates = [parse_predicate(text, source.schema).normal for text in questions]
        assert dict(zip(questions, source.count(predicates), strict=True)) == questions


@pytest.mark.thorough
def test_twelve_cohorts_of_files(hospital: Hospital, tmp_path: Path) -> None:
    """DuckDB counts CSV files."""
    require_true_counts(write_hospital(hospital, tmp_path), hospital)


@pytest.mark.thorough
def test_twelve_cohorts_of_a_server(hospital: Hospital, postgresql: Server, tmp_path: Path) -> None:
    """PostgreSQL counts its own tables."""
    require_true_counts(served_hospital(postgresql, hospital, tmp_path), hospital)


@pytest.mark.thorough  # seconds, as Spark plans a statement of twelve questions
def test_twelve_cohorts_of_a_cluster(hospital: Hospital, spark_url: str, tmp_path: Path) -> None:
    """Spark counts Parquet files on its own machines."""
    require_true_counts(clustered_hospital(spark_url, hospital, tmp_path), hospital)
