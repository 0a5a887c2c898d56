"""Sums over the counts on each side of many answers, by one product of matrices for all answers of a cell."""

import math
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander
from numpy.typing import NDArray

from noisycount.analysis.posterior.laplace_intervals import GeometricSides, Side, SummedSides
from noisycount.analysis.posterior.law import CountTable
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import ErrorLaw

_TERMS = 16  # of a Chebyshev series in a cell
_EXACT = 1e-10  # largest size of the last two terms, relative to the density in the cell, of a series that is used
_LOST = 1e-14  # relative size of terms that are left out
_NARROWEST = 2.0  # records of spread, below which a density changes by too much in a cell
_FEWEST = 512  # counts of a table: fewer are summed one by one
_FARTHEST = 2048  # records of reach: a wider noise has too many counts in its window
_DEPTH = 80.0  # nats by which the density falls within the window
_SOUND = 40.0  # nats by which a sum must exceed what lies beyond the window
_ENTRIES = 1 << 20  # counts in the windows that are held at once: 8 MB
_BLOCK = 1 << 15  # edges whose series are kept together
_KEPT = 24  # such blocks
_WORTH = 1 << 12  # edges at one distance from their answers that are worth the series at all edges of a block
_MOST_BLOCKS = 1 << 20  # of a table


