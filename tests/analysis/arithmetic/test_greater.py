import math

import numpy as np
import pytest
from mpmath import erfc

import noisycount as nc
from tests.analysis.arithmetic.exact import pairs

SHORT = {
    "binomial": nc.posterior(14.2, nc.Binomial(60, 0.3), nc.Laplace(4)),
    "beta": nc.posterior(22, nc.BetaBinomial(45, 0.5, 0.5), nc.DiscreteLaplace(2)),
    "table": nc.posterior(3, nc.Tabulated([0.2, 0, 0.3, 0.5, 0]), nc.Gaussian(2)),
    "far": nc.posterior(58, nc.Binomial(60, 0.9), nc.Laplace(0.4)),
    "low": nc.posterior(1, nc.Binomial(60, 0.01), nc.Laplace(0.4)),
}


@pytest.mark.few(8)
@pytest.mark.parametrize("a", SHORT)
@pytest.mark.parametrize("b", SHORT)
def test_the_probability_is_the_sum_over_all_pairs(a: str, b: str) -> None:
    """Strictly greater, to 1e-11 of itself, however small."""
    exact = pairs(SHORT[a].law, SHORT[b].law, lambda x, y: x > y)
    found = nc.probability_greater(SHORT[a], SHORT[b])
    assert abs(found - exact) <= 1e-11 * exact + 1e-300


def wide(
    answer: float, scale: float, noise: type[nc.Gaussian | nc.Laplace] = nc.Gaussian
) -> nc.Posterior:
    """A count among a billion after one answer, on which little was known."""
    return nc.posterior(3e8 + answer, nc.BetaBinomial(10**9, 1, 1), noise(scale))


@pytest.mark.parametrize("scale", [2000, 3e4, 1e6])
@pytest.mark.parametrize(("shift", "times"), [(1, 1), (-2, 3), (25, 1)])
def test_wide_gaussian_laws_compare_as_the_normal_integral(
    scale: float, shift: float, times: float
) -> None:
    """P[A > B] less half of the ties is that of the continuous laws, to their second order."""
    a, b = wide(0, scale), wide(shift * scale, scale * times)
    spread = scale * math.hypot(1, times)
    normal = float(erfc(shift * scale / spread / math.sqrt(2)) / 2)
    ties = math.exp(-((shift * scale / spread) ** 2) / 2) / spread / math.sqrt(2 * math.pi)
    assert nc.probability_greater(a, b) + ties / 2 == pytest.approx(
        normal, rel=30 / scale**2 + 1e-9
    )


@pytest.mark.parametrize("scale", [400, 3e4])
def test_kinks_are_summed_count_by_count(scale: float) -> None:
    """Both directions and the ties, (z + 1)·e^−z/4b for answers z·b apart, add up to 1."""
    a, b = wide(0, scale, nc.Laplace), wide(2 * scale, scale, nc.Laplace)
    both = nc.probability_greater(a, b) + nc.probability_greater(b, a)
    ties = 3 * math.exp(-2) / 4 / scale
    assert 1 - both == pytest.approx(ties, rel=1e-5)
    x = np.exp(-2) * (2 + 2) / 4  # P[Z >= 2b] of the sum of two Laplace noises of scale b
    assert nc.probability_greater(a, b) + ties / 2 == pytest.approx(x, rel=1e-5)


def test_a_narrow_count_is_compared_with_a_wide_one() -> None:
    """Both ways, as either may be the narrower."""
    narrow, broad = wide(0, 3), wide(0, 1e5)
    ties = 1 / 1e5 / math.sqrt(2 * math.pi)
    assert nc.probability_greater(narrow, broad) == pytest.approx(0.5 - ties / 2, abs=1e-9)
    assert nc.probability_greater(broad, narrow) == pytest.approx(0.5 - ties / 2, abs=1e-9)


def test_what_is_impossible_has_probability_0_and_what_is_sure_1() -> None:
    """Counts of different tables, and a law beyond all doubles."""
    low, high = (nc.posterior(k, nc.Tabulated(np.eye(9)[k]), nc.Laplace(1)) for k in (2, 7))
    assert nc.probability_greater(low, high) == 0
    assert nc.probability_greater(high, low) == 1
    assert nc.probability_greater(low, low) == 0
    assert nc.probability_greater(wide(-(10**8), 10), wide(10**8, 10)) == 0


def test_laws_that_are_too_wide_or_none_are_refused() -> None:
    """In one line."""
    flat = wide(0, 1e9)
    with pytest.raises(ValueError, match=r"^a and b must have at most 2\*\*27 counts"):
        nc.probability_greater(flat, flat)
    with pytest.raises(ValueError, match=r"^b must be a posterior or another result .*, got 3$"):
        nc.probability_greater(flat, 3)  # type: ignore[arg-type]  # refused
