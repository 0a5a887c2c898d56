import math
from itertools import pairwise

import numpy as np
import pytest
from dp_accounting.pld import common, privacy_loss_mechanism
from hypothesis import example, given
from hypothesis import strategies as st

import noisycount as nc
from tests.helpers.cases import examples

ENOUGH = 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-5), (0.5, 1e-6), (1.0, 1e-9), (3.0, 1e-12)])
def test_the_worst_case_of_gaussian_noise_is_the_analytic_gaussian_mechanism(epsilon: float, delta: float) -> None:
    """As dp-accounting calibrates it."""
    theirs = privacy_loss_mechanism.GaussianPrivacyLoss.from_privacy_guarantee(
        common.DifferentialPrivacyParameters(epsilon, delta)
    ).standard_deviation
    assert nc.smallest_scale(nc.Gaussian, epsilon, delta) == pytest.approx(theirs, rel=1e-6)


def test_the_worst_case_of_laplace_noise_is_its_closed_form() -> None:
    """δ = 1 − e^((ε − 1/s)/2), so that 1/s = ε − 2·ln(1 − δ)."""
    for epsilon, delta in ((0.1, 0.05), (1.0, 1e-6), (2.0, 0.3)):
        scale = nc.smallest_scale(nc.Laplace, epsilon, delta)
        assert 1 / scale == pytest.approx(epsilon - 2 * math.log1p(-delta), rel=ENOUGH)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [nc.Laplace, nc.DiscreteLaplace])
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 7.0])
def test_delta_0_needs_the_scale_of_pure_privacy(noise: type[nc.Laplace], epsilon: float) -> None:
    """1/ε, and never a float below it."""
    for population in (None, nc.Binomial(100, 0.3)):
        scale = nc.smallest_scale(noise, epsilon, 0, population)
        assert scale == pytest.approx(1 / epsilon, rel=ENOUGH)
        assert nc.privacy_curve(noise(scale), population).bracket(epsilon) == (0.0, 0.0)


@examples(25)
@given(
    noise=st.sampled_from([nc.Laplace, nc.DiscreteLaplace, nc.Gaussian]),
    epsilon=st.floats(0.001, 2),
    delta=st.floats(-9, -1).map(lambda power: 10**power),
    size=st.integers(2, 3000),
    rate=st.floats(0.01, 0.99),
)
@example(noise=nc.DiscreteLaplace, epsilon=1.25, delta=10**-2.5, size=84, rate=0.921875)
def test_the_scale_keeps_the_promise_and_none_much_smaller_does(
    noise: type[nc.Laplace], epsilon: float, delta: float, size: int, rate: float
) -> None:
    """On the safe side, within one part in 10^9."""
    population = nc.Binomial(size, rate)
    scale = nc.smallest_scale(noise, epsilon, delta, population)
    if scale == 0:
        assert nc.privacy_curve(nc.Exact(), population).delta(epsilon) <= delta
        return
    assert nc.privacy_curve(noise(scale), population).bracket(epsilon)[1] <= delta
    smaller = nc.privacy_curve(noise(scale * (1 - 3e-9)), population)
    assert smaller.delta(epsilon) > delta * (1 - 1e-9)


JAGGED = [
    (2.0, 0.11, None),
    (2.0, 0.01, None),
    (0.3, 0.02, None),
    (6.0, 0.02, None),
    (2.0, 0.05, nc.Binomial(4, 0.3)),
    (3.0, 0.02, nc.Strata([2, 3], [0.2, 0.5])),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("epsilon", "delta", "population"), JAGGED, ids=str)
