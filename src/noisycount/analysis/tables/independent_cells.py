"""Cells that are independent draws from one distribution: the posterior of each cell, and of sums of cells.

`IndependentCells` is the solution without a total. `smooth_estimates` interpolates the estimates of very many cells.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebpts2
from numpy.typing import NDArray

from noisycount.analysis.tables.given_sums import draw_places, law_by_characteristic
from noisycount.analysis.tables.likelihoods import DEPTH, NO_END, Counts, LevelAnswers, add_logs, answer_positions
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
    """Estimates of all cells; each field is an array of shape (cells,)."""

    mean: Reals  # expected count, in records
    std: Reals  # standard deviation, in records
    median: Counts  # smallest count k with P[K <= k] >= 1/2
    low: Counts  # smallest count k with P[K <= k] >= 2.5 %
    high: Counts  # smallest count k with P[K <= k] >= 97.5 %
    log_evidence: Reals  # log probability, or density, of the cell's answers

    def ordered(self, cells: Counts) -> "CellEstimates":
        """Return the estimates of these cells, in this order."""
        return CellEstimates._make(column[cells] for column in self)


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
        quantiles = law.quantile(0.5), law.quantile(0.025), law.quantile(0.975)
        return Summary(
            np.array([law.mean]), np.array([law.deviation]), *(np.array([quantile]) for quantile in quantiles)
        )

    def law(self, level: int, position: int) -> CountDistribution:
        """Return the distribution of a cell, or of the sum of all cells."""
        if level:
            return self._cell_posterior(position)
        return self.sum_law(np.ones(self.cells, dtype=np.bool_))

    def sum_law(self, is_in: NDArray[np.bool_]) -> CountDistribution:
        """Return the distribution of the sum of the cells in a mask; see `lattice_sum` for wide sums."""
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
        kind, answer_of_kind = _answer_kinds(self.cell_answers, self.cells)
        kinds = answer_of_kind.shape[1]
        reals = np.empty((3, kinds))
        quantiles = np.empty((3, kinds), dtype=np.int64)
        is_wide = self._is_wide(answer_of_kind)
        for number in np.flatnonzero(is_wide).tolist():
            law, log_top = self._wide_law(answer_of_kind[:, number])
            reals[:, number] = law.mean, law.deviation, log_top + law.log_mass
            quantiles[:, number] = [law.quantile(level) for level in _QUANTILES]
        columns = np.flatnonzero(~is_wide)
        for rows, first, logs in self._log_weights_by_kind(answer_of_kind[:, columns]):
            reals[:, columns[rows]], quantiles[:, columns[rows]] = _estimates_of_rows(first, logs)
        mean, std, evidence = reals[:, kind]
        median, low, high = quantiles[:, kind]
        return CellEstimates(mean, std, median, low, high, evidence)

    def chances(self, counts: Counts) -> Reals:
        """Return P[K <= count] of each cell, all of which have answers. Shapes: counts (several, cells)."""
        answer_of_cell = answer_positions(self.cell_answers, self.cells)
        chances = np.empty(counts.shape)
        is_wide = self._is_wide(answer_of_cell)
        for cell in np.flatnonzero(is_wide).tolist():
            law, _ = self._wide_law(answer_of_cell[:, cell])
            cell_counts = counts[:, cell].tolist()
            chances[:, cell] = [law.probability(-math.inf, count) for count in cell_counts]
        columns = np.flatnonzero(~is_wide)
        for rows, first, logs in self._log_weights_by_kind(answer_of_cell[:, columns]):
            cells_of_rows = columns[rows]
            weights = np.exp(logs - logs.max(axis=1)[:, None])
            np.cumsum(weights, axis=1, out=weights)
            positions = np.clip(counts[:, cells_of_rows] - first, 0, weights.shape[1] - 1)
            sums = weights[np.arange(cells_of_rows.size), positions] / weights[:, -1]
            chances[:, cells_of_rows] = np.where(counts[:, cells_of_rows] < first, 0.0, sums)
        return chances

    def with_answers(self, answers: Reals) -> "IndependentCells":
        """Return cells with the same prior, one for each of some other answers under the same mechanism."""
        (group,) = self.cell_answers
        nodes, not_suppressed = np.arange(answers.size), np.zeros(answers.size, dtype=np.bool_)
        groups = LevelAnswers(group.level, nodes, answers, not_suppressed, group.mechanism)
        return IndependentCells(answers.size, self.cell_law, (groups,))

    def _cell_posterior(self, cell: int) -> CountDistribution:
        """Return the distribution of the count of one cell."""
        answer_of_kind = np.full((len(self.cell_answers), 1), -1)
        for number, group in enumerate(self.cell_answers):
            matching = np.flatnonzero(group.nodes == cell)
            answer_of_kind[number, 0] = matching[0] if matching.size else -1
        if self._is_wide(answer_of_kind)[0]:
            return self._wide_law(answer_of_kind[:, 0])[0]
        ((_, first, logs),) = self._log_weights_by_kind(answer_of_kind)
        possible = np.flatnonzero(logs[0] > -np.inf)
        return TableLaw(int(first[0]) + int(possible[0]), logs[0, possible[0] : possible[-1] + 1])

    def draws(self, number: int, random: np.random.Generator) -> Counts:
        """Draw counts from the distribution of each cell, shape (number, cells)."""
        kind, answer_of_kind = _answer_kinds(self.cell_answers, self.cells)
        counts = np.empty((number, self.cells), dtype=np.int64)
        is_wide = self._is_wide(answer_of_kind)
        for wide_kind in np.flatnonzero(is_wide).tolist():
            cells_of_kind = np.flatnonzero(kind == wide_kind)
            law, _ = self._wide_law(answer_of_kind[:, wide_kind])
            counts[:, cells_of_kind] = wide_draws(law, number * cells_of_kind.size, random).reshape(number, -1)
        columns = np.flatnonzero(~is_wide)
        for kinds, first, logs in self._log_weights_by_kind(answer_of_kind[:, columns]):
            row = np.full(answer_of_kind.shape[1], -1)
            row[columns[kinds]] = np.arange(kinds.size)
            rows = row[kind]
            cells = np.flatnonzero(rows >= 0)
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            step = max(1, _ENTRIES // number)
            for start in range(0, cells.size, step):
                chunk = cells[start : start + step]
                cells_of_kind = np.broadcast_to(rows[chunk], (number, chunk.size))
                counts[:, chunk] = first[cells_of_kind] + draw_places(weights, cells_of_kind, random)
        return counts

    def _cell_posteriors(self, is_in: NDArray[np.bool_]) -> Iterator[tuple[int, CountDistribution]]:
        """Yield the distinct distributions of the cells in a mask, each with the number of cells that have it."""
        cells = np.flatnonzero(is_in)
        kinds = _answer_kinds(self.cell_answers, self.cells)[0][cells]
        _, firsts, numbers = np.unique(kinds, return_index=True, return_counts=True)
        for first, number in zip(firsts.tolist(), numbers.tolist(), strict=True):
            yield number, self._cell_posterior(int(cells[first]))

    def _is_wide(self, answer_of_kind: Counts) -> NDArray[np.bool_]:
        """Return True for kinds of cells with too many counts to be added up one by one."""
        low, high = self._possible_ranges(answer_of_kind)
        has_rough_likelihood = [~group.is_smooth for group in self.cell_answers]
        is_rough = ((answer_of_kind >= 0) & np.array(has_rough_likelihood)[:, None]).any(axis=0)
        return (high - low > _MOST) & ~is_rough

    def _wide_law(self, answer_of_kind: Counts) -> tuple[SmoothLaw, float]:
        """Return the distribution of a kind of cell that is wide, and the logarithm of its largest weight."""
        answers = [
            (group, index)
            for group, index in zip(self.cell_answers, answer_of_kind.tolist(), strict=True)
            if index >= 0
        ]

        def log_weight(counts: Reals) -> Reals:
            logs = self.cell_law.log_pmf_at_reals(counts)
            for group, index in answers:
                logs += group.log_likelihood_at_reals(index, counts)
            return logs

        (low,), (high,) = self._possible_ranges(answer_of_kind[:, None])
        ends = _widen_range(log_weight, int(low), int(high))
        longest = min((group.spread for group, _ in answers), default=math.inf)
        bends = [float(group.answers[index]) for group, index in answers]
        law = wide_law(log_weight, ends, bends, longest)
        return law, float(log_weight(np.array([float(law.centre)]))[0])

    def _log_weights_by_kind(self, answer_of_kind: Counts) -> Iterator[tuple[Counts, Counts, Reals]]:
        """Yield kinds of cells, the first count of each, and the log weights from that count on, in batches.

        The weight of a count k is g(k)·Π f(y | k), its prior times the likelihoods of the answers.
        """
        low, high = self._possible_ranges(answer_of_kind)
        remaining = np.lexsort((low, np.ceil(2 * np.log2(high - low + 1.0))))
        while remaining.size:
            widths = high[remaining] - low[remaining] + 1
            rows = max(1, int(np.searchsorted(np.arange(1, widths.size + 1) * widths, _ENTRIES)))
            kinds, remaining = remaining[:rows], remaining[rows:]
            logs = self._log_weights(answer_of_kind[:, kinds], low[kinds], high[kinds])
            is_cut_below, is_cut_above = _cut_off_ends(logs, low[kinds], high[kinds])
            is_cut = is_cut_below | is_cut_above
            if is_cut.any():
                wider = kinds[is_cut]
                extent = high[wider] - low[wider] + 1
                low[wider] = np.maximum(0, low[wider] - np.where(is_cut_below[is_cut], extent, 0))
                high[wider] += np.where(is_cut_above[is_cut], extent, 0)
                remaining = np.concatenate([wider, remaining])
            if not is_cut.all():
                yield kinds[~is_cut], low[kinds[~is_cut]], logs[~is_cut]

    def _possible_ranges(self, answer_of_kind: Counts) -> tuple[Counts, Counts]:
        """Return the range of counts that no answer of a kind excludes.

        If its answers exclude each other, it is the range between them. Without an answer, it ends where the
        prior is negligible.
        """
        ends = []
        for group, positions in zip(self.cell_answers, answer_of_kind, strict=True):
            low, high = group.reach()
            has_answer = positions >= 0
            ends.append((np.where(has_answer, low[positions], -1), np.where(has_answer, high[positions], NO_END)))
        lows, highs = (np.array(rows) for rows in zip(*ends, strict=True))
        low, high = lows.max(axis=0), highs.min(axis=0)
        is_disjoint = low > high
        highest = np.where(highs == NO_END, -1, highs).max(axis=0)
        lowest = np.where(lows < 0, NO_END, lows).min(axis=0)
        high = np.where(high == NO_END, self.cell_law.negligible_from(DEPTH), np.where(is_disjoint, highest, high))
        return np.maximum(np.where(is_disjoint, lowest, low), 0), high

    def _log_weights(self, answer_of_kind: Counts, low: Counts, high: Counts) -> Reals:
        """Return the log weights of counts, prior times likelihoods; −inf beyond the end of a range."""
        counts = low[:, None] + np.arange(int((high - low).max()) + 1)
        logs = self.cell_law.log_pmf_of_close_counts(counts)
        add_logs(logs, self.cell_answers, answer_of_kind, counts)
        logs[counts > high[:, None]] = -np.inf
        return logs


def _answer_kinds(answers: Sequence[LevelAnswers], cells: int) -> tuple[Counts, Counts]:
    """Return the kind of each cell (a kind has equal answers), and the positions of the answers of each kind."""
    answer_of_cell = answer_positions(answers, cells)
    kind = np.zeros(cells, dtype=np.int64)
    for group in answers:
        codes = np.zeros(cells, dtype=np.int64)
        numbers = np.unique(group.answers, return_inverse=True)[1] * 2 + group.suppressed
        codes[group.nodes] = numbers + 1
        joined = kind * (int(codes.max()) + 1) + codes
        kind = np.unique(joined, return_inverse=True)[1]
    first = np.unique(kind, return_index=True)[1]
    return kind, answer_of_cell[:, first]


def _widen_range(log_weight: LogWeight, low: int, high: int) -> tuple[int, int]:
    """Return the ends of a range outside of which all weights are negligible."""
    while True:
        logs = log_weight(np.floor(np.linspace(low, high, _TRIED)))
        threshold, extent = logs.max() - DEPTH, high - low + 1
        ends = max(0, low - extent * bool(logs[0] > threshold)), high + extent * bool(logs[-1] > threshold)
        if ends == (low, high):
            return ends
        low, high = ends


def _cut_off_ends(logs: Reals, low: Counts, high: Counts) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of the ranges whose lower end, and whose upper end, cuts off weights that are not negligible."""
    threshold = logs.max(axis=1) - DEPTH
    lower = (low > 0) & (logs[:, 0] > threshold)
    ends = np.minimum(high - low, logs.shape[1] - 1)
    upper = logs[np.arange(ends.size), ends] > threshold
    single = low == high
    return lower & ~single, upper & ~single


