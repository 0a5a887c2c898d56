"""A list of questions, without what tells nothing new."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from noisycount.analysis.privacy.repeated.merged import merged
from noisycount.model.atoms.atoms import Atoms, Question
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["Pattern", "ReducedList", "reduced_list"]

Pattern = tuple[int, ...]
"""Which of some questions a record satisfies: ones and zeros."""


@dataclass(frozen=True, slots=True)
class ReducedList:
    """Different questions, of each of which it is open whether a record satisfies it.

    Attributes:
        size: The number of records.
        rates: The rate of each pattern; none is 0.
        mechanisms: How each question is answered: once without noise, or by one or more noises.
    """

    size: int
    rates: dict[Pattern, float]
    mechanisms: tuple[tuple[Exact | SymmetricNoise, ...], ...]

    @property
    def answers(self) -> list[tuple[int, Exact | SymmetricNoise]]:
        """The place of the question of each answer, and its mechanism."""
        return [(place, one) for place, told in enumerate(self.mechanisms) for one in told]

    def question_rate(self, place: int) -> float:
        """The probability that a record satisfies a question."""
        return min(1.0, math.fsum(p for pattern, p in self.rates.items() if pattern[place]))

    def of(self, places: Sequence[int]) -> "ReducedList":
        """The list of some of the questions only."""
        rates: dict[Pattern, list[float]] = {}
        for pattern, rate in self.rates.items():
            rates.setdefault(tuple(pattern[place] for place in places), []).append(rate)
        summed = {pattern: min(1.0, math.fsum(parts)) for pattern, parts in rates.items()}
        return ReducedList(self.size, summed, tuple(self.mechanisms[place] for place in places))


def reduced_list(
    atoms: Atoms, questions: Sequence[Question], mechanisms: Sequence[Exact | SymmetricNoise]
) -> ReducedList:
    """The list without questions that are certain, and with equal ones as one.

    The answer to the complement of a question tells what one to the question would, as the size is
    public and noise is symmetric.

    Args:
        atoms: What the outsider knows.
        questions: What each mechanism answers.
        mechanisms: How.

    Raises:
        ValueError: If no record has a neighbour.
    """
    patterns = atoms.patterns(questions)
    if atoms.size == 0:
        raise ValueError("population must leave at least one record unknown, got none")
    columns = list(zip(*patterns, strict=True))
    if len(patterns) < 2:  # noqa: PLR2004  (one pattern is no choice)
        raise ValueError(
            f"population must leave a question uncertain, got {atoms!r}: "
            "a certain property has no neighbours"
        )
    groups: dict[Pattern, tuple[Pattern, list[Exact | SymmetricNoise]]] = {}
    for column, mechanism in zip(columns, mechanisms, strict=True):
        if len(set(column)) > 1:
            same = tuple(bit ^ column[0] for bit in column)
            groups.setdefault(same, (column, []))[1].append(mechanism)
    kept = [column for column, _ in groups.values()]
    rates = dict(zip(zip(*kept, strict=True), patterns.values(), strict=True))
    return ReducedList(atoms.size, rates, tuple(_fewer(told) for _, told in groups.values()))


def _fewer(mechanisms: Sequence[Exact | SymmetricNoise]) -> tuple[Exact | SymmetricNoise, ...]:
    """The mechanisms of answers about one count, in as few as tell as much."""
    noises = [one for one in mechanisms if isinstance(one, SymmetricNoise)]
    return tuple(merged(noises)) if len(noises) == len(mechanisms) else (Exact(),)
