"""Tables of sums of noises: of narrow discrete ones each probability, else polynomials in pieces."""

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

# Integers on each side: the products of two parts of that length take some 20 milliseconds.
LONGEST = 4096
# Nats to which a sum is told, and 40 more than posteriors look at for any number of records.
DEEPEST = 240.0
_LEFT_OUT = 40.0  # nats: what parts that end there leave out of the others is beyond a double
_LEAST = 1e-200  # smaller masses of very narrow noise may be of products that underflow


@frozen(eq=False)
class LatticeTable:
    """P[Z = z] and P[Z >= z] for z = 0, 1 and so on, each to 1e-14 relative."""

    log_masses: Reals  # the logarithms of P[Z = z], shape (distances,)
    log_tails: Reals  # those of P[Z >= z], same shape

    def holds(self, distances: Reals) -> NDArray[np.bool_]:
        """Which distances from 0 the table tells."""
        return (distances < self.log_masses.size) & (distances % 1.0 == 0)


def lattice_table(laplace: Sequence[float], gaussian: Sequence[float], end: int) -> LatticeTable:
    """The table of a sum by positive products alone: nothing cancels."""
    distances = np.abs(np.arange(-end, end + 1, dtype=np.float64))
    total = np.ones(1)
    for logs in (*(-distances / scale for scale in laplace), *(-((distances / scale) ** 2) / 2 for scale in gaussian)):
        part = np.exp(logs)
        whole = np.convolve(total, part / part.sum())
        middle = whole.size // 2
        total = whole[max(0, middle - end) : middle + end + 1]
    masses = total[total.size // 2 :]
    tails = np.cumsum(masses[::-1])[::-1]
    kept = masses >= max(_LEAST, float(masses[-1]) * math.exp(_LEFT_OUT))
    return LatticeTable(np.log(masses[kept]), np.log(tails[kept]))


_POINTS = 14  # nodes of a piece: more make pieces longer, and each value takes longer
_RUN = 8.0  # integers of the shortest pieces, in which each has its own node
_LONG = 128.0  # integers over which rounded nodes are about where they should be
_EXACT = 1e-12  # of a logarithm: the last coefficients of a series that is taken for the law
_FINEST = 2.0**-6  # of the smallest scale: no piece is halved further, whatever its series
_NODES = chebyshev.chebpts1(_POINTS)
Curve = Callable[[Reals], Reals]


@frozen(eq=False)
class Pieces:
    """A function of a distance from 0, as a Chebyshev series in each of several pieces."""

    edges: Reals  # where the pieces begin, and where the last one ends
    series: Reals  # the coefficients, shape (points, pieces)

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


@frozen(eq=False)
class SumTable(ErrorLaw):
    """A sum of noises up to a distance from 0.

    Attributes:
        spread: The smallest of the scales, in records: the law is smooth over it, but at 0.
    """

    steepest: ClassVar[None] = None  # not told
    smooth_over: ClassVar[float] = 0.0  # derivatives may jump at 0

    spread: float = field()  # without, the properties of the base would be their defaults
    is_discrete: bool = field()  # whether Z is an integer
    log_densities: Pieces  # the logarithm of the density, or of the probability, at distances from 0
    log_tails: Pieces  # that of P[|Z| >= z]

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
    """The table of a sum of noises."""

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
