"""Tables at length: all random small trees are exact; refined tables are worth it, and cover.

`docs/table-posteriors.md` has the simulation of ten releases each.
"""

from collections.abc import Callable
from functools import cache

import pytest
from tests.analysis.tables.test_crossing_sums import check_tables

from noisycount.papers.simulation import EPSILONS, Measured, measured
from noisycount.papers.table_estimates import TrueTable, true_tables

RUNS = 60
LEAST_COVERED = 0.93
MORE_IN_SUMS = 1.05
TREES, PARTS = 10_000, 20

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
def test_intervals_of_a_learned_prior_cover(table: TrueTable, answered: str, epsilon: float, tell: Tell) -> None:
    """At least 93 % of the 95 % intervals, of cells and of margins."""
    tree = found(table, answered, epsilon)["tree"]
    cells, margins = tree.cells.covered, tree.margins.covered
    tell(f"{table.name}, {answered}, ε = {epsilon}: covers {cells:.3f}, margins {margins:.3f}")
    assert min(cells, margins) >= LEAST_COVERED


@by_table
@by_answered
@by_price
def test_refined_tables_are_never_further_off(table: TrueTable, answered: str, epsilon: float, tell: Tell) -> None:
    """Cells than projected ones, sums than raw ones by more than 5 %."""
    by_name = found(table, answered, epsilon)
    tree, nearest, raw = by_name["tree"], by_name["projected"], by_name["raw"]
    cells = tree.cells.mean_absolute / nearest.cells.mean_absolute
    sums = tree.sums.mean_absolute / raw.sums.mean_absolute
    tell(f"{table.name}, {answered}, ε = {epsilon}: cells {cells:.3f} of projected, sums {sums:.3f}")
    assert cells <= 1
    assert sums <= MORE_IN_SUMS


@pytest.mark.filterwarnings("ignore:sums of some cells")  # of a flat table, which is meant
@pytest.mark.parametrize("part", range(PARTS))
def test_random_small_trees_are_exact(part: int, tell: Tell) -> None:
    """Evidence, means, quantiles and sums of cells of 10,000 trees, against all tables."""
    each = TREES // PARTS
    for seed in range(1000 + part * each, 1000 + (part + 1) * each):
        check_tables(seed)
    tell(f"trees {part * each} to {(part + 1) * each - 1}: exact")
