"""A question that is remembered is read as if it were not."""

import random

import pandas as pd
import polars as pl
import pytest

from noisycount.engines.truth import truth
from noisycount.errors import PredicateError
from noisycount.query.impossible import contradictions
from noisycount.query.language import parse
from noisycount.query.normal_form import _SURELY_WITHIN_BOUNDS, normal_form, parse_predicate
from noisycount.query.predicate import And, Column, Flag, Not, Or, Predicate, canonical_text
from noisycount.query.schema import Kind, Schema
from noisycount.query.syntax import tokens
from tests.helpers.predicate_grammar import DIRTY, dirty_records, predicate_text

RECORDS = 40
SCHEMA = {
    **dict.fromkeys(("age", "year"), Kind.INTEGER),
    **dict.fromkeys(["bmi", "weight"], Kind.REAL),
    "health": Kind.TEXT,
    "smoker": Kind.BOOLEAN,
}

WORDINGS = {
    "age >= 65": ["not age < 65", "65 <= age", "not not AGE >= 65", "age >= 65.0", "(age >= 65)"],
    "health = 'd'": ["health in ('d')", "not health <> 'd'", "health in ('d', 'd')"],
    "health <> 'd'": ["health not in ('d')", "not health = 'd'"],
    "health in ('a', 'd')": ["health = 'd' or health = 'a'", "health in ('d', 'a', 'd')"],
    "health not in ('a', 'd')": ["not (health = 'd' or health = 'a')", "health not in ('d', 'a')"],
    "age = 1": ["age between 1 and 1", "age >= 1 and age <= 1", "age in (1.0)"],
    "age <> 1": ["age not between 1 and 1", "age < 1 or age > 1"],
    "age between 1 and 5": ["age <= 5 and age >= 1", "not (age < 1 or age > 5)"],
    "age not between 1 and 5": ["age > 5 or age < 1", "not (5 >= age and age >= 1)"],
    "age = 1 and smoker": ["smoker and age = 1", "age = 1 and (smoker = true and age = 1)"],
    "age < 1 or not smoker": ["not (smoker and age >= 1)", "smoker = false or age < 1"],
    "bmi = 0.0": ["bmi = -0.0", "bmi in (0, -0.0)"],
    "age < year": ["year > age", "not year <= age"],
    "smoker": ["smoker <> false", "true = smoker", "smoker and true", "smoker or false"],
    "false": ["not true", "smoker and false", "false or not (true or age = 1)"],
    "not smoker": ["smoker = false", "not smoker = true", "smoker <> true"],
    "age is not null": ["not age is null"],
    "number(health) >= 5.0": ["5 <= NUMBER(Health)", "not number (health) < 5.0", "number(number(health)) >= 5"],
    "date(health) = '2024-01-31'": [
        "date(health) in ('2024-01-31')",
        "date((health)) between '2024-01-31' and '2024-01-31'",
    ],
    "age = 3": ["number(age) = 3"],
}
DAYS = {
    "seen < '2024-02-01 00:00:00' and seen >= '2024-01-01 00:00:00'": [
        "seen between '2024-01-01' and '2024-01-31'",
        "seen >= '2024-01-01' and seen <= '2024-01-31'",
        "seen >= '2024-01-01' and seen < '2024-02-01'",
        "not (seen < '2024-01-01' or '2024-01-31' < seen)",
        "not seen not between '2024-01-01' and '2024-01-31'",
    ],
    "seen < '2024-02-01 00:00:00' and seen >= '2024-01-31 00:00:00'": ["seen = '2024-01-31'", "seen in ('2024-01-31')"],
    "seen < '2024-01-31 00:00:00' or seen >= '2024-02-01 00:00:00'": [
        "seen <> '2024-01-31'",
        "seen not in ('2024-01-31')",
    ],
    "seen >= '2024-02-01 00:00:00'": ["seen > '2024-01-31'", "not seen <= '2024-01-31'"],
    "seen between '2024-01-01 00:00:00' and '2024-01-31 00:00:00'": [
        "seen between '2024-01-01' and '2024-01-31 00:00'",
        "seen >= '2024-01-01' and seen <= '2024-01-31T00:00:00'",
    ],
    "seen <= '9999-12-31 23:59:59.999999'": ["seen <= '9999-12-31'"],
    "seen > '9999-12-31 23:59:59.999999'": ["seen > '9999-12-31'"],
}


