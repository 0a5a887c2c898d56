import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.laws.factors import Product
from noisycount.model.noises.gaussian import GaussianLikelihood
from noisycount.model.noises.laplace import LaplaceLikelihood

mp.dps = 50
SMALL_SCALES = [Fraction(scale) for scale in ("1/20", "1/2", "99/100", "1", "7/3", "10")]
AWKWARD = Fraction(123_456_789_012_345, 98_765_432_101)
LAWS = [nc.Gaussian, nc.DiscreteGaussian]
Law = type[nc.Gaussian | nc.DiscreteGaussian]


def log_weight(value: mpf, scale: Fraction) -> mpf:
    """The logarithm −value²/(2·scale²) in 50 digits."""
    return -(mpf(value) ** 2) * scale.denominator**2 / (2 * mpf(scale.numerator) ** 2)


@cache
def summed_from(first: int, scale: Fraction) -> mpf:
    """Σ e^(−z²/(2·scale²)) over z >= first, term by term."""
    last = first + math.ceil(16 * scale) + 2
    return mp.fsum(mp.exp(log_weight(mpf(z), scale)) for z in range(first, last))


@cache
def integrated_from(first: int, scale: Fraction) -> mpf:
    """Return the tail by the Euler-Maclaurin formula at the midpoint below `first`, for scales >= 100."""
    width = mpf(scale.numerator) / scale.denominator
    start = (first - mpf(1) / 2) / width
    total = width * mp.sqrt(mp.pi / 2) * mp.erfc(start / mp.sqrt(2))
    for order in range(1, 16, 2):
        hermite = mp.hermite(order, start / mp.sqrt(2)) / mp.sqrt(2) ** order
        derivative = -hermite * mp.exp(-(start**2) / 2) / width**order
        total -= mp.bernpoly(order + 1, mpf(1) / 2) / mp.factorial(order + 1) * derivative
    return total


def exact_tail(alpha: int, scale: Fraction) -> mpf:
    """P[|Z| >= alpha] of the discrete law for alpha >= 1, in 20 digits or more."""
    half = summed_from if scale < 100 else integrated_from
    return 2 * half(alpha, scale) / (1 + 2 * half(1, scale))


@pytest.mark.parametrize("reach", [*np.geomspace(1e-9, 37, 60), 1e-300])
@pytest.mark.parametrize("scale", [1.0, 0.3, 1e9])
def test_continuous_tails_equal_the_definition(scale: float, reach: float) -> None:
    """P[|Z| >= alpha] = erfc(alpha/(scale·√2)) to 1e-12 down to 1e-300."""
    alpha = float(reach) * scale
    exact = mp.erfc(mpf(alpha) / (mpf(scale) * mp.sqrt(2)))
    assert abs(mp.expm1(mpf(nc.Gaussian(scale).log_tail(alpha)) - mp.log(exact))) < 1e-12


@pytest.mark.parametrize("reach", [36.9, 37.0, 37.1, 40.0, 1e3, 1e6])
def test_continuous_tails_beyond_the_floats_keep_their_logarithm(reach: float) -> None:
    """The logarithm of a tail that underflows is right to 1e-15."""
    exact = mp.log(mp.erfc(mpf(reach) / mp.sqrt(2)))
    assert nc.Gaussian(1.0).log_tail(reach) == pytest.approx(float(exact), rel=1e-15)


def test_both_references_of_the_discrete_tail_agree() -> None:
    """Term by term and Euler-Maclaurin: the same sums to 1e-20."""
    for first in (1, 50, 200, 3000):
        direct, smooth = (sum_(first, Fraction(100)) for sum_ in (summed_from, integrated_from))
        assert abs(smooth / direct - 1) < mpf("1e-20")


@pytest.mark.parametrize("reach", [0.001, 0.7, 2, 6, 15, 37])
@pytest.mark.parametrize("scale", [*SMALL_SCALES, *map(Fraction, (99, 1000, 10**9, 2**52)), AWKWARD])
def test_discrete_tails_equal_the_definition(scale: Fraction, reach: float) -> None:
    """P[|Z| >= alpha] to 1e-11, also at non-integer alpha."""
    alpha = max(1, math.ceil(reach * float(scale)))
    exact = mp.log(exact_tail(alpha, scale))
    noise = nc.DiscreteGaussian(scale)
    assert abs(mp.expm1(mpf(noise.log_tail(alpha)) - exact)) < 1e-11 * max(1, abs(exact) / 700)
    if scale < 2**50:
        assert noise.log_tail(alpha - 0.5) == noise.log_tail(alpha)


@pytest.mark.parametrize("noise", [nc.Gaussian(2.0), nc.DiscreteGaussian(2), nc.DiscreteGaussian(2**52)])
def test_tails_are_probabilities_at_the_ends(noise: nc.Gaussian | nc.DiscreteGaussian) -> None:
    """Every error is at least a non-positive alpha, and none is near the largest float."""
    assert noise.log_tail(-3) == 0
    assert noise.log_tail(0) == 0
    assert noise.log_tail(0.001) <= 0
    assert noise.log_tail(1e308) == -math.inf


@pytest.mark.parametrize("scale", [0.1, 10.0, 1e9])
@pytest.mark.parametrize("beta", [1e-300, 1e-9, 0.05, 0.5, 0.999])
def test_continuous_error_has_the_tail_asked(scale: float, beta: float) -> None:
    """P[|Z| >= smallest_error(beta)] = beta to 1e-12."""
    alpha = nc.Gaussian(scale).smallest_error(beta)
    tail = mp.erfc(mpf(alpha) / (mpf(scale) * mp.sqrt(2)))
    assert abs(tail / mpf(beta) - 1) < 1e-12


