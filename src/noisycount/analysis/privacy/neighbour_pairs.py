"""Pairs of count distributions that an adversary must distinguish, one pair for each kind of record.

`neighbour_pairs` builds them for a mechanism and a population. P₊ is the distribution if one record is positive, P₋ if
it is negative.
"""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, reduce
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.privacy.pairs import LinearPair, Pair, TablePair
from noisycount.analysis.privacy.sampled_laws import largest_sample_distance, sampled_laws
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution, MeshPoints, TableLaw
from noisycount.model.laws.gamma import DIGITS, Reals
from noisycount.model.laws.smooth_law import smooth_law
from noisycount.model.mechanism import Mechanism
from noisycount.model.populations.binomial import Binomial
from noisycount.model.populations.population import (
    Exchangeable,
    ExchangeableNeighbours,
    IndependentNeighbours,
    Population,
    Sample,
)
from noisycount.model.subsampling import DrawnPositives, Subsample
from noisycount.validation import require_instance

_DEEPEST = 700.0  # nats below the mode at which a table ends: e^−700 is close to the smallest double
_RESOLVED = 2.0  # standard deviations by which a block of counts may move the number in a sample
_CHUNK = 1 << 20  # probabilities in memory at once: 8 MB
_ROUNDING_OF_SAMPLE = 2e-12  # relative error of a probability of a sample: measured, with a margin
_ROUNDING_OF_DIFFERENCES = 2e-13  # relative error of a sum of |P₊ − P₋|: that of a weight of Q


def shifted_pair(others: CountDistribution) -> tuple[TablePair, int]:
    """Return the distributions of the count with one more record, positive or negative, and the count at offset 0."""
    first, logs = _log_table(others)
    logs = logs - logs.max()
    logs = logs - math.log(float(np.exp(logs).sum()))
    more, same = _moved_log_probabilities(logs)
    return _pair_drawn_or_not(first, (more, same, same), Fraction(1), others.rounding), others.mode


def sampled_shift_pair(population: Binomial, share: Fraction) -> tuple[TablePair, int]:
    """Return the distributions of the number S of positive records among m of n, and the number at offset 0.

    The record is drawn with probability λ = m/n. With the population's rate p and the distribution B of the number of
    positives among the other m − 1 sampled records,
    P₊[S = s] = (λ + (1 − λ)·p)·B(s − 1) + (1 − λ)·(1 − p)·B(s), and P₋ likewise.
    """
    others, rate = population.law(), population.rate
    first, logs = _log_table(others)
    more, same = _moved_log_probabilities(logs)
    with np.errstate(divide="ignore"):
        another = np.logaddexp(more + np.log(rate), same + math.log1p(-rate))
    pair = _pair_drawn_or_not(first, (more, same, another), share, others.rounding)
    if logs.size == population.size + 1:  # the table omits no count
        pair = replace(pair, exact=lambda: _exact_probabilities(population, share))
    return pair, others.mode


def _exact_probabilities(population: Binomial, share: Fraction) -> tuple[Reals, Reals]:
    """Return P₊ and P₋ of `sampled_shift_pair`, each probability within 7 roundings."""
    law, rate = _rounded_probabilities(population), population.rate
    more, same = np.append(0.0, law), np.append(law, 0.0)
    rest = float(1 - share) * (rate * more + (1 - rate) * same)
    return float(share) * more + rest, float(share) * same + rest


def _rounded_probabilities(population: Binomial) -> Reals:
    """Return P[K = k] for k = 0..size, computed in 60 digits and rounded to the nearest float."""
    rate, weights = Decimal(population.rate), [Decimal(1)]
    odds = DIGITS.divide(rate, DIGITS.subtract(Decimal(1), rate))
    for count in range(population.size):
        step = DIGITS.divide(Decimal(population.size - count), Decimal(count + 1))
        weights.append(DIGITS.multiply(DIGITS.multiply(weights[-1], odds), step))
    total = reduce(DIGITS.add, weights)
    return np.array([float(DIGITS.divide(weight, total)) for weight in weights])


def _log_table(law: CountDistribution) -> tuple[float, Reals]:
    """Return the first offset from the mode, and the log-probabilities from that offset on."""
    low, high = law.reach(_DEEPEST)
    return float(low - law.mode), law.log_pmf(np.arange(low, high + 1))


def _moved_log_probabilities(logs: Reals) -> tuple[Reals, Reals]:
    """Return the log-probabilities with one more positive record, and with one more negative record."""
    nothing = np.full(1, -np.inf)
    return np.concatenate([nothing, logs]), np.concatenate([logs, nothing])


