"""Every engine passes the suite, or says what its tables cannot hold."""

import pytest

from noisycount.release.sources.conformance.suite import examined, suite
from noisycount.release.sources.duckdb.bench import DuckDBBench

CASES = ("columns that differ in case",)


def test_duckdb_passes_a_part_of_the_suite() -> None:
    """One question in forty; names that differ in case alone are one name there."""
    found = examined(DuckDBBench(), asked=suite(40))
    assert (found.differences, found.unheld) == ((), CASES)


@pytest.mark.thorough
def test_duckdb_passes_the_suite() -> None:
    """All questions, ten thousand random ones among them."""
    found = examined(DuckDBBench())
    assert (found.differences, found.unheld) == ((), CASES)
    assert found.answers > 30_000
