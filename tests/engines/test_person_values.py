"""Counts of persons by all of their records: neighbours, questions about a made-up hospital, and moved dates."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import noisycount as nc
from noisycount.engines.conformance.predicates import random_person_predicates
from noisycount.engines.conformance.tables import random_person_tables
from noisycount.engines.memory import MemorySource
from noisycount.engines.opening import frame_engine
from noisycount.engines.person_values import with_extremes
from noisycount.query.grouping import CellQuestion
from noisycount.query.language import parse
from noisycount.query.person_values import EVERY_ROW, Function, PersonValue, Shifted
from noisycount.query.predicate import (
    And,
    Column,
    Comparison,
    Flag,
    Literal,
    Not,
    Operator,
    canonical_text,
    joined,
)
from noisycount.query.schema import Kind, Schema

PERSON = "person"
CELLS: Mapping[str, tuple[Kind, list[Any]]] = {
    "code": (Kind.TEXT, ["a", "b", None]),
    "day": (Kind.DATE, [date(2025, 1, 1), date(2025, 1, 31), date(2025, 3, 1), None]),
    "dose": (Kind.INTEGER, [0, 1, 2, 3, None]),
    "ill": (Kind.BOOLEAN, [True, False, None]),
}
KINDS = {PERSON: Kind.INTEGER, **{name: kind for name, (kind, _) in CELLS.items()}}
QUESTIONS = {name: kind for name, kind in KINDS.items() if name != PERSON}


def person_rows(chance: Random, person: int) -> list[dict[str, Any]]:
    """Return one to five records of a person."""
    return [
        {PERSON: person, **{name: chance.choice(cells) for name, (_, cells) in CELLS.items()}}
        for _ in range(chance.randint(1, 5))
    ]


def neighbours(chance: Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the records of some persons, and those of the same persons and one more."""
    others = [row for person in range(chance.randint(0, 6)) for row in person_rows(chance, person)]
    both = [*others, *person_rows(chance, 99)]
    chance.shuffle(both)
    return others, both


@pytest.mark.parametrize("number", [10, pytest.param(40, marks=pytest.mark.thorough)])
def test_one_person_moves_every_count_by_at_most_one(number: int) -> None:
    """A person who joins with all records raises no count by more than one, and lowers none by more than one."""
    chance, moved = Random(41), set()  # noqa: S311 - repeatable
    for table in range(number):
        questions = list(random_person_predicates(QUESTIONS, 20, f"neighbours {table}"))
        before, after = (MemorySource(rows, KINDS, PERSON).count(questions) for rows in neighbours(chance))
        moves = {new - old for old, new in zip(before, after, strict=True)}
        assert moves <= {0, 1}
        moved |= moves
    assert moved == {0, 1}


@pytest.mark.parametrize("number", [10, pytest.param(40, marks=pytest.mark.thorough)])
def test_one_person_moves_one_cell_of_a_table_of_values_of_persons(number: int) -> None:
    """Each person stands in one cell of such a table, without a contribution bound."""
    chance, moved = Random(42), set()  # noqa: S311 - repeatable
    for index in range(number):
        of_persons = (
            table
            for table in random_person_tables(QUESTIONS, 60, f"tables {index}")
            if isinstance(table, CellQuestion)
            and not any(part.column.name in QUESTIONS for part in table.keys.parts)
            and table.where is None
        )
        table = next(of_persons)
        before, after = (MemorySource(rows, KINDS, PERSON).count_cells(table)[0] for rows in neighbours(chance))
        move = int(np.abs(after - before).sum())
        assert move <= 1, table
        moved.add(move)
    assert moved == {0, 1}


def test_the_largest_value_decides_what_rows_would_decide() -> None:
    """A condition that compares rows with a value of the person, and its form without rows, count the same persons."""
    chance, rewritten = Random(43), 0  # noqa: S311 - repeatable
    rows = [Column("day", Kind.DATE), Column("dose", Kind.INTEGER)]
    for number in range(300):
        row = chance.choice(rows)
        ill = [Flag(Column("ill", Kind.BOOLEAN))][: chance.randint(0, 1)]
        function = chance.choice([Function.SMALLEST, Function.LARGEST])
        bound: Column = PersonValue.from_function(function, joined(And, ill) if ill else EVERY_ROW, row)
        if row.kind is Kind.DATE and chance.random() < 0.5:
            bound = Shifted.from_duration(bound, chance.choice([-30, 1, 30]), "day")
        sides = [row, bound]
        chance.shuffle(sides)
        code = Comparison(Column("code", Kind.TEXT), Operator.EQUAL, Literal(Kind.TEXT, "a"))
        conditions = [Comparison(sides[0], chance.choice([*Operator]), sides[1]), code][: chance.randint(1, 2)]
        some = Flag(PersonValue.from_function(Function.ANY, joined(And, conditions)))
        predicate = chance.choice([some, Not(some)])
        without_rows = with_extremes(predicate)
        rewritten += without_rows != predicate
        people, _ = neighbours(Random(number))  # noqa: S311 - repeatable
        one, other = MemorySource(people, KINDS, PERSON).count([predicate, without_rows])
        assert one == other, canonical_text(predicate)
    assert 150 < rewritten < 250  # all orders; equality and inequality stay


