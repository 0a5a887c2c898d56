"""All of the suite, of engines that take more than a minute for it."""

from collections.abc import Callable

from tests.postgresql import Server, postgresql
from tests.spark import spark_url

from noisycount.engines.conformance.certificate import Bench
from noisycount.engines.conformance.suite import examined
from noisycount.engines.spark.bench import SparkBench
from noisycount.engines.sql.bench import SqlBench

__all__ = ["postgresql", "spark_url"]

Tell = Callable[[str], None]
NUL = ("the character NUL",)


def check_all(name: str, bench: Bench, unheld: tuple[str, ...], tell: Tell) -> None:
    """Every answer is the reference's, about all that the engine's tables can hold."""
    found = examined(bench)
    differences = len(found.differences)
    tell(f"{name} {found.identity.version}: {found.answers:,} answers, {differences} differ")
    assert (found.differences, found.unheld) == ((), unheld)


def test_spark_gives_every_answer_of_the_suite(spark_url: str, tell: Tell) -> None:
    """Ten thousand random predicates and all tables, as the plain reference answers them."""
    check_all("Spark", SparkBench(spark_url), (), tell)


def test_postgresql_gives_every_answer_of_the_suite(postgresql: Server, tell: Tell) -> None:
    """The same, but for a character that none of its texts has."""
    check_all("PostgreSQL", SqlBench(postgresql.url("postgres")), NUL, tell)
