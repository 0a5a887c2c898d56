"""264 records with a cell beyond the usual, such as days beyond those of Python: counts and tables of typed sources."""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from itertools import count, cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.engines.duckdb.frames import FrameSource
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.interface import Source
from noisycount.engines.sql.source import SqlSource
from noisycount.errors import PredicateError, SourceError
from noisycount.query.grouping import EachValue, KeyQuestion
from noisycount.query.language import parse
from noisycount.query.predicate import Column, Predicate
from noisycount.query.schema import Kind
from tests.helpers.cases import share_of
from tests.helpers.frames import ARROW_TYPES
from tests.helpers.predicate_grammar import DIRTY, RANDOM_VALUES, dirty_records, predicate_text
from tests.helpers.server_tables import TYPES, made_by, place_of
from tests.helpers.sources import Record

if TYPE_CHECKING:
    import psycopg

    from tests.helpers.postgresql import Server

PERSON = "person"
SCHEMA = {PERSON: Kind.TEXT, **DIRTY}
EACH = 22  # odd values of each of 12 columns: 264 records
CHANCE = random.Random(264)  # noqa: S311 - repeatable, not secret
MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - columns have no zone
DAYS = [0, -1, 1, 2**31 - 1, -(2**31), 2**31 - 2, -(2**31) + 1, -719_163, -719_528, 2_932_896, 2_932_897, -2_440_589]
MOMENTS = [0, -1, 1, 2**63 - 1, -(2**63) + 1, 2**63 - 2, -(2**63) + 2, -62_135_596_800_000_001, 253_402_300_800_000_000]
# Days and times are numbers since 1970 where they are beyond those of Python.
ODD: Mapping[Kind, Sequence[object]] = {
    Kind.INTEGER: [None, 0, -1, 2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1, 2**31, -(2**31) - 1, 10**18 - 1],
    Kind.REAL: [None, math.nan, math.inf, -math.inf, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, 2.0**63, 0.1 + 0.2],
    Kind.TEXT: [
        *(None, "", " ", "\n", "\t\r\n", "\x01", "\x7f", "\u200b", "\ufeff", "\u202e", "e\u0301", "İ", "z\U0010ffff"),
        *("'", '"', "\\", "%_", "null", "NaN", "'; DROP TABLE records; --", "a" * 100_000, "\ud7ff\ue000"),
    ],
    Kind.BOOLEAN: [None, True, False],
    Kind.DATE: [None, date.min, date.max, date(2020, 2, 29), *DAYS],
    Kind.TIMESTAMP: [None, datetime.min, datetime.max, *MOMENTS],  # noqa: DTZ901 - columns have no zone
}
OF_POSTGRESQL = {  # which has other days and times beyond those of Python
    **ODD,
    Kind.DATE: ["infinity", "-infinity", "4713-11-24 BC", "5874897-12-31", "0001-12-31 BC", "10000-01-01", date.max],
    Kind.TIMESTAMP: ["infinity", "-infinity", "4713-11-24 00:00 BC", "294276-12-31 23:59:59.999999", "10000-01-01"],
}
NOBODY = dict.fromkeys(SCHEMA)
BASE: list[Record] = [{**NOBODY, PERSON: f"p{n // 2}", **each} for n, each in enumerate(dirty_records(30, CHANCE))]


def quoted(name: str) -> str:
    """The name of a column as questions and PostgreSQL write it."""
    return '"' + name.replace('"', '""') + '"'


def questions(name: str) -> list[Predicate]:
    """Predicates over a column and two others, some of them about odd values."""
    schema = {each: DIRTY[each] for each in (name, "health", "age")}
    asked = [parse(text, schema) for text in ("true", f"{quoted(name)} is null")]
    while len(asked) < 12:
        try:
            asked.append(parse(predicate_text(schema, CHANCE, odd=0.2), schema))
        except PredicateError:
            continue
    return asked


def odd_records(odd: Mapping[Kind, Sequence[object]]) -> Iterator[tuple[str, list[Record]]]:
    """The columns, each with records that are odd in it: half of them are of a person who has others."""
    persons = (f"p{n}" if n % 2 else f"new {n}" for n in count())
    for name, kind in DIRTY.items():
        others = (RANDOM_VALUES[kind](CHANCE) for _ in cycle([0]))
        values = [*odd[kind], *islice(others, EACH)][:EACH]
        yield name, [{**NOBODY, PERSON: next(persons), name: value} for value in values]


def counts(source: Source, asked: Sequence[Predicate]) -> tuple[list[int], dict[Any, int]]:
    """The counts of questions, and of a table of hidden keys in which each person has one cell."""
    table = KeyQuestion((EachValue(Column("health", Kind.TEXT)),), None, 1, "salt")
    parts = list(source.count_keys(table))
    cells = [cell for part in parts for cell in zip(part.keys, map(int, part.counts), strict=True)]
    return source.count(asked), dict(cells)


