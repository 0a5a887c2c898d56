"""The smallest ε for a δ, where curves are flat, jump, or end."""

import math
from collections.abc import Callable

import pytest

import noisycount as nc
from tests.oracles.enclosed.deltas import delta
from tests.oracles.enclosed.pairs import Outsider

NEARLY_KNOWN = Outsider(nc.Binomial(4, 0.000550600574359074))
GROUPS = Outsider(nc.Strata([1, 1, 1], [2.3e-203, 0.267, 1 - 2**-53]))


@pytest.mark.parametrize(
    ("mechanism", "outsider", "goal", "right", "wide"),
    [
        (
            nc.Subsample(4, nc.DiscreteGaussian(0.1149977554888559)),
            NEARLY_KNOWN,
            0.9983491075929792,
            2.1998548347159,
            0.018,
        ),
        (nc.Laplace(0.001), GROUPS, 1 - 1e-12, 438.96071, 5e-4),
        (nc.DiscreteGaussian(0.1), Outsider(None), 1 - 2.0**-52, 13.956346, 1e-10),
        (nc.DiscreteLaplace(0.05), Outsider(None), 1 - 1e-8, 1.348502, 1e-9),
    ],
)
def test_epsilon_is_safe_where_curves_are_flat(
    mechanism: nc.Mechanism, outsider: Outsider, goal: float, right: float, wide: float
) -> None:
    """It keeps the goal, and the right one lies in its bracket, which is as narrow as can be."""
    curve = nc.privacy_curve(mechanism, outsider.told)
    low, high = curve.epsilon_bracket(goal)
    assert high == curve.epsilon(goal)
    assert low <= right + 1e-5 <= high + 2e-5
    assert high - low <= wide
    assert delta(mechanism, outsider, high) <= goal
    assert low == 0 or delta(mechanism, outsider, low) > goal


@pytest.mark.few(7)
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 6.0])
@pytest.mark.parametrize(
    ("mechanism", "outsider"),
    [
        (nc.Exact(), Outsider(nc.Binomial(5, 1e-5))),
        (nc.DiscreteLaplace(0.06), Outsider(nc.Binomial(5, 1e-5), known=2)),
        (nc.Gaussian(0.1), Outsider(nc.Binomial(3, 1 - 1e-4))),
        (nc.Subsample(59, nc.Exact()), Outsider(nc.Binomial(60, 1e-6))),
        (nc.Subsample(7, nc.DiscreteGaussian(0.2)), Outsider(nc.Binomial(8, 1e-6))),
        (nc.DiscreteGaussian(0.12), Outsider(nc.Binomial(300, 1e-4))),
        (nc.Laplace(0.05), Outsider(None)),
    ],
    ids=str,
)
def test_what_is_left_to_1_is_enclosed(
    mechanism: nc.Mechanism, outsider: Outsider, epsilon: float
) -> None:
    """Where a δ above 1/2 is asked for, it is kept, and no ε below the bracket would do."""
    curve = nc.privacy_curve(mechanism, outsider.told)
    goal = curve.delta(epsilon)
    assert 0.5 < goal < 1
    low, high = curve.epsilon_bracket(goal)
    assert math.isinf(high) or delta(mechanism, outsider, high) <= goal
    assert low == 0 or delta(mechanism, outsider, low) > goal


@pytest.mark.parametrize("mechanism", [nc.Gaussian(3), nc.Laplace(3), nc.Exact()], ids=str)
def test_the_bracket_of_epsilon_is_narrow_where_a_curve_falls(mechanism: nc.Mechanism) -> None:
    """By 1e-9, and in the shape of its argument."""
    curve = nc.privacy_curve(mechanism, nc.Binomial(100, 0.3))
    low, high = curve.epsilon_bracket([1e-2, 1e-6])
    assert low.shape == high.shape == (2,)
    assert (low < high).all()
    assert (high - low <= 1e-9).all()


def test_a_goal_that_is_none_is_refused() -> None:
    """As by `epsilon`."""
    with pytest.raises(ValueError, match=r"^delta must be from 0 to 1, got 1.5$"):
        nc.privacy_curve(nc.Gaussian(3)).epsilon_bracket(1.5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("mechanism", "population"),
    [
        (
            nc.Gaussian(0.2118160102968459),
            nc.BetaBinomial(29, 0.5276832529866402, 6.899614688631522),
        ),
        (nc.Gaussian(0.3367), nc.Binomial(18, 0.8043444486163946)),
    ],
)
def test_narrow_gaussian_noise_has_no_finite_epsilon_for_a_delta_of_0(
    mechanism: nc.Mechanism, population: nc.Population
) -> None:
    """Where some of the ε that are tried have a threshold within reach, and others have none."""
    curve = nc.privacy_curve(mechanism, population)
    assert curve.epsilon(0.0) == math.inf
    low, high = curve.bracket([300.0, 600.0])
    assert (low <= high).all()


@pytest.mark.few(6)
@pytest.mark.parametrize("epsilon", [601, 650, 699])
@pytest.mark.parametrize("population", [None, nc.Binomial(9, 0.3), nc.Strata([3], [0.3])])
@pytest.mark.parametrize("noise", [nc.Laplace, nc.DiscreteLaplace])
def test_an_epsilon_of_hundreds_is_the_price_of_narrow_laplace_noise(
    noise: Callable[[float], nc.Mechanism], population: nc.Population | None, epsilon: int
) -> None:
    """From where on δ is 0."""
    curve = nc.privacy_curve(noise(1 / epsilon), population)
    assert curve.epsilon(0.0) == pytest.approx(epsilon, rel=1e-9)
    assert curve.bracket(epsilon * (1 + 1e-9)) == (0.0, 0.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [2.0**-52, 3e-16, 1e-10, 1e-3])
@pytest.mark.parametrize("noise", [nc.DiscreteGaussian, nc.DiscreteLaplace])
def test_noise_that_is_next_to_none_hides_nothing(
    noise: Callable[[float], nc.Mechanism], scale: float
) -> None:
    """Two counts half way from an answer have one density, and yet it is not flat."""
    curve = nc.privacy_curve(noise(scale))
    assert curve.bracket(600.0)[0] > 1 - 1e-15
    assert curve.bracket(700.0) == (0.0, 1.0)
