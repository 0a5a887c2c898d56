"""Posteriors beside the draws of NumPy, and beside the direct sum of eq. (11) in NumPy."""

import math
from collections.abc import Callable
from itertools import count

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy
from scipy.stats import norm

from benchmarks.comparison import Comparison, Run, Show, medians, seconds, sized
from noisycount.analysis.posterior.posterior import posterior
from noisycount.analysis.posterior.refine import refine
from noisycount.analysis.tables.table_posterior import table_posterior
from noisycount.model.noises.discrete_gaussian import DiscreteGaussian
from noisycount.model.noises.laplace import DiscreteLaplace, Laplace
from noisycount.model.noises.noise_sum import NoiseSum
from noisycount.model.populations.binomial import BetaBinomial, Binomial
from noisycount.model.populations.strata import Strata
from noisycount.model.tables.splits import Splits
from noisycount.model.tables.tree import Tree

ROUNDS = 7
ANSWERS = sized(10**7, 1000)
RATE = 0.3
SCALE = 10.0
REPEATS = sized(200, 1)
WINDOW = 10  # standard deviations on each side, in the direct sum of a single posterior

Reals = NDArray[np.float64]


def log_prior(size: int, counts: Reals) -> Reals:
    """The logarithm of the binomial probabilities, up to a constant."""
    ways = -gammaln(counts + 1) - gammaln(size - counts + 1)
    chances: Reals = ways + xlogy(counts, RATE) + xlog1py(size - counts, -RATE)
    return chances


def weighted_mean(answer: float, counts: Reals, logs: Reals) -> float:
    """The two sums of eq. (11) over the counts, from the logarithms of the prior."""
    weights = np.exp(logs - np.abs(answer - counts) / SCALE)
    return float(weights @ counts) / float(weights.sum())


def direct_mean(size: int, answer: float, counts: Reals) -> float:
    """Eq. (11) as it stands: the prior, the noise, two sums."""
    logs = log_prior(size, counts)
    return weighted_mean(answer, counts, logs - logs.max())


