"""Tests of `query/syntax.py`."""

import sys
from datetime import date, datetime
from inspect import stack
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import PredicateError
from noisycount.query.english import english
from noisycount.query.language import parse
from noisycount.query.predicate import (
    And,
    Column,
    Comparison,
    Constant,
    Flag,
    Literal,
    Membership,
    Missing,
    Not,
    Operator,
    Or,
    Pattern,
    Range,
    canonical_text,
)
from noisycount.query.schema import Kind, Schema

SCHEMA = Schema(
    {
        "age": Kind.INTEGER,
        "bmi": Kind.REAL,
        "health": Kind.TEXT,
        "smoker": Kind.BOOLEAN,
        "born": Kind.DATE,
        "seen": Kind.TIMESTAMP,
        "from": Kind.INTEGER,
        "not": Kind.INTEGER,
        'a "b" c': Kind.TEXT,
    },
    {"scan": "blob"},
)
AGE, BMI, HEALTH = (Column(name, SCHEMA[name]) for name in ("age", "bmi", "health"))
SMOKER, BORN, SEEN = (Column(name, SCHEMA[name]) for name in ("smoker", "born", "seen"))
THIRTY = Literal(Kind.INTEGER, 30)
OLD = Comparison(AGE, Operator.AT_LEAST, THIRTY)
POOR = Comparison(HEALTH, Operator.EQUAL, Literal(Kind.TEXT, "poor"))