def test_the_first_scale_of_discrete_gaussian_noise_is_found_between_its_jumps(
    epsilon: float, delta: float, population: nc.Population | None
) -> None:
    """It keeps delta, and none of 300 smaller scales does."""

    def upper(scale: float) -> float:
        curve = nc.privacy_curve(nc.DiscreteGaussian(scale), population)
        return curve.bracket(epsilon)[1]

    found = nc.smallest_scale(nc.DiscreteGaussian, epsilon, delta, population)
    assert upper(found) <= delta
    squares = np.linspace(1e-3, found**2 * (1 - 1e-8), 300)
    assert all(upper(math.sqrt(square)) > delta for square in squares.tolist())


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 7.0])
def test_the_dips_of_discrete_gaussian_noise_fall(epsilon: float) -> None:
    """δ at the scales where the threshold jumps: a search among them finds the first."""
    dips = [
        nc.privacy_curve(nc.DiscreteGaussian(math.sqrt((place + 0.5) / epsilon))).delta(epsilon) for place in range(60)
    ]
    assert all(one * (1 + 1e-6) > other for one, other in pairwise(dips) if other > 1e-40)


def test_less_discrete_gaussian_noise_can_show_less() -> None:
    """In the worst case, and to an outsider: so no larger scale follows from one that is enough."""
    for population, narrow, wide, less, more in (
        (None, 0.5, 0.65, 0.1048, 0.1533),
        (nc.Binomial(4, 0.3), 0.55, 0.65, 0.0457, 0.0549),
    ):
        curves = [nc.privacy_curve(nc.DiscreteGaussian(one), population) for one in (narrow, wide)]
        assert [round(curve.delta(2.0), 4) for curve in curves] == [less, more]


def test_a_population_that_is_enough_needs_no_noise() -> None:
    """A million records hide one of them."""
    assert nc.smallest_scale(nc.Gaussian, 0.1, 1e-3, nc.Binomial(10**6, 0.1)) == 0.0


def test_dependent_records_can_need_more_noise_than_the_worst_case() -> None:
    """The outsider learns of the common rate too."""
    worst = nc.smallest_scale(nc.Laplace, 0.3, 0.01)
    assert nc.smallest_scale(nc.Laplace, 0.3, 0.01, nc.BetaBinomial(1000, 10, 90)) > 5 * worst


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((nc.Exact, 1.0, 0.1), r"^noise must be Laplace, Gaussian, DiscreteLaplace or"),
        ((nc.Laplace(3), 1.0, 0.1), r"^noise must be Laplace, Gaussian, DiscreteLaplace or"),
        ((nc.Laplace, -1.0, 0.1), r"^epsilon must be at least 0 and finite, got -1.0$"),
        ((nc.Laplace, 1.0, 1.5), r"^delta must be from 0 to 1, got 1.5$"),
        ((nc.Laplace, 1.0, math.nan), r"^delta must be .*got nan$"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[object, ...], message: str) -> None:
    """A refusal is a single line that names the argument."""
    with pytest.raises(ValueError, match=message):
        nc.smallest_scale(*arguments)  # type: ignore[arg-type]


def test_an_array_of_epsilon_gives_an_array_of_scales() -> None:
    """Each ε has the scale that it has alone, in an array of the same shape."""
    epsilons = [[0.1, 0.5], [1.0, 3.0]]
    scales = nc.smallest_scale(nc.Gaussian, epsilons, 1e-6)
    assert scales.shape == (2, 2)
    for epsilon, scale in zip((0.1, 0.5, 1.0, 3.0), scales.ravel(), strict=True):
        assert nc.smallest_scale(nc.Gaussian, epsilon, 1e-6) == scale
    with pytest.raises(ValueError, match=r"^epsilon must be at least 0 and finite, got -0.1$"):
        nc.smallest_scale(nc.Gaussian, [0.1, -0.1], 1e-6)


@given(epsilon=st.floats(1e-9, 700), prior=st.floats(1e-9, 1 - 1e-9))
def test_beliefs_move_by_at_most_epsilon_on_the_log_odds_scale(epsilon: float, prior: float) -> None:
    """The odds change by the factor e^±ε."""
    low, high = nc.belief_bounds(epsilon, prior)
    assert low <= prior <= high
    log_odds = math.log(prior / (1 - prior))
    if low > 1e-12 and high < 1 - 1e-6:
        assert math.log(high / (1 - high)) - log_odds == pytest.approx(epsilon, abs=1e-6)
        assert math.log(low / (1 - low)) - log_odds == pytest.approx(-epsilon, abs=1e-6)
