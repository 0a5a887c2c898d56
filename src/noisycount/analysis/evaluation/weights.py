"""What an answer says about the counts on either side of it."""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.error_law import ErrorLaw

__all__ = ["DenseWeights", "LaplaceWeights", "Side", "Weights", "Window", "mean_of", "weights"]

_DEPTH = 80.0
_BAND = 64
_MOST_BANDS = 1024
_ENTRIES = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The law of a count where it matters.

    Attributes:
        first: The smallest count.
        logs: The logarithms of the probabilities of first, first + 1 and so on, −inf for 0.
    """

    first: int
    logs: Reals

    @property
    def last(self) -> int:
        """The largest count."""
        return self.first + self.logs.size - 1

    @property
    def counts(self) -> Reals:
        """The counts, shape (counts,)."""
        return self.first + np.arange(self.logs.size, dtype=np.float64)

    @property
    def chances(self) -> Reals:
        """Their probabilities, shape (counts,)."""
        return np.exp(self.logs)


class Side(NamedTuple):
    """The counts from an edge outwards, weighted by P[K = k]·f(y − k).

    Attributes:
        logs: The logarithms of the sums of their weights, −inf for none.
        distances: How far they lie beyond the edge on average, in records.
    """

    logs: Reals
    distances: Reals


class Weights(Protocol):
    """The weights P[K = k]·f(y − k) of the counts k of a window for answers y, f up to a factor."""

    @property
    def window(self) -> Window:
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
class LaplaceWeights:
    """Weights e^(−|y − k|/scale)·P[K = k]: a look-up a side.

    Attributes:
        window: The law of the count.
        rate: 1/scale.
    """

    window: Window
    rate: float
    _from_first: Side = field(init=False, repr=False)
    _from_last: Side = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_from_first", _geometric_sums(self.window.logs, self.rate))
        mirrored = _geometric_sums(self.window.logs[::-1], self.rate)
        object.__setattr__(self, "_from_last", mirrored)

    def lower(self, answers: Reals, edges: Reals) -> Side:
        """The counts up to each edge, which is at most the answer."""
        return self._beyond(self._from_first, edges - self.window.first, answers - edges)

    def upper(self, answers: Reals, edges: Reals) -> Side:
        """The counts from each edge on, which is at least the answer."""
        return self._beyond(self._from_last, self.window.last - edges, edges - answers)

    def around(self, answers: Reals) -> tuple[Side, Side]:
        """The counts up to the floor of each answer, and those from the next integer on."""
        floors = np.floor(answers)
        return self.lower(answers, floors), self.upper(answers, floors + 1)

    def _beyond(self, side: Side, places: Reals, gaps: Reals) -> Side:
        """The sums at places from the near end of the window, seen across gaps."""
        last = side.logs.size - 1
        held = np.clip(places, 0, last).astype(np.int64)
        farther = np.maximum(places - last, 0)
        logs = side.logs[held] - self.rate * (gaps + farther)
        distances = np.where(places < 0, 0.0, side.distances[held] + farther)
        return Side(np.where(places < 0, -np.inf, logs), distances)


@dataclass(frozen=True, slots=True, eq=False)
class DenseWeights:
    """Weights of any noise, summed term by term where they are within e^80 of the largest.

    Attributes:
        window: The law of the count.
        errors: The law of the noise.
        span: The smallest and the largest answer that matter.
    """

    window: Window
    errors: ErrorLaw
    span: tuple[float, float]
    _knots: Reals = field(init=False, repr=False)
    _starts: Reals = field(init=False, repr=False)
    _stops: Reals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        low, high = np.floor(self.span[0]), np.ceil(self.span[1])
        bands = min(_MOST_BANDS, 2 + self.window.logs.size // _BAND)
        knots = np.unique(np.round(np.linspace(low, high, bands)))
        starts, stops = np.empty(knots.size, np.int64), np.empty(knots.size, np.int64)
        for place, knot in enumerate(knots):
            logs = self.window.logs + self.errors.log_density(knot - self.window.counts)
            matter = np.flatnonzero(logs >= logs.max() - _DEPTH)
            starts[place], stops[place] = matter[0], matter[-1] + 1
        object.__setattr__(self, "_knots", knots)
        object.__setattr__(self, "_starts", np.append(0, starts))
        object.__setattr__(self, "_stops", np.append(stops, self.window.logs.size))

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
        counts = self.window.counts[columns]
        logs = self.errors.log_density(answers[:, None] - counts) + self.window.logs[columns]
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


def weights(window: Window, errors: ErrorLaw, span: tuple[float, float]) -> Weights:
    """The weights of the counts of a window for answers in a span."""
    if errors.is_geometric:
        return LaplaceWeights(window, 1 / errors.spread)
    return DenseWeights(window, errors, span)


def mean_of(answers: Reals, sides: tuple[Side, Side]) -> tuple[Reals, Reals]:
    """The logarithm of the sum of all weights, and the mean count, from both sides of answers."""
    below, above = sides
    with np.errstate(over="ignore"):
        share = 1 / (1 + np.exp(below.logs - above.logs))
        rest = 1 / (1 + np.exp(above.logs - below.logs))
    means = np.floor(answers) + (share * (1 + above.distances) - rest * below.distances)
    return np.logaddexp(below.logs, above.logs), means


def _geometric_sums(logs: Reals, rate: float) -> Side:
    """Ln Σ_j e^(logs[i − j] − rate·j) for each i and the mean of j, by doubling the reach of j."""
    sums, distances = logs.copy(), np.zeros_like(logs)
    step = 1
    while step < logs.size:
        nearer, farther = sums[step:], sums[:-step] - rate * step
        both = np.logaddexp(nearer, farther)
        known = both > -np.inf
        share = np.exp(np.where(known, farther - np.where(known, both, 0.0), -np.inf))
        distances[step:] += share * (step + distances[:-step] - distances[step:])
        sums = np.concatenate([sums[:step], both])
        step *= 2
    return Side(sums, distances)
