import math
import random
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount import DiscreteGaussian, DiscreteLaplace
from noisycount.model.noises.additive import DiscreteNoise
from noisycount.model.tables.combined import (
    Margin,
    margin_errors,
    margins_within,
    prefix_errors,
    row_count,
)
from noisycount.model.tables.levels import Level, cell_level, margin_levels, range_levels, shares
from tests.helpers.residuals import residual_errors, residual_precisions

NOISES = [DiscreteLaplace, DiscreteGaussian]
POWER = {DiscreteLaplace: 2, DiscreteGaussian: 1}


def keyed(size: int) -> Level:
    """A level of that many rows."""
    return Level("rows", np.arange(1, dtype=np.int32), size, np.zeros((1, 1), dtype=np.int32))


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 50)), min_size=1, max_size=300), st.sampled_from(NOISES)
)
def test_shares_are_readable_positive_and_sum_to_one(rows: list[tuple[int, int]], noise: type[DiscreteNoise]) -> None:
    """Whatever the levels are: multiples of 1/1000, or finer where there are many."""
    found = shares([keyed(size) for size, _ in rows], [moves for _, moves in rows], noise)
    assert sum(found) == 1
    assert min(found) > 0
    assert all(100_000 % share.denominator == 0 for share in found)
    assert len(rows) > 20 or all(1000 % share.denominator == 0 for share in found)


@pytest.mark.parametrize("noise", NOISES)
def test_no_other_shares_have_a_smaller_variance_of_all_rows(noise: type[DiscreteNoise]) -> None:
    """A thousandth moved from any level to any other makes the sum larger, or nearly."""
    sizes, moves = np.array([2400, 60, 40, 1]), np.array([4, 4, 2, 1])
    found = shares([keyed(int(size)) for size in sizes], moves.tolist(), noise)

    def variance(parts: list[float]) -> float:
        return float((sizes * (moves / np.array(parts)) ** POWER[noise]).sum())

    best = variance([float(share) for share in found])
    for give in range(4):
        for take in range(4):
            other = [float(share) for share in found]
            other[give] -= 0.005
            other[take] += 0.005
            assert min(other) <= 0 or variance(other) >= best * (1 - 1e-5)


@pytest.mark.parametrize("noise", NOISES)
def test_one_level_gets_all(noise: type[DiscreteNoise]) -> None:
    """There is nothing to share."""
    assert shares([keyed(7)], [2], noise) == (Fraction(1),)


def test_cells_beside_ranges_get_twice_as_much() -> None:
    """And less goes to a level that a unit moves less."""
    codes = np.arange(16, dtype=np.int32)[:, None]
    levels = (cell_level(codes, ["age"]), *range_levels(16))
    found = shares(levels, [2, 2, 2, 2, 1], DiscreteGaussian)
    assert [round(float(share), 2) for share in found] == [0.36, 0.18, 0.18, 0.18, 0.09]


def test_the_total_of_a_table_gets_less_than_its_cells() -> None:
    """It is one row among many."""
    codes = np.arange(16, dtype=np.int32)[:, None]
    levels = (cell_level(codes, ["age"]), *margin_levels(codes, ["age"], [()]))
    assert shares(levels, [1, 1], DiscreteGaussian) == (Fraction(4, 5), Fraction(1, 5))
    assert shares(levels, [1, 1], DiscreteLaplace) == (Fraction(179, 250), Fraction(71, 250))


def some_tables(seed: int) -> list[tuple[list[int], list[Margin]]]:
    """Tables of up to five parts with some of their margins."""
    drawn = random.Random(seed)  # noqa: S311 - cases, no noise
    tables = []
    for parts in (1, 2, 3, 4, 5) * 40:
        sizes = drawn.choices([2, 3, 4, 5, 10, 50], k=parts)
        inner = chain.from_iterable(combinations(range(parts), kept) for kept in range(parts))
        every = [frozenset(one) for one in inner]
        asked = drawn.sample(every, drawn.randint(1, len(every)))
        tables.append((sizes, [frozenset(range(parts)), *asked]))
    return tables


def test_combined_rows_are_near_the_least_error_that_there_is() -> None:
    """Within 8 % of that of residual planning for each of many tables, 2 % for half of them."""
    ratios = []
    for sizes, margins in some_tables(14):
        counts = np.array([row_count(sizes, margin) for margin in margins])
        found = shares([keyed(int(count)) for count in counts], [1] * counts.size, DiscreteGaussian)
        told = dict(zip(margins, (float(s) / n for s, n in zip(found, counts, strict=True)), strict=True))
        precisions = {
            one: math.fsum(each for margin, each in told.items() if margin >= one) for one in margins_within(margins)
        }
        ours, least = (
            math.sqrt(counts @ np.square(list(errors.values())))
            for errors in (margin_errors(sizes, margins, precisions), residual_errors(sizes, margins, rho=0.5))
        )
        ratios.append(ours / least)
    assert min(ratios) >= 1 - 1e-9
    assert max(ratios) < 1.08
    assert np.median(ratios) < 1.02


