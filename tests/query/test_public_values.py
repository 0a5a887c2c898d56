"""Refusals from public values of columns are never a guess, and no other question is refused."""

import random
from datetime import date, datetime, time
from time import process_time
from typing import Any

import pytest

from noisycount.engines.truth import truth
from noisycount.errors import ConfigError
from noisycount.query.close_names import did_you_mean
from noisycount.query.grouping import resolve_group_by
from noisycount.query.impossible import contradictions, impossible_hints, non_public_values
from noisycount.query.normal_form import parse_predicate
from noisycount.query.predicate import canonical_text
from noisycount.query.public_values import MOST_VALUES, impossible_key_errors, public_keys, public_values
from noisycount.query.schema import Kind, Schema
from noisycount.query.table import key_set, key_set_to_json

KINDS = {
    "town": Kind.TEXT,
    "age": Kind.INTEGER,
    "pay": Kind.REAL,
    "day": Kind.DATE,
    "seen": Kind.TIMESTAMP,
    "smoker": Kind.BOOLEAN,
    "code": Kind.TEXT,
}
STATED: dict[str, Any] = {
    "town": ["Bern", "Köln", "Düsseldorf"],
    "age": "0 to 120",
    "pay": "0 to 1.5",
    "day": "2026-02 to 2026-03",
    "seen": "2026",
    "code": ["5", "10", "n/a"],
}
PUBLIC = public_values(STATED, KINDS)
TOWNS = STATED["town"]


def hints(where: str) -> list[str]:
    """Return the hints of a question."""
    return impossible_hints([parse_predicate(where, KINDS).normal], PUBLIC)


MISSING = {"town": {"NA", "k.A."}, "age": {-99.0}, "day": {date(1900, 1, 1)}}


@pytest.mark.parametrize(
    ("where", "hint"),
    [
        ("town = 'NA'", "'NA' stands for a missing value of town: ask with town is null"),
        ("smoker or town in ('Bern', 'k.A.')", "'k.A.' stands for a missing value of town: ask with town is null"),
        ("age = -99", "-99 stands for a missing value of age: ask with age is null"),
        ("day = '1900-01-01'", "1900-01-01 stands for a missing value of day: ask with day is null"),
    ],
)
def test_a_word_for_a_missing_value_matches_no_record(where: str, hint: str) -> None:
    """The hint names the condition that finds the missing values."""
    assert impossible_hints([parse_predicate(where, KINDS).normal], PUBLIC, MISSING) == [hint]


@pytest.mark.parametrize("where", ["town <> 'NA'", "not (town in ('NA', 'Bern'))", "age > -99", "code = 'NA'"])
def test_other_conditions_with_a_word_for_a_missing_value_may_match(where: str) -> None:
    """A record with a value satisfies them, and in other columns the word is a value."""
    assert impossible_hints([parse_predicate(where, KINDS).normal], {}, MISSING) == []


@pytest.mark.parametrize(
    ("where", "meant"),
    [
        ("town = 'koln'", "'koln' is none of the public values of town: did you mean 'Köln'?"),
        ("town <> 'Dusseldorf'", "did you mean 'Düsseldorf'?"),
        ("not (smoker or town in ('Bern', 'bern'))", "'bern' is none of the public values of town: did you mean 'Bern"),
        ("smoker or town = 'xyz'", "'xyz' is none of the public values of town: use 'Bern', 'Köln', 'Düsseldorf'"),
        ("age = 200", "200 is none of the public values of age, 0 to 120"),
        ("age = 5.5 or age in (-1, 3)", "-1 is none of the public values of age, 0 to 120"),
        ("age > 120", "no record can satisfy age > 120, as the public values of age are 0 to 120"),
        ("age between 150 and 200", "no record can satisfy age between 150 and 200, as the public values of age are"),
        ("age between 64 and 1", "no record can satisfy age between 64 and 1: write the smaller end first"),
        ("pay < 0 and smoker", "no record can satisfy pay < 0.0, as the public values of pay are 0.0 to 1.5"),
        ("day >= '2026-04-01'", "as the public values of day are 2026-02-01 to 2026-03-31"),
        ("seen < '2026-01-01'", "no record can satisfy seen < '2026-01-01 00:00:00'"),
        ("town like 'b%'", "no record can satisfy town like 'b%', as the public values of town are Bern, Köln,"),
        ("town not like '%'", "no record can satisfy town not like '%'"),
        ("town > 'Z'", "no record can satisfy town > 'Z'"),
        ("town not in ('Bern', 'Köln', 'Düsseldorf')", "no record can satisfy town not in ("),
        ("number(code) > 12", "no record can satisfy number(code) > 12.0, as the public values of code are 5, 10, n/a"),
        ("number(code) in (6, 7)", "no record can satisfy number(code) in (6.0, 7.0), as the public values of code"),
        ("date(code) = '2026-01-31'", "no record can satisfy date(code) = '2026-01-31', as the public values of code"),
        ("date(code) is not null", "no record can satisfy date(code) is not null"),
        ("town > 'C' and town < 'D'", "no record can satisfy town < 'D' and town > 'C', as the public values"),
    ],
)
def test_a_question_that_no_public_value_satisfies_is_told(where: str, meant: str) -> None:
    """With the value that was meant, or with what the values are."""
    assert meant in "; ".join(hints(where))


