import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.sampling.scalar import LARGEST_TERM


def test_floats_are_read_as_the_decimals_that_are_shown() -> None:
    """0.1 is one tenth: ε = 0.1 gives the scale 10, exactly."""
    assert nc.DiscreteLaplace(0.1).scale == Fraction(1, 10)
    assert nc.DiscreteLaplace.for_epsilon(0.1).scale == 10
    assert nc.DiscreteLaplace(np.int64(7)).epsilon == Fraction(1, 7)
    assert nc.DiscreteLaplace(np.float32(0.5)).scale == Fraction(1, 2)
    assert nc.DiscreteGaussian(0.1).scale == Fraction(1, 10)
    assert nc.DiscreteGaussian(np.int64(7)).exact_scale == 7


@pytest.mark.parametrize("law", [nc.DiscreteLaplace, nc.DiscreteGaussian])
@given(scale=st.fractions(min_value=Fraction(1, 10**15), max_value=10**15))
@example(scale=Fraction(2**60 + 1, 1025))
@example(scale=Fraction(12345678901234567, 2**60))
def test_awkward_scales_are_rounded_up_and_hardly(
    law: type[nc.DiscreteLaplace | nc.DiscreteGaussian], scale: Fraction
) -> None:
    """The drawn scale fits the sampler, is never smaller, and at most 2^−51 larger: that costs no privacy."""
    drawn = law(scale).scale
    assert max(drawn.numerator, drawn.denominator) <= LARGEST_TERM
    assert scale <= drawn <= scale * (1 + Fraction(1, 2**51))


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3), Fraction(1000)])
@pytest.mark.parametrize("alpha", [-3, 0, 0.5, 1, 7, 7.2, 1e4])
def test_discrete_tails_equal_the_definition(scale: Fraction, alpha: float) -> None:
    """P[|Z| >= alpha] with non-integer and non-positive alpha, in 50 digits."""
    x = mp.exp(-mpf(scale.denominator) / scale.numerator)
    exact = mpf(1) if alpha <= 0 else 2 * x ** math.ceil(alpha) / (1 + x)
    assert nc.DiscreteLaplace(scale).log_tail(alpha) == pytest.approx(float(mp.log(exact)), rel=1e-13)


@pytest.mark.parametrize("law", [nc.Laplace, nc.Gaussian])
@pytest.mark.parametrize("scale", [2.0**-52, 1e-3, 0.3, 10.0, 2.0**45])
@pytest.mark.parametrize("count", [0, 1, 92, 10**12])
def test_continuous_releases_lie_on_the_public_grid(
    law: type[nc.Laplace | nc.Gaussian], scale: float, count: int
) -> None:
    """Every answer is the float nearest to a multiple of a grid that does not depend on counts."""
    grid = Fraction(2) ** min(0, math.floor(math.log2(scale)) - 40)
    for _ in range(20):
        answer = law(scale).release(count)
        steps = round(Fraction(answer) / grid)
        assert float(steps * grid) == answer


@pytest.mark.parametrize("noise", [nc.DiscreteLaplace(2), nc.DiscreteGaussian(Fraction(3, 4))], ids=repr)
def test_samples_are_the_noise_alone(noise: nc.DiscreteLaplace | nc.DiscreteGaussian) -> None:
    """Bulk samples have the asked shape and the variance of the law, within 7 standard errors at least."""
    draws = noise.samples(200_000)
    assert draws.shape == (200_000,)
    assert draws.var() == pytest.approx(noise.variance, rel=0.05)


@pytest.mark.parametrize("law", [nc.Laplace, nc.Gaussian, nc.DiscreteLaplace, nc.DiscreteGaussian])
def test_a_scale_of_numpy_integers_is_one_of_python(law: Callable[[Fraction], nc.Mechanism]) -> None:
    """The products of a sampler would overflow without a word."""
    scale = Fraction(np.int64(999_999_999_999), np.int64(1_000_003))
    assert law(scale) == law(Fraction(999_999_999_999, 1_000_003))
    assert type(law(scale).release(np.int64(2**40))) in (int, float)


def test_an_epsilon_of_numpy_integers_is_one_of_python() -> None:
    """The scale of its noise has terms of any size."""
    epsilon = Fraction(np.int64(1_000_003), np.int64(999_999_999_999))
    scale = nc.DiscreteLaplace.for_epsilon(epsilon).scale
    assert (type(scale.numerator), type(scale.denominator)) == (int, int)
    assert scale == Fraction(999_999_999_999, 1_000_003)
