"""Wrong engines are found out, each for its one mistake."""

import pytest

from noisycount.engines.conformance.suite import examine, suite
from tests.helpers.engine_mutants import MUTANTS, Engine
from tests.helpers.engines_under_test import MemoryUnderTest


@pytest.mark.thorough
@pytest.mark.few(0)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_wrong_engine_is_found_out(mutant: type[Engine]) -> None:
    """A tenth of the suite finds each mistake, with the question and both numbers."""
    (difference,) = examine(MemoryUnderTest(mutant), suite(10), max_differences=1).differences
    assert difference.expected != difference.found
    assert difference.question


@pytest.mark.thorough
def test_engine_that_wrong_ones_are_made_of_is_right() -> None:
    """The common base class of the mutants passes the suite."""
    assert examine(MemoryUnderTest(Engine), exercises=suite(100)).differences == ()