def _estimates_of_rows(first: Counts, logs: Reals) -> tuple[Reals, Counts]:
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
    size = _node_count(answers)
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


def _node_count(answers: LevelAnswers) -> int:
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
    estimates = CellEstimates._make(column.reshape(-1, size) for column in at_nodes.direct_estimates())
    shares = answers - floors[owners]
    reals = [estimates.mean, estimates.std, estimates.log_evidence]
    mean, std, evidence = _barycentric_values(nodes, reals, owners, shares)
    quantiles = [column[owners, 0] for column in estimates[2:5]]
    # from the quantile at the first node on, one more where P[K <= k] is too small
    increases = [column[:, -1] - column[:, 0] for column in estimates[2:5]]
    steps = [
        (number, step) for number, increase in enumerate(increases) for step in range(int(increase.max(initial=0)))
    ]
    if steps:
        starts = [estimates[2 + number][:, 0] + step for number, step in steps]
        node_chances = at_nodes.chances(np.repeat(np.array(starts), size, axis=1))
        at_answers = _barycentric_values(nodes, node_chances.reshape(len(steps), -1, size), owners, shares)
        for (number, step), chances_of_step in zip(steps, at_answers, strict=True):
            missing = chances_of_step < _QUANTILES[number] * (1 - TIE)
            quantiles[number][missing & (step < increases[number][owners])] += 1
    median, low, high = quantiles
    return CellEstimates(mean, std, median, low, high, evidence)


def _barycentric_values(nodes: Reals, functions: Sequence[Reals] | Reals, owners: Counts, shares: Reals) -> Reals:
    """Return polynomials through values at nodes, evaluated within the unit interval by the barycentric formula.

    Shapes: several (rows, owners, nodes), owners (answers,), shares (answers,); result (rows, answers).
    """
    signs = (-1.0) ** np.arange(nodes.size)
    signs[[0, -1]] /= 2
    results = np.empty((len(functions), shares.size))
    for start in range(0, shares.size, _AT_ONCE):
        chunk = slice(start, start + _AT_ONCE)
        distance = shares[chunk, None] - nodes
        is_at_node = distance == 0
        weights = signs / np.where(is_at_node, 1.0, distance)
        weights = np.where(is_at_node.any(axis=1)[:, None], is_at_node, weights)
        weights /= weights.sum(axis=1)[:, None]
        for row, values in zip(results, functions, strict=True):
            row[chunk] = np.einsum("an,an->a", weights, values[owners[chunk]])
    return results
