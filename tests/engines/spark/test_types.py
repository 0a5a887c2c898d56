"""Types and names that only tables of a catalogue have, and questions at their limits."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.engines.memory import MemorySource
from noisycount.engines.places import ServerPlace
from noisycount.engines.spark.source import SparkSource
from noisycount.engines.spark.under_test import SparkUnderTest
from noisycount.errors import SourceError
from noisycount.model.tables.levels import Level
from noisycount.query.grouping import CellQuestion, EachValue, KeySet
from noisycount.query.language import parse
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind

pytestmark = pytest.mark.thorough
MADE = """
CREATE TABLE noisy_types (
  padded char(5), short varchar(5), blind string COLLATE UNICODE_CI, clock time(6),
  gone void, span interval day to second, pair struct<a: int>, `dotted.name` int
) USING parquet
"""
FILLED = """
INSERT INTO noisy_types VALUES
  ('ab', 'cd', 'Äb', TIME'08:30:00.5', NULL, INTERVAL '1' DAY, named_struct('a', 1), 1),
  ('b', 'cd ', 'äB', NULL, NULL, NULL, NULL, 2)
"""


@pytest.fixture
def catalogue(spark_url: str) -> Iterator[Any]:
    """A session whose tables others see."""
    from pyspark.sql import SparkSession

    SparkUnderTest(spark_url)
    session = SparkSession.builder.getOrCreate().newSession()
    session.conf.set("spark.sql.timeType.enabled", "true")
    yield session
    session.sql("DROP TABLE IF EXISTS noisy_types")


def test_texts_compare_by_code_points_whatever_their_type(
    spark_url: str,
    catalogue: Any,  # noqa: ANN401 - of Spark
) -> None:
    """Collations do not decide, blanks at the end only of what has none; times are texts."""
    catalogue.sql(MADE.replace("  gone void, span interval day to second,", ""))
    catalogue.sql(FILLED.replace(" NULL, INTERVAL '1' DAY,", "").replace("NULL, NULL, NULL, NULL, 2", "NULL, NULL, 2"))
    with SparkSource.open(ServerPlace.read(f"{spark_url}#noisy_types")) as source:
        assert dict(source.schema.others) == {"pair": "struct"}
        asked = {
            "padded = 'ab'": 1,
            "padded like '_'": 1,
            "short = 'cd'": 1,
            "short like 'cd%'": 2,
            "blind = 'äb'": 0,
            "blind = 'Äb'": 1,
            "blind < 'a'": 0,
            "blind in ('ÄB', 'äB')": 1,
            "clock = '08:30:00.5'": 1,
            '"dotted.name" > 1': 1,
        }
        found = source.count([parse(text, source.schema) for text in asked])
        assert dict(zip(asked, found, strict=True)) == asked
        column = EachValue(Column("blind", Kind.TEXT))
        keys = KeySet((column,), (("Äb", "äb"),), np.array([[0], [1]], np.int32))
        cells = Level("cells", np.arange(2, dtype=np.int32), 2)
        assert [*source.count_cells(CellQuestion(keys, None, (cells,)))[0]] == [1, 0]


def test_names_that_differ_only_in_case_are_refused_in_files(spark_url: str, tmp_path: Any) -> None:  # noqa: ANN401
    """Spark would read one of them for both."""
    pq.write_table(pa.table({"a": [1], "A": [2]}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match="columns whose names are equal or differ only in case"):
        SparkSource.open(ServerPlace.read(f"{spark_url}#{tmp_path}"))


def test_many_listed_cells_are_counted(spark_url: str) -> None:
    """They are bound in one frame, and counted in one job."""
    records = [{"who": n % 7, "n": n * 1000} for n in range(2000)]
    schema = {"who": Kind.INTEGER, "n": Kind.INTEGER}
    part = EachValue(Column("n", Kind.INTEGER))
    cells = 200_000
    keys = KeySet((part,), (tuple(range(cells)),), np.arange(cells, dtype=np.int32)[:, None])
    levels = (
        Level("cells", np.arange(cells, dtype=np.int32), cells),
        Level("halves", (np.arange(cells) // 100_000).astype(np.int32), 2),
    )
    with SparkUnderTest(spark_url).source(records, schema, "who") as source:
        found = source.count_cells(CellQuestion(keys, None, levels))
    assert [*found[1]] == [7, 7]
    assert [*np.flatnonzero(found[0])] == list(range(0, cells, 1000))


def test_deep_and_long_predicates_are_counted(spark_url: str) -> None:
    """Twenty levels of parentheses and nots, and rows of hundreds of parts."""
    schema = {"n": Kind.INTEGER}
    deep = "n = 0"
    for level in range(1, 11):
        deep = f"not ({deep} {'and' if level % 2 else 'or'} n = {level})"
    long = " or ".join(f"n = {number}" for number in range(0, 200, 2))
    records = [{"n": n} for n in range(200)]
    asked = [parse(text, schema) for text in (deep, long)]
    with SparkUnderTest(spark_url).source(records, schema) as source:
        assert source.count(asked) == MemorySource(records, schema).count(asked)
