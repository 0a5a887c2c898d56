import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import noisycount as nc
from noisycount.model.noises.additive import AdditiveNoise
from noisycount.model.subsampling import NoisySampleLikelihood

DRAWS = 3000
FALSE_ALARM = 1e-6
LEVELS = (0.5, (1 - 0.95) / 2, 1 - (1 - 0.95) / 2)
SAMPLES = [(1, 0), (1, 1), (10, 3), (10**5, 30_123), (10**6 - 3, 300_000)]


def assert_moments(told: nc.Posterior, mean: float, variance: float) -> None:
    """Mean within 1e-10 standard deviations and 4 ulp, variance within 1e-9."""
    assert abs(told.mean - mean) <= 1e-10 * math.sqrt(variance) + 4 * math.ulp(mean)
    assert told.variance == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("size", [10**6, 10**9, 10**12])
@pytest.mark.parametrize(("sample_size", "answer"), SAMPLES)
@pytest.mark.parametrize("rate", [1e-4, 0.3, 0.999])
def test_a_sample_tells_only_about_itself_if_the_rate_is_known(
    size: int, sample_size: int, answer: int, rate: float
) -> None:
    """The other records of a `Binomial` stay as they were: mean and variance in closed form."""
    told = nc.posterior(answer, nc.Binomial(size, rate), nc.Subsample(sample_size))
    others = size - sample_size
    assert_moments(told, answer + others * rate, others * rate * (1 - rate))


@pytest.mark.parametrize("size", [10**6, 10**9, 10**12])
@pytest.mark.parametrize(("sample_size", "answer"), SAMPLES)
@pytest.mark.parametrize("shapes", [(1e-6, 1e-6), (0.5, 0.5), (3.0, 7.0), (1e6, 1e6)])
def test_a_sample_sharpens_an_uncertain_rate(
    size: int, sample_size: int, answer: int, shapes: tuple[float, float]
) -> None:
    """The other records have the shapes of the sample added: mean and variance in closed form."""
    told = nc.posterior(answer, nc.BetaBinomial(size, *shapes), nc.Subsample(sample_size))
    same = nc.BetaBinomial(size, *shapes).given(sample_size, answer).law()
    others = size - sample_size
    alpha, beta = shapes[0] + answer, shapes[1] + (sample_size - answer)
    total = alpha + beta
    variance = others * alpha * beta * (total + others) / total**2 / (total + 1)
    assert_moments(told, answer + others * (alpha / total), variance)
    assert (told.median, *told.interval()) == tuple(map(same.quantile, LEVELS))


@pytest.mark.few(1)
@pytest.mark.parametrize("noise", [nc.Laplace(2.5), nc.DiscreteLaplace(3), nc.Gaussian(2.5), nc.DiscreteGaussian(0.4)])
@pytest.mark.parametrize("population", [nc.Binomial(40, 0.3), nc.BetaBinomial(40, 0.5, 0.5)])
def test_a_sample_of_all_records_leaves_the_noise(noise: nc.Mechanism, population: nc.Population) -> None:
    """Sampling everybody is no sampling."""
    told = nc.posterior(17, population, nc.Subsample(40, noise))
    same = nc.posterior(17, population, noise)
    assert told.mean == pytest.approx(same.mean, rel=1e-12)
    assert told.variance == pytest.approx(same.variance, rel=1e-11)
    assert (told.median, told.mode, told.interval()) == (same.median, same.mode, same.interval())


def test_exact_noise_on_a_sample_is_none() -> None:
    """`Subsample(m, Exact())` is `Subsample(m)`."""
    assert nc.Subsample(10, nc.Exact()) == nc.Subsample(10)


def test_releases_are_hypergeometric() -> None:
    """A real sample is drawn: chi-square over its number of positives, false alarm 1e-6."""
    drawn = Counter(nc.Subsample(6).release(7, size=15) for _ in range(DRAWS))
    law = stats.hypergeom(15, 7, 6)
    observed = [drawn[found] for found in range(7)]
    expected = DRAWS * law.pmf(range(7))
    assert sum(observed) == DRAWS
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("count", "expected"), [(0, 0), (9, 4)])
def test_a_release_about_none_or_all_records_is_certain(count: int, expected: int) -> None:
    """No sample can hold what is not there, nor miss what is everywhere."""
    assert {nc.Subsample(4).release(count, size=9) for _ in range(50)} == {expected}


def test_noise_comes_on_top_of_the_sample() -> None:
    """Integers from discrete noise, far beyond the sample where the noise is wide."""
    answers = [nc.Subsample(4, nc.DiscreteLaplace(1000)).release(5, size=9) for _ in range(50)]
    assert all(isinstance(answer, int) for answer in answers)
    assert max(map(abs, answers)) > 4