# text, tree, canonical text, English
LANGUAGE = [
    ("true", Constant(value=True), "true", "anything holds"),
    ("NOT FALSE", Not(Constant(value=False)), "not false", "anything holds"),
    ("smoker", Flag(SMOKER), "smoker", "smoker is true"),
    ("not smoker", Not(Flag(SMOKER)), "not smoker", "smoker is false"),
    ("age>=30", OLD, "age >= 30", "age is at least 30"),
    ("30 <= Age", OLD, "age >= 30", "age is at least 30"),
    ("((age)) >= (30)", OLD, "age >= 30", "age is at least 30"),
    ("not age >= 30", Not(OLD), "not age >= 30", "age is less than 30"),
    ("not not age >= 30", Not(Not(OLD)), "not not age >= 30", "age is at least 30"),
    ("\"health\" = 'poor'", POOR, "health = 'poor'", "health is 'poor'"),
    (
        "health='poor' and age>=30",
        And((POOR, OLD)),
        "health = 'poor' and age >= 30",
        "health is 'poor' and age is at least 30",
    ),
    (
        "smoker and (health='poor' and age>=30)",
        And((Flag(SMOKER), POOR, OLD)),
        "smoker and health = 'poor' and age >= 30",
        "smoker is true and health is 'poor' and age is at least 30",
    ),
    (
        "(smoker or age>=30) and health='poor'",
        And((Or((Flag(SMOKER), OLD)), POOR)),
        "(smoker or age >= 30) and health = 'poor'",
        "(smoker is true or age is at least 30) and health is 'poor'",
    ),
    (
        "smoker or (age>=30 and health='poor')",
        Or((Flag(SMOKER), And((OLD, POOR)))),
        "smoker or age >= 30 and health = 'poor'",
        "smoker is true or (age is at least 30 and health is 'poor')",
    ),
    (
        "not (smoker or age>=30)",
        Not(Or((Flag(SMOKER), OLD))),
        "not (smoker or age >= 30)",
        "it is not true that (smoker is true or age is at least 30)",
    ),
    (
        "age != -9223372036854775808",
        Comparison(AGE, Operator.NOT_EQUAL, Literal(Kind.INTEGER, -(2**63))),
        "age <> -9223372036854775808",
        "age is not -9223372036854775808",
    ),
    ("bmi < 30", Comparison(BMI, Operator.LESS, Literal(Kind.REAL, 30.0)), "bmi < 30.0", "bmi is less than 30"),
    ("age > .5e1", Comparison(AGE, Operator.MORE, Literal(Kind.REAL, 5.0)), "age > 5.0", "age is more than 5"),
    ("age < bmi", Comparison(AGE, Operator.LESS, BMI), "age < bmi", "age is less than bmi"),
    (
        "age between 30 and 39.5",
        Range(AGE, Literal(Kind.REAL, 30.0), Literal(Kind.REAL, 39.5)),
        "age between 30.0 and 39.5",
        "age is from 30 to 39.5",
    ),
    (
        "age not between 30 and 30",
        Not(Range(AGE, THIRTY, THIRTY)),
        "age not between 30 and 30",
        "age is not from 30 to 30",
    ),
    (
        "health in ('poor', 'it''s')",
        Membership(HEALTH, (Literal(Kind.TEXT, "poor"), Literal(Kind.TEXT, "it's"))),
        "health in ('poor', 'it''s')",
        "health is 'poor' or 'it''s'",
    ),
    (
        "health not in ('poor')",
        Not(Membership(HEALTH, (Literal(Kind.TEXT, "poor"),))),
        "health not in ('poor')",
        "health is not 'poor'",
    ),
    ("health like 'p%'", Pattern(HEALTH, "p%"), "health like 'p%'", "health is like 'p%'"),
    ("health not like 'p_'", Not(Pattern(HEALTH, "p_")), "health not like 'p_'", "health is not like 'p_'"),
    ("age is null", Missing(AGE), "age is null", "age is missing"),
    ("age is not null", Not(Missing(AGE)), "age is not null", "age is not missing"),
    (
        "born >= '2020-02-29'",
        Comparison(BORN, Operator.AT_LEAST, Literal(Kind.DATE, date(2020, 2, 29))),
        "born >= '2020-02-29'",
        "born is not before '2020-02-29'",
    ),
    (
        "seen < '2020-02-29T10:30'",
        Comparison(SEEN, Operator.LESS, Literal(Kind.TIMESTAMP, datetime(2020, 2, 29, 10, 30))),  # noqa: DTZ001, columns have no zone
        "seen < '2020-02-29 10:30:00'",
        "seen is before '2020-02-29 10:30:00'",
    ),
    (
        'from = 1 or "not" = 2 or "a ""b"" c" = \';--\'',
        Or(
            (
                Comparison(Column("from", Kind.INTEGER), Operator.EQUAL, Literal(Kind.INTEGER, 1)),
                Comparison(Column("not", Kind.INTEGER), Operator.EQUAL, Literal(Kind.INTEGER, 2)),
                Comparison(Column('a "b" c', Kind.TEXT), Operator.EQUAL, Literal(Kind.TEXT, ";--")),
            )
        ),
        'from = 1 or "not" = 2 or "a ""b"" c" = \';--\'',
        'from is 1 or "not" is 2 or "a ""b"" c" is \';--\'',
    ),
]

