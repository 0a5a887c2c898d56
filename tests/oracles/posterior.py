"""The definitions, summed term by term in 80 digits: what every fast path is compared with."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import mul

from flint import arb
from mpmath import mp, mpf

from noisycount.analysis.posterior.posterior import Posterior
from tests.oracles.balls import ball, choose, dot, square, total

mp.dps = 50

_EQUAL = 1 - arb(10) ** -45  # sums whose ratio is nearer to 1 differ by rounding alone


@dataclass(frozen=True)
class Law:
    """A law on consecutive counts from `first`, as unnormalised weights."""

    first: int
    weights: list[arb]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", list(map(arb, self.weights)))

    @property
    def counts(self) -> range:
        """The counts of the weights."""
        return range(self.first, self.first + len(self.weights))

    @cached_property
    def _cumulative(self) -> list[arb]:
        """The sums of the weights up to each count, and 0 before all."""
        return list(accumulate(self.weights, initial=arb(0)))

    @property
    def total(self) -> arb:
        """The sum of the weights."""
        return self._cumulative[-1]

    @property
    def probabilities(self) -> list[arb]:
        """The weights with a sum of 1."""
        return [weight / self.total for weight in self.weights]

    @cached_property
    def mean(self) -> arb:
        """The expected count."""
        return dot(self.weights, list(map(arb, self.counts))) / self.total

    @cached_property
    def variance(self) -> arb:
        """The variance of the count."""
        squares = [square(count - self.mean) for count in self.counts]
        return dot(self.weights, squares) / self.total

    @cached_property
    def mode(self) -> int:
        """The smallest count of the largest weight."""
        least = max(self.weights) * _EQUAL
        return next(k for k, w in zip(self.counts, self.weights, strict=True) if w >= least)

    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level."""
        goal = ball(level) * self.total * _EQUAL
        return self.first + bisect_left(self._cumulative[1:-1], goal)

    def pmf(self, count: int) -> arb:
        """P[K = count]."""
        return self.probability(count, count)

    def probability(self, low: float, high: float) -> arb:
        """P[low <= K <= high]."""
        start = bisect_left(self.counts, low)
        stop = bisect_right(self.counts, high)
        inside = total(self.weights[start:stop]) if start else self._cumulative[stop]
        return inside / self.total


def assert_exact(fast: Posterior, exact: Law) -> None:
    """Mean within 1e-10 standard deviations and 4 ulp, variance within 1e-9, the rest equal.

    A variance below 1e-90 is the sum's own rounding. Where two counts are as likely as each other within 1e-12, or a
    quantile's level is reached within 2e-14, either count will do.
    """
    mean, variance = mpf(exact.mean), max(mpf(0), mpf(exact.variance))
    ulp = math.ulp(float(mean))
    assert abs(fast.mean - mean) <= mpf("1e-10") * mp.sqrt(variance) + 4 * ulp
    assert abs(fast.variance - variance) <= mpf("1e-9") * variance + mpf("1e-90")
    assert exact.pmf(fast.mode) >= exact.pmf(exact.mode) * (1 - mpf("1e-12"))
    tail = (1 - 0.95) / 2
    found = zip((fast.median, *fast.interval(0.95)), (0.5, tail, 1 - tail), strict=True)
    for count, level in found:
        assert exact.probability(-math.inf, count) >= level * (1 - mpf("2e-14"))
        assert exact.probability(-math.inf, count - 1) < level * (1 + mpf("2e-14"))


def binomial_law(size: int, rate: float, first: int = 0, last: int | None = None) -> Law:
    """The binomial law on first..last; its tails beyond are left out."""
    p = ball(rate)
    counts = range(first, (size if last is None else last) + 1)
    return Law(first, [choose(size, k) * p**k * (1 - p) ** (size - k) for k in counts])


def law_by_ratios(first: int, last: int, ratio: Callable[[int], arb]) -> Law:
    """The law on first..last whose weight at k + 1 is ratio(k) times that at k."""
    return Law(first, list(accumulate(map(ratio, range(first, last)), mul, initial=arb(1))))


def binomial_window(size: int, rate: float, first: int, last: int) -> Law:
    """The binomial law on first..last, of any size, by the ratios of its probabilities."""
    odds = ball(rate) / (1 - ball(rate))
    return law_by_ratios(first, last, lambda k: odds * (size - k) / (k + 1))


def binomial_log_pmf(size: int, rate: arb, count: int) -> arb:
    """The logarithm of P[K = count] for K ~ Bin(size, rate), of any size."""
    ways = arb(size + 1).lgamma() - arb(count + 1).lgamma() - arb(size - count + 1).lgamma()
    return ways + count * arb(rate).log() + (size - count) * (-arb(rate)).log1p()


def beta_binomial_law(size: int, alpha: float, beta: float, first: int = 0, last: int | None = None) -> Law:
    """The beta-binomial law on first..last, by the ratios of its probabilities."""

    def ratio(count: int) -> arb:
        rising = (count + ball(alpha)) * (size - count)
        return rising / ((count + 1) * (size - count - 1 + ball(beta)))

    return law_by_ratios(first, size if last is None else last, ratio)


def strata_law(sizes: Sequence[int], rates: Sequence[float]) -> Law:
    """The law of a sum of independent binomial counts, one record after the other."""
    weights = [ball(1)]
    for size, rate in zip(sizes, rates, strict=True):
        no, yes = 1 - ball(rate), ball(rate)
        for _ in range(size):
            pairs = zip([*weights, ball(0)], [ball(0), *weights], strict=True)
            weights = [no * same + yes * one_less for same, one_less in pairs]
    return Law(0, weights)


def reweighted(law: Law, likelihood: Callable[[int], arb]) -> Law:
    """The law times a likelihood of each count."""
    pairs = zip(law.counts, law.weights, strict=True)
    return Law(law.first, [weight * likelihood(count) for count, weight in pairs])


def laplace_likelihood(answer: float, scale: float) -> Callable[[int], arb]:
    """The Laplace likelihood e^(−|answer − k|/scale) of each count."""
    return lambda count: (-abs(ball(answer) - count) / ball(scale)).exp()


def gaussian_likelihood(answer: float, scale: float) -> Callable[[int], arb]:
    """The Gaussian likelihood e^(−(answer − k)²/(2·scale²)) of each count."""
    return lambda count: (-square((ball(answer) - count) / ball(scale)) / 2).exp()


def sample_likelihood(positives: int, sample_size: int, size: int) -> Callable[[int], arb]:
    """The likelihood C(k, s)·C(n − k, m − s) of each count k of positives in a sample."""
    negatives = sample_size - positives
    return lambda count: choose(count, positives) * choose(size - count, negatives)


def noisy_sample_likelihood(noise: Callable[[int], arb], sample_size: int, size: int) -> Callable[[int], arb]:
    """The likelihood of each count when the noise is added to the positives in a sample."""
    drawn = range(sample_size + 1)
    terms = [(sample_likelihood(found, sample_size, size), noise(found)) for found in drawn]
    return lambda count: total(sample(count) * weight for sample, weight in terms)


def exact_likelihood(answer: int) -> Callable[[int], arb]:
    """The likelihood of each count when the answer is the count."""
    return lambda count: arb(int(count == answer))
