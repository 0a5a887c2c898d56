from pathlib import Path

import pytest

from noisycount.query.language import parse
from tests.helpers.predicate_fuzzing import fuzz
from tests.helpers.predicate_grammar import DIRTY

SIZES = [250, pytest.param(1_000, marks=pytest.mark.thorough)]


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("size", SIZES)
def test_no_predicate_raises_calls_or_reads_elsewhere_and_engines_agree(size: int, tmp_path: Path) -> None:
    """Over dirty records, each predicate is true, false or unknown of every record in both."""
    found = fuzz(size, seed=7, folder=tmp_path)
    assert found.admitted + found.refused == size
    assert found.admitted > 0.9 * size
    assert found.refused > 0.01 * size
    assert found.with_matches > 0.5 * found.admitted
    assert found.with_unknowns > 0.1 * found.admitted


def test_the_grammar_has_a_column_of_each_kind_twice() -> None:
    """Names that are keywords, or SQL, are among them."""
    assert len(DIRTY) == 2 * len(set(DIRTY.values()))
    assert parse('"not" = 1 and "1; -- x" is null', DIRTY)
