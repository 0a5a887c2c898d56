import pytest

from noisycount.errors import PredicateError
from noisycount.model.tables.table_labels import Label
from noisycount.query.key_sets import Word, values_of
from noisycount.query.query import items, keys_of_column
from noisycount.query.schema import Kind
from noisycount.readers.values import parse_margins


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
    assert [item.text for item in items(text)] == expected


@pytest.mark.parametrize("text", ["", ",", "a,,b", "a,", "x:week", "age:", "age:a,b", '"a'])
def test_what_is_no_item_is_refused(text: str) -> None:
    """With an example."""
    with pytest.raises(ValueError, match="such as"):
        items(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("town=a,b", [Word("a"), Word("b")]),
        ("town= a b , c", [Word("a b"), Word("c")]),
        ("town='a,b',null,'null'", [Word("a,b", True), Word(None), Word("null", True)]),  # noqa: FBT003
        ("town='it''s',O'Brien,''", [Word("it's", True), Word("O'Brien"), Word("", True)]),  # noqa: FBT003
        ('"town"=NULL', [Word(None)]),
    ],
)
def test_keys_are_read_as_they_are_meant(text: str, expected: list[Word]) -> None:
    """Bare null is the missing value; quotes hide commas, and quotes when doubled."""
    assert keys_of_column(text) == ("town", expected)


@pytest.mark.parametrize("text", ["town", "=a", "town=", "town=a,,b", "town=a,", "town='a'b", ""])
def test_what_are_no_keys_is_refused(text: str) -> None:
    """No key is left out in silence."""
    with pytest.raises(ValueError, match="must"):
        keys_of_column(text)


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
    assert values_of("column", kind, [Word(text)]) == expected


@pytest.mark.parametrize("text", ["3..1", "a..b", "2026-01..2026-Q3", "1..2026-01", "1..2000000"])
def test_ranges_that_are_none_are_refused(text: str) -> None:
    """Those that fall, mix two kinds, or are longer than any table."""
    with pytest.raises(PredicateError, match="keys of year"):
        values_of("year", Kind.INTEGER, [Word(text)])


def test_quotes_keep_a_range_together() -> None:
    """And what is quoted is the key itself, which the table then refuses by its kind."""
    assert values_of("year", Kind.INTEGER, [Word("1..3", is_quoted=True)]) == ["1..3"]


def test_margins_are_names() -> None:
    """An empty one is refused."""
    assert parse_margins("total, town*sex") == ["total", "town*sex"]
    with pytest.raises(ValueError, match="must name margins"):
        parse_margins("total,")


def test_long_range_is_refused_at_once() -> None:
    """No memory and no time is spent on keys that no table can have."""
    with pytest.raises(PredicateError, match="more than"):
        values_of("year", Kind.INTEGER, [Word("0..9223372036854775807")])
