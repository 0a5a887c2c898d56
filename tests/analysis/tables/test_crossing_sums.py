"""Tests of `analysis/tables/tilts.py`."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import noisycount as nc
from noisycount.analysis.tables import tree_solution
from noisycount.analysis.tables.table_posterior import table_posterior
from tests.oracles.tables import SummedTables, Told, random_tables

COUNTS = np.array([[645, 446, 80, 15], [770, 370, 90, 20], [440, 240, 50, 10], [560, 300, 45, 3]])
TREE = nc.Tree.of_keys([np.repeat(range(4), 4), np.tile(range(4), 4)])


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_a_sum_across_a_tree_has_the_mean_of_its_cells(seed: int) -> None:
    """Wherever the windows of a node and of its part of the sum begin."""
    generator = np.random.default_rng(seed)
    noises = {2: nc.DiscreteLaplace(3.7), 1: nc.DiscreteLaplace(6.73), 0: nc.DiscreteLaplace(12.3)}
    exact = {2: COUNTS.ravel(), 1: COUNTS.sum(axis=1), 0: COUNTS.sum(keepdims=True)[0]}
    answers = {level: exact[level] + noise.draws(exact[level].size, generator) for level, noise in noises.items()}
    told = table_posterior(answers, noises, tree=TREE)
    found = told.sum(range(3, 16, 4))
    assert found.mean == pytest.approx(told.mean[3::4].sum(), abs=1e-6 * found.std)
    assert found.std**2 == pytest.approx((told.std[3::4] ** 2).sum(), rel=0.5)


flat_sums = pytest.mark.filterwarnings("ignore:sums of some cells")  # which are meant


def posterior_of(case: SummedTables) -> Any:  # noqa: ANN401
    """Return the posterior of a case, which the tests compare with its oracle."""
    answers, laws = defaultdict[Any, list[Any]](list), defaultdict[Any, list[Any]](list)
    for told in case.answers:
        answers[told.level, told.position].append(told.answer)
        laws[told.level, told.position].append(told.mechanism)
    return table_posterior(answers, laws, case.tree, case.total, case.prior)


def check_sum(found: Any, law: NDArray[np.float64], rounding: float) -> None:  # noqa: ANN401
    """Mean, deviation, quantiles and every probability of a sum of cells, against all tables.

    As far as the stated bound of the rounding of transforms lets them differ.
    """
    counts = np.arange(law.size)
    mean = float(law @ counts)
    deviation = float(np.sqrt(law @ (counts - mean) ** 2))
    moved = rounding * law.size
    assert abs(found.mean - mean) <= 1e-9 * (deviation + 0.01) + moved
    assert abs(found.std**2 - deviation**2) <= 1e-8 * (deviation + 0.01) ** 2 + moved * law.size
    assert np.abs(found.pmf(counts) - law).max() <= 1e-10
    below = law.cumsum()
    for level in (0.025, 0.5, 0.975):
        quantile = found.law.quantile(level)
        assert below[quantile] >= level - 1e-10
        assert quantile == 0 or below[quantile - 1] < level + 1e-10


def check_tables(seed: int) -> None:
    """Evidence, all cells, all sums of all but one, and two random ones."""
    case = random_tables(seed)
    told, random = posterior_of(case), np.random.default_rng(seed)
    assert abs(told.evidence - case.evidence) <= told.rounding + 1e-11 + 1e-14 * abs(case.evidence)
    one = np.eye(case.tree.cells, dtype=np.bool_)
    for is_in in [*one, *~one, *(random.random((2, case.tree.cells)) < 0.5)]:
        if is_in.any():
            check_sum(told.sum(is_in), case.law(is_in), told.rounding)
    for level in range(1, case.tree.depth):
        sums = np.bincount(case.tree.parents(level), told.level(level).mean)
        assert np.allclose(sums, told.level(level - 1).mean, rtol=0, atol=1e-9)


@pytest.mark.thorough
@flat_sums
@pytest.mark.parametrize("seed", range(25))
def test_sums_in_random_trees_are_those_of_all_tables(seed: int) -> None:
    """Also where the sums of the children are far from what the answers say of them."""
    check_tables(seed)


@flat_sums
def test_a_sum_is_not_the_noise_of_a_transform() -> None:
    """Sums keep their digits where the product of generating functions is e^−270 of its maximum."""
    free = table_posterior([7, 7, 7], nc.DiscreteLaplace(1.5), nc.Tree.flat(3), prior=nc.Splits.multinomial([1, 1, 1]))
    rates = nc.Splits.multinomial([1.094, 0.146, 0.897])
    whole = table_posterior([20.0, 1.0, 78.0], nc.DiscreteLaplace(10.0), nc.Tree.binary(3), total=78, prior=rates)
    assert free.sum([0, 1]).mean == pytest.approx(13.86516042868810, rel=1e-12)
    assert free.mean[:2].sum() == pytest.approx(13.86516042868810, rel=1e-12)
    assert whole.sum([1, 2]).mean == pytest.approx(41.46731521870194, rel=1e-12)
    assert whole.mean[1:].sum() == pytest.approx(41.46731521870194, rel=1e-12)


def test_the_guess_of_an_unanswered_part_does_not_exceed_its_sum() -> None:
    """An exact sum of a known and an unknown cell is no reason to refuse the answers."""
    case = SummedTables(
        nc.Tree([[0, 0, 0], [1, 0, 1], [0, 1, 2]]),
        nc.Splits([0.355295, 0.989984, 0.052608]),
        (
            Told(0, 0, 97.0, nc.DiscreteLaplace(38.95)),
            Told(1, 0, -2.0, nc.DiscreteLaplace(18.25)),
            Told(2, 0, 15.2, nc.Gaussian(0.85)),
            Told(2, 1, 11.0, nc.DiscreteGaussian(0.37)),
        ),
        117,
        0,
    )
    told = posterior_of(case)
    for cell in range(3):
        is_in = np.arange(3) == cell
        check_sum(told.node((2, cell)), case.law(is_in), told.rounding)


def test_windows_grow_until_they_hold_all_that_is_likely() -> None:
    """Answers that contradict the prior and each other: after five passes windows left out 0.7 % of the tables."""
    check_tables(2988)


def test_what_windows_still_cut_off_in_the_last_pass_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """After two passes those tables are not known yet, and `rounding` says so."""
    monkeypatch.setattr(tree_solution, "_MOST_REPEATS", 2)
    assert posterior_of(random_tables(2988)).rounding >= 1
