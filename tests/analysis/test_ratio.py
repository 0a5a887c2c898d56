import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import noisycount as nc
from tests.analysis.exact import pairs

A = nc.posterior(14.2, nc.Binomial(40, 0.3), nc.Laplace(4))
B = nc.posterior(4, nc.BetaBinomial(35, 0.5, 0.5), nc.DiscreteLaplace(2))
VALUES = [Fraction(0), Fraction(1, 3), Fraction(7, 5), Fraction(2), Fraction(29, 10), Fraction(40)]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_the_law_is_that_of_all_pairs(value: Fraction) -> None:
    """P[A <= x·B and B > 0], at ratios that counts have too; a count over 0 is infinite."""
    law = nc.ratio(A, B)
    exact = pairs(A.law, B.law, lambda x, y: y > 0 and x <= value * y)
    assert law.cdf(float(value)) == pytest.approx(float(exact), rel=1e-12, abs=1e-15)
    between = pairs(A.law, B.law, lambda x, y: y > 0 and value * y <= x <= 3 * y)
    assert law.probability(float(value), 3) == pytest.approx(float(between), rel=1e-9, abs=1e-12)


def test_quantiles_are_the_ratios_that_reach_their_levels() -> None:
    """The smallest ratio of two counts with so much probability up to it."""
    law = nc.ratio(A, B)
    places = sorted({Fraction(x, y) for x in range(41) for y in range(1, 36)})
    for level in (0.025, 0.3, 0.5, 0.8):
        exact = next(at for at in places if law.cdf(float(at)) >= level)
        assert law.quantile(level) == pytest.approx(float(exact), rel=1e-11)
    assert law.median == law.quantile(0.5)
    assert law.interval(0.4) == (law.quantile(0.3), law.quantile(0.7))


def test_a_denominator_of_0_is_told() -> None:
    """Its probability lies at infinity, beyond every number, where quantiles may be."""
    law = nc.ratio(A, B)
    assert law.infinite == pytest.approx(B.probability(0, 0))
    assert law.cdf(math.inf) == 1 - law.infinite
    assert law.probability(-math.inf, math.inf) == 1
    assert law.probability(0, math.inf) == 1
    assert law.probability(math.inf, math.inf) == law.infinite
    assert law.quantile(1 - law.infinite / 2) == math.inf
    assert law.cdf(-1) == 0


def test_wide_counts_have_the_ratio_of_their_means() -> None:
    """A normal approximation of the logarithm, to its order."""
    flat = nc.BetaBinomial(10**9, 1, 1)
    law = nc.ratio(nc.posterior(3e8, flat, nc.Gaussian(1000)), nc.posterior(6e8, flat, nc.Gaussian(1000)))
    assert law.median == pytest.approx(0.5, rel=1e-10)
    low, high = law.interval(0.95)
    width = 2 * 1.959964 * 0.5 * 1000 * math.hypot(1 / 3e8, 1 / 6e8)
    assert high - low == pytest.approx(width, rel=1e-4)


def test_ratios_that_cannot_be_told_are_refused() -> None:
    """Negative counts, and laws of more than two million counts."""
    with pytest.raises(ValueError, match=r"^a must not be negative, got a law from -\d+ on$"):
        nc.ratio(nc.difference(A, B), B)
    broad = nc.posterior(3e8, nc.BetaBinomial(10**9, 1, 1), nc.Gaussian(1e6))
    with pytest.raises(ValueError, match=r"^b must have at most 2\*\*21 counts that matter, got"):
        nc.ratio(A, broad)


FUNCTIONS: list[Callable[..., object]] = [
    lambda k: k,
    lambda k: k * k,
    abs,
    lambda k: (k > 4) * 1,
    lambda k: k**3 - 7 * k,
]


@pytest.mark.few(10)
@pytest.mark.parametrize("function", FUNCTIONS, ids=["k", "k²", "|k|", "k > 4", "cubic"])
@pytest.mark.parametrize("count", [0, 5, 31])
@pytest.mark.parametrize("scale", [1, 3])
def test_the_estimate_is_right_on_average(function: Callable[..., mpf], count: int, scale: int) -> None:
    """Σ_z P[Z = z]·g(k + z) = f(k) in 50 digits, with g by the formula that the class computes."""
    with mp.workdps(60):
        a = mp.exp(mpf(-1) / scale)
        weight = a / (1 - a) ** 2

        def estimate(y: int) -> mpf:
            bend = function(y + 1) - 2 * function(y) + function(y - 1)
            return function(y) - weight * bend

        reach = 160 * scale
        mean = mp.fsum((1 - a) / (1 + a) * a ** abs(z) * estimate(count + z) for z in range(-reach, reach + 1))
        assert abs(mean - function(count)) < mpf(10) ** -50
        ours = nc.unbiased(function, nc.DiscreteLaplace(scale))
        answers = np.arange(-6, 40)
        for answer, found in zip(answers.tolist(), ours(answers).tolist(), strict=True):
            assert found == pytest.approx(float(estimate(answer)), rel=1e-13, abs=1e-12)


def test_the_variance_of_the_square_is_as_told() -> None:
    """4k²·v + Var[Z²], v the variance of the noise."""
    noise, errors = nc.DiscreteLaplace(3), np.arange(-400, 401, dtype=np.float64)
    chances = np.exp(noise.logpmf(0, errors))
    estimates = nc.unbiased(np.square, noise)(9 + errors)
    variance = chances @ estimates**2 - 81**2
    of_squares = chances @ errors**4 - (chances @ errors**2) ** 2
    assert variance == pytest.approx(4 * 81 * float(noise.variance) + of_squares, rel=1e-11)


def test_answers_come_in_any_shape_and_are_whole() -> None:
    """A number gives a number, nan stays."""
    count = nc.unbiased(np.positive, nc.DiscreteLaplace(2))
    assert count(7) == 7
    np.testing.assert_array_equal(count([[1, np.nan]]), [[1, np.nan]])
