"""The suite that every engine passes, in a driver of this process."""

import pytest

from noisycount.release.sources.conformance.suite import examined, suite
from noisycount.release.sources.spark.bench import SparkBench


@pytest.mark.thorough
def test_spark_passes_the_suite(spark_url: str) -> None:
    """One question in ten of all: predicates drawn at random, and tables, by rows and persons."""
    found = examined(SparkBench(spark_url), asked=suite(one_in=10))
    assert (found.differences, found.unheld) == ((), ())
