import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mp, mpf

from noisycount.analysis.accuracy.accuracy import accuracy, failure_probability
from noisycount.analysis.accuracy.epsilon_for_accuracy import epsilon_for_accuracy
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.model.noises.gaussian import Gaussian
from noisycount.model.noises.laplace import Laplace
from noisycount.model.noises.noise_sum import NoiseSum

mp.dps = 50

ALPHAS = st.floats(0.3, 1e9)
BETAS = st.one_of(st.floats(1e-300, 1e-3), st.floats(1e-3, 0.999), st.just(1 - 1e-12))
QUERIES = st.sampled_from([1, 2, 10, 10_000])


@given(alpha=ALPHAS, beta=BETAS, queries=QUERIES)
def test_epsilon_is_the_inverse_of_accuracy(alpha: float, beta: float, queries: int) -> None:
    """Laplace noise of that ε reaches alpha with probability beta, in 50 digits."""
    epsilon = epsilon_for_accuracy(alpha, beta, queries)
    tail = mp.exp(-mpf(alpha) * mpf(epsilon))
    assert abs(-mp.expm1(queries * mp.log1p(-tail)) / beta - 1) <= 1e-10
    assert accuracy(Laplace.for_epsilon(epsilon), beta, queries) == pytest.approx(alpha, rel=1e-10)


@given(alpha=ALPHAS, beta=BETAS, queries=QUERIES)
def test_discrete_noise_of_that_epsilon_keeps_the_goal(
    alpha: float, beta: float, queries: int
) -> None:
    """It never reaches alpha too often; a little less ε would not do."""
    assume(beta < 0.999 or alpha < 100)  # else ε < 2^−52, which discrete noise does not take
    epsilon = epsilon_for_accuracy(alpha, beta, queries, DiscreteLaplace)
    noise = DiscreteLaplace.for_epsilon(epsilon)
    assert failure_probability(noise, alpha, queries) <= beta * (1 + 1e-12)
    fall = mp.exp(-mpf(epsilon) * (1 - mpf(10) ** -9))
    tail = 2 * fall ** math.ceil(alpha) / (1 + fall)
    assert -mp.expm1(queries * mp.log1p(-tail)) > beta


@pytest.mark.few(12)
@pytest.mark.parametrize("noise", [Laplace, DiscreteLaplace])
@pytest.mark.parametrize("parts", [1, 2, 30])
@pytest.mark.parametrize("queries", [1, 10])
@pytest.mark.parametrize("beta", [1e-9, 0.05, 0.6])
def test_a_total_of_parts_keeps_the_goal(
    noise: type[Laplace], parts: int, queries: int, beta: float
) -> None:
    """The noises of the parts add up; with 1e-6 less ε the total would miss the goal."""
    epsilon = epsilon_for_accuracy(50, beta, queries, noise, parts)
    for price, kept in ((epsilon * (1 + 1e-9), True), (epsilon * (1 - 1e-6), False)):
        total = NoiseSum([noise.for_epsilon(price)] * parts)
        assert (failure_probability(total, 50, queries) <= beta) is kept


def test_the_example_of_the_blog_in_exact_numbers() -> None:
    """Two disjoint parts, one total: (1 + αε/2)·e^(−αε) = β, at less than √2 of one part's ε."""
    epsilon = epsilon_for_accuracy(20, 0.05, parts=2)
    reach = 20 * mpf(epsilon)
    assert abs((1 + reach / 2) * mp.exp(-reach) - 0.05) < 1e-11
    assert 1.37 < epsilon / epsilon_for_accuracy(20, 0.05) < 1.38


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.05), r"^alpha must be positive and finite, got 0"),
        ((-3, 0.05), r"^alpha must be positive and finite, got -3"),
        ((math.nan, 0.05), r"^alpha must be positive and finite, got nan"),
        ((20, 0), r"^beta must lie strictly between 0 and 1, got 0"),
        ((20, 1.0), r"^beta must lie strictly between 0 and 1, got 1.0"),
        ((20, 0.05, 0), r"^queries must be a whole number from 1 to 2\*\*53, got 0"),
        ((20, 0.05, 1.5), r"^queries must be a whole number from 1 to 2\*\*53, got 1.5"),
        ((20, 0.05, 1, Gaussian), r"^noise must be Laplace or DiscreteLaplace, got <class "),
        ((20, 0.05, 1, Laplace, 0), r"^parts must be a whole number from 1 to 2\*\*53, got 0"),
    ],
)
def test_goals_that_cannot_be_are_refused(arguments: tuple[float, float], message: str) -> None:
    """Each argument by its name, with its value."""
    with pytest.raises(ValueError, match=message):
        epsilon_for_accuracy(*arguments)


@pytest.mark.few(4)
@pytest.mark.parametrize("queries", [1, 2])
@pytest.mark.parametrize("beta", [0.05, 0.5, 0.95])
@pytest.mark.parametrize(("alpha", "whole"), [(0.001, 1), (0.01, 1), (0.05, 1), (1.5, 2), (7, 7)])
def test_discrete_noise_reaches_whole_errors_only(
    alpha: float, whole: int, beta: float, queries: int
) -> None:
    """A broken alpha costs what the next whole one does, in closed form for alpha = 1."""
    epsilon = epsilon_for_accuracy(alpha, beta, queries, DiscreteLaplace)
    assert epsilon == epsilon_for_accuracy(whole, beta, queries, DiscreteLaplace)
    if whole == 1:  # 2q/(1 + q) = b
        each = -mp.expm1(mp.log1p(-mpf(beta)) / queries)
        assert epsilon == pytest.approx(float(mp.log((2 - each) / each)), rel=1e-10)
    totals = [epsilon_for_accuracy(error, beta, 1, DiscreteLaplace, 3) for error in (alpha, whole)]
    assert totals[0] == totals[1]
