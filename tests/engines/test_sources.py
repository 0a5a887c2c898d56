"""The contract of every source, and the agreement of each with the reference.

Tests of `engines/counting.py`, by which all engines count.
"""

import math
import struct
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.memory import MemorySource
from noisycount.errors import SourceError
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
    Predicate,
    Range,
    canonical_text,
)
from noisycount.query.schema import KINDS, Kind
from tests.helpers.cases import examples
from tests.helpers.sources import OpenSource, write_parquet

SURVEY_SCHEMA = {
    "person": Kind.INTEGER,
    "age": Kind.INTEGER,
    "bmi": Kind.REAL,
    "health": Kind.TEXT,
    "smoker": Kind.BOOLEAN,
    "born": Kind.DATE,
    "seen": Kind.TIMESTAMP,
}
NOON = datetime(2020, 1, 31, 12)  # noqa: DTZ001, columns have no zone
SURVEY = [
    {"person": 1, "age": 31, "bmi": 20.5, "health": "poor", "smoker": True, "born": date(1990, 1, 31), "seen": NOON},
    {"person": 1, "age": 32, "bmi": math.nan, "health": "it's", "smoker": False},
    {"person": 2, "age": 2**63 - 1, "bmi": math.inf, "health": ""},
    {"person": 3, "age": -(2**63), "bmi": -0.0, "health": "100%"},
    {"person": 4, "bmi": 1.0, "health": "two\nlines"},
]
COUNTS = {
    "true": 5,
    "false": 0,
    "age = 31": 1,
    "age <> 31": 3,
    "not age = 31": 3,
    "age is null": 1,
    "age is not null": 4,
    "age > 9223372036854775806": 1,
    "age <= -9223372036854775808": 1,
    "age = 9223372036854775808.0": 1,
    "age = 31.0": 1,
    "age in (31, 32.5)": 1,
    "age between 31 and 32": 2,
    "age not between 31 and 32": 2,
    "bmi = 0": 1,
    "bmi < 0": 0,
    "bmi > 1e308": 2,
    "bmi = bmi": 5,
    "bmi in (-0.0, 20.5)": 2,
    "bmi < age": 1,
    "not bmi < age": 3,
    "health = 'poor'": 1,
    "health = 'it''s'": 1,
    "health < 'a'": 2,
    "health like '%'": 5,
    "health like 'two_lines'": 1,
    "health like 't%s'": 1,
    "health like '____'": 3,
    "health like '%''%'": 1,
    "health like '100\\%'": 0,
    "health = '''; DROP TABLE records; --'": 0,
    "smoker": 1,
    "not smoker": 1,
    "smoker = false": 1,
    "smoker or age = 32": 2,
    "smoker or true": 5,
    "smoker and age = 31": 1,
    "not (smoker and age = 31)": 3,
    "born = '1990-01-31'": 1,
    "born < '1990-01-31'": 0,
    "seen >= '2020-01-31T12:00'": 1,
    "seen > '2020-01-31'": 0,
    "seen > '2020-01-31 00:00'": 1,
    "seen <= '2020-01-31'": 1,
    "seen = '2020-01-31'": 1,
    "seen <> '2020-01-31'": 0,
    "seen in ('2020-01-31', '2020-02-01 10:00')": 1,
    "seen between '2020-01-01' and '2020-01-31'": 1,
    "seen not between '2020-01-01' and '2020-01-31'": 0,
    "number(health) >= 100": 0,
    "number(health) is null": 5,
    "date(health) is not null": 0,
    "number(health) = 1 or number(health) is null and age = 31": 1,
}


@pytest.mark.thorough
def test_count_is_the_number_of_records_for_which_the_predicate_is_true(open_source: OpenSource) -> None:
    """False and unknown records are not counted; all predicates are counted in one call."""
    with open_source(SURVEY, SURVEY_SCHEMA) as source:
        predicates = [parse(text, source.schema) for text in COUNTS]
        assert dict(zip(COUNTS, source.count(predicates), strict=True)) == COUNTS
        assert source.count([]) == []


