"""All of the suite, of engines that take more than a minute for it."""

from collections.abc import Callable

from tests.postgresql import Server, postgresql
from tests.spark import spark_url

from noisycount.engines.conformance.certificate import EngineUnderTest
from noisycount.engines.conformance.suite import examined
from noisycount.engines.spark.under_test import SparkUnderTest
from noisycount.engines.sql.under_test import ServerUnderTest

__all__ = ["postgresql", "spark_url"]

Tell = Callable[[str], None]
NUL = ("the character NUL",)


def check_all(name: str, engine: EngineUnderTest, unheld: tuple[str, ...], tell: Tell) -> None:
    """Every answer is the reference's, about all that the engine's tables can hold."""
    found = examined(engine)
    differences = len(found.differences)
    tell(f"{name} {found.identity.version}: {found.answers:,} answers, {differences} differ")
    assert (found.differences, found.unheld) == ((), unheld)


def test_spark_gives_every_answer_of_the_suite(spark_url: str, tell: Tell) -> None:
    """Ten thousand random predicates and all tables, as the plain reference answers them."""
    check_all("Spark", SparkUnderTest(spark_url), (), tell)


def test_postgresql_gives_every_answer_of_the_suite(postgresql: Server, tell: Tell) -> None:
    """The same, but for a character that none of its texts has."""
    check_all("PostgreSQL", ServerUnderTest(postgresql.url("postgres")), NUL, tell)
