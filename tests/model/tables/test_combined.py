import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount.model.tables.combined import NestedLevels, least_squares_estimates, prefix_errors, standard_errors
from noisycount.model.tables.levels import Level, cell_level, margin_levels, range_levels

NAMES = ("a", "b", "c")
MARGINS = [("a", "b"), ("a", "c"), ("b", "c"), ("a",), ("b",), ("c",), ()]
Levels = tuple[Level, ...]


def grid(*sizes: int) -> np.ndarray:
    """Every combination of keys."""
    return np.indices(sizes).reshape(len(sizes), -1).T.astype(np.int32)


def with_margins(codes: np.ndarray, margins: list[tuple[str, ...]], *, has_other: bool = False) -> Levels:
    """A table and its margins."""
    names = NAMES[: codes.shape[1]]
    return (cell_level(codes, names, has_other=has_other), *margin_levels(codes, names, margins, has_other=has_other))


def with_ranges(cells: int) -> Levels:
    """Ordered cells and their ranges."""
    return (cell_level(grid(cells), ["age"]), *range_levels(cells))


@st.composite
def tables(draw: st.DrawFn) -> Levels:
    """Some cells of a grid with some margins, or ranges."""
    if draw(st.booleans()):
        return with_ranges(draw(st.integers(1, 20)))
    whole = grid(3, 2, 3)
    kept = draw(st.sets(st.integers(0, len(whole) - 1), min_size=1))
    margins = draw(st.lists(st.sampled_from(MARGINS), unique=True))
    return with_margins(whole[sorted(kept)], margins, has_other=draw(st.booleans()))


def matrix(level: Level) -> np.ndarray:
    """Return the dense matrix that sums cells to the nodes of a level."""
    return (np.arange(level.size)[:, None] == level.of_cell).astype(float)


def covariance(levels: Levels, variances: list[float]) -> np.ndarray:
    """Return the dense covariance of the least-squares estimates of the cells."""
    told = [matrix(level).T @ matrix(level) / v for level, v in zip(levels, variances, strict=True)]
    return np.linalg.inv(sum(told))


def drawn(levels: Levels, seed: int) -> tuple[list[np.ndarray], list[float]]:
    """Answers that contradict each other, and variances."""
    generator = np.random.default_rng(seed)
    variances = generator.uniform(0.1, 30, len(levels)).tolist()
    return [generator.integers(-50, 1000, level.size) for level in levels], variances


@given(tables(), st.integers(0, 99))
def test_estimates_are_those_of_least_squares(levels: Levels, seed: int) -> None:
    """By dense matrices, for margins that nest or cross, for cells that lack, and other."""
    answers, variances = drawn(levels, seed)
    told = sum(
        matrix(level).T @ answer / variance for level, answer, variance in zip(levels, answers, variances, strict=True)
    )
    cells = covariance(levels, variances) @ told
    found = least_squares_estimates(levels, answers, variances)
    for level, estimate in zip(levels, found, strict=True):
        assert estimate == pytest.approx(matrix(level) @ cells, abs=1e-8)


@given(tables(), st.integers(0, 99))
def test_nodes_are_the_sums_of_their_cells(levels: Levels, seed: int) -> None:
    """And answers without error stay as they are."""
    answers, variances = drawn(levels, seed)
    cells, *coarser = least_squares_estimates(levels, answers, variances)
    for level, estimate in zip(levels[1:], coarser, strict=True):
        assert estimate == pytest.approx(matrix(level) @ cells, abs=1e-8)
    true = [matrix(level) @ answers[0] for level in levels]
    for level, estimate in zip(true, least_squares_estimates(levels, true, variances), strict=True):
        assert estimate == pytest.approx(level, abs=1e-8)


