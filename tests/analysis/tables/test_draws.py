"""Draws of whole tables: what they add up to, and how far their averages are from the laws."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from noisycount import (
    Binomial,
    DiscreteGaussian,
    DiscreteLaplace,
    Exact,
    Gaussian,
    Splits,
    Tree,
    below,
    table_posterior,
)
from noisycount.analysis.tables.given_sums import draw_places, draw_summands
from tests.oracles.chi_square import assert_drawn

FALSE_ALARM = 1e-6


def check_moments(drawn: np.ndarray, mean: np.ndarray, std: np.ndarray) -> None:
    """Means and variances of columns within what draws of so many leave to chance."""
    number, columns = drawn.shape
    limit = stats.norm.isf(FALSE_ALARM / (4 * columns))
    far = np.abs(drawn.mean(axis=0) - mean)
    assert (far <= limit * std / np.sqrt(number) + 1e-9).all()
    squares = (drawn - mean) ** 2
    error = squares.std(axis=0) / np.sqrt(number)
    assert (np.abs(squares.mean(axis=0) - std**2) <= limit * error + 1e-9).all()


def test_tables_keep_the_total_and_exact_margins() -> None:
    """On every level, with a suppressed cell and one without an answer."""
    rows = np.repeat(np.arange(4), 6)
    tree = Tree((np.zeros(24, np.int64), rows, np.arange(24)))
    random = np.random.default_rng(5)
    truth = random.poisson(9, 24)
    margins = np.bincount(rows, truth)
    told = list(truth + random.laplace(0, 4, 24).round())
    told[3], told[7] = below(12), np.nan
    found = table_posterior(
        {1: margins, 2: told}, [DiscreteLaplace(1), Exact(), DiscreteLaplace(4)], tree,
        int(truth.sum())
    )  # fmt: skip
    drawn = found.draws(300, random_state=1)
    assert drawn.dtype == np.int64
    assert (drawn >= 0).all()
    for row in range(4):
        assert (drawn[:, rows == row].sum(axis=1) == margins[row]).all()
    check_moments(drawn, found.mean, found.std)


@pytest.mark.thorough
def test_margins_of_a_learned_tree_have_their_laws() -> None:
    """Means and variances of all nodes of a binary tree of 64 cells."""
    random = np.random.default_rng(2)
    truth = random.poisson(random.gamma(0.7, 20, 64))
    tree = Tree.binary(64)
    answers = {
        level: np.bincount(nodes, truth) + random.laplace(0, 6, size).round()
        for level, (nodes, size) in enumerate(zip(tree.levels, tree.sizes, strict=True))
    }
    found = table_posterior(answers, DiscreteLaplace(6), tree)
    drawn = found.draws(4_000, random_state=3)
    for level, (nodes, size) in enumerate(zip(tree.levels, tree.sizes, strict=True)):
        sums = np.stack([drawn[:, nodes == node].sum(axis=1) for node in range(size)], axis=1)
        told = found.level(level)
        check_moments(sums, told.mean, told.std)


@pytest.mark.filterwarnings("ignore:sums of some cells")  # of a flat table, which is meant
@pytest.mark.parametrize("cells", [40, 150])
def test_a_flat_table_of_many_cells_adds_up(cells: int) -> None:
    """Also where halves are summed by transforms; half of its cells vary together as they do."""
    random = np.random.default_rng(cells)
    truth = random.poisson(random.gamma(0.5, 40, cells))
    told = truth + random.normal(0, 8, cells)
    total = int(truth.sum())
    found = table_posterior(told, Gaussian(8), total=total, prior=Splits(0.5))
    drawn = found.draws(1_000, random_state=4)
    assert (drawn.sum(axis=1) == total).all()
    check_moments(drawn, found.mean, found.std)
    half = found.sum(np.arange(cells) < cells // 2)
    check_moments(drawn[:, : cells // 2].sum(axis=1)[:, None], *np.array([[half.mean], [half.std]]))


def test_independent_cells_are_drawn_by_their_laws() -> None:
    """Without a total, drawn cells have their means and deviations, also cells without an answer."""
    random = np.random.default_rng(9)
    told = random.poisson(30, 200) + random.laplace(0, 5, 200).round()
    told[:3] = np.nan
    found = table_posterior(told, DiscreteLaplace(5))
    drawn = found.draws(3_000, random_state=6)
    check_moments(drawn, found.mean, found.std)


@pytest.mark.few(1)
@pytest.mark.parametrize("is_positive", [False, True])
@pytest.mark.parametrize(("summands", "width"), [(1, 7), (3, 5), (150, 30), (37, 300)])
def test_summands_are_drawn_given_their_sum(summands: int, width: int, is_positive: bool) -> None:  # noqa: FBT001
    """The first of them by χ² against its law given the sum, the likeliest or a rare one; short sums, transforms."""
    random = np.random.default_rng(summands)
    laws = random.dirichlet(np.full(width, 0.3), (2, summands))
    others = np.ones(1)
    for law in laws[1, 1:]:
        others = np.convolve(others, law)
    whole = np.convolve(laws[1, 0], others)
    total = int(np.flatnonzero(whole > 1e-200)[-1] if is_positive else whole.argmax())
    number = 20_000
    kinds = np.ones(number, np.int64)
    drawn = draw_summands(laws, kinds, np.full(number, total), random, is_positive=is_positive)
    assert drawn.shape == (number, summands)
    assert (drawn.sum(axis=1) == total).all()
    rest = total - np.arange(width)
    is_possible = (rest >= 0) & (rest < others.size)
    given = np.where(is_possible, laws[1, 0] * others[np.clip(rest, 0, others.size - 1)], 0.0)
    expected = given / given.sum() * number
    assert_drawn(np.bincount(drawn[:, 0], minlength=width), expected)


def test_draws_follow_from_a_seed() -> None:
    """Equal seeds give equal tables, and a generator continues between draws."""
    found = table_posterior([5, 9, 2], DiscreteLaplace(2), total=15)
    assert (found.draws(20, random_state=1) == found.draws(20, random_state=1)).all()
    random = np.random.default_rng(1)
    assert (found.draws(20, random) == found.draws(20, random_state=1)).all()
    assert (found.draws(20, random) != found.draws(20, random_state=1)).any()


@pytest.mark.filterwarnings("ignore")  # of answers that far from the prior, which are meant
def test_answers_that_the_prior_excludes_leave_no_negative_counts() -> None:
    """A sum of e^−90 of the likeliest one, which a Fourier transform rounds to nothing."""
    rates = [0.303, 0.225, 0.126, 0.639, 0.648, 0.901, 0.556, 0.844]
    found = table_posterior(
        [2.0, 62, 434, 1, 0, 14, 32, 36],
        DiscreteLaplace(0.5),
        Tree.flat(8),
        total=Binomial(5811, 0.1),
        prior=Splits.multinomial(rates),
    )
    drawn = found.draws(400, random_state=3)
    assert (drawn >= 0).all()
    check_moments(drawn, found.mean, found.std)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # of answers that far from the prior, which are meant
@given(st.integers(0, 2**32))
@example(63)
@settings(max_examples=8)
def test_draws_are_tables_however_far_the_answers_are(seed: int) -> None:
    """Of stated priors and learned ones, with and without a total: in range, added up, and by the laws of cells."""
    random = np.random.default_rng(seed)
    cells, size = int(random.choice([2, 5, 13])), int(random.choice([20, 1000]))
    answers = np.round(random.exponential(size / cells * random.choice([0.1, 1, 3]), cells) - random.choice([0, 10]))
    noise = random.choice([DiscreteLaplace, DiscreteGaussian])(random.choice([0.05, 0.5, 3]))
    total = random.choice([None, size, Binomial(size, random.choice([0.01, 0.5]))])
    prior = random.choice([None, Splits(0.05), Splits(20), Splits.multinomial(random.uniform(0.01, 1, cells))])
    found = table_posterior(answers, noise, Tree.flat(cells), total, prior)
    drawn = found.draws(300, random_state=seed)
    assert (drawn >= 0).all()
    assert not isinstance(total, int) or (drawn.sum(axis=1) == total).all()
    for cell, counts in enumerate(drawn.T):
        law, middle = found.node((-1, cell)), found.median[cell]
        is_lower = int((counts <= middle).sum())
        assert stats.binomtest(is_lower, 300, float(law.cdf(middle))).pvalue > FALSE_ALARM / cells


def test_a_distribution_without_weight_is_refused() -> None:
    """No place is drawn from it, neither the first nor the last."""
    weights, random = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), np.random.default_rng(1)
    assert (draw_places(weights, np.zeros(1000, np.int64), random) == 1).all()
    with pytest.raises(ValueError, match="draws cannot be computed"):
        draw_places(weights, np.ones(3, np.int64), random)
