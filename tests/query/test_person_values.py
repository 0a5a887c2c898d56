"""Values of persons in the language: texts, normal forms, refusals and hints."""

from datetime import date

import pytest

from noisycount.errors import PredicateError, QueryError
from noisycount.query.grouping import resolve_group_by
from noisycount.query.impossible import impossible_hints
from noisycount.query.language import parse, parse_value
from noisycount.query.normal_form import parse_predicate
from noisycount.query.person_values import MOST_NESTED
from noisycount.query.predicate import canonical_text, columns
from noisycount.query.schema import Kind, PublicValues, Schema
from noisycount.query.table import key_set
from noisycount.query.typed import call_end, parse_by_text, parse_column_keys, split_list

KINDS = {
    "person": Kind.TEXT,
    "code": Kind.TEXT,
    "day": Kind.DATE,
    "at": Kind.TIMESTAMP,
    "dose": Kind.INTEGER,
    "ill": Kind.BOOLEAN,
    "where": Kind.TEXT,
    "by": Kind.DATE,
    "distinct": Kind.INTEGER,
    "count": Kind.INTEGER,
    "days": Kind.INTEGER,
}
SCHEMA = Schema(KINDS).for_questions("person", None)


@pytest.mark.parametrize(
    "text",
    [
        "any(ill) and none(code = 'a')",
        "every(dose > 1) or not every(ill)",
        "count(distinct code where day >= '2025-01-01') between 2 and 4",
        "first(code by day where ill) like 'a%'",
        "first(where by by where where = 'x') = 'y'",
        "count(distinct = 3) >= 2",
        "count(distinct distinct) in (1, 2)",
        "count(count = 1 and days = 2) > 3",
        "any(day between first(day where code = 'a') and first(day where code = 'a') + 30 days)",
        "last(at) - 1 month < first(at where dose = 1)",
        "any(day + 1 year > '2025-01-01')",
        "sum(dose) > 10 and first(ill by at)",
        "min(dose) is null and max(code) is not null",
        "count(ill and dose in (1, 2)) = 2 or any(code is null)",
    ],
)
def test_a_question_about_persons_reads_back_to_itself(text: str) -> None:
    """The canonical text and the normal form of a question are questions of the same meaning."""
    predicate = parse(text, SCHEMA)
    assert parse(canonical_text(predicate), SCHEMA) == predicate
    normal = parse_predicate(text, SCHEMA).normal
    again = parse_predicate(canonical_text(normal), SCHEMA)
    assert again.normal == normal


@pytest.mark.parametrize(
    ("wording", "other"),
    [
        ("count(code = 'a') >= 1", "any(code = 'a')"),
        ("0 = COUNT(code = 'a')", "none(code = 'a')"),
        ("any(not (dose < 3 or ill))", "any(not ill and dose >= 3)"),
        ("first(day where true) > '2025-01-01'", "min(day) > '2025-01-01'"),
        ("day + 12 months > '2025-01-01'", "day + 1 year > '2025-01-01'"),
        ("count(code in ('a', 'b')) > 2", "count(code = 'b' or code = 'a') > 2"),
    ],
)
def test_wordings_of_one_question_have_one_normal_form(wording: str, other: str) -> None:
    """A question that is asked again in other words is recognised inside values of persons too."""
    assert parse_predicate(wording, SCHEMA).normal == parse_predicate(other, SCHEMA).normal


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ill and any(code = 'a')", "write any(ill) if some row of the person shall satisfy it"),
        ("any(" * (MOST_NESTED + 1) + "ill" + ")" * (MOST_NESTED + 1), f"more than {MOST_NESTED} deep"),
        ("min(first(day)) > '2025-01-01'", "name a column of the records"),
        ("day + 3 days + 1 month > '2025-01-01'", "moves a date twice"),
        ("dose + 3 days > 3", "only dates and times move"),
        ("day + 99999999 days > '2025-01-01'", "a duration of more than 10,000 years"),
        ("first(day) <= last(at)", "compares first(day) (date) with last(at) (timestamp)"),
        ("day 30 days > day", "as in day + 30 days"),
        ("count(distinct code) + 3 > 1", "leave arithmetic out"),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_line(text: str, words: str) -> None:
    """The refusal names what is wrong, and the text to write."""
    with pytest.raises(PredicateError) as caught:
        parse(text, SCHEMA)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_without_persons_have_no_values_of_persons() -> None:
    """The refusal of values of persons, if every row is a unit, says what the owner can do."""
    with pytest.raises(PredicateError, match="let its owner name the column of persons as unit"):
        parse("any(ill)", Schema(KINDS))


