"""Tables whose answers contradict each other by many orders more than a float has digits."""

import math
import time
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import noisycount as nc
from tests.oracles.tables import Division, EnumeratedTables, SummedTables, Told

_KEYS = {"site": ["a", "b", "b", "a"], "cell": [0, 1, 2, 3]}
_NARROW = nc.Laplace(1e-6)


def _even(tree: nc.Tree) -> tuple[Division, ...]:
    """Divisions under `Splits(1)`."""
    sizes = [np.bincount(level) for level in tree.levels]
    return tuple(Division(tuple(map(Fraction, size.tolist()))) for size in sizes[1:])


@pytest.mark.parametrize(
    ("tree", "answers", "noise", "total"),
    [
        (
            nc.Tree.of_keys(_KEYS),
            [0.6045382852625099, 1.9841892109700652, -1000.4082215403236, nc.below(3.0)],
            _NARROW,
            1,
        ),
        (nc.Tree.flat(3), [1.25, 0.25, 0.5], nc.Gaussian(1e-9), 2),
        (nc.Tree.flat(3), [1000.25, -998.75, 0.5], nc.Gaussian(1e-9), 3),
        (nc.Tree.binary(3), [nc.below(0.0), 7.5, 7.5], _NARROW, 4),
        (nc.Tree.binary(4), [999.0, -5.0, 1004.0, 0.0], nc.Gaussian(1e-6), 5),
        (nc.Tree.binary(4), [-30.0, -20.0, -25.0, -10.0], nc.DiscreteLaplace(1e-6), 3),
    ],
)
def test_what_contradicting_answers_leave_is_that_of_all_tables(
    tree: nc.Tree, answers: list[object], noise: nc.Mechanism, total: int
) -> None:
    """Logarithms up to 1e24, of which fewer than one nat decides."""
    told = tuple(
        Told(tree.depth - 1, cell, one.threshold, noise, is_below=True)  # type: ignore[attr-defined]
        if isinstance(one, type(nc.below(1)))
        else Told(tree.depth - 1, cell, float(one), noise)  # type: ignore[arg-type]
        for cell, one in enumerate(answers)
    )
    exact = EnumeratedTables(tree, _even(tree), told, total)
    found = nc.table_posterior(answers, noise, tree, total=total, prior=nc.Splits(1))
    for cell in range(tree.cells):
        law = exact.law([cell])
        assert found.mean[cell] == pytest.approx(float(law.mean.mid()), abs=1e-9)
    assert found.evidence == pytest.approx(float(exact.evidence.mid()), rel=1e-14)
    for row in found.draws(9, random_state=3).tolist():
        assert float(exact.weights[tuple(row)] / exact.evidence.exp()) > 0


def test_a_threshold_far_away_tells_as_much_as_an_answer() -> None:
    """P[Y < t | k] = e^(−(k − t + 1)/b)/(1 + e^(−1/b)): every table is as likely."""
    noise, total = nc.DiscreteLaplace(1e-5), 3
    found = nc.table_posterior([nc.below(-1000), -2000.0], noise, total=total, prior=nc.Splits(1))
    assert found.mean == pytest.approx([1.5, 1.5], rel=1e-12)
    assert found.evidence == pytest.approx(-(total + 1001 + 2000) * 1e5, rel=1e-15)


def test_two_thresholds_of_gaussian_noise_share_what_is_left() -> None:
    """(1, 2) and (2, 1) are as likely; (0, 3) and (3, 0) by 1e8 nats less."""
    answers = [nc.below(-1000.5), nc.below(-1000.5)]
    found = nc.table_posterior(answers, nc.Gaussian(1e-4), total=3, prior=nc.Splits(1))
    assert found.mean == pytest.approx([1.5, 1.5], rel=1e-12)
    assert found.std == pytest.approx([0.5, 0.5], rel=1e-12)


def test_half_way_between_counts_the_prior_decides() -> None:
    """Two tables are as likely under the answers: multinomial weights 0.81 and 0.18."""
    prior = nc.Splits.multinomial([0.9, 0.1])
    found = nc.table_posterior([1.5, 0.5], nc.Gaussian(1e-9), total=2, prior=prior)
    assert found.mean == pytest.approx([1.8 / 0.99, 0.18 / 0.99], rel=1e-12)


def test_tables_are_drawn_where_answers_contradict_each_other() -> None:
    """By squares of distances the last cell has all four, at −1e18 nats."""
    prior = nc.Splits.multinomial([0.015, 0.307, 0.205])
    noise = nc.DiscreteGaussian(1e-6)
    found = nc.table_posterior([999.0, -5.0, 1004.0], noise, total=4, prior=prior)
    assert found.draws(5, random_state=3).tolist() == [[0, 0, 4]] * 5


@pytest.mark.thorough
def test_answers_of_wide_noise_may_lie_far_apart() -> None:
    """The first cell may have any count from 45 to 1e5, and the prior prefers few."""
    noise, tree = nc.DiscreteLaplace(1), nc.Tree.flat(2)
    found = nc.table_posterior({0: [50.0], 1: [1e5, 5.0]}, noise, tree, prior=nc.Splits(1))
    first, second = np.arange(100_060.0)[:, None], np.arange(60.0)
    logs = -abs(first + second - 50) - abs(first - 1e5) - abs(second - 5)
    weights = np.exp(logs - logs.max()) / (first + second + 1)
    weights /= weights.sum()
    assert found.mean == pytest.approx([float((weights * first).sum()), float((weights * second).sum())], rel=1e-9)
    assert found.rounding < 1e-9


