"""What the short tests of predicates check, ten times as often."""

from collections.abc import Callable
from pathlib import Path

from tests.release.question.fuzzing import fuzz

SIZE = 100_000


def test_no_predicate_raises_calls_or_reads_elsewhere_and_engines_agree(
    tmp_path: Path, tell: Callable[[str], None]
) -> None:
    """Over dirty records, each predicate is true, false or unknown of every record in both."""
    found = fuzz(SIZE, seed=11, folder=tmp_path)
    assert found.admitted + found.refused == SIZE
    tell(
        f"{SIZE} predicates over dirty records: {found.admitted} admitted, {found.with_matches} of "
        f"them true of some record, {found.with_unknowns} unknown of some; {found.refused} refused"
    )
