"""The definitions, summed term by term in 50 digits: what every fast path is compared with."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from mpmath import mp, mpf

from noisycount.analysis.posterior.posterior import Posterior

mp.dps = 50

_EQUAL = 1 - mpf(10) ** -45  # sums whose ratio is nearer to 1 differ by rounding alone


@dataclass(frozen=True)
class Law:
    """A law on consecutive counts from `first`, as unnormalised weights."""

    first: int
    weights: list[mpf]

    @property
    def counts(self) -> range:
        """The counts of the weights."""
        return range(self.first, self.first + len(self.weights))

    @property
    def total(self) -> mpf:
        """The sum of the weights."""
        return mp.fsum(self.weights)

    @property
    def mean(self) -> mpf:
        """The expected count."""
        pairs = zip(self.counts, self.weights, strict=True)
        return mp.fsum(count * weight for count, weight in pairs) / self.total

    @property
    def variance(self) -> mpf:
        """The variance of the count."""
        mean = self.mean
        pairs = zip(self.counts, self.weights, strict=True)
        return mp.fsum((count - mean) ** 2 * weight for count, weight in pairs) / self.total

    @property
    def mode(self) -> int:
        """The smallest count of the largest weight."""
        least = max(self.weights) * _EQUAL
        return next(k for k, w in zip(self.counts, self.weights, strict=True) if w >= least)

    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level."""
        goal, so_far = mpf(level) * self.total * _EQUAL, mpf(0)
        for count, weight in zip(self.counts, self.weights, strict=True):
            so_far += weight
            if so_far >= goal:
                return count
        return self.counts[-1]

    def pmf(self, count: int) -> mpf:
        """P[K = count]."""
        return self.probability(count, count)

    def probability(self, low: float, high: float) -> mpf:
        """P[low <= K <= high]."""
        pairs = zip(self.counts, self.weights, strict=True)
        return mp.fsum(w for count, w in pairs if low <= count <= high) / self.total


def assert_exact(fast: Posterior, exact: Law) -> None:
    """Mean within 1e-10 standard deviations and 4 ulp, variance within 1e-9, the rest equal.

    A variance below 1e-90 is the sum's own rounding. Where two counts are as likely as each other
    within 1e-12, or a quantile's level is reached within 2e-14, either count will do.
    """
    mean, variance = exact.mean, exact.variance
    ulp = math.ulp(float(mean))
    assert abs(fast.mean - mean) <= mpf("1e-10") * mp.sqrt(variance) + 4 * ulp
    assert abs(fast.variance - variance) <= mpf("1e-9") * variance + mpf("1e-90")
    assert exact.pmf(fast.mode) >= exact.pmf(exact.mode) * (1 - mpf("1e-12"))
    tail = (1 - 0.95) / 2
    found = zip((fast.median, *fast.interval(0.95)), (0.5, tail, 1 - tail), strict=True)
    for count, level in found:
        assert exact.probability(-mp.inf, count) >= level * (1 - mpf("2e-14"))
        assert exact.probability(-mp.inf, count - 1) < level


def binomial_law(size: int, rate: float, first: int = 0, last: int | None = None) -> Law:
    """The binomial law on first..last; its tails beyond are left out."""
    p = mpf(rate)
    counts = range(first, (size if last is None else last) + 1)
    return Law(first, [mp.binomial(size, k) * p**k * (1 - p) ** (size - k) for k in counts])


def law_by_ratios(first: int, last: int, ratio: Callable[[int], mpf]) -> Law:
    """The law on first..last whose weight at k + 1 is ratio(k) times that at k."""
    return Law(first, list(accumulate(map(ratio, range(first, last)), mul, initial=mpf(1))))


def binomial_window(size: int, rate: float, first: int, last: int) -> Law:
    """The binomial law on first..last, of any size, by the ratios of its probabilities."""
    odds = mpf(rate) / (1 - mpf(rate))
    return law_by_ratios(first, last, lambda k: odds * (size - k) / (k + 1))


def binomial_log_pmf(size: int, rate: mpf, count: int) -> mpf:
    """The logarithm of P[K = count] for K ~ Bin(size, rate), of any size."""
    ways = mp.loggamma(size + 1) - mp.loggamma(count + 1) - mp.loggamma(size - count + 1)
    return ways + count * mp.log(rate) + (size - count) * mp.log1p(-rate)


def beta_binomial_law(
    size: int, alpha: float, beta: float, first: int = 0, last: int | None = None
) -> Law:
    """The beta-binomial law on first..last, by the ratios of its probabilities."""

    def ratio(count: int) -> mpf:
        rising = (count + mpf(alpha)) * (size - count)
        return rising / ((count + 1) * (size - count - 1 + mpf(beta)))

    return law_by_ratios(first, size if last is None else last, ratio)


def strata_law(sizes: Sequence[int], rates: Sequence[float]) -> Law:
    """The law of a sum of independent binomial counts, one record after the other."""
    weights = [mpf(1)]
    for size, rate in zip(sizes, rates, strict=True):
        no, yes = 1 - mpf(rate), mpf(rate)
        for _ in range(size):
            pairs = zip([*weights, mpf(0)], [mpf(0), *weights], strict=True)
            weights = [no * same + yes * one_less for same, one_less in pairs]
    return Law(0, weights)


def reweighted(law: Law, likelihood: Callable[[int], mpf]) -> Law:
    """The law times a likelihood of each count."""
    pairs = zip(law.counts, law.weights, strict=True)
    return Law(law.first, [weight * likelihood(count) for count, weight in pairs])


def laplace_likelihood(answer: float, scale: float) -> Callable[[int], mpf]:
    """The Laplace likelihood e^(−|answer − k|/scale) of each count."""
    return lambda count: mp.exp(-abs(mpf(answer) - count) / mpf(scale))


def gaussian_likelihood(answer: float, scale: float) -> Callable[[int], mpf]:
    """The Gaussian likelihood e^(−(answer − k)²/(2·scale²)) of each count."""
    return lambda count: mp.exp(-(((mpf(answer) - count) / mpf(scale)) ** 2) / 2)


def sample_likelihood(positives: int, sample_size: int, size: int) -> Callable[[int], mpf]:
    """The likelihood C(k, s)·C(n − k, m − s) of each count k of positives in a sample."""
    negatives = sample_size - positives
    return lambda count: mp.binomial(count, positives) * mp.binomial(size - count, negatives)


def noisy_sample_likelihood(
    noise: Callable[[int], mpf], sample_size: int, size: int
) -> Callable[[int], mpf]:
    """The likelihood of each count when the noise is added to the positives in a sample."""
    drawn = range(sample_size + 1)
    terms = [(sample_likelihood(found, sample_size, size), noise(found)) for found in drawn]
    return lambda count: mp.fsum(sample(count) * weight for sample, weight in terms)


def exact_likelihood(answer: int) -> Callable[[int], mpf]:
    """The likelihood of each count when the answer is the count."""
    return lambda count: mpf(count == answer)
