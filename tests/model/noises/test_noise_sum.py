from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import noisycount as nc
from noisycount.model.laws.factors import LogRatio
from noisycount.model.noises.gaussian import GaussianLikelihood
from tests.oracles.convolution import DISCRETE, density


def test_a_narrow_law_is_even_at_its_steps() -> None:
    """The answer half way between two counts tells nothing about which of them it is."""
    likelihood = nc.NoiseSum([nc.Laplace(3.0), nc.Laplace(4.0)]).likelihood(10.5, 100)
    assert likelihood.log_ratio_to_next(10) == 0
    assert likelihood.exact_log_ratio_to_next(10) == LogRatio()
    assert likelihood.log_ratio_to_next(3) == -likelihood.log_ratio_to_next(17) > 0


@pytest.mark.thorough
@pytest.mark.parametrize("noises", [DISCRETE[0], DISCRETE[6], [nc.Laplace(2.0), nc.Gaussian(3.0)]], ids=str)
def test_factors_are_differences_of_the_law(noises: list[nc.Mechanism]) -> None:
    """The expansions and steps of the likelihood and of both tails, around any count."""
    noise = nc.NoiseSum(noises)
    answer = 12.0 if noise.is_discrete else 12.25
    cases = [
        (noise.likelihood(answer, 40), lambda count: noise.log_density(answer - count)),
        (noise.tail(answer, 40, upper=True), lambda count: noise.log_exceedance(answer - count)),
        (noise.tail(answer, 40, upper=False), lambda count: noise.log_exceedance(count - answer)),
    ]
    offsets = np.arange(-3.0, 12.0)
    for factor, exact in cases:
        expected = [exact(9 + offset) - exact(9) for offset in offsets]
        assert factor.expansion(9)(offsets) == pytest.approx(expected, abs=1e-12)
        assert factor.expansion(9)(offsets[4]) == pytest.approx(expected[4], abs=1e-12)
        assert factor.log_ratio_to_next(9) == pytest.approx(expected[4], abs=1e-12)
        assert float(factor.exact_log_ratio_to_next(9).shift) == factor.log_ratio_to_next(9)
        assert factor.is_log_concave
        assert factor.support == (-np.inf, np.inf)


def brute_posterior(noises: list[nc.Mechanism], answer: int) -> tuple[mpf, mpf]:
    """The posterior mean and variance of Bin(60, 0.4) by a direct sum."""
    reach, size, rate = 300, 60, mpf(0.4)
    first, second = ([law(mpf(k)) for k in range(-2 * reach, 2 * reach + 1)] for law in map(density, noises))

    def convolution(error: int) -> mpf:
        places = range(-reach, reach + 1)
        return mp.fsum(first[2 * reach + k] * second[2 * reach + error - k] for k in places)

    weights = [
        mp.binomial(size, k) * rate**k * (1 - rate) ** (size - k) * convolution(answer - k) for k in range(size + 1)
    ]
    total = mp.fsum(weights)
    mean = mp.fsum(k * weight for k, weight in enumerate(weights)) / total
    return mean, mp.fsum((k - mean) ** 2 * weight for k, weight in enumerate(weights)) / total


@pytest.mark.few(0)
@pytest.mark.parametrize("answer", [-20, 31])
@pytest.mark.parametrize(
    "noises", [[nc.DiscreteLaplace(3), nc.DiscreteLaplace(5)], [nc.DiscreteLaplace(6), nc.DiscreteGaussian(2)]], ids=str
)
def test_the_posterior_is_that_of_the_convolution(noises: list[nc.Mechanism], answer: int) -> None:
    """Mean and variance against a direct sum."""
    told = nc.Binomial(60, 0.4).law(nc.NoiseSum(noises).likelihood(answer, 60))
    mean, variance = brute_posterior(noises, answer)
    assert told.mean == pytest.approx(float(mean), rel=1e-12, abs=1e-11)
    assert told.variance == pytest.approx(float(variance), rel=1e-10)


