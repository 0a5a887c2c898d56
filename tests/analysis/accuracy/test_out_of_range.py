import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.analysis.accuracy.accuracy import negative_probability
from noisycount.model.noises.additive import AdditiveNoise
from tests.oracles.convolution import density, tail

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


@pytest.mark.few(6)
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


@pytest.mark.parametrize(
    ("count", "size", "message"),
    [
        (-1, 10, r"^count must be a whole number from 0 to 2\*\*53, got -1"),
        (11, 10, r"^count must be at most the size 10, got 11"),
        (0.5, 10, r"^count must be a whole number from 0"),
        (0, 0, r"^size must be a whole number from 1 to 2\*\*53, got 0"),
        (0, math.nan, r"^size must be a whole number from 1"),
    ],
)
def test_impossible_counts_and_sizes_are_refused(count: int, size: int, message: str) -> None:
    """A count lies between 0 and a positive size."""
    with pytest.raises(ValueError, match=message):
        nc.out_of_range_probability(count, size, nc.Laplace(1.0))


def test_what_adds_no_noise_is_refused() -> None:
    """The count itself is never out of range."""
    with pytest.raises(
        ValueError, match=r"^noise must be noise that is added to the count, .*, got Exact\(\)"
    ):
        nc.out_of_range_bounds(10, nc.Exact())