@pytest.mark.parametrize(
    ("condition", "equivalent"),
    [
        ("any(day > first(day where ill))", "last(day) is not null and first(day where ill) is not null and {}"),
        ("any(day > first(day where ill) and day < last(day))", None),
        ("every(day > first(day))", None),
        ("any(day = first(day))", None),
        ("any(dose > count(ill) or ill)", None),
    ],
)
def test_only_one_bound_of_a_column_is_decided_by_its_largest_value(condition: str, equivalent: str | None) -> None:
    """The other conditions of rows are left as they are."""
    predicate = parse(condition, Schema(QUESTIONS, unit=PERSON))
    expected = condition if equivalent is None else equivalent.format("last(day) > first(day where ill)")
    assert canonical_text(with_extremes(predicate)) == expected


@pytest.fixture(scope="module")
def hospital() -> list[dict[str, Any]]:
    """Made-up events of 300 patients in one long table, as REDCap exports them."""
    chance = Random(7)  # noqa: S311 - repeatable
    rows = []
    for patient in range(300):
        admitted = date(2025, 1, 1) + timedelta(chance.randrange(300))
        rows.append(
            {"patient": patient, "event": "baseline", "sex": chance.choice("FM"), "born": chance.randint(1930, 2010)}
        )
        for _ in range(chance.randint(0, 6)):
            day = admitted + timedelta(chance.randrange(60))
            rows.append({"patient": patient, "event": "visit", "ward": chance.choice(["ICU", "A", "B"]), "day": day})
        if chance.random() < 0.4:
            rows.append(
                {"patient": patient, "event": "diagnosis", "code": chance.choice(["I21", "E11"]), "day": admitted}
            )
        for _ in range(chance.randint(0, 3)):
            day = admitted + timedelta(chance.randrange(90))
            rows.append({"patient": patient, "event": "drug", "drug": chance.choice(["B01", "A10"]), "day": day})
        for _ in range(chance.randint(0, 3)):
            day = admitted + timedelta(chance.randrange(90))
            rows.append(
                {
                    "patient": patient,
                    "event": "lab",
                    "lab": chance.choice(["pos", "neg"]),
                    "day": day,
                    "value": chance.randint(1, 9),
                }
            )
    names = ("patient", "event", "sex", "born", "ward", "day", "code", "drug", "lab", "value")
    return [{name: row.get(name) for name in names} for row in rows]