def arrow(records: Sequence[Record]) -> pa.Table:
    """Records as a table of Arrow, with days and times beyond those of Python."""
    columns = {}
    for name in records[0]:
        kind, cells = SCHEMA[name], [record[name] for record in records]
        if kind is Kind.DATE:
            days = [(cell - EPOCH.date()).days if isinstance(cell, date) else cell for cell in cells]
            columns[name] = pa.array(days, pa.int32()).view(pa.date32())
        elif kind is Kind.TIMESTAMP:
            moments = [(cell - EPOCH) // MICROSECOND if isinstance(cell, datetime) else cell for cell in cells]
            columns[name] = pa.array(moments, pa.int64()).view(pa.timestamp("us"))
        else:
            columns[name] = pa.array(cells, ARROW_TYPES[kind])
    return pa.table(columns)


def pandas(records: Sequence[Record]) -> pd.DataFrame:
    """Records as a frame of pandas; a day is a value of Arrow there."""
    table, columns = arrow(records), {}
    for name in records[0]:
        kind, cells = SCHEMA[name], table[name].combine_chunks()
        if kind is Kind.DATE:
            columns[name] = pd.Series(pd.arrays.ArrowExtensionArray(cells))  # type: ignore[attr-defined]  # of pandas
        elif kind is Kind.TIMESTAMP:
            moments = cells.view(pa.int64()).fill_null(np.iinfo("i8").min).to_numpy()
            columns[name] = pd.Series(moments.view("M8[us]"))
        else:
            types = {Kind.INTEGER: "Int64", Kind.REAL: "float64", Kind.BOOLEAN: "boolean", Kind.TEXT: "str"}
            columns[name] = pd.Series([record[name] for record in records], dtype=types[kind])
    return pd.DataFrame(columns)


FRAMES: dict[str, Callable[[Sequence[Record]], object]] = {
    "arrow": arrow,
    "polars": lambda records: pl.DataFrame(arrow(records)),
    "pandas": pandas,
}


def insert(shell: "psycopg.Connection", table: str, record: Record) -> None:
    """Insert a record, of which each cell is a text that PostgreSQL reads."""
    marks = ", ".join(f"%s::text::{TYPES[kind]}" for kind in SCHEMA.values())
    cells = [None if cell is None else str(cell) for cell in record.values()]
    shell.execute(f"INSERT INTO {table} VALUES ({marks})".encode(), cells)  # noqa: S608 - our own text


def require_one_more(before: tuple[list[int], dict[Any, int]], after: tuple[list[int], dict[Any, int]]) -> None:
    """No count moves by more than 1; of a table, no more than one cell does, or a person moves from one to another."""
    assert all(abs(one - other) <= 1 for one, other in zip(before[0], after[0], strict=True))
    moved = {key: after[1].get(key, 0) - before[1].get(key, 0) for key in before[1] | after[1]}
    assert sum(map(abs, moved.values())) <= 2
    assert sum(moved.values()) in {0, 1}


Opening = Callable[[Record | None, Sequence[str]], Any]


@pytest.fixture(params=["parquet", *FRAMES, "postgresql"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """Open the records, with one odd record more or none."""
    if request.param == "postgresql":
        server: Server = request.getfixturevalue("postgresql")
        table = made_by(server, ", ".join(f"{quoted(name)} {TYPES[kind]}" for name, kind in SCHEMA.items()))
        with server.shell("postgres") as shell:
            for record in BASE:
                insert(shell, table, record)

        @contextmanager
        def opened(record: Record | None, columns: Sequence[str]) -> Iterator[Source]:
            with server.shell("postgres") as shell:
                if record is not None:
                    insert(shell, table, record)
                try:
                    with SqlSource.open(place_of(server, table), unit=PERSON, columns=columns[1:]) as source:
                        yield source
                finally:
                    if record is not None:
                        last = f"(SELECT max(ctid) FROM {table})"  # noqa: S608 - our own text
                        shell.execute(f"DELETE FROM {table} WHERE ctid = {last}".encode())  # noqa: S608 - as above

        return opened

    def opened_here(record: Record | None, columns: Sequence[str]) -> Source:
        records = [{name: each[name] for name in columns} for each in ([*BASE, record] if record else BASE)]
        if request.param == "parquet":
            pq.write_table(arrow(records), tmp_path / "a.parquet")
            return DuckDBSource.open(tmp_path / "a.parquet", unit=PERSON)
        return FrameSource.open(FRAMES[request.param](records), unit=PERSON)

    return opened_here


@pytest.mark.thorough(minutes=1)
def test_an_odd_record_moves_no_count_by_more_than_one(opening: Opening, request: pytest.FixtureRequest) -> None:
    """Of 264 records, a fourth of them in a landing, each odd in one column; no question is refused."""
    is_server = "postgresql" in request.node.callspec.id
    tried = 0
    for name, records in odd_records(OF_POSTGRESQL if is_server else ODD):
        asked, columns = questions(name), (PERSON, *dict.fromkeys((name, "health", "age")))
        with opening(None, columns) as source:
            before, schema = counts(source, asked), dict(source.schema)
        for record in share_of(records):
            with opening(record, columns) as source:
                assert dict(source.schema) == schema, name
                require_one_more(before, counts(source, asked))
            tried += 1
    assert tried == 12 * len(share_of(range(EACH)))


@pytest.mark.thorough
@pytest.mark.always
def test_a_record_without_a_person_is_refused_by_the_name_of_the_column(opening: Opening) -> None:
    """The refusal quotes no cell, and is the same whatever the record has."""
    messages = set()
    for _, (first, *_) in odd_records(ODD):
        with pytest.raises(SourceError) as caught, opening({**first, PERSON: None}, tuple(SCHEMA)):
            pass
        messages.add(str(caught.value))
    assert len(messages) == 1
    assert "unit column 'person' has missing values" in messages.pop()


def test_a_record_that_moves_more_is_found() -> None:
    """The comparison above can fail: of one count, of two cells, and of a cell that two persons joined."""
    before = ([5], {("a",): 2, ("b",): 3})
    for after in (([7], before[1]), ([5], {("a",): 3, ("b",): 4}), ([5], {("a",): 4, ("b",): 1}), ([5], {})):
        with pytest.raises(AssertionError):
            require_one_more(before, after)
    require_one_more(before, ([4], {("a",): 1, ("b",): 4}))