def test_several_levels_of_a_wide_tree_contradict_each_other() -> None:
    """Every sum of two is three records more than its cells say, and the total eight less."""
    tree = nc.Tree.binary(4)
    told = {0: [41.0], 1: [30.0, 21.0], 2: [12.0, 13.0, 14.0, 15.0]}
    scales = {0: 0.01, 1: 0.02, 2: 0.01}
    laws = {level: nc.DiscreteGaussian(scale) for level, scale in scales.items()}
    found = nc.table_posterior(told, laws, tree, prior=nc.Splits(1))
    rows = tuple(
        Told(level, place, answer, laws[level])
        for level, answers in told.items()
        for place, answer in enumerate(answers)
    )
    exact = SummedTables(tree, nc.Splits([1.0] * 4), rows, None, 25)
    assert found.mean == pytest.approx(exact.tables.T @ exact.chances, rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_the_likeliest_table_is_found_among_many_cells(seed: int) -> None:
    """Of 200 cells under the narrowest noise: the total is met where that costs least."""
    random = np.random.default_rng(seed)
    answers = random.integers(0, 50, 200) + random.uniform(-0.4, 0.4, 200)
    nearest = np.rint(answers).clip(0)
    total = int(nearest.sum()) + 7
    found = nc.table_posterior(answers, nc.Gaussian(1e-7), total=total, prior=nc.Splits(1))
    most = np.argsort(answers - nearest)[-7:]
    nearest[most] += 1
    assert found.mean.tolist() == pytest.approx(nearest.tolist(), abs=1e-9)


def test_what_is_too_large_to_be_exact_is_refused() -> None:
    """More nodes than the likeliest table is looked for in, and digits that would be lost."""
    with pytest.raises(ValueError, match=r"contradict .* at most 10,000 nodes, got 12,001"):
        nc.table_posterior([1000.0] * 12_000, _NARROW, total=3, prior=nc.Splits(1))
    noise = nc.NoiseSum([nc.Laplace(1e-3), nc.Laplace(2e-3)])
    with pytest.raises(ValueError, match=r"under a sum of noises, got 1000\.0"):
        nc.table_posterior([1000.0, 1.0], noise, total=3, prior=nc.Splits(1))


def test_the_evidence_of_narrow_noise_keeps_its_digits() -> None:
    """Of one table: the sum of the logarithms of two densities."""
    found = nc.table_posterior([3.25, 4.5], nc.Laplace(1e-6), total=7, prior=nc.Splits(1))
    # the tables (3, 4) and (2, 5) are 0.75e6 and 1.75e6 nats from the peaks
    assert found.evidence == pytest.approx(-0.75e6 - 2 * math.log(2e-6) - math.log(8), rel=1e-15)


def test_noise_too_narrow_to_have_a_variance_is_judged_without_division_by_it() -> None:
    """Its variance underflows, and no record is left that a share could move."""
    noise, total = nc.DiscreteGaussian(1e-5), nc.Binomial(5, 0.5)
    with pytest.warns(UserWarning, match="the answer"):
        found = nc.table_posterior([0.0, -1001.0], noise, total=total, prior=nc.Splits(1))
    assert found.mean == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.thorough
def test_a_law_that_ends_within_a_record_ends_in_its_window() -> None:
    """Its probabilities underflow to 0, which is no window that is too short."""
    random = np.random.default_rng(1)
    answers = random.integers(0, 50, 200) + random.uniform(-0.4, 0.4, 200)
    total = int(np.rint(answers).clip(0).sum()) + 70
    started = time.process_time()
    found = nc.table_posterior(answers, nc.Laplace(1e-4), nc.Tree.binary(200), total=total, prior=nc.Splits(1))
    assert found.rounding < 1e-10
    assert time.process_time() - started < 10


def test_answers_of_more_than_the_largest_total_are_answered() -> None:
    """At most four records, and answers of sixteen: by all tables, at −4,000 nats."""
    answers, noise = [6.0, 9.0, 1.0], nc.DiscreteGaussian(0.1)
    found = nc.table_posterior(answers, noise, total=nc.Binomial(4, 0.5), prior=nc.Splits(1))
    tables = np.array([table for table in product(range(5), repeat=3) if sum(table) <= 4])
    whole = tables.sum(axis=1)
    logs = -50.0 * ((tables - answers) ** 2).sum(axis=1) + stats.binom.logpmf(whole, 4, 0.5)
    weights = np.exp(logs - logs.max()) / ((whole + 1) * (whole + 2))
    assert found.mean == pytest.approx(weights @ tables / weights.sum(), rel=1e-9)


@pytest.mark.thorough
def test_many_answers_may_exceed_the_largest_total() -> None:
    """Thirteen cells of up to a thousand records, where answers add up to 3,708; no count is lost."""
    answers = [738.0, 23, 207, 173, 132, 340, 151, 333, 203, 206, 0, 335, 1065]
    found = nc.table_posterior(answers, nc.DiscreteGaussian(3), total=nc.Binomial(1000, 0.5), prior=nc.Splits(20))
    assert float(found.mean.sum()) == pytest.approx(found.node((0, 0)).mean)
    assert found.rounding < 1e-9
    assert (found.draws(50, random_state=1).sum(axis=1) <= 1000).all()
