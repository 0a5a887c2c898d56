"""The simulation of tables at length: are refined tables worth it, and do their intervals cover?

`docs/table-posteriors.md` has the same of ten releases each.
"""

from collections.abc import Callable
from functools import cache

import pytest

from noisycount.study.tables.measured import EPSILONS, Measured
from noisycount.study.tables.simulation import measured
from noisycount.study.tables.true_table import TrueTable, true_tables

RUNS = 60
LEAST_COVERED = 0.93
MORE_IN_SUMS = 1.05

Tell = Callable[[str], None]

by_table = pytest.mark.parametrize("table", true_tables(), ids=lambda table: table.name)
by_answered = pytest.mark.parametrize("answered", ["cells", "levels"])
by_price = pytest.mark.parametrize("epsilon", EPSILONS)


@cache
def found(table: TrueTable, answered: str, epsilon: float) -> dict[str, Measured]:
    """What was measured of each estimate, once for all audits."""
    places = table.answered if answered == "levels" else table.answered[-1:]
    return {each.estimate: each for each in measured(table, answered, places, epsilon, RUNS)}


@by_table
@by_answered
@by_price
def test_intervals_of_a_learned_prior_cover(
    table: TrueTable, answered: str, epsilon: float, tell: Tell
) -> None:
    """At least 93 % of the 95 % intervals, of cells and of margins."""
    tree = found(table, answered, epsilon)["tree"]
    cells, margins = tree.cells.covered, tree.margins.covered
    tell(f"{table.name}, {answered}, ε = {epsilon}: covers {cells:.3f}, margins {margins:.3f}")
    assert min(cells, margins) >= LEAST_COVERED


@by_table
@by_answered
@by_price
def test_refined_tables_are_never_further_off(
    table: TrueTable, answered: str, epsilon: float, tell: Tell
) -> None:
    """Cells than projected ones, sums than raw ones by more than 5 %."""
    by_name = found(table, answered, epsilon)
    tree, nearest, raw = by_name["tree"], by_name["projected"], by_name["raw"]
    cells = tree.cells.mean_absolute / nearest.cells.mean_absolute
    sums = tree.sums.mean_absolute / raw.sums.mean_absolute
    tell(
        f"{table.name}, {answered}, ε = {epsilon}: cells {cells:.3f} of projected, sums {sums:.3f}"
    )
    assert cells <= 1
    assert sums <= MORE_IN_SUMS
