import pytest

from noisycount.errors import PredicateError
from noisycount.query.schema import Kind
from noisycount.query.table import parts_of

SCHEMA = {
    "town": Kind.TEXT,
    "age": Kind.INTEGER,
    "cost": Kind.REAL,
    "visit": Kind.DATE,
    "poor": Kind.BOOLEAN,
    "a,b": Kind.TEXT,
    "x:month": Kind.TEXT,
}


@pytest.mark.parametrize(
    ("by", "texts"),
    [
        ("town", ["town"]),
        ("town,poor", ["town", "poor"]),
        (" town , poor ", ["town", "poor"]),
        (["town", "poor"], ["town", "poor"]),
        ("age:0,18,65", ["age:0,18,65"]),
        ("age:0,18,65,town", ["age:0,18,65", "town"]),
        ("town,age:-5,0,visit:month", ["town", "age:-5,0", "visit:month"]),
        ("cost:0,2.5,1e3", ["cost:0,2.5,1000"]),
        ("visit:YEAR", ["visit:year"]),
        ("a,b", ["a,b"]),
        (["a,b", "town"], ["a,b", "town"]),
        ("x:month", ["x:month"]),
    ],
)
def test_columns_edges_and_periods_are_told_apart(by: str | list[str], texts: list[str]) -> None:
    """Numbers after edges belong to them; a name that has commas or colons is a name."""
    assert [part.text for part in parts_of(by, SCHEMA, None)] == texts


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("", "empty name"),
        ("town,,poor", "empty name"),
        ([], "1 to 8"),
        ("twon", "'town'"),
        ("town,town", "twice"),
        ("town,age:0,18,age:0,65", "twice"),
        ("person", "the unit"),
        ("person:0,1", "the unit"),
        ("age:", "edges"),
        ("age:old", "edges"),
        ("age:0,1.5", "write edges"),
        ("age:18,0", "rise"),
        ("town:0,1", "numbers"),
        ("town:month", "dates"),
        ("cost", "few are equal"),
        ([3], "names of columns"),
    ],
)
def test_what_is_no_part_is_refused_in_one_line(by: str | list[str], words: str) -> None:
    """The refusal names what is wrong and how to mend it."""
    with pytest.raises(PredicateError, match=words) as refused:
        parts_of(by, SCHEMA, "person")
    assert "\n" not in str(refused.value)
