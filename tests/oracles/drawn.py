"""Curves of several answers from drawn databases and answers.

With the law f of the answers about n − 1 records, and draws y of it, the mean of (1 − e^ε·f(y + a_u − a_v)/f(y))₊ is
D_ε(P_u, P_v). It is 1 at most, so that the bound of Maurer and Pontil, *Empirical Bernstein Bounds and Sample Variance
Penalization* (2009), Theorem 4, holds for any number of draws.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

Density = Callable[[np.ndarray], np.ndarray]

MISSES = 1e-6
"""How often, at most, a pair of bounds is wrong."""

_DEEP = 8.5  # standard deviations beyond which a count has less than 1e-15
_PIECE = 2**22  # numbers that are held at once


def interval(values: np.ndarray, misses: float = MISSES) -> tuple[float, float]:
    """Between what the mean of values from 0 to 1 lies, except so often."""
    depth = math.log(4 / misses)
    spread = math.sqrt(2 * float(values.var(ddof=1)) * depth / len(values))
    spread += 7 * depth / (3 * (len(values) - 1))
    return float(values.mean()) - spread, float(values.mean()) + spread


def largest(ratios: Iterable[np.ndarray], epsilon: float, number: int) -> tuple[float, float]:
    """Between what the largest D_ε of so many moves lies, each told by f(y + a_u − a_v)/f(y)."""
    grown = math.exp(epsilon)
    found = [interval(np.maximum(0.0, 1 - grown * one), MISSES / number) for one in ratios]
    return max(low for low, _ in found), max(high for _, high in found)


def least(plus: np.ndarray, minus: np.ndarray, epsilon: float) -> float:
    """Return a lower bound of D_ε, from whether draws of neighbouring records lie in a set."""
    grown = math.exp(epsilon)
    low, _ = interval((plus + grown * (1 - minus)) / (1 + grown))
    return low * (1 + grown) - grown


def window(size: int, rate: float) -> np.ndarray:
    """The counts that hold all but 1e-15."""
    mean, reach = size * rate, _DEEP * math.sqrt(size * rate * (1 - rate)) + 20
    return np.arange(max(0, int(mean - reach)), min(size, math.ceil(mean + reach)) + 1)


def moved_ratios(
    size: int, rate: float, answers: np.ndarray, density: Density, reach: int
) -> tuple[np.ndarray, np.ndarray]:
    """f(y − 1)/f(y) and f(y + 1)/f(y) of q answers about one count of so many records."""
    from scipy.stats import binom

    law = np.pad(binom.pmf(np.arange(-2, size + 3), size, rate), reach)
    offsets = np.arange(-reach, reach + 1)
    middles = np.clip(np.rint(np.median(answers, axis=1)).astype(int), -1, size + 1)
    before, after = np.empty(len(answers)), np.empty(len(answers))
    step = max(1, _PIECE // (offsets.size * answers.shape[1]))
    for start in range(0, len(answers), step):
        rows = slice(start, start + step)
        places = middles[rows, None] + offsets
        told = np.log(density(answers[rows, None, :] - places[:, :, None])).sum(axis=2)
        likely = np.exp(told - told.max(axis=1, keepdims=True))
        here, less, more = (
            (law[np.clip(places + move + 2 + reach, 0, law.size - 1)] * likely).sum(axis=1) for move in (0, -1, 1)
        )
        before[rows], after[rows] = less / here, more / here
    return before, after


def two_counts(size: int, rates: Sequence[float]) -> tuple[np.ndarray, tuple[int, int]]:
    """The law of the counts of two questions, and its first places, from the counts one by one."""
    from scipy.stats import binom

    both, only, other, _ = rates
    rows, columns = window(size, both + only), window(size, both + other)
    table = np.zeros((rows.size, columns.size))
    places = np.arange(columns[-1] + 1)
    for row, chance in enumerate(binom.pmf(rows, size, both + only)):
        count = int(rows[row])
        inside = binom.pmf(places, count, both / (both + only))
        outside = binom.pmf(places, size - count, other / (1 - both - only))
        held = np.flatnonzero(inside > 0)
        law = np.convolve(inside[held[0] : held[-1] + 1], outside)
        start = int(columns[0]) - int(held[0])
        table[row] = chance * np.pad(law, (max(0, -start), 0))[max(0, start) :][: columns.size]
    return table, (int(rows[0]), int(columns[0]))


def discrete(density: Density, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """The whole errors up to a reach, and their probabilities."""
    places = np.arange(-reach, reach + 1)
    weights = density(places.astype(float))
    return places, weights / weights.sum()


def gaussian(scale: float) -> Density:
    """The density of a Gaussian error, up to a factor."""
    return lambda errors: np.exp(-((errors / scale) ** 2) / 2)


def laplace(scale: float) -> Density:
    """The density of a Laplace error, up to a factor."""
    return lambda errors: np.exp(-np.abs(errors) / scale)
