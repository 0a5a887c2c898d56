import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import noisycount as nc
from tests.oracles.pairs import strata_pairs
from tests.oracles.privacy import directions


def test_a_group_of_certain_records_only_moves_the_count() -> None:
    """Records that can only be positive, or negative, are known to all and hide nobody."""
    open_records = nc.Binomial(5, 0.3)
    for noise in (nc.Exact(), nc.Laplace(3.0), nc.Gaussian(2.0)):
        alone = nc.privacy_curve(noise, open_records).directions(0.05)
        mixed = nc.Strata([5, 4, 3], [0.3, 1.0, 0.0])
        assert nc.privacy_curve(noise, mixed).directions(0.05) == pytest.approx(alone, rel=1e-9)


def test_the_curve_is_the_largest_over_the_groups() -> None:
    """A lone rare record among few is worse off than the many."""
    sizes, rates = [1, 400], [1e-3, 0.5]
    kinds = strata_pairs(sizes, rates)
    curve = nc.privacy_curve(nc.Gaussian(0.5), nc.Strata(sizes, rates))
    each = [directions(nc.Gaussian(0.5), [kind], 0.05) for kind in kinds]
    assert each[0] != each[1]
    for side, value in enumerate(curve.directions(0.05)):
        assert value == pytest.approx(float(max(kind[side] for kind in each)), rel=1e-9)


INVERTED: list[tuple[nc.Mechanism, nc.Population | None, Sequence[float]]] = [
    (nc.Gaussian(1.0), None, [0.3, 1e-3, 1e-9, 1e-30, 1e-200]),
    (nc.Gaussian(1e6), None, [1e-7, 1e-12, 1e-30]),
    (nc.DiscreteGaussian(3), None, [0.1, 1e-9, 1e-30]),
    (nc.Laplace(3.0), None, [0.1, 1e-3, 1e-9, 1e-15]),
    (nc.DiscreteLaplace(3), None, [0.1, 1e-3, 1e-9, 1e-15]),
    (nc.Exact(), nc.Binomial(1000, 0.5), [0.01, 1e-6, 1e-30, 1e-200]),
    (nc.Laplace(3.0), nc.Binomial(1000, 0.1), [0.03, 1e-2, 1e-6, 1e-30]),
    (nc.Gaussian(3.0), nc.Binomial(1000, 0.1), [0.03, 1e-2, 1e-6, 1e-30]),
    (nc.Subsample(100), nc.Binomial(1000, 0.1), [0.01, 1e-3, 1e-9]),
    (nc.Subsample(20, nc.Laplace(2.0)), nc.Binomial(200, 0.1), [0.01, 1e-3, 1e-6]),
    (nc.Gaussian(3.0), nc.BetaBinomial(50, 2.0, 3.0), [0.2, 1e-3, 1e-9]),
    (nc.Laplace(3.0), nc.Strata([10, 30], [0.1, 0.5]), [0.05, 1e-3, 1e-9]),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("mechanism", "population", "deltas"), INVERTED, ids=str)
def test_epsilon_is_the_smallest_that_keeps_delta(
    mechanism: nc.Mechanism, population: nc.Population | None, deltas: Sequence[float]
) -> None:
    """Never more than δ, to 1e-9 in ε."""
    curve = nc.privacy_curve(mechanism, population)
    for delta in deltas:
        epsilon = curve.epsilon(delta)
        assert 0 < epsilon < math.inf, (delta, epsilon)
        assert curve.delta(epsilon) <= delta, (delta, epsilon)
        assert curve.delta(epsilon * (1 - 1e-9)) >= delta * (1 - 1e-8), (delta, epsilon)


def test_epsilon_is_0_where_the_total_variation_is_small_enough() -> None:
    """And where anything is allowed."""
    curve = nc.privacy_curve(nc.Gaussian(3.0), nc.Binomial(1000, 0.1))
    assert curve.epsilon(1.0) == 0.0
    assert curve.epsilon(curve.delta(0.0) * (1 + 1e-8)) == 0.0
    assert curve.epsilon(curve.delta(0.0) * (1 - 1e-6)) > 0.0


def test_epsilon_is_infinite_where_an_answer_gives_a_record_away() -> None:
    """If all are positive so is this one: P₊[K = n] = p^(n−1) bounds δ₊ from below for every ε."""
    curve = nc.privacy_curve(nc.Exact(), nc.Binomial(10, 0.25))
    floor = 0.75**9
    assert curve.epsilon(floor * (1 - 1e-6)) == math.inf
    assert curve.epsilon(floor * (1 + 1e-3)) < math.inf
    assert curve.delta(5000.0) == pytest.approx(floor, rel=1e-12)
    assert curve.directions(5000.0)[0] == pytest.approx(0.25**9, rel=1e-12)


