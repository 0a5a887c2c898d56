import numpy as np
import pytest

from noisycount.analysis.tables.table_posterior import table_posterior
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.model.tables.tree import Tree

COUNTS = np.array([[645, 446, 80, 15], [770, 370, 90, 20], [440, 240, 50, 10], [560, 300, 45, 3]])
TREE = Tree.of_keys([np.repeat(range(4), 4), np.tile(range(4), 4)])


@pytest.mark.parametrize("seed", range(4))
def test_a_sum_across_a_tree_has_the_mean_of_its_cells(seed: int) -> None:
    """Wherever the windows of a node and of its part of the sum begin."""
    generator = np.random.default_rng(seed)
    noises = {2: DiscreteLaplace(3.7), 1: DiscreteLaplace(6.73), 0: DiscreteLaplace(12.3)}
    exact = {2: COUNTS.ravel(), 1: COUNTS.sum(axis=1), 0: COUNTS.sum(keepdims=True)[0]}
    answers = {
        level: exact[level] + noise.draws(exact[level].size, generator)
        for level, noise in noises.items()
    }
    told = table_posterior(answers, noises, tree=TREE)
    found = told.sum(range(3, 16, 4))
    assert found.mean == pytest.approx(told.mean[3::4].sum(), abs=1e-6 * found.std)
    assert found.std**2 == pytest.approx((told.std[3::4] ** 2).sum(), rel=0.5)