@pytest.mark.parametrize(
    "levels",
    [
        with_ranges(8),
        with_ranges(11),
        with_margins(grid(4), [()]),
        with_margins(grid(4), [()], has_other=True),
        with_margins(grid(3, 2), [("a",), ()], has_other=True),
        with_margins(grid(3, 2)[:-1], [("b",), ()]),
        with_margins(grid(3, 2), [("a",), ("b",)]),
        with_margins(grid(3, 2, 4), MARGINS),
        with_margins(grid(3, 2, 4), [("a", "b"), ("c",), ()]),
    ],
    ids=["8 ranges", "11 ranges", "total", "other", "nested", "holes", "two", "all", "some"],
)
def test_standard_errors_are_those_of_least_squares(levels: Levels) -> None:
    """By dense matrices, node by node."""
    _, variances = drawn(levels, 7)
    spread = covariance(levels, variances)
    for level, errors in zip(levels, standard_errors(levels, variances), strict=True):
        exact = np.diag(matrix(level) @ spread @ matrix(level).T)
        assert errors == pytest.approx(np.sqrt(exact), rel=1e-12)


def prefixes(cells: int, variances: list[float]) -> np.ndarray:
    """The standard deviations of prefix sums, dense."""
    sums = np.tri(cells)
    exact = np.diag(sums @ covariance(with_ranges(cells), variances) @ sums.T)
    return np.sqrt(exact)


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 5, 11, 16, 17, 31, 33, 64])
def test_errors_of_prefix_sums_are_those_of_least_squares(cells: int) -> None:
    """By dense matrices, of any number of cells."""
    variances = drawn(with_ranges(cells), 7)[1]
    assert prefix_errors(cells, variances) == pytest.approx(prefixes(cells, variances), rel=1e-11)


def test_the_error_of_2048_prefix_sums_is_an_eighth() -> None:
    """At ρ = 1/2 in all: 32.0 with noise on the cells alone, 3.98 with twelve equal shares."""
    identity = np.sqrt(np.arange(1, 2049))
    tree = prefix_errors(2048, [12.0] * 12)
    assert [round(math.sqrt(np.mean(one**2)), 2) for one in (identity, tree)] == [32.01, 3.98]


@pytest.mark.thorough
@pytest.mark.parametrize("has_margins", [False, True], ids=["ranges", "margins"])
def test_a_million_cells_are_combined(*, has_margins: bool) -> None:
    """They fit each other, and the noise of the cells shrinks as it should."""
    levels = with_margins(grid(100, 100, 100), MARGINS) if has_margins else with_ranges(10**6)
    generator = np.random.default_rng(14)
    true = generator.poisson(30, 10**6)
    answers = [np.bincount(level.of_cell, true, level.size) + generator.normal(0, 3, level.size) for level in levels]
    found = least_squares_estimates(levels, answers, [9.0] * len(levels))
    for level, estimate in zip(levels, found, strict=True):
        sums = np.bincount(level.of_cell, found[0], level.size)
        np.testing.assert_allclose(estimate, sums, rtol=1e-9)
    claimed = float(standard_errors(levels, [9.0] * len(levels))[0].mean())
    assert float(np.std(found[0] - true)) == pytest.approx(claimed, rel=0.01)


def test_margins_that_nest_are_a_forest_and_those_that_cross_are_not() -> None:
    """A town's sum is a part of the total; of a town and a sex none is a part of the other."""
    assert NestedLevels.from_levels(with_margins(grid(3, 2), [("a",), ()])) is not None
    assert NestedLevels.from_levels(with_margins(grid(3, 2), [("a",), ("b",)])) is None


def test_what_does_not_fit_is_refused() -> None:
    """Answers of another length, variances that are none, errors of crossing margins with holes."""
    levels = with_ranges(3)
    answers = [np.zeros(level.size) for level in levels]
    with pytest.raises(ValueError, match="answers must be one array for each of the 3 levels"):
        least_squares_estimates(levels, answers[:2], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"variances must be positive .* got \[1.0, 0.0, 1.0\]"):
        least_squares_estimates(levels, answers, [1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="variances must be 3 for 3 cells, got 2"):
        prefix_errors(3, [1.0, 1.0])
    with pytest.raises(ValueError, match="levels must be nested, or margins of a whole grid"):
        standard_errors(with_margins(grid(3, 3)[1:], [("a",), ("b",)]), [1.0, 1.0, 1.0])
