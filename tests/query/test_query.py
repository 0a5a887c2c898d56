from typing import Any

import pytest

from noisycount.errors import PredicateError
from noisycount.model.tables.levels import Label
from noisycount.query.query import Query
from noisycount.query.schema import Kind
from noisycount.query.typed import TypedKey, expand_keys, parse_by_text, parse_column_keys, parse_margins


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
    """Those that fall, mix two kinds, or are longer than any table: at once, however long."""
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
    """One line that tells which it is, and what would do."""
    with pytest.raises(ValueError, match=message):
        Query.from_json(said)
