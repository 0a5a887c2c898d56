"""The divergences of answers to a list of questions, by transforms.

Which way leads to the divergences of a list of questions.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from noisycount.analysis.privacy.bounds import Between, Bounded
from noisycount.analysis.privacy.composition.repeated import is_precise, repeated_answers
from noisycount.analysis.privacy.divergences import Divergences, whole_price
from noisycount.analysis.privacy.record_pairs import record_pairs
from noisycount.analysis.privacy.workloads.independent import IndependentList, is_of_independent
from noisycount.analysis.privacy.workloads.lattice import Lattice, is_continuous, kernel
from noisycount.analysis.privacy.workloads.lists import (
    MOST_MOVES,
    BoundedList,
    Pattern,
    ReducedList,
    is_noiseless,
    is_table,
    moves_of_two,
    table_answers,
)
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.populations.binomial import Binomial

__all__ = ["Listed", "listed_answers"]


MOST_ANSWERS = 3


"""The answers whose law is found as a whole."""


_MOST_PLACES = 1e9  # whole answers: some minutes


_FEW_PLACES = 3e6  # some tenths of a second


_MOST_FREQUENCIES = 3e7  # of a transform: 0.5 GB


_PLACES = 1.6e7  # of all offsets together, of which there are as many as that allows


_MOST_STEPS = 16  # of a record, each way


_OVERFLOW = 700.0  # ε whose exponential does not overflow


@frozen(eq=False, slots=False)
class Listed:
    """δ₊ and δ₋ of answers to up to three questions.

    What tells two atoms apart is only the difference of their patterns, as the answers of the other
    records are the same: δ = Σ_y (f(y − d) − e^ε·f(y))₊ of the law f of those, for d one of the
    differences.

    Attributes:
        told: The list.
    """

    told: ReducedList

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋: the record moves to where the first question that changes holds, or back."""
        moves = _moves(list(self._lattice.rates))
        factors = [math.exp(min(epsilon, _OVERFLOW)) for epsilon in epsilons]
        sums = np.zeros((2, 2, len(moves), len(epsilons)))
        for seen, told in self._lattice.slabs():
            added = _excesses(seen, moves, factors)
            sums[0] += added
            sums[1] += added if told is seen else _excesses(told, moves, factors)
        lower, upper = sums.max(axis=2)
        return self._bounded(lower[0], upper[0], factors), self._bounded(
            lower[1], upper[1], factors
        )

    def _bounded(self, lower: Reals, upper: Reals, factors: list[float]) -> list[Bounded]:
        """Bounds for each ε, with what laws may be off."""
        kernels, error = self._lattice.kernels, self._lattice.error
        relative = sum(kernel.error for kernel in kernels)
        share = min(kernel.share for kernel in kernels)
        found: list[Bounded] = []
        for low, high, factor in zip(lower.tolist(), upper.tolist(), factors, strict=True):
            off = (1 + factor) * error
            found.append(Between.of_bounds(low - off, high + off + 2 * relative, share))
        return found

    @cached_property
    def _lattice(self) -> Lattice:
        """The law of the answers about all records but one."""
        whole = _lattice(self.told, 1)
        continuous = sum(is_continuous(one) for _, one in self.told.answers)
        if not continuous:
            return whole
        offsets = max(1.0, _PLACES / whole.places)
        return _lattice(self.told, min(_MOST_STEPS, 1 << int(math.log2(offsets) / continuous)))


def is_within_reach(told: ReducedList) -> bool:
    """Whether the law of the answers is found as a whole."""
    if len(told.answers) > MOST_ANSWERS:
        return False
    lattice = _lattice(told, 1)
    return lattice.places <= _MOST_PLACES and lattice.frequencies <= _MOST_FREQUENCIES


def is_short(told: ReducedList) -> bool:
    """Whether the law of the answers lies on the integers, and is found at once."""
    if len(told.answers) > MOST_ANSWERS or any(is_continuous(one) for _, one in told.answers):
        return False
    return _lattice(told, 1).places <= _FEW_PLACES


