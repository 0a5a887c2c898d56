import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.laws.factors import Product, ValuedFactor, mode_and_turns
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import POINTS, Blocks, LogWeight, blocks_between, gram_rule, mesh_points
from tests.helpers.cases import examples
from tests.oracles.posterior import Law


@given(length=st.integers(1, 10**15))
def test_weights_are_positive_and_count_the_integers(length: int) -> None:
    """The weights add up to the number of integers and the nodes lie among them."""
    nodes, weights = gram_rule(length)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(length, rel=1e-14)
    assert (nodes >= 0).all()
    assert (nodes <= length - 1).all()


@pytest.mark.parametrize("length", [POINTS + 1, 40, 64, 333, 4096, 100_000])
@pytest.mark.parametrize("rate", [0.0, 0.3, 2.0, 8.0])
def test_sums_of_exponentials_equal_the_geometric_series(length: int, rate: float) -> None:
    """Σ e^(−rate·k/length) over k < length, to 1e-13."""
    nodes, weights = gram_rule(length)
    direct = np.exp(-rate * np.arange(length) / length).sum()
    assert np.exp(-rate * nodes / length) @ weights == pytest.approx(direct, rel=1e-13)


@pytest.mark.parametrize("length", [1, 2, POINTS])
def test_short_runs_are_summed_term_by_term(length: int) -> None:
    """Up to POINTS integers the nodes are the integers themselves."""
    nodes, weights = gram_rule(length)
    assert np.array_equal(nodes[:length], np.arange(length))
    assert np.array_equal(weights, [1.0] * length + [0.0] * (POINTS - length))


ENDS = st.integers(0, 3000)
WIDTHS = st.sampled_from([0.03, 0.3, 1.0, 7.7, 100.0, 1e4])


def assert_sums(blocks: Blocks, low: int, high: int, log_weight: LogWeight) -> None:
    """Mass, mean and variance of the blocks against the sum term by term in 50 digits."""
    logs = log_weight(np.arange(low, high + 1, dtype=np.float64)).tolist()
    exact = Law(low, [mp.exp(mpf(value)) for value in logs])
    assert math.log(blocks.mass) + blocks.peak == pytest.approx(float(mp.log(exact.total)), rel=1e-14, abs=2e-14)
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
    """Each integer lies in exactly one block, and each cut in a short block."""
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


@pytest.mark.parametrize(("size", "rate"), [(30, 0.3), (1000, 0.1), (10**6, 0.5), (10**6, 1e-6), (10**12, 0.2)])
@pytest.mark.parametrize("kink", [-2.0, 0.0, 3.0])
def test_sums_that_bend_in_a_fine_place_are_exact(size: int, rate: float, kink: float) -> None:
    """E|K − k| from the mesh and from the tails of the law on each side of k."""
    law = nc.Binomial(size, rate).law()
    deviation = law.variance**0.5
    place = float(round(kink * deviation))
    support = float(law.support[0] - law.centre), float(law.support[1] - law.centre)
    mesh = mesh_points(
        law.log_weight, (-14 * deviation, 14 * deviation), support, [(place, place)], max(24.0, deviation)
    )
    weights = mesh.weights / np.exp(law.log_mass)
    above = law.probability(law.centre + place + 1, size)
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert weights[mesh.offsets > place].sum() == pytest.approx(above, rel=1e-11)
    assert mesh.offsets.size < 4000


def test_points_stay_inside_the_support() -> None:
    """Whose ends are cut finely, as laws are rough there."""
    law = nc.BetaBinomial(10**6, 0.5, 0.5).law()
    support = float(law.support[0] - law.centre), float(law.support[1] - law.centre)
    mesh = mesh_points(law.log_weight, support, support, [], 1e5)
    assert mesh.offsets.min() == support[0]
    assert mesh.offsets.max() == support[1]
    assert not mesh.is_every_integer
    mean = mesh.weights @ mesh.offsets / mesh.weights.sum()
    assert mean == pytest.approx(law.mean - law.centre, rel=1e-10)
    assert mesh.weights.sum() == pytest.approx(np.exp(law.log_mass), rel=1e-12)


def test_short_runs_are_taken_whole() -> None:
    """Every integer once."""
    mesh = mesh_points(lambda offsets: -0.1 * offsets, (0.0, 50.0), (0.0, 50.0), [], 24.0)
    assert mesh.is_every_integer
    assert mesh.offsets.tolist() == list(range(51))
    assert mesh.highest_log_weight == 0.0


NOISES: list[Callable[[], nc.NoiseSum]] = [
    lambda: nc.NoiseSum([nc.DiscreteLaplace(30), nc.DiscreteLaplace(40)]),
    lambda: nc.NoiseSum([nc.DiscreteGaussian(3), nc.DiscreteGaussian(2)]),
]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "prior", [nc.Binomial(10**15, 0.3), nc.BetaBinomial(10**15, 3, 7), nc.BetaBinomial(10**15, 0.3, 0.7)]
)
def test_a_mode_among_very_many_counts_takes_few_steps(
    prior: nc.Binomial | nc.BetaBinomial, noise: Callable[[], nc.NoiseSum], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Far fewer than halving would for each turn, as every step of a sum of noises is dear."""
    asked, steps = [], ValuedFactor.log_ratios_to_next
    monkeypatch.setattr(ValuedFactor, "log_ratios_to_next", lambda one, counts: asked.append(one) or steps(one, counts))
    mode, turns = mode_and_turns(Product((prior, noise().likelihood(10**15, prior.size))), (0, prior.size))
    assert 0 <= mode <= prior.size
    assert 0 < len(asked) <= 60 * (1 + len(turns))


@given(
    size=st.integers(1, 60),
    rate=st.sampled_from([0.01, 0.3, 0.5, 0.99]),
    answer=st.integers(-5, 65),
    scale=st.sampled_from([0.2, 1.0, 7.0]),
)
def test_the_mode_is_the_smallest_largest(size: int, rate: float, answer: int, scale: float) -> None:
    """Against all counts, compared exactly."""
    prior = nc.Binomial(size, rate)
    product = Product((prior, nc.DiscreteLaplace(Fraction(scale)).likelihood(answer, size)))
    steps = [product.exact_log_ratio_to_next(count).is_positive for count in range(size)]
    assert mode_and_turns(product, (0, size))[0] == sum(steps)


def test_many_steps_are_each_step() -> None:
    """The steps of many counts at once are those of each."""
    counts = [0, 1, 29, 30, 31, 99]
    product = Product((nc.Binomial(100, 0.3), NOISES[0]().likelihood(30, 100)))
    each = [product.rise_after(count) for count in counts]
    assert product.rises_after(counts) == pytest.approx(np.array(each), rel=1e-12)
