"""An additional record, however odd, moves a count by at most 1, also if NaN is declared missing."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from noisycount.engines.conformance.records import CELLS, MIXED, PERSON, Draws, mixed_records
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import CheckedSource
from noisycount.engines.sql.source import SqlSource
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.helpers.server_tables import table_of
from tests.helpers.sources import write_parquet

Record = Mapping[str, object]
Opened = Callable[[Sequence[Record], str | None], CheckedSource]
ODD = 264
STEP = 12  # of so many odd records one is taken; all of them take a minute a source, with STEP = 1
SCHEMA = {name: kind for name, kind in MIXED.items() if name != PERSON}
MISSING = {name: ColumnFormat(Kind.REAL, nan="missing") for name, kind in SCHEMA.items() if kind is Kind.REAL}
ASKED = [
    *(
        "integer_a > 30",
        "integer_a = integer_b",
        "not integer_a <= 0.5",
        "real_a > 65",
        "real_a = real_b",
        "real_a is null",
    ),
    *("not (real_a < 0 or real_b < 0)", "integer_a < real_a", "real_a in (0, 1)", "text_a >= 'a'", "text_a = text_b"),
    *("text_a like '%a%'", "not text_a like '_'", "text_a is null", "boolean_a", "boolean_a = boolean_b"),
    *("date_a >= '2020-01-31'", "date_a between '0001-01-01' and '1970-01-01'", "not date_a = date_b"),
    *("timestamp_a >= '2020-01-31 12:00:00'", "timestamp_a = timestamp_b", "timestamp_a is null or real_b is null"),
    *("true", "not (text_a = 'a' and real_a <> 1)"),
]
QUESTIONS = [parse(text, SCHEMA) for text in ASKED]


def without_nul(record: Record) -> Record:
    """A record that every engine can hold."""
    return {name: None if isinstance(cell, str) and "\0" in cell else cell for name, cell in record.items()}


def odd_records() -> list[Record]:
    """Records of a new person, or of one who has others, with any cell in each column."""
    draws = Draws("odd records")
    return [
        without_nul(
            {
                PERSON: draws.one_of([1, 10**6]),
                **{name: draws.one_of([*CELLS[kind], None]) for name, kind in SCHEMA.items()},
            }
        )
        for _ in range(ODD)
    ]


@pytest.fixture(params=["parquet", "postgresql"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Open records as one kind of source, in which the owner states that NaN is missing."""
    if request.param == "postgresql":
        placed = partial(table_of, request.getfixturevalue("postgresql"))
        return lambda records, unit: SqlSource.open(placed(records, MIXED), unit=unit, columns=None, kinds=MISSING)

    def of_parquet(records: Sequence[Record], unit: str | None) -> CheckedSource:
        path = tmp_path / "records.parquet"
        write_parquet(path, records, MIXED)
        return DuckDBSource.open(path, unit=unit, kinds=MISSING)

    return of_parquet


def counted(opened: Opened, records: Sequence[Record], unit: str | None) -> tuple[Mapping[str, Kind], list[int]]:
    """Return the schema, which decides about refusals, and the counts."""
    with opened(records, unit) as source:
        return dict(source.schema), source.count(QUESTIONS)


@pytest.mark.thorough
def test_one_odd_record_moves_a_count_by_one_at_most_and_no_refusal(opened: Opened) -> None:
    """By rows and by persons, of records with the extremes of every kind."""
    base = [*map(without_nul, mixed_records())]
    for unit in (None, PERSON):
        schema, before = counted(opened, base, unit)
        moved = set()
        for odd in odd_records()[::STEP]:
            with_odd, after = counted(opened, [*base, odd], unit)
            assert dict(with_odd) == dict(schema)
            steps = [new - old for new, old in zip(after, before, strict=True)]
            assert {*steps} <= {0, 1}, odd
            moved |= {*steps}
        assert moved == {0, 1}
