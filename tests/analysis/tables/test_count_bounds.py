from itertools import product

import numpy as np
import pytest

from noisycount import Binomial, Exact, Tree
from noisycount.analysis.tables.answers import count_bounds
from noisycount.analysis.tables.likelihoods import NO_END, LevelAnswers

TREE = Tree([[0] * 4, [0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3]])  # type: ignore[arg-type]


def exact(level: int, values: list[float], below: list[bool]) -> LevelAnswers:
    """Exact answers, nan for none."""
    answers = np.array(values)
    nodes = np.flatnonzero(~np.isnan(answers))
    return LevelAnswers(level, nodes, answers[nodes], np.array(below)[nodes], Exact())


def tables(answers: list[LevelAnswers], total: int) -> np.ndarray:
    """Return all tables of four cells with that total and these exact answers."""
    cells = np.array([one for one in product(range(total + 1), repeat=4) if sum(one) == total])
    for one in answers:
        sums = np.array([np.bincount(TREE.levels[one.level], cell) for cell in cells])
        for node, value, below in zip(one.nodes, one.answers, one.suppressed, strict=True):
            counts = sums[:, node]
            kept = counts < value if below else counts == value
            cells, sums = cells[kept], sums[kept]
        if not len(cells):
            break
    return cells


@pytest.mark.parametrize("seed", range(150))
def test_bounds_are_those_of_all_tables(seed: int) -> None:
    """Each node's bounds are its smallest and largest count; no table is left means a refusal."""
    random = np.random.default_rng(seed)
    total = int(random.integers(0, 6))
    answers = []
    for level in range(1, 4):
        size = TREE.sizes[level]
        values = np.where(random.random(size) < 0.35, random.integers(1, 4, size), np.nan)
        answers.append(exact(level, values.tolist(), (random.random(size) < 0.5).tolist()))
    cells = tables(answers, total)
    if not len(cells):
        with pytest.raises(ValueError, match="contradict each other"):
            count_bounds(answers, TREE, total)
        return
    for nodes, found in zip(TREE.levels, count_bounds(answers, TREE, total), strict=True):
        sums = np.array([np.bincount(nodes, cell) for cell in cells])
        assert found.low.tolist() == sums.min(axis=0).tolist()
        assert found.high.tolist() == sums.max(axis=0).tolist()


def test_nothing_known_has_no_end() -> None:
    """Without a total only exact answers bound."""
    known = exact(2, [3, np.nan, 2], [False, False, True])
    root, first, *_, cells = count_bounds([known], TREE, None)
    assert (root.low.tolist(), root.high.tolist()) == ([3], [NO_END])
    assert first.high.tolist() == [NO_END, 1]
    assert cells.high.tolist() == [3, 3, NO_END, 1]


def test_population_bounds_the_root() -> None:
    """A law of the total has a largest count."""
    root, *_ = count_bounds([], TREE, Binomial(9, 0.5))
    assert (root.low.tolist(), root.high.tolist()) == ([0], [9])


def test_sums_are_whole() -> None:
    """Counts beyond 2^53 together add up without rounding."""
    far = 2.0**53
    told = [exact(3, [far, 1, far, 1], [False] * 4)]
    assert count_bounds(told, TREE, None)[0].low.tolist() == [2**54 + 2]