@pytest.mark.parametrize(("normal", "wording"), [(normal, each) for normal in DAYS for each in DAYS[normal]])
def test_a_day_has_the_normal_form_of_its_moments(normal: str, wording: str) -> None:
    """No text in a ledger has a day alone beside times: what one means never changes."""
    form = normal_form(parse(wording, {"seen": Kind.TIMESTAMP}))
    assert canonical_text(form) == normal
    assert parse(normal, {"seen": Kind.TIMESTAMP}) == form


@pytest.mark.parametrize(("normal", "wording"), [(normal, each) for normal in WORDINGS for each in WORDINGS[normal]])
def test_equivalent_wordings_have_one_normal_form(normal: str, wording: str) -> None:
    """Negations, order, repetitions, lists and ranges of one value make no other question."""
    assert canonical_text(normal_form(parse(wording, SCHEMA))) == normal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("age <> 1 or age is null", "age <> 1"),
        ("health = '1'", "health = '01'"),
        ("age > 9007199254740993", "age > 9007199254740992.0"),
        ("age in (1, 2) and smoker", "age in (1, 2) or smoker"),
        ("smoker or not smoker", "true"),
    ],
)
def test_different_questions_stay_different(one: str, other: str) -> None:
    """Questions that differ for some record, also a missing one, have two normal forms."""
    assert normal_form(parse(one, SCHEMA)) != normal_form(parse(other, SCHEMA))


@pytest.mark.thorough
@pytest.mark.parametrize("size", [250, pytest.param(1_000, marks=pytest.mark.thorough)])
def test_the_normal_form_is_true_of_the_same_records(size: int) -> None:
    """For random predicates and dirty records it is true, false and unknown alike.

    Its normal form is itself, its text reads back to it, and the negation of a negation, the
    operands in another order and De Morgan's laws give the same.
    """
    chance = random.Random(11)  # noqa: S311 - repeatable, not secret
    records = [{name: record.get(name) for name in DIRTY} for record in dirty_records(RECORDS, chance)]
    for predicate in predicates(size, chance):
        normal = normal_form(predicate)
        for record in records:
            assert truth(normal, record) is truth(predicate, record), canonical_text(predicate)
        assert normal_form(normal) == normal
        assert parse(canonical_text(normal), DIRTY) == normal
        assert all(normal_form(other) == normal for other in rewordings(predicate, chance))


def predicates(size: int, chance: random.Random) -> list[Predicate]:
    """So many random predicates in the language."""
    found: list[Predicate] = []
    while len(found) < size:
        try:
            found.append(parse(predicate_text(DIRTY, chance, odd=0), DIRTY))
        except PredicateError:
            continue
    return found


def rewordings(predicate: Predicate, chance: random.Random) -> list[Predicate]:
    """Predicates that say the same in other words."""
    found: list[Predicate] = [Not(Not(predicate))]
    if isinstance(predicate, And | Or):
        mixed = list(predicate.operands)
        chance.shuffle(mixed)
        found.append(type(predicate)((*mixed, mixed[0])))
        other = Or if isinstance(predicate, And) else And
        negated = [Not(part) for part in mixed]
        found.append(Not(other(tuple(negated))))
    return found


def test_a_question_whose_normal_form_is_too_long_stays_as_it_is() -> None:
    """A question in bounds is never refused for its normal form, and reads back."""
    schema = {f"c{number}": Kind.INTEGER for number in range(110)}
    missing = " and ".join(f"{name} is null" for name in schema)
    predicate = parse(f"not ({missing})", schema)
    assert normal_form(predicate) == predicate
    shorter = parse(f"not ({missing.partition(' and c90')[0]})", schema)
    assert normal_form(shorter) != shorter


SCHEMA_READING = Schema({"age": Kind.REAL, "Town": Kind.TEXT})


