"""The laws of a count given that a record is positive, and negative, summed in 80 digits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flint import arb

import noisycount as nc
from tests.oracles.balls import choose, dot, total
from tests.oracles.posterior import Law, beta_binomial_law, binomial_window, strata_law


@dataclass(frozen=True)
class Pair:
    """The laws of the count when a record is positive, and when it is negative."""

    first: int  # the count of the first weight of both
    positive: list[arb]  # P₊ of each count
    negative: list[arb]  # P₋ of each count
    records: int  # the number of records of the database, for samples

    @property
    def last(self) -> int:
        """The last count."""
        return self.counts[-1]

    @property
    def counts(self) -> range:
        """The counts of the weights."""
        return range(self.first, self.first + len(self.positive))

    @property
    def mirrored(self) -> "Pair":
        """The pair of −count: its δ₊ is this pair's δ₋ under symmetric noise."""
        return Pair(-self.last, self.negative[::-1], self.positive[::-1], self.records)

    def moved(self, known: int, positives: int) -> "Pair":
        """The pair to somebody who also holds so many records, of which so many are positive."""
        return replace(self, first=self.first + positives, records=self.records + known)


def binomial_pairs(size: int, rate: float, first: int = 0, last: int | None = None) -> list[Pair]:
    """1 + Bin(n − 1, p) and Bin(n − 1, p); the others' law on first..last, if they are many."""
    others = binomial_window(size - 1, rate, first, size - 1 if last is None else last)
    return [shifted(others, size)]


def beta_binomial_pairs(size: int, alpha: float, beta: float, known: int = 0, positives: int = 0) -> list[Pair]:
    """∝ k·P[k] and (n − k)·P[k] for the beta-binomial law P of what is not known."""
    shapes = arb(alpha) + positives, arb(beta) + known - positives
    law = beta_binomial_law(size - known, *shapes)
    return [exchangeable(law).moved(known, positives)]


def tabulated_pairs(probabilities: Sequence[float], known: int = 0, positives: int = 0) -> list[Pair]:
    """∝ k·P[k] and (n − k)·P[k], P the law of the unknown records of an exchangeable database."""
    size = len(probabilities) - 1
    rest = [
        arb(probabilities[positives + k])
        * choose(positives + k, positives)
        * choose(size - positives - k, known - positives)
        for k in range(size - known + 1)
    ]
    return [exchangeable(Law(0, rest)).moved(known, positives)]


def strata_pairs(sizes: Sequence[int], rates: Sequence[float]) -> list[Pair]:
    """A pair a group whose records are uncertain: the others' law moved by one record, and not."""
    pairs = []
    for group, (size, rate) in enumerate(zip(sizes, rates, strict=True)):
        if size and 0 < rate < 1:
            others = [n - (g == group) for g, n in enumerate(sizes)]
            pairs.append(shifted(strata_law(others, rates), sum(sizes)))
    return pairs


def known_pairs(size: int, count: int | None = None) -> list[Pair]:
    """Counts c + 1 and c; all c if it is not said."""
    counts = range(size) if count is None else [count]
    return [Pair(c, [arb(0), arb(1)], [arb(1), arb(0)], size) for c in counts]


def shifted(others: Law, records: int) -> Pair:
    """The pair of one record among others that do not depend on it."""
    law = others.probabilities
    return Pair(others.first, [arb(0), *law], [*law, arb(0)], records)


def exchangeable(law: Law) -> Pair:
    """The pair of a record among records that can be exchanged, from the law on 0..n."""
    size = law.counts[-1]
    positive = [k * w for k, w in zip(law.counts, law.weights, strict=True)]
    negative = [(size - k) * w for k, w in zip(law.counts, law.weights, strict=True)]
    up, down = total(positive), total(negative)
    return Pair(law.first, [w / up for w in positive], [w / down for w in negative], size)


def sampled(pair: Pair, sample_size: int) -> Pair:
    """The pair of the positives in a sample, by the hypergeometric law at every count."""
    rows = [hypergeometric(k, sample_size, pair.records) for k in pair.counts]
    positive, negative = (
        [dot(side, [row[s] for row in rows]) for s in range(sample_size + 1)] for side in (pair.positive, pair.negative)
    )
    return Pair(0, positive, negative, sample_size)


def hypergeometric(count: int, drawn: int, size: int) -> list[arb]:
    """P[S = s] for s = 0..drawn positives among the drawn, `count` of the `size` being positive."""
    ways = choose(size, drawn)
    return [choose(count, s) * choose(size - count, drawn - s) / ways for s in range(drawn + 1)]


def binomial_sample_pairs(
    size: int, rate: float, sample_size: int, first: int = 0, last: int | None = None
) -> list[Pair]:
    """Return the pairs of a binomial database: λ = m/n, λ·(1 + Bin(m−1, p)) + (1−λ)·Bin(m, p).

    Source: Breutigam and Reischuk, section 4.1; `sampled` confirms it.
    """
    share = arb(sample_size) / size
    end = sample_size if last is None else last
    without = binomial_window(sample_size, rate, first, end).probabilities
    drawn = shifted(binomial_window(sample_size - 1, rate, first, end - 1), sample_size)
    positive, negative = (
        [share * a + (1 - share) * c for a, c in zip(side, without, strict=True)]
        for side in (drawn.positive, drawn.negative)
    )
    return [Pair(first, positive, negative, sample_size)]


@dataclass(frozen=True)
class Outsider:
    """Background knowledge of an adversary: a population, and some of its records."""

    # all records, as nobody knows them; None: the worst case without a size
    population: nc.Population | None
    known: int = 0  # how many he holds
    positives: int = 0  # how many of these are positive
    table: Sequence[float] = ()  # the probabilities of a `Tabulated` population as they were given

    @property
    def told(self) -> nc.Population | None:
        """The population as an argument of `privacy_curve`."""
        if self.population is None or not self.known:
            return self.population
        return self.population.given(self.known, self.positives)

    @classmethod
    def of_table(cls, table: Sequence[float], known: int = 0, positives: int = 0) -> "Outsider":
        """Somebody who knows a table, and some of the records."""
        return cls(nc.Tabulated(table), known, positives, table)

    def curve(self, mechanism: nc.Mechanism) -> nc.PrivacyCurve:
        """Return the curve that is compared with the oracle."""
        return nc.privacy_curve(mechanism, self.told)

    def pairs(self) -> list[Pair]:
        """A pair for each kind of record that he does not hold, of the count of all records."""
        population, held = self.population, (self.known, self.positives)
        match population:
            case None:
                return known_pairs(1)
            case nc.Known():
                return known_pairs(population.size, population.count)
            case nc.Strata():
                return strata_pairs(population.sizes.tolist(), population.rates.tolist())
            case nc.Binomial():
                return [one.moved(*held) for one in binomial_pairs(population.size - self.known, population.rate)]
            case nc.BetaBinomial():
                return beta_binomial_pairs(population.size, population.alpha, population.beta, *held)
        return tabulated_pairs(self.table, *held)