def test_a_delta_of_0_needs_the_bound_of_laplace_noise() -> None:
    """1/scale for Laplace noise, on the safe side; nothing is enough for Gaussian noise."""
    for population in (None, nc.Binomial(1000, 0.1)):
        epsilon = nc.privacy_curve(nc.Laplace(3.0), population).epsilon(0.0)
        assert Fraction(epsilon) >= Fraction(1, 3)
        assert epsilon == pytest.approx(1 / 3, rel=1e-9)
        assert nc.privacy_curve(nc.Gaussian(3.0), population).epsilon(0.0) == math.inf


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("mechanism", "population"),
    [
        (nc.Gaussian(3.0), None),
        (nc.Laplace(3.0), nc.Binomial(1000, 0.1)),
        (nc.Gaussian(3.0), nc.Binomial(1000, 0.1)),
        (nc.Exact(), nc.Strata([10, 20], [0.1, 0.4])),
        (nc.Subsample(10, nc.Gaussian(2.0)), nc.BetaBinomial(50, 2.0, 3.0)),
    ],
    ids=str,
)
def test_arrays_give_what_their_elements_give(
    mechanism: nc.Mechanism, population: nc.Population | None
) -> None:
    """In the same shape; numbers give floats."""
    curve = nc.privacy_curve(mechanism, population)
    epsilons = np.array([[0.3, 0.0, 0.01], [2.0, 0.1, 1e-6]])
    deltas, both, brackets = (
        curve.delta(epsilons),
        curve.directions(epsilons),
        curve.bracket(epsilons),
    )
    inverse = curve.epsilon(np.array([[0.01, 1e-4]]))
    assert inverse.shape == (1, 2)
    for place, epsilon in np.ndenumerate(epsilons):
        one = float(epsilon)
        assert deltas[place] == pytest.approx(curve.delta(one), rel=1e-11)
        sides = both[0][place], both[1][place]
        assert sides == pytest.approx(curve.directions(one), rel=1e-11)
        ends = brackets[0][place], brackets[1][place]
        assert ends == pytest.approx(curve.bracket(one), rel=1e-8)
    assert inverse[0].tolist() == pytest.approx([curve.epsilon(0.01), curve.epsilon(1e-4)])
    assert isinstance(curve.delta(0.1), float)
    assert isinstance(curve.epsilon(0.01), float)
    assert curve.delta(np.array([])).shape == (0,)
    pair = np.asarray(curve.delta([0.1, 0.2])).tolist()
    assert pair == pytest.approx([curve.delta(0.1), curve.delta(0.2)], rel=1e-11)


@pytest.mark.parametrize("epsilon", [-1e-9, -1.0, math.nan, math.inf, -math.inf])
def test_an_epsilon_that_is_no_loss_is_refused(epsilon: float) -> None:
    """Alone and in an array."""
    curve = nc.privacy_curve(nc.Gaussian(3.0), nc.Binomial(100, 0.1))
    for ask in (curve.delta, curve.directions, curve.bracket):
        with pytest.raises(ValueError, match=r"^epsilon must be .*, got "):
            ask(epsilon)
        with pytest.raises(ValueError, match=r"^epsilon must be .*, got "):
            ask(np.array([0.1, epsilon]))


@pytest.mark.parametrize("delta", [-1e-9, math.nan, 1.5])
def test_a_delta_that_is_no_probability_is_refused(delta: float) -> None:
    """With its name and value."""
    curve = nc.privacy_curve(nc.Gaussian(3.0))
    with pytest.raises(ValueError, match=r"^delta must be .*, got "):
        curve.epsilon(delta)


@pytest.mark.parametrize(
    "population",
    [
        nc.Binomial(10, 0.0),
        nc.Binomial(10, 1.0),
        nc.Binomial(0, 0.5),
        nc.Binomial(10, 0.5).given(10, 4),
        nc.Tabulated([1.0, 0.0, 0.0]),
        nc.Tabulated([0.0, 0.0, 1.0]),
        nc.Strata([3, 4], [0.0, 1.0]),
    ],
    ids=str,
)
def test_a_certain_property_is_refused(population: nc.Population) -> None:
    """There is no record whose value is open."""
    with pytest.raises(ValueError, match=r"got |known|certain|records"):
        nc.privacy_curve(nc.Gaussian(3.0), population).delta(0.1)


def test_a_sample_needs_its_database() -> None:
    """Its worst case depends on the number of records; it is at most that number."""
    with pytest.raises(ValueError, match="population"):
        nc.privacy_curve(nc.Subsample(3))
    with pytest.raises(ValueError, match=r"sample_size must be at most"):
        nc.privacy_curve(nc.Subsample(11), nc.Binomial(10, 0.5)).delta(0.1)


def test_no_epsilon_gives_no_delta() -> None:
    """An empty array for an empty array."""
    curve = nc.privacy_curve(nc.Laplace(3), nc.Binomial(10, 0.5))
    assert curve.delta([]).shape == (0,)
    assert [one.shape for one in curve.bracket([])] == [(0,), (0,)]
    assert [one.shape for one in curve.directions([])] == [(0,), (0,)]
    assert curve.epsilon([]).shape == (0,)


def test_no_delta_at_all_takes_an_epsilon_at_which_the_lower_end_underflows() -> None:
    """Where a δ is known to be next to nothing, its ratio to 0 has no logarithm."""
    outsider = nc.Tabulated([0.999999999998628, 1.3719057960539926e-12])
    curve = nc.privacy_curve(nc.Gaussian(842.4037), outsider)
    low, high = curve.epsilon_bracket(0.0)
    assert 0 < low < high == math.inf
    assert curve.bracket(low * (1 - 1e-6))[0] > 0