@frozen(eq=False, slots=False)
class CellSides:
    """Weights P[K = k]·f(y − k) of any noise that is smooth between two integers.

    For an answer y = c + u with an integer c and 0 <= u < 1, f(y − k) is a Chebyshev series in u whose coefficients
    depend on c − k alone. The sums beyond an edge, an integer, of all answers with the same c − edge are products of
    the probabilities around an edge and one matrix of coefficients. If such a sum does not far exceed what lies outside
    of the window, its terms are added one by one instead.
    """

    table: CountTable  # the distribution of the count
    errors: ErrorLaw  # the distribution of the noise
    span: tuple[float, float]  # smallest and largest answer that matter
    series: Reals  # coefficients of f in the cells −reach − 1 … reach, shape (cells, terms)
    scale: float  # logarithm that was subtracted from that of f
    _blocks: dict[tuple[int, int, int], Reals] = field(init=False, repr=False, default_factory=dict)

    @property
    def reach(self) -> int:
        """Number of the last cell that the noise reaches."""
        return self.series.shape[0] // 2 - 1

    @cached_property
    def direct_sums(self) -> SummedSides:
        """Sums over the same counts, term by term."""
        return SummedSides(self.table, self.errors, self.span)

    @cached_property
    def _padded_weights(self) -> Reals:
        """The probabilities relative to the largest one, between zeros."""
        weights = np.exp(self.table.logs - self.table.logs.max())
        return np.pad(weights, self._padding_length)

    @property
    def _padding_length(self) -> int:
        """Zeros on each side of the probabilities: a window begins at most `reach` beyond the table."""
        return 3 * self.reach + 8

    def lower(self, answers: Reals, edges: Reals) -> Side:
        """Return the sums over the counts up to each edge."""
        return self._sums_beyond_edges(-1, answers, edges)

    def upper(self, answers: Reals, edges: Reals) -> Side:
        """Return the sums over the counts from each edge on."""
        return self._sums_beyond_edges(1, answers, edges)

    def sums_around(self, answers: Reals) -> tuple[Side, Side]:
        """Return the sums over the counts up to the floor of each answer, and over those from the next integer on."""
        floors = np.floor(answers)
        return self.lower(answers, floors), self.upper(answers, floors + 1)

    def share_above(self, answers: Reals, edges: Reals) -> Reals:
        """Return P[K > edge | Y = answer] for each answer and its edge, to all digits, as ties must be found."""
        return self.direct_sums.share_above(answers, edges)

    def _sums_beyond_edges(self, way: int, answers: Reals, edges: Reals) -> Side:
        """Return the sums over the counts from each edge on: upwards if `way` is 1, downwards if it is −1."""
        floors = np.floor(answers)
        gaps, places = (floors - edges).astype(np.int64), (edges - (self.table.first - self.reach)).astype(np.int64)
        blocks = places // _BLOCK
        sums = np.zeros((2, answers.size))
        is_near = (np.abs(gaps) < self.reach) & (places >= 0) & (places <= self.table.logs.size + 2 * self.reach)
        groups = gaps * _MOST_BLOCKS + blocks
        for group in np.unique(groups[is_near]).tolist():
            some = np.flatnonzero(is_near & (groups == group))
            gap, block = divmod(group, _MOST_BLOCKS)
            series = self._series_at(way, gap, block, places[some])
            powers = chebvander(2 * (answers[some] - floors[some]) - 1, self.series.shape[1] - 1)
            sums[:, some] = np.einsum("nq,nsq->sn", powers, series)
        masses, moments = sums
        edge_logs = np.log(np.abs(self.series[[0, -1], 0]).max() * self._padded_weights.sum())
        is_empty = edges < self.table.first if way < 0 else edges > self.table.last
        is_sound = (masses > np.exp(edge_logs + _SOUND)) | is_empty
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(masses) + (self.scale + self.table.logs.max())
            distances = np.where(is_empty, 0.0, moments / masses)
        if not is_sound.all():
            others = (self.direct_sums.lower if way < 0 else self.direct_sums.upper)(
                answers[~is_sound], edges[~is_sound]
            )
            logs[~is_sound], distances[~is_sound] = others
        return Side(logs, np.maximum(distances, 0.0))

    def _series_at(self, way: int, gap: int, block: int, places: NDArray[np.int64]) -> Reals:
        """Return the series in u of the sums beyond some edges of a block, shape (edges, 2, terms)."""
        key, first = (way, gap, block), block * _BLOCK
        if key not in self._blocks:
            is_used = np.zeros(_BLOCK, dtype=bool)
            is_used[places - first] = True
            edges = first + np.flatnonzero(is_used)
            if edges.size < _WORTH:
                return self._summed_series(way, gap, edges)[np.searchsorted(edges, places)]
            while len(self._blocks) >= _KEPT:
                self._blocks.pop(next(iter(self._blocks)))
            end = min(first + _BLOCK, self.table.logs.size + 2 * self.reach + 1)
            self._blocks[key] = self._summed_series(way, gap, np.arange(first, end))
        return self._blocks[key][places - first]

    def _summed_series(self, way: int, gap: int, edges: NDArray[np.int64]) -> Reals:
        """Return the series in u of the sums beyond some edges, shape (edges, 2, terms), summed over the counts.

        A count i records beyond an edge is gap − i cells (`way` 1) or gap + i cells (`way` −1) from the answer.
        """
        number, terms = self.reach + way * gap + (2 if way > 0 else 1), self.series.shape[1]
        steps = np.arange(number)
        cells = self.series[gap - way * steps + self.reach + 1]
        kernel = np.concatenate([cells, steps[:, None] * cells], axis=1)
        starts = edges - self.reach + self._padding_length - (number - 1 if way < 0 else 0)
        windows = np.lib.stride_tricks.sliding_window_view(self._padded_weights, number)
        kernel = np.ascontiguousarray(kernel[::-1] if way < 0 else kernel)
        rows = max(1, _ENTRIES // number)
        sums = [windows[starts[row : row + rows]] @ kernel for row in range(0, starts.size, rows)]
        return np.concatenate(sums).reshape(-1, 2, terms)


# The counts k of a table on each side of an answer y, weighted by P[K = k]·f(y − k), f taken up to a factor.
Sides: TypeAlias = GeometricSides | SummedSides | CellSides


def sides_of(table: CountTable, errors: ErrorLaw, span: tuple[float, float]) -> Sides:
    """Return the sums over the counts of a table on each side of an answer, for the answers in a span."""
    if errors.is_geometric:
        return GeometricSides(table, 1 / errors.spread)
    reach = errors.distance_at_depth(_DEPTH)
    if errors.spread < _NARROWEST or reach > _FARTHEST or table.logs.size < _FEWEST:
        return SummedSides(table, errors, span)
    series = _density_series(errors, math.ceil(reach) + 1)
    return SummedSides(table, errors, span) if series is None else CellSides(table, errors, span, *series)


def _density_series(errors: ErrorLaw, reach: int) -> tuple[Reals, float] | None:
    """Return the series of the density in the cells −reach − 1 … reach and its largest logarithm; None: it is rough."""
    cells = np.arange(-reach - 1, reach + 1, dtype=np.float64)
    if errors.is_discrete:
        logs = errors.log_density(cells)[:, None]
        return np.exp(logs - logs.max()), float(logs.max())
    nodes = chebpts1(_TERMS)
    logs = errors.log_density(cells[:, None] + (1 + nodes) / 2)
    values = np.exp(logs - logs.max())
    series = values @ np.linalg.inv(chebvander(nodes, _TERMS - 1)).T
    relative = (np.abs(series) / values.max(axis=1, keepdims=True)).max(axis=0)
    if relative[-2:].max() > _EXACT:
        return None
    needed = int(np.flatnonzero(relative > _LOST)[-1]) + 1
    return series[:, :needed], float(logs.max())
