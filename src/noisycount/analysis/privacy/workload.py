"""Lists of questions about the same records, reduced to the answers that add information, and bounds for long lists.

`Workload` is a reduced list. A list of disjoint questions is a table of counts; a list that is too long for an exact
privacy curve has bounds.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import chain, combinations, pairwise

import numpy as np

from noisycount.analysis.privacy.bounds import NOTHING, Bounded, BoundedProbability, Divergences, largest_bounds
from noisycount.analysis.privacy.composition import composed_answers, merged_noises
from noisycount.analysis.privacy.disjoint_cells import Cell, TableAnswers
from noisycount.analysis.privacy.neighbour_pairs import neighbour_pairs
from noisycount.frozen import frozen
from noisycount.model.atoms import Atoms, Question
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.populations.binomial import Binomial

Pattern = tuple[int, ...]  # ones and zeros: the questions that a record satisfies


@frozen
class Workload:
    """A list of different questions, each of which some records satisfy and others do not.

    Attributes:
        mechanisms: For each question, the mechanisms that answer it: `Exact` alone, or one or more noises.
    """

    size: int  # number of unknown records
    rates: dict[Pattern, float]  # rate of each pattern, above 0
    mechanisms: tuple[tuple[Exact | SymmetricNoise, ...], ...]

    @property
    def answers(self) -> list[tuple[int, Exact | SymmetricNoise]]:
        """Index of the question and mechanism of each answer."""
        return [(place, one) for place, told in enumerate(self.mechanisms) for one in told]

    def question_rate(self, place: int) -> float:
        """Return the probability that a record satisfies a question."""
        return min(1.0, math.fsum(p for pattern, p in self.rates.items() if pattern[place]))

    def select(self, places: Sequence[int]) -> "Workload":
        """Return the list of some of the questions."""
        rates: dict[Pattern, list[float]] = {}
        for pattern, rate in self.rates.items():
            rates.setdefault(tuple(pattern[place] for place in places), []).append(rate)
        summed = {pattern: min(1.0, math.fsum(parts)) for pattern, parts in rates.items()}
        return Workload(self.size, summed, tuple(self.mechanisms[place] for place in places))


def resolve_questions(
    atoms: Atoms, questions: Iterable[Iterable[int]] | None, mechanisms: int | None
) -> tuple[Question, ...]:
    """Return the questions that the mechanisms answer.

    Args:
        atoms: The atoms, which contain every question.
        questions: Sets of numbers of atoms. Default: the questions of the atoms.
        mechanisms: Number of mechanisms that answer them; None: any number.

    Raises:
        ValueError: If the numbers of questions and mechanisms differ, or there is no question.
    """
    asked = atoms.questions if questions is None else atoms.checked(questions)
    if mechanisms is not None and len(asked) != mechanisms:
        raise ValueError(f"questions must be as many as the {mechanisms} mechanisms that answer them, got {len(asked)}")
    if not asked:
        raise ValueError("questions must have at least one question, got none: give sets of atoms")
    return asked


def reduced_workload(
    atoms: Atoms, questions: Sequence[Question], mechanisms: Sequence[Exact | SymmetricNoise]
) -> Workload:
    """Return the list without certain questions (which all records or none satisfy), with equal questions as one.

    A question and its complement count as equal: as the size is public and noise is symmetric, their answers reveal the
    same.
    """
    patterns = atoms.patterns(questions)
    if atoms.size == 0:
        raise ValueError("population must leave at least one record unknown, got none")
    columns = list(zip(*patterns, strict=True))
    if len(patterns) < 2:  # noqa: PLR2004  (one pattern is no choice)
        raise ValueError(
            f"population must leave a question uncertain, got {atoms!r}: no record can differ in a property that is "
            "certain"
        )
    groups: dict[Pattern, tuple[Pattern, list[Exact | SymmetricNoise]]] = {}
    for column, mechanism in zip(columns, mechanisms, strict=True):
        if len(set(column)) > 1:
            same = tuple(bit ^ column[0] for bit in column)
            groups.setdefault(same, (column, []))[1].append(mechanism)
    kept = [column for column, _ in groups.values()]
    rates = dict(zip(zip(*kept, strict=True), patterns.values(), strict=True))
    return Workload(atoms.size, rates, tuple(_merge_mechanisms(told) for _, told in groups.values()))


def _merge_mechanisms(mechanisms: Sequence[Exact | SymmetricNoise]) -> tuple[Exact | SymmetricNoise, ...]:
    """Return fewer mechanisms that reveal as much about one count: `Exact` if there is one, else merged noises."""
    noises = [one for one in mechanisms if isinstance(one, SymmetricNoise)]
    return tuple(merged_noises(noises)) if len(noises) == len(mechanisms) else (Exact(),)


def is_table(workload: Workload) -> bool:
    """Return True if no record satisfies two of the questions, and each question is answered once."""
    disjoint = all(sum(pattern) <= 1 for pattern in workload.rates)
    return disjoint and len(workload.answers) == len(workload.mechanisms)


def is_noiseless(workload: Workload) -> bool:
    """Return True if no answer has noise."""
    return all(isinstance(one, Exact) for _, one in workload.answers)


def table_answers(workload: Workload) -> TableAnswers:
    """Return the divergences of disjoint questions, with a cell for the records that satisfy none of them.

    The count of that cell has no answer. It is known, as an exact count, only if all answers are exact.
    """
    rest = Exact() if is_noiseless(workload) else None
    cells = (
        Cell(rate, workload.mechanisms[pattern.index(1)][0] if any(pattern) else rest)
        for pattern, rate in workload.rates.items()
    )
    return TableAnswers(workload.size, tuple(cells))


MOST_MOVES = 600  # largest number of different pairs of patterns that are bounded one by one
_LEVELS = (1e-9, 1e-6, 1e-3, 0.02, 0.2, 0.5)  # probabilities: quantiles of the number of records in two patterns
_ROUNDING = 1e-12  # relative rounding error of a sum of a few probabilities, each with an error of 3e-13


@frozen
class PatternMove:
    """A change of one record between two patterns, hidden by an unknown number of other records in the two patterns."""

    size: int  # number of unknown records
    share: float  # probability of both patterns
    rate: float  # probability of the first pattern, given both
    mechanisms: tuple[Exact | SymmetricNoise, ...]  # mechanisms of the questions that distinguish the two patterns

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return bounds of δ₊ and δ₋ if the adversary knows all records of other patterns, and their number.

        Then each answer is the count of the first or of the second pattern among the remaining records, plus noise. The
        fewer these records are, the larger is δ: each range of their number is replaced by its smallest number.
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
        return [BoundedProbability.of_bounds(0.0, one) for one in plus], [
            BoundedProbability.of_bounds(0.0, one) for one in minus
        ]


@frozen(eq=False)
class BoundedWorkload:
    """Bounds of a long list: from below by a shorter list, from above by an adversary who knows more."""

    fewer: Divergences | None  # of the first questions, as many as have an exact curve; None: the lower bound is 0
    moves: tuple[PatternMove, ...]  # changes of one record between each two patterns

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋ with their bounds for each ε; the value is the upper bound."""
        found = [move.directions(epsilons) for move in self.moves]
        nothing: list[Bounded] = [NOTHING for _ in epsilons]
        lowers = (nothing, nothing) if self.fewer is None else self.fewer.directions(epsilons)
        plus, minus = (
            [BoundedProbability.of_bounds(a.lower, b.upper) for a, b in zip(lower, largest_bounds(upper), strict=True)]
            for lower, upper in zip(lowers, zip(*found, strict=True), strict=True)
        )
        return list(plus), list(minus)


def moves_of_two(workload: Workload) -> tuple[PatternMove, ...]:
    """Return the distinct changes of one record between two patterns, each upwards in the first changed question."""
    moves = []
    for other, one in combinations(sorted(workload.rates), 2):
        changed = [noises for noises, a, b in zip(workload.mechanisms, one, other, strict=True) if a != b]
        share = workload.rates[one] + workload.rates[other]
        rate = workload.rates[one] / share
        moves.append(PatternMove(workload.size, min(1.0, share), rate, tuple(chain.from_iterable(changed))))
    return tuple(dict.fromkeys(moves))
