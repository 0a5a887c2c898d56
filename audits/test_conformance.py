"""All of the suite, of an engine that takes more than minutes for it."""

from collections.abc import Callable

from tests.spark import spark_url

from noisycount.release.sources.conformance.suite import examined
from noisycount.release.sources.spark.bench import SparkBench

__all__ = ["spark_url"]


def test_spark_gives_every_answer_of_the_suite(spark_url: str, tell: Callable[[str], None]) -> None:
    """Ten thousand random predicates and all tables, as the plain reference answers them."""
    found = examined(SparkBench(spark_url))
    differences = len(found.differences)
    tell(f"Spark {found.identity.version}: {found.answers:,} answers, {differences} differ")
    assert (found.differences, found.unheld) == ((), ())