def _pair_drawn_or_not(first: float, laws: tuple[Reals, Reals, Reals], share: Fraction, rounding: float) -> TablePair:
    """Return the pair of a sample that contains one record with probability λ = m/n.

    P₊ − P₋ = λ·(P[positive and drawn] − P[negative and drawn]): samples without the record cancel.

    Args:
        first: Offset of the first count.
        laws: Log-probabilities of the sample with the record if it is positive, with the record if it is negative, and
            without the record.
        share: λ.
        rounding: Relative error of a probability.
    """
    more, same, without = laws
    drawn = math.log(share)
    with np.errstate(divide="ignore"):
        rest = without + np.log(float(1 - share))
    plus, minus = np.logaddexp(more + drawn, rest), np.logaddexp(same + drawn, rest)
    largest, peak = max(float(plus.max()), float(minus.max())), float(more.max())
    steps = np.exp(more - peak) - np.exp(same - peak)  # differences within one table: rounding telescopes
    gains = steps * math.exp(peak + drawn - largest)
    return TablePair.of_laws(
        first, (plus, minus), (gains, np.zeros_like(gains)), is_shift=share == 1, rounding=rounding
    )


@frozen
class Sampling:
    """A sample without replacement from records whose count K has one of two distributions.

    Under either one, P[S = s] = Σ_k P[K = k]·P[S = s | K = k].
    """

    pair: Pair
    centre: int  # count at offset 0 of the pair
    size: int  # number n of records
    sample_size: int  # number m of records drawn

    @property
    def pair_in_sample(self) -> TablePair:
        """Distributions of the number of positive records in the sample."""
        return self._pair_of_independent() if self.pair.is_shift else self._pair_of_dependent()

    def _pair_of_independent(self) -> TablePair:
        """Return the pair if the other records are independent of the record, which is either drawn or not."""
        points = self._count_points()
        law = (points.weights * self.pair.ratio_minus(points.offsets))[None]
        drawn, without = (
            self._mixture_of_samples(points, law, self.size - 1, taken)[0]
            for taken in (self.sample_size - 1, self.sample_size)
        )
        with np.errstate(divide="ignore"):
            more, same = _moved_log_probabilities(np.log(drawn))
            rest = np.log(without)
        held = np.flatnonzero(np.maximum(np.maximum(more, same), rest) > -np.inf)
        part = slice(held[0], held[-1] + 1)
        laws = more[part], same[part], rest[part]
        share = Fraction(self.sample_size, self.size)
        return _pair_drawn_or_not(self._offset_of_number(int(held[0])), laws, share, self._rounding)

    def _pair_of_dependent(self) -> TablePair:
        """Return the pair from sums over all counts of P₊, P₋, and the positive and negative parts of P₊ − P₋."""
        points = self._count_points()
        differences = self.pair.difference(points.offsets)
        ratios = [self.pair.ratio_plus(points.offsets), self.pair.ratio_minus(points.offsets)]
        rows = points.weights * np.stack([*ratios, np.maximum(differences, 0.0), np.maximum(-differences, 0.0)])
        laws = self._mixture_of_samples(points, rows, self.size, self.sample_size)
        held = np.flatnonzero(laws[:2].max(axis=0) > 0)
        laws = laws[:, held[0] : held[-1] + 1]
        with np.errstate(divide="ignore"):
            plus, minus = np.log(laws[0]), np.log(laws[1])
        gains, losses = laws[2:] / laws[:2].max()
        return TablePair.of_laws(
            self._offset_of_number(int(held[0])),
            (plus, minus),
            (gains - losses, _ROUNDING_OF_DIFFERENCES * (gains + losses)),
            is_shift=False,
            rounding=self._rounding,
        )

    @property
    def _rounding(self) -> float:
        return _ROUNDING_OF_SAMPLE + self.pair.rounding

    @property
    def _share(self) -> float:
        return self.sample_size / self.size

    @property
    def _deviation(self) -> float:
        """Approximate standard deviation of the number of positives in a sample, given the count, in records."""
        positives = min(max(self.centre, 1), self.size - 1)
        spread = self._share * (1 - self._share) * positives * (1 - positives / self.size)
        return math.sqrt(spread)

    def _count_points(self) -> MeshPoints:
        """Return quadrature points over the offsets of the count, with their weights."""
        low, high = self.pair.base.reach(_DEEPEST)
        coarsest = _RESOLVED * max(self._deviation, 1.0) / self._share
        return self.pair.base.points((low, low), high, coarsest)

    def _mixture_of_samples(self, points: MeshPoints, weights: Reals, size: int, sample_size: int) -> Reals:
        """Return the distribution of the positives in a sample for weighted counts, shape (rows, sample size + 1).

        It is Σ_k weight·P[S = s | K = k] for s = 0, 1, …, sample size.
        """
        counts = self.centre + points.offsets
        if points.is_every_integer:
            return sampled_laws(int(counts[0]), weights, size, sample_size)
        return _mixture_of_samples(counts, weights, size, sample_size)

    def _offset_of_number(self, number: int) -> float:
        """Return the offset of a number of positive records in a sample."""
        return float(number - round(self._share * self.centre))


