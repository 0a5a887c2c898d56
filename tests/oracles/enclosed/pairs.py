"""The laws of a count if a record is positive, and if it is negative, in ball arithmetic.

Every number is an `arb` of python-flint: a ball that contains the exact value, so that a sum tells how many digits it
has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_poly, fmpq

import noisycount as nc


@dataclass(frozen=True)
class EnclosedPair:
    """Two laws of a count."""

    first: int  # the count of the first weight of both
    positive: list[arb]  # weights of P₊ that add up to 1
    negative: list[arb]  # weights of P₋ that do

    @property
    def mirrored(self) -> "EnclosedPair":
        """The pair of −count: its δ₊ is this pair's δ₋ under symmetric noise."""
        last = self.first + len(self.positive) - 1
        return EnclosedPair(-last, self.negative[::-1], self.positive[::-1])


@dataclass(frozen=True)
class Outsider:
    """What somebody knows: a population, some of whose records he holds."""

    # all records, as nobody knows them; None: the worst case without a size
    population: nc.Population | None
    known: int = 0  # how many he holds
    positives: int = 0  # how many of these are positive
    table: Sequence[float] = ()  # the probabilities of a `Tabulated` population as they were given

    @property
    def told(self) -> nc.Population | None:
        """The same as an argument of `privacy_curve`."""
        if self.population is None or not self.known:
            return self.population
        return self.population.given(self.known, self.positives)

    def pairs(self) -> list[EnclosedPair]:
        """A pair for each kind of record that he does not hold, of the count of all records."""
        population = self.population
        if population is None:
            return [EnclosedPair(0, [arb(0), arb(1)], [arb(1), arb(0)])]
        if isinstance(population, nc.Known):
            counts = range(population.size) if population.count is None else [population.count]
            return [EnclosedPair(c, [arb(0), arb(1)], [arb(1), arb(0)]) for c in counts]
        if isinstance(population, nc.Strata):
            return self._strata_pairs(population.sizes.tolist(), population.rates.tolist())
        if isinstance(population, nc.Binomial):
            others = _binomial(population.size - self.known - 1, population.rate)
            return [_one_more(others, self.positives)]
        if isinstance(population, nc.BetaBinomial):
            alpha = Fraction(population.alpha) + self.positives
            beta = Fraction(population.beta) + self.known - self.positives
            law = _beta_binomial(population.size - self.known, alpha, beta)
        else:
            law = self._rest_of_table()
        return [_exchangeable(law, self.positives)]

    def _rest_of_table(self) -> list[arb]:
        """P[K = positives + j] times the ways to choose the known records, for j = 0..rest."""
        rest = len(self.table) - 1 - self.known
        negatives = self.known - self.positives
        return [
            arb(self.table[self.positives + j])
            * arb.bin_uiui(self.positives + j, self.positives)
            * arb.bin_uiui(rest - j + negatives, negatives)
            for j in range(rest + 1)
        ]

    def _strata_pairs(self, sizes: list[int], rates: list[float]) -> list[EnclosedPair]:
        pairs = []
        for group, (size, rate) in enumerate(zip(sizes, rates, strict=True)):
            if not size or rate in (0, 1):
                continue
            others = arb_poly([1])
            for other, (number, chance) in enumerate(zip(sizes, rates, strict=True)):
                others *= arb_poly(_binomial(number - (other == group), chance))
            law = others.coeffs()
            law += [arb(0)] * (sum(sizes) - len(law))
            pairs.append(_one_more(law, 0))
        return pairs


def sampled(pair: EnclosedPair, records: int, sample_size: int) -> EnclosedPair:
    """The pair of the positives in a sample, by the hypergeometric law at every count."""
    ways = arb.bin_uiui(records, sample_size)
    laws: list[list[arb]] = []
    for side in (pair.positive, pair.negative):
        law = [arb(0)] * (sample_size + 1)
        for place, weight in enumerate(side):
            count = pair.first + place
            low, high = max(0, sample_size - records + count), min(count, sample_size)
            for s in range(low, high + 1):
                law[s] += weight * arb.bin_uiui(count, s) * arb.bin_uiui(records - count, sample_size - s) / ways
        laws.append(law)
    return EnclosedPair(0, *laws)


def exact(number: float | Fraction) -> arb:
    """The ball around a rational."""
    fraction = Fraction(number)
    return arb(fmpq(fraction.numerator, fraction.denominator))


def _one_more(others: list[arb], known_positives: int) -> EnclosedPair:
    """The pair of a record that the others do not depend on."""
    return EnclosedPair(known_positives, [arb(0), *others], [*others, arb(0)])


def _exchangeable(law: list[arb], known_positives: int) -> EnclosedPair:
    """P₊ ∝ k·P[k] and P₋ ∝ (n − k)·P[k]."""
    size = len(law) - 1
    positive = [k * weight for k, weight in enumerate(law)]
    negative = [(size - k) * weight for k, weight in enumerate(law)]
    up, down = sum(positive, arb(0)), sum(negative, arb(0))
    return EnclosedPair(known_positives, [w / up for w in positive], [w / down for w in negative])


def _binomial(size: int, rate: float) -> list[arb]:
    """C(n, k)·p^k·(1 − p)^(n − k) for k = 0..n."""
    chance = exact(rate)
    other = 1 - chance
    return [arb.bin_uiui(size, k) * chance**k * other ** (size - k) for k in range(size + 1)]


def _beta_binomial(size: int, alpha: Fraction, beta: Fraction) -> list[arb]:
    """C(n, k)·(α)_k·(β)_(n − k), with rising factorials, up to a factor."""
    up, down = exact(alpha), exact(beta)
    return [arb.bin_uiui(size, k) * up.rising(k) * down.rising(size - k) for k in range(size + 1)]
