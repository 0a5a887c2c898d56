"""NaN: the owner sees it, can state that it is missing, and pandas says so of the files that it writes."""

from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.engines.duckdb.frames import FrameSource
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.findings import with_findings
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import CheckedSource
from noisycount.engines.sql.source import SqlSource
from noisycount.errors import SourceError
from noisycount.query.language import parse
from noisycount.query.schema import Kind
from tests.helpers.postgresql import Server
from tests.helpers.server_tables import place_of, table_of

AGES = [nan, nan, 30.0, 70.0, None, inf, -inf, 1.7976931348623157e308, -1.7976931348623157e308]
QUESTIONS = ("age > 65", "age is null", "age = age", "age < 65")
AS_VALUE = [5, 1, 8, 3]
AS_MISSING = [3, 3, 6, 3]
MISSING = {"age": ColumnFormat(Kind.REAL, nan="missing")}


def counted(source: CheckedSource) -> list[int]:
    """Return the counts of all questions, and close the records."""
    with source:
        return source.count([parse(question, source.schema) for question in QUESTIONS])


def seen(source: CheckedSource) -> tuple[int, int]:
    """Return how many ages are missing, and how many are NaN, and close the records."""
    with source:
        (age,) = [each for each in source.check().columns if each.name == "age"]
        return age.missing, age.nan


def parquet(folder: Path, *, has_metadata: bool = False) -> Path:
    """A file of Parquet, with the metadata of pandas if wanted."""
    table = pa.table({"id": range(len(AGES)), "age": pa.array(AGES, pa.float64())})
    metadata = pa.Schema.from_pandas(pd.DataFrame({"id": [1], "age": [1.0]})).metadata
    path = folder / "a.parquet"
    pq.write_table(table.replace_schema_metadata(metadata if has_metadata else None), path)
    return path


def database(folder: Path) -> Path:
    """A file of DuckDB."""
    path = folder / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT unnest($ages::DOUBLE[]) AS age, 1 AS id", {"ages": AGES})
    return path


@pytest.mark.thorough
@pytest.mark.parametrize("make", [parquet, database])
def test_nan_in_files_is_seen_and_can_be_stated_to_be_missing(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """A value above all numbers until the owner states otherwise; no number and no infinity is NaN."""
    path = make(tmp_path)
    assert seen(DuckDBSource.open(path)) == (1, 2)
    assert counted(DuckDBSource.open(path)) == AS_VALUE
    assert seen(DuckDBSource.open(path, kinds=MISSING)) == (3, 0)
    assert counted(DuckDBSource.open(path, kinds=MISSING)) == AS_MISSING
    (finding,) = [each for each in DuckDBSource.check_file(path).columns if each.nan]
    assert finding.name == "age"


def test_nan_on_a_server_is_seen_and_can_be_stated_to_be_missing(postgresql: Server) -> None:
    """Of doubles and of NUMERIC, whose NaN is no double until it is read."""
    place = table_of(postgresql, [{"age": age} for age in AGES], {"age": Kind.REAL})
    stated: dict[str, Any] = {"unit": None, "columns": None, "kinds": MISSING}
    assert seen(SqlSource.open(place, unit=None, columns=None)) == (1, 2)
    assert counted(SqlSource.open(place, unit=None, columns=None)) == AS_VALUE
    assert seen(SqlSource.open(place, **stated)) == (3, 0)
    assert counted(SqlSource.open(place, **stated)) == AS_MISSING
    with postgresql.shell("postgres") as shell:
        shell.execute("CREATE TABLE numeric_ages AS SELECT unnest(ARRAY['NaN', '30', '70', NULL])::numeric AS age")
    place = place_of(postgresql, "numeric_ages")
    assert seen(SqlSource.open(place, unit=None, columns=None)) == (1, 1)
    assert counted(SqlSource.open(place, unit=None, columns=None)) == [2, 1, 3, 1]
    assert seen(SqlSource.open(place, **stated)) == (2, 0)
    assert counted(SqlSource.open(place, **stated)) == [1, 2, 2, 1]
    with pytest.raises(SourceError, match="leave 'age' out of kinds"):
        SqlSource.open(place, unit=None, columns=None, kinds={"age": ColumnFormat(Kind.INTEGER)})


@pytest.mark.parametrize("library", ["polars", "arrow"])
def test_nan_in_frames_is_seen(library: str) -> None:
    """Of Polars and Arrow it is a value; `fill_nan(None)` makes it missing there."""
    frame = pl.DataFrame({"age": AGES}, strict=False)
    table = frame if library == "polars" else pa.table({"age": pa.array(AGES, pa.float64())})
    assert seen(FrameSource.open(table, unit=None)) == (1, 2)
    assert counted(FrameSource.open(table, unit=None)) == AS_VALUE
    assert counted(FrameSource.open(frame.fill_nan(None), unit=None)) == AS_MISSING


def test_nan_in_a_frame_of_pandas_is_missing() -> None:
    """As it is for pandas."""
    frame = pd.DataFrame({"age": AGES})
    assert seen(FrameSource.open(frame, unit=None)) == (3, 0)
    assert counted(FrameSource.open(frame, unit=None)) == AS_MISSING


def test_nan_in_parquet_of_pandas_is_missing_unless_the_owner_states_a_kind(tmp_path: Path) -> None:
    """Its metadata decide, and no record; several files need it each."""
    path = parquet(tmp_path, has_metadata=True)
    assert seen(DuckDBSource.open(path)) == (3, 0)
    assert counted(DuckDBSource.open(path)) == AS_MISSING
    assert counted(DuckDBSource.open(path, kinds={"age": Kind.REAL})) == AS_VALUE
    source = DuckDBSource.open(path)
    assert source.forms == {"id": ColumnFormat(Kind.INTEGER), **MISSING}
    source.close()
    pq.write_table(pa.table({"id": [1], "age": [nan]}), tmp_path / "b.parquet")
    assert seen(DuckDBSource.open(tmp_path)) == (1, 3)


def test_texts_say_nan_as_their_owner_states(tmp_path: Path) -> None:
    """A stated kind of a text file reads NaN as a value, or as missing, in whatever case."""
    path = tmp_path / "a.csv"
    path.write_text("age\nNaN\nnan\n30\n70\n", encoding="utf-8")
    assert counted(DuckDBSource.open(path, kinds={"age": Kind.REAL}))[:2] == [3, 0]
    assert counted(DuckDBSource.open(path, kinds=MISSING))[:2] == [1, 2]


def test_nan_among_ids_is_reported_without_a_statement(tmp_path: Path) -> None:
    """Rows with NaN as their id are a single person, and no statement changes this."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"person": [1.0, nan, nan], "age": [nan, 1.0, 2.0]}), path)
    check = with_findings(DuckDBSource.check_file(path, unit="person"), "person")
    found = {finding.column: finding for finding in check.findings if finding.title == "NaN"}
    assert (found["person"].rows, found["person"].proposals) == (2, ())
    assert check.statement(*found["age"].proposals) == 'age = { kind = "real", nan = "missing" }'
    assert check.units == 2
