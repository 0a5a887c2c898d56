from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisycount import DiscreteGaussian, DiscreteLaplace
from noisycount.model.noises.discrete import DiscreteNoise
from noisycount.model.tables.levels import Level
from noisycount.model.tables.margins import cell_level, margin_levels
from noisycount.model.tables.ranges import range_levels
from noisycount.model.tables.shares import shares

NOISES = [DiscreteLaplace, DiscreteGaussian]
POWER = {DiscreteLaplace: 2, DiscreteGaussian: 1}


def keyed(size: int) -> Level:
    """A level of that many rows."""
    return Level("rows", np.arange(1, dtype=np.int32), size, np.zeros((1, 1), dtype=np.int32))


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 50)), min_size=1, max_size=300),
    st.sampled_from(NOISES),
)
def test_shares_are_readable_positive_and_sum_to_one(
    rows: list[tuple[int, int]], noise: type[DiscreteNoise]
) -> None:
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