# what is said, and of which texts
REFUSALS = [
    ("empty", "", " \n"),
    ("without ';'", "age >= 30;", "age >= 30; drop table records"),
    ("comments", "age >= 30 -- and more", "age /* or */ >= 30"),
    ("'upper': leave functions", "upper(health) = 'POOR'"),
    ("'cast': leave functions and casts", "cast(age as text) = '3'"),
    ("functions", "exists (select 1)", "\"upper\"(health) = 'x'"),
    ("casts", "age::text = '3'"),
    ("'+' outside", "age + 1 = 2"),
    ("arithmetic", "age - 1 = 2", "age = - - 1", "-age = 3", "-'x' = health", "-true = smoker"),
    ("column", "age = -bmi"),
    ("'1' after 'select'", "age = (select 1)", "select 1"),
    ("'age' after 'select'", "age in (select age)"),
    ("'?' outside", "age = ?"),
    ("'$' outside", "age = $1", "health = $$x$$"),
    ("':' outside", "age = :x"),
    ("'@' outside", "age = @x"),
    ("bare name", "survey.age = 3"),
    ("'[' outside", "age[1] = 3"),
    ("'||' outside", "health || 'x' = 'yx'"),
    ("'~' outside", "health ~ 'x'"),
    ("'ilike' after 'health'", "health ilike 'x'"),
    ("'similar' after 'health'", "health similar to 'x'"),
    ("'escape' after the text 'x'", "health like 'x' escape '!'"),
    ("'collate' after 'health'", "health collate nocase = 'x'"),
    ("'E' before the text 'x'", "health = E'x'"),
    ("'x' before the text '41'", "health = x'41'"),
    ("'y' after 'x'", "health = 'x' 'y'"),
    ("'date' before the text", "born = date '2020-01-01'"),
    ("one '='", "age == 3"),
    ("double quotes", "`age` = 3"),
    ("second quote", "health = 'poor"),
    ("second double quote", '"health = 3'),
    ("'as' after '3'", "age = 3 as x"),
    ("'x' after 'age'", "age x"),
    ("'when' after 'case'", "case when smoker then true end"),
    ("'distinct'", "age is distinct from 3"),
    ("balance", "(age >= 30", "age >= 30)"),
    ("misplaced tuple", "()", "(age, bmi) = (1, 2)"),
    ("not a complete predicate", "age >=", "and", "not", "age >= 30, smoker", "like = 3"),
    ("'=>' outside the predicate language: write >=", "age => 65"),
    ("'=<' outside the predicate language: write <=", "age =< 65"),
    ("or '' for a quote within a text: 'O''Brien'", "health = 'O'Brien'"),
    ("'a' after in: put the list in parentheses", "health in 'a'"),
    ("leave arithmetic out", "age + 1 > 2", "age * 2 > 2"),
    ("write count(true) for the number of all rows", "count(*) > 1"),
    ("there is no such day", "born = '2021-02-29'"),
    ("there is no such day or time", "seen = '2021-02-28 25:00'"),
    ("two digits each, '1950-02-01'", "born = '1950-2-1'"),
    ("two digits each, '1950-12-01'", "born = '1950-12-1'"),
    ("'<' where a column or a literal belongs", "1 < age < 3"),
    ("'=' where a column or a literal belongs", "(age = 3) = true"),
    ("'and' where a column or a literal belongs", "age = (smoker and smoker)"),
    ("'>=' where a column or a literal belongs", "(age >= 30) is null"),
    ("is null", "age is true"),
    ("write", "age is bmi", "in"),
    ("write is null", "age = null", "age <> null", "null = age", "age in (null)", "age in (1, null)"),
    ("misplaced null", "null"),
    ("empty list", "age in ()"),
    ("',' after '(': write one comma between two literals", "age in (, 1)"),
    ("',' after ',': write one comma", "age in (1, , 2)"),
    ("')' after ',': write one comma", "age in (1, )"),
    ("',' after '('", "( , smoker )", "(, age) = 3"),
    ("not after 'age': write is not null", "age not is null", "age not null"),
    ("not after ')': write is not null", "(age) not is not null"),
    ("not before the whole comparison", "age not = 3"),
    ("after in: put the list in parentheses", "age in bmi"),
    ("literals", "age in (bmi)", "age between 1 and bmi", "health like health"),
    ("two literals", "1 = 1"),
    ("not a complete predicate", "number() = 1", "number(health, age) = 1"),
    ("'age' after 'health'", "number(health age) = 1"),
    ("calls 'number'", '"number"(health) = 1'),
    ("calls 'date'", '"date"(health) = 1'),
    ("number('health') (real) where a predicate belongs", "number(health)", "not number(health)"),
    ("use like on text", "number(health) like '1%'", "date(health) like '2024%'"),
    ("number() of column 'born' (date), and it reads texts", "number(born) = 1", "number(date(born)) = 1"),
    ("date() of column 'age' (integer)", "date(age) = '2024-01-31'"),
    ("date() of column 'smoker' (boolean)", "date(smoker) = '2024-01-31'"),
    ("number() of a value that is not a column", "number('5') = age", "number(5) = age", "number(-5) = age"),
    ("compares column 'seen' (timestamp)", "seen between 5 and '2024-01-31'", "seen in ('2024-01-31', true)"),
    ("compares column 'seen' (timestamp)", "seen between true and '2024-01-31'", "seen between '2024-01-31' and 5"),
    ("there is no such day or time", "seen <= '2024-02-30'", "seen in ('2024-02-30')"),
    ("literal before", "1 in (1)", "'x' like 'x'"),
    ("misplaced literal", "3", "'x'"),
    ("column 'age' (integer) where a predicate belongs", "age"),
    ("column 'health' (text) where a predicate belongs", "not health"),
    ("column 'age' (integer) with the text '3'", "age = '3'"),
    ("with the text '3'", "age in ('3')"),
    ("with the text '1'", "age between '1' and '3'"),
    ("column 'health' (text) with the integer 3", "health = 3"),
    ("with column 'age' (integer)", "health = age"),
    ("with the integer 1", "smoker = 1"),
    ("use = or <>", "smoker > false", "smoker in (true)", "smoker between false and true"),
    ("use like on text", "age like '3%'"),
    ("after like", "health like 3"),
    ("with the integer 2020", "born = 2020"),
    ("such as '2026-01-31'", "born = '20200101'", "born = '2020-02-30'", "born = '2020-01-01 10:00'"),
    ("with column 'seen' (timestamp)", "born = seen"),
    ("such as '2026-01-31 12:00:00'", "seen = '2020-01-01 25:00'", "seen = '2020-01-01 10:00:00+01:00'"),
    ("such as '2026-01-31 12:00:00'", "seen in ('yesterday')"),
    ("signed 64 bits", "age = 9223372036854775808", "age = -9223372036854775809"),
    ("finite", "bmi = 1e400", "bmi = -1e400"),
    ("'nan', which is no column", "bmi = nan"),
    ("NUL", "health = 'a\0b'", "age \0 = 3"),
    ("Unicode", "health = '\ud800'"),
    ("did you mean health", "helth = 'x'"),
    ("single quotes for a text", 'health = "poor"'),
    ("'person', which is no column", "person = 3"),
    ("type blob", "scan is null", "Scan is null"),
    ("4096", "age >= 30 or " * 400 + "smoker"),
    ("500", "not smoker or " * 200 + "smoker"),
    ("20", "(" * 21 + "smoker" + ")" * 21, "not " * 21 + "smoker", "age = " + "- " * 21 + "1"),
    ("201 characters after like", f"health like '{'a' * 150}' or health like '{'b' * 51}'"),
]