@pytest.mark.parametrize("height", range(1, 17))
def test_shares_of_ranges_are_near_the_best_for_sums_up_to_a_cell(height: int) -> None:
    """Within 0.3 % of the least error under Gaussian noise, which has a closed form."""
    cells = 2**height
    told = [math.sqrt((4**power + 2) / 12) for power in range(1, height + 1)]
    told.append(math.sqrt((cells + 1) * (2 * cells + 1) / 6))
    best = np.array([told[0], *(np.diff(told) / 2.0 ** np.arange(1, height + 1))])
    levels = (cell_level(np.zeros((cells, 1), dtype=np.int32), ["age"]), *range_levels(cells))
    ours = np.array(shares(levels, [1] * len(levels), DiscreteGaussian), dtype=np.float64)
    found, least = (
        math.sqrt(np.mean(np.square(prefix_errors(cells, (parts.sum() / parts).tolist())))) for parts in (ours, best)
    )
    assert least <= found <= 1.003 * least
    for moved in (0.9 * best + 0.1 * ours, best * np.linspace(0.95, 1.05, best.size)):
        errors = prefix_errors(cells, (moved.sum() / moved).tolist())
        assert math.sqrt(np.mean(np.square(errors))) >= least * (1 - 1e-12)


CPS = (50, 100, 7, 4, 2)


def of_all(sizes: tuple[int, ...], margins: list[Margin], rho: float = 0.5) -> float:
    """The root mean squared error over the rows of all margins."""
    rows = np.array([math.prod(sizes[part] for part in margin) for margin in margins])
    errors = np.array(list(residual_errors(sizes, margins, rho).values()))
    return math.sqrt(float(rows @ errors**2) / rows.sum())


@pytest.mark.parametrize(("ways", "published"), [(1, 1.744), (2, 2.035), (3, 2.048)])
def test_the_published_errors_come_out(ways: int, published: float) -> None:
    """Xiao et al. (2023), all margins of one, two and three parts of the CPS at ρ = 1/2."""
    margins = [frozenset(margin) for margin in combinations(range(5), ways)]
    assert round(of_all(CPS, margins), 3) == published


def marginal(sizes: tuple[int, ...], margin: Margin) -> np.ndarray:
    """The matrix that sums cells to a margin, dense."""
    matrix = np.ones((1, 1))
    for part, size in enumerate(sizes):
        matrix = np.kron(matrix, np.eye(size) if part in margin else np.ones((1, size)))
    return matrix


def combined_errors(sizes: tuple[int, ...], margins: list[Margin], precisions: dict[Margin, float]) -> list[float]:
    """The root mean squared errors of margins by generalised least squares, dense, at cost 1."""
    cost = sum(precisions.values())
    told = sum(
        precision / cost * (marginal(sizes, one).T @ marginal(sizes, one)) for one, precision in precisions.items()
    )
    covariance = np.linalg.pinv(told)
    return [
        math.sqrt(float(np.mean(np.diag(matrix @ covariance @ matrix.T))))
        for matrix in (marginal(sizes, margin) for margin in margins)
    ]


@pytest.mark.parametrize(
    ("sizes", "kept"), [((5,), [(0,), ()]), ((4, 3), [(0, 1), (0,), ()]), ((3, 2, 4), [(0, 1, 2), (0, 1), (2,), ()])]
)
def test_whole_margins_with_those_precisions_are_as_good(sizes: tuple[int, ...], kept: list[tuple[int, ...]]) -> None:
    """By dense least squares: the errors of every margin are those of the residual plan."""
    margins = [frozenset(margin) for margin in kept]
    precisions = residual_precisions(sizes, margins)
    assert all(value >= -1e-12 for margin, value in precisions.items() if margin in margins)
    found = combined_errors(sizes, margins, precisions)
    assert found == pytest.approx(list(residual_errors(sizes, margins, 0.5).values()))


def test_no_precisions_nearby_have_a_smaller_error() -> None:
    """Moving a little of the price between any two margins makes the sum of squares no smaller."""
    sizes, margins = (4, 3), [frozenset(one) for one in [(0, 1), (0,), (1,), ()]]
    rows = np.array([12, 4, 3, 1])
    precisions = residual_precisions(sizes, margins)
    best = rows @ np.square(combined_errors(sizes, margins, precisions))
    for give in margins:
        for take in margins:
            moved = dict(precisions)
            moved[give] -= 0.01
            moved[take] += 0.01
            assert rows @ np.square(combined_errors(sizes, margins, moved)) >= best - 1e-9
