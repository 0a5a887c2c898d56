"""δ of one binomial count that is answered once, or twice with noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from noisycount.analysis.privacy.cells.answers import answer_table, positive_sum
from noisycount.analysis.privacy.cells.cell import Move
from noisycount.analysis.privacy.cells.others import counts_within
from noisycount.analysis.privacy.certified import Certified
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.pairs.of_population import record_pairs
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.discrete_laplace import DiscreteLaplace
from noisycount.model.noises.laplace import Laplace
from noisycount.model.populations.binomial import Binomial

__all__ = ["Answer", "OneCount", "least_of_one_count", "most_of_one_count"]

Answer = Exact | SymmetricNoise
"""How a count is answered."""

_DEPTH = 34.0  # nepers: a count farther off has a probability below 1e-14
_LOST = 1e-12  # of the probability of all counts that are not in a table
_REMEMBERED = 1 << 12  # curves, of a few numbers each


@dataclass(frozen=True, slots=True)
class OneCount:
    """How many of some records are in the rarer of two cells, one in a million billions perhaps.

    Attributes:
        population: The records of the two cells.
        is_turned: Whether P₊ has the record in the other cell.
    """

    population: Binomial
    is_turned: bool

    @classmethod
    def of(cls, move: Move, total: int) -> "OneCount":
        """The count where so many records are in the two cells of a move."""
        first, second = move.first.rate, move.second.rate
        return cls(Binomial(total, min(first, second) / (first + second)), second < first)


def most_of_one_count(
    count: OneCount, answers: Sequence[Answer], epsilons: list[float]
) -> list[float]:
    """An upper bound of δ₊ of one count that has one or two answers, for each ε in rising order.

    The count itself tells more than two answers. From an answer with discrete Laplace noise one
    with Laplace noise of the same scale can be made (docs/several-answers.md), so that it tells
    more, too.
    """
    if len(answers) == 1:
        return [one.upper for one in _sticks(count, answers[0], epsilons)]
    most = _sticks(count, Exact(), epsilons)
    finer = [_discrete(one) for one in answers]
    if not all(isinstance(one, SymmetricNoise) and one.is_discrete for one in finer):
        return [one.upper for one in most]
    found = [_of_two(count, finer, epsilon)[1] for epsilon in epsilons]
    return [min(one.upper, high) for one, high in zip(most, found, strict=True)]


def least_of_one_count(
    count: OneCount, answers: Sequence[Answer], epsilons: list[float]
) -> list[float]:
    """A lower bound of the same: each answer alone tells less, and so do answers in bins."""
    least = [one.lower for one in _sticks(count, answers[0], epsilons)]
    if len(answers) == 1:
        return least
    found = [_of_two(count, answers, epsilon)[0] for epsilon in epsilons]
    return [max(both) for both in zip(least, found, strict=True)]


def _sticks(count: OneCount, answer: Answer, epsilons: list[float]) -> tuple[Certified, ...]:
    """δ₊ of one answer."""
    return _known_sticks(count, answer, tuple(epsilons))


@lru_cache(maxsize=_REMEMBERED)
def _known_sticks(
    count: OneCount, answer: Answer, epsilons: tuple[float, ...]
) -> tuple[Certified, ...]:
    """The same: both ends of a bracket ask for it, and so do tables of equal cells."""
    (pair,) = record_pairs(answer, count.population)
    errors = None if isinstance(answer, Exact) else answer.errors
    seen = pair.mirrored if count.is_turned else pair
    return tuple(hockey_sticks(seen, errors, list(epsilons)))


def _discrete(noise: Answer) -> Answer:
    """Discrete noise from whose answers those of this one can be made, if there is such one."""
    return DiscreteLaplace(noise.exact_scale) if isinstance(noise, Laplace) else noise


def _of_two(count: OneCount, answers: Sequence[Answer], epsilon: float) -> tuple[float, float]:
    """Below and above δ₊ of two answers in bins; (0, 1) where these would be too many."""
    others = Binomial(count.population.size - 1, count.population.rate)
    low, high = counts_within(others, _DEPTH)
    first, second = (answer_table(one, low, high + 1) for one in answers)
    if first is None or second is None:
        return 0.0, 1.0
    law = others.deep_law()
    counts = np.arange(low, high + 2)
    gain = math.exp(epsilon)
    with_record, without = law.pmf(counts - 1), law.pmf(counts)
    weights = without - gain * with_record if count.is_turned else with_record - gain * without
    value, rounding = positive_sum(first, weights, second)
    most = value + first.missed + second.missed + _LOST + rounding
    return max(0.0, value - gain * _LOST - rounding), min(1.0, most)
