"""Tables of the distribution of a sum of noises, so that many values need no integral each.

`LatticeTable` has every probability of narrow discrete noise; `SumTable` has piecewise polynomials for all others.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import ErrorLaw

# Integers on each side of 0. Convolving two distributions of this length takes about 20 milliseconds.
LONGEST = 4096
# Nats: depth of a table, 40 more than any posterior needs.
DEEPEST = 240.0
_LEFT_OUT = 40.0  # nats: truncating the terms at the end of the table changes masses above this depth by no double
_LEAST = 1e-200  # smaller masses may contain products that underflow


@frozen(eq=False)
class LatticeTable:
    """P[Z = z] and P[Z >= z] for z = 0, 1, …, each with a relative error of 1e-14."""

    log_masses: Reals  # ln P[Z = z], shape (distances,)
    log_tails: Reals  # ln P[Z >= z], same shape

    def holds(self, distances: Reals) -> NDArray[np.bool_]:
        """Return True for each distance from 0 that the table contains."""
        return (distances < self.log_masses.size) & (distances % 1.0 == 0)


def lattice_table(laplace: Sequence[float], gaussian: Sequence[float], end: int) -> LatticeTable:
    """Return the table of a sum of noises up to `end`, by convolutions of positive terms, so that nothing cancels."""
    distances = np.abs(np.arange(-end, end + 1, dtype=np.float64))
    total = np.ones(1)
    for logs in (*(-distances / scale for scale in laplace), *(-((distances / scale) ** 2) / 2 for scale in gaussian)):
        part = np.exp(logs)
        whole = np.convolve(total, part / part.sum())
        middle = whole.size // 2
        total = whole[max(0, middle - end) : middle + end + 1]
    masses = total[total.size // 2 :]
    tails = np.cumsum(masses[::-1])[::-1]
    is_precise = masses >= max(_LEAST, float(masses[-1]) * math.exp(_LEFT_OUT))
    return LatticeTable(np.log(masses[is_precise]), np.log(tails[is_precise]))


_POINTS = 14  # nodes of a piece: more nodes allow longer pieces but make each value slower
_RUN = 8.0  # integers in the shortest pieces, where each integer is a node
_LONG = 128.0  # integers: in pieces this long, rounding nodes to integers hardly moves them
_EXACT = 1e-12  # largest size of the last coefficients, relative to the logarithm, of an accepted series
_FINEST = 2.0**-6  # smallest length of a piece, relative to the smallest scale
_NODES = chebyshev.chebpts1(_POINTS)
Curve = Callable[[Reals], Reals]


@frozen(eq=False)
class Pieces:
    """A function of the distance from 0, as a Chebyshev series on each of several intervals."""

    edges: Reals  # starts of the pieces and end of the last one, ascending, shape (pieces + 1,)
    series: Reals  # Chebyshev coefficients, shape (points, pieces)

    def __call__(self, distances: Reals) -> Reals:
        """Return the values in the shape of `distances`; beyond the last piece, extrapolate linearly."""
        near = np.minimum(distances, self.edges[-1])
        piece = np.searchsorted(self.edges, near, side="right") - 1
        piece = np.minimum(piece, self.edges.size - 2)
        starts, stops = self.edges[piece], self.edges[piece + 1]
        places = (2 * near - starts - stops) / (stops - starts)
        values = chebyshev.chebval(places, self.series[:, piece], tensor=False)
        values += self._last_slope * (distances - near)
        return np.asarray(values)

    @property
    def _last_slope(self) -> float:
        """Slope at the end of the last piece. Logarithms of noise densities are at least as steep farther out."""
        slopes = chebyshev.chebder(self.series[:, -1])
        return float(chebyshev.chebval(1.0, slopes)) * 2 / float(self.edges[-1] - self.edges[-2])


@frozen(eq=False)
class SumTable(ErrorLaw):
    """The distribution of a sum of noises, tabulated up to a distance from 0.

    Attributes:
        spread: The smallest scale, in records; the distribution is smooth over it except at 0.
    """

    largest_log_change: ClassVar[None] = None  # not computed for a table
    smooth_over: ClassVar[float] = 0.0  # derivatives may jump at 0

    spread: float = field()  # without field(), the property of the base class would become the default value
    is_discrete: bool = field()  # True if Z is an integer
    log_densities: Pieces  # logarithm of the density, or of P[Z = z], at distances from 0
    log_tails: Pieces  # ln P[|Z| >= z]

    @property
    def peak(self) -> float:
        """Density at 0, or P[Z = 0]."""
        return math.exp(float(self.log_densities(np.zeros(1))[0]))

    def distance_at_depth(self, depth: float) -> float:  # noqa: ARG002  (the end is fixed)
        """Return the distance from 0 at which the table ends, in records, whatever the depth."""
        return float(self.log_densities.edges[-1])

    def log_density(self, errors: Reals) -> Reals:
        """Return the logarithm of the density, or of P[Z = z]."""
        return self.log_densities(np.abs(errors))

    def log_change(self, error: float, steps: Reals) -> Reals:
        """Return ln f(error − step) − ln f(error) for the density f."""
        return self.log_density(error - steps) - self.log_density(np.array(error))

    def log_tail(self, distances: Reals) -> Reals:
        """Return ln P[|Z| >= z]."""
        return self.log_tails(distances)

    def between(self, low: Reals, widths: Reals) -> Reals:
        """Return P[low <= Z < low + width] as a difference of tails, or as P[Z = low] for widths of one integer."""
        if self.is_discrete and (widths == 1).all():
            return np.exp(self.log_density(low))
        return self.exceedance(low) - self.exceedance(low + widths)


def sum_table(errors: ErrorLaw, narrowest: float, reach: float) -> SumTable:
    """Return the table of a sum of noises up to a distance `reach` from 0."""

    def log_tails(distances: Reals) -> Reals:
        with np.errstate(divide="ignore"):
            return math.log(2) + errors.log_exceedance(distances)

    curves = (errors.log_density, log_tails)
    if errors.is_discrete:
        tables = [_fit_on_integers(curve, reach + 2) for curve in curves]
    else:
        tables = [_fit_on_reals(curve, reach + 2, narrowest) for curve in curves]
    return SumTable(narrowest, errors.is_discrete, *tables)


def _fit_on_reals(curve: Curve, reach: float, spread: float) -> Pieces:
    """Return pieces that double in length from 0 on, halved until their series are accurate."""
    doublings = math.ceil(math.log2(max(2.0, 8 * reach / spread)))
    edges = [0.0, *(reach * 2.0 ** -np.arange(doublings, -1, -1))]
    intervals = list(pairwise(edges))
    pieces: list[tuple[float, float, Reals]] = []
    while intervals:
        low, high = intervals.pop()
        values = curve((low + high) / 2 + (high - low) / 2 * _NODES)
        series = _fit_series(_NODES, values)
        if _is_rough(series) and high - low > _FINEST * spread:
            middle = (low + high) / 2
            intervals += [(low, middle), (middle, high)]
        else:
            pieces.append((low, high, series))
    return _pieces_in_order(pieces)


def _fit_on_integers(curve: Curve, reach: float) -> Pieces:
    """Return pieces of eight integers, or longer ones if a series through 14 integers is accurate."""
    last = float(2 ** math.ceil(math.log2(max(2 * _RUN, reach))))
    edges = [0.0, *(last * 2.0 ** -np.arange(int(math.log2(last / _RUN)), -1, -1))]
    intervals = list(pairwise(edges))
    pieces: list[tuple[float, float, Reals]] = []
    while intervals:
        low, high = intervals.pop()
        middle, half = (low + high) / 2, (high - low) / 2
        is_short = high - low <= _RUN
        points = np.arange(low, high + 1) if is_short else np.round(middle + half * _NODES)
        if is_short or high - low >= _LONG:
            places = (points - middle) / half
            series = _fit_series(places, curve(points))
            if is_short or not _is_rough(series):
                pieces.append((low, high, np.pad(series, (0, _POINTS - series.size))))
                continue
        intervals += [(low, middle), (middle, high)]
    return _pieces_in_order(pieces)


def _fit_series(places: Reals, values: Reals) -> Reals:
    """Return the Chebyshev series through values at places in [−1, 1]."""
    return np.asarray(chebyshev.chebfit(places, values, places.size - 1), dtype=np.float64)


def _is_rough(series: Reals) -> bool:
    """Return True if the last coefficients of a series are not negligible."""
    return bool(np.abs(series[-2:]).max() > _EXACT * (1 + np.abs(series[0])))


def _pieces_in_order(pieces: list[tuple[float, float, Reals]]) -> Pieces:
    """Return the pieces in ascending order."""
    pieces.sort(key=lambda piece: piece[0])
    edges = np.array([*(low for low, _, _ in pieces), pieces[-1][1]])
    return Pieces(edges, np.array([series for _, _, series in pieces]).T)