def test_the_person_and_unknown_columns_stay_out_of_reach() -> None:
    """A value of a person cannot read the column that names persons."""
    for text in (
        "any(person = 'a')",
        "min(person) = 'a'",
        "count(distinct person) > 1",
        "first(code by nothing) = 'a'",
    ):
        with pytest.raises(PredicateError, match="where names"):
            parse(text, SCHEMA)


def test_columns_of_conditions_are_read() -> None:
    """The columns that a count reads include those of conditions, orders and moved dates inside values."""
    predicate = parse(
        "any(day > first(at where ill) + 1 day) or last(code by by) = 'x'".replace("day >", "at >"), SCHEMA
    )
    assert {column.name for column in columns(predicate)} == {"at", "ill", "code", "by"}


def test_hints_reach_into_conditions() -> None:
    """A contradiction inside a value, and a value that is not public, are found without reading records."""
    impossible = parse_predicate("none(dose > 5 and dose < 3)", SCHEMA).normal
    assert impossible_hints([impossible])[0].startswith("no record can satisfy dose < 3 and dose > 5")
    never = parse_predicate("count(ill) > 3 and count(ill) < 2", SCHEMA).normal
    assert impossible_hints([never])[0].startswith("no person can satisfy count(ill) < 2 and count(ill) > 3")
    public = {"code": PublicValues(Kind.TEXT, ("a", "b"))}
    foreign = parse_predicate("first(code by day) = 'c'", SCHEMA).normal
    assert impossible_hints([foreign], public) == ["'c' is none of the public values of code: use 'a', 'b'"]


def test_sums_and_moved_dates_are_no_public_values() -> None:
    """A sum of public values, a moved day and a word for a missing value among sums may be any value."""
    public = {
        "dose": PublicValues(Kind.INTEGER, low=1, high=9),
        "by": PublicValues(Kind.DATE, low=date(2026, 1, 1), high=date(2026, 12, 31)),
    }
    missing = {"dose": {30.0}}
    for text in (
        "sum(dose) > 20",
        "sum(dose) = 30",
        "any(by + 1 year > '2027-05-01')",
        "last(by) + 40 days > '2027-01-01'",
    ):
        assert impossible_hints([parse_predicate(text, SCHEMA).normal], public, missing) == []
    assert impossible_hints([parse_predicate("max(dose) > 20", SCHEMA).normal], public)
    assert impossible_hints([parse_predicate("max(dose) = 30", SCHEMA).normal], {}, missing)
    parts = resolve_group_by("max(dose)", SCHEMA, "person"), resolve_group_by("sum(dose)", SCHEMA, "person")
    assert len(key_set(parts[0], None, public)) == 9
    with pytest.raises(QueryError, match="are missing"):
        key_set(parts[1], None, public)


def test_edges_of_a_value_that_mean_two_things_are_refused() -> None:
    """If the numbers of the column have a decimal comma, 1.000 could be one or a thousand."""
    schema = Schema({"person": Kind.TEXT, "cost": Kind.REAL}, commas=frozenset(["cost"])).for_questions("person", None)
    for value in ("sum(cost)", "max(cost)"):
        with pytest.raises(PredicateError, match=r"1\.000 for 'cost'"):
            resolve_group_by(f"{value}:0,1.000", schema, "person")
        with pytest.raises(PredicateError, match=r"1\.000 for 'cost'"):
            parse(f"{value} > 1.000", schema)


def test_values_of_persons_stand_in_lists_of_groups_and_keys() -> None:
    """Commas, colons and equals signs inside a value separate nothing."""
    text = "count(code in ('a,b:', 'c')):0,1,5,code, first(day where code = 'x'):year"
    items = parse_by_text(text)
    assert [(item.column, item.grouping) for item in items] == [
        ("count(code in ('a,b:', 'c'))", "0,1,5"),
        ("code", ""),
        ("first(day where code = 'x')", "year"),
    ]
    assert parse_by_text(",".join(item.typed for item in items)) == items
    name, keys = parse_column_keys("first(code by day where code = 'x')=a,b")
    assert (name, [key.text for key in keys]) == ("first(code by day where code = 'x')", ["a", "b"])
    assert call_end("count(code = 'it''s)')") == len("count(code = 'it''s)')")
    for unclosed in ("count(code = 'a'", "count(code = 'a)", '"town'):
        with pytest.raises(ValueError, match="close quotes and parentheses"):
            split_list(unclosed)


def test_a_value_of_a_person_alone_is_read_for_groups() -> None:
    """Groups take one value of a person, and nothing else."""
    assert parse_value("COUNT( ill )", SCHEMA).text == "count(ill)"
    for text in ("any(ill) and any(code = 'a')", "none(ill)", "dose", "count(ill) > 3"):
        with pytest.raises(PredicateError, match="no value of a person"):
            parse_value(text, SCHEMA)