def _mixture_of_samples(counts: Reals, weights: Reals, size: int, sample_size: int) -> Reals:
    """Return the distribution of the positives among m sampled records, for weighted real counts, shape (rows, m + 1).

    It is Σ_k weight·P[S = s | K = k] for s = 0..m.
    """
    reach = largest_sample_distance(counts, size, sample_size)
    laws = np.zeros((weights.shape[0], sample_size + 1))
    step = max(1, _CHUNK // (2 * reach + 1))
    for start in range(0, counts.size, step):
        part = slice(start, start + step)
        firsts, chances = _hypergeometric_rows(counts[part], size, sample_size, reach)
        places = np.flatnonzero(np.diff(firsts, prepend=-1))  # runs of counts whose tables begin at the same s
        for begin, stop in pairwise([*places.tolist(), firsts.size]):
            first = int(firsts[begin])
            added = weights[:, start + begin : start + stop] @ chances[begin:stop]
            laws[:, first : first + chances.shape[1]] += added
    return laws


def _hypergeometric_rows(counts: Reals, size: int, sample_size: int, reach: int) -> tuple[NDArray[np.int64], Reals]:
    """Return the hypergeometric distributions of the positives in a sample, a row for each count k.

    The first array holds the number of positives at which each row begins.

    They follow from P[s + 1]/P[s] = (k − s)·(m − s)/((s + 1)·(n − k − m + s + 1)), starting near the mean m·k/n.
    """
    width = min(2 * reach, sample_size) + 1
    least = np.ceil(counts + (sample_size - size))  # smallest s: at most n − k of the sampled records are negative
    means = np.maximum(np.floor(sample_size / size * counts), least)
    firsts = np.clip(means - reach, 0, sample_size + 1 - width)
    drawn = firsts[:, None] + np.arange(width - 1, dtype=np.float64)
    column = counts[:, None]
    rising = np.maximum(column - drawn, 0.0) * (sample_size - drawn)
    falling = np.maximum(size - column - sample_size + drawn + 1, 0.0) * (drawn + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log(rising / falling)
    return firsts.astype(np.int64), _laws_from_steps(steps, (means - firsts).astype(np.int64))


def _laws_from_steps(steps: Reals, centres: NDArray[np.int64]) -> Reals:
    """Return the distributions whose log-probabilities have these steps, summed outward from a likely value of each."""
    ahead = np.arange(steps.shape[1]) >= centres[:, None]
    logs = np.zeros((steps.shape[0], steps.shape[1] + 1))
    np.cumsum(np.where(ahead, steps, 0.0), axis=1, out=logs[:, 1:])
    behind = np.where(ahead, 0.0, -steps)[:, ::-1]
    logs[:, :-1] += np.cumsum(behind, axis=1)[:, ::-1]
    logs = np.nan_to_num(logs, nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


_ROUNDING_OF_HALF = 2.0**-51  # relative error of exp(ln(1/2))


def independent_pair(neighbours: IndependentNeighbours, size: int, sample_size: int | None) -> Pair:
    """Return the pair of counts, or of numbers in a sample, for a record independent of the others.

    P₊ is the distribution of the others' count plus one, P₋ that of the others' count.
    """
    law = neighbours.others.deep_prior()
    if law.variance == 0:
        count = law.mode + neighbours.positives
        return known_count_pair() if sample_size is None else _known_sample_pair(size, count, sample_size)
    pair, centre = shifted_pair(law)
    if sample_size is None:
        return pair
    return Sampling(pair, centre + neighbours.positives, size, sample_size).pair_in_sample


@cache
def known_count_pair() -> LinearPair:
    """Return the pair if all records but one are known: the count of that record is 1 under P₊ and 0 under P₋."""
    half = Fraction(1, 2)
    base = TableLaw(0, np.log([0.5, 0.5]))
    return LinearPair(base, half, half, half, is_shift=True, precision=_ROUNDING_OF_HALF)


def _known_sample_pair(size: int, count: int, sample_size: int) -> LinearPair:
    """Return the pair of the number S in a sample if all records but one are known.

    Let c be the number of positives among the others. P₊ has the weights C(c + 1, s)·C(n − c − 1, m − s), P₋ has
    C(c, s)·C(n − c, m − s). Both are the weights of m draws from n + 1 records of which c + 1 are positive, times
    n − c − m + s for P₊ and c + 1 − s for P₋.
    """
    law = smooth_law([DrawnPositives(count + 1, sample_size, size + 1)])
    mean = Fraction(sample_size * (count + 1), size + 1)
    return LinearPair(
        law.moved(-law.mode),
        mean - law.centre,
        mean + (size - count - sample_size),
        count + 1 - mean,
        is_shift=sample_size == size,
    )


_RAREST = 1e-250  # expected share of records below which the ratio of the distributions overflows
_RAREST_RATIO = 1e-200  # expected share below which a table is used in place of that ratio
_NARROW = 64.0  # records², variance below which a table is short


def exchangeable_pair(neighbours: ExchangeableNeighbours, size: int, sample_size: int | None) -> Pair:
    """Return the pair of the count, P₊ ∝ k·P and P₋ ∝ (n − k)·P, or the pair of the number in a sample."""
    population = neighbours.population
    rate = population.expected_positives / size
    if (rarest := float(min(rate, 1 - rate))) < _RAREST and not population.are_independent:
        raise ValueError(
            f"population must have expected shares of at least {_RAREST} of positive and of negative records, "
            f"got {rarest!r}: use Binomial for smaller shares"
        )
    if sample_size is not None and not neighbours.known:
        sample = population.sample(sample_size)
        if sample is not None:
            return _sample_pair(population, sample)[0]
    pair, centre = _sample_pair(population, Sample(population, Fraction(1)))
    if sample_size is None:
        return pair
    return Sampling(pair, centre + neighbours.positives, size, sample_size).pair_in_sample


def _sample_pair(population: Exchangeable, sample: Sample) -> tuple[Pair, int]:
    """Return the pair of the number S of positive records among m of n, and the number at offset 0.

    P₊/Q = E[K | S]/E[K] with E[K | S = s] = E[K] + gain·(s − E[S]).
    """
    size, drawn = population.size, sample.population.size
    rate = population.expected_positives / size
    is_narrow = drawn == size and size * rate * (1 - rate) < _NARROW
    if population.are_independent and (is_narrow or min(rate, 1 - rate) < _RAREST_RATIO):
        others = population.sample(drawn - 1)
        if others is not None and isinstance(others.population, Binomial):
            return sampled_shift_pair(others.population, Fraction(drawn, size))
    law = sample.population.law()
    pair = LinearPair(
        law.for_ratios(math.log(min(rate, 1 - rate))).moved(-law.mode),
        drawn * rate - law.mode,
        size * rate / sample.gain,
        size * (1 - rate) / sample.gain,
        is_shift=population.are_independent and drawn == size,
    )
    return pair, law.mode


def neighbour_pairs(mechanism: Mechanism, population: Population | None) -> list[Pair]:
    """Return the distinct pairs of distributions of the count before noise, one for each kind of record."""
    sample_size = _sample_size(mechanism, population)
    if population is None:
        return [known_count_pair()]
    require_instance(population, Population, "population")
    pairs: list[Pair] = []
    for neighbours in population.worst_neighbours():
        match neighbours:
            case ExchangeableNeighbours():
                pairs.append(exchangeable_pair(neighbours, population.size, sample_size))
            case IndependentNeighbours():
                pairs.append(independent_pair(neighbours, population.size, sample_size))
            case _:
                raise ValueError(
                    "population must yield ExchangeableNeighbours or IndependentNeighbours, for which a single "
                    f"threshold separates the answers, got {neighbours!r}"
                )
    return list(dict.fromkeys(pairs))


def has_independent_records(population: Population) -> bool:
    """Return True if the records of the population are independent of each other."""
    kinds = population.worst_neighbours()
    return not any(isinstance(one, ExchangeableNeighbours) and not one.population.are_independent for one in kinds)


def _sample_size(mechanism: Mechanism, population: Population | None) -> int | None:
    """Return the number of records drawn, or None if all records are used."""
    if not isinstance(mechanism, Subsample):
        return None
    if population is None:
        raise ValueError(
            "population must be given for Subsample, whose worst case depends on the number of records: use Known(size)"
        )
    if mechanism.sample_size > population.size:
        raise ValueError(
            f"sample_size must be at most the {population.size} records there are, got {mechanism.sample_size}"
        )
    return None if mechanism.sample_size == population.size else mechanism.sample_size