def test_the_smallest_beta_has_an_error_too() -> None:
    """The smallest float asks for about 38.5 standard deviations, not for infinitely many."""
    assert 38 < nc.Gaussian(1.0).smallest_error(5e-324) < 39


@pytest.mark.parametrize("scale", [*SMALL_SCALES, Fraction(10**9)])
@pytest.mark.parametrize("beta", [1e-300, 1e-9, 0.05, 0.5, 0.999])
def test_discrete_error_is_the_smallest_integer(scale: Fraction, beta: float) -> None:
    """The tail at alpha is at most beta, one record nearer it is more; in 50 digits."""
    alpha = nc.DiscreteGaussian(scale).smallest_error(beta)
    assert isinstance(alpha, int)
    assert exact_tail(alpha, scale) <= beta
    assert alpha == 1 or exact_tail(alpha - 1, scale) > beta


@pytest.mark.parametrize("scale", SMALL_SCALES)
def test_discrete_variance_is_the_sum(scale: Fraction) -> None:
    """The variance of the law in 50 digits; never above the square of the scale."""
    pairs = [(z * z, mp.exp(log_weight(mpf(z), scale))) for z in range(1, 200)]
    exact = mp.fsum(2 * square * w for square, w in pairs) / (1 + 2 * mp.fsum(w for _, w in pairs))
    assert nc.DiscreteGaussian(scale).variance == pytest.approx(float(exact), rel=1e-13)
    assert exact <= mpf(scale.numerator) ** 2 / scale.denominator**2


def test_wide_variances_are_the_squared_scale() -> None:
    """From a few records on the discrete law has the variance of the continuous one."""
    assert nc.DiscreteGaussian(2**52).variance == 2.0**104
    assert nc.DiscreteGaussian(1000).variance == nc.Gaussian(1000).variance == 1e6


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(7, 3), Fraction(10**9)])
@pytest.mark.parametrize("answer", [-12345.678, 0.0, 41.5, 1e15])
@pytest.mark.parametrize("centre", [0, 40, 10**12])
def test_expansion_is_the_change_of_the_logarithm(scale: Fraction, answer: float, centre: int) -> None:
    """slope·d + bend(d) is ln f(c + d) − ln f(c), each part to full precision."""
    expansion = GaussianLikelihood(answer, scale).expansion(centre)
    offsets = np.array([-1000.0, -1.0, 0.0, 1.0, 17.0, 1e6])
    bends = replace(expansion, slope=Decimal(0))(offsets)
    for offset, bend in zip(offsets, bends, strict=True):
        change = log_weight(mpf(answer) - centre - int(offset), scale)
        change -= log_weight(mpf(answer) - centre, scale)
        parts = mpf(str(expansion.slope)) * int(offset) + log_weight(mpf(int(offset)), scale)
        assert mp.almosteq(parts, change, rel_eps=mpf("1e-30"), abs_eps=mpf("1e-25"))
        assert bend == pytest.approx(float(log_weight(mpf(int(offset)), scale)), rel=1e-15)


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(7, 3), Fraction(10**9)])
@pytest.mark.parametrize("answer", [-12345.678, 41.5, 1e15])
def test_steps_are_the_change_to_the_next_count(scale: Fraction, answer: float) -> None:
    """As a float to 1e-14, and as a rational exactly; positive below the answer."""
    factor = GaussianLikelihood(answer, scale)
    for count in (0, 40, 41, 42, 10**9):
        before, after = (Fraction(answer) - count - step for step in (0, 1))
        exact = (before**2 - after**2) / (2 * scale**2)
        assert factor.exact_log_ratio_to_next(count).shift == exact
        assert factor.exact_log_ratio_to_next(count).ratio == 1
        assert factor.log_ratio_to_next(count) == pytest.approx(float(exact), rel=1e-14)
        assert factor.exact_log_ratio_to_next(count).is_positive == (answer > count + 0.5)


def test_the_factor_is_smooth_and_positive_everywhere() -> None:
    """Every integer is a possible count, and the logarithm is a parabola."""
    factor = nc.DiscreteGaussian(3).likelihood(7, 10)
    assert factor == GaussianLikelihood(7.0, Fraction(3))
    assert factor.support == (-math.inf, math.inf)
    assert factor.kinks == ()
    assert factor.is_log_concave


def test_a_product_with_laplace_rises_to_its_largest_count() -> None:
    """e^(−(12 − k)²/8 − |3 − k|/2) has its top at 10, where the slope (12 − k)/4 falls to 1/2."""
    product = Product((GaussianLikelihood(12.0, Fraction(2)), LaplaceLikelihood(3.0, Fraction(2))))
    assert (product.rises_after([8, 9, 10]) > 0).tolist() == [True, True, False]


@pytest.mark.parametrize("law", LAWS)
def test_the_farthest_answer_has_finite_slopes(law: Law) -> None:
    """No infinity gets into a posterior: what lies beyond is refused."""
    assert math.isfinite(law(Fraction(1, 2**52)).likelihood(2.0**600, 10).log_ratio_to_next(0))


@pytest.mark.parametrize("scale", [2, 5, 20])
def test_the_grid_law_is_as_near_to_the_continuous_one_as_stated(scale: int) -> None:
    """Total variation from the rounded continuous law: at most 1/(40·s²), s steps a scale."""
    total = 1 + 2 * summed_from(1, Fraction(scale))
    distance = mp.mpf(0)
    for step in range(-16 * scale, 16 * scale + 1):
        ends = ((step + side) / (mpf(scale) * mp.sqrt(2)) for side in (mpf(-0.5), mpf(0.5)))
        low, high = (mp.erf(end) / 2 for end in ends)
        grid = mp.exp(log_weight(mpf(step), Fraction(scale))) / total
        distance += abs(high - low - grid) / 2
    assert 0 < distance < mpf(1) / (40 * scale**2)
