import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.noises.additive import AdditiveNoise

mp.dps = 50

SCALES = st.fractions(min_value=Fraction(1, 100), max_value=10**6)
BETAS = st.one_of(st.floats(1e-300, 1e-3), st.floats(1e-3, 0.999), st.just(1 - 1e-12))
QUERIES = st.sampled_from([1, 2, 10, 10_000])


def exact_failure(scale: Fraction, alpha: int, queries: int) -> mpf:
    """P[any |Z| >= alpha] of the discrete law in 50 digits."""
    if alpha <= 0:
        return mpf(1)
    x = mp.exp(-mpf(scale.denominator) / scale.numerator)
    return -mp.expm1(queries * mp.log1p(-2 * x**alpha / (1 + x)))


@given(scale=SCALES, beta=BETAS, queries=QUERIES)
def test_discrete_accuracy_is_the_smallest_integer_that_holds(
    scale: Fraction, beta: float, queries: int
) -> None:
    """P[any |error| >= alpha] <= beta, and not for alpha − 1 (ties within 1e-12 aside)."""
    alpha = nc.accuracy(nc.DiscreteLaplace(scale), beta, queries)
    drawn = nc.DiscreteLaplace(scale).scale
    assert type(alpha) is int
    assert exact_failure(drawn, alpha, queries) <= beta * (1 + mpf(1e-12))
    assert exact_failure(drawn, alpha - 1, queries) > beta * (1 - mpf(1e-12))


@given(scale=SCALES, beta=BETAS, queries=QUERIES)
def test_continuous_accuracy_inverts_the_exact_tail(
    scale: Fraction, beta: float, queries: int
) -> None:
    """1 − (1 − e^(−alpha/b))^k = beta to 1e-10 relative."""
    alpha = nc.accuracy(nc.Laplace(float(scale)), beta, queries)
    tail = mp.exp(-mpf(alpha) / mpf(float(scale)))
    exact = -mp.expm1(queries * mp.log1p(-tail))
    assert abs(exact - beta) <= 1e-10 * beta


@given(scale=SCALES, alpha=st.integers(0, 10**6), queries=QUERIES)
def test_failure_probabilities_equal_the_definition(
    scale: Fraction, alpha: int, queries: int
) -> None:
    """1 − (1 − P[|Z| >= alpha])^k to 1e-10 relative, down to the smallest double."""
    drawn = nc.DiscreteLaplace(scale).scale
    exact = exact_failure(drawn, alpha, queries)
    fast = nc.failure_probability(nc.DiscreteLaplace(scale), alpha, queries)
    assert abs(fast - exact) <= 1e-10 * exact + mpf(1e-310)


def test_many_answers_fail_less_often_than_the_union_bound_says() -> None:
    """For k independent noises the exact alpha is below accuracy(noise, beta / k)."""
    assert nc.accuracy(nc.Laplace(10), 0.05, 10) < nc.accuracy(nc.Laplace(10), 0.05 / 10)


@pytest.mark.parametrize("noise", [nc.Laplace(2), nc.DiscreteLaplace(2)])
@pytest.mark.parametrize("beta", [0, 1, -0.1, 1.5, float("nan"), True])
def test_a_beta_outside_the_unit_interval_is_refused(noise: AdditiveNoise, beta: float) -> None:
    """Beta is a probability strictly between 0 and 1."""
    with pytest.raises(ValueError, match=r"^beta must lie strictly between 0 and 1, got "):
        nc.accuracy(noise, beta)


@pytest.mark.parametrize("queries", [0, -1, 1.5])
def test_a_number_of_queries_below_one_is_refused(queries: int) -> None:
    """There is at least one answer."""
    with pytest.raises(ValueError, match=r"^queries must be a whole number from 1 to 2\*\*53"):
        nc.failure_probability(nc.Laplace(2), 1, queries)


@pytest.mark.parametrize("alpha", [-1, math.nan, math.inf])
def test_an_error_that_is_no_size_is_refused(alpha: float) -> None:
    """An error is a finite number of records, not negative."""
    with pytest.raises(ValueError, match=r"^alpha must "):
        nc.failure_probability(nc.Laplace(2), alpha)


@pytest.mark.parametrize("scale", [0.3, 1.0, 10.0, 1e6])
@pytest.mark.parametrize("beta", [1e-300, 1e-9, 0.05, 0.9])
@pytest.mark.parametrize("queries", [1, 10])
def test_gaussian_accuracy_inverts_the_exact_tail(scale: float, beta: float, queries: int) -> None:
    """1 − (1 − erfc(alpha/(scale·√2)))^k = beta to 1e-10 relative."""
    alpha = nc.accuracy(nc.Gaussian(scale), beta, queries)
    tail = mp.erfc(mpf(alpha) / mpf(scale) / mp.sqrt(2))
    exact = -mp.expm1(queries * mp.log1p(-tail))
    assert abs(exact - beta) <= 1e-10 * beta


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), Fraction(40)])
@pytest.mark.parametrize("beta", [1e-9, 0.05, 0.9])
def test_discrete_gaussian_accuracy_is_the_smallest_integer_that_holds(
    scale: Fraction, beta: float
) -> None:
    """P[|error| >= alpha] <= beta, and not for alpha − 1, by the sum over the integers."""
    alpha = nc.accuracy(nc.DiscreteGaussian(scale), beta)
    width = mpf(scale.numerator) / scale.denominator
    weights = [mp.exp(-((z / width) ** 2) / 2) for z in range(int(60 * width) + 60)]
    total = 2 * mp.fsum(weights) - 1
    assert 2 * mp.fsum(weights[alpha:]) / total <= beta
    assert alpha == 1 or 2 * mp.fsum(weights[alpha - 1 :]) / total > beta


@pytest.mark.parametrize("mechanism", [nc.Exact(), nc.Subsample(10), None, 3.0])
def test_what_adds_no_noise_has_no_accuracy(mechanism: nc.Mechanism) -> None:
    """A sample's error depends on the count, and the count itself has none."""
    with pytest.raises(
        ValueError,
        match=r"^noise must be noise that is added to the count, such as Laplace.*, got ",
    ):
        nc.accuracy(mechanism, 0.05)
    with pytest.raises(
        ValueError,
        match=r"^noise must be noise that is added to the count, such as Laplace.*, got ",
    ):
        nc.failure_probability(mechanism, 1)


@pytest.mark.parametrize("scale", [0.05, 0.3, 0.7, 2.5])
def test_a_broken_error_fails_as_the_next_whole_one(scale: float) -> None:
    """Discrete noise reaches alpha where it reaches ⌈alpha⌉, however small alpha is."""
    for kind in (nc.DiscreteLaplace, nc.DiscreteGaussian):
        one, three = (nc.failure_probability(kind(scale), alpha) for alpha in (1, 3))
        assert [nc.failure_probability(kind(scale), a) for a in (1e-300, 0.1, 0.9)] == [one] * 3
        assert nc.failure_probability(kind(scale), 2.1) == three
    square = mpf(1) / 2 / mpf(str(scale)) ** 2
    terms = [mp.exp(-square * z * z) for z in range(60)]
    exact = 2 * mp.fsum(terms[1:]) / (2 * mp.fsum(terms) - 1)
    found = nc.failure_probability(nc.DiscreteGaussian(scale), 1e-300)
    assert found == pytest.approx(float(exact), rel=1e-10)