@pytest.mark.parametrize("size", [60, 61, 5000])
@pytest.mark.parametrize("scale", [Fraction(1, 50), 2, 40])
def test_a_small_sample_is_summed_like_a_large_one(size: int, scale: Fraction | float) -> None:
    """The table of a small sample has the values of the smooth laws that serve large ones."""
    noisy = nc.DiscreteGaussian(scale).likelihood(20, 60)
    likelihood = NoisySampleLikelihood(noisy, 60, size)
    counts = np.array([[0.0, 1.0, 19.0], [20.0, size // 2, size]])
    each = [likelihood._log_value(count) for count in counts.ravel().tolist()]  # noqa: SLF001
    found = likelihood.log_values(counts)
    assert found.shape == counts.shape
    assert found.ravel() == pytest.approx(np.array(each), rel=1e-12, abs=1e-11)


def test_a_small_sample_makes_no_law_for_each_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts are summed at once, however narrow the noise of the answer."""
    made: list[object] = []
    monkeypatch.setattr("noisycount.model.subsampling.smooth_law", made.append)
    told = nc.posterior(20, nc.Binomial(1000, 0.3), nc.Subsample(60, nc.DiscreteGaussian(Fraction(1, 50))))
    assert told.mean == pytest.approx(302, abs=1e-9)
    assert made == []


@pytest.mark.parametrize(("size", "sample_size"), [(20, 7), (20, 20), (100_000, 30_000)])
def test_the_likelihood_of_counts_is_hypergeometric(size: int, sample_size: int) -> None:
    """To 1e-9, and 0 where that many positives could not have been drawn."""
    answer = sample_size // 3
    counts = np.unique(np.linspace(0, size, 40).astype(int))
    exact = stats.hypergeom.logpmf(answer, size, counts, sample_size)
    found = nc.Subsample(sample_size).logpmf(answer, counts, size)
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-9)
    assert nc.Subsample(sample_size).logpmf(answer, [-1, 0.5, size + 1], size).tolist() == [-math.inf] * 3


@pytest.mark.few(1)
@pytest.mark.parametrize("noise", [nc.Laplace(5), nc.DiscreteGaussian(12)], ids=str)
def test_a_large_sample_has_the_likelihood_of_a_sum_in_50_digits(noise: AdditiveNoise) -> None:
    """Many counts use series between few sums; some of them are compared with all terms of the sum."""
    size, sample_size, answer = 40_000, 10_000, 3_000
    counts = np.arange(11_400.0, 12_600.0)
    found = NoisySampleLikelihood(noise.likelihood(answer, sample_size), sample_size, size).log_values(counts)
    for place in (0, 333, 600, 997):
        assert found[place] == pytest.approx(
            _log_likelihood(counts[place], answer, sample_size, size, noise), abs=1e-11
        )


@pytest.mark.parametrize("noise", [nc.Laplace(5), nc.DiscreteGaussian(12)], ids=str)
def test_a_small_sample_of_many_records_has_the_likelihood_of_a_sum_in_50_digits(noise: AdditiveNoise) -> None:
    """Series that are halved towards both ends of the table give the likelihood of each count of a sample."""
    size, sample_size, answer = 40_000, 40, 13
    likelihood = NoisySampleLikelihood(noise.likelihood(answer, sample_size), sample_size, size)
    found = likelihood.log_values(np.arange(size + 1.0))
    for count in (0, 1, 39, 40, 1200, 13_001, 20_000, 39_959, 39_961, 40_000):
        exact = _log_likelihood(count, answer, sample_size, size, noise)
        assert found[count] == pytest.approx(exact, abs=2e-13)


def _log_likelihood(count: float, answer: int, sample_size: int, size: int, noise: AdditiveNoise) -> float:
    """Return ln of the mean of f(answer − S)/f(0) over hypergeometric S, term by term in 50 digits."""
    positives, scale = int(count), Decimal(str(float(noise.scale)))
    with localcontext(prec=50):
        weight, total, mean = Decimal(1), Decimal(0), Decimal(0)
        for drawn in range(max(0, sample_size + positives - size), min(positives, sample_size) + 1):
            error = abs(answer - drawn) / scale
            total += weight
            mean += weight * (-error if isinstance(noise, nc.Laplace) else -error * error / 2).exp()
            weight *= Decimal((positives - drawn) * (sample_size - drawn))
            weight /= Decimal((drawn + 1) * (size - positives - sample_size + drawn + 1))
        return float((mean / total).ln())