@pytest.mark.parametrize("text", ["age >= 0.0", "age >= -0.0", "age >= 0", "AGE >= 0", "not town = 'x'", "town = 'X'"])
def test_a_text_is_read_as_it_stands(text: str) -> None:
    """However often, and whatever like it was read before."""
    asked = parse(text, SCHEMA_READING)
    for _ in range(3):
        found = parse_predicate(text, SCHEMA_READING)
        assert repr((found.asked, found.normal)) == repr((asked, normal_form(asked)))


def test_another_schema_is_another_question() -> None:
    """Also one that compares equal: what else exists decides which refusal is told."""
    other = Schema(SCHEMA_READING.kinds, {"scan": "blob"})
    assert other == SCHEMA_READING
    assert "integer" in repr(parse_predicate("age >= 1", Schema({"age": Kind.INTEGER})).normal).lower()
    assert "real" in repr(parse_predicate("age >= 1", SCHEMA_READING).normal).lower()
    with pytest.raises(PredicateError, match="scan") as told:
        parse_predicate("scan = 1", other)
    with pytest.raises(PredicateError) as plain:
        parse_predicate("scan = 1", SCHEMA_READING)
    assert str(told.value) != str(plain.value)


def test_a_schema_that_is_no_schema_is_made_one() -> None:
    """A mapping of names to kinds is enough."""
    assert canonical_text(parse_predicate("age < 3", {"age": Kind.INTEGER}).normal) == "age < 3"


COLUMNS = {
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
    return [canonical_text(part) for part in contradictions(parse_predicate(where, COLUMNS).normal)]


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
        ("born > '2026-01-31' and born < '2026-02-01'", "born < '2026-02-01' and born > '2026-01-31'"),
        ("seen between '2026-02-01' and '2026-01-31'", "seen between '2026-02-01 00:00:00' and '2026-01-31 00:00:00'"),
        (
            "seen > '2026-01-31' and seen < '2026-02-01'",
            "seen < '2026-02-01 00:00:00' and seen >= '2026-02-01 00:00:00'",
        ),
        ("number(health) > 3 and number(health) < 3", "number(health) < 3.0 and number(health) > 3.0"),
        ("number(health) = 3 and number(health) is null", "number(health) = 3.0 and number(health) is null"),
        (
            "date(health) > '2026-01-31' and date(health) < '2026-02-01'",
            "date(health) < '2026-02-01' and date(health) > '2026-01-31'",
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
        "seen >= '2026-01-31' and seen < '2026-02-01'",
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


@pytest.mark.parametrize("size", [150, pytest.param(1_500, marks=pytest.mark.thorough)])
def test_a_contradiction_is_true_of_no_dirty_record(size: int) -> None:
    """For random predicates, of which enough hold one."""
    chance = random.Random(12)  # noqa: S311 - repeatable, not secret
    records = [{name: record.get(name) for name in DIRTY} for record in dirty_records(200, chance)]
    found = [
        part
        for predicate in predicates(size, chance)
        for part in contradictions(parse_predicate(canonical_text(predicate), DIRTY).normal)
        if canonical_text(part) != "false"
    ]
    assert len(found) > size // 100
    for part in found:
        assert not any(truth(part, record) for record in records), canonical_text(part)


@pytest.mark.parametrize("asked", [pl.col("age") == 30, pd.Series([30]) == 30, None, 7])
def test_a_question_is_a_text(asked: object) -> None:
    """An expression of a frame is refused in one line that says what a question is; its rows are not shown."""
    with pytest.raises(
        PredicateError, match=r"^a question must be a text, such as \"town = 'Bern' and .*by the names of"
    ):
        parse_predicate(asked, {"age": Kind.INTEGER})  # type: ignore[arg-type]


def test_a_short_normal_form_is_within_the_bounds_of_the_language() -> None:
    """The deepest nesting that fits into the characters which are not read again is read without a refusal."""
    names = [Flag(Column(name, Kind.BOOLEAN)) for name in "ab"]
    form: Predicate = names[0]
    for level in range(_SURELY_WITHIN_BOUNDS):
        deeper = (And, Or)[level % 2]((Not(names[level % 2]), form))
        if len(canonical_text(deeper)) > _SURELY_WITHIN_BOUNDS:
            break
        form = deeper
    assert tokens(canonical_text(form))
    assert level > 5