def directly(size: int, answers: Reals, *, prior_is_ready: bool) -> Run:
    """The time of one value of eq. (11) summed over all counts.

    Above a million counts the time of a million is scaled up: the sum is as long as the size.
    """
    terms = min(size, 10**6)
    counts = max(0, round(size * RATE) - terms // 2) + np.arange(terms + 1, dtype=np.float64)
    logs = log_prior(size, counts)
    logs -= logs.max()

    def summed() -> None:
        for answer in answers.tolist():
            if prior_is_ready:
                weighted_mean(answer, counts, logs)
            else:
                direct_mean(size, answer, counts)

    return lambda: seconds(summed) / answers.size * (size / terms)


def windowed_mean(size: int, answer: float) -> float:
    """The direct sum over the counts within ten standard deviations of the prior."""
    middle, reach = round(size * RATE), round(WINDOW * math.sqrt(size * RATE * (1 - RATE)))
    counts = np.arange(middle - reach, middle + reach + 1, dtype=np.float64)
    return direct_mean(size, answer, counts)


def each(times: int, action: Callable[[], object]) -> Run:
    """The time of one action among several."""

    def repeated() -> None:
        for _ in range(times):
            action()

    return lambda: seconds(repeated) / times


@pytest.mark.parametrize("size", [10**3, 10**6, 10**9])
def test_refining_takes_less_time_than_drawing_the_noise(show: Show, size: int) -> None:
    """Ten million answers, beside ten million draws of NumPy; a value, beside the direct sum."""
    generator, population, noise = np.random.default_rng(1), Binomial(size, RATE), Laplace(SCALE)
    answers = generator.binomial(size, RATE, ANSWERS) + generator.laplace(0, SCALE, ANSWERS)
    few = answers[: 300 if size <= 10**6 else 3]
    ours, drawn, summed, prepared = medians(
        ROUNDS,
        lambda: seconds(lambda: refine(answers, population, noise)),
        lambda: seconds(lambda: generator.laplace(0, SCALE, ANSWERS)),
        directly(size, few, prior_is_ready=False),
        directly(size, few, prior_is_ready=True),
    )
    value, exponent = ours / ANSWERS, round(math.log10(size))
    beside_draws = Comparison(f"refine 1e7, n = 1e{exponent}", ours, "NumPy laplace", drawn, 0.6 * drawn)
    name = f"refined value, n = 1e{exponent}"
    beside_sum = Comparison(name, value, "eq. (11) in NumPy", summed, summed / 1000)
    show(beside_draws)
    show(beside_sum)
    show(Comparison(name, value, "eq. (11), prior ready", prepared))
    assert beside_draws.kept
    assert beside_sum.kept


def test_a_posterior_mean_of_1e12_records_takes_at_most_1_ms(show: Show) -> None:
    """Beside the direct sum over ten standard deviations of the prior on each side."""
    size = 10**12
    answer = size * RATE + 12_345.6
    ours, direct = medians(
        ROUNDS,
        each(REPEATS, lambda: posterior(answer, Binomial(size, RATE), Laplace(SCALE)).mean),
        lambda: seconds(lambda: windowed_mean(size, answer)),
    )
    found = Comparison("posterior mean, n = 1e12", ours, "direct sum, ±10 sd", direct, 1e-3)
    show(found)
    assert found.kept


FRESH_SCALES = (10 + number / 2**16 for number in count(1))  # about 10, and none that an earlier posterior had
POSTERIORS: dict[str, Callable[[float], object]] = {
    "one answer": lambda scale: posterior(100_123.4, Binomial(10**6, 0.1), Laplace(scale)).mean,
    "two answers": lambda scale: posterior([100_123.4, 99_990.2], Binomial(10**6, 0.1), [Laplace(scale)] * 2).mean,
    "strata": lambda scale: posterior(100_123.4, Strata([500_000] * 2, [0.05, 0.15]), Laplace(scale)).mean,
    "beta-binomial": lambda scale: posterior(100_123.4, BetaBinomial(10**6, 3, 27), Laplace(scale)).mean,
}


@pytest.mark.parametrize("name", POSTERIORS)
def test_a_posterior_mean_with_new_noise_takes_at_most_800_us(show: Show, name: str) -> None:
    """A million records, beside the direct sum over ten standard deviations of a binomial prior on each side."""
    size = 10**6
    ours, direct = medians(
        ROUNDS,
        each(REPEATS, lambda: POSTERIORS[name](next(FRESH_SCALES))),
        each(REPEATS, lambda: windowed_mean(size, size * RATE + 123.4)),
    )
    found = Comparison(f"posterior mean, new noise, {name}", ours, "direct sum, ±10 sd", direct, 8e-4)
    show(found)
    assert found.kept


def test_a_flat_table_of_20_cells_takes_at_most_3_ms(show: Show) -> None:
    """With a stated prior and a total; each noise is new; beside draws of NumPy."""
    generator = np.random.default_rng(1)
    answers = generator.multinomial(20_000, generator.dirichlet(np.ones(20))) + generator.integers(-20, 21, 20)

    def refined() -> None:
        noise = DiscreteLaplace(next(FRESH_SCALES))
        assert table_posterior(answers, noise, Tree.flat(20), 20_000, Splits(0.5)).mean.size == 20

    ours, drawn = medians(
        ROUNDS, each(sized(20, 1), refined), lambda: seconds(lambda: generator.laplace(0, SCALE, 10**6))
    )
    found = Comparison("flat table, 20 cells, stated prior", ours, "NumPy, 1e6 draws", drawn, 3e-3)
    show(found)
    assert found.kept


CENSUS = NoiseSum([DiscreteGaussian(math.sqrt(32.26))] * 2)  # of men, and of women, in a county


def all_counts_interval(answers: tuple[int, int], size: int) -> tuple[int, int]:
    """The interval from two answers with normal noise and a flat prior, over all counts."""
    counts = np.arange(size + 1)
    logs = sum(norm.logpdf(answer - counts, scale=math.sqrt(2 * 32.26)) for answer in answers)
    below = np.cumsum(np.exp(logs - np.max(logs)))
    low, high = np.searchsorted(below, [0.025 * below[-1], 0.975 * below[-1]])
    return int(low), int(high)


@pytest.mark.parametrize("size", [29_277, 10**7, 10**9])
def test_two_answers_of_the_census_take_milliseconds_at_any_size(show: Show, size: int) -> None:
    """Interval and probability of one side, beside the sum over all counts in SciPy."""
    half = size // 2
    answers = half - 19, half + 10
    summed = min(size, sized(10**7, 10**5))

    def told() -> tuple[int, int]:
        found = posterior(answers, BetaBinomial(size, 1, 1), [CENSUS, CENSUS])
        assert 0 < found.probability(half + 1, size) < 1
        return found.interval()

    if size <= summed:
        assert told() == all_counts_interval(answers, size)
    ours, direct = medians(
        3, each(5, told), lambda: seconds(lambda: all_counts_interval(answers, summed)) * (size / summed)
    )
    found = Comparison(f"two answers, n = {size:.0e}", ours, "SciPy, all counts", direct, 0.03)
    show(found)
    assert found.kept


def fourier_mean(rates: Reals, answer: float) -> float:
    """The direct sum after NumPy's transform of the characteristic function of all the records."""
    reach = math.ceil(WINDOW * math.sqrt(float(rates @ (1 - rates))))
    middle, period = round(float(rates.sum())), 2 * reach + 1
    waves = np.exp(-2j * np.pi / period * np.arange(reach + 1))
    logs = np.array([np.log1p(rates * (wave - 1)).sum() for wave in waves])
    chances = np.fft.irfft(np.exp(logs + 2j * np.pi / period * np.arange(reach + 1) * middle), period)
    counts = middle + np.fft.fftshift(np.fft.fftfreq(period, 1 / period))
    weights = np.maximum(np.fft.fftshift(chances), 0) * np.exp(-np.abs(answer - counts) / SCALE)
    return float(weights @ counts) / float(weights.sum())


def test_groups_of_1e5_unequal_records_take_at_most_1_s(show: Show) -> None:
    """The posterior mean, and the law before any answer, of a Poisson-binomial count."""
    rates = np.random.default_rng(1).random(sized(10**5, 10**3))
    strata, answer = Strata(np.ones_like(rates), rates), float(rates.sum()) + 12.3
    expected = posterior(answer, strata, Laplace(SCALE)).mean
    assert fourier_mean(rates, answer) == pytest.approx(expected, rel=1e-9)
    told, law, direct = medians(
        3,
        lambda: seconds(lambda: posterior(answer, strata, Laplace(SCALE)).mean),
        lambda: seconds(lambda: strata.law().mean),
        lambda: seconds(lambda: fourier_mean(rates, answer)),
    )
    for name, ours in (("posterior mean", told), ("law", law)):
        found = Comparison(f"{name}, 1e5 unequal records", ours, "NumPy FFT", direct, 1.0)
        show(found)
        assert found.kept
