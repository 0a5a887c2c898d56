"""Tables at length: all random small trees are exact; refined tables are worth it, and cover.

`docs/mathematics/posteriors.md` has the claims of the same simulation of other releases.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from tests.analysis.tables.test_crossing_sums import check_tables

from audits.learned_priors import errors, histograms, table_text
from audits.simulated_tables import measured
from audits.table_estimates import true_tables
from noisycount.papers.our_tables import EPSILONS

RUNS = range(100, 102)  # releases that the simulation of the page has not
LEAST_COVERED = 0.93
LARGEST_SHARE = 0.52  # of the raw error: the geometric mean over the histograms
MORE_IN_SUMS = 1.05
TREES, PARTS = 1_000, 10

Tell = Callable[[str], None]


@pytest.mark.parametrize("answered", ["cells", "levels"])
def test_intervals_cover_and_refined_tables_are_nearer(answered: str, tell: Tell) -> None:
    """Over all tables and prices: at least 93 % of the 95 % intervals of cells and of margins hold the count.

    Root mean squared errors of cells are at most those of projected ones, and of sums at most 5 % above those of raw
    ones: averages, as a few releases of one table vary by a tenth and more. Each table is told.
    """
    covered, ratios = [], []
    for table, epsilon in product(true_tables(), EPSILONS):
        places = table.answered if answered == "levels" else table.answered[-1:]
        by_name = {each.estimate: each for each in measured(table, answered, places, epsilon, RUNS)}
        tree, nearest, raw = by_name["tree"], by_name["projected"], by_name["raw"]
        covered.append((tree.cells.covered, tree.margins.covered))
        cells = tree.cells.root_mean_square / nearest.cells.root_mean_square
        ratios.append((cells, tree.sums.root_mean_square / raw.sums.root_mean_square))
        tell(
            f"{table.name}, {answered}, ε = {epsilon}: covers {covered[-1][0]:.3f}, margins {covered[-1][1]:.3f}; "
            f"errors of cells {ratios[-1][0]:.3f} of projected, of sums {ratios[-1][1]:.3f} of raw"
        )
    cells, sums = np.exp(np.log(ratios).mean(axis=0))
    tell(f"all, {answered}: covers {np.mean(covered, axis=0).round(3)}; cells {cells:.3f}, sums {sums:.3f}")
    assert np.mean(covered, axis=0).min() >= LEAST_COVERED
    assert cells <= 1
    assert sums <= MORE_IN_SUMS


@pytest.mark.filterwarnings("ignore:sums of some cells")  # of a flat table, which is meant
@pytest.mark.parametrize("part", range(PARTS))
def test_random_small_trees_are_exact(part: int, tell: Tell) -> None:
    """Evidence, means, quantiles and sums of cells of 1,000 trees, against all tables."""
    each = TREES // PARTS
    for seed in range(1000 + part * each, 1000 + (part + 1) * each):
        check_tables(seed)
    tell(f"trees {part * each} to {(part + 1) * each - 1}: exact")


def test_a_learned_prior_is_nearer_than_raw_and_clipped_answers(tell: Tell) -> None:
    """Of every histogram of 512 cells; on average at about half of the raw error, with intervals that cover."""
    rows = {name: errors(name, counts) for name, counts in histograms()}
    for line in table_text(rows).splitlines():
        tell(line)
    assert all(row.learned < min(row.raw, row.clipped) for row in rows.values())
    assert np.exp(np.mean([np.log(row.learned / row.raw) for row in rows.values()])) <= LARGEST_SHARE
    assert np.mean([row.covered for row in rows.values()]) >= LEAST_COVERED