@pytest.mark.parametrize(("text", "tree", "canonical", "spoken"), LANGUAGE)
def test_text_has_one_tree_one_canonical_text_and_one_english_sentence(
    text: str, tree: object, canonical: str, spoken: str
) -> None:
    """Every construct of the language reads and reads back as stated."""
    assert parse(text, SCHEMA) == tree
    assert canonical_text(tree) == canonical
    assert parse(canonical, SCHEMA) == tree
    assert english(tree) == spoken


@pytest.mark.parametrize(("text", "words"), [(text, words) for words, *texts in REFUSALS for text in texts])
def test_text_outside_the_language_is_refused_in_one_line(text: str, words: str) -> None:
    """A refusal is a single line with the wrong part and a remedy."""
    with pytest.raises(PredicateError) as caught:
        parse(text, SCHEMA)
    message = str(caught.value)
    assert words in message
    assert message.startswith("where ")
    assert message.isprintable()
    assert len(message) < 400
    assert "sqlglot" not in message
    assert caught.value.__cause__ is None


def test_name_in_another_case_resolves_only_if_one_column_fits() -> None:
    """An exact name wins; without one, two columns that differ in case are refused."""
    schema = {"Age": Kind.INTEGER, "AGE": Kind.INTEGER}
    assert canonical_text(parse("AGE = 1", schema)) == "AGE = 1"
    with pytest.raises(PredicateError, match="Age or AGE"):
        parse("age = 1", schema)


