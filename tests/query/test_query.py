import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.errors import PredicateError
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace
from noisycount.model.tables.levels import Label
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.query.typed import (
    ColumnGrouping,
    TypedKey,
    expand_keys,
    parse_by_text,
    parse_column_keys,
    parse_margins,
)
from noisycount.release.query_plan import plan_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("town", ["town"]),
        (" town , sex ", ["town", "sex"]),
        ("age:0,18,65", ["age:0,18,65"]),
        ("town,age: 0, 18 ,65 ,visit:month", ["town", "age:0,18,65", "visit:month"]),
        ("t:-5,0,.5,sex", ["t:-5,0,.5", "sex"]),
        ("sex,2026", ["sex", "2026"]),
        ('"my, town",x', ["my, town", "x"]),
        ('"a ""b"" c"', ['a "b" c']),
    ],
)
def test_items_are_read_as_they_are_meant(text: str, expected: list[str]) -> None:
    """Numbers behind a colon are edges until the next name; quotes hide commas."""
    assert [item.text for item in parse_by_text(text)] == expected


@pytest.mark.parametrize("text", ["", ",", "a,,b", "a,", "x:week", "age:", "age:a,b", '"a'])
def test_what_is_no_item_is_refused(text: str) -> None:
    """With an example."""
    with pytest.raises(ValueError, match="such as"):
        parse_by_text(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("town=a,b", [TypedKey("a"), TypedKey("b")]),
        ("town= a b , c", [TypedKey("a b"), TypedKey("c")]),
        ("town='a,b',null,'null'", [TypedKey("a,b", True), TypedKey(None), TypedKey("null", True)]),  # noqa: FBT003
        ("town='it''s',O'Brien,''", [TypedKey("it's", True), TypedKey("O'Brien"), TypedKey("", True)]),  # noqa: FBT003
        ('"town"=NULL', [TypedKey(None)]),
    ],
)
def test_keys_are_read_as_they_are_meant(text: str, expected: list[TypedKey]) -> None:
    """Bare null is the missing value; quotes hide commas, and quotes when doubled."""
    assert parse_column_keys(text) == ("town", expected)


@pytest.mark.parametrize("text", ["town", "=a", "town=", "town=a,,b", "town=a,", "town='a'b", ""])
def test_what_are_no_keys_is_refused(text: str) -> None:
    """No key is left out in silence."""
    with pytest.raises(ValueError, match="must"):
        parse_column_keys(text)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Kind.INTEGER, "-2..1", [-2, -1, 0, 1]),
        (Kind.INTEGER, "7", [7]),
        (Kind.INTEGER, "seven", ["seven"]),
        (Kind.BOOLEAN, "True", [True]),
        (Kind.TEXT, "1..3", ["1..3"]),
        (Kind.TEXT, "7", ["7"]),
        (Kind.DATE, "2025-11..2026-02", ["2025-11", "2025-12", "2026-01", "2026-02"]),
        (Kind.TIMESTAMP, "2025-Q4..2026-Q1", ["2025-Q4", "2026-Q1"]),
        (Kind.DATE, "2025..2026", [2025, 2026]),
        (Kind.DATE, "2024-02-28..2024-03-01", ["2024-02-28", "2024-02-29", "2024-03-01"]),
    ],
)
def test_words_become_values_of_the_kind(kind: Kind, text: str, expected: list[Label]) -> None:
    """Ranges are written out where the column has an order; texts stay as they are."""
    assert expand_keys("column", kind, [TypedKey(text)]) == expected


@pytest.mark.parametrize("text", ["3..1", "a..b", "2026-01..2026-Q3", "1..2026-01", "0..9223372036854775807"])
def test_ranges_that_are_none_are_refused(text: str) -> None:
    """Ranges that fall, mix two kinds or exceed any table are refused at once."""
    with pytest.raises(PredicateError, match="keys of year"):
        expand_keys("year", Kind.INTEGER, [TypedKey(text)])


