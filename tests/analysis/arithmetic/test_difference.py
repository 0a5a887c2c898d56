import math

import numpy as np
import pytest
from mpmath import mp

import noisycount as nc
from tests.analysis.arithmetic.exact import pairs

A = nc.posterior(14.2, nc.Binomial(40, 0.3), nc.Laplace(4))
B = nc.posterior(22, nc.BetaBinomial(35, 0.5, 0.5), nc.DiscreteLaplace(2))
C = nc.posterior(2, nc.Tabulated([0.2, 0, 0.3, 0.5, 0]), nc.Gaussian(2))


@pytest.mark.parametrize(("a", "b"), [(A, B), (B, A), (A, C)])
def test_the_law_is_that_of_all_pairs(a: nc.Posterior, b: nc.Posterior) -> None:
    """Probabilities, moments and quantiles; negative differences too."""
    law = nc.difference(a, b)
    assert law.mean == pytest.approx(a.mean - b.mean, abs=1e-12)
    assert law.variance == pytest.approx(a.variance + b.variance, rel=1e-12)
    for d in (-20, -8, -1, 0, 3, 11, 30):
        exact = pairs(a.law, b.law, lambda x, y, d=d: x - y == d)
        assert float(law.pmf(d)) == pytest.approx(float(exact), rel=1e-11, abs=1e-22)
        below = pairs(a.law, b.law, lambda x, y, d=d: x - y <= d)
        assert float(law.cdf(d)) == pytest.approx(float(below), rel=1e-11, abs=1e-22)
    for level in (0.025, 0.5, 0.975):
        found = int(law.ppf(level))
        upto, before = (
            pairs(a.law, b.law, lambda x, y, d=d: x - y <= d) for d in (found, found - 1)
        )
        assert before < level <= upto + mp.mpf(1e-12)
    assert law.interval(0.95) == (int(law.ppf(0.025)), int(law.ppf(0.975)))


@pytest.mark.parametrize(("scale", "times"), [(800, 1), (1e4, 3), (1e6, 2)])
def test_wide_smooth_laws_are_summed_with_a_stride(scale: float, times: float) -> None:
    """The difference of two Gaussian posteriors is Gaussian; it agrees with what compares them."""
    flat = nc.BetaBinomial(10**9, 1, 1)
    a, b = (
        nc.posterior(3e8, flat, nc.Gaussian(scale)),
        nc.posterior(3e8 + scale, flat, nc.Gaussian(scale * times)),
    )
    law, spread = nc.difference(a, b), scale * math.hypot(1, times)
    assert law.mean == pytest.approx(-scale, abs=1e-9 * spread)
    assert law.variance == pytest.approx(spread**2, rel=1e-9)
    assert law.mode == pytest.approx(-scale, abs=1)
    far = -scale + np.array([-9, -1, 0, 5]) * round(spread)
    logs = -(((far + scale) / spread) ** 2) / 2 - math.log(spread * math.sqrt(2 * math.pi))
    np.testing.assert_allclose(law.logpmf(far), logs, atol=1e-9)
    assert law.probability(1, math.inf) == pytest.approx(nc.probability_greater(a, b), rel=1e-9)


@pytest.mark.thorough
def test_counts_with_the_noise_of_a_large_site_have_a_difference() -> None:
    """Discrete Laplace noise of scale 300 bends: all products, a billion of them."""
    flat = nc.BetaBinomial(10**9, 1, 1)
    a, b = (nc.posterior(answer, flat, nc.DiscreteLaplace(300)) for answer in (90_000, 90_500))
    law = nc.difference(a, b)
    assert law.variance == pytest.approx(2 * float(nc.DiscreteLaplace(300).variance), rel=1e-9)
    assert law.probability(1, math.inf) == pytest.approx(nc.probability_greater(a, b), rel=1e-11)


def test_wide_laws_that_bend_are_refused() -> None:
    """In one line that names what compares them."""
    flat = nc.BetaBinomial(10**9, 1, 1)
    told = nc.posterior(3e8, flat, nc.Laplace(1e5))
    with pytest.raises(
        ValueError, match=r"^a and b must be smooth .*: probability_greater\(a, b\)"
    ):
        nc.difference(told, told)


def test_a_difference_shows_itself() -> None:
    """As every result."""
    shown = nc.difference(A, C)
    assert repr(shown).startswith("Difference(mean=")
    assert list(shown.to_dict()) == ["type", "mean", "median", "mode", "std", "interval", "level"]
    assert nc.difference(shown, C).mean == pytest.approx(A.mean - 2 * C.mean)