def cohorts(rows: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Yield twelve questions, each with the number of patients that plain Python finds."""
    patients: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        patients[row["patient"]].append(row)
    everybody = list(patients.values())

    def days(patient: list[dict[str, Any]], name: str, value: str) -> list[date]:
        return [row["day"] for row in patient if row[name] == value]

    def number(condition: Any) -> int:  # noqa: ANN401 - a function of a patient
        return sum(1 for patient in everybody if condition(patient))

    yield (
        "any(sex = 'F') and any(lab = 'pos')",
        number(lambda p: any(r["sex"] == "F" for r in p) and bool(days(p, "lab", "pos"))),
    )
    yield (
        "any(ward = 'ICU') and none(lab = 'pos')",
        number(lambda p: bool(days(p, "ward", "ICU")) and not days(p, "lab", "pos")),
    )
    yield "count(event = 'visit') >= 3", number(lambda p: sum(r["event"] == "visit" for r in p) >= 3)
    yield (
        "count(event = 'visit' and day between '2025-03-01' and '2025-06-30') >= 2",
        number(
            lambda p: sum(r["event"] == "visit" and date(2025, 3, 1) <= r["day"] <= date(2025, 6, 30) for r in p) >= 2
        ),
    )
    yield "count(distinct ward) >= 2", number(lambda p: len({r["ward"] for r in p} - {None}) >= 2)
    yield (
        "any(code = 'I21') and min(born) <= 1959",
        number(lambda p: bool(days(p, "code", "I21")) and min(r["born"] for r in p if r["born"]) <= 1959),
    )
    yield (
        "any(drug = 'B01' and day between first(day where code = 'I21') and first(day where code = 'I21') + 30 days)",
        number(
            lambda p: any(
                min(days(p, "code", "I21")) <= day <= min(days(p, "code", "I21")) + timedelta(30)
                for day in days(p, "drug", "B01")
                if days(p, "code", "I21")
            )
        ),
    )
    yield (
        "last(day where event = 'visit') > first(day where event = 'visit') + 14 days",
        number(lambda p: bool(v := days(p, "event", "visit")) and max(v) > min(v) + timedelta(14)),
    )
    yield (
        "first(lab by day) = 'pos'",
        number(
            lambda p: (
                (labs := sorted((r["day"], r["lab"]) for r in p if r["event"] == "lab" or r["lab"])) != []
                and min(r["day"] for r in p if r["day"]) == labs[0][0]
                and labs[0][1] == "pos"
            )
        ),
    )
    yield (
        "sum(value where lab = 'pos') > 10",
        number(lambda p: sum(r["value"] or 0 for r in p if r["lab"] == "pos") > 10),
    )
    yield (
        "max(value) >= 9 and not any(drug = 'A10')",
        number(lambda p: max((r["value"] or 0 for r in p), default=0) >= 9 and not days(p, "drug", "A10")),
    )
    yield (
        "none(event = 'visit') or every(event <> 'drug')",
        number(lambda p: not any(r["event"] == "visit" for r in p) or all(r["event"] != "drug" for r in p)),
    )


def test_twelve_cohorts_of_a_made_up_hospital(hospital: list[dict[str, Any]]) -> None:
    """Cohort questions have the counts that plain Python finds, in DuckDB and in the reference engine."""
    import pyarrow as pa

    kinds = {
        "patient": Kind.INTEGER,
        **dict.fromkeys(("event", "sex", "ward", "code", "drug", "lab"), Kind.TEXT),
        **dict.fromkeys(("born", "value"), Kind.INTEGER),
        "day": Kind.DATE,
    }
    asked = list(cohorts(hospital))
    assert len(asked) == 12
    with frame_engine().open(pa.Table.from_pylist(hospital), unit="patient") as source:
        predicates = [parse(text, source.schema) for text, _ in asked]
        expected = [count for _, count in asked]
        assert min(expected) > 0
        assert source.count(predicates) == expected
        assert MemorySource(hospital, kinds, "patient").count(predicates) == expected


def test_a_desk_answers_questions_about_persons(hospital: list[dict[str, Any]], tmp_path: Path) -> None:
    """A question about persons costs one count; another wording is answered again without a charge."""
    import pandas as pd

    with nc.open_desk(
        pd.DataFrame(hospital), budget=20, unit="patient", ledger=tmp_path / "ledger.db", name="hospital"
    ) as desk:
        first = desk.release("any(sex = 'F') and count(event = 'visit') >= 3", epsilon=9)
        again = desk.release("count('visit' = event) >= 3 and any(sex = 'F')", epsilon=9)
        assert again.answer == first.answer
        assert first.remaining == again.remaining == 11
        true = sum(
            any(r["sex"] == "F" for r in hospital if r["patient"] == p)
            and sum(r["event"] == "visit" for r in hospital if r["patient"] == p) >= 3
            for p in range(300)
        )
        assert abs(first.answer - true) <= 3
        table = desk.release_table("count(event = 'visit'):0,1,3", epsilon=9, margins=("total",))
        assert abs(int(table.answers[1][0]) - 300) <= 6
        assert table.remaining == 2
        assert table.plan.groups == 1


def test_moved_dates_at_the_ends_of_the_calendar() -> None:
    """A date that leaves the years 1 to 9999 is missing, also where the records have infinite dates."""
    import duckdb

    days = ["0001-01-01", "9999-12-31", "2024-01-31", "2024-02-29", "infinity", "-infinity"]
    listed = ", ".join(f"({number}, DATE '{day}')" for number, day in enumerate(days))
    relation = duckdb.sql(f"SELECT * FROM (VALUES {listed}) AS days(person, day)")  # noqa: S608 - made here
    asked = {
        "first(day) + 1 month = '2024-02-29'": 1,
        "first(day) - 1 year = '2023-02-28'": 1,
        "first(day) + 1 day is null": 3,
        "first(day) - 1 month is null": 3,
        "first(day) + 10000 years is null": 6,
        "any(day - 31 days = '2023-12-31')": 1,
        "any(day + 1 month is null)": 3,
    }
    with frame_engine().open(relation.arrow(), unit="person") as source:
        assert source.count([parse(text, source.schema) for text in asked]) == list(asked.values())
