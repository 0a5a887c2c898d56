"""The text that DuckDB is asked: every value is bound, and every operand looked at."""

import re
from itertools import product
from pathlib import Path

import pytest

from noisycount.engines.counts import count_statement, keys_statement
from noisycount.engines.dialect import text_of
from noisycount.engines.duckdb import dialect
from noisycount.engines.duckdb.dialect import DUCKDB, records_of
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.expressions import shape_of
from noisycount.engines.interface import Source
from noisycount.engines.memory import MemorySource
from noisycount.query.grouping import EachValue, Key, KeyQuestion, NumberRanges
from noisycount.query.language import parse
from noisycount.query.predicate import Column, Comparison, Literal, Membership, Operator
from noisycount.query.schema import Kind, Schema
from tests.helpers.sources import write_parquet

SCHEMA = Schema({"who": Kind.INTEGER, "age": Kind.INTEGER, "town": Kind.TEXT})
KIND_OF = {None: None, "who": Kind.INTEGER}
WHERE = parse("age > 31234 and town = 'canary' and town like 'canary%'", SCHEMA)


@pytest.mark.parametrize("unit", [None, "who"])
def test_no_value_is_a_part_of_the_text(unit: str | None) -> None:
    """Neither a literal of a question, nor an edge, nor a salt; each is bound by a name."""
    records = records_of(unit, KIND_OF[unit])
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
    text, _ = text_of(count_statement([WHERE], records_of(unit, KIND_OF[unit])), DUCKDB)
    assert text.count(" & ") == 2
    assert " AND " not in text
    assert "WHERE" not in text


def test_the_statement_has_nothing_that_costs_and_says_nothing() -> None:
    """A range is one BETWEEN, which takes a third less than two comparisons; no condition always holds."""
    between = count_statement([parse("age between 31 and 32", SCHEMA)], records_of(None, None))
    text, _ = text_of(between, DUCKDB)
    assert '"age" BETWEEN' in text
    assert " & " not in text
    by_town = KeyQuestion([EachValue(Column("town", Kind.TEXT))], None)
    for unit, selects in ((None, 2), ("who", 3)):
        text, _ = text_of(keys_statement(by_town, records_of(unit, KIND_OF[unit])), DUCKDB)
        assert "0 > 0" not in text
        assert text.count("SELECT") == selects


CELLS = [
    {"who": n % 3, "age": age, "town": town} for n, (age, town) in enumerate(product([30, 31, None], ["a", "\ue000"]))
]
OF_ONE_SHAPE = [
    ["age > 30", "age > 29", "age > 31", "age > 30.5"],
    ["age in (30, 31)", "age in (29, 30)", "age in (30.5, 31.0)"],
    ["not (age between 30 and 30 or town = 'a')", "not (age between 31 and 40 or town = 'b')"],
    ["age = 30 and town < 'b'", "age = 31 and town < '\uffff'"],
    ["town like 'a%'", "town like 'b%'", "town like '_'"],
]


@pytest.mark.thorough
@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("questions", OF_ONE_SHAPE)
def test_what_differs_in_its_values_alone_is_counted_by_one_text(
    questions: list[str], unit: str | None, tmp_path: Path
) -> None:
    """Each rightly, one by one, together, and by keys; patterns, other kinds and texts that no engine holds differ."""
    path, predicates = tmp_path / "records.parquet", [parse(each, SCHEMA) for each in questions]
    predicates += [Comparison(Column("town", Kind.TEXT), Operator.LESS, Literal(Kind.TEXT, "\ud800"))]
    write_parquet(path, CELLS, SCHEMA)
    by_age = [KeyQuestion([EachValue(Column("age", Kind.INTEGER))], each) for each in predicates]
    with DuckDBSource.open(path, unit=unit) as source, MemorySource(CELLS, SCHEMA, unit) as reference:
        counts = reference.count(predicates)
        for _ in range(2):
            assert [source.count([each])[0] for each in predicates] == counts
            assert source.count(predicates) == counts
            assert [_by_key(source, each) for each in by_age] == [_by_key(reference, each) for each in by_age]


def _by_key(source: Source, question: KeyQuestion) -> dict[tuple[Key, ...], int]:
    return {
        key: n
        for batch in source.count_keys(question)
        for key, n in zip(batch.keys, batch.counts.tolist(), strict=True)
    }


def test_a_text_is_written_once_for_all_questions_of_the_same_shapes(tmp_path: Path) -> None:
    """The cache holds a text for each combination of shapes, without values; long lists are compiled anew."""
    text_of_shapes = dialect._count_text_of_shapes  # noqa: SLF001 - what is cached
    write_parquet(tmp_path / "records.parquet", CELLS, SCHEMA)
    with DuckDBSource.open(tmp_path / "records.parquet") as source:
        text_of_shapes.cache_clear()
        for age in range(31000, 31005):
            source.count([parse(f"age > {age}", SCHEMA), parse(f"town = 'canary{age}'", SCHEMA)])
        assert text_of_shapes.cache_info().misses == 1
        source.count([Membership(Column("age", Kind.INTEGER), tuple(Literal(Kind.INTEGER, n) for n in range(500)))])
        assert text_of_shapes.cache_info().currsize == 1
    shape = shape_of(WHERE, values := [])
    assert values == [31234, "canary"]
    assert "31234" not in f"{shape} {text_of_shapes((shape,), None, None)}"


@pytest.mark.parametrize("unit", KIND_OF)
def test_a_scan_has_the_statement_of_the_engine_with_other_names_of_values(unit: str | None) -> None:
    """The text of the shapes differs from that of the predicates only in the names of its values."""
    wheres = [WHERE, parse("age between 31 and 32", SCHEMA), parse("not (town like 'a%' or age in (1, 2))", SCHEMA)]
    text, values = dialect.count_text(wheres, unit, KIND_OF[unit])
    compiled, compiled_values = text_of(count_statement(wheres, records_of(unit, KIND_OF[unit])), DUCKDB)
    names = re.compile(r"\$\w+")
    assert names.sub("$", text) == names.sub("$", compiled)
    in_order = [values[name[1:]] for name in names.findall(text)]
    assert in_order == [compiled_values[name[1:]] for name in names.findall(compiled)]


def test_a_column_may_look_like_a_value(tmp_path: Path) -> None:
    """A dollar, a brace or a quotation mark in the name of a column is no value."""
    name = '$value_0 "x" {0}'
    column = Column(name, Kind.INTEGER)
    write_parquet(tmp_path / "odd.parquet", [{name: n} for n in (1, 2, 3)], Schema({name: Kind.INTEGER}))
    with DuckDBSource.open(tmp_path / "odd.parquet") as source:
        more_than = [Comparison(column, Operator.MORE, Literal(Kind.INTEGER, n)) for n in (0, 1, 2)]
        assert source.count(more_than) == [3, 2, 1]
