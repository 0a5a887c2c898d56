"""A cluster of one master and two workers, and what happens when one of them is killed."""
# ruff: noqa: ANN401, as these are sessions of Spark

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.engines.opening import open_served_table
from noisycount.engines.places import ServerPlace
from noisycount.errors import SourceError
from noisycount.ledger.ledger import Ledger
from noisycount.query.language import parse
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from tests.helpers.spark import Cluster

pytestmark = pytest.mark.thorough
ROWS = 150_000_000
PARTS = 40
QUESTION = "id >= 50000000 and id <> 7 and not id between 8 and 9"
TRUE = 100_000_000


@pytest.fixture(scope="module")
def people(spark_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of some Parquet files."""
    folder = tmp_path_factory.mktemp("people")
    for part in range(4):
        who = [f"p{(part * 100 + row) // 3}" for row in range(100)]
        pq.write_table(pa.table({"who": who, "age": range(100)}), folder / f"{part}.parquet")
    return f"{spark_cluster.url}#{folder}"


@pytest.fixture(scope="module")
def session(people: str) -> Iterator[Any]:
    """The session of an application that drives the cluster."""
    from pyspark.sql import SparkSession

    with open_served_table(ServerPlace.read(people)):
        made = SparkSession.builder.getOrCreate()
        made.range(0, ROWS, 1, PARTS).createGlobalTempView("slow")
        yield made


@pytest.fixture
def slow(
    spark_cluster: Cluster,
    session: Any,
    unguarded: None,  # noqa: ARG001 - it is a view
) -> ServerPlace:
    """A view that takes seconds to count, with both workers at work."""
    tracker = session.sparkContext._jsc.sc()  # noqa: SLF001 - nothing else tells it
    deadline = time.monotonic() + 60
    while tracker.getExecutorMemoryStatus().size() < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    return ServerPlace.read(f"{spark_cluster.url}#global_temp.slow")


def when_some_parts_are_done(session: Any) -> None:
    """Wait for the middle of a count."""
    tracker = session.sparkContext.statusTracker()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for stage in tracker.getActiveStageIds():
            told = tracker.getStageInfo(stage)
            if told and told.numTasks == PARTS and told.numCompletedTasks >= 3:
                assert told.numCompletedTasks < PARTS
                return
        time.sleep(0.01)
    pytest.fail("no count was seen at work")


def test_a_cluster_counts_files_by_person(people: str) -> None:
    """Records on two machines, and persons who are on both."""
    with open_served_table(ServerPlace.read(people), unit="who", columns=["age"]) as source:
        asked = [parse(text, source.schema) for text in ("age >= 50", "true", "age = 3")]
        everyone = {(part * 100 + row) // 3: None for part in range(4) for row in range(100)}
        old = {(part * 100 + row) // 3 for part in range(4) for row in range(50, 100)}
        assert source.count(asked) == [len(old), len(everyone), 4]


def test_a_worker_killed_in_the_middle_of_a_count_changes_no_count_and_no_debit(
    spark_cluster: Cluster, session: Any, slow: ServerPlace, tmp_path: Path
) -> None:
    """The count is right or fails, and is charged once, whether it is asked again or not."""
    with (
        Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger,
        open_served_table(slow) as source,
        ThreadPoolExecutor() as aside,
    ):
        desk = Desk(source, ledger, Dataset("slow", Fraction(1000)))
        asked = aside.submit(desk.release, QUESTION, Fraction(100))
        when_some_parts_are_done(session)
        spark_cluster.kill(spark_cluster.workers.pop())
        spark_cluster.workers.append(spark_cluster.worker())
        failure = asked.exception(timeout=120)
        if failure is None:
            assert abs(asked.result().answer - TRUE) < 2
            again = desk.release(QUESTION, Fraction(100))
            assert (again.answer, again.charged) == (asked.result().answer, 0)
        else:
            assert isinstance(failure, SourceError)
        assert [entry.spent.text for entry in ledger.entries()] == ["ε = 100"]


@pytest.mark.usefixtures("session")
def test_another_cluster_needs_another_process() -> None:
    """The refusal names the cluster that this process drives."""
    with pytest.raises(SourceError, match=r"but this process drives 'spark://127\.0\.0\.1:"):
        open_served_table(ServerPlace.read("spark://local#/lake/visits"))
