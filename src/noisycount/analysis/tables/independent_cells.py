"""Cells that are independent draws from one distribution: the posterior of each cell, and of sums of cells.

`IndependentCells` is the solution without a total. `smooth_estimates` interpolates the estimates of very many cells.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebpts2
from numpy.typing import NDArray

from noisycount.analysis.tables.given_sums import draw_places, law_by_characteristic
from noisycount.analysis.tables.likelihoods import DEPTH, Counts, LevelAnswers, add_logs, answer_positions
from noisycount.analysis.tables.passes import NodeLaw, Summary
from noisycount.analysis.tables.sums import Complexes
from noisycount.analysis.tables.wide_laws import lattice_sum, wide_draws, wide_law
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, CountDistribution, TableLaw
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import LogWeight, SmoothLaw
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.tables.cells import CellLaw

_ENTRIES = 1 << 19  # number of counts of all cells held at once: 4 MB an array
_MOST = 1 << 18  # largest number of counts of a distribution that are added up one by one
_WIDEST, _KINDS = 64.0, 32  # records, number: wider sums of fewer distributions use transforms
_TRIED = 1024  # number of counts of a range among which the likeliest is searched
_QUANTILES = (0.5, 0.025, 0.975)  # levels of median, low and high


class CellEstimates(NamedTuple):
    """Estimates of the cells, one array each, shape (cells,)."""

    mean: Reals  # expected count, in records
    std: Reals  # standard deviation, in records
    median: Counts  # smallest count k with P[K <= k] >= 1/2
    low: Counts  # smallest count k with P[K <= k] >= 2.5 %
    high: Counts  # smallest count k with P[K <= k] >= 97.5 %
    log_evidence: Reals  # log probability, or density, of the cell's answers

    def ordered(self, cells: Counts) -> "CellEstimates":
        """Return the estimates of these cells, in this order."""
        return CellEstimates._make(each[cells] for each in self)


@frozen(eq=False, slots=False)
class IndependentCells:
    """Cells of a table as independent draws from one distribution, with their answers.

    P[K = k | answers] ∝ g(k)·Π f(y | k), summed over all counts whose weight is at least e^−42 of the largest.
    """

    cells: int  # number of cells
    cell_law: CellLaw  # distribution g of each count before its answers
    cell_answers: Sequence[LevelAnswers]  # answers about the cells

    @cached_property
    def estimates(self) -> CellEstimates:
        """Estimates of the cells."""
        return smooth_estimates(self) or self.direct_estimates()

    @property
    def evidence(self) -> float:
        """Logarithm of the probability, or the density, of the answers."""
        return float(self.estimates.log_evidence.sum())

    def answers(self, level: int) -> tuple[LevelAnswers, ...]:
        """Return the answers about a level; there are none about the total."""
        return tuple(self.cell_answers) if level else ()

    @property
    def rounding(self) -> float:
        """Error by transforms: 0, as only positive terms are added up."""
        return 0.0

    def summary(self, level: int) -> Summary:
        """Return the estimates of a level."""
        if level:
            return Summary(*self.estimates[:5])
        law = self.law(0, 0)
        ends = law.quantile(0.5), law.quantile(0.025), law.quantile(0.975)
        return Summary(np.array([law.mean]), np.array([law.deviation]), *(np.array([end]) for end in ends))

    def law(self, level: int, position: int) -> CountDistribution:
        """Return the distribution of a cell, or of the sum of all cells."""
        if level:
            return self._cell_posterior(position)
        return self.sum_law(np.ones(self.cells, dtype=np.bool_))

    def sum_law(self, is_in: NDArray[np.bool_]) -> CountDistribution:
        """Return the distribution of the sum of some cells, shape (cells,); see `lattice_sum` for wide ones."""
        laws = list(self._cell_posteriors(is_in))
        mean = float(self.estimates.mean[is_in].sum())
        deviation = float(np.sqrt((self.estimates.std[is_in] ** 2).sum()))
        kinds = [(number, law) for number, law in laws if isinstance(law, TableLaw)]
        is_quick = deviation > _WIDEST and len(laws) <= _KINDS
        if len(kinds) < len(laws) or is_quick:
            (number, first), *others = laws
            return lattice_sum(laws, mean, deviation) if others or number > 1 else first
        centre = round(mean)

        def characteristic(angles: Reals) -> Complexes:
            logs = np.zeros(angles.size, dtype=np.complex128)
            for number, law in kinds:
                places = law.first + np.arange(law.log_weights.size) - law.mean
                chances = np.exp(law.log_probabilities)
                logs += number * np.log(np.exp(1j * angles[:, None] * places) @ chances)
                logs += 1j * angles * number * law.mean
            return np.exp(logs - 1j * angles * centre)

        smallest, largest = (sum(number * law.support[end] for number, law in kinds) for end in (0, 1))
        reach = smallest - centre, largest - centre
        low, law = law_by_characteristic(characteristic, mean - centre, deviation, reach)
        return NodeLaw(centre + low, law).table

    def direct_estimates(self) -> CellEstimates:
        """Return the estimates of all cells; cells with equal answers are computed once."""
        kind, places = _kinds_of_cells(self.cell_answers, self.cells)
        kinds = places.shape[1]
        reals = np.empty((3, kinds))
        quantiles = np.empty((3, kinds), dtype=np.int64)
        silent = (places < 0).all(axis=0)
        for place in np.flatnonzero(silent).tolist():
            reals[:, place] = self.cell_law.mean, math.sqrt(self.cell_law.variance), 0.0
            quantiles[:, place] = [self.cell_law.quantile(level) for level in _QUANTILES]
        wide = self._is_wide(places)
        for place in np.flatnonzero(wide).tolist():
            law, log_top = self._wide_law(places[:, place])
            reals[:, place] = law.mean, law.deviation, log_top + law.log_mass
            quantiles[:, place] = [law.quantile(level) for level in _QUANTILES]
        columns = np.flatnonzero(~silent & ~wide)
        for some, first, logs in self._weights(places[:, columns]):
            reals[:, columns[some]], quantiles[:, columns[some]] = _summary(first, logs)
        mean, std, evidence = reals[:, kind]
        median, low, high = quantiles[:, kind]
        return CellEstimates(mean, std, median, low, high, evidence)

    def chances(self, counts: Counts) -> Reals:
        """Return P[K <= count] of each cell, all of which have answers. Shapes: counts (several, cells)."""
        places = answer_positions(self.cell_answers, self.cells)
        chances = np.empty(counts.shape)
        wide = self._is_wide(places)
        for cell in np.flatnonzero(wide).tolist():
            law, _ = self._wide_law(places[:, cell])
            cell_counts = counts[:, cell].tolist()
            chances[:, cell] = [law.probability(-math.inf, count) for count in cell_counts]
        columns = np.flatnonzero(~wide)
        for part, first, logs in self._weights(places[:, columns]):
            some = columns[part]
            weights = np.exp(logs - logs.max(axis=1)[:, None])
            np.cumsum(weights, axis=1, out=weights)
            steps = np.clip(counts[:, some] - first, 0, weights.shape[1] - 1)
            sums = weights[np.arange(some.size), steps] / weights[:, -1]
            chances[:, some] = np.where(counts[:, some] < first, 0.0, sums)
        return chances

    def with_answers(self, answers: Reals) -> "IndependentCells":
        """Return the same distribution with a cell for each of other answers under the same mechanism."""
        (group,) = self.cell_answers
        nodes, not_suppressed = np.arange(answers.size), np.zeros(answers.size, dtype=np.bool_)
        groups = LevelAnswers(group.level, nodes, answers, not_suppressed, group.mechanism)
        return IndependentCells(answers.size, self.cell_law, (groups,))

    def _cell_posterior(self, cell: int) -> CountDistribution:
        """Return the distribution of the count of one cell."""
        places = np.full((len(self.cell_answers), 1), -1)
        for number, group in enumerate(self.cell_answers):
            own = np.flatnonzero(group.nodes == cell)
            places[number, 0] = own[0] if own.size else -1
        if self._is_wide(places)[0]:
            return self._wide_law(places[:, 0])[0]
        if (places < 0).all():
            return TableLaw(0, self._unanswered_logs)
        ((_, first, logs),) = self._weights(places)
        possible = np.flatnonzero(logs[0] > -np.inf)
        return TableLaw(int(first[0]) + int(possible[0]), logs[0, possible[0] : possible[-1] + 1])

    def draws(self, number: int, random: np.random.Generator) -> Counts:
        """Draw counts from the distribution of each cell, shape (number, cells)."""
        kind, places = _kinds_of_cells(self.cell_answers, self.cells)
        drawn = np.empty((number, self.cells), dtype=np.int64)
        silent, wide = (places < 0).all(axis=0), self._is_wide(places)
        for place in np.flatnonzero(wide).tolist():
            cells_of_kind = np.flatnonzero(kind == place)
            law, _ = self._wide_law(places[:, place])
            drawn[:, cells_of_kind] = wide_draws(law, number * cells_of_kind.size, random).reshape(number, -1)
        columns = np.flatnonzero(~wide & ~silent)
        windows = self._weights(places[:, columns])
        laws: Iterable[tuple[Counts, Counts, Reals]] = ((columns[some], first, logs) for some, first, logs in windows)
        if (silent & ~wide).any():
            no_answer = np.flatnonzero(silent), np.zeros(1, np.int64), self._unanswered_logs[None]
            laws = chain([no_answer], laws)
        for kinds, first, logs in laws:
            row = np.full(places.shape[1], -1)
            row[kinds] = np.arange(kinds.size)
            rows = row[kind]
            cells = np.flatnonzero(rows >= 0)
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            step = max(1, _ENTRIES // number)
            for start in range(0, cells.size, step):
                some = cells[start : start + step]
                cells_of_kind = np.broadcast_to(rows[some], (number, some.size))
                drawn[:, some] = first[cells_of_kind] + draw_places(weights, cells_of_kind, random)
        return drawn

    def _cell_posteriors(self, is_in: NDArray[np.bool_]) -> Iterator[tuple[int, CountDistribution]]:
        """Yield the distributions of some cells, shape (cells,), each with the number of cells that share it."""
        cells = np.flatnonzero(is_in)
        kinds = _kinds_of_cells(self.cell_answers, self.cells)[0][cells]
        _, firsts, numbers = np.unique(kinds, return_index=True, return_counts=True)
        for first, number in zip(firsts.tolist(), numbers.tolist(), strict=True):
            yield number, self._cell_posterior(int(cells[first]))

    @property
    def _unanswered_logs(self) -> Reals:
        """Log probabilities of the count of a cell without answers."""
        return self.cell_law.log_pmf(np.arange(self.cell_law.end(DEPTH) + 1))

    def _is_wide(self, places: Counts) -> NDArray[np.bool_]:
        """Return True for kinds of cells with too many counts to be added up one by one."""
        has_answer = places >= 0
        silent = ~has_answer.any(axis=0)
        low, high = self._windows(places)
        counts = np.where(silent, self.cell_law.end(DEPTH), high - low)
        rough = [~one.is_smooth for one in self.cell_answers]
        is_rough = (has_answer & np.array(rough)[:, None]).any(axis=0)
        return (counts > _MOST) & ~is_rough

    def _wide_law(self, places: Counts) -> tuple[SmoothLaw, float]:
        """Return the distribution of a kind of cell that is wide, and the logarithm of its largest weight."""
        answers = [
            (group, place) for group, place in zip(self.cell_answers, places.tolist(), strict=True) if place >= 0
        ]

        def log_weight(counts: Reals) -> Reals:
            logs = self.cell_law.log_between(counts)
            for group, place in answers:
                logs += group.log_between(place, counts)
            return logs

        ends, longest = (0, self.cell_law.end(DEPTH)), math.inf
        if answers:
            (low,), (high,) = self._windows(places[:, None])
            ends = _widen_range(log_weight, int(low), int(high))
            longest = min(group.spread for group, _ in answers)
        bends = [float(group.answers[place]) for group, place in answers]
        law = wide_law(log_weight, ends, bends, longest)
        return law, float(log_weight(np.array([float(law.centre)]))[0])

    def _weights(self, places: Counts) -> Iterator[tuple[Counts, Counts, Reals]]:
        """Yield kinds of cells, their first counts, and the logarithms of g(k)·Π f(y | k) from there on."""
        low, high = self._windows(places)
        waiting = np.lexsort((low, np.ceil(2 * np.log2(high - low + 1.0))))
        while waiting.size:
            widths = high[waiting] - low[waiting] + 1
            rows = max(1, int(np.searchsorted(np.arange(1, widths.size + 1) * widths, _ENTRIES)))
            part, waiting = waiting[:rows], waiting[rows:]
            logs = self._log_weights(places[:, part], low[part], high[part])
            short, long = _has_cut_ends(logs, low[part], high[part])
            again = short | long
            if again.any():
                wider = part[again]
                extent = high[wider] - low[wider] + 1
                low[wider] = np.maximum(0, low[wider] - np.where(short[again], extent, 0))
                high[wider] += np.where(long[again], extent, 0)
                waiting = np.concatenate([wider, waiting])
            if not again.all():
                yield part[~again], low[part[~again]], logs[~again]

    def _windows(self, places: Counts) -> tuple[Counts, Counts]:
        """Return the ranges that no answer of a kind excludes; from answer to answer if these exclude each other."""
        ends = []
        for group, positions in zip(self.cell_answers, places, strict=True):
            low, high = group.reach()
            has_answer = positions >= 0
            ends.append((np.where(has_answer, low[positions], -1), np.where(has_answer, high[positions], 2**62)))
        lows, highs = (np.array(each) for each in zip(*ends, strict=True))
        low, high = lows.max(axis=0), highs.min(axis=0)
        apart = low > high
        widest = np.where(highs == 2**62, -1, highs).max(axis=0)
        least = np.where(lows < 0, 2**62, lows).min(axis=0)
        return np.where(apart, least, low), np.where(apart, widest, high)

    def _log_weights(self, places: Counts, low: Counts, high: Counts) -> Reals:
        """Return the logarithms of g(k)·Π f(y | k), −inf beyond the end of a range."""
        counts = low[:, None] + np.arange(int((high - low).max()) + 1)
        logs = self.cell_law.log_pmf_near(counts)
        add_logs(logs, self.cell_answers, places, counts)
        logs[counts > high[:, None]] = -np.inf
        return logs


def _kinds_of_cells(answers: Sequence[LevelAnswers], cells: int) -> tuple[Counts, Counts]:
    """Return the kind of each cell by its answers, and the positions of each kind's answers under each mechanism."""
    places = answer_positions(answers, cells)
    kind = np.zeros(cells, dtype=np.int64)
    for group in answers:
        codes = np.zeros(cells, dtype=np.int64)
        numbers = np.unique(group.answers, return_inverse=True)[1] * 2 + group.suppressed
        codes[group.nodes] = numbers + 1
        joined = kind * (int(codes.max()) + 1) + codes
        kind = np.unique(joined, return_inverse=True)[1]
    first = np.unique(kind, return_index=True)[1]
    return kind, places[:, first]


