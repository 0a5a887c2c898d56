"""Numbers with more digits than a real keeps: refused, or answered with a hint, by schema and question alone."""

import pytest

from noisycount.errors import PredicateError
from noisycount.query.language import parse
from noisycount.query.normal_form import parse_predicate
from noisycount.query.predicate import canonical_text
from noisycount.query.schema import Kind
from noisycount.release.text_orders import reading_hints

SCHEMA = {"dose": Kind.REAL, "age": Kind.INTEGER, "code": Kind.TEXT}
REFUSED = {
    **dict.fromkeys(
        [
            *(
                "dose = 9007199254740993",
                "dose <> 9007199254740993",
                "9007199254740993 = dose",
                "dose = -9007199254740993",
            ),
            *("dose in (1, 9007199254740993)", "dose not in (9007199254740993)", "dose > 9007199254740993"),
            *("dose between 0 and 9007199254740993", "number(code) = 9007199254740993", "dose = 9007199254740993.0"),
        ],
        "write 9007199254740992 for",
    ),
    "dose >= 0.12345678901234567891": "write 0.12345678901234568 for",
    "dose = 3.14159265358979323846": "write 3.141592653589793 for",
    "age = 9007199254740993.0": "without a point",
    "age in (1.5, 9007199254740993)": "without a point",
    "age between 0.5 and 9007199254740993": "without a point",
}
HINTED = ["dose = 9007199254740992", "not dose <> 1e17", "dose in (1, 9007199254740994)", "age = 9007199254740994.0"]
ANSWERED = [
    *("dose = 9007199254740991", "dose = 0.1", "dose in (0.30000000000000004, 5e-324)", "dose > 9007199254740992"),
    *("dose between 0 and 1e300", "dose = 1.50", "age = 9007199254740993", "age in (1, 9007199254740993)", "age > 1.5"),
    *("dose > 1e-400", "code = '9007199254740993'"),
]


@pytest.mark.parametrize("where", REFUSED)
def test_numbers_that_no_real_holds_are_refused_beside_reals(where: str) -> None:
    """The refusal has the number to write; that question is answered."""
    with pytest.raises(PredicateError, match="of which a real keeps about 15 digits") as caught:
        parse(where, SCHEMA)
    assert REFUSED[where] in str(caught.value)


@pytest.mark.parametrize("where", HINTED)
def test_equality_with_large_reals_has_a_hint(where: str) -> None:
    """Above 2^53 other whole numbers are the same real."""
    normal = parse_predicate(where, SCHEMA).normal
    (hint,) = reading_hints([normal])
    assert "keeps about 15 digits: other whole numbers near" in hint
    assert parse(canonical_text(normal), SCHEMA) == normal  # as ledgers hold it


@pytest.mark.parametrize("where", ANSWERED)
def test_other_numbers_are_compared_as_before(where: str) -> None:
    """Numbers that a real can hold, and orders of large ones, need no hint."""
    normal = parse_predicate(where, SCHEMA).normal
    assert reading_hints([normal]) == []
    assert parse(canonical_text(normal), SCHEMA) == normal
