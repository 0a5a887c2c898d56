import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from tests.helpers.cases import examples
from tests.oracles import sum_tails
from tests.oracles.convolution import DISCRETE, convolved
from tests.oracles.sum_tails import Tail

BETAS = [1e-300, 1e-12, 0.05, 0.3, 0.5, 0.7, 0.999, 1 - 1e-12]
CLOSE = mpf(10) ** -10


def assert_inverts(noise: nc.Mechanism, tail: Tail, beta: float, queries: int = 1) -> None:
    """Alpha is within 1e-10 of itself, and the failure probability there within 1e-10 of beta."""

    def any_tail(error: mpf) -> mpf:
        return -mp.expm1(queries * mp.log1p(-tail(error)))

    alpha = nc.accuracy(noise, beta, queries)
    assert type(alpha) is float
    assert any_tail(mpf(alpha) * (1 + CLOSE)) <= beta <= any_tail(mpf(alpha) * (1 - CLOSE))
    found = nc.failure_probability(noise, alpha, queries)
    assert abs(found - any_tail(mpf(alpha))) <= CLOSE * beta


def assert_smallest(alpha: int, tail: Callable[[int], mpf], beta: float) -> None:
    """Alpha is the smallest integer that fails with beta at most, up to ties within 1e-11."""
    tie = min(mpf(beta), 1 - mpf(beta)) * mpf(10) ** -11
    assert tail(alpha) <= beta + tie
    assert tail(alpha - 1) > beta - tie


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("count", "scale"), [(1, 3.0), (2, 1e-9), (2, 10.0), (7, 0.1), (300, 1e9), (10_000, 3.0)])
def test_equal_laplace_noises_have_a_gamma_mixture(count: int, scale: float, beta: float) -> None:
    """Error bounds of up to 10,000 equal summands are right to 1e-10, for β from 1e-300 to 1 − 1e-12."""
    noise = nc.NoiseSum([nc.Laplace(scale)] * count)
    assert_inverts(noise, sum_tails.equal_laplace(count, scale), beta)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(
    "scales",
    [
        [1.0, 2.0],
        [1.0, 1 + 1e-15],
        [1.0, 1 + 1e-9, 1 - 1e-9],
        [1.0, 1e-6, 1e-3],
        [1.0, 1e9],
        [3 + index / 64 for index in range(40)],
    ],
    ids=str,
)
def test_unequal_laplace_noises_have_partial_fractions(scales: list[float], beta: float) -> None:
    """Also where scales nearly coincide, and where they differ by nine orders of magnitude."""
    noise = nc.NoiseSum([nc.Laplace(scale) for scale in scales])
    assert_inverts(noise, sum_tails.unequal_laplace(scales), beta)


@pytest.mark.few(0)
@pytest.mark.parametrize("beta", BETAS)
def test_ten_thousand_unequal_noises_near_one_scale_are_nearly_equal(beta: float) -> None:
    """Scales of mean 1 that all differ, by 1e-8 at most: the law differs by 1e-16."""
    scales = [1 + (index - 4999.5) * 2e-12 for index in range(10_000)]
    assert len(set(scales)) == 10_000
    noise = nc.NoiseSum([nc.Laplace(scale) for scale in scales])
    assert_inverts(noise, sum_tails.equal_laplace(10_000, 1.0), beta)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("deviation", [1e-6, 0.03, 1.0, 30.0, 1e6])
def test_laplace_and_gaussian_noise_have_their_closed_form(deviation: float, beta: float) -> None:
    """Whichever of the two is wider."""
    noise = nc.NoiseSum([nc.Laplace(1.0), nc.Gaussian(deviation)])
    assert_inverts(noise, sum_tails.laplace_and_gaussian(1.0, deviation), beta)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("queries", [1, 10_000])
def test_gaussian_noises_are_one_gaussian_noise(queries: int, beta: float) -> None:
    """Alone, added up, and in the worst of ten thousand answers."""
    tail = sum_tails.gaussian(0.3**2 + 4.0**2 + 7.0**2)
    noise = nc.NoiseSum([nc.Gaussian(0.3), nc.Gaussian(4.0), nc.Gaussian(7.0)])
    assert_inverts(noise, tail, beta, queries)
    assert_inverts(nc.Gaussian(7.0), sum_tails.gaussian(49.0), beta, queries)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("queries", [2, 10_000])
def test_the_worst_of_many_totals_fails_by_the_product(queries: int, beta: float) -> None:
    """1 − (1 − b)^k of independent sums, below the union bound."""
    noise = nc.NoiseSum([nc.Laplace(10.0), nc.Laplace(10.0)])
    assert_inverts(noise, sum_tails.equal_laplace(2, 10.0), beta, queries)
    assert nc.accuracy(noise, beta, queries) <= nc.accuracy(noise, beta / queries) * (1 + 1e-12)