def _widen_range(log_weight: LogWeight, low: int, high: int) -> tuple[int, int]:
    """Return the ends of a range outside of which all weights are negligible."""
    while True:
        logs = log_weight(np.floor(np.linspace(low, high, _TRIED)))
        least, extent = logs.max() - DEPTH, high - low + 1
        ends = max(0, low - extent * bool(logs[0] > least)), high + extent * bool(logs[-1] > least)
        if ends == (low, high):
            return ends
        low, high = ends


def _has_cut_ends(logs: Reals, low: Counts, high: Counts) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether the lower and the upper end of each range cut off weights that are not negligible."""
    least = logs.max(axis=1) - DEPTH
    lower = (low > 0) & (logs[:, 0] > least)
    ends = np.minimum(high - low, logs.shape[1] - 1)
    upper = logs[np.arange(ends.size), ends] > least
    single = low == high
    return lower & ~single, upper & ~single


def _summary(first: Counts, logs: Reals) -> tuple[Reals, Counts]:
    """Return means, deviations and evidence, and quantiles, of distributions in rows."""
    peaks = logs.max(axis=1)
    weights = np.exp(logs - peaks[:, None])
    middle = (logs.shape[1] - 1) / 2
    offsets = np.arange(logs.shape[1]) - middle
    totals = weights.sum(axis=1)
    means = weights @ offsets / totals
    squares = weights @ (offsets * offsets) / totals
    deviations = np.sqrt(np.maximum(squares - means * means, 0))
    np.cumsum(weights, axis=1, out=weights)
    goals = np.multiply.outer(_QUANTILES, weights[:, -1] * (1 - TIE))
    quantiles = np.array([(weights < goal[:, None]).sum(axis=1) for goal in goals]) + first
    return np.array([first + middle + means, deviations, peaks + np.log(totals)]), quantiles


_FEW_NODES, _NODES = 10, 16
_SMOOTH = 4.0  # records: spread of noise from which on estimates are smooth on an interval of 1
_SMOOTHEST = 16.0  # records: spread from which on few nodes are enough
_DENSE = 2  # answers for each node: fewer answers between two integers are computed directly
_AT_ONCE = 1 << 14  # answers interpolated at once


def smooth_estimates(cells: IndependentCells) -> CellEstimates | None:
    """Return the estimates of many cells with one answer each under the same continuous noise, None for other cells.

    Between two integers, the densities of answers have no kink. So means, deviations, evidence and P[K <= k] are smooth
    functions of the answer, and polynomials through 10 or 16 Chebyshev nodes approximate them. A quantile rises by one
    where such a probability falls below its level.

    Source: Berrut and Trefethen (2004), Barycentric Lagrange interpolation, eq. (4.2), (5.4).

    Numerical error: 1e-11 standard deviations in means.
    """
    answers = cells.cell_answers[0]
    if len(cells.cell_answers) > 1 or answers.nodes.size < cells.cells:
        return None
    size = _nodes(answers)
    floors, owners, answered = np.unique(np.floor(answers.answers), return_inverse=True, return_counts=True)
    dense = answered > _DENSE * size
    if not size or not dense.any():
        return None
    is_dense = dense[owners]
    groups = (np.cumsum(dense) - 1)[owners[is_dense]]
    interpolated = _interpolated_estimates(cells, floors[dense], groups, answers.answers[is_dense], size)
    order = np.argsort(answers.nodes)
    if is_dense.all():
        return interpolated.ordered(order)
    direct = cells.with_answers(answers.answers[~is_dense]).direct_estimates()
    joined = CellEstimates._make(map(np.append, interpolated, direct))
    return joined.ordered(np.argsort(np.argsort(~is_dense, kind="stable"))[order])


def _nodes(answers: LevelAnswers) -> int:
    """Return the number of nodes between two integers; 0 if estimates are not smooth enough."""
    noise = answers.mechanism
    if not isinstance(noise, SymmetricNoise) or noise.is_discrete or answers.suppressed.any():
        return 0
    law = noise.errors
    reach = law.spread * (_SMOOTH if law.is_geometric else 1.0)
    return 0 if reach < _SMOOTH else _FEW_NODES if reach >= _SMOOTHEST else _NODES


def _interpolated_estimates(
    cells: IndependentCells, floors: Reals, owners: Counts, answers: Reals, size: int
) -> CellEstimates:
    """Return the estimates of answers by polynomials on the unit interval above each floor."""
    nodes = (1 + chebpts2(size)) / 2
    at_nodes = cells.with_answers((floors[:, None] + nodes).ravel())
    estimates = CellEstimates._make(each.reshape(-1, size) for each in at_nodes.direct_estimates())
    shares = answers - floors[owners]
    reals = [estimates.mean, estimates.std, estimates.log_evidence]
    mean, std, evidence = _interpolated(nodes, reals, owners, shares)
    quantiles = [each[owners, 0] for each in estimates[2:5]]
    # from the quantile at the first node on, one more where P[K <= k] is too small
    rises = [each[:, -1] - each[:, 0] for each in estimates[2:5]]
    steps = [(number, step) for number, rise in enumerate(rises) for step in range(int(rise.max(initial=0)))]
    if steps:
        starts = [estimates[2 + number][:, 0] + step for number, step in steps]
        node_chances = at_nodes.chances(np.repeat(np.array(starts), size, axis=1))
        at_answers = _interpolated(nodes, node_chances.reshape(len(steps), -1, size), owners, shares)
        for (number, step), chances_of_step in zip(steps, at_answers, strict=True):
            missing = chances_of_step < _QUANTILES[number] * (1 - TIE)
            quantiles[number][missing & (step < rises[number][owners])] += 1
    median, low, high = quantiles
    return CellEstimates(mean, std, median, low, high, evidence)


def _interpolated(nodes: Reals, several: Sequence[Reals] | Reals, owners: Counts, shares: Reals) -> Reals:
    """Return polynomials through values at nodes, evaluated within the unit interval by the barycentric formula.

    Shapes: several (rows, owners, nodes), owners (answers,), shares (answers,); result (rows, answers).
    """
    signs = (-1.0) ** np.arange(nodes.size)
    signs[[0, -1]] /= 2
    totals = np.empty((len(several), shares.size))
    for start in range(0, shares.size, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        apart = shares[part, None] - nodes
        at_node = apart == 0
        weights = signs / np.where(at_node, 1.0, apart)
        weights = np.where(at_node.any(axis=1)[:, None], at_node, weights)
        weights /= weights.sum(axis=1)[:, None]
        for row, values in zip(totals, several, strict=True):
            row[part] = np.einsum("an,an->a", weights, values[owners[part]])
    return totals
