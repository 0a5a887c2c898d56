"""The definitions, summed term by term in 50 digits: what every fast path is compared with."""

from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 50


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
        return self.first + self.weights.index(max(self.weights))

    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level."""
        goal, so_far = mpf(level) * self.total, mpf(0)
        for count, weight in zip(self.counts, self.weights, strict=True):
            so_far += weight
            if so_far >= goal:
                return count
        return self.counts[-1]

    def probability(self, low: float, high: float) -> mpf:
        """P[low <= K <= high]."""
        pairs = zip(self.counts, self.weights, strict=True)
        return mp.fsum(w for count, w in pairs if low <= count <= high) / self.total


def binomial_law(size: int, rate: float, first: int = 0, last: int | None = None) -> Law:
    """The binomial law on first..last; its tails beyond are left out."""
    p = mpf(rate)
    counts = range(first, (size if last is None else last) + 1)
    return Law(first, [mp.binomial(size, k) * p**k * (1 - p) ** (size - k) for k in counts])


def reweighted(law: Law, likelihood: Callable[[int], mpf]) -> Law:
    """The law times a likelihood of each count."""
    pairs = zip(law.counts, law.weights, strict=True)
    return Law(law.first, [weight * likelihood(count) for count, weight in pairs])


def laplace_likelihood(answer: float, scale: float) -> Callable[[int], mpf]:
    """The Laplace likelihood e^(−|answer − k|/scale) of each count."""
    return lambda count: mp.exp(-abs(mpf(answer) - count) / mpf(scale))
