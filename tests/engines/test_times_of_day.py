"""Columns of times of day, compared with times of day: the counts of every engine are those of Python."""

from collections.abc import Callable
from datetime import time
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.engines.duckdb.frames import FrameSource
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.interface import CheckedSource
from noisycount.engines.sql.source import SqlSource
from noisycount.errors import PredicateError
from noisycount.query.language import parse
from noisycount.query.normal_form import parse_predicate
from noisycount.query.schema import Kind
from noisycount.release.text_orders import reading_hints, text_order_refusals
from tests.helpers.server_tables import made_by, place_of
from tests.helpers.sources import database

CELLS = [
    *(time(8, 30), time(8, 29, 59, 999999), time(8, 30, 0, 500000), time(8, 30, 0, 1), time(9, 5), time(0, 0)),
    *(time(23, 59, 59, 999999), time(12, 0), time(17, 5, 9, 250000), time(17, 5, 9), None),
]
ARROW = pd.ArrowDtype(pa.time64("us"))
TABLE = pa.table({"seen": pa.array(CELLS, pa.time64("us"))})


def of_duckdb(folder: Path) -> CheckedSource:
    """The times in a DuckDB file."""
    with database(folder / "a.duckdb") as connection:
        connection.register("times", TABLE)
        connection.execute("CREATE TABLE a AS FROM times")
    return DuckDBSource.open(folder / "a.duckdb")


def of_parquet(folder: Path) -> CheckedSource:
    """The times in a Parquet file."""
    pq.write_table(TABLE, folder / "a.parquet")
    return DuckDBSource.open(folder / "a.parquet")


OPENED: dict[str, Callable[[Path], CheckedSource]] = {
    "parquet": of_parquet,
    "duckdb": of_duckdb,
    "arrow": lambda _: FrameSource.open(TABLE, unit=None),
    "pandas": lambda _: FrameSource.open(pd.DataFrame({"seen": pd.array(CELLS, ARROW)}), unit=None),
}
NOON, HALF = time(12, 0), time(8, 30)
ASKED: dict[str, Callable[[time], bool]] = {
    "seen >= '08:30'": lambda cell: cell >= HALF,
    "seen < '08:30'": lambda cell: cell < HALF,
    "not seen < '08:30'": lambda cell: cell >= HALF,
    "seen <= '08:30:00'": lambda cell: cell <= HALF,
    "seen > '08:30:00'": lambda cell: cell > HALF,
    "seen = '08:30:00'": lambda cell: cell == HALF,
    "seen between '08:30:00' and '12:00:00'": lambda cell: HALF <= cell <= NOON,
    "seen > '08:30:00.5'": lambda cell: cell > time(8, 30, 0, 500000),
    "seen >= '17:05:09.25'": lambda cell: cell >= time(17, 5, 9, 250000),
    "seen >= '12:00' and seen < '24:00'": lambda cell: cell >= NOON,
}
REFUSED = {
    "seen <= '08:30'": "seen <= '08:30:00'",
    "seen > '8:30'": "seen > '08:30:00'",
    "seen >= '8:30'": "seen >= '08:30:00'",
    "not seen >= '9:05:00'": "seen < '09:05:00'",
    "seen between '08:30' and '12:00'": "seen between '08:30:00' and '12:00:00'",
    "seen > '1:30 PM'": "seen > '13:30:00'",
    "seen > '12:05 a.m.'": "seen > '00:05:00'",
    "seen > '08:30:00.50'": "seen > '08:30:00.5'",
    "seen > '25:00'": "seen > …",
}


@pytest.fixture(params=[*OPENED, "postgresql"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> CheckedSource:
    """The times in one kind of source."""
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
        table = made_by(server, "seen time", *(f"('{cell}')" if cell else "(NULL)" for cell in CELLS))
        return SqlSource.open(place_of(server, table), unit=None, columns=None)
    return OPENED[request.param](tmp_path)


def test_times_of_day_are_compared_as_times(source: CheckedSource) -> None:
    """With every operator, and with fractions of a second; each question is admitted."""
    given = [cell for cell in CELLS if cell is not None]
    with source:
        asked = [parse_predicate(where, source.schema).normal for where in ASKED]
        assert text_order_refusals(asked) == []
        assert source.count(asked) == [sum(map(test, given)) for test in ASKED.values()]


@pytest.mark.parametrize("where", REFUSED)
def test_a_refused_time_of_day_has_a_remedy_that_is_answered(where: str) -> None:
    """A time whose text order is not its time order is refused with a form that is accepted."""
    schema = {"seen": Kind.TEXT}
    (refusal,) = text_order_refusals([parse_predicate(where, schema).normal])
    remedy = refusal.rpartition("columns of them, ")[2]
    assert remedy == REFUSED[where]
    if "…" not in remedy:
        admitted = [parse(remedy, schema)]
        assert text_order_refusals(admitted) == []
        assert "are ordered as times only if written so" in reading_hints(admitted)[0]


def test_equality_with_a_time_of_day_has_a_hint() -> None:
    """A column of times has seconds: 08:30 is equal to none of its texts."""
    for where, hints in (("seen = '08:30'", 1), ("seen in ('08:30', 'x')", 1), ("seen = '08:30:00'", 0)):
        assert len(reading_hints([parse(where, {"seen": Kind.TEXT})])) == hints


def test_times_in_nanoseconds_are_refused_with_a_remedy() -> None:
    """As Polars has them; the same times in microseconds are compared."""
    refusal = "type time_ns no question can use until its owner stores it in microseconds or as texts"
    with FrameSource.open(pl.DataFrame(TABLE), unit=None) as source, pytest.raises(PredicateError, match=refusal):
        parse("seen >= '08:30'", source.schema)