@pytest.mark.parametrize("noises", DISCRETE, ids=str)
def test_discrete_sums_give_the_smallest_integer(noises: list[nc.Mechanism]) -> None:
    """By the convolution, term by term: P[|Z| >= alpha] <= beta, and not for alpha − 1."""
    reach = 60
    law = convolved(noises, reach)
    within = [law[reach] + 2 * mp.fsum(law[reach + 1 : reach + alpha]) for alpha in range(1, reach)]
    for beta in (1e-3, 0.05, 0.3, 0.5, 0.7, 0.999):
        alpha = nc.accuracy(nc.NoiseSum(noises), beta)
        assert type(alpha) is int
        assert 1 - within[alpha - 1] <= beta
        assert alpha == 1 or 1 - within[alpha - 2] > beta


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("scale", [1, 50, 10**6, 10**15])
def test_two_equal_discrete_noises_give_the_smallest_integer(scale: int, beta: float) -> None:
    """P[|Z| >= m] = 2·tanh²(1/2b)·q^m/(1 − q)·(m + coth(1/b) + q/(1 − q)); ties within 1e-12."""
    b = mpf(scale)
    fall = mp.exp(-1 / b)

    def tail(alpha: int) -> mpf:
        if alpha <= 0:
            return mpf(1)
        places = alpha + mp.coth(1 / b) + fall / (1 - fall)
        return 2 * mp.tanh(1 / (2 * b)) ** 2 * fall**alpha / (1 - fall) * places

    alpha = nc.accuracy(nc.NoiseSum([nc.DiscreteLaplace(scale)] * 2), beta)
    assert type(alpha) is int
    assert_smallest(alpha, tail, beta)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("queries", [1, 10_000])
@pytest.mark.parametrize("scale", [Fraction(1, 2**52), Fraction(7, 3), 10**6, 10**15])
def test_one_discrete_noise_gives_the_smallest_integer(scale: Fraction, queries: int, beta: float) -> None:
    """P[|Z| >= m] = 2q^m/(1 + q); at wide scales too, where q rounds to 1; ties within 1e-11."""
    fall = mp.exp(-1 / (mpf(Fraction(scale).numerator) / Fraction(scale).denominator))

    def any_tail(alpha: int) -> mpf:
        tail = 2 * fall**alpha / (1 + fall)
        return -mp.expm1(queries * mp.log1p(-tail)) if alpha else mpf(1)

    assert_smallest(int(nc.accuracy(nc.DiscreteLaplace(scale), beta, queries)), any_tail, beta)


@pytest.mark.thorough
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("scale", [Fraction(1, 2**52), Fraction(1, 3), Fraction(5, 2), Fraction(7), Fraction(1000)])
def test_discrete_gaussian_noise_gives_the_smallest_integer(scale: Fraction, beta: float) -> None:
    """By the sum over the integers, in 60 digits; ties within 1e-11."""
    weights = discrete_gaussian_weights(scale)
    total = 2 * mp.fsum(weights) - 1

    def tail(alpha: int) -> mpf:
        return 2 * mp.fsum(weights[alpha:]) / total if alpha else mpf(1)

    assert_smallest(int(nc.accuracy(nc.DiscreteGaussian(scale), beta)), tail, beta)


@cache
def discrete_gaussian_weights(scale: Fraction) -> list[mpf]:
    """The law on 0, 1, … up to what it is at 0."""
    width = mpf(scale.numerator) / scale.denominator
    return [mp.exp(-((z / width) ** 2) / 2) for z in range(int(45 * width) + 45)]


NOISES = st.sampled_from([nc.Laplace, nc.Gaussian, nc.DiscreteLaplace, nc.DiscreteGaussian])
SCALES = st.floats(-15, 15).map(lambda digits: 10.0**digits)


@given(
    kind=NOISES,
    scales=st.lists(SCALES, min_size=1, max_size=4),
    beta=st.one_of(st.just(5e-324), st.floats(1e-300, 1 - 1e-12), st.just(1 - 2**-53)),
    queries=st.sampled_from([1, 10, 2**53]),
)
@settings(deadline=None)
def test_extreme_goals_give_numbers(kind: type[nc.Laplace], scales: list[float], beta: float, queries: int) -> None:
    """No nan, no error and no warning, from the smallest beta to the largest, at any scales."""
    noise = nc.NoiseSum([kind(scale) for scale in scales])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alpha = nc.accuracy(noise, beta, queries)
        back = nc.failure_probability(noise, alpha, queries)
    assert math.isfinite(alpha)
    assert alpha > 0
    assert 0 <= back <= 1


@given(
    scales=st.lists(st.floats(0.1, 100), min_size=1, max_size=6), more=st.floats(0.1, 100), beta=st.floats(1e-9, 0.999)
)
@examples(60)
def test_more_noise_is_less_accurate(scales: list[float], more: float, beta: float) -> None:
    """Another independent noise never lowers alpha, for symmetric one-peaked noises."""
    noises = [nc.Laplace(scale) for scale in scales]
    alone, joined = nc.NoiseSum(noises), nc.NoiseSum([*noises, nc.Gaussian(more)])
    assert nc.accuracy(alone, beta) <= nc.accuracy(joined, beta) * (1 + 1e-10)
