"""A server of Spark Connect.

Tests of `engines/spark/connection.py`.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.engines.conformance.suite import examine, suite
from noisycount.engines.opening import open_served_table
from noisycount.engines.places import ServerPlace
from noisycount.engines.spark.under_test import SparkUnderTest
from noisycount.errors import SourceError
from noisycount.query.language import parse
from tests.helpers.spark import ConnectServer, free_port

pytestmark = pytest.mark.thorough


def test_a_server_of_connect_passes_the_suite(spark_connect: ConnectServer) -> None:
    """A part of it: the plans are those of a driver, which passes all of it."""
    found = examine(SparkUnderTest(spark_connect.url), exercises=suite(one_in=4000))
    assert (found.differences, found.unheld) == ((), ())


def test_files_are_counted_where_the_server_reads_them(spark_connect: ConnectServer, tmp_path: Path) -> None:
    """Its sessions are ours alone, and end with the records."""
    pq.write_table(pa.table({"who": [1, 1, 2], "age": [20, 40, 30]}), tmp_path / "a.parquet")
    place = ServerPlace.read(f"{spark_connect.url}#{tmp_path}")
    with open_served_table(place, unit="who", seconds=60) as source:
        source.prepare()
        assert source.count([parse("age >= 30", source.schema)]) == [2]
    with pytest.raises(SourceError, match="the records are closed"):
        source.prepare()
    with pytest.raises(SourceError, match="does not exist: check the name of the table"):
        open_served_table(ServerPlace.read(f"{spark_connect.url}#nowhere.visits"))


def test_a_server_that_does_not_answer_is_named() -> None:
    """A silent server is named in a single line, within seconds."""
    with pytest.raises(SourceError, match=r"sc://127.0.0.1:\d+#visits does not answer"):
        open_served_table(ServerPlace.read(f"sc://127.0.0.1:{free_port()}#visits"))


def test_a_server_that_ends_is_no_longer_counted(spark_connect: ConnectServer, tmp_path: Path) -> None:
    """The last test of this file: it kills the server."""
    pq.write_table(pa.table({"age": [20, 40, 30]}), tmp_path / "a.parquet")
    with open_served_table(ServerPlace.read(f"{spark_connect.url}#{tmp_path}")) as source:
        spark_connect.kill(spark_connect.running[-1])
        with pytest.raises(SourceError, match="does not answer"):
            source.prepare()