@pytest.mark.thorough
@pytest.mark.parametrize("answer", [-(10**6), 300_001.5])
@pytest.mark.parametrize(
    "noises",
    [
        [nc.DiscreteLaplace(20), nc.DiscreteLaplace(3000)],
        [nc.DiscreteLaplace(3000), nc.DiscreteGaussian(2)],
        [nc.Laplace(10.0), nc.Gaussian(700.0), nc.Laplace(5000.0)],
    ],
    ids=str,
)
def test_wide_posteriors_need_few_points(noises: list[nc.Mechanism], answer: float) -> None:
    """The sum over blocks of counts equals the sum over a million single counts."""
    noise = nc.NoiseSum(noises)
    asked = float(round(answer)) if noise.is_discrete else answer
    factor, population = noise.likelihood(asked, 10**6), nc.Binomial(10**6, 0.3)
    told = population.law(factor)
    counts = np.arange(295_000.0, 305_001.0)
    logs = population.law().log_pmf(counts) + factor.expansion(300_000)(counts - 300_000)
    weights = np.exp(logs - logs.max())
    mean = (weights @ (counts - 300_000)) / weights.sum() + 300_000
    assert told.mean == pytest.approx(mean, abs=1e-8)
    assert told.variance == pytest.approx((weights @ (counts - mean) ** 2) / weights.sum(), rel=1e-9)


@pytest.mark.parametrize(
    "noises",
    [
        [nc.DiscreteLaplace(3), nc.DiscreteLaplace(5)],
        [nc.DiscreteLaplace(5), nc.DiscreteGaussian(2)],
        [nc.Laplace(5.0), nc.Gaussian(3.0), nc.Laplace(1.0)],
    ],
    ids=str,
)
def test_answers_far_below_all_counts_tilt_the_prior(noises: list[nc.Mechanism]) -> None:
    """By e^(−k/b) of the widest noise: a binomial law again, to all digits at any distance."""
    size, rate = 10**15, 0.3
    told = nc.Binomial(size, rate).law(nc.NoiseSum(noises).likelihood(0, size))
    tilted = mpf(rate) * mp.exp(mpf(-1) / 5)
    tilted /= 1 - mpf(rate) + tilted
    deviation = mp.sqrt(size * tilted * (1 - tilted))
    assert abs(told.mean - size * tilted) < 1e-8 * deviation
    assert abs(told.mode - size * tilted) <= 2
    assert told.variance == pytest.approx(float(deviation**2), rel=1e-9)


def test_wide_discrete_gaussian_noises_are_one_gaussian_noise() -> None:
    """The lattice leaves no trace, and an answer far off loses no digits."""
    sum_of_two = nc.NoiseSum([nc.DiscreteGaussian(3), nc.DiscreteGaussian(4)])
    likelihood = sum_of_two.likelihood(-(10**9), 100)
    assert isinstance(likelihood, GaussianLikelihood)
    assert float(likelihood.scale) == 5
    assert not isinstance(
        nc.NoiseSum([nc.DiscreteGaussian(1), nc.DiscreteGaussian(4)]).likelihood(0, 9), GaussianLikelihood
    )


def test_one_noise_is_that_noise() -> None:
    """A sum of one noise hands everything on."""
    noise = nc.Laplace(3.0)
    assert nc.NoiseSum([noise]).likelihood(4.0, 10) == noise.likelihood(4.0, 10)
    upper, exact = (law.tail(4.0, 10, upper=True) for law in (nc.NoiseSum([noise]), noise))
    assert upper.log_ratio_to_next(2) == exact.log_ratio_to_next(2)


def test_gaussian_noises_are_one_gaussian_noise() -> None:
    """Of the exact variance, to 60 digits."""
    likelihood = nc.NoiseSum([nc.Gaussian(0.1), nc.Gaussian(0.7)]).likelihood(4.0, 10)
    assert isinstance(likelihood, GaussianLikelihood)
    variance = Fraction(0.1) ** 2 + Fraction(0.7) ** 2
    assert abs(likelihood.scale**2 / variance - 1) < Fraction(1, 10**58)


def test_sums_of_sums_are_flat() -> None:
    """The noises of a sum stand in its place."""
    inner = nc.NoiseSum([nc.Laplace(1.0), nc.Gaussian(2.0)])
    assert nc.NoiseSum([nc.Laplace(3.0), inner]) == nc.NoiseSum([nc.Laplace(3.0), nc.Laplace(1.0), nc.Gaussian(2.0)])


@pytest.mark.parametrize("noises", [DISCRETE[2], [nc.Laplace(2.0), nc.Gaussian(3.0)]], ids=str)
def test_releases_have_the_variance_of_the_sum(noises: list[nc.Mechanism]) -> None:
    """The mean square of 2,000 errors lies within six of its standard errors.

    Of a sum of Laplace noises, the fourth moment is at most six squared variances; by the normal approximation a right
    sampler fails once in a billion runs.
    """
    noise = nc.NoiseSum(noises)
    answers = [noise.release(100) for _ in range(2000)]
    assert {type(answer) for answer in answers} == {int if noise.is_discrete else float}
    square = float(np.mean([(answer - 100) ** 2 for answer in answers]))
    assert square == pytest.approx(noise.variance, rel=6 * (5 / 2000) ** 0.5)
