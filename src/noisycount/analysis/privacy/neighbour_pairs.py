"""The pairs of laws between which an outsider has to tell, one for each kind of record."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, reduce
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.privacy.pairs import LinearPair, Pair, TablePair
from noisycount.analysis.privacy.sampled_laws import farthest_sample, sampled_laws
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
    Neighbours,
    Population,
    Sample,
)
from noisycount.model.subsampling import DrawnPositives, Subsample
from noisycount.validation import require_instance

_DEEPEST = 700.0  # nepers below its mode at which a table ends: e^−700 is next to the least double
_RESOLVED = 2.0  # standard deviations by which a block of counts may move a sample
_CHUNK = 1 << 20  # probabilities held at once: 8 MB
_ROUNDING_OF_SAMPLE = 2e-12  # of a probability of a sample: measured, with a margin
_ROUNDING_OF_DIFFERENCES = 2e-13  # of a sum of |P₊ − P₋|: that of a weight of Q


def shifted_pair(others: CountDistribution) -> tuple[TablePair, int]:
    """The laws of the count with one more record, and the count that is offset 0."""
    first, logs = _table(others)
    logs = logs - logs.max()
    logs = logs - math.log(float(np.exp(logs).sum()))
    more, same = _moved(logs)
    return _drawn_or_not(first, (more, same, same), Fraction(1), others.rounding), others.mode


def sampled_shift_pair(population: Binomial, share: Fraction) -> tuple[TablePair, int]:
    """The laws of the number S of positive records among m of n, and the number that is offset 0.

    With the share λ = m/n the record is drawn, so that P₊ = (λ + (1 − λ)·p)·B(s − 1) + (1 − λ)·(1 − p)·B(s) for the law
    B of m − 1 records; P₋ likewise.
    """
    others, rate = population.law(), population.rate
    first, logs = _table(others)
    more, same = _moved(logs)
    with np.errstate(divide="ignore"):
        another = np.logaddexp(more + np.log(rate), same + math.log1p(-rate))
    pair = _drawn_or_not(first, (more, same, another), share, others.rounding)
    if logs.size == population.size + 1:  # no count is left out
        pair = replace(pair, exact=lambda: _exact(population, share))
    return pair, others.mode


def _exact(population: Binomial, share: Fraction) -> tuple[Reals, Reals]:
    """The laws of `sampled_shift_pair`, each mass within 7 roundings."""
    law, rate = _probabilities(population), population.rate
    more, same = np.append(0.0, law), np.append(law, 0.0)
    rest = float(1 - share) * (rate * more + (1 - rate) * same)
    return float(share) * more + rest, float(share) * same + rest


def _probabilities(population: Binomial) -> Reals:
    """P[K = k] for k = 0..size, each the float next to it, in 60 digits."""
    rate, weights = Decimal(population.rate), [Decimal(1)]
    odds = DIGITS.divide(rate, DIGITS.subtract(Decimal(1), rate))
    for count in range(population.size):
        step = DIGITS.divide(Decimal(population.size - count), Decimal(count + 1))
        weights.append(DIGITS.multiply(DIGITS.multiply(weights[-1], odds), step))
    total = reduce(DIGITS.add, weights)
    return np.array([float(DIGITS.divide(weight, total)) for weight in weights])


def _table(law: CountDistribution) -> tuple[float, Reals]:
    """The first offset from the mode, and the logarithms of the probabilities from there on."""
    low, high = law.reach(_DEEPEST)
    return float(low - law.mode), law.log_pmf(np.arange(low, high + 1))


def _moved(logs: Reals) -> tuple[Reals, Reals]:
    """A table with one more positive record, and with one more negative one."""
    nothing = np.full(1, -np.inf)
    return np.concatenate([nothing, logs]), np.concatenate([logs, nothing])


def _drawn_or_not(first: float, laws: tuple[Reals, Reals, Reals], share: Fraction, rounding: float) -> TablePair:
    """The laws of a sample that holds one record with the probability λ = m/n.

    P₊ − P₋ = λ·(P[positive and drawn] − P[negative and drawn]), whatever a sample without it holds.
    """
    more, same, without = laws
    drawn = math.log(share)
    with np.errstate(divide="ignore"):
        rest = without + np.log(float(1 - share))
    plus, minus = np.logaddexp(more + drawn, rest), np.logaddexp(same + drawn, rest)
    largest, peak = max(float(plus.max()), float(minus.max())), float(more.max())
    steps = np.exp(more - peak) - np.exp(same - peak)  # of one table: rounding telescopes
    gains = steps * math.exp(peak + drawn - largest)
    return TablePair.of_laws(
        first, (plus, minus), (gains, np.zeros_like(gains)), is_shift=share == 1, rounding=rounding
    )


@frozen
class Sampling:
    """How a sample is drawn from records whose count has one of two laws: Σ_k P[k]·P[S = s | K = k]."""

    pair: Pair
    centre: int  # the count that is its offset 0
    size: int  # the number n of records
    sample_size: int  # the number m of records drawn

    @property
    def drawn_pair(self) -> TablePair:
        """The laws of the number of positive records in the sample."""
        return self._of_independent() if self.pair.is_shift else self._of_dependent()

    def _of_independent(self) -> TablePair:
        """The pair if the others do not depend on the record: it is drawn, or only others are."""
        points = self._points()
        law = (points.weights * self.pair.ratio_minus(points.offsets))[None]
        drawn, without = (
            self._mixture(points, law, self.size - 1, taken)[0] for taken in (self.sample_size - 1, self.sample_size)
        )
        with np.errstate(divide="ignore"):
            more, same = _moved(np.log(drawn))
            rest = np.log(without)
        held = np.flatnonzero(np.maximum(np.maximum(more, same), rest) > -np.inf)
        part = slice(held[0], held[-1] + 1)
        laws = more[part], same[part], rest[part]
        share = Fraction(self.sample_size, self.size)
        return _drawn_or_not(self._offset(int(held[0])), laws, share, self._rounding)

    def _of_dependent(self) -> TablePair:
        """The pair from sums of P₊, P₋, and of what P₊ is more and less than P₋, over all counts."""
        points = self._points()
        differences = self.pair.difference(points.offsets)
        ratios = [self.pair.ratio_plus(points.offsets), self.pair.ratio_minus(points.offsets)]
        rows = points.weights * np.stack([*ratios, np.maximum(differences, 0.0), np.maximum(-differences, 0.0)])
        laws = self._mixture(points, rows, self.size, self.sample_size)
        held = np.flatnonzero(laws[:2].max(axis=0) > 0)
        laws = laws[:, held[0] : held[-1] + 1]
        with np.errstate(divide="ignore"):
            plus, minus = np.log(laws[0]), np.log(laws[1])
        gains, losses = laws[2:] / laws[:2].max()
        return TablePair.of_laws(
            self._offset(int(held[0])),
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
        """About the standard deviation of the number in a sample, given the count, in records."""
        positives = min(max(self.centre, 1), self.size - 1)
        spread = self._share * (1 - self._share) * positives * (1 - positives / self.size)
        return math.sqrt(spread)

    def _points(self) -> MeshPoints:
        """Offsets of the count, and the weights that sum over them."""
        low, high = self.pair.base.reach(_DEEPEST)
        coarsest = _RESOLVED * max(self._deviation, 1.0) / self._share
        return self.pair.base.points((low, low), high, coarsest)

    def _mixture(self, points: MeshPoints, weights: Reals, size: int, sample_size: int) -> Reals:
        """Σ_k weight·P[S = s | K = k] for s = 0..m, shape (rows, m + 1)."""
        counts = self.centre + points.offsets
        if points.is_every_integer:
            return sampled_laws(int(counts[0]), weights, size, sample_size)
        return _mixture(counts, weights, size, sample_size)

    def _offset(self, number: int) -> float:
        """The offset of a number of positive records in a sample."""
        return float(number - round(self._share * self.centre))


def _mixture(counts: Reals, weights: Reals, size: int, sample_size: int) -> Reals:
    """Σ_k weight·P[S = s | K = k] for s = 0..m at few counts, which may be no integers, shape (rows, m + 1)."""
    reach = farthest_sample(counts, size, sample_size)
    laws = np.zeros((weights.shape[0], sample_size + 1))
    step = max(1, _CHUNK // (2 * reach + 1))
    for start in range(0, counts.size, step):
        part = slice(start, start + step)
        firsts, chances = _drawn(counts[part], size, sample_size, reach)
        places = np.flatnonzero(np.diff(firsts, prepend=-1))  # counts from there on begin alike
        for begin, stop in pairwise([*places.tolist(), firsts.size]):
            first = int(firsts[begin])
            added = weights[:, start + begin : start + stop] @ chances[begin:stop]
            laws[:, first : first + chances.shape[1]] += added
    return laws


def _drawn(counts: Reals, size: int, sample_size: int, reach: int) -> tuple[NDArray[np.int64], Reals]:
    """The hypergeometric laws of the positive records in a sample, for some counts k.

    From P[s + 1]/P[s] = (k − s)·(m − s)/((s + 1)·(n − k − m + s + 1)), around the mean m·k/n.
    """
    width = min(2 * reach, sample_size) + 1
    least = np.ceil(counts + (sample_size - size))  # others than the positive records are too few
    means = np.maximum(np.floor(sample_size / size * counts), least)
    firsts = np.clip(means - reach, 0, sample_size + 1 - width)
    drawn = firsts[:, None] + np.arange(width - 1, dtype=np.float64)
    column = counts[:, None]
    rising = np.maximum(column - drawn, 0.0) * (sample_size - drawn)
    falling = np.maximum(size - column - sample_size + drawn + 1, 0.0) * (drawn + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log(rising / falling)
    return firsts.astype(np.int64), _laws(steps, (means - firsts).astype(np.int64))


def _laws(steps: Reals, centres: NDArray[np.int64]) -> Reals:
    """The laws whose logarithms have these steps, summed from a likely place of each."""
    ahead = np.arange(steps.shape[1]) >= centres[:, None]
    logs = np.zeros((steps.shape[0], steps.shape[1] + 1))
    np.cumsum(np.where(ahead, steps, 0.0), axis=1, out=logs[:, 1:])
    behind = np.where(ahead, 0.0, -steps)[:, ::-1]
    logs[:, :-1] += np.cumsum(behind, axis=1)[:, ::-1]
    logs = np.nan_to_num(logs, nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


_ROUNDING_OF_HALF = 2.0**-51  # the exponential of its logarithm


def independent_pair(neighbours: IndependentNeighbours, size: int, sample_size: int | None) -> Pair:
    """The laws of the count of the others moved by one, and not; or of those in a sample."""
    law = neighbours.others.deep_law()
    if law.variance == 0:
        count = law.mode + neighbours.positives
        return known_count_pair() if sample_size is None else _known_sample_pair(size, count, sample_size)
    pair, centre = shifted_pair(law)
    if sample_size is None:
        return pair
    return Sampling(pair, centre + neighbours.positives, size, sample_size).drawn_pair


@cache
def known_count_pair() -> LinearPair:
    """The laws of the last record alone, all others being known: 1, and 0."""
    half = Fraction(1, 2)
    base = TableLaw(0, np.log([0.5, 0.5]))
    return LinearPair(base, half, half, half, is_shift=True, precision=_ROUNDING_OF_HALF)


def _known_sample_pair(size: int, count: int, sample_size: int) -> LinearPair:
    """The laws of the number S in a sample, all records being known but one.

    With c positive ones among the others, C(c + 1, s)·C(n − c − 1, m − s) and C(c, s)·C(n − c, m − s) are the weights
    of m draws from n + 1 records with c + 1 positive ones, times n − c − m + s and c + 1 − s.
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


