"""Several transforms of one node beside sums of positive terms."""

from fractions import Fraction

import numpy as np
import pytest

from noisycount import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Mechanism, Splits, Tree, table_posterior
from noisycount.analysis.tables import passes, tree_solution
from noisycount.analysis.tables.prior import Dirichlet
from noisycount.analysis.tables.split import Split, zone_targets


@pytest.mark.parametrize("zones", [1, 13, 33])
def test_zones_share_the_counts_of_a_node(zones: int) -> None:
    """Children's laws are those of positive sums within the rounding that is told.

    One transform cannot tell a wide law of many even children; several can.
    """
    random = np.random.default_rng(7)
    children, width = 6, 400
    lows = np.zeros((1, children), dtype=np.int64)
    middle = random.uniform(20, 80, (1, children, 1))
    logs = -np.abs(np.arange(width) - middle) / 60
    division = Dirichlet(np.array([0.5, 200.0])[None, :, None], np.array([[3.0, 1200.0]]), np.log([0.4, 0.6]))
    middle_of_law, spread = np.array([260.0]), np.array([60.0])
    exact = Split(lows, logs, division, middle_of_law[:, None], is_positive=True)
    counts = np.arange(exact.messages.shape[1])
    wanted = np.exp(-0.5 * ((counts - 260) / 60.0) ** 2)[None]
    expected = exact.child_distributions(wanted / wanted.sum())
    split = Split(lows, logs, division, zone_targets(middle_of_law, spread, zones))
    law = wanted[:, split.low[0] : split.low[0] + split.messages.shape[1]]
    found = split.child_distributions(law / wanted.sum())
    moved = np.abs(found.laws - expected.laws).sum(axis=-1).max() / 2
    assert moved <= found.rounding[0] + 1e-12
    assert (found.rounding[0] < 1e-6) == (zones > 1)
    if zones > 1:
        assert np.allclose(found.chances, expected.chances, atol=1e-6)


def test_laws_of_narrow_splits_and_wide_noise_are_certain() -> None:
    """Even splits and noise that is wider than counts need zones: sums still agree everywhere."""
    tree = Tree.binary(16)
    random = np.random.default_rng(3)
    answers = 20 + DiscreteLaplace(50).draws(16, random)
    told = table_posterior(answers, DiscreteLaplace(50), tree, total=320, prior=Splits(40))
    assert told.rounding < 1e-8
    for level in range(tree.depth - 1):
        sums = np.bincount(tree.parents(level + 1), told.level(level + 1).mean)
        assert np.abs(sums - told.level(level).mean).max() < 1e-9 * 320


def test_what_was_reached_is_told_alike_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a single pass, too few, the law of a node is still the one whose estimates are told."""
    monkeypatch.setattr(tree_solution, "_MOST_REPEATS", 1)
    monkeypatch.setattr(tree_solution, "_REPEATS", 1)
    monkeypatch.setattr(tree_solution, "_MOVES", 0)
    monkeypatch.setattr(passes, "_BEARABLE", 0)
    tree = Tree.binary(8)
    answers = 20 + DiscreteLaplace(50).draws(8, np.random.default_rng(5))
    told = table_posterior(answers, DiscreteLaplace(50), tree, total=160, prior=Splits(200))
    monkeypatch.undo()
    exact = table_posterior(answers, DiscreteLaplace(50), tree, total=160, prior=Splits(200))
    assert exact.rounding < 1e-9
    assert told.rounding > min(1.0, abs(told.evidence - exact.evidence)) > tree_solution.EXACT
    for level in range(tree.depth):
        for position in range(tree.sizes[level]):
            law = told.node((level, position))
            moved = abs(law.mean - told.level(level).mean[position])
            assert moved <= told.rounding * law.law.log_weights.size
    assert told.draws(3, 1).sum(axis=1).tolist() == [160] * 3


Answered = dict[tuple[int, int], list[tuple[float, Mechanism]]]
FLOORED: list[tuple[Tree, list[float], Answered]] = [
    (
        Tree.flat(4),
        [2.02948, 8.03988, 6.26587, 0.88117],
        {(0, 0): [(347.0, Laplace(43.487))], (1, 0): [(74.0, Laplace(7.685))], (1, 3): [(-118.0, Gaussian(27.061))]},
    ),
    (
        Tree.binary(4),
        [16.5053, 0.352202, 0.284623, 8.09426],
        {
            (1, 0): [(20.0, DiscreteGaussian(Fraction(4507, 500))), (10.0, DiscreteGaussian(Fraction(8079, 1000)))],
            (1, 1): [(689.0, DiscreteLaplace(Fraction(5984, 125)))],
        },
    ),
    (
        Tree.binary(4),
        [12.1324, 4.03041, 18.6109, 0.523908],
        {
            (1, 1): [(584.0, DiscreteLaplace(Fraction(9401, 500)))],
            (2, 0): [(203.0, Laplace(13.581))],
            (2, 1): [(5.0, DiscreteGaussian(Fraction(1433, 500)))],
            (2, 3): [(316.0, DiscreteLaplace(Fraction(6603, 200))), (220.0, Gaussian(19.359))],
        },
    ),
]


@pytest.mark.few(0)
@pytest.mark.parametrize(("tree", "rates", "told"), FLOORED)
def test_what_a_transform_leaves_out_is_in_its_rounding(
    tree: Tree, rates: list[float], told: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evidence and means are within the bound of those of positive terms at every count."""
    answers = {node: [answer for answer, _ in own] for node, own in told.items()}
    laws = {node: [law for _, law in own] for node, own in told.items()}
    prior = Splits.multinomial(rates)
    found = table_posterior(answers, laws, tree, prior=prior)
    for name in ("_CHEAP", "_BEARABLE", "_MOST_WORK"):
        monkeypatch.setattr(passes, name, 1e30)
    exact = table_posterior(answers, laws, tree, prior=prior)
    assert exact.rounding < 1e-10
    assert found.rounding < 1e-4
    assert abs(found.evidence - exact.evidence) <= found.rounding + 1e-11
    widest = 20 * exact.std + 1
    assert (np.abs(found.mean - exact.mean) <= found.rounding * widest + 1e-9).all()
