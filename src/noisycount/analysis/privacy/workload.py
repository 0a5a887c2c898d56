"""A list of questions without what tells nothing new; as a table; and bounds of one too long."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain, combinations, pairwise

import numpy as np

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


def asked_questions(
    atoms: Atoms, questions: Iterable[Iterable[int]] | None, mechanisms: int | None
) -> tuple[Question, ...]:
    """What so many mechanisms answer; None: the questions of the atoms, or any number of mechanisms."""
    asked = atoms.questions if questions is None else atoms.checked(questions)
    if mechanisms is not None and len(asked) != mechanisms:
        raise ValueError(f"questions must be as many as the {mechanisms} mechanisms that answer them, got {len(asked)}")
    if not asked:
        raise ValueError("questions must hold one at least, got none: give sets of atoms")
    return asked


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
    """The divergences of disjoint questions, and of what satisfies none of them.

    Nobody asks for the count of the rest, which is known if those of all others are.
    """
    rest = Exact() if is_noiseless(workload) else None
    cells = (
        Cell(rate, workload.mechanisms[pattern.index(1)][0] if any(pattern) else rest)
        for pattern, rate in workload.rates.items()
    )
    return TableAnswers(workload.size, tuple(cells))


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
        sums = np.zeros((2, len(epsilons)))
        for low, high in pairwise([*steps, last + 1]):
            pairs = neighbour_pairs(Exact(), Binomial(low + 1, self.rate))
            found = composed_answers(tuple(pairs), self.mechanisms).directions(epsilons)
            sums += law.probability(low, high - 1) * np.array([[one.upper for one in side] for side in found])
        plus, minus = (sums * (1 + _ROUNDING)).tolist()
        return [Between.of_bounds(0.0, one) for one in plus], [Between.of_bounds(0.0, one) for one in minus]


@frozen(eq=False)
class BoundedWorkload:
    """At least what fewer questions show, and at most what is shown if others are told."""

    fewer: Divergences  # the first of the questions, as many as can be had as a whole
    moves: tuple[PatternMove, ...]  # each pair of patterns, beside others of these alone

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Bounds of δ₊ and δ₋, whose value is the upper one."""
        found = [move.directions(epsilons) for move in self.moves]
        plus, minus = (
            [Between.of_bounds(a.lower, b.upper) for a, b in zip(lower, largest(upper), strict=True)]
            for lower, upper in zip(self.fewer.directions(epsilons), zip(*found, strict=True), strict=True)
        )
        return list(plus), list(minus)


def moves_of_two(workload: Workload) -> tuple[PatternMove, ...]:
    """A record in each of two patterns, the first change upwards; equal ones once."""
    moves = []
    for other, one in combinations(sorted(workload.rates), 2):
        changed = [noises for noises, a, b in zip(workload.mechanisms, one, other, strict=True) if a != b]
        share = workload.rates[one] + workload.rates[other]
        rate = workload.rates[one] / share
        moves.append(PatternMove(workload.size, min(1.0, share), rate, tuple(chain.from_iterable(changed))))
    return tuple(dict.fromkeys(moves))