def _lattice(told: ReducedList, steps: int) -> Lattice:
    """The law of the answers about all records but one, with so many steps a record."""
    axes = told.answers
    rates: dict[Pattern, float] = {
        tuple(pattern[place] for place, _ in axes): rate for pattern, rate in told.rates.items()
    }
    kernels = [kernel(one, steps if is_continuous(one) else 1) for _, one in axes]
    return Lattice(told.size - 1, rates, kernels)


def _moves(patterns: Sequence[Pattern]) -> list[Pattern]:
    """What a record can change of the counts, the first change upwards."""
    moves = {
        tuple(a - b for a, b in zip(one, other, strict=True))
        for one in patterns
        for other in patterns
    }
    return sorted(move for move in moves if move > (0,) * len(move))


def _excesses(law: Reals, moves: Sequence[Pattern], factors: Sequence[float]) -> Reals:
    """Σ_y (f(y − d) − e^ε·f(y))₊ for each move d and each ε, and for −d, shape (2, moves, ε)."""
    sums = np.zeros((2, len(moves), len(factors)))
    for place, move in enumerate(moves):
        moved, stayed = _shifted(law, move), _shifted(law, [-step for step in move])
        for column, factor in enumerate(factors):
            sums[0, place, column] = _excess(moved, stayed, factor)
            sums[1, place, column] = _excess(stayed, moved, factor)
    return sums


def _shifted(law: Reals, move: Sequence[int]) -> Reals:
    """The law moved, where that and the law moved back overlap; but for the last row."""
    parts = [
        slice(max(0, -step), size - max(0, step))
        for step, size in zip(move, law.shape, strict=True)
    ]
    return law[(slice(-1) if move[0] == 0 else parts[0], *parts[1:])]


def _excess(law: Reals, other: Reals, factor: float) -> float:
    """Σ (f − factor·g)₊."""
    gains = law - factor * other
    return float(np.maximum(gains, 0.0, out=gains).sum())


_MOST_PATTERNS = 100  # of which there are 4,950 pairs


_FEWER = 2  # questions whose law is found soon


def listed_answers(told: ReducedList) -> Divergences:
    """Those of answers to a list of questions: a list of one is a count.

    Args:
        told: The list, without what tells nothing new. Of many answers about one count, with
            noises of different kinds, the upper ends are those of the count; where all other
            records are known, what the ε of all answers leaves.

    Raises:
        ValueError: If there are more answers than can be had or bounded.
    """
    is_one = len(told.mechanisms) == 1
    if is_one and told.size == 1 and whole_price(told.mechanisms[0]) is None:
        _require_precise(told)
    if is_one and (is_precise(told.mechanisms[0]) or not is_within_reach(told)):
        population = Binomial(told.size, told.question_rate(0))
        return repeated_answers(tuple(record_pairs(Exact(), population)), told.mechanisms[0])
    if is_table(told) and (is_noiseless(told) or not is_within_reach(told)):
        return table_answers(told)
    if is_of_independent(told) and not is_short(told):
        return IndependentList(told)
    if is_within_reach(told):
        return Listed(told)
    moves = moves_of_two(told) if len(told.rates) <= _MOST_PATTERNS else ()
    if not 0 < len(moves) <= MOST_MOVES:
        raise ValueError(
            f"questions must be at most {MOST_ANSWERS} for an exact curve, and part records into "
            f"at most {MOST_MOVES} different pairs for bounds of it, got {len(told.mechanisms)} "
            f"that make {len(told.rates)} atoms: ask fewer, or add up the ε of the worst case"
        )
    return BoundedList(listed_answers(told.of(range(_least(told)))), moves)


def _require_precise(told: ReducedList) -> None:
    """The refusal of noises whose answers about one record nothing but the sum of ε bounds."""
    if not is_precise(told.mechanisms[0]) and not is_within_reach(told):
        raise ValueError(
            f"mechanism must be at most {MOST_ANSWERS} noises where they are of different kinds, "
            "one of which has no ε, and all other records are known, got "
            f"{len(told.answers)}: add up their prices"
        )


def _least(told: ReducedList) -> int:
    """How many of the first questions are had as a whole."""
    return _FEWER if is_within_reach(told.of(range(_FEWER))) else 1