def test_quotes_keep_a_range_together() -> None:
    """And what is quoted is the key itself, which the table then refuses by its kind."""
    assert expand_keys("year", Kind.INTEGER, [TypedKey("1..3", is_quoted=True)]) == ["1..3"]


def test_margins_are_names() -> None:
    """An empty one is refused."""
    assert parse_margins(["total, town*sex"]) == ("total", "town*sex")
    with pytest.raises(ValueError, match="must name margins"):
        parse_margins(["total,"])


@pytest.mark.parametrize(
    "said",
    [
        {"where": "age >= 65", "within": "12.5%", "guess": 100, "confidence": "99.9%"},
        {"where": ["age >= 65"], "epsilon": "0.5", "confidence": "95%"},
        {"where": "age >= 65", "error": 12.5, "confidence": "95%"},
        {"where": ["age >= 65", "poor"], "rho": "0.1", "noise": "gaussian", "confidence": "95%"},
        {
            "where": "poor",
            "by": ['"my, town"', "age:0,18"],
            "keys": {"my, town": ["a", None]},
            "other": True,
            "margins": ["total"],
            "groups_per_unit": 2,
            "epsilon": "1/3",
            "delta": "0.000001",
            "cumulative": True,
            "confidence": "95%",
        },
    ],
)
def test_a_question_is_sent_as_it_was_read(said: dict[str, Any]) -> None:
    """Its members and their values, in JSON both ways."""
    assert Query.from_json(said).to_json() == said


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"by": ["town", "Town"]}, "^by names 'town' twice: name it once"),
        ({"by": "town:week"}, "^by must have edges or month"),
        ({"margins": ["a", "a"]}, "^margins names 'a' twice"),
        ({"margins": ["a,"]}, "^margins must name margins with commas"),
        ({"confidence": "95"}, "^confidence must lie strictly between 0 and 1"),
        ({"within": "120%"}, "^within must be above 0 and at most 100%"),
        ({"noise": "foo"}, "^noise must be laplace or gaussian, not 'foo'"),
        ({"where": 5}, "^where must be a text or a list in JSON, not 5"),
        ({"by": ["town", 3]}, "^by must be a list of texts"),
        ({"epsilon": True}, "^epsilon must be a text or a number in JSON, not True"),
        ({"groups_per_unit": "2"}, "^groups_per_unit must be a whole number in JSON, not '2'"),
        ({"groups_per_unit": 2.5}, "^groups_per_unit must be a whole number in JSON, not 2.5"),
        ({"guess": "100"}, "^guess must be a number in JSON, not '100'"),
        ({"other": 1}, "^other must be true or false in JSON, not 1"),
        ({"keys": {"town": "Bern"}}, "^keys must list texts, whole numbers, true, false or null for 'town'"),
        ({"epsilonn": "1"}, "^epsilonn is no member of a query: use one of where, by, "),
    ],
)
def test_a_member_that_stands_for_nothing_is_refused_by_name(said: dict[str, Any], message: str) -> None:
    """A refusal is a single line with the member's name and an accepted value."""
    with pytest.raises(ValueError, match=message):
        Query.from_json(said)