@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_unit_counts_each_person_once_whatever_the_number_of_rows(open_source: OpenSource, rows: int) -> None:
    """A person with 1, 2 or 1,000 records moves a count by 1."""
    records = [{"person": "ann", "age": 30}] * rows + [{"person": "bob", "age": 20}]
    schema = {"person": Kind.TEXT, "age": Kind.INTEGER}
    with open_source(records, schema, unit="person") as source:
        questions = ["true", "age = 30", "age > 30", "age is null"]
        assert source.count([parse(text, source.schema) for text in questions]) == [2, 1, 0, 0]


def test_unit_counts_a_person_with_one_matching_record_among_others(open_source: OpenSource) -> None:
    """A question and its negation can both be true of one person."""
    with open_source(SURVEY, SURVEY_SCHEMA, unit="person") as source:
        questions = ["age = 31", "not age = 31", "age >= 31", "true"]
        assert source.count([parse(text, source.schema) for text in questions]) == [1, 3, 2, 4]


def test_half_a_surrogate_pair_has_its_place_among_texts(open_source: OpenSource) -> None:
    """No engine holds such a text, and a question may: it precedes U+E000, and follows all before U+D800."""
    schema = {"note": Kind.TEXT}
    cells = ["a", "a\ud7ff", "a\ud7ffz", "a\ue000", "a\ue001", "a\U0001f44d", "b", None]
    note, half = Column("note", Kind.TEXT), Literal(Kind.TEXT, "a\udc00z")
    low, high = Literal(Kind.TEXT, "a"), Literal(Kind.TEXT, "b")
    questions: list[Predicate] = [Comparison(note, operator, half) for operator in Operator]
    questions += [Range(note, low, half), Range(note, half, high), Range(note, half, half)]
    questions += [Membership(note, (half, high)), Membership(note, (half,))]
    expected = [0, 7, 3, 3, 4, 4, 3, 4, 0, 1, 0]
    with open_source([{"note": cell} for cell in cells], schema) as source:
        assert dict(zip(map(canonical_text, questions), source.count(questions), strict=True)) == dict(
            zip(map(canonical_text, questions), expected, strict=True)
        )
        assert source.count([*map(Not, questions)]) == [7 - number for number in expected]


def test_a_pattern_tries_no_part_of_a_text_twice(open_source: OpenSource) -> None:
    """Trying every place for every part would take 1e18 steps: one record could stop a count."""
    with open_source([{"note": "a" * 3000}], {"note": Kind.TEXT}) as source:
        questions = [f"note like '{'%_a' * 6}{end}'" for end in ("%b", "%_b%", "%")]
        assert source.count([parse(text, source.schema) for text in questions]) == [0, 0, 1]


def test_questions_see_only_the_columns_that_the_owner_allows(open_source: OpenSource) -> None:
    """Without a choice all columns but the unit, else exactly the chosen ones."""
    with open_source(SURVEY, SURVEY_SCHEMA, unit="person") as source:
        assert source.unit == "person"
        assert dict(source.schema) == {name: kind for name, kind in SURVEY_SCHEMA.items() if name != "person"}
    with open_source(SURVEY, SURVEY_SCHEMA, unit="person", columns=["age"]) as source:
        assert dict(source.schema) == {"age": Kind.INTEGER}
    with open_source(SURVEY, SURVEY_SCHEMA) as source:
        assert source.unit is None
        assert dict(source.schema) == SURVEY_SCHEMA


def test_tree_about_another_column_or_kind_is_not_counted(open_source: OpenSource) -> None:
    """A tree made without the source's schema cannot reach the unit or a hidden column."""
    with open_source(SURVEY, SURVEY_SCHEMA, unit="person", columns=["age"]) as source:
        for column in (
            Column("person", Kind.INTEGER),
            Column("health", Kind.TEXT),
            Column("age", Kind.REAL),
            Column('age"; DROP VIEW records; --', Kind.INTEGER),
        ):
            with pytest.raises(SourceError, match="questions may not use"):
                source.count([Not(Missing(column))])


def test_column_names_cannot_inject(open_source: OpenSource) -> None:
    """A name with quotes and SQL in it is only a name."""
    name = "\"; DROP TABLE records; -- 'x' OR 1=1"
    quoted = '"' + name.replace('"', '""') + '"'
    with open_source([{name: 1}, {name: 2}], {name: Kind.INTEGER}) as source:
        assert source.count([parse(f"{quoted} = 1", source.schema)]) == [1]