def test_suggestions_name_only_columns_that_questions_may_use() -> None:
    """A column kept from questions is not even suggested."""
    schema = Schema({"person": Kind.INTEGER, "age": Kind.INTEGER}).for_questions("person", None)
    with pytest.raises(PredicateError) as caught:
        parse("persn = 1", schema)
    assert "person" not in str(caught.value).replace("'persn'", "")


REMEDIES = [
    ("Alter = 65", "Alter = '65'", "write '65' for the text itself, or number(Alter) for the numbers"),
    ("Alter in (1, 2)", "Alter in ('1', '2')", "its owner can state a kind for the column"),
    ("Alter >= 65", "number(Alter) >= 65", "write number(Alter) for the numbers that its texts spell;"),
    ("Alter between 1 and 2", "number(Alter) between 1 and 2", "write number(Alter) for the numbers"),
    ("number(Alter) >= '65'", "number(Alter) >= 65", "write 65 without quotes"),
    ("date(seen) = number(Alter)", "date(seen) = '2026-01-31'", "compare it with a date such as '2026-01-31'"),
    ("number(seen) = 5", "seen = '2026-01-31'", "compare the column itself with a date such as '2026-01-31'"),
    ("seen > date('2026-01-31')", "seen > '2026-01-31'", "write a date alone, in single quotes"),
    ("number(5) < age", "5 < age", "write a number alone"),
    ("date(time) > '2026-01-31'", "time > '2026-01-31'", "a day such as '2026-01-31' stands for all of its moments"),
    ("age >= '65'", "age >= 65", "write 65 without quotes"),
    ("age in ('-1.5')", "age in (-1.5)", "write -1.5 without quotes"),
    ("age = 'old'", "age = 30", "compare it with a number such as 30"),
    ("'Kosten €' > 5", '"Kosten €" > 5', 'write the column as "Kosten €", not in single quotes'),
    ("Kosten > 5", '"Kosten €" > 5', 'did you mean "Kosten €"'),
    ("Kosten € > 5", '"Kosten €" > 5', 'where names Kosten € without double quotes: write "Kosten €"'),
    ("age > 3 and Size (m) > 5", 'age > 3 and "Size (m)" > 5', 'Size (m) without double quotes: write "Size (m)"'),
    ("inn > 5", '"in" > 5', 'did you mean "in"'),
    ('"Kosten €" > 1.000,50', '"Kosten €" > 1000.50', "decimals with a point: 1000.50"),
    ("age between 1,5 and 2", "age between 1.5 and 2", "decimals with a point: 1.5"),
    ("Alter = Köln", "Alter = 'Köln'", "or single quotes for a text: 'Köln'"),
    ('Alter = "Köln"', "Alter = 'Köln'", "or single quotes for a text: 'Köln'"),
    ("Alter = „Köln“", "Alter = 'Köln'", "a text between straight single quotes"),
    ("seen > 2020-01-01", "seen > '2026-01-31'", "dates in single quotes: '2026-01-31'"),
    ("seen > 31.12.2025", "seen > '2026-01-31'", "a date in single quotes: '2026-01-31'"),
    ("seen > '31.12.2025'", "seen > '2026-01-31'", "write a date such as '2026-01-31'"),
    ("smoker = 'ja'", "smoker = true", "compare it with true or false"),
    ("smoker = ja", "smoker = true", "or true or false beside a boolean column"),
    ("seen > today", "seen > '2026-01-31'", "or a date such as '2026-01-31' beside a date column"),
    ("age ≥ 65", "age >= 65", "write >="),
    ("age ≤ 65 && age ≠ 3", "age <= 65 and age <> 3", "write <="),
    ("age > 3 || smoker", "age > 3 or smoker", "write or"),
]


