"""Pairs of laws for records that can be exchanged: they are linear in the count."""

import math
from fractions import Fraction

from noisycount.analysis.privacy.pairs.linear_pair import LinearPair
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.analysis.privacy.pairs.tables import sampled_pair, sampled_shift_pair
from noisycount.model.populations.binomial import Binomial
from noisycount.model.populations.exchangeable import Exchangeable, ExchangeableNeighbours, Sample

__all__ = ["exchangeable_pair"]

_RAREST = 1e-250  # a share of records of which the ratio of the laws overflows
_RAREST_RATIO = 1e-200  # a share from which on that ratio is better not taken at all
_NARROW = 64.0  # records², a variance below which a table is short


def exchangeable_pair(
    neighbours: ExchangeableNeighbours, size: int, sample_size: int | None
) -> Pair:
    """The laws of the count, P₊ ∝ k·P and P₋ ∝ (n − k)·P; or of those in a sample.

    Args:
        neighbours: The record, beside what is known and what is not.
        size: The number of all records.
        sample_size: How many of them are drawn; None: all.
    """
    population = neighbours.population
    _refuse_rare(population)
    if sample_size is not None and not neighbours.known:
        sample = population.sample(sample_size)
        if sample is not None:
            return _sample_pair(population, sample)[0]
    pair, centre = _sample_pair(population, Sample(population, Fraction(1)))
    if sample_size is None:
        return pair
    return sampled_pair(pair, centre + neighbours.positives, size, sample_size)


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
