"""Every engine passes the whole suite."""

from collections.abc import Callable

from tests.helpers.postgresql import Server, postgresql
from tests.helpers.spark import spark_url
from tests.helpers.transcripts import said

from noisycount.engines.conformance.certificate import EngineUnderTest
from noisycount.engines.conformance.suite import Examination, examine, suite_hash
from noisycount.engines.duckdb.under_test import DuckDBUnderTest
from noisycount.engines.spark.under_test import SparkUnderTest
from noisycount.engines.sql.under_test import ServerUnderTest

__all__ = ["postgresql", "spark_url"]

Tell = Callable[[str], None]
NUL = ("the character NUL",)
CASES = ("columns that differ in case",)


def check_all(name: str, engine: EngineUnderTest, unheld: tuple[str, ...], tell: Tell) -> Examination:
    """Every answer is the reference's, about all that the engine's tables can hold."""
    found = examine(engine)
    differences = len(found.differences)
    tell(f"{name} {found.identity.version}: {found.answers:,} answers, {differences} differ")
    assert (found.differences, found.unheld) == ((), unheld)
    return found


def test_spark_gives_every_answer_of_the_suite(spark_url: str, tell: Tell) -> None:
    """Ten thousand random predicates and all tables, as the plain reference answers them."""
    check_all("Spark", SparkUnderTest(spark_url), (), tell)


def test_postgresql_gives_every_answer_of_the_suite(postgresql: Server, tell: Tell) -> None:
    """PostgreSQL gives every answer, except for the NUL character, which its texts exclude."""
    check_all("PostgreSQL", ServerUnderTest(postgresql.url("postgres")), NUL, tell)


def test_duckdb_gives_every_answer_of_the_suite(tell: Tell) -> None:
    """DuckDB gives every answer, except for names that differ only in case."""
    found = check_all("DuckDB", DuckDBUnderTest(), CASES, tell)
    assert found.suite == suite_hash()
    assert said(f"answers compared        {found.answers:,}\n")
