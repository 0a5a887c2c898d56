import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import noisycount as nc
from noisycount.analysis.posterior.law import shortest_interval
from noisycount.analysis.posterior.posterior import posterior
from tests.oracles.posterior import (
    assert_exact,
    beta_binomial_law,
    binomial_law,
    binomial_window,
    gaussian_likelihood,
    laplace_likelihood,
    noisy_sample_likelihood,
    reweighted,
)


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("rate", [1e-12, 0.3, 1 - 1e-12])
@pytest.mark.parametrize("scale", [0.01, 1.0, 20.0])
def test_narrow_noise_on_large_populations_is_exact(size: int, rate: float, scale: float) -> None:
    """The counts that matter lie around the answer or the mode: summed there in 50 digits."""
    centre = round(size * rate)
    answer = centre + 3 * scale
    first, last = max(0, centre - 1500), min(size, centre + 1500)
    exact = reweighted(binomial_window(size, rate, first, last), laplace_likelihood(answer, scale))
    assert_exact(posterior(answer, nc.Binomial(size, rate), nc.Laplace(scale)), exact)


def tilted_mean(size: int, rate: float, answer: int, scale: float) -> mpf:
    """The mean of eq. (11) at a far answer: a binomial whose odds are tilted by e^(±1/scale)."""
    tilt = mp.exp((1 if answer > size * rate else -1) / mpf(scale))
    return size * mpf(rate) * tilt / (1 - mpf(rate) + mpf(rate) * tilt)