@pytest.mark.parametrize(("asked", "mended", "remedy"), REMEDIES)
def test_remedies_work_as_they_are_typed(asked: str, mended: str, remedy: str) -> None:
    """The text that a refusal proposes is accepted."""
    kinds = {"Alter": Kind.TEXT, "age": Kind.INTEGER, "Kosten €": Kind.REAL, "Size (m)": Kind.REAL, "in": Kind.INTEGER}
    schema = Schema({**kinds, "seen": Kind.DATE, "time": Kind.TIMESTAMP, "smoker": Kind.BOOLEAN})
    with pytest.raises(PredicateError) as caught:
        parse(asked, schema)
    assert remedy in str(caught.value)
    parse(mended, schema)


@pytest.mark.parametrize("length", [8, 40, 4000])
@pytest.mark.parametrize("wanted", ["x", "column 77", "c" * 4000])
def test_an_unknown_name_is_refused_at_once(length: int, wanted: str) -> None:
    """With 5,000 columns of long names alike, where comparing all of them took seconds."""
    names = [f"column {n:04d} ".ljust(length, "c") for n in range(5000)]
    schema = Schema(dict.fromkeys(names, Kind.INTEGER))
    start = process_time()
    with pytest.raises(PredicateError, match=r'questions may use: (use|did you mean) "column ') as caught:
        parse(f'"{wanted}" = 1', schema)
    assert process_time() - start < 1
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("length", [60, 1000])
def test_an_unknown_name_among_anagrams_is_refused_at_once(length: int) -> None:
    """They have all their letters in common, which is what takes long to compare."""
    letters = np.frombuffer(b"abcdefghij" * (length // 10), dtype=np.uint8)
    shuffled = np.random.default_rng(1).permuted(np.tile(letters, (5001, 1)), axis=1)
    names = [row.tobytes().decode() for row in shuffled]
    schema = Schema(dict.fromkeys(names[1:], Kind.INTEGER))
    start = process_time()
    with pytest.raises(PredicateError, match="which is no column"):
        parse(f"{names[0]} = 1", schema)
    assert process_time() - start < 1


def test_the_name_that_was_meant_is_found_among_thousands() -> None:
    """A letter left out, doubled or exchanged, also behind many that begin alike."""
    names = [f"measurement_{n}_of_day_{n % 7}" for n in range(5000)] + ["health", "smoker"]
    schema = Schema(dict.fromkeys(names, Kind.INTEGER))
    for wrong, right in {
        "helth": "health",
        "smokker": "smoker",
        "measurement_4711_of_day": "measurement_4711_of_day_0",
    }.items():
        with pytest.raises(PredicateError, match=rf"did you mean [^:]*\b{right}\b"):
            parse(f"{wrong} = 1", schema)


def test_deepest_text_needs_no_more_than_600_frames() -> None:
    """The bound on nesting keeps the recursive parser far from Python's limit of 1,000."""
    deepest = [
        "(" * 20 + "smoker" + ")" * 20,
        "not " * 20 + "smoker",
        "not (" * 10 + "smoker" + ")" * 10,
        "age in " + "(" * 20 + "1" + ")" * 20,
        "age between " + "(" * 20 + "1" + ")" * 20 + " and " + "(" * 20 + "2" + ")" * 20,
        "age = " + "(" * 10 + "-(" * 5 + "1" + ")" * 15,
        " or ".join(["smoker"] * 250),
    ]
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(stack()) + 600)
    try:
        for text in deepest:
            try:
                canonical_text(parse(text, SCHEMA))
            except PredicateError as refusal:
                assert "arithmetic" in str(refusal)  # noqa: PT017, only one of the texts is refused
    finally:
        sys.setrecursionlimit(limit)


def test_what_grows_past_the_bound_when_written_out_is_refused() -> None:
    """An admitted predicate has a canonical text that is admitted too."""
    text = "bmi in (" + ",".join(["1e15"] * 240) + ")"
    with pytest.raises(PredicateError, match="4096"):
        parse(text, SCHEMA)


VOCABULARY = (
    "and or not in between like is null true false ( ) , - = <> != < <= > >= ( ) "
    "age bmi health smoker born seen from \"not\" AGE 1 2.5 'x' '2020-01-01' "
    "; -- /* */ :: . ~ || [ ] $1 ? date E'x' upper("
)


@given(st.lists(st.sampled_from(VOCABULARY.split()), max_size=40).map(" ".join))
def test_any_words_give_a_predicate_or_a_refusal(text: str) -> None:
    """No text raises anything but a refusal, and what is admitted reads back as itself."""
    try:
        predicate = parse(text, SCHEMA)
    except PredicateError:
        return
    assert parse(canonical_text(predicate), SCHEMA) == predicate
    assert english(predicate).isprintable()


@given(st.text(max_size=60))
def test_any_characters_give_a_predicate_or_a_refusal(text: str) -> None:
    """No character raises anything but a refusal."""
    try:
        parse(text, {text: Kind.BOOLEAN})
    except PredicateError as refusal:
        assert str(refusal).isprintable()  # noqa: PT017, admitted texts pass as well


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60))
def test_any_text_literal_is_itself(text: str) -> None:
    """Whatever stands between quotes is a value: it cannot end the literal."""
    from noisycount.engines.dialect import text_of
    from noisycount.engines.duckdb.dialect import DUCKDB, records_of

    escaped = text.replace("'", "''")
    tree = parse(f"health = '{escaped}'", SCHEMA)
    assert tree == Comparison(HEALTH, Operator.EQUAL, Literal(Kind.TEXT, text))
    assert text_of(records_of(None, None).condition(tree), DUCKDB) == (
        '"health" = CAST($param_1 AS TEXT)',
        {"param_1": text},
    )