@pytest.mark.parametrize(
    "where",
    [
        *("town = 'Köln'", "town is null", "town is not null", "town like 'K_ln'", "town not like '%ö%'", "not smoker"),
        *("number(code) = 10", "number(code) < 6", "number(code) is null", "date(code) is null", "number(code) <> 5"),
        *("number(code) in (5, 7)", "date(code) is null or number(code) between 4 and 6", "number(code) = age"),
        *("age >= 120", "age < 1", "age between 64 and 200", "age is null or age = 0", "age <> 5", "age = pay"),
        *("pay = 1.5", "pay = 1", "day = '2026-02-28'", "seen >= '2026-12-31 23:59:59.999999'", "town >= 'Köln'"),
    ],
)
def test_nothing_is_told_of_what_a_public_value_satisfies(where: str) -> None:
    """Or a missing one, which no list has."""
    assert hints(where) == []


def test_no_record_with_public_values_satisfies_what_is_told() -> None:
    """By brute force: for random questions all records of public and missing values, and those alone, decide."""
    chance = random.Random(5)  # noqa: S311 - repeatable, not secret
    public = public_values({"town": TOWNS, "age": "0 to 4"}, KINDS)
    towns, ages = [*TOWNS, None], [*range(5), None]
    records: list[dict[str, Any]] = [{"town": town, "age": age} for town in towns for age in ages]
    tests = [
        "age in (3, 9)",
        "town in ('Bern', 'x', 'Köln')",
        "town {} 'Bern'",
        "town {} 'Köln'",
        "age {} 0",
        "age {} 3",
        "age {} 7",
        "age {} 1.5",
        "age {} -2",
    ]
    odd = ["town like '%r%'", "town not like 'B%'", "age between 2 and 9", "age not between 0 and 4", "age is null"]
    told = 0
    for _ in range(400):
        parts = [
            chance.choice(tests).format(chance.choice(["=", "<>", "<", "<=", ">", ">="]))
            if chance.random() < 0.7
            else chance.choice(odd)
            for _ in range(chance.randint(1, 3))
        ]
        predicate = parse_predicate(chance.choice([" and ", " and ", " or "]).join(parts), KINDS).normal
        found = [*contradictions(predicate, public)]
        for part in found:
            told += 1
            assert not any(truth(part, record) for record in records), canonical_text(part)
        one_column = len({part.split()[0] for part in parts}) == 1
        if one_column and not found:
            assert any(truth(predicate, record) for record in records), canonical_text(predicate)
    assert told > 80


@pytest.mark.thorough
def test_a_long_list_is_searched_at_once() -> None:
    """Of ten thousand values, asked by as many conditions as a question may have."""
    listed = [f"{'x' * 60} {number}" for number in range(MOST_VALUES)]
    public = public_values({"town": listed}, KINDS)
    where = " and ".join(f"town > 'y{number}'" for number in range(120))
    start = process_time()
    assert [*contradictions(parse_predicate(where, KINDS).normal, public)]
    wrong = parse_predicate("town = 'nowhere'", KINDS).normal
    assert len([*non_public_values(wrong, public)]) == 1
    assert impossible_hints([wrong], public)
    for test in ("town > 'w{}'", "town like '%{}'", "town = 'x{}'"):  # as many questions as one may ask at once
        several = [parse_predicate(test.format(number), KINDS).normal for number in range(200)]
        impossible_hints(several, public)
    assert process_time() - start < 5


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"town": "Bern"}, "values of 'town' are 'Bern', and the column is of kind text: write a list"),
        ({"town": ["Bern", "Bern"]}, "have 'Bern' twice"),
        ({"town": [1]}, "have 1, and the column is of kind text"),
        ({"town": []}, "must list 1 to 10,000 values, got 0 values"),
        ({"age": "120 to 0"}, "does not rise: write the smaller end first"),
        ({"age": "0 to many"}, "write a range such as 0 to 120"),
        ({"age": ["a"]}, "write a number such as 30"),
        ({"age": f"0 to {2**64}"}, "write a range such as 0 to 120"),
        ({"day": "2026-13"}, "write a range such as 2026, or 2026-01 to 2026-12"),
        ({"smoker": [True]}, "are true and false anyway: leave them out"),
        ({"twon": ["a"]}, "values names 'twon', which is no column: did you mean 'town'?"),
    ],
)
def test_what_is_no_value_of_a_column_is_refused(stated: dict[str, Any], words: str) -> None:
    """In one sentence, with the remedy."""
    with pytest.raises(ConfigError) as error:
        public_values(stated, KINDS)
    assert words in str(error.value)


