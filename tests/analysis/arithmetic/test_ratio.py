import math
from fractions import Fraction

import pytest

import noisycount as nc
from tests.analysis.arithmetic.exact import pairs

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
    law = nc.ratio(
        nc.posterior(3e8, flat, nc.Gaussian(1000)), nc.posterior(6e8, flat, nc.Gaussian(1000))
    )
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
