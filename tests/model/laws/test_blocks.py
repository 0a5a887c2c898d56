import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mp, mpf

from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.gram import POINTS
from noisycount.model.laws.smooth_law import Blocks, LogWeight, blocks_between
from tests.layers import examples
from tests.oracles.posterior import Law

ENDS = st.integers(0, 3000)
WIDTHS = st.sampled_from([0.03, 0.3, 1.0, 7.7, 100.0, 1e4])


def assert_sums(blocks: Blocks, low: int, high: int, log_weight: LogWeight) -> None:
    """Mass, mean and variance of the blocks against the sum term by term in 50 digits."""
    logs = log_weight(np.arange(low, high + 1, dtype=np.float64)).tolist()
    exact = Law(low, [mp.exp(mpf(value)) for value in logs])
    assert math.log(blocks.mass) + blocks.peak == pytest.approx(
        float(mp.log(exact.total)), rel=1e-14, abs=2e-14
    )
    assert blocks.mean == pytest.approx(float(exact.mean), rel=1e-12, abs=1e-12)
    assert blocks.variance == pytest.approx(float(exact.variance), rel=1e-11, abs=1e-30)


@examples(60)
@given(below=ENDS, above=ENDS, width=WIDTHS)
@example(below=0, above=0, width=1.0)
def test_bumps_are_summed_exactly(below: int, above: int, width: float) -> None:
    """A Gaussian bump, whole or cut off on either side, divided where it turns."""

    def log_weight(offsets: Reals) -> Reals:
        return -offsets * offsets / (2 * width * width)

    assert_sums(blocks_between(log_weight, -below, above, [0]), -below, above, log_weight)


@examples(60)
@given(above=ENDS, kink=st.integers(0, 3000), width=WIDTHS)
def test_kinks_are_summed_exactly(above: int, kink: int, width: float) -> None:
    """Two straight lines that meet at an integer, at which the pieces end."""

    def log_weight(offsets: Reals) -> Reals:
        return -np.abs(offsets - kink) / width

    assert_sums(blocks_between(log_weight, 0, above, [kink]), 0, above, log_weight)


@pytest.mark.few(2)
@pytest.mark.parametrize("power", [-0.999999, -0.5, 0.25, 3.0, 40.0])
@pytest.mark.parametrize("high", [1, 100, 20_000])
def test_steep_ends_are_summed_exactly(power: float, high: int) -> None:
    """Weights (1 + k)^power·(1 + high − k)^−0.99, which change most at their ends."""

    def log_weight(offsets: Reals) -> Reals:
        return power * np.log1p(offsets) - 0.99 * np.log1p(high - offsets)

    logs = log_weight(np.arange(high + 1.0))
    turns = (np.flatnonzero(np.diff(np.sign(np.diff(logs)))) + 1).tolist()
    assert_sums(blocks_between(log_weight, 0, high, turns), 0, high, log_weight)


@pytest.mark.parametrize("rate", [1e-14, 1e-9, 1e-3, 0.7, 40.0])
@pytest.mark.parametrize("high", [10**3, 10**9, 10**15])
def test_geometric_sums_need_few_points_at_any_length(rate: float, high: int) -> None:
    """Σ e^(−rate·k) over k = 0..high in closed form, from fewer than 5000 points."""
    blocks = blocks_between(lambda offsets: -rate * offsets, 0, high)
    exact = mp.expm1(-mpf(rate) * (high + 1)) / mp.expm1(-mpf(rate))
    assert blocks.peak == 0
    assert blocks.mass == pytest.approx(float(exact), rel=1e-13)
    assert blocks.offsets.size < 5000


@given(low=st.integers(-(10**15), 0), high=st.integers(0, 10**15), cuts=st.lists(st.integers()))
def test_blocks_tile_the_integers(low: int, high: int, cuts: list[int]) -> None:
    """Where nothing is negligible each integer lies in one block, with a cut in a short one."""
    blocks = blocks_between(np.zeros_like, low, high, cuts)
    ends = blocks.starts + blocks.lengths
    assert blocks.starts[0] == low
    assert ends[-1] == high + 1
    assert np.array_equal(ends[:-1], blocks.starts[1:])
    for cut in cuts:
        held = (blocks.starts <= cut) & (cut < ends)
        assert (blocks.lengths[held] <= POINTS).all()
    assert blocks.mass == pytest.approx(high - low + 1, rel=1e-13)


@pytest.mark.parametrize("steepness", [60.0, 900.0, 1e5])
def test_what_is_negligible_is_left_out_but_for_the_centre(steepness: float) -> None:
    """Next to offset 0 weights below e^−50 are kept: they are the variance of a sure count."""
    blocks = blocks_between(lambda offsets: -steepness * np.abs(offsets), -1000, 1000, [0])
    held = set(blocks.offsets[blocks.weights > 0].tolist())
    assert {-1.0, 0.0, 1.0} <= held if steepness < 700 else held == {0.0}
    assert blocks.variance == pytest.approx(2 * math.exp(-steepness), rel=1e-9)


@pytest.mark.parametrize("slope", [0.025, 1.0, 1e6])
def test_a_steep_weight_is_asked_for_at_few_points(slope: float) -> None:
    """However far it falls: 10^15 integers from a peak at an end take a few thousand points."""
    asked = []

    def log_weight(offsets: Reals) -> Reals:
        asked.append(offsets.size)
        return -slope * offsets

    blocks = blocks_between(log_weight, 0, 1e15)
    assert blocks.mass == pytest.approx(-1 / math.expm1(-slope), rel=1e-13)
    assert sum(asked) < 50_000
