"""Laws of single nodes against what is told of whole levels."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from noisycount import DiscreteLaplace, Mechanism, Tree, table_posterior
from noisycount.analysis.tables.passes import NodeLaw, aligned_laws
from noisycount.analysis.tables.table_posterior import TablePosterior

COUNTS = [4000, 3100, 900, 2500, 40]


def told(noise: Mechanism, cells: int) -> TablePosterior:
    """A table of ranges whose nodes have answers of very different spread."""
    tree = Tree.binary(cells)
    counts = np.resize(COUNTS, cells)
    answers = {}
    for level in range(tree.depth):
        sums = np.bincount(tree.levels[level], counts)
        answers[level] = sums + (np.arange(sums.size) % 3 - 1) * 4
        if level == tree.depth - 1:
            answers[level] = np.where(np.arange(sums.size) % 2, np.nan, answers[level])
    return table_posterior(answers, noise, tree)


@pytest.mark.thorough
@pytest.mark.parametrize("cells", [5, 13])
@pytest.mark.parametrize("scale", [8, 30])
def test_a_node_has_the_law_its_level_tells_of(scale: float, cells: int) -> None:
    """Means, deviations, medians and intervals are those of the level, for every node."""
    found = told(DiscreteLaplace(scale), cells)
    for level in range(found.tree.depth):
        summary = found.level(level)
        for place in range(found.tree.sizes[level]):
            node = found.node((level, place))
            assert node.mean == pytest.approx(summary.mean[place], abs=1e-8 * node.std + 1e-8)
            assert node.std == pytest.approx(summary.std[place], rel=1e-7)
            assert node.median == summary.median[place]
            assert node.interval(0.95) == (summary.low[place], summary.high[place])


@pytest.mark.few(2)
@pytest.mark.parametrize("scale", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("total", [None, 15])
def test_hardly_any_noise_is_none(scale: float, total: int | None) -> None:
    """The counts are the answers."""
    noise = DiscreteLaplace(scale)
    for tree in (Tree.flat(4), Tree.binary(4)):
        found = table_posterior([3, 5, 0, 7], noise, tree, total)
        assert found.mean.tolist() == pytest.approx([3, 5, 0, 7])


def test_a_law_is_placed_by_its_counts() -> None:
    """Also in a row that begins after the law, ends before it, or reaches beyond it."""
    law = NodeLaw(3, np.array([0.0, 0.1, 0.2, 0.4, 0.3]))
    for low, width in ((5, 2), (5, 9), (1, 4), (0, 12), (3, 5)):
        row: Any = SimpleNamespace(messages=np.zeros((1, width)), low=np.array([low]))
        wanted = [law.law[count - 3] if 3 <= count < 8 else 0 for count in range(low, low + width)]
        assert aligned_laws((law,), np.array([0]), row).tolist() == [wanted]
