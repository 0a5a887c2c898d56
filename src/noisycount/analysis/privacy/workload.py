"""A list of questions without what tells nothing new; as a table; and bounds of one too long."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from noisycount.analysis.privacy.bounds import Between, Bounded, Divergences, largest
from noisycount.analysis.privacy.composition import composed_answers, merged_noises
from noisycount.analysis.privacy.disjoint_cells import Cell, TableAnswers
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.frozen import frozen
from noisycount.model.atoms import Atoms, Question
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import Binomial

Pattern = tuple[int, ...]  # which of some questions a record satisfies: ones and zeros


@frozen
class Workload:
    """Different questions, of each of which it is open whether a record satisfies it.

    Attributes:
        mechanisms: How each question is answered: once without noise, or by one or more noises.
    """

    size: int
    rates: dict[Pattern, float]  # the rate of each pattern; none is 0
    mechanisms: tuple[tuple[Exact | SymmetricNoise, ...], ...]

    @property
    def answers(self) -> list[tuple[int, Exact | SymmetricNoise]]:
        """The place of the question of each answer, and its mechanism."""
        return [(place, one) for place, told in enumerate(self.mechanisms) for one in told]

    def question_rate(self, place: int) -> float:
        """The probability that a record satisfies a question."""
        return min(1.0, math.fsum(p for pattern, p in self.rates.items() if pattern[place]))

    def of(self, places: Sequence[int]) -> "Workload":
        """The list of some of the questions only."""
        rates: dict[Pattern, list[float]] = {}
        for pattern, rate in self.rates.items():
            rates.setdefault(tuple(pattern[place] for place in places), []).append(rate)
        summed = {pattern: min(1.0, math.fsum(parts)) for pattern, parts in rates.items()}
        return Workload(self.size, summed, tuple(self.mechanisms[place] for place in places))


def reduced_workload(
    atoms: Atoms, questions: Sequence[Question], mechanisms: Sequence[Exact | SymmetricNoise]
) -> Workload:
    """The list without questions that are certain, and with equal ones as one.

    The answer to the complement of a question tells what one to the question would, as the size is public and noise is
    symmetric.
    """
    patterns = atoms.patterns(questions)
    if atoms.size == 0:
        raise ValueError("population must leave at least one record unknown, got none")
    columns = list(zip(*patterns, strict=True))
    if len(patterns) < 2:  # noqa: PLR2004  (one pattern is no choice)
        raise ValueError(
            f"population must leave a question uncertain, got {atoms!r}: a certain property has no neighbours"
        )
    groups: dict[Pattern, tuple[Pattern, list[Exact | SymmetricNoise]]] = {}
    for column, mechanism in zip(columns, mechanisms, strict=True):
        if len(set(column)) > 1:
            same = tuple(bit ^ column[0] for bit in column)
            groups.setdefault(same, (column, []))[1].append(mechanism)
    kept = [column for column, _ in groups.values()]
    rates = dict(zip(zip(*kept, strict=True), patterns.values(), strict=True))
    return Workload(atoms.size, rates, tuple(_fewer(told) for _, told in groups.values()))


def _fewer(mechanisms: Sequence[Exact | SymmetricNoise]) -> tuple[Exact | SymmetricNoise, ...]:
    """The mechanisms of answers about one count, in as few as tell as much."""
    noises = [one for one in mechanisms if isinstance(one, SymmetricNoise)]
    return tuple(merged_noises(noises)) if len(noises) == len(mechanisms) else (Exact(),)


def is_table(workload: Workload) -> bool:
    """Whether no record satisfies two of the questions, each of which is answered once."""
    disjoint = all(sum(pattern) <= 1 for pattern in workload.rates)
    return disjoint and len(workload.answers) == len(workload.mechanisms)


def is_noiseless(workload: Workload) -> bool:
    """Whether no answer has noise."""
    return all(isinstance(one, Exact) for _, one in workload.answers)


def table_answers(workload: Workload) -> TableAnswers:
    """The divergences of disjoint questions, and of what satisfies none of them."""
    return TableAnswers(workload.size, tuple(_cells(workload)))


def _cells(workload: Workload) -> Iterator[Cell]:
    """The cells; the count of the last is known if those of all others are."""
    mechanisms, is_exact = [one for _, one in workload.answers], is_noiseless(workload)
    for pattern, rate in workload.rates.items():
        yield Cell(rate, _mechanism(pattern, mechanisms) or (Exact() if is_exact else None))


def _mechanism(pattern: Pattern, mechanisms: list[Exact | SymmetricNoise]) -> Exact | SymmetricNoise | None:
    """How the count of a cell is answered; None: nobody asks for it."""
    return mechanisms[pattern.index(1)] if any(pattern) else None


MOST_MOVES = 600  # the different pairs of patterns that are bounded one by one
_LEVELS = (1e-9, 1e-6, 1e-3, 0.02, 0.2, 0.5)  # of the number of records in two patterns
_ROUNDING = 1e-12  # relative: of a few probabilities, each known to 3e-13


@frozen
class PatternMove:
    """A record in one of two patterns, beside an unknown number of others in these two."""

    size: int
    share: float  # the probability of both patterns
    rate: float  # that of the first, given both
    mechanisms: tuple[Exact | SymmetricNoise, ...]  # those of the questions that tell the two apart

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Bounds of δ₊ and δ₋ if all records in other patterns are told, and how many they are.

        Then each answer is the count of the first pattern among the others, or of the second, and noise; and the fewer
        these are, the more it tells.
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
        return _upper_ends(sums[0]), _upper_ends(sums[1])

    def _among(self, others: int) -> Divergences:
        """The divergences beside so many others in the two patterns."""
        pairs = neighbour_pairs(Exact(), Binomial(others + 1, self.rate))
        return composed_answers(tuple(pairs), self.mechanisms)


@frozen(eq=False)
class BoundedWorkload:
    """At least what fewer questions show, and at most what is shown if others are told."""

    fewer: Divergences  # the first of the questions, as many as can be had as a whole
    moves: tuple[PatternMove, ...]  # each pair of patterns, beside others of these alone

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Bounds of δ₊ and δ₋, whose value is the upper one."""
        lower = self.fewer.directions(epsilons)
        found = [move.directions(epsilons) for move in self.moves]
        upper = [largest(one[side] for one in found) for side in (0, 1)]
        return _between_ends(lower[0], upper[0]), _between_ends(lower[1], upper[1])


def _upper_ends(totals: list[float]) -> list[Bounded]:
    """Numbers of which only the upper ends are known."""
    return [Between.of_bounds(0.0, total * (1 + _ROUNDING)) for total in totals]


def _between_ends(lower: list[Bounded], upper: list[Bounded]) -> list[Bounded]:
    """Numbers between the lower ends of some and the upper ones of others."""
    return [Between.of_bounds(a.lower, b.upper) for a, b in zip(lower, upper, strict=True)]


def moves_of_two(workload: Workload) -> tuple[PatternMove, ...]:
    """A record in each of two patterns, the first change upwards; equal ones once."""
    return tuple(dict.fromkeys(_pattern_moves(workload)))


def _pattern_moves(workload: Workload) -> Iterator[PatternMove]:
    """A record in each of two patterns."""
    patterns: list[Pattern] = sorted(workload.rates)
    for place, other in enumerate(patterns):
        for one in patterns[place + 1 :]:
            changed = [k for k, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
            noises = tuple(noise for k in changed for noise in workload.mechanisms[k])
            share = min(1.0, workload.rates[one] + workload.rates[other])
            rate = workload.rates[one] / (workload.rates[one] + workload.rates[other])
            yield PatternMove(workload.size, share, rate, noises)
