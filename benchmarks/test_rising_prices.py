"""A finer answer and a count within a share, beside a plain count, in processor time."""

from fractions import Fraction
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.comparison import Comparison, Show, medians, processor_seconds, sized
from noisycount.analysis.within import stopping_rule
from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.ledger.ledger import Ledger
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk

ROUNDS = 21
RECORDS = sized(10**6, 1000)
RICH = Dataset("records", Fraction(10**6))
HALF = Fraction(1, 2)


def test_a_top_up_takes_at_most_twice_and_sixty_prices_thrice_a_plain_count(show: Show, tmp_path: Path) -> None:
    """Of a million records, by one open desk; each is one scan. The rule of the prices is known, as in a service."""
    path = tmp_path / "records.parquet"
    pl.DataFrame({"age": np.arange(RECORDS) % 100}).write_parquet(path)
    stopping_rule("0.2", "0.95", HALF)
    plain_questions, finer_questions, small = (count(start) for start in (10**6, 2 * 10**6, 3 * 10**6))
    reached = []
    with DuckDBSource.open(path, unit=None) as source, Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        desk = Desk(source, ledger, RICH)

        def plain() -> float:
            where = f"age >= 60 and age <> {next(plain_questions)}"
            return processor_seconds(lambda: desk.release(where, HALF))

        def finer() -> float:
            where = f"age >= 60 and age <> {next(finer_questions)}"
            desk.release(where, Fraction(1, 10))
            return processor_seconds(lambda: desk.release(where, HALF))

        def within() -> float:
            where = f"age > {next(small)}"  # nobody: all prices but few are drawn
            told: list[Fraction] = []
            used = processor_seconds(lambda: told.append(desk.release(where, within="20%", at_most=HALF).epsilon))
            reached.extend(told)
            return used

        theirs, topped, chain = medians(ROUNDS, plain, finer, within)
    assert min(reached) > HALF / 4  # at least 58 prices below
    found = [
        Comparison("a top-up", topped, "a plain count", theirs, 2 * theirs),
        Comparison("a count within 20 %, 60 prices or more", chain, "a plain count", theirs, 3 * theirs),
    ]
    for each in found:
        show(each)
    assert all(each.kept for each in found)