@pytest.mark.parametrize(
    "build",
    [
        lambda: And((OLD,)),
        lambda: And((OLD, And((OLD, POOR)))),
        lambda: Or(()),
        lambda: Literal(Kind.INTEGER, True),  # noqa: FBT003, the value of a literal
        lambda: Literal(Kind.REAL, 1),
        lambda: Literal(Kind.REAL, float("nan")),
        lambda: Literal(Kind.DATE, datetime(2020, 1, 1)),  # noqa: DTZ001, columns have no zone
        lambda: Literal(Kind.INTEGER, 2**63),
        lambda: Membership(AGE, ()),
        lambda: Membership(AGE, (THIRTY, Literal(Kind.REAL, 1.5))),
        lambda: Range(AGE, THIRTY, Literal(Kind.REAL, 1.5)),
        lambda: Comparison(AGE, Operator.EQUAL, HEALTH),
        lambda: Flag(AGE),
        lambda: Pattern(AGE, "x"),
        lambda: Pattern(HEALTH, "\0"),
    ],
)
def test_tree_that_no_text_gives_cannot_be_built(build: object) -> None:
    """The nodes check themselves, so that a tree in hand is a tree that can be counted."""
    with pytest.raises(PredicateError):
        build()


def test_a_unit_is_told_as_such() -> None:
    """Its name is public, as every answer tells it; a column that was left out is not told."""
    kinds = {"person": Kind.INTEGER, "age": Kind.INTEGER, "pay": Kind.REAL}
    schema = Schema(kinds).for_questions("person", ["age"])
    with pytest.raises(PredicateError, match=r"'Person', which is the unit that is counted, .* age$"):
        parse("Person = 3", schema)
    with pytest.raises(PredicateError, match="'pay', which is no column that questions may use"):
        parse("pay > 3", schema)
