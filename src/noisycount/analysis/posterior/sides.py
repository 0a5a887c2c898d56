"""The counts on each side of an answer: how much they weigh, and how far away they lie."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from noisycount.analysis.posterior.count_table import DEPTH, CountTable
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.error.law import ErrorLaw

__all__ = ["GeometricSides", "Side", "Sides", "SummedSides", "mean_of", "sides_of"]

_BAND = 64  # counts for which the terms that matter are looked for once
_MOST_BANDS = 1024  # as each is found by a pass over all counts
_ENTRIES = 1 << 19  # terms held at once: 4 MB


class Side(NamedTuple):
    """The counts from an edge outwards, weighted by P[K = k]·f(y − k).

    Attributes:
        logs: The logarithms of the sums of their weights, −inf for none.
        distances: How far they lie beyond the edge on average, in records.
    """

    logs: Reals
    distances: Reals


class Sides(Protocol):
    """The counts k of a table on each side of an answer y, weighted by P[K = k]·f(y − k).

    The density f of the noise is taken up to a factor.
    """

    @property
    def table(self) -> CountTable:
        """The law of the count."""
        ...

    def lower(self, answers: Reals, edges: Reals) -> Side:
        """The counts up to each edge, which is at most the answer."""
        ...

    def upper(self, answers: Reals, edges: Reals) -> Side:
        """The counts from each edge on, which is at least the answer."""
        ...

    def around(self, answers: Reals) -> tuple[Side, Side]:
        """The counts up to the floor of each answer, and those from the next integer on."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class GeometricSides:
    """Weights e^(−|y − k|/scale)·P[K = k]: a look-up a side.

    Attributes:
        table: The law of the count.
        rate: 1/scale.
    """

    table: CountTable
    rate: float
    _from_first: Side = field(init=False, repr=False)
    _from_last: Side = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_from_first", _geometric_sums(self.table.logs, self.rate))
        mirrored = _geometric_sums(self.table.logs[::-1], self.rate)
        object.__setattr__(self, "_from_last", mirrored)

    def lower(self, answers: Reals, edges: Reals) -> Side:
        """The counts up to each edge, which is at most the answer."""
        return self._beyond(self._from_first, edges - self.table.first, answers - edges)

    def upper(self, answers: Reals, edges: Reals) -> Side:
        """The counts from each edge on, which is at least the answer."""
        return self._beyond(self._from_last, self.table.last - edges, edges - answers)

    def around(self, answers: Reals) -> tuple[Side, Side]:
        """The counts up to the floor of each answer, and those from the next integer on."""
        floors = np.floor(answers)
        return self.lower(answers, floors), self.upper(answers, floors + 1)

    def _beyond(self, side: Side, places: Reals, gaps: Reals) -> Side:
        """The sums at places from the near end of the table, seen across gaps."""
        last = side.logs.size - 1
        held = np.clip(places, 0, last).astype(np.int64)
        farther = np.maximum(places - last, 0)
        logs = side.logs[held] - self.rate * (gaps + farther)
        distances = np.where(places < 0, 0.0, side.distances[held] + farther)
        return Side(np.where(places < 0, -np.inf, logs), distances)


