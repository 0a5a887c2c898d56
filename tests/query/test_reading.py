"""A question that is remembered is read as if it were not."""

import pytest

from noisycount.errors import PredicateError
from noisycount.query.normal_form import normal_form, read
from noisycount.query.parser import parse
from noisycount.query.predicate import canonical_text
from noisycount.query.schema import Kind, Schema

SCHEMA = Schema({"age": Kind.REAL, "Town": Kind.TEXT})


@pytest.mark.parametrize(
    "text", ["age >= 0.0", "age >= -0.0", "age >= 0", "AGE >= 0", "not town = 'x'", "town = 'X'"]
)
def test_a_text_is_read_as_it_stands(text: str) -> None:
    """However often, and whatever like it was read before."""
    asked = parse(text, SCHEMA)
    for _ in range(3):
        found = read(text, SCHEMA)
        assert repr((found.asked, found.normal)) == repr((asked, normal_form(asked)))


def test_another_schema_is_another_question() -> None:
    """Also one that compares equal: what else exists decides which refusal is told."""
    other = Schema(SCHEMA.kinds, {"scan": "blob"})
    assert other == SCHEMA
    assert "integer" in repr(read("age >= 1", Schema({"age": Kind.INTEGER})).normal).lower()
    assert "real" in repr(read("age >= 1", SCHEMA).normal).lower()
    with pytest.raises(PredicateError, match="scan") as told:
        read("scan = 1", other)
    with pytest.raises(PredicateError) as plain:
        read("scan = 1", SCHEMA)
    assert str(told.value) != str(plain.value)


def test_a_schema_that_is_no_schema_is_made_one() -> None:
    """A mapping of names to kinds is enough."""
    assert canonical_text(read("age < 3", {"age": Kind.INTEGER}).normal) == "age < 3"
