"""Bounds of the divergences of more answers than can be had as a whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from noisycount.analysis.privacy.certified import Between, Bounded
from noisycount.analysis.privacy.divergences import Divergences, largest
from noisycount.analysis.privacy.lists.reduced import Pattern, ReducedList
from noisycount.analysis.privacy.pairs.of_population import record_pairs
from noisycount.analysis.privacy.repeated.repeated import repeated_answers
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import Binomial

__all__ = ["MOST_MOVES", "BoundedList", "OfTwo", "moves_of_two"]

MOST_MOVES = 600
"""The different pairs of patterns that are bounded one by one."""

_LEVELS = (1e-9, 1e-6, 1e-3, 0.02, 0.2, 0.5)  # of the number of records in two patterns
_ROUNDING = 1e-12  # relative: of a few probabilities, each known to 3e-13


@dataclass(frozen=True, slots=True)
class OfTwo:
    """A record in one of two patterns, beside an unknown number of others in these two.

    Attributes:
        size: The number of all records.
        share: The probability of both patterns.
        rate: That of the first, given both.
        mechanisms: Those of the questions that tell the two apart.
    """

    size: int
    share: float
    rate: float
    mechanisms: tuple[Exact | SymmetricNoise, ...]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Bounds of δ₊ and δ₋ if all records in other patterns are told, and how many they are.

        Then each answer is the count of the first pattern among the others, or of the second, and
        noise; and the fewer these are, the more it tells.
        """
        law = Binomial(self.size - 1, self.share).law()
        first, last = law.support
        steps = sorted({first, *(law.quantile(level) for level in _LEVELS)})
        sums = [[0.0] * len(epsilons), [0.0] * len(epsilons)]
        for low, high in pairwise([*steps, last + 1]):
            chance = law.probability(low, high - 1)
            for total, curve in zip(sums, self._among(low).directions(epsilons), strict=True):
                for place, one in enumerate(curve):
                    total[place] += chance * one.upper
        return _most(sums[0]), _most(sums[1])

    def _among(self, others: int) -> Divergences:
        """The divergences beside so many others in the two patterns."""
        pairs = record_pairs(Exact(), Binomial(others + 1, self.rate))
        return repeated_answers(tuple(pairs), self.mechanisms)


@dataclass(frozen=True, slots=True, eq=False)
class BoundedList:
    """At least what fewer questions show, and at most what is shown if others are told.

    Attributes:
        fewer: The first of the questions, as many as can be had as a whole.
        moves: Each pair of patterns, beside others of these alone.
    """

    fewer: Divergences
    moves: tuple[OfTwo, ...]

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Bounds of δ₊ and δ₋, whose value is the upper one."""
        lower = self.fewer.directions(epsilons)
        found = [move.directions(epsilons) for move in self.moves]
        upper = [largest(one[side] for one in found) for side in (0, 1)]
        return _between(lower[0], upper[0]), _between(lower[1], upper[1])


def _most(totals: list[float]) -> list[Bounded]:
    """Numbers of which only the upper ends are known."""
    return [Between.of_bounds(0.0, total * (1 + _ROUNDING)) for total in totals]


def _between(lower: list[Bounded], upper: list[Bounded]) -> list[Bounded]:
    """Numbers between the lower ends of some and the upper ones of others."""
    return [Between.of_bounds(a.lower, b.upper) for a, b in zip(lower, upper, strict=True)]


def moves_of_two(told: ReducedList) -> tuple[OfTwo, ...]:
    """A record in each of two patterns, the first change upwards; equal ones once."""
    return tuple(dict.fromkeys(_moves(told)))


def _moves(told: ReducedList) -> Iterator[OfTwo]:
    """A record in each of two patterns."""
    patterns: list[Pattern] = sorted(told.rates)
    for place, other in enumerate(patterns):
        for one in patterns[place + 1 :]:
            changed = [k for k, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
            noises = tuple(noise for k in changed for noise in told.mechanisms[k])
            share = min(1.0, told.rates[one] + told.rates[other])
            rate = told.rates[one] / (told.rates[one] + told.rates[other])
            yield OfTwo(told.size, share, rate, noises)