CONDITIONS = ("age >= 65", "poor", "true")
SHARES = st.decimals("0.001", "0.999", places=6).map(float)
PRICES = st.fractions(Fraction(1, 1000), 10**6, max_denominator=1000)
NUMBERS = st.integers(1, 10**9) | st.floats(0.001, 1e9)
GOALS = st.one_of(
    st.fixed_dictionaries({"epsilon": PRICES}),
    st.fixed_dictionaries({"within": SHARES, "at_most": PRICES}),
    st.fixed_dictionaries({"within": SHARES, "guess": NUMBERS}),
    st.fixed_dictionaries({"error": NUMBERS}),
)
TABLE_GOALS = st.one_of(
    GOALS,
    st.fixed_dictionaries({"rho": PRICES, "noise": st.sampled_from([None, DiscreteGaussian])}),
    st.fixed_dictionaries({"epsilon": PRICES, "delta": st.just(Fraction(1, 10**7)), "noise": st.just(DiscreteLaplace)}),
    st.fixed_dictionaries({"within": SHARES, "at_most": PRICES, "of": st.just("90%-of-cells")}),
)
KEYS = st.lists(st.builds(TypedKey, st.none() | st.text(max_size=5), st.just(True)), min_size=1, max_size=4)  # noqa: FBT003
COUNTS = st.fixed_dictionaries({"wheres": st.sampled_from(CONDITIONS).map(lambda where: [where])})
LISTS = st.fixed_dictionaries(
    {"wheres": st.lists(st.sampled_from(CONDITIONS), min_size=1, unique=True), "is_list": st.just(True)}  # noqa: FBT003
)
TABLES = st.fixed_dictionaries(
    {
        "wheres": st.lists(st.sampled_from(CONDITIONS), max_size=1),
        "by": st.just((ColumnGrouping("my, town"), ColumnGrouping("age", "0,18"))),
        "keys": st.none() | st.dictionaries(st.sampled_from(["my, town", "age"]), KEYS, min_size=1),
        "margins": st.sampled_from([(), ("total",), ("my town*age", "total")]),
        "other": st.booleans(),
        "cumulative": st.booleans(),
        "groups_per_unit": st.none() | st.integers(1, 9),
    }
)


@given(st.tuples(COUNTS, GOALS) | st.tuples(LISTS | TABLES, TABLE_GOALS), SHARES)
def test_every_query_comes_back_from_json(parts: tuple[dict[str, Any], dict[str, Any]], confidence: float) -> None:
    """A query that is sent as text and read again equals itself."""
    query = Query(**parts[0], **parts[1], confidence=confidence)
    assert Query.from_json(json.loads(json.dumps(query.to_json()))) == query


@pytest.mark.parametrize(
    "parts",
    [
        {"wheres": ["age >= 65"], "epsilon": 0.1},
        {"wheres": ["age >= 65"], "is_list": True, "epsilon": "1/3"},
        {"wheres": ["age >= 65"], "error": Fraction(25, 2)},
        {"wheres": ["age >= 65"], "within": Fraction(1, 5), "guess": Fraction(100)},
        {"wheres": ["age >= 65", "town = 'b'"], "is_list": True, "within": 0.2, "at_most": 2},
        {"by": "town", "keys": {"town": ["a", None, "1..3"]}, "epsilon": 1},
        {"by": ["town", "age:0,18"], "keys": {"town": ["a"]}, "margins": [["town"], []], "epsilon": 1},
        {"by": ["town", "age:0,18"], "keys": {"town": ["a"]}, "margins": "all", "epsilon": 1, "wheres": ["age > 3"]},
    ],
)
def test_a_query_of_python_has_the_same_meaning_after_json(parts: dict[str, Any]) -> None:
    """The conditions, the keys, the noise and the price are equal, whatever types Python used."""
    query, columns = Query(**parts), {"town": Kind.TEXT, "age": Kind.INTEGER}
    plans = [plan_of(each, columns, None, is_replacement=False) for each in (query, Query.from_json(query.to_json()))]
    assert type(plans[0]) is type(plans[1])
    assert plans[0].facts == plans[1].facts
    assert (plans[0].noise, plans[0].goal, plans[0].where) == (plans[1].noise, plans[1].goal, plans[1].where)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"by": "town", "keys": ["a", "b"]}, "^keys must be listed by column in JSON, not cell by cell"),
        ({"by": "age", "keys": {"age": [TypedKey("1..5")]}}, "^keys of age have the range 1..5: list each key in JSON"),
        ({"by": ["a,b", "c"], "margins": ["a,b"]}, "^margins must be names without commas in JSON, not 'a,b'"),
        ({"error": Fraction(1, 3)}, "^error must be a decimal number in JSON, not 1/3"),
        ({"within": Fraction(1, 3), "at_most": 1}, "^within must be a decimal number in JSON, not 1/3"),
    ],
)
def test_what_json_cannot_state_is_refused(parts: dict[str, Any], message: str) -> None:
    """Nothing is left out or changed in silence."""
    with pytest.raises(ValueError, match=message):
        Query(**parts).to_json()
