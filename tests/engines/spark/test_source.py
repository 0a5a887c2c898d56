"""Tables and Parquet files on Spark, in a driver of this process.

Tests of `engines/spark/dialect.py`.
"""

from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.engines.formats import ColumnFormat
from noisycount.engines.memory import MemorySource
from noisycount.engines.places import ServerPlace
from noisycount.engines.spark.source import SparkSource
from noisycount.engines.spark.under_test import SparkUnderTest
from noisycount.errors import SourceError
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import CellQuestion, EachValue, KeyQuestion, KeySet, NumberRanges
from noisycount.query.language import parse
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind
from tests.engines.test_sources import COUNTS, SURVEY, SURVEY_SCHEMA
from tests.engines.test_tables import all_keys


def opened(spark_url: str, folder: Path | str, **options: object) -> SparkSource:
    """Open Parquet files."""
    return SparkSource.open(ServerPlace.read(f"{spark_url}#{folder}"), **options)


def counted(source: SparkSource, *questions: str) -> list[int]:
    """Count what some texts ask."""
    return source.count([parse(text, source.schema) for text in questions])


IDS = ("1", "2", "2.0", "A7", "a7", "A7 ", "B-1", "B-\u200b\uff11")


@pytest.mark.parametrize("unit", [None, pytest.param("person", marks=pytest.mark.thorough)])
def test_predicates_and_tables_count_as_the_reference_does(spark_url: str, unit: str | None) -> None:
    """Every question of the contract, tables with listed and hidden keys, by rows and persons."""
    engine = SparkUnderTest(spark_url)
    parts = (EachValue(Column("health", Kind.TEXT)), EachValue(Column("smoker", Kind.BOOLEAN)))
    values = (("poor", "", None), (True, None))
    keys = KeySet(parts, values, np.array([[0, 0], [1, 1], [2, 1]], np.int32))
    levels = (Level("cells", np.arange(4, dtype=np.int32), 4), Level("total", np.array([0, 0, -1, 0], np.int32), 1))
    with engine.source(SURVEY, SURVEY_SCHEMA, unit) as source, MemorySource(SURVEY, SURVEY_SCHEMA, unit) as reference:
        asked = [parse(text, reference.schema) for text in COUNTS if unit is None or "person" not in text]
        assert source.count(asked) == reference.count(asked)
        for most in (None, 1):
            listed = CellQuestion(keys, asked[0], levels, has_other=True, max_groups=most, salt="salt")
            found, wanted = source.count_cells(listed), reference.count_cells(listed)
            assert all(map(np.array_equal, found, wanted))
            hidden = KeyQuestion(parts, asked[0], most, "salt")
            assert all_keys(source.count_keys(hidden)) == all_keys(reference.count_keys(hidden))
    assert (engine.identity.engine, engine.identity.collation) == ("spark", "UTF8_BINARY")


