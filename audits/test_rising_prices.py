"""The black-box audit of answers at rising prices: two neighbouring data sets, and nothing but what is told."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from tests.release.black_box import FALSE_ALARM, log_ratio

from noisycount.engines.memory import MemorySource
from noisycount.ledger.ledger import Ledger
from noisycount.query.schema import Kind
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Desk
from noisycount.release.query_plan import QueryPlan

COARSE, FINE = Fraction(1), Fraction(11, 10)
COUNT = 20  # persons; the second data set has one more
PAIRS, LIST = 3000, 1000
RICH = Dataset("survey", Fraction(10**6))

Tell = Callable[[str], None]


def desk_of(count: int, path: Path) -> Desk:
    """A desk of so many persons of an age."""
    return Desk(MemorySource([{"age": 30}] * count, {"age": Kind.INTEGER}), Ledger.open(f"sqlite:///{path}"), RICH)


def pairs(count: int, path: Path) -> np.ndarray:
    """Coarse and fine answers of many questions, each about all."""
    with desk_of(count, path) as desk:
        told = []
        for start in range(1000, 1000 + PAIRS, LIST):
            wheres = [f"age = 30 and age <> {number}" for number in range(start, start + LIST)]
            told.append([desk.release_many(wheres, LIST * price).answers[0] for price in (COARSE, FINE)])
        return np.concatenate(told, axis=1).T


@pytest.mark.parametrize("mutant", ["", "drawn afresh"])
def test_a_pair_loses_the_finer_price(mutant: str, tmp_path: Path, tell: Tell) -> None:
    """Of one person more or less, whatever two answers are together; a finer answer drawn afresh loses the sum."""
    coarser = (lambda *_: None) if mutant else QueryPlan.coarser
    with patch.object(QueryPlan, "coarser", coarser):
        fewer, more = (pairs(count, tmp_path / f"{count}.db") for count in (COUNT, COUNT + 1))
    level = FALSE_ALARM / 4
    shown = max(
        log_ratio((more > COUNT).all(axis=1), (fewer > COUNT).all(axis=1), level),
        log_ratio((fewer <= COUNT).all(axis=1), (more <= COUNT).all(axis=1), level),
    )
    tell(f"pairs {mutant}, ε = {FINE}: {2 * PAIRS:,} pairs show a loss of at least {shown:.3f}")
    assert (shown <= FINE) == (not mutant)
    assert shown > 0.5 * FINE
