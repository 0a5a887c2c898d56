"""Posteriors of two counts: difference, ratio, the greater one, and functions of a single count.

Tests of `analysis/ratio.py` and `analysis/unbiased.py`.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from mpmath import erfc, mp, mpf

import noisycount as nc
from noisycount.analysis import difference as room
from noisycount.analysis.difference import convolve_sequences
from noisycount.model.laws.count_law import CountDistribution


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 2000), (513, 1025), (1024, 512)])
def test_blocks_give_the_sums_of_products(first: int, second: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is left of the last block, over 600 orders of magnitude."""
    monkeypatch.setattr(room, "_SHORT", 0)
    generator = np.random.default_rng(5)
    one, other = (10 ** generator.uniform(-150, 0, size) for size in (first, second))
    np.testing.assert_allclose(convolve_sequences(one, other), np.convolve(one, other), rtol=1e-13)


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
        upto, before = (pairs(a.law, b.law, lambda x, y, d=d: x - y <= d) for d in (found, found - 1))
        assert before < level <= upto + mp.mpf(1e-12)
    assert law.interval(0.95) == (int(law.ppf(0.025)), int(law.ppf(0.975)))


@pytest.mark.parametrize(("scale", "times"), [(800, 1), (1e4, 3), (1e6, 2)])
def test_wide_smooth_laws_are_summed_with_a_stride(scale: float, times: float) -> None:
    """The difference of two Gaussian posteriors is Gaussian; it agrees with what compares them."""
    flat = nc.BetaBinomial(10**9, 1, 1)
    a, b = (nc.posterior(3e8, flat, nc.Gaussian(scale)), nc.posterior(3e8 + scale, flat, nc.Gaussian(scale * times)))
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
    with pytest.raises(ValueError, match=r"^a and b must be smooth .*: probability_greater\(a, b\)"):
        nc.difference(told, told)


def test_a_difference_shows_itself() -> None:
    """As every result."""
    shown = nc.difference(A, C)
    assert repr(shown).startswith("Difference(mean=")
    assert list(shown.to_dict()) == ["type", "mean", "median", "mode", "std", "interval", "level"]
    assert nc.difference(shown, C).mean == pytest.approx(A.mean - 2 * C.mean)


SHORT = {
    "binomial": nc.posterior(14.2, nc.Binomial(60, 0.3), nc.Laplace(4)),
    "beta": nc.posterior(22, nc.BetaBinomial(45, 0.5, 0.5), nc.DiscreteLaplace(2)),
    "table": nc.posterior(3, nc.Tabulated([0.2, 0, 0.3, 0.5, 0]), nc.Gaussian(2)),
    "far": nc.posterior(58, nc.Binomial(60, 0.9), nc.Laplace(0.4)),
    "low": nc.posterior(1, nc.Binomial(60, 0.01), nc.Laplace(0.4)),
}


@pytest.mark.parametrize("a", SHORT)
@pytest.mark.parametrize("b", SHORT)
def test_the_probability_is_the_sum_over_all_pairs(a: str, b: str) -> None:
    """Strictly greater, to 1e-11 of itself, however small."""
    exact = pairs(SHORT[a].law, SHORT[b].law, lambda x, y: x > y)
    found = nc.probability_greater(SHORT[a], SHORT[b])
    assert abs(found - exact) <= 1e-11 * exact + 1e-300


def wide(answer: float, scale: float, noise: type[nc.Gaussian | nc.Laplace] = nc.Gaussian) -> nc.Posterior:
    """A count among a billion after one answer, on which little was known."""
    return nc.posterior(3e8 + answer, nc.BetaBinomial(10**9, 1, 1), noise(scale))