_RAREST = 1e-250  # a share of records of which the ratio of the laws overflows
_RAREST_RATIO = 1e-200  # a share from which on that ratio is better not taken at all
_NARROW = 64.0  # records², a variance below which a table is short


def exchangeable_pair(neighbours: ExchangeableNeighbours, size: int, sample_size: int | None) -> Pair:
    """The laws of the count, P₊ ∝ k·P and P₋ ∝ (n − k)·P; or of those in a sample."""
    population = neighbours.population
    _refuse_rare(population)
    if sample_size is not None and not neighbours.known:
        sample = population.sample(sample_size)
        if sample is not None:
            return _sample_pair(population, sample)[0]
    pair, centre = _sample_pair(population, Sample(population, Fraction(1)))
    if sample_size is None:
        return pair
    return Sampling(pair, centre + neighbours.positives, size, sample_size).drawn_pair


def _sample_pair(population: Exchangeable, sample: Sample) -> tuple[Pair, int]:
    """The laws of the number S of positive records among m of n, and the number that is offset 0.

    P₊/Q = E[K | S]/E[K] with E[K | S = s] = E[K] + gain·(s − E[S]).
    """
    size, drawn = population.size, sample.population.size
    rate = population.expected_positives / size
    if population.are_independent and _is_best_as_table(rate, size, drawn):
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


