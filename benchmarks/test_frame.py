"""Frames of ten million records, opened and counted, beside DuckDB on the same frames."""
# ruff: noqa: S608, as all SQL here is our own

import math
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from benchmarks.comparison import Comparison, Run, Show, medians, seconds, sized
from noisycount.engines.duckdb.frames import FrameSource
from noisycount.query.language import parse

ROUNDS = 9
RECORDS = sized(10**7, 10**4)
PERSONS = 3 * RECORDS // 10
HEALTH = ["best", "good", "fair", "poor", "worst"]
QUESTIONS = ["age >= 65", "bmi > 30 and not smoker", "seen >= '2020-01-05'"]
CATEGORIES = "age >= 65 and health = 'poor'"
LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "Arrow": pa.table,
    "Polars": lambda frame: pl.DataFrame(pa.table(frame)),
}


@pytest.fixture(scope="module")
def records() -> pd.DataFrame:
    """Ten million records of six columns."""
    draw = np.random.default_rng(13)
    start = np.datetime64("2020-01-01", "us")
    return pd.DataFrame(
        {
            "age": draw.integers(0, 100, RECORDS),
            "bmi": draw.normal(25, 4, RECORDS),
            "health": pd.Categorical.from_codes(draw.integers(0, 5, RECORDS), HEALTH),
            "smoker": draw.random(RECORDS) < 0.3,
            "person": draw.integers(0, PERSONS, RECORDS),
            "seen": start + draw.integers(0, 10**12, RECORDS).astype("m8[us]"),
        }
    )


@pytest.fixture(scope="module", params=LIBRARIES)
def frame(request: pytest.FixtureRequest, records: pd.DataFrame) -> tuple[str, Any]:
    """The records in each library."""
    return request.param, LIBRARIES[request.param](records)


def resident() -> int:
    """The memory of this process, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - no file of a disk
        return int(file.read().split()[1]) * 4096


def test_a_frame_is_opened_in_a_fifth_of_a_second_and_not_copied(show: Show, frame: tuple[str, Any]) -> None:
    """By rows, and by persons, none of whom may be missing; it holds 300 MB at least."""
    library, table = frame
    FrameSource.open(table[:1000], unit="person").close()  # the libraries that it takes
    for unit in (None, "person"):
        before = resident()
        source = FrameSource.open(table, unit=unit)
        assert resident() - before < 40e6
        source.close()
        (ours,) = medians(ROUNDS, opened(table, unit))
        name = f"open 1e7 {'records' if unit is None else 'records of persons'} of {library}"
        found = Comparison(name, ours, "limit of", 0.2, 0.2)
        show(found)
        assert found.kept


def opened(table: Any, unit: str | None) -> Run:  # noqa: ANN401 - of any library
    """Open a frame and close it."""
    return lambda: seconds(lambda: FrameSource.open(table, unit=unit).close())


def counted(library: str, table: Any, where: str, most: float) -> Comparison:  # noqa: ANN401
    """A count beside one of DuckDB, which may take so many times as long."""
    with FrameSource.open(table, unit=None) as source, duckdb.connect() as connection:
        question = parse(where, source.schema)

        def plain() -> int:
            connection.register("records", table)
            ((count,),) = connection.execute(f"SELECT count(*) FROM records WHERE {where}").fetchall()
            return count

        assert source.count([question]) == [plain()]
        ours, theirs = medians(ROUNDS, lambda: seconds(lambda: source.count([question])), lambda: seconds(plain))
    return Comparison(f"{where} in {library}", ours, "DuckDB", theirs, most * theirs)


@pytest.mark.parametrize("where", QUESTIONS)
def test_a_frame_is_counted_within_1_2_of_the_time_of_duckdb(show: Show, frame: tuple[str, Any], where: str) -> None:
    """Though every record is looked at as a whole, so that no time tells how many match."""
    found = counted(*frame, where, 1.2)
    show(found)
    assert found.kept


def test_texts_of_all_records_are_compared(show: Show, frame: tuple[str, Any]) -> None:
    """DuckDB alone compares those of records that match so far, a third of them here."""
    show(counted(*frame, CATEGORIES, math.inf))


def test_the_content_of_a_frame_is_hashed(show: Show, frame: tuple[str, Any]) -> None:
    """Once for each opening, beside DuckDB's own hash of each cell."""
    library, table = frame

    def hashed() -> None:
        with FrameSource.open(table, unit=None) as source:
            assert source.version

    def by_duckdb() -> None:
        with duckdb.connect() as connection:
            connection.register("records", table)
            connection.execute("SELECT bit_xor(hash(COLUMNS(*))) FROM records").fetchall()

    ours, theirs = medians(3, lambda: seconds(hashed), lambda: seconds(by_duckdb))
    show(Comparison(f"SHA-256 of the content, {library}", ours, "DuckDB, hash()", theirs))