def test_types_of_parquet_are_of_their_kinds(spark_url: str, tmp_path: Path) -> None:
    """Numbers, texts, days and moments; what no question can use is named with its type."""
    noon = datetime(2020, 3, 29, 12, tzinfo=UTC)
    table = pa.table(
        {
            "byte": pa.array([1, None], pa.int8()),
            "long": pa.array([2**63 - 1, -(2**63)], pa.int64()),
            "float": pa.array([0.5, float("nan")], pa.float32()),
            "decimal": pa.array([Decimal("0.10"), None], pa.decimal128(38, 2)),
            "text": ["a\r\n😀", "b"],
            "moment": pa.array([noon, None], pa.timestamp("us", "Europe/Paris")),
            "clock": pa.array([2**62, -(2**63)], pa.timestamp("us")),
            "time": pa.array([time(8, 30), None], pa.time64("us")),
            "list": [[1], []],
            "bytes": [b"a", b"b"],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    with opened(spark_url, tmp_path) as source:
        assert {name: kind.value for name, kind in source.schema.items()} == {
            "byte": "integer",
            "long": "integer",
            "float": "real",
            "decimal": "real",
            "text": "text",
            "moment": "timestamp",
            "clock": "timestamp",
            "time": "text",
        }
        assert dict(source.schema.others) == {"list": "array", "bytes": "binary"}
        asked = {
            "byte = 1": 1,
            "long > 9223372036854775806": 1,
            "long < byte": 0,
            "float > 1e300": 1,
            "decimal = 0.1": 1,
            "text like '%__😀'": 1,
            "text like 'a_😀'": 0,
            "moment = '2020-03-29 12:00:00'": 1,
            "clock > '9999-12-31'": 1,
            "clock < '0001-01-01'": 1,
            "time = '08:30:00'": 1,
        }
        assert dict(zip(asked, counted(source, *asked), strict=True)) == asked
        assert [column.missing for column in source.check().columns[:4]] == [1, 0, 0, 1]
        assert [source.check(unit).units for unit in (None, "byte", "text", "list")] == [None, 1, 2, None]
    with opened(spark_url, tmp_path, unit="text") as source:
        assert source.check().units == 2


@pytest.mark.thorough
def test_the_owner_sees_rows_and_ids_of_persons(spark_url: str, tmp_path: Path) -> None:
    """Columns of some rows only, and ids that differ in case, blanks or zeros."""
    rows = [{"who": who, "sex": None if row else 1, "lab": row or None} for who in IDS for row in range(2)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    with opened(spark_url, tmp_path, unit="who") as source:
        persons = source.check().persons
    assert persons is not None
    assert (persons.median_rows, persons.largest_rows, persons.apart) == (2, 2, (("sex", "lab"),))
    (spellings,) = persons.spellings
    assert spellings.examples == (("2", "2.0"), ("A7", "A7 ", "a7"), ("B-1", "B-\u200b\uff11"))
    with opened(spark_url, tmp_path) as source:
        assert source.check("who").persons == persons
        assert source.check().persons is None


@pytest.mark.thorough
def test_a_filter_changes_no_count(spark_url: str, tmp_path: Path) -> None:
    """With `uses_indexes` records that do not match are left out, and none that does."""
    table = pa.table({"who": [1, 1, 2, 3], "age": [20, 40, 30, None]})
    pq.write_table(table, tmp_path / "a.parquet")
    part = EachValue(Column("age", Kind.INTEGER))
    for unit in (None, "who"):
        with (
            opened(spark_url, tmp_path, unit=unit) as whole,
            opened(spark_url, tmp_path, unit=unit, uses_indexes=True) as part_of_it,
        ):
            asked = "age >= 30", "not age >= 30", "age is null", "true"
            assert counted(part_of_it, *asked[:3]) == counted(whole, *asked)[:3]
            hidden = KeyQuestion([part], parse("age >= 30", whole.schema))
            assert all_keys(part_of_it.count_keys(hidden)) == all_keys(whole.count_keys(hidden))


def test_a_changed_relation_is_no_longer_counted(spark_url: str, tmp_path: Path) -> None:
    """A column more is none of its business; another type, or nothing, is one line each time."""
    pq.write_table(pa.table({"age": [1, 2]}), tmp_path / "a.parquet")
    with opened(spark_url, tmp_path) as source:
        source.prepare()
        pq.write_table(pa.table({"age": [3], "new": [1]}), tmp_path / "b.parquet")
        assert counted(source, "age > 1") == [2]
        pq.write_table(pa.table({"age": [0.5]}), tmp_path / "a.parquet")
        (tmp_path / "b.parquet").unlink()
        for ask in (source.prepare, lambda: counted(source, "age > 1")):
            with pytest.raises(SourceError, match="changed since it was opened: open it again"):
                ask()
        for file in tmp_path.iterdir():
            file.unlink()
        with pytest.raises(SourceError, match="does not exist: check the name of the table"):
            source.prepare()
    with pytest.raises(SourceError, match="the records are closed"):
        counted(source, "age > 1")


@pytest.mark.thorough
def test_records_without_a_person_are_refused(spark_url: str, tmp_path: Path) -> None:
    """At opening, and at a count when one has come since."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"who": ["ann", "bob", "ann"], "age": [1, 2, 3]}), path)
    part = EachValue(Column("age", Kind.INTEGER))
    keys = KeySet((part,), ((1, 2),), np.array([[0], [1]], np.int32))
    listed = CellQuestion(keys, None, (Level("cells", np.arange(2, dtype=np.int32), 2),))
    with opened(spark_url, path, unit="who") as source:
        assert counted(source, "age > 1") == [2]
        pq.write_table(pa.table({"who": ["ann", None], "age": [1, 9]}), path)
        for ask in (
            lambda: counted(source, "age > 5"),
            lambda: source.count_cells(listed),
            lambda: list(source.count_keys(KeyQuestion((part,), None))),
        ):
            with pytest.raises(SourceError, match="records without a unit were added since"):
                ask()
    with pytest.raises(SourceError, match="unit column 'who' has missing values"):
        opened(spark_url, path, unit="who")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unit": "list"}, "unit column 'list' is of type array"),
        ({"unit": "real"}, "unit column 'real' is of type double"),
        ({"unit": "whoo"}, "unit names 'whoo', which is no column: use 'who'"),
    ],
)
def test_what_no_person_is_named_by_is_refused(
    spark_url: str, tmp_path: Path, options: dict[str, str], words: str
) -> None:
    """A column that cannot be a unit is refused in a single line with an alternative."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"who": [1], "list": [[1]], "real": [0.5]}), path)
    with pytest.raises(SourceError, match=words):
        opened(spark_url, path, **options)


@pytest.mark.thorough
def test_many_edges_are_found_by_bisection(spark_url: str) -> None:
    """1,024 ranges of whole and real numbers, infinities and NaN too, as the reference has them."""
    numbers = [*range(-3, 60), 10**6, None]
    reals = [float("nan"), float("inf"), -float("inf"), -0.0, 0.5, *map(float, range(60))]
    records = [{"n": n, "x": x} for n, x in zip(numbers, reals, strict=True)]
    schema = {"n": Kind.INTEGER, "x": Kind.REAL}
    parts = [
        NumberRanges(Column("n", Kind.INTEGER), tuple(range(0, 2048, 2))),
        NumberRanges(Column("x", Kind.REAL), tuple(edge / 4 for edge in range(1024))),
    ]
    with SparkUnderTest(spark_url).source(records, schema) as source:
        reference = MemorySource(records, schema)
        for part in parts:
            question = KeyQuestion([part], None)
            assert all_keys(source.count_keys(question)) == all_keys(reference.count_keys(question))


def test_nothing_is_written_to_the_working_folder(spark_url: str) -> None:
    """No warehouse, no metastore, no log, after all that the tests of this file did."""
    SparkUnderTest(spark_url)
    names = {"spark-warehouse", "metastore_db", "derby.log", "artifacts"}
    assert not names & {path.name for path in Path().iterdir()}


def test_nan_is_seen_and_can_be_stated_to_be_missing(spark_url: str, tmp_path: Path) -> None:
    """It is above all numbers until the owner states otherwise; the version says which it is."""
    pq.write_table(pa.table({"age": [float("nan"), 30.0, 70.0, None, float("inf")]}), tmp_path / "a.parquet")
    missing = {"age": ColumnFormat(Kind.REAL, nan="missing")}
    with opened(spark_url, tmp_path) as source, opened(spark_url, tmp_path, kinds=missing) as stated:
        assert [(each.missing, each.nan) for each in (*source.check().columns, *stated.check().columns)] == [
            (1, 1),
            (2, 0),
        ]
        assert counted(source, "age > 65", "age is null") == [3, 1]
        assert counted(stated, "age > 65", "age is null") == [2, 2]
        assert stated.forms == missing
        assert source.version != stated.version