@pytest.mark.parametrize(
    ("records", "options", "words"),
    [
        (SURVEY, {"unit": "persn"}, "unit names 'persn', which is no column: use 'person'"),
        (SURVEY, {"columns": ["agee"]}, "columns names 'agee', which is no column: use 'age'"),
        (SURVEY, {"unit": "person", "columns": ["person"]}, "must not name the unit"),
        ([*SURVEY, {"age": 1}], {"unit": "person"}, "fill them in or remove"),
    ],
)
def test_records_that_cannot_be_counted_are_refused_at_opening(
    open_source: OpenSource, records: list[Mapping[str, object]], options: object, words: str
) -> None:
    """Each refusal is one line with its remedy."""
    with pytest.raises(SourceError) as caught:
        open_source(records, SURVEY_SCHEMA, **options)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("unit", [None, "person"])
def test_no_records_are_counted_as_none(open_source: OpenSource, unit: str | None) -> None:
    """A refusal would tell an empty data set from its neighbour of one unit."""
    with open_source([], SURVEY_SCHEMA, unit=unit) as source:
        assert source.count([parse("true", source.schema), parse("age = 1", source.schema)]) == [0, 0]


def test_version_tells_whether_records_changed(open_source: OpenSource) -> None:
    """Equal records keep their version, and another value changes it."""
    schema = {"age": Kind.INTEGER}
    versions = [
        source.version
        for records in ([{"age": 1}], [{"age": 2}, {"age": 3}])
        for source in [open_source(records, schema)]
    ]
    assert len(set(versions)) == 2


def test_closed_source_counts_nothing_by_mistake(open_source: OpenSource) -> None:
    """After closing there is an error, never a number."""
    source = open_source(SURVEY, SURVEY_SCHEMA)
    source.close()
    with pytest.raises(SourceError, match="open"):
        source.count([Constant(value=True)])


@pytest.mark.parametrize("value", [True, "canary-7c1", 1.0, 2**64, date(2020, 1, 1)])
def test_memory_refuses_a_value_of_another_kind_without_showing_it(value: object) -> None:
    """The record's number and column are named, its cell is not."""
    with pytest.raises(SourceError, match=r"records\[1\]\['age'\] is not integer") as caught:
        MemorySource([{"age": 1}, {"age": value}], {"age": Kind.INTEGER})
    assert repr(value) not in str(caught.value)


INTEGERS = st.sampled_from([0, 1, -1, 255, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)])
REALS = st.sampled_from([0.0, -0.0, 1.0, -1.5, 0.1, 2.0**53, 2.0**63, 5e-324, 1.7e308])
SPECIAL_REALS = st.sampled_from([math.nan, math.inf, -math.inf])
CHARACTERS = st.sampled_from(["a", "A", "%", "_", "'", '"', "\\", "é", "e\u0301", "👍", "\n", ";"])
TEXTS = st.lists(CHARACTERS, max_size=4).map("".join)
DATES = st.sampled_from([date.min, date(1970, 1, 1), date(2020, 2, 29), date.max])
TIMES = st.sampled_from(
    [datetime(1, 1, 1), NOON, NOON + timedelta(microseconds=1), datetime(9999, 12, 31, 23)]  # noqa: DTZ001, columns have no zone
)
LITERALS = {
    Kind.INTEGER: INTEGERS | st.integers(-(2**63), 2**63 - 1),
    Kind.REAL: REALS | st.floats(allow_nan=False, allow_infinity=False),
    Kind.TEXT: TEXTS | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    Kind.BOOLEAN: st.booleans(),
    Kind.DATE: DATES | st.dates(),
    Kind.TIMESTAMP: TIMES | st.datetimes(),
}
CELLS = {
    **LITERALS,
    Kind.REAL: REALS | SPECIAL_REALS | st.floats(),
    Kind.TEXT: TEXTS | st.text(st.characters(exclude_categories=["Cs"])),
}
DIRTY_SCHEMA = {f"{kind.value} {n}": kind for kind in KINDS.values() for n in (1, 2)} | {"person": Kind.INTEGER}
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"person": st.integers(1, 4)},
        optional={name: CELLS[kind] | st.none() for name, kind in DIRTY_SCHEMA.items() if name != "person"},
    ),
    min_size=1,
    max_size=12,
)
COLUMNS = [Column(name, kind) for name, kind in DIRTY_SCHEMA.items() if name != "person"]