@pytest.mark.parametrize("scale", [2000, 3e4, 1e6])
@pytest.mark.parametrize(("shift", "times"), [(1, 1), (-2, 3), (25, 1)])
def test_wide_gaussian_laws_compare_as_the_normal_integral(scale: float, shift: float, times: float) -> None:
    """P[A > B] less half of the ties is that of the continuous laws, to their second order."""
    a, b = wide(0, scale), wide(shift * scale, scale * times)
    spread = scale * math.hypot(1, times)
    normal = float(erfc(shift * scale / spread / math.sqrt(2)) / 2)
    ties = math.exp(-((shift * scale / spread) ** 2) / 2) / spread / math.sqrt(2 * math.pi)
    assert nc.probability_greater(a, b) + ties / 2 == pytest.approx(normal, rel=30 / scale**2 + 1e-9)


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


def chances(law: CountDistribution) -> dict[int, mpf]:
    """The probabilities of a short law, in the digits of their logarithms."""
    low, high = law.support
    logs = law.log_pmf(np.arange(low, high + 1))
    return {low + place: mp.exp(mpf(float(log))) for place, log in enumerate(logs)}


def pairs(a: CountDistribution, b: CountDistribution, holds: Callable[[int, int], bool]) -> mpf:
    """The probability of all pairs of independent counts of which something holds."""
    ours, theirs = chances(a), chances(b)
    with mp.workdps(50):
        return mp.fsum(p * q for x, p in ours.items() for y, q in theirs.items() if holds(x, y))


DENOMINATOR = nc.posterior(4, nc.BetaBinomial(35, 0.5, 0.5), nc.DiscreteLaplace(2))
VALUES = [Fraction(0), Fraction(1, 3), Fraction(7, 5), Fraction(2), Fraction(29, 10), Fraction(40)]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_the_law_of_a_ratio_is_that_of_all_pairs(value: Fraction) -> None:
    """P[A <= x·B and B > 0], at ratios that counts have too; a count over 0 is infinite."""
    law = nc.ratio(A, DENOMINATOR)
    exact = pairs(A.law, DENOMINATOR.law, lambda x, y: y > 0 and x <= value * y)
    assert law.cdf(float(value)) == pytest.approx(float(exact), rel=1e-12, abs=1e-15)
    between = pairs(A.law, DENOMINATOR.law, lambda x, y: y > 0 and value * y <= x <= 3 * y)
    assert law.probability(float(value), 3) == pytest.approx(float(between), rel=1e-9, abs=1e-12)


def test_quantiles_are_the_ratios_that_reach_their_levels() -> None:
    """The smallest ratio of two counts with so much probability up to it."""
    law = nc.ratio(A, DENOMINATOR)
    places = sorted({Fraction(x, y) for x in range(41) for y in range(1, 36)})
    for level in (0.025, 0.3, 0.5, 0.8):
        exact = next(at for at in places if law.cdf(float(at)) >= level)
        assert law.quantile(level) == pytest.approx(float(exact), rel=1e-11)
    assert law.median == law.quantile(0.5)
    assert law.interval(0.4) == (law.quantile(0.3), law.quantile(0.7))


def test_a_denominator_of_0_is_told() -> None:
    """Its probability lies at infinity, beyond every number, where quantiles may be."""
    law = nc.ratio(A, DENOMINATOR)
    assert law.infinite == pytest.approx(DENOMINATOR.probability(0, 0))
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
    with pytest.raises(ValueError, match=r"^a must not be negative, got a distribution from -\d+ on$"):
        nc.ratio(nc.difference(A, DENOMINATOR), DENOMINATOR)
    broad = nc.posterior(3e8, nc.BetaBinomial(10**9, 1, 1), nc.Gaussian(1e6))
    with pytest.raises(ValueError, match=r"^b must have at most 2\*\*21 counts that are not negligible, got"):
        nc.ratio(A, broad)


FUNCTIONS: list[Callable[..., object]] = [
    lambda k: k,
    lambda k: k * k,
    abs,
    lambda k: (k > 4) * 1,
    lambda k: k**3 - 7 * k,
]


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