@dataclass(frozen=True, slots=True, eq=False)
class SummedSides:
    """Weights of any noise, summed term by term where they are within e^80 of the largest.

    Attributes:
        table: The law of the count.
        errors: The law of the noise.
        span: The smallest and the largest answer that matter.
    """

    table: CountTable
    errors: ErrorLaw
    span: tuple[float, float]
    _knots: Reals = field(init=False, repr=False)
    _starts: Reals = field(init=False, repr=False)
    _stops: Reals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        low, high = np.floor(self.span[0]), np.ceil(self.span[1])
        bands = min(_MOST_BANDS, 2 + self.table.logs.size // _BAND)
        knots = np.unique(np.round(np.linspace(low, high, bands)))
        starts, stops = np.empty(knots.size, np.int64), np.empty(knots.size, np.int64)
        for place, knot in enumerate(knots):
            logs = self.table.logs + self.errors.log_density(knot - self.table.counts)
            matter = np.flatnonzero(logs >= logs.max() - DEPTH)
            starts[place], stops[place] = matter[0], matter[-1] + 1
        object.__setattr__(self, "_knots", knots)
        object.__setattr__(self, "_starts", np.append(0, starts))
        object.__setattr__(self, "_stops", np.append(stops, self.table.logs.size))

    def lower(self, answers: Reals, edges: Reals) -> Side:
        """The counts up to each edge."""
        return self._sides(answers, edges)[0]

    def upper(self, answers: Reals, edges: Reals) -> Side:
        """The counts from each edge on."""
        return self._sides(answers, edges - 1)[1]

    def around(self, answers: Reals) -> tuple[Side, Side]:
        """The counts up to the floor of each answer, and those from the next integer on."""
        return self._sides(answers, np.floor(answers))

    def _sides(self, answers: Reals, edges: Reals) -> tuple[Side, Side]:
        """The counts up to each edge, and those from the next integer on."""
        found = np.empty((4, answers.size))
        bands = np.searchsorted(self._knots, answers, side="right")
        for band in np.unique(bands).tolist():
            rows = np.flatnonzero(bands == band)
            columns = slice(self._starts[band], self._stops[band])
            step = max(1, _ENTRIES // max(1, columns.stop - columns.start))
            for begin in range(0, rows.size, step):
                some = rows[begin : begin + step]
                found[:, some] = self._summed(answers[some], edges[some], columns)
        return Side(found[0], found[1]), Side(found[2], found[3])

    def _summed(self, answers: Reals, edges: Reals, columns: slice) -> Reals:
        """The logarithm and the distance of each side, shape (4, answers)."""
        counts = self.table.counts[columns]
        logs = self.errors.log_density(answers[:, None] - counts) + self.table.logs[columns]
        peaks = logs.max(axis=1, keepdims=True)
        terms = np.exp(logs - peaks)
        beyond = counts - edges[:, None]
        is_below = beyond <= 0
        sums = []
        for part, away in (
            (np.where(is_below, terms, 0.0), -beyond),
            (np.where(is_below, 0.0, terms), beyond - 1),
        ):
            mass = part.sum(axis=1)
            moment = np.einsum("ij,ij->i", part, away)
            sums += [mass, np.divide(moment, mass, out=np.zeros_like(mass), where=mass > 0)]
        with np.errstate(divide="ignore"):
            sums[0], sums[2] = np.log(sums[0]) + peaks[:, 0], np.log(sums[2]) + peaks[:, 0]
        return np.array(sums)


def sides_of(table: CountTable, errors: ErrorLaw, span: tuple[float, float]) -> Sides:
    """The counts of a table on each side of answers in a span."""
    if errors.is_geometric:
        return GeometricSides(table, 1 / errors.spread)
    return SummedSides(table, errors, span)


def mean_of(answers: Reals, sides: tuple[Side, Side]) -> tuple[Reals, Reals]:
    """The logarithm of the sum of all weights, and the mean count, from both sides of answers."""
    below, above = sides
    with np.errstate(over="ignore"):
        share = 1 / (1 + np.exp(below.logs - above.logs))
        rest = 1 / (1 + np.exp(above.logs - below.logs))
    means = np.floor(answers) + (share * (1 + above.distances) - rest * below.distances)
    return np.logaddexp(below.logs, above.logs), means


def _geometric_sums(logs: Reals, rate: float) -> Side:
    """Ln Σ_j e^(logs[i − j] − rate·j) for each i and the mean of j, by doubling the reach of j.

    Sums are kept as shares of their largest terms, whose ratios are products of neighbours' ratios:
    what has faded is 0, and nothing else underflows.
    """
    peaks, step = logs.copy(), 1
    while step < logs.size:
        np.maximum(peaks[step:], peaks[:-step] - rate * step, out=peaks[step:])
        step *= 2
    with np.errstate(invalid="ignore", divide="ignore"):
        masses = np.nan_to_num(np.exp(logs - peaks))
        fades = np.nan_to_num(np.exp((peaks[:-1] - peaks[1:]) - rate))
        moments, step = np.zeros_like(logs), 1
        while step < logs.size and fades.any():
            farther = masses[:-step] * fades
            moments[step:] += moments[:-step] * fades + step * farther
            masses[step:] += farther
            fades, step = fades[step:] * fades[:-step], 2 * step
        sums = peaks + np.log(masses)
    return Side(sums, np.divide(moments, masses, out=moments, where=masses > 0))
