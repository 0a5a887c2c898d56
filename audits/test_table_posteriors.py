"""Tables at length: all random small trees are exact; refined tables are worth it, and cover.

`docs/table-posteriors.md` has the same simulation of other releases.
"""

from collections.abc import Callable

import pytest
from tests.analysis.tables.test_crossing_sums import check_tables

from noisycount.papers.simulation import EPSILONS, measured
from noisycount.papers.table_estimates import TrueTable, true_tables

RUNS = range(100, 104)  # releases that the simulation of the page has not
LEAST_COVERED = 0.93
MORE_IN_SUMS = 1.05
TREES, PARTS = 2_000, 10

Tell = Callable[[str], None]

by_table = pytest.mark.parametrize("table", true_tables(), ids=lambda table: table.name)
by_answered = pytest.mark.parametrize("answered", ["cells", "levels"])
by_price = pytest.mark.parametrize("epsilon", EPSILONS)


@pytest.mark.parametrize("table", true_tables(), ids=lambda table: table.name)
@pytest.mark.parametrize("answered", ["cells", "levels"])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_refined_tables_cover_and_are_never_further_off(
    table: TrueTable, answered: str, epsilon: float, tell: Tell
) -> None:
    """At least 93 % of the 95 % intervals, of cells and of margins, hold the count.

    Cells are nearer than projected ones; sums are not further off than raw ones by more than 5 %.
    """
    places = table.answered if answered == "levels" else table.answered[-1:]
    by_name = {each.estimate: each for each in measured(table, answered, places, epsilon, RUNS)}
    tree, nearest, raw = by_name["tree"], by_name["projected"], by_name["raw"]
    covered = tree.cells.covered, tree.margins.covered
    cells = tree.cells.mean_absolute / nearest.cells.mean_absolute
    sums = tree.sums.mean_absolute / raw.sums.mean_absolute
    tell(
        f"{table.name}, {answered}, ε = {epsilon}: covers {covered[0]:.3f}, margins {covered[1]:.3f}; "
        f"errors of cells {cells:.3f} of projected, of sums {sums:.3f} of raw"
    )
    assert min(covered) >= LEAST_COVERED
    assert cells <= 1
    assert sums <= MORE_IN_SUMS


@pytest.mark.filterwarnings("ignore:sums of some cells")  # of a flat table, which is meant
@pytest.mark.parametrize("part", range(PARTS))
def test_random_small_trees_are_exact(part: int, tell: Tell) -> None:
    """Evidence, means, quantiles and sums of cells of 2,000 trees, against all tables."""
    each = TREES // PARTS
    for seed in range(1000 + part * each, 1000 + (part + 1) * each):
        check_tables(seed)
    tell(f"trees {part * each} to {(part + 1) * each - 1}: exact")