def _is_best_as_table(rate: Fraction, size: int, drawn: int) -> bool:
    """Whether the laws are narrow and one moved by a record, or so rare that ratios overflow."""
    is_narrow = drawn == size and size * rate * (1 - rate) < _NARROW
    return is_narrow or min(rate, 1 - rate) < _RAREST_RATIO


def _refuse_rare(population: Exchangeable) -> None:
    """Dependent records of a share that floats cannot weigh."""
    rate = population.expected_positives / population.size
    rarest = float(min(rate, 1 - rate))
    if rarest < _RAREST and not population.are_independent:
        raise ValueError(
            f"population must expect a share of at least {_RAREST} of positive and of negative "
            f"records, got {rarest!r}: use Binomial for rarer ones"
        )


def neighbour_pairs(mechanism: Mechanism, population: Population | None) -> list[Pair]:
    """The laws of what gets the noise, if one record is positive and if it is negative."""
    sample_size = _sample_size(mechanism, population)
    if population is None:
        return [known_count_pair()]
    require_instance(population, Population, "population")
    pairs = [_pair(one, population.size, sample_size) for one in population.worst_neighbours()]
    return list(dict.fromkeys(pairs))


def has_independent_records(population: Population) -> bool:
    """Whether no record tells about others."""
    kinds = population.worst_neighbours()
    return not any(isinstance(one, ExchangeableNeighbours) and not one.population.are_independent for one in kinds)


def _pair(neighbours: Neighbours, size: int, sample_size: int | None) -> Pair:
    """The laws for one kind of record."""
    match neighbours:
        case ExchangeableNeighbours():
            return exchangeable_pair(neighbours, size, sample_size)
        case IndependentNeighbours():
            return independent_pair(neighbours, size, sample_size)
    raise ValueError(
        "population must yield ExchangeableNeighbours or IndependentNeighbours, under which one "
        f"threshold parts the answers, got {neighbours!r}"
    )


def _sample_size(mechanism: Mechanism, population: Population | None) -> int | None:
    """How many records are drawn; None: all of them."""
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
