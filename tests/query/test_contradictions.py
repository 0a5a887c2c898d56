import random

import pytest

from noisycount.engines.truth import truth
from noisycount.query.contradictions import contradictions
from noisycount.query.normal_form import read
from noisycount.query.predicate import canonical_text
from noisycount.query.schema import Kind
from tests.query.grammar import DIRTY, dirty_records
from tests.query.test_normal_form import predicates

SCHEMA = {
    **dict.fromkeys(("age", "year"), Kind.INTEGER),
    "bmi": Kind.REAL,
    "health": Kind.TEXT,
    "smoker": Kind.BOOLEAN,
    "born": Kind.DATE,
    "seen": Kind.TIMESTAMP,
}
HUGE = 2**53


def told(where: str) -> list[str]:
    """The contradictions in a question, as texts."""
    return [canonical_text(part) for part in contradictions(read(where, SCHEMA).normal)]


@pytest.mark.parametrize(
    ("where", "part"),
    [
        ("age between 64 and 1", "age between 64 and 1"),
        ("smoker and age between 64 and 1", "age between 64 and 1"),
        ("smoker or age between 64 and 1", "age between 64 and 1"),
        ("not (smoker or age > 3 or age <= 4)", "age <= 3 and age > 4"),
        ("age > 5 and age < 3", "age < 3 and age > 5"),
        ("age > 5 and age < 3 and age <> 4 and smoker", "age < 3 and age > 5"),
        ("age > 3 and age < 4", "age < 4 and age > 3"),
        ("age > 3.2 and age < 3.8", "age < 3.8 and age > 3.2"),
        ("age = 3.5", "age = 3.5"),
        ("age in (1.5, 2.5)", "age in (1.5, 2.5)"),
        ("age in (1, 2) and age > 2", "age > 2 and age in (1, 2)"),
        ("age = 3 and age not between 1 and 5 and year = 1", "age = 3 and age not between 1 and 5"),
        ("age between 1 and 5 and age = 6", "age = 6 and age between 1 and 5"),
        ("age = 3 and age <> 3", "age <> 3 and age = 3"),
        ("bmi > 3 and bmi < 3", "bmi < 3.0 and bmi > 3.0"),
        ("bmi >= 3 and bmi < 3", "bmi < 3.0 and bmi >= 3.0"),
        ("health = 'poor' and health = 'good'", "health = 'good' and health = 'poor'"),
        ("health = 'a' and health in ('b', 'c')", "health = 'a' and health in ('b', 'c')"),
        ("health = 'a' and health not in ('a', 'c')", "health = 'a' and health not in ('a', 'c')"),
        ("health > 'b' and health < 'a'", "health < 'a' and health > 'b'"),
        ("health like 'a%' and health not like 'a%'", "health like 'a%' and health not like 'a%'"),
        ("smoker and not smoker", "not smoker and smoker"),
        ("smoker is null and smoker", "smoker and smoker is null"),
        ("age is null and age is not null", "age is not null and age is null"),
        (
            "born > '2026-01-31' and born < '2026-02-01'",
            "born < '2026-02-01' and born > '2026-01-31'",
        ),
        (
            "seen between '2026-02-01' and '2026-01-31'",
            "seen between '2026-02-01 00:00:00' and '2026-01-31 00:00:00'",
        ),
        ("age < year and age >= year", "age < year and age >= year"),
        ("age < year and year < age", "age < year and age > year"),
        ("age <> age", "age <> age"),
        ("age > year and age <> year and age <= year", "age <= year and age > year"),
        ("false", "false"),
    ],
)
def test_what_no_record_can_satisfy_is_found(where: str, part: str) -> None:
    """As the smallest part that says so, whatever stands beside it."""
    assert told(where) == [part]


@pytest.mark.parametrize(
    "where",
    [
        "age between 1 and 64",
        "age not between 64 and 1",
        "age between 5 and 5",
        "age > 3 and age < 5",
        "age > 3.2 and age < 4.8",
        "bmi > 3 and bmi < 4",
        "age > 5 or age < 3",
        "age > 5 and year < 3",
        "age <= year and age >= year",
        "age < year and year > age",
        "age = age",
        "age in (1, 2) and age > 1",
        "health like 'a%' and health not like 'b%'",
        "health like 'a' and health = 'b'",
        "seen > '2026-01-31' and seen < '2026-02-01'",
        f"age >= {HUGE + 4}.0 and age <= {HUGE + 3}",  # as reals both ends are one number
        f"age = {HUGE}.0 and age = {HUGE + 1}",
        f"age in ({HUGE}.0, 1.5) and age = {HUGE + 1}",
        "true",
    ],
)
def test_nothing_is_told_of_what_some_record_can_satisfy(where: str) -> None:
    """Nor of what only its patterns make impossible."""
    assert told(where) == []


def test_each_contradiction_is_told_once() -> None:
    """Of every column that has one, in the order of the normal form."""
    where = "age = 1 and age = 2 and health = 'a' and health = 'b' and (smoker or bmi <> bmi)"
    assert told(where) == ["bmi <> bmi", "age = 1 and age = 2", "health = 'a' and health = 'b'"]


@pytest.mark.parametrize("size", [500, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_a_contradiction_is_true_of_no_dirty_record(size: int) -> None:
    """For random predicates, of which enough hold one."""
    chance = random.Random(12)  # noqa: S311 - repeatable, not secret
    records = [{name: record.get(name) for name in DIRTY} for record in dirty_records(200, chance)]
    found = [
        part
        for predicate in predicates(size, chance)
        for part in contradictions(read(canonical_text(predicate), DIRTY).normal)
        if canonical_text(part) != "false"
    ]
    assert len(found) > size // 100
    for part in found:
        assert not any(truth(part, record) for record in records), canonical_text(part)
