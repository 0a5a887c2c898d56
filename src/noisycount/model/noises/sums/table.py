"""The law of a sum of noises as polynomials in pieces: many errors at once, O(1) each."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.polynomial import chebyshev

from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.error.law import ErrorLaw

__all__ = ["SumTable", "sum_table"]

_POINTS = 14  # nodes of a piece: more make pieces longer, and each value takes longer
_RUN = 8.0  # integers of the shortest pieces, in which each has its own node
_LONG = 128.0  # integers over which rounded nodes are about where they should be
_EXACT = 1e-12  # of a logarithm: the last coefficients of a series that is taken for the law
_FINEST = 2.0**-6  # of the smallest scale: no piece is halved further, whatever its series
_NODES = chebyshev.chebpts1(_POINTS)

Curve = Callable[[Reals], Reals]


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """A function of a distance from 0, as a Chebyshev series in each of several pieces.

    Attributes:
        edges: Where the pieces begin, and where the last one ends.
        series: The coefficients, shape (points, pieces).
    """

    edges: Reals
    series: Reals

    def __call__(self, distances: Reals) -> Reals:
        """The values, shape as given; beyond the end along the line through it."""
        near = np.minimum(distances, self.edges[-1])
        held = np.searchsorted(self.edges, near, side="right") - 1
        held = np.minimum(held, self.edges.size - 2)
        starts, stops = self.edges[held], self.edges[held + 1]
        places = (2 * near - starts - stops) / (stops - starts)
        values = chebyshev.chebval(places, self.series[:, held], tensor=False)
        values += self._last_slope * (distances - near)
        return np.asarray(values)

    @property
    def _last_slope(self) -> float:
        """The slope at the end: no logarithm of a law of noise is flatter farther out."""
        slopes = chebyshev.chebder(self.series[:, -1])
        return float(chebyshev.chebval(1.0, slopes)) * 2 / float(self.edges[-1] - self.edges[-2])


@dataclass(frozen=True, slots=True, eq=False)
class SumTable(ErrorLaw):
    """A sum of noises up to a distance from 0.

    Attributes:
        spread: The smallest of the scales, in records: the law is smooth over it, but at 0.
        is_discrete: Whether Z is an integer.
        log_densities: The logarithm of the density, or of the probability, at distances from 0.
        log_tails: That of P[|Z| >= z].
    """

    steepest: ClassVar[None] = None  # not told
    smooth_over: ClassVar[float] = 0.0  # derivatives may jump at 0

    spread: float = field()  # without, the properties of the base would be their defaults
    is_discrete: bool = field()
    log_densities: Pieces
    log_tails: Pieces

    @property
    def peak(self) -> float:
        """The density or the probability at 0."""
        return math.exp(float(self.log_densities(np.zeros(1))[0]))

    def reach(self, depth: float) -> float:  # noqa: ARG002  (the table's end, whatever the depth)
        """The distance at which the table ends."""
        return float(self.log_densities.edges[-1])

    def log_density(self, errors: Reals) -> Reals:
        """The logarithm of the density or of the probability."""
        return self.log_densities(np.abs(errors))

    def log_change(self, error: float, steps: Reals) -> Reals:
        """A difference of logarithms."""
        return self.log_density(error - steps) - self.log_density(np.array(error))

    def log_tail(self, distances: Reals) -> Reals:
        """The logarithm of P[|Z| >= z]."""
        return self.log_tails(distances)

    def between(self, low: Reals, widths: Reals) -> Reals:
        """The difference of two tails; of a single integer its probability."""
        if self.is_discrete and (widths == 1).all():
            return np.exp(self.log_density(low))
        return self.exceedance(low) - self.exceedance(low + widths)


def sum_table(errors: ErrorLaw, narrowest: float, reach: float) -> SumTable:
    """The table of a sum of noises.

    Args:
        errors: The law of the sum.
        narrowest: The smallest scale of a noise, in records.
        reach: The distance from 0 up to which the table tells the law.
    """

    def log_tails(distances: Reals) -> Reals:
        with np.errstate(divide="ignore"):
            return math.log(2) + errors.log_exceedance(distances)

    curves = (errors.log_density, log_tails)
    if errors.is_discrete:
        tables = [_of_integers(curve, reach + 2) for curve in curves]
    else:
        tables = [_of_reals(curve, reach + 2, narrowest) for curve in curves]
    return SumTable(narrowest, errors.is_discrete, *tables)


def _of_reals(curve: Curve, reach: float, spread: float) -> Pieces:
    """Pieces that double in length from 0 on, halved until their series are exact."""
    doublings = math.ceil(math.log2(max(2.0, 8 * reach / spread)))
    edges = [0.0, *(reach * 2.0 ** -np.arange(doublings, -1, -1))]
    waiting = list(pairwise(edges))
    found: list[tuple[float, float, Reals]] = []
    while waiting:
        low, high = waiting.pop()
        values = curve((low + high) / 2 + (high - low) / 2 * _NODES)
        series = _fitted(_NODES, values)
        if _is_rough(series) and high - low > _FINEST * spread:
            middle = (low + high) / 2
            waiting += [(low, middle), (middle, high)]
        else:
            found.append((low, high, series))
    return _joined(found)


def _of_integers(curve: Curve, reach: float) -> Pieces:
    """Pieces of eight integers each, and longer ones where a series through 14 of them is exact."""
    last = float(2 ** math.ceil(math.log2(max(2 * _RUN, reach))))
    edges = [0.0, *(last * 2.0 ** -np.arange(int(math.log2(last / _RUN)), -1, -1))]
    waiting = list(pairwise(edges))
    found: list[tuple[float, float, Reals]] = []
    while waiting:
        low, high = waiting.pop()
        middle, half = (low + high) / 2, (high - low) / 2
        is_short = high - low <= _RUN
        points = np.arange(low, high + 1) if is_short else np.round(middle + half * _NODES)
        if is_short or high - low >= _LONG:
            places = (points - middle) / half
            series = _fitted(places, curve(points))
            if is_short or not _is_rough(series):
                found.append((low, high, np.pad(series, (0, _POINTS - series.size))))
                continue
        waiting += [(low, middle), (middle, high)]
    return _joined(found)


def _fitted(places: Reals, values: Reals) -> Reals:
    """The Chebyshev series through values at places in −1..1."""
    return np.asarray(chebyshev.chebfit(places, values, places.size - 1), dtype=np.float64)


def _is_rough(series: Reals) -> bool:
    """Whether the last coefficients of a series are not negligible."""
    return bool(np.abs(series[-2:]).max() > _EXACT * (1 + np.abs(series[0])))


def _joined(found: list[tuple[float, float, Reals]]) -> Pieces:
    """The pieces in order."""
    found.sort(key=lambda piece: piece[0])
    edges = np.array([*(low for low, _, _ in found), found[-1][1]])
    return Pieces(edges, np.array([series for _, _, series in found]).T)