@pytest.mark.parametrize("size", [10**3, 10**9, 10**12])
@pytest.mark.parametrize("rate", [1e-12, 1e-3, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("scale", [0.03, 0.04, 1.0, 1e5, 1e9])
@pytest.mark.parametrize("side", [-1, 1])
def test_answers_a_thousand_scales_away_tilt_the_rate(size: int, rate: float, scale: float, side: int) -> None:
    """Beyond the population the posterior is binomial with tilted odds: its mean in closed form."""
    answer = -1000 * scale if side < 0 else size + 1000 * scale
    told = posterior(answer, nc.Binomial(size, rate), nc.Laplace(scale))
    exact = tilted_mean(size, rate, answer, scale)
    deviation = math.sqrt(told.variance)
    assert abs(told.mean - exact) <= 1e-10 * deviation + 4 * math.ulp(float(exact))


@given(low=st.integers(-50, 450), width=st.integers(-5, 450), answer=st.integers(-300, 700))
def test_probabilities_keep_their_digits_in_the_tails(low: int, width: int, answer: int) -> None:
    """P[low <= K <= high | Y] relative to the direct sum, at any smallness."""
    fast = posterior(answer, nc.Binomial(400, 0.3), nc.DiscreteLaplace(Fraction(7, 3)))
    exact = reweighted(binomial_law(400, 0.3), laplace_likelihood(answer, 7 / 3))
    direct = float(exact.probability(low, low + width))
    assert fast.probability(low, low + width) == pytest.approx(direct, rel=1e-11, abs=1e-300)


def test_thousands_of_answers_are_as_good_as_their_mean() -> None:
    """2,500 answers with Gaussian noise of 20 are one with noise of 0.4."""
    population = nc.Binomial(40, 0.3)
    several = posterior([7.0, 9.0] * 1250, population, [nc.Gaussian(20.0)] * 2500)
    one = posterior(8.0, population, nc.Gaussian(0.4))
    assert several.mean == pytest.approx(one.mean, abs=1e-9)
    assert several.variance == pytest.approx(one.variance, rel=1e-9)


def test_an_array_without_axes_is_one_answer() -> None:
    """As a float is."""
    population, noise = nc.Binomial(5, 0.5), nc.Laplace(1)
    told = posterior(np.array(3.0), population, noise)
    assert told.mean == posterior(3.0, population, noise).mean
    assert posterior(np.array([3.0]), population, [noise]).mean == told.mean


@pytest.mark.parametrize("level", [1 - 2.0**-53, 1 - 2.0**-52, 5e-324])
def test_intervals_of_any_level_are_told(level: float) -> None:
    """A level so close to 1 that its tails vanish beside 1 gives the interval of the largest level."""
    told = nc.posterior(3.0, nc.Binomial(9, 0.4), nc.DiscreteLaplace(2))
    low, high = told.interval(level)
    assert (low, high) == ((0, 9) if level > 0.5 else (told.median, told.median))
    shares = nc.ratio(told, nc.posterior(9.0, nc.Binomial(9, 0.4), nc.Exact())).interval(level)
    assert shares == pytest.approx((low / 9, high / 9), rel=1e-12)


NARROW = [2.0**-52, 3e-16, 1e-9, 1e-3]


@pytest.mark.parametrize("scale", NARROW)
@pytest.mark.parametrize("size", [2, 11, 10**4])
@pytest.mark.parametrize("name", ["Gaussian", "Laplace"])
def test_an_answer_half_way_leaves_what_was_known_before(name: str, size: int, scale: float) -> None:
    """Likelihoods of up to e^(−10^39) that are equal cancel, however narrow the noise."""
    likelihood = {"Gaussian": gaussian_likelihood, "Laplace": laplace_likelihood}[name]
    answer, rate = size // 2 + 0.5, 0.05
    noise = getattr(nc, name)(scale)
    exact = reweighted(binomial_law(size, rate), likelihood(answer, scale))
    assert posterior(answer, nc.Binomial(size, rate), noise).mean == pytest.approx(float(exact.mean), rel=1e-12)
    exact = reweighted(beta_binomial_law(size, 1.5, 7), likelihood(answer, scale))
    assert posterior(answer, nc.BetaBinomial(size, 1.5, 7), noise).mean == pytest.approx(float(exact.mean), rel=1e-12)


@pytest.mark.parametrize("scale", NARROW)
@pytest.mark.parametrize("answers", [(1, 2), (0, 5), (-10, 11), (3, 3 + 10**9)])
@pytest.mark.parametrize("table", [False, True])
def test_answers_that_contradict_each_other_leave_what_was_known_between_them(
    *, answers: tuple[int, int], scale: float, table: bool
) -> None:
    """Of two answers of one narrow noise the counts half way are equally likely."""
    prior = binomial_law(12, 0.05)
    chances = [float(prior.pmf(count)) for count in range(13)]
    population = nc.Tabulated(chances) if table else nc.Binomial(12, 0.05)
    exact = prior
    for answer in answers:
        exact = reweighted(exact, gaussian_likelihood(answer, scale))
    told = posterior(list(answers), population, [nc.DiscreteGaussian(scale)] * 2)
    assert told.mean == pytest.approx(float(exact.mean), rel=1e-12)


def test_a_wide_noise_tells_two_counts_apart_that_a_narrow_one_leaves() -> None:
    """The narrow one says nothing about 0 or 1, so that the wide one keeps its digits."""
    rate = 0.9999999999999999
    exact = reweighted(binomial_law(1, rate), gaussian_likelihood(-4.0, 1.0))
    noises = [nc.Laplace(2.0**-52), nc.DiscreteGaussian(1.0)]
    told = posterior([0.5, -4.0], nc.Binomial(1, rate), noises)
    assert told.pmf(0.0) == pytest.approx(float(exact.pmf(0)), rel=1e-12)


@pytest.mark.parametrize("scale", NARROW)
@pytest.mark.parametrize("answer", [-1, 1, 4])
@pytest.mark.parametrize("sample_size", [1, 3, 11])
def test_noise_that_all_but_excludes_a_sample_leaves_what_was_known(
    sample_size: int, answer: int, scale: float
) -> None:
    """Of an answer above or below every sample the nearest sample is certain."""
    noise = nc.DiscreteGaussian(scale)
    sampled = noisy_sample_likelihood(gaussian_likelihood(answer, scale), sample_size, 11)
    exact = reweighted(binomial_law(11, 0.05), sampled)
    told = posterior(answer, nc.Binomial(11, 0.05), nc.Subsample(sample_size, noise))
    assert told.mean == pytest.approx(float(exact.mean), rel=1e-12)
    both = posterior([answer, 0], nc.Binomial(11, 0.05), [nc.Subsample(sample_size, noise), nc.Subsample(1)])
    without = reweighted(exact, noisy_sample_likelihood(lambda found: arb(found == 0), 1, 11))
    assert both.mean == pytest.approx(float(without.mean), rel=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("answer", [-30.0, 0.0, 3.0, 40.0, 99.0])
def test_the_shortest_interval_is_that_of_brute_force(answer: float, level: float) -> None:
    """No shorter one holds the level, of equally short ones it is the most probable, and it has the mode."""
    law = nc.posterior(answer, nc.BetaBinomial(100, 1, 1), nc.Laplace(20)).law
    low, high = shortest_interval(law, level)
    masses = law.pmf(np.arange(101.0))
    held = {(i, j): masses[i : j + 1].sum() for i in range(101) for j in range(i, 101)}
    width = min(j - i for (i, j), mass in held.items() if mass >= level - 1e-12)
    assert high - low == width
    assert held[low, high] == pytest.approx(max(mass for (i, j), mass in held.items() if j - i == width), rel=1e-12)
    assert low <= law.mode <= high
