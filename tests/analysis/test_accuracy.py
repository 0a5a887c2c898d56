import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.analysis.accuracy import negative_probability
from noisycount.model.noises.additive import AdditiveNoise
from tests.oracles.convolution import density, tail
from tests.oracles.sum_tails import equal_laplace

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
def test_discrete_accuracy_is_the_smallest_integer_that_holds(scale: Fraction, beta: float, queries: int) -> None:
    """P[any |error| >= alpha] <= beta, and not for alpha − 1 (ties within 1e-12 aside)."""
    alpha = nc.accuracy(nc.DiscreteLaplace(scale), beta, queries)
    drawn = nc.DiscreteLaplace(scale).scale
    assert type(alpha) is int
    assert exact_failure(drawn, alpha, queries) <= beta * (1 + mpf(1e-12))
    assert exact_failure(drawn, alpha - 1, queries) > beta * (1 - mpf(1e-12))


@given(scale=SCALES, beta=BETAS, queries=QUERIES)
def test_continuous_accuracy_inverts_the_exact_tail(scale: Fraction, beta: float, queries: int) -> None:
    """1 − (1 − e^(−alpha/b))^k = beta to 1e-10 relative."""
    alpha = nc.accuracy(nc.Laplace(float(scale)), beta, queries)
    tail = mp.exp(-mpf(alpha) / mpf(float(scale)))
    exact = -mp.expm1(queries * mp.log1p(-tail))
    assert abs(exact - beta) <= 1e-10 * beta


@given(scale=SCALES, alpha=st.integers(0, 10**6), queries=QUERIES)
def test_failure_probabilities_equal_the_definition(scale: Fraction, alpha: int, queries: int) -> None:
    """1 − (1 − P[|Z| >= alpha])^k to 1e-10 relative, down to the smallest double."""
    drawn = nc.DiscreteLaplace(scale).scale
    exact = exact_failure(drawn, alpha, queries)
    fast = nc.failure_probability(nc.DiscreteLaplace(scale), alpha, queries)
    assert abs(fast - exact) <= 1e-10 * exact + mpf(1e-310)


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


SUMMED_SCALES = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)
SMALL_BETAS = st.one_of(st.floats(1e-300, 0.01), st.floats(0.01, 1 - 1e-12))


def printed(scales: list[float], beta: float) -> float:
    """The bound as the blog prints it: √(Σb²)·ln(1/β)."""
    return math.hypot(*scales) * math.log(1 / beta)


@given(scales=SUMMED_SCALES, beta=SMALL_BETAS)
@settings(deadline=None)
def test_the_bound_holds(scales: list[float], beta: float) -> None:
    """The exact alpha of the sum is never above it."""
    noise = nc.NoiseSum([nc.Laplace(scale) for scale in scales])
    assert nc.accuracy(noise, beta) <= nc.chan_bound(scales, beta)


@given(scales=SUMMED_SCALES, beta=SMALL_BETAS)
def test_the_bound_is_the_formula(scales: list[float], beta: float) -> None:
    """ν·√(8·ln(2/β)) with ν = max(√(Σb²), b_max·√(ln(2/β)))."""
    odds = math.log(2 / beta)
    width = max(math.sqrt(sum(scale**2 for scale in scales)), max(scales) * math.sqrt(odds))
    assert nc.chan_bound(scales, beta) == pytest.approx(width * math.sqrt(8 * odds), rel=1e-13)


@pytest.mark.parametrize(("count", "beta", "told"), [(2, 0.3, 0.3373), (20, 0.5, 0.618)])
def test_the_bound_without_constants_does_not_hold(count: int, beta: float, told: float) -> None:
    """Of two scales at β = 0.3 the printed error is reached with 0.337, of 20 at 0.5 with 0.618."""
    reached = float(equal_laplace(count, 1.0)(mpf(printed([1.0] * count, beta))))
    assert round(reached, 4) == told > beta
    assert nc.accuracy(nc.NoiseSum([nc.Laplace(1.0)] * count), beta) > printed([1.0] * count, beta)


Added = AdditiveNoise | nc.NoiseSum
NOISES: list[Added] = [
    nc.Laplace(3.0),
    nc.Gaussian(2.5),
    nc.DiscreteLaplace(Fraction(7, 3)),
    nc.DiscreteGaussian(4),
    nc.NoiseSum([nc.Laplace(1.0), nc.Laplace(2.0)]),
    nc.NoiseSum([nc.Laplace(1.0), nc.Gaussian(0.1)]),
    nc.NoiseSum([nc.DiscreteLaplace(2), nc.DiscreteGaussian(1)]),
]


