from pathlib import Path

from noisycount.release.question.parser import parse
from tests.release.question.fuzzing import fuzz
from tests.release.question.grammar import DIRTY

SIZE = 10_000


def test_no_predicate_raises_calls_or_reads_elsewhere_and_engines_agree(tmp_path: Path) -> None:
    """Over dirty records, each predicate is true, false or unknown of every record in both."""
    found = fuzz(SIZE, seed=7, folder=tmp_path)
    assert found.admitted + found.refused == SIZE
    assert found.admitted > 0.9 * SIZE
    assert found.refused > 0.01 * SIZE
    assert found.with_matches > 0.5 * found.admitted
    assert found.with_unknowns > 0.1 * found.admitted


def test_the_grammar_has_a_column_of_each_kind_twice() -> None:
    """Names that are keywords, or SQL, are among them."""
    assert len(DIRTY) == 2 * len(set(DIRTY.values()))
    assert parse('"not" = 1 and "1; -- x" is null', DIRTY)
