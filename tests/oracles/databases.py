"""δ of answers about the cells of a table, summed over every database of a few records."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from mpmath import mp, mpf
from numpy.typing import NDArray

mp.dps = 50

__all__ = ["answered_delta", "counts_of_databases", "exact_table_delta"]

Counts = tuple[int, ...]
Weights = NDArray[np.float64]


def counts_of_databases(size: int, rates: Sequence[Fraction]) -> dict[Counts, Fraction]:
    """The probability of each row of counts, one database after the other."""
    law: Counter[Counts] = Counter()
    for database in product(range(len(rates)), repeat=size):
        counts = tuple(database.count(cell) for cell in range(len(rates)))
        law[counts] += math.prod((rates[cell] for cell in database), start=Fraction(1))  # type: ignore[assignment]
    return dict(law)


def exact_table_delta(size: int, rates: Sequence[Fraction], epsilon: float) -> mpf:
    """δ of all counts without noise in 50 digits, the largest over all moves."""
    others, gain = counts_of_databases(size - 1, rates), mp.exp(mpf(epsilon))
    return max(
        mp.fsum(max(mpf(0), _real(one.get(counts, 0)) - gain * _real(two.get(counts, 0))) for counts in one)
        for one, two in _moves(others, len(rates))
    )


def answered_delta(
    size: int, rates: Sequence[Fraction], asked: Sequence[int], answer: Callable[[int], Weights], epsilon: float
) -> float:
    """δ of noisy answers about some cells, the largest over all moves."""
    others = counts_of_databases(size - 1, rates)
    found = 0.0
    for one, two in _moves(others, len(rates)):
        weights = {counts: float(mass) for counts, mass in one.items()}
        for counts, mass in two.items():
            weights[counts] = weights.get(counts, 0.0) - math.exp(epsilon) * float(mass)
        table = sum(mass * _outer([answer(counts[cell]) for cell in asked]) for counts, mass in weights.items())
        found = max(found, float(np.maximum(table, 0.0).sum()))
    return found


def _moves(
    others: dict[Counts, Fraction], cells: int
) -> Iterator[tuple[dict[Counts, Fraction], dict[Counts, Fraction]]]:
    """The laws of the counts with one more record in one cell, and in another."""
    for first, second in permutations(range(cells), 2):
        yield _with(others, first), _with(others, second)


def _with(others: dict[Counts, Fraction], cell: int) -> dict[Counts, Fraction]:
    """A law with one more record in a cell."""
    return {(*counts[:cell], counts[cell] + 1, *counts[cell + 1 :]): mass for counts, mass in others.items()}


def _outer(factors: Sequence[Weights]) -> Weights:
    """The probabilities of independent answers, one axis an answer."""
    table = np.ones(())
    for factor in factors:
        table = np.multiply.outer(table, factor)
    return table


def _real(value: Fraction | int) -> mpf:
    """A rational in 50 digits."""
    return mpf(Fraction(value).numerator) / Fraction(value).denominator
