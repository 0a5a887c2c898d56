"""Columns of every type of DuckDB: as which kind each counts, and what is not kept of it."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.findings import with_findings
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.engines.duckdb.test_source import CANARY, counts, write_database
from tests.helpers.sources import database

NUMBER_TYPES = "TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT FLOAT DOUBLE DECIMAL(9,3)"


@pytest.mark.parametrize(
    ("type_", "cells", "expected"),
    [
        *(
            (type_, ("0", "7", "100", "NULL"), {"x = 7": 1, "x > 99.5": 1, "x < 0": 0, "x < 1e300": 3})
            for type_ in NUMBER_TYPES.split()
        ),
        (
            "UBIGINT",
            ("18446744073709551615", "9223372036854775807", "0"),
            {
                "x > -9223372036854775808": 3,
                "x >= 9223372036854775807": 2,
                "x > 9223372036854775807": 1,
                "x = 18446744073709551616.0": 1,
                "x not in (-1, 0)": 2,
                "x between -5 and 5": 1,
            },
        ),
        ("FLOAT", ("0.1", "0.5"), {"x = 0.1": 0, "x = 0.10000000149011612": 1, "x = 0.5": 1}),
        ("DECIMAL(18, 2)", ("0.07", "0.10"), {"x = 0.07": 1, "x = 0.1": 1, "x > 1e300": 0}),
        ("DECIMAL(38, 0)", ("9" * 38, "1"), {"x > 1e37": 1, "x = 1": 1, "x > -1e300": 2}),
        ("ENUM('b', 'a')", ("'b'", "'a'", "NULL"), {"x = 'b'": 1, "x = 'z'": 0, "x > 'a'": 1}),
        ("VARCHAR COLLATE NOCASE", ("'A'", "'a'"), {"x = 'A'": 1, "x like 'a'": 1, "x < 'a'": 1}),
        ("DATE", ("'2020-01-31'", "'infinity'"), {"x = '2020-01-31'": 1, "x > '9999-12-31'": 1}),
        *(
            (
                type_,
                ("'2020-01-31 12:00:00'", "'1969-12-31 23:59:59'"),
                {"x = '2020-01-31 12:00'": 1, "x < '1970-01-01'": 1, "x < '9999-12-31'": 2},
            )
            for type_ in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
        ),
        (
            "TIMESTAMPTZ",
            ("'2020-01-31 12:00:00+02'", "'1969-12-31 23:59:59Z'", "'infinity'", "NULL"),
            {"x = '2020-01-31 10:00'": 1, "x < '1970-01-01'": 1, "x > '9999-12-31'": 1},
        ),
        (
            "TIME",
            ("'08:30'", "'17:05:09.5'", "NULL"),
            {"x = '08:30:00'": 1, "x >= '08:30'": 2, "x > '17:05:09'": 1, "x < '12:00'": 1},
        ),
        ("BOOLEAN", ("true", "false", "NULL"), {"x": 1, "not x": 1, "x <> true": 1}),
    ],
)
def test_column_of_each_type_counts_as_its_kind(
    tmp_path: Path, type_: str, cells: tuple[str, ...], expected: dict[str, int]
) -> None:
    """Every admitted type compares with every literal of its kind, extremes too, without error."""
    values = ", ".join(f"({cell})" for cell in cells)
    path = write_database(tmp_path, f"CREATE TABLE t (x {type_})", f"INSERT INTO t VALUES {values}")  # noqa: S608, our own values
    assert dict(zip(expected, counts(path, *expected), strict=True)) == expected


def test_columns_of_different_types_compare_as_doubles(tmp_path: Path) -> None:
    """A FLOAT of 0.1 is not the DECIMAL 0.1, as neither is once it is a DOUBLE."""
    table = "CREATE TABLE t (f FLOAT, d DECIMAL(9, 3), u UBIGINT, i BIGINT)"
    path = write_database(tmp_path, table, "INSERT INTO t VALUES (0.1, 0.1, 5, -5), (1, 1, 1, 1)")
    questions = {"f = d": 1, "f > d": 1, "u > i": 1, "u = i": 1, "i < d": 1, "u = f": 1}
    assert dict(zip(questions, counts(path, *questions), strict=True)) == questions


def test_timestamp_too_far_for_microseconds_is_missing(tmp_path: Path) -> None:
    """A second past the year 294,247 cannot fail a count."""
    far = np.array([2**62, 0], dtype="datetime64[s]")
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("seconds", {"x": far})
        connection.execute("CREATE TABLE t AS FROM seconds")
    assert counts(path, "x is null", "x < '2020-01-01'") == [1, 1]


@pytest.mark.parametrize(
    ("cell", "question"),
    [
        ("2020-01-31 23:59:59.9999999", "x < '2020-02-01' and x >= '2020-01-31 23:59:59.999999'"),
        ("1969-12-31 23:59:59.9999999", "x < '1970-01-01' and x >= '1969-12-31 23:59:59.999999'"),
        ("1969-12-31 23:59:59.999999", "x = '1969-12-31 23:59:59.999999'"),
        ("1970-01-01 00:00:00.000000001", "x = '1970-01-01 00:00'"),
        ("1677-09-22 00:00:00", "x = '1677-09-22 00:00'"),
        ("2262-04-11 23:47:16.854775806", "x = '2262-04-11 23:47:16.854775'"),
        ("infinity", "x > '2262-04-12'"),
        ("-infinity", "x < '1677-09-21'"),
    ],
)
@pytest.mark.parametrize("suffix", ["duckdb", "parquet"])
def test_nanoseconds_are_cut_off(tmp_path: Path, suffix: str, cell: str, question: str) -> None:
    """A moment before midnight is not the next day, in whichever year."""
    path = write_database(
        tmp_path,
        f"CREATE TABLE t AS SELECT x::TIMESTAMP_NS AS x FROM (VALUES ('{cell}')) r(x)",  # noqa: S608, our own values
    )
    if suffix == "parquet":
        with database(path) as connection:
            path = tmp_path / "x.parquet"
            connection.table("t").write_parquet(str(path))
    assert counts(path, question, "x is null") == [1, 0]


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("HUGEINT", "hugeint"),
        ("BLOB", "blob"),
        ("JSON", "json"),
        ("UUID", "uuid"),
        ("INTERVAL", "interval"),
        ("INTEGER[]", "list"),
        (f"ENUM('{CANARY}')[]", "list"),
        (f"STRUCT(x ENUM('{CANARY}'))", "struct"),
    ],
)
def test_column_of_another_type_is_refused_by_name_and_type(tmp_path: Path, type_: str, name: str) -> None:
    """Such a column may lie in the file, or be the unit, but no question can use it."""
    path = write_database(tmp_path, f"CREATE TABLE t (x {type_}, y INTEGER)", "INSERT INTO t VALUES (NULL, 1)")
    with DuckDBSource.open(path) as source:
        assert dict(source.schema) == {"y": Kind.INTEGER}
        with pytest.raises(Exception, match=f"'x', whose type {name} ") as caught:
            parse("x = 1", source.schema)
    assert CANARY not in str(caught.value)


def test_a_check_tells_what_is_not_kept_of_a_type(tmp_path: Path) -> None:
    """Times of day that are texts, digits, zones and nanoseconds."""
    reasons = {
        "TIME": "texts such as '08:30:00' here",
        "DECIMAL(38, 2)": "of more than 15 digits the nearest number is taken",
        "DECIMAL(9, 2)": "the file says so",
        "TIMESTAMPTZ": "they are read in UTC",
        "TIMESTAMP_NS": "what is finer than microseconds is cut off",
    }
    columns = ", ".join(f"c{n} {type_}" for n, type_ in enumerate(reasons))
    check = DuckDBSource.check_file(write_database(tmp_path, f"CREATE TABLE t ({columns})"))
    for column, words in zip(check.columns, reasons.values(), strict=True):
        assert column.reason.endswith(words)


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_check_reports_periods_and_durations_that_pandas_stored_as_numbers(
    tmp_path: Path, *, is_folder: bool
) -> None:
    """A count would read 648 for January 2024, and 3,600,000,000 for an hour."""
    place = tmp_path / ("visits" if is_folder else "visits.parquet")
    place.mkdir() if is_folder else None
    frame = pd.DataFrame(
        {
            "month": pd.PeriodIndex(["2024-01", None, "2024-02"], freq="M"),
            "stay": pd.to_timedelta([1, 2, None], unit="h"),
            "age": [31, 32, 29],
        }
    )
    frame.to_parquet(place / "1.parquet" if is_folder else place)
    check = with_findings(DuckDBSource.check_file(place), None)
    found = {finding.column: (finding.title, finding.rows) for finding in check.findings if finding.column}
    assert found == {
        "month": ("periods stored as numbers", 2),
        "stay": ("durations stored as numbers", 2),
    }


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_check_reports_durations_that_arrow_stored_as_numbers(tmp_path: Path, unit: str) -> None:
    """Without the metadata of pandas too; other types before and behind them are as they are."""
    place = tmp_path / "visits.parquet"
    columns = {
        "parts": pa.array([[1], [2]]),
        "stay": pa.array([3, None], pa.duration(unit)),
        "day": pa.array([1, 2], pa.date32()),
        "Länge": pa.array([3, 4], pa.duration(unit)),
    }
    pq.write_table(pa.table(columns), place)
    check = with_findings(DuckDBSource.check_file(place), None)
    found = {finding.column: (finding.title, finding.rows) for finding in check.findings if finding.column}
    assert found == {"stay": ("durations stored as numbers", 1), "Länge": ("durations stored as numbers", 2)}


@pytest.mark.parametrize(
    "metadata", ["pandas: 'none'", "pandas: '{\"columns\": 1}'", "'ARROW:schema': 'none'", "'ARROW:schema': '/////w=='"]
)
def test_metadata_that_pandas_or_arrow_did_not_write_is_no_fault(tmp_path: Path, metadata: str) -> None:
    """Another program may use the same keys."""
    place = tmp_path / "visits.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS age) TO '{place}' (FORMAT parquet, KV_METADATA {{{metadata}}})")
    assert not DuckDBSource.check_file(place).columns[0].losses


def test_a_check_reports_columns_of_parquet_files_whose_names_differ_in_case(tmp_path: Path) -> None:
    """DuckDB calls the second one otherwise; parts of columns are no columns."""
    place = tmp_path / "visits.parquet"
    frame = pd.DataFrame({"part": [{"x": 1, "y": [2]}], "age": [31], "Age": [32], "town": ["Bern"]})
    frame.to_parquet(place)
    check = with_findings(DuckDBSource.check_file(place), None)
    assert check.renamed == {"Age_1": "Age"}
    (finding,) = [each for each in check.findings if each.column == "Age_1"]
    assert "calls it 'Age'" in finding.text
    assert not check.renamed.keys() & {"part", "age", "town"}
