from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from noisycount.model.tables.levels import Level, range_levels
from noisycount.papers.table_estimates import nearest_counts, nearest_tree

Reals = NDArray[np.float64]


def cells(size: int) -> Level:
    """The cells themselves."""
    return Level("cells", np.arange(size, dtype=np.int32), size)


def tree(size: int) -> list[Level]:
    """Two levels of ranges, and the cells."""
    return [*range_levels(size)[:2], cells(size)]


def distance(levels: list[Level], answers: list[Reals], found: Reals) -> float:
    """The sum of squares that the nearest table makes least."""
    sums = [np.bincount(level.of_cell, found, level.size) for level in levels]
    return sum(float(np.square(a - s).sum()) for a, s in zip(answers, sums, strict=True))


def faces(levels: list[Level], answers: list[Reals], total: float) -> float:
    """The least distance, over all sets of cells that are 0, of tables that are not negative."""
    size = levels[-1].size
    rows = np.concatenate([np.arange(level.size)[:, None] == level.of_cell for level in levels])
    told, least = np.concatenate(answers), np.inf
    for kept in product((False, True), repeat=size):
        free = np.flatnonzero(kept)
        if free.size:
            # one cell carries what the others leave of the total
            base, steps = np.eye(size)[free[-1]] * total, np.eye(size)[free[:-1]]
            steps = steps - np.eye(size)[free[-1]]
            shares = np.linalg.lstsq((rows @ steps.T), told - rows @ base, rcond=None)[0]
            found = base + shares @ steps
            if found.min() >= -1e-9:
                least = min(least, distance(levels, answers, found))
    return least


@pytest.mark.parametrize("seed", range(20))
def test_no_table_is_nearer_than_the_projection(seed: int) -> None:
    """Against the best of all faces of the simplex, at six cells."""
    generator = np.random.default_rng(seed)
    answers, total = generator.normal(0, 5, 6), float(generator.integers(1, 20))
    found = nearest_counts(answers, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    least = faces([cells(6)], [answers], total)
    assert distance([cells(6)], [answers], found) == pytest.approx(least)


@pytest.mark.parametrize("seed", range(20))
def test_no_table_is_nearer_to_the_answers_of_a_tree(seed: int) -> None:
    """Against the best of all faces, at six cells and answers of three levels."""
    generator = np.random.default_rng(seed)
    levels, total = tree(6), float(generator.integers(1, 20))
    answers = [generator.normal(0, 5, level.size) for level in levels]
    found = nearest_tree(levels, answers, [1.0] * 3, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    assert distance(levels, answers, found) == pytest.approx(faces(levels, answers, total))


def test_both_agree_where_the_cells_alone_are_answered() -> None:
    """Five hundred cells, most of them 0."""
    generator = np.random.default_rng(1)
    answers = generator.laplace(0, 30, 500) + generator.integers(0, 40, 500)
    found = nearest_tree([cells(500)], [answers], [900.0], 2000)
    assert found == pytest.approx(nearest_counts(answers, 2000), abs=1e-6)


def test_variances_weigh_the_levels() -> None:
    """Two cells that say 10 and 10, and a pair that says 26; a level that is worse counts less."""
    levels = [Level("pair", np.array([0, 0, 1], dtype=np.int32), 2), cells(3)]
    answers = [np.array([26.0, 74.0]), np.array([10.0, 10.0, 80.0])]
    trusted = nearest_tree(levels, answers, [1e-6, 1.0], 100)
    ignored = nearest_tree(levels, answers, [1e12, 1.0], 100)
    assert trusted == pytest.approx([13, 13, 74], abs=1e-3)
    assert ignored == pytest.approx([10, 10, 80], abs=1e-3)


@pytest.mark.parametrize("answers", [[5.0, -3.0], [-7.0, -3.0], [0.0, 0.0]])
def test_nothing_is_shared_out_of_nothing(answers: list[float]) -> None:
    """A total of 0 has one table."""
    told = np.array(answers)
    assert nearest_counts(told, 0).tolist() == [0, 0]
    assert nearest_tree([cells(2)], [told], [1.0], 0).tolist() == [0, 0]