def literals(kind: Kind) -> st.SearchStrategy[Literal]:
    """Literals of a kind."""
    return LITERALS[kind].map(lambda value: Literal(kind, value))


@st.composite
def column_predicates(draw: st.DrawFn) -> Predicate:
    """A predicate without connectives."""
    column = draw(st.sampled_from(COLUMNS))
    if column.kind is Kind.BOOLEAN and draw(st.booleans()):
        return Flag(column)
    kind = Kind.REAL if column.kind is Kind.INTEGER and draw(st.booleans()) else column.kind
    return draw(predicates_of(column, kind))


@cache
def predicates_of(column: Column, kind: Kind) -> st.SearchStrategy[Predicate]:
    """Predicates of a column that is compared with literals of a kind."""
    partners = [
        other for other in COLUMNS if other.kind is column.kind or (other.kind.is_number and column.kind.is_number)
    ]
    operators = [Operator.EQUAL, Operator.NOT_EQUAL]
    forms = [
        st.just(Missing(column)),
        st.builds(
            Comparison,
            st.just(column),
            st.sampled_from(operators if column.kind is Kind.BOOLEAN else list(Operator)),
            literals(kind) | st.sampled_from(partners),
        ),
    ]
    if column.kind is not Kind.BOOLEAN:
        choices = st.lists(literals(kind), min_size=1, max_size=9).map(tuple)
        forms.append(st.builds(Range, st.just(column), literals(kind), literals(kind)))
        forms.append(st.builds(Membership, st.just(column), choices))
    if column.kind is Kind.TEXT:
        forms.append(st.builds(Pattern, st.just(column), TEXTS))
    return st.one_of(forms)


def connected(inner: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    """Predicates made of other predicates."""

    def parts(connective: type) -> st.SearchStrategy[Predicate]:
        other = inner.filter(lambda part: type(part) is not connective)
        return st.lists(other, min_size=2, max_size=3).map(tuple).map(connective)

    return st.builds(Not, inner) | parts(And) | parts(Or)


PREDICATES = st.recursive(st.builds(Constant, st.booleans()) | column_predicates(), connected, max_leaves=8)


@pytest.mark.thorough
@given(RECORDS, st.lists(PREDICATES, min_size=1, max_size=6), st.sampled_from([None, "person"]))
@settings(deadline=None)
def test_duckdb_counts_as_the_reference_does(
    records: list[Mapping[str, object]], predicates: list[Predicate], unit: str | None
) -> None:
    """Random predicates over dirty records count the same in both, through a Parquet file."""
    questions = [*predicates, *map(Not, predicates)]
    with TemporaryDirectory() as folder:
        path = Path(folder, "records.parquet")
        write_parquet(path, records, DIRTY_SCHEMA)
        with MemorySource(records, DIRTY_SCHEMA, unit) as reference, DuckDBSource.open(path, unit=unit) as source:
            counts = reference.count(questions)
            assert source.count(questions) == counts
    if unit is None:
        for true, false in zip(counts, counts[len(predicates) :], strict=False):
            assert true + false <= len(records)


@pytest.mark.thorough
@given(PREDICATES)
def test_canonical_text_reads_back_as_the_same_tree(predicate: Predicate) -> None:
    """Every tree has a text that gives that tree, and an English sentence of one line."""
    schema = {name: kind for name, kind in DIRTY_SCHEMA.items() if name != "person"}
    assert parse(canonical_text(predicate), schema) == predicate
    assert english(predicate).isprintable()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
@examples(20)
def test_real_literal_is_the_same_double_in_duckdb(values: list[float]) -> None:
    """No digit of a literal is lost through text and SQL: its neighbours are other numbers."""
    column, schema = Column("x", Kind.REAL), {"x": Kind.REAL}
    questions = [
        parse(canonical_text(Comparison(column, Operator.EQUAL, Literal(Kind.REAL, x))), schema) for x in values
    ]
    assert [struct.pack("d", x) for x in values] == [struct.pack("d", question.right.value) for question in questions]
    cells = [math.nextafter(x, side) for x in values for side in (x, math.inf, -math.inf)]
    with TemporaryDirectory() as folder:
        path = Path(folder, "records.parquet")
        write_parquet(path, [{"x": x} for x in cells], schema)
        with DuckDBSource.open(path) as source:
            assert source.count(questions) == [cells.count(x) for x in values]
