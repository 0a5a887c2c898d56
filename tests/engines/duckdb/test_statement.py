"""The text that DuckDB is asked: every value is bound, and every operand looked at."""

import pytest

from noisycount.engines.counts import count_statement, keys_statement
from noisycount.engines.dialect import text_of
from noisycount.engines.duckdb.dialect import DUCKDB, records_of
from noisycount.query.grouping import EachValue, KeyQuestion, NumberRanges
from noisycount.query.language import parse
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind, Schema

SCHEMA = Schema({"who": Kind.INTEGER, "age": Kind.INTEGER, "town": Kind.TEXT})
WHERE = parse("age > 31234 and town = 'canary' and town like 'canary%'", SCHEMA)


@pytest.mark.parametrize("unit", [None, "who"])
def test_no_value_is_a_part_of_the_text(unit: str | None) -> None:
    """Neither a literal of a question, nor an edge, nor a salt; each is bound by a name."""
    records = records_of(unit, SCHEMA)
    parts = [
        EachValue(Column("town", Kind.TEXT)),
        NumberRanges(Column("age", Kind.INTEGER), (31234, 31235)),
        NumberRanges(Column("who", Kind.INTEGER), tuple(range(31234, 31334))),
    ]
    most = None if unit is None else 2
    for statement in (
        count_statement([WHERE], records),
        keys_statement(KeyQuestion(parts, WHERE, most, "canary"), records),
    ):
        text, values = text_of(statement, DUCKDB)
        assert "canary" not in text
        assert "312" not in text
        assert {31234, "canary", "canary%"} <= {v for v in values.values() if type(v) is not list}
        assert all(f"${name}" in text for name in values)


@pytest.mark.parametrize("unit", [None, "who"])
def test_every_operand_of_and_is_looked_at(unit: str | None) -> None:
    """As bits of numbers: AND would skip the others where the first is false."""
    text, _ = text_of(count_statement([WHERE], records_of(unit, SCHEMA)), DUCKDB)
    assert text.count(" & ") == 2
    assert " AND " not in text
    assert "WHERE" not in text


def test_the_statement_has_nothing_that_costs_and_says_nothing() -> None:
    """A range is one BETWEEN, which takes a third less than two comparisons; no condition always holds."""
    between = count_statement([parse("age between 31 and 32", SCHEMA)], records_of(None, SCHEMA))
    text, _ = text_of(between, DUCKDB)
    assert '"age" BETWEEN' in text
    assert " & " not in text
    by_town = KeyQuestion([EachValue(Column("town", Kind.TEXT))], None)
    for unit, selects in ((None, 2), ("who", 3)):
        text, _ = text_of(keys_statement(by_town, records_of(unit, SCHEMA)), DUCKDB)
        assert "0 > 0" not in text
        assert text.count("SELECT") == selects
