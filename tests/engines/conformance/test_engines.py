"""Every engine passes the suite, or says what its tables cannot hold."""

import pytest

from noisycount.engines.conformance.certificate import require_certified
from noisycount.engines.conformance.suite import examine, suite, suite_hash
from noisycount.engines.duckdb.under_test import DuckDBUnderTest
from noisycount.engines.spark.under_test import SparkUnderTest
from noisycount.engines.sql.under_test import ServerUnderTest
from tests.helpers.postgresql import Server

CASES = ("columns that differ in case",)
NUL = ("the character NUL",)


@pytest.mark.thorough
@pytest.mark.parametrize("one_in", [pytest.param(200, marks=pytest.mark.always), 30])
def test_duckdb_passes_the_suite(one_in: int) -> None:
    """Names that differ in case alone are one name there; `audits/test_conformance.py` asks it all of the suite."""
    found = examine(DuckDBUnderTest(), exercises=suite(one_in))
    assert (found.differences, found.unheld) == ((), CASES)


@pytest.mark.thorough
@pytest.mark.parametrize("one_in", [pytest.param(200, marks=pytest.mark.always), 30])
def test_postgresql_passes_the_suite(postgresql: Server, one_in: int) -> None:
    """It needs no certificate; `audits/test_conformance.py` asks it all of the suite."""
    found = examine(ServerUnderTest(postgresql.url("postgres")), exercises=suite(one_in))
    assert (found.differences, found.unheld) == ((), NUL)
    require_certified("records", found.identity, suite_hash(), [])


@pytest.mark.thorough
def test_spark_passes_the_suite(spark_url: str) -> None:
    """It is another; `audits/test_conformance.py` asks it all of the suite, as the doctor does."""
    found = examine(SparkUnderTest(spark_url), exercises=suite(1000))
    assert (found.differences, found.unheld) == ((), ())
    require_certified("records", found.identity, suite_hash(), [])
