"""Legendre series through the values of a smooth function at some integers, for its sum or its values at all integers.

A run of integers is halved until 24 values determine the function in each part.
"""

import math
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import gram_rule

TERMS = 24  # of a series
SHORTEST = 4 * TERMS  # runs of fewer integers take the function at each integer
_TOLERANCE = 1e-10  # largest size of the last terms of a series, relative to the sum; later terms are far smaller


@frozen(eq=False, slots=False)
class IntegerSeries:
    """The Legendre series through the values at integers near the Chebyshev points of 0..length − 1."""

    length: int  # number of integers, at least SHORTEST
    nodes: NDArray[np.int64]  # the integers with values, ascending, shape (TERMS,)
    matrix: Reals  # from the values to the coefficients of the series, shape (TERMS, TERMS)

    def terms_at(self, places: Reals) -> Reals:
        """Return the terms of the series at some places of 0..length − 1, shape (places, TERMS)."""
        return np.asarray(legvander(2 * places / (self.length - 1) - 1, TERMS - 1), dtype=np.float64)

    @cached_property
    def interpolation(self) -> Reals:
        """Matrix from the values at the nodes to the values at all integers, shape (length, TERMS)."""
        return np.asarray(self.terms_at(np.arange(self.length, dtype=np.float64)) @ self.matrix)

    @cached_property
    def sum_weights(self) -> Reals:
        """Weights of the values at the nodes in the sum over all integers, shape (TERMS,)."""
        places, weights = gram_rule(self.length)
        return np.asarray(weights @ self.terms_at(places) @ self.matrix)

    @property
    def last_terms(self) -> Reals:
        """Matrix from the values at the nodes to the last three coefficients, shape (3, TERMS)."""
        return self.matrix[-3:]


@lru_cache(maxsize=64)
def integer_series(length: int) -> IntegerSeries:
    """Return the series of a run of at least SHORTEST integers."""
    half, order = (length - 1) / 2, np.arange(TERMS)
    nodes = np.maximum(np.round(half * (1 - np.cos(np.pi * order / (TERMS - 1)))), order)
    nodes = np.minimum(nodes, length - TERMS + order)  # all nodes differ
    matrix = np.linalg.inv(legvander(nodes / half - 1, TERMS - 1))
    return IntegerSeries(length, nodes.astype(np.int64), np.asarray(matrix, dtype=np.float64))


def sum_of_smooth(values: Callable[[Reals], Reals], edges: Reals) -> float:
    """Return the sum of a function over the integers from the first edge up to, not including, the last edge.

    Args:
        values: The function at ascending integers; returns an array of the same shape. It is smooth between two edges.
        edges: Ascending integers.
    """
    runs = [(int(low), int(high)) for low, high in pairwise(edges.tolist())]
    total = 0.0
    while runs:
        all_series = [_series_of(low, high) for low, high in runs]
        parts = _values_at_nodes(values, runs)
        sums = [
            float(part.sum() if series is None else series.sum_weights @ part)
            for part, series in zip(parts, all_series, strict=True)
        ]
        allowed = _TOLERANCE * (total + sum(map(abs, sums))) / len(runs)
        rough = []
        for (low, high), part, series, mass in zip(runs, parts, all_series, sums, strict=True):
            if series is None or float(np.abs(series.last_terms @ part).sum()) * (high - low) <= allowed:
                total += mass
            else:
                rough += _split_in_halves(low, high)
        runs = rough
    return total


def _series_of(start: int, stop: int) -> IntegerSeries | None:
    """Return the series of a run, or None if the run takes the function at each integer."""
    return integer_series(stop - start) if stop - start >= SHORTEST else None


def _values_at_nodes(values: Callable[[Reals], Reals], runs: list[tuple[int, int]]) -> list[NDArray[np.float64]]:
    """Return the values at the nodes of each run, at all integers of a short one."""
    points = []
    for low, high in runs:
        series = _series_of(low, high)
        points.append(low + (np.arange(high - low) if series is None else series.nodes).astype(np.float64))
    return np.split(values(np.concatenate(points)), np.cumsum([some.size for some in points])[:-1])


def _split_in_halves(low: int, high: int) -> list[tuple[int, int]]:
    """Return both halves of a run."""
    middle = (low + high) // 2
    return [(low, middle), (middle, high)]


class _Run(NamedTuple):
    """The integers start..stop − 1, with the values at each of them or the coefficients of their series."""

    start: int
    stop: int
    numbers: Reals  # shape (integers or TERMS, functions)

    def values(self, integers: Reals) -> Reals:
        """Return the values at some integers of the run, shape (integers, functions)."""
        series, places = _series_of(self.start, self.stop), integers - self.start
        return self.numbers[places.astype(np.int64)] if series is None else series.terms_at(places) @ self.numbers


@frozen(eq=False)
class SmoothTable:
    """Functions of an integer that are smooth in most places, by a series in each of several runs."""

    runs: tuple[_Run, ...]  # in rising order

    @classmethod
    def between(
        cls,
        values: Callable[[Reals], Reals],
        ends: tuple[int, int],
        number: int,
        tolerance: Callable[[int, int], float],
    ) -> "SmoothTable":
        """Return the table from a first to a last integer.

        Args:
            values: The functions at ascending integers; returns shape (integers, functions).
            ends: Smallest and largest integer.
            number: Number of runs before any is halved.
            tolerance: Largest size of the last terms of a series, from the first integer of its run and the one after.
        """
        edges = np.unique(np.round(np.linspace(ends[0], ends[1] + 1, number + 1))).astype(int).tolist()
        runs, table = list(pairwise(edges)), []
        while runs:
            rough = []
            for (low, high), part in zip(runs, _values_at_nodes(values, runs), strict=True):
                series = _series_of(low, high)
                if series is None:
                    table.append(_Run(low, high, part))
                elif float(np.abs(series.last_terms @ part).max()) <= tolerance(low, high):
                    table.append(_Run(low, high, series.matrix @ part))
                else:
                    rough += _split_in_halves(low, high)
            runs = rough
        return cls(tuple(sorted(table, key=lambda run: run.start)))

    def at(self, integers: Reals) -> Reals:
        """Return the functions at integers in rising order, shape (integers, functions)."""
        first = bisect_right(self.runs, integers[0], key=lambda run: run.start) - 1
        stop = bisect_right(self.runs, integers[-1], key=lambda run: run.start)
        runs = self.runs[first:stop]
        edges = np.searchsorted(integers, [run.start for run in runs] + [math.inf]).tolist()
        parts = (run.values(integers[low:high]) for run, (low, high) in zip(runs, pairwise(edges), strict=True))
        return np.concatenate(list(parts))