def exact(count: int, size: int, noise: nc.Mechanism) -> mpf:
    """P[Y < 0 or Y > n] in 50 digits: by the tail, or by the sum over the integers."""
    if isinstance(noise, nc.Laplace | nc.Gaussian):
        return tail(noise, mpf(count)) + tail(noise, mpf(size - count))
    law = density(noise)
    wrong = (law(mpf(z)) for z in range(-250, 251) if not 0 <= count + z <= size)
    return mp.fsum(wrong)


@pytest.mark.parametrize("noise", NOISES[:4], ids=str)
@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_the_probability_is_that_of_the_definition(size: int, noise: nc.Mechanism) -> None:
    """For every count, to 1e-10 relative; an answer of 0 or n is within the range."""
    for count in range(size + 1):
        goal = exact(count, size, noise)
        assert abs(nc.out_of_range_probability(count, size, noise) - goal) <= mpf(1e-10) * goal


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("size", [1, 2, 9, 10])
def test_the_bounds_are_the_extremes_over_all_counts(size: int, noise: nc.Mechanism) -> None:
    """Theorem 1 for noise of every kind: the largest at both ends, the smallest in the middle."""
    every = [nc.out_of_range_probability(count, size, noise) for count in range(size + 1)]
    assert nc.out_of_range_bounds(size, noise) == pytest.approx((min(every), max(every)), rel=1e-12)
    assert every == pytest.approx(every[::-1], rel=1e-12)


@given(size=st.integers(1, 10**9), epsilon=st.floats(1e-9, 1.0))
def test_laplace_bounds_are_those_of_theorem_1(size: int, epsilon: float) -> None:
    """(1 + e^(−εn))/2, and e^(−εn/2) for even n where the paper's eq. (6) is a little larger."""
    noise = nc.Laplace.for_epsilon(epsilon)
    smallest, largest = nc.out_of_range_bounds(size, noise)
    rate = 1 / mpf(noise.scale)
    sides = mp.exp(-rate * (size // 2)), mp.exp(-rate * (size - size // 2))
    assert largest == pytest.approx(float((1 + mp.exp(-rate * size)) / 2), rel=1e-12)
    assert smallest == pytest.approx(float(sum(sides) / 2), rel=1e-10, abs=1e-320)


def test_the_printed_minimum_is_no_count_for_even_sizes() -> None:
    """Eq. (6) at n = 10, ε = 0.5: 0.0847 is printed, 0.0821 is reached at a = 5."""
    printed = (math.exp(-0.5 * 9 / 2) + math.exp(-0.5 * 11 / 2)) / 2
    smallest, _ = nc.out_of_range_bounds(10, nc.Laplace(2.0))
    assert smallest == pytest.approx(math.exp(-2.5), rel=1e-12)
    assert printed > smallest * 1.03


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_half_of_the_answers_about_nobody_are_negative(noise: Added) -> None:
    """P[Y < 0] at count 0 is 1/2, less half of P[Z = 0] where answers are integers."""
    at_zero = 1 - nc.failure_probability(noise, 1) if noise.is_discrete else 0.0
    assert negative_probability(0, noise) == pytest.approx(0.5 - at_zero / 2, abs=1e-12)


@pytest.mark.parametrize("guess", [2, 2.0, 2.5])
def test_a_guess_need_not_be_whole(guess: float) -> None:
    """About 2 or 2.5, an integer error of −3 makes an answer negative, and −2 does not."""
    fall = math.exp(-1 / 3)
    found = negative_probability(guess, nc.DiscreteLaplace(3))
    assert found == pytest.approx(fall**3 / (1 + fall))
    assert negative_probability(guess, nc.Laplace(3.0)) == pytest.approx(fall**guess / 2)


@given(noise=st.sampled_from(NOISES), size=st.integers(1, 2**53), share=st.fractions(0, 1))
@settings(deadline=None)
def test_extreme_sizes_give_probabilities(noise: nc.Mechanism, size: int, share: Fraction) -> None:
    """Between 0 and 1, and between the bounds."""
    found = nc.out_of_range_probability(math.floor(share * size), size, noise)
    low, high = nc.out_of_range_bounds(size, noise)
    assert 0 <= low <= found * (1 + 1e-9)
    assert found <= high * (1 + 1e-9) <= 1 + 1e-9