def test_ranges_of_time_have_whole_ends() -> None:
    """A year, quarters, months and days, of dates and of times."""
    found = public_values({"day": "2026-Q1 .. 2026-05", "seen": "2024-02-29 TO 2024-02-29"}, KINDS)
    assert (found["day"].low, found["day"].high) == (date(2026, 1, 1), date(2026, 5, 31))
    low, high = (datetime.combine(date(2024, 2, 29), end) for end in (time.min, time.max))
    assert (found["seen"].low, found["seen"].high) == (low, high)


@pytest.mark.parametrize(
    ("by", "labels"),
    [
        ("town", TOWNS),
        ("age", [*range(121)]),
        ("day:month", ["2026-02", "2026-03"]),
        ("day:year", ["2026"]),
        ("seen:quarter", [f"2026-Q{quarter}" for quarter in range(1, 5)]),
        ("pay:0,1", ["0 to under 1", "1 or more"]),
        ("smoker", [False, True]),
    ],
)
def test_groups_follow_from_public_values(by: str, labels: list[object]) -> None:
    """In the order in which their owner listed them."""
    parts = resolve_group_by([by], KINDS, None)
    keys = key_set(parts, None, PUBLIC)
    assert [parts[0].label(key) for key in keys.values[0]] == labels
    if parts[0].known_keys is None:  # and a ledger stores the same as if they were listed
        assert key_set_to_json(key_set(parts, {by: labels})) == key_set_to_json(keys)


def test_listed_keys_stay_as_they_are_listed() -> None:
    """Public values change no question that has its keys; one that asks for another value is told."""
    parts = resolve_group_by(["town", "day:month"], KINDS, None)
    keys = key_set(parts, {"town": ["Genf", None]}, PUBLIC)
    assert keys.values[0] == ("Genf", None)
    assert len(keys.values[1]) == 2
    assert [*impossible_key_errors(keys, Schema(KINDS, public=PUBLIC))] == [
        "'Genf' is none of the public values of town: use 'Bern', 'Köln', 'Düsseldorf'"
    ]
    cells = [("Bern", "2026-02")]
    assert len(key_set(parts, cells, PUBLIC)) == 1


def test_what_has_too_many_groups_has_none() -> None:
    """Of a wide range nobody wants a row each."""
    (age,) = resolve_group_by(["age"], KINDS, None)
    assert public_keys(age, public_values({"age": f"1 to {MOST_VALUES + 1}"}, KINDS)["age"]) is None
    assert len(public_keys(age, public_values({"age": f"1 to {MOST_VALUES}"}, KINDS)["age"]) or ()) == MOST_VALUES


def test_accents_and_capitals_are_forgiven_first() -> None:
    """A value that differs only in accents and capitals is proposed first."""
    assert did_you_mean("ZURICH", ["Zug", "Zürich"]) == "did you mean 'Zürich'?"
    assert did_you_mean("a", []) == "use records that have columns"


def test_keys_that_are_listed_by_the_words_of_their_part_are_all_keys() -> None:
    """Two months of a year are two groups, whether they stand under `day:month` or under `day`."""
    (part,) = resolve_group_by("day:month", KINDS, None)
    public = public_values({"day": "2026"}, KINDS)
    for name in ("day:month", "day"):
        listed = {name: ["2026-01", "2026-02"]}
        keys = key_set([part], listed, public)
        assert [*map(part.label, keys.values[0])] == ["2026-01", "2026-02"]
    assert len(key_set([part], None, public)) == 12
