"""δ of counts of a few records, summed over every database of them, and every way to draw samples."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from mpmath import mp, mpf
from numpy.typing import NDArray

mp.dps = 50

__all__ = ["answered_delta", "exact_delta"]

Weights = NDArray[np.float64]
Law = Counter[tuple[int, ...]]
Questions = Sequence[Collection[int]]  # each as the cells in which a record counts
Drawings = Sequence[Sequence[Iterable[int]]]  # each as the records that every question is asked of; none: of all


def exact_delta(
    size: int, rates: Sequence[Fraction], questions: Questions, epsilon: float, drawings: Drawings = ()
) -> mpf:
    """δ of counts without noise in 50 digits, the largest over all moves of a record between two cells."""
    gain = mp.exp(mpf(epsilon))
    return max(
        mp.fsum(max(mpf(0), _real(one[counts]) - gain * _real(two[counts])) for counts in one)
        for one, two in permutations(_laws(size, rates, questions, drawings), 2)
    )


def answered_delta(  # noqa: PLR0913, PLR0917  (what is answered, and how)
    size: int,
    rates: Sequence[Fraction],
    questions: Questions,
    epsilon: float,
    answer: Callable[[int], Weights],
    drawings: Drawings = (),
) -> float:
    """δ of noisy answers, whose probabilities follow from each count, the largest over all moves."""
    found = 0.0
    for one, two in permutations(_laws(size, rates, questions, drawings), 2):
        weights = {counts: float(one[counts]) - math.exp(epsilon) * float(two[counts]) for counts in {*one, *two}}
        table = sum(mass * _outer([answer(count) for count in counts]) for counts, mass in weights.items())
        found = max(found, float(np.maximum(table, 0.0).sum()))
    return found


def _laws(size: int, rates: Sequence[Fraction], questions: Questions, drawings: Drawings) -> list[Law]:
    """The law of all counts if the first record is in each cell."""
    laws = [Law() for _ in rates]
    ways = drawings or [[range(size)] * len(questions)]
    for others in product(range(len(rates)), repeat=size - 1):
        chance = math.prod((rates[cell] for cell in others), start=Fraction(1)) / len(ways)
        for (first, law), samples in product(enumerate(laws), ways):
            cells = (first, *others)
            counts = (
                sum(cells[record] in question for record in sample)
                for sample, question in zip(samples, questions, strict=True)
            )
            law[tuple(counts)] += chance  # type: ignore[assignment]
    return laws


def _outer(factors: Sequence[Weights]) -> Weights:
    """The probabilities of independent answers, one axis an answer."""
    table = np.ones(())
    for factor in factors:
        table = np.multiply.outer(table, factor)
    return table


def _real(value: Fraction | int) -> mpf:
    """A rational in 50 digits."""
    return mpf(Fraction(value).numerator) / Fraction(value).denominator
