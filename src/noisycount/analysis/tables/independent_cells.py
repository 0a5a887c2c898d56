"""Cells that are independent draws of one law: the exact law of each, given its answers, and of their sums."""

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

_ENTRIES = 1 << 19  # counts of all cells held at once: 4 MB an array
_MOST = 1 << 18  # counts of a law that are added up one by one
_WIDEST, _KINDS = 64.0, 32  # records, laws: of sums that are wider, and of fewer, by transforms
_TRIED = 1024  # counts of a window among which the likeliest is looked for
_QUANTILES = (0.5, 0.025, 0.975)  # the levels of median, low and high


class CellEstimates(NamedTuple):
    """What is said of each cell, one array each, shape (cells,)."""

    mean: Reals  # the expected count, in records
    std: Reals  # its standard deviation
    median: Counts  # the smallest count with half of the probability up to it
    low: Counts  # the same with 2.5 %
    high: Counts  # the same with 97.5 %
    log_evidence: Reals  # the logarithm of the probability, or the density, of the cell's answers

    def ordered(self, cells: Counts) -> "CellEstimates":
        """The estimates of these cells, in this order."""
        return CellEstimates._make(each[cells] for each in self)


@frozen(eq=False, slots=False)
class IndependentCells:
    """The cells of a table as independent draws of one law, and their answers.

    P[K = k | answers] ∝ g(k)·Π f(y | k), summed over all counts that matter to e^−42.
    """

    cells: int  # how many there are
    cell_law: CellLaw  # the law g of each count before any answer
    told: Sequence[LevelAnswers]  # the answers about the cells

    @cached_property
    def estimates(self) -> CellEstimates:
        """What is told of each cell."""
        return smooth_estimates(self) or self.direct_estimates()

    @property
    def evidence(self) -> float:
        """The logarithm of the probability of the answers."""
        return float(self.estimates.log_evidence.sum())

    def answers(self, level: int) -> tuple[LevelAnswers, ...]:
        """What was answered about a level; about the sum of all cells nothing was."""
        return tuple(self.told) if level else ()

    @property
    def rounding(self) -> float:
        """None: only positive terms are added up."""
        return 0.0

    def summary(self, level: int) -> Summary:
        """The estimates of a level."""
        if level:
            return Summary(*self.estimates[:5])
        law = self.law(0, 0)
        ends = law.quantile(0.5), law.quantile(0.025), law.quantile(0.975)
        return Summary(np.array([law.mean]), np.array([law.deviation]), *(np.array([end]) for end in ends))

    def law(self, level: int, position: int) -> CountDistribution:
        """The law of a cell, or of the sum of all."""
        if level:
            return self._law_of(position)
        return self.sum_law(np.ones(self.cells, dtype=np.bool_))

    def sum_law(self, is_in: NDArray[np.bool_]) -> CountDistribution:
        """The law of the sum of some cells; of wide ones on every h-th count: see `lattice_sum`.

        Shapes: is_in (cells,).
        """
        laws = list(self._laws_of(is_in))
        mean = float(self.estimates.mean[is_in].sum())
        deviation = float(np.sqrt((self.estimates.std[is_in] ** 2).sum()))
        kinds = [(number, law) for number, law in laws if isinstance(law, TableLaw)]
        is_quick = deviation > _WIDEST and len(laws) <= _KINDS
        if len(kinds) < len(laws) or is_quick:
            (number, only), *others = laws
            return lattice_sum(laws, mean, deviation) if others or number > 1 else only
        centre = round(mean)

        def characteristic(angles: Reals) -> Complexes:
            logs = np.zeros(angles.size, dtype=np.complex128)
            for number, law in kinds:
                places = law.first + np.arange(law.log_weights.size) - law.mean
                chances = np.exp(law.log_probabilities)
                logs += number * np.log(np.exp(1j * angles[:, None] * places) @ chances)
                logs += 1j * angles * number * law.mean
            return np.exp(logs - 1j * angles * centre)

        least, most = (sum(number * law.support[end] for number, law in kinds) for end in (0, 1))
        reach = least - centre, most - centre
        low, law = law_by_characteristic(characteristic, mean - centre, deviation, reach)
        return NodeLaw(centre + low, law).table

    def direct_estimates(self) -> CellEstimates:
        """The estimates of all cells; those with equal answers take one computation."""
        kind, places = _alike(self.told, self.cells)
        kinds = places.shape[1]
        found = np.empty((3, kinds))
        quantiles = np.empty((3, kinds), dtype=np.int64)
        silent = (places < 0).all(axis=0)
        for place in np.flatnonzero(silent).tolist():
            found[:, place] = self.cell_law.mean, math.sqrt(self.cell_law.variance), 0.0
            quantiles[:, place] = [self.cell_law.quantile(level) for level in _QUANTILES]
        wide = self._is_wide(places)
        for place in np.flatnonzero(wide).tolist():
            law, log_top = self._wide_law(places[:, place])
            found[:, place] = law.mean, law.deviation, log_top + law.log_mass
            quantiles[:, place] = [law.quantile(level) for level in _QUANTILES]
        columns = np.flatnonzero(~silent & ~wide)
        for some, first, logs in self._weights(places[:, columns]):
            found[:, columns[some]], quantiles[:, columns[some]] = _summary(first, logs)
        mean, std, evidence = found[:, kind]
        median, low, high = quantiles[:, kind]
        return CellEstimates(mean, std, median, low, high, evidence)

    def chances(self, counts: Counts) -> Reals:
        """P[K <= count] of each cell, all of which have answers. Shapes: counts (several, cells)."""
        places = answer_positions(self.told, self.cells)
        found = np.empty(counts.shape)
        wide = self._is_wide(places)
        for cell in np.flatnonzero(wide).tolist():
            law, _ = self._wide_law(places[:, cell])
            own = counts[:, cell].tolist()
            found[:, cell] = [law.probability(-math.inf, count) for count in own]
        columns = np.flatnonzero(~wide)
        for part, first, logs in self._weights(places[:, columns]):
            some = columns[part]
            weights = np.exp(logs - logs.max(axis=1)[:, None])
            np.cumsum(weights, axis=1, out=weights)
            steps = np.clip(counts[:, some] - first, 0, weights.shape[1] - 1)
            sums = weights[np.arange(some.size), steps] / weights[:, -1]
            found[:, some] = np.where(counts[:, some] < first, 0.0, sums)
        return found

    def beside(self, answers: Reals) -> "IndependentCells":
        """As many cells with other answers under the same mechanism."""
        (only,) = self.told
        nodes, none = np.arange(answers.size), np.zeros(answers.size, dtype=np.bool_)
        told = LevelAnswers(only.level, nodes, answers, none, only.mechanism)
        return IndependentCells(answers.size, self.cell_law, (told,))

    def _law_of(self, cell: int) -> CountDistribution:
        """The law of the count of one cell."""
        places = np.full((len(self.told), 1), -1)
        for number, one in enumerate(self.told):
            met = np.flatnonzero(one.nodes == cell)
            places[number, 0] = met[0] if met.size else -1
        if self._is_wide(places)[0]:
            return self._wide_law(places[:, 0])[0]
        if (places < 0).all():
            return TableLaw(0, self._silent)
        ((_, first, logs),) = self._weights(places)
        possible = np.flatnonzero(logs[0] > -np.inf)
        return TableLaw(int(first[0]) + int(possible[0]), logs[0, possible[0] : possible[-1] + 1])

    def draws(self, number: int, random: np.random.Generator) -> Counts:
        """Counts drawn from the law of each cell, shape (number, cells)."""
        kind, places = _alike(self.told, self.cells)
        drawn = np.empty((number, self.cells), dtype=np.int64)
        silent, wide = (places < 0).all(axis=0), self._is_wide(places)
        for place in np.flatnonzero(wide).tolist():
            own = np.flatnonzero(kind == place)
            law, _ = self._wide_law(places[:, place])
            drawn[:, own] = wide_draws(law, number * own.size, random).reshape(number, -1)
        columns = np.flatnonzero(~wide & ~silent)
        windows = self._weights(places[:, columns])
        laws: Iterable[tuple[Counts, Counts, Reals]] = ((columns[some], first, logs) for some, first, logs in windows)
        if (silent & ~wide).any():
            no_answer = np.flatnonzero(silent), np.zeros(1, np.int64), self._silent[None]
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
                own = np.broadcast_to(rows[some], (number, some.size))
                drawn[:, some] = first[own] + draw_places(weights, own, random)
        return drawn

    def _laws_of(self, is_in: NDArray[np.bool_]) -> Iterator[tuple[int, CountDistribution]]:
        """The laws of some cells, those with equal answers once, and how many there are of each.

        Shapes: is_in (cells,).
        """
        cells = np.flatnonzero(is_in)
        kinds = _alike(self.told, self.cells)[0][cells]
        _, firsts, numbers = np.unique(kinds, return_index=True, return_counts=True)
        for first, number in zip(firsts.tolist(), numbers.tolist(), strict=True):
            yield number, self._law_of(int(cells[first]))

    @property
    def _silent(self) -> Reals:
        """The logarithms of g(k), of the count of a cell without answers."""
        return self.cell_law.log_pmf(np.arange(self.cell_law.end(DEPTH) + 1))

    def _is_wide(self, places: Counts) -> NDArray[np.bool_]:
        """Which kinds have laws of too many counts to be added up one by one."""
        told = places >= 0
        silent = ~told.any(axis=0)
        low, high = self._windows(places)
        counts = np.where(silent, self.cell_law.end(DEPTH), high - low)
        rough = [~one.is_smooth for one in self.told]
        is_rough = (told & np.array(rough)[:, None]).any(axis=0)
        return (counts > _MOST) & ~is_rough

    def _wide_law(self, places: Counts) -> tuple[SmoothLaw, float]:
        """The law of a kind that is wide, and the logarithm of its largest weight."""
        told = [(one, place) for one, place in zip(self.told, places.tolist(), strict=True) if place >= 0]

        def log_weight(counts: Reals) -> Reals:
            logs = self.cell_law.log_between(counts)
            for one, place in told:
                logs += one.log_between(place, counts)
            return logs

        ends, longest = (0, self.cell_law.end(DEPTH)), math.inf
        if told:
            (low,), (high,) = self._windows(places[:, None])
            ends = _widened(log_weight, int(low), int(high))
            longest = min(one.spread for one, _ in told)
        bends = [float(one.answers[place]) for one, place in told]
        law = wide_law(log_weight, ends, bends, longest)
        return law, float(log_weight(np.array([float(law.centre)]))[0])

    def _weights(self, places: Counts) -> Iterator[tuple[Counts, Counts, Reals]]:
        """Which kinds, their first counts, and the logarithms of g(k)·Π f(y | k) from there on."""
        low, high = self._windows(places)
        waiting = np.lexsort((low, np.ceil(2 * np.log2(high - low + 1.0))))
        while waiting.size:
            widths = high[waiting] - low[waiting] + 1
            rows = max(1, int(np.searchsorted(np.arange(1, widths.size + 1) * widths, _ENTRIES)))
            some, waiting = waiting[:rows], waiting[rows:]
            logs = self._log_weights(places[:, some], low[some], high[some])
            short, long = _too_narrow(logs, low[some], high[some])
            again = short | long
            if again.any():
                wider = some[again]
                extent = high[wider] - low[wider] + 1
                low[wider] = np.maximum(0, low[wider] - np.where(short[again], extent, 0))
                high[wider] += np.where(long[again], extent, 0)
                waiting = np.concatenate([wider, waiting])
            if not again.all():
                yield some[~again], low[some[~again]], logs[~again]

    def _windows(self, places: Counts) -> tuple[Counts, Counts]:
        """The counts that no answer excludes; all of them where answers exclude each other."""
        ends = []
        for one, own in zip(self.told, places, strict=True):
            low, high = one.reach()
            told = own >= 0
            ends.append((np.where(told, low[own], -1), np.where(told, high[own], 2**62)))
        lows, highs = (np.array(each) for each in zip(*ends, strict=True))
        low, high = lows.max(axis=0), highs.min(axis=0)
        apart = low > high
        widest = np.where(highs == 2**62, -1, highs).max(axis=0)
        least = np.where(lows < 0, 2**62, lows).min(axis=0)
        return np.where(apart, least, low), np.where(apart, widest, high)

    def _log_weights(self, places: Counts, low: Counts, high: Counts) -> Reals:
        """The logarithms of g(k)·Π f(y | k), −inf beyond the end of a window."""
        counts = low[:, None] + np.arange(int((high - low).max()) + 1)
        logs = self.cell_law.log_pmf_near(counts)
        add_logs(logs, self.told, places, counts)
        logs[counts > high[:, None]] = -np.inf
        return logs


def _alike(answers: Sequence[LevelAnswers], cells: int) -> tuple[Counts, Counts]:
    """The kind of each cell by its answers, and the places of each kind among those of each law."""
    places = answer_positions(answers, cells)
    kind = np.zeros(cells, dtype=np.int64)
    for one in answers:
        codes = np.zeros(cells, dtype=np.int64)
        own = np.unique(one.answers, return_inverse=True)[1] * 2 + one.suppressed
        codes[one.nodes] = own + 1
        joined = kind * (int(codes.max()) + 1) + codes
        kind = np.unique(joined, return_inverse=True)[1]
    first = np.unique(kind, return_index=True)[1]
    return kind, places[:, first]


def _widened(log_weight: LogWeight, low: int, high: int) -> tuple[int, int]:
    """The ends of a window that cuts off nothing that matters."""
    while True:
        logs = log_weight(np.floor(np.linspace(low, high, _TRIED)))
        least, extent = logs.max() - DEPTH, high - low + 1
        ends = max(0, low - extent * bool(logs[0] > least)), high + extent * bool(logs[-1] > least)
        if ends == (low, high):
            return ends
        low, high = ends


def _too_narrow(logs: Reals, low: Counts, high: Counts) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a window cuts off what matters, at its lower and at its upper end."""
    least = logs.max(axis=1) - DEPTH
    lower = (low > 0) & (logs[:, 0] > least)
    ends = np.minimum(high - low, logs.shape[1] - 1)
    upper = logs[np.arange(ends.size), ends] > least
    single = low == high
    return lower & ~single, upper & ~single


def _summary(first: Counts, logs: Reals) -> tuple[Reals, Counts]:
    """Means, deviations and evidence, and quantiles, of laws that are rows."""
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
_SMOOTH = 4.0  # records: posteriors under noise so wide have poles far from an interval of 1
_SMOOTHEST = 16.0  # records: so far that few nodes are enough
_DENSE = 2  # answers for each node: fewer between two integers are computed one by one
_AT_ONCE = 1 << 14  # answers


def smooth_estimates(cells: IndependentCells) -> CellEstimates | None:
    """The estimates of very many cells, each with one answer of the same continuous noise.

    For answers between two integers densities at counts have no kink, so that means, deviations,
    evidence and P[K <= k] are smooth: polynomials through 10 or 16 Chebyshev nodes. A
    quantile rises where such a probability falls below its level.

    Source: Berrut and Trefethen (2004), Barycentric Lagrange interpolation, eq. (4.2), (5.4).
    Numerical error: 1e-11 standard deviations in means.
    """
    answers = cells.told[0]
    if len(cells.told) > 1 or answers.nodes.size < cells.cells:
        return None
    size = _nodes(answers)
    floors, owners, answered = np.unique(np.floor(answers.answers), return_inverse=True, return_counts=True)
    dense = answered > _DENSE * size
    if not size or not dense.any():
        return None
    held = dense[owners]
    groups = (np.cumsum(dense) - 1)[owners[held]]
    found = _dense(cells, floors[dense], groups, answers.answers[held], size)
    order = np.argsort(answers.nodes)
    if held.all():
        return found.ordered(order)
    rest = cells.beside(answers.answers[~held]).direct_estimates()
    joined = CellEstimates._make(map(np.append, found, rest))
    return joined.ordered(np.argsort(np.argsort(~held, kind="stable"))[order])


def _nodes(answers: LevelAnswers) -> int:
    """How many nodes hold what is between two integers; 0 where none do."""
    noise = answers.mechanism
    if not isinstance(noise, SymmetricNoise) or noise.is_discrete or answers.suppressed.any():
        return 0
    law = noise.errors
    reach = law.spread * (_SMOOTH if law.is_geometric else 1.0)
    return 0 if reach < _SMOOTH else _FEW_NODES if reach >= _SMOOTHEST else _NODES


def _dense(cells: IndependentCells, floors: Reals, owners: Counts, answers: Reals, size: int) -> CellEstimates:
    """The estimates of answers by polynomials from each floor on."""
    nodes = (1 + chebpts2(size)) / 2
    at_nodes = cells.beside((floors[:, None] + nodes).ravel())
    found = CellEstimates._make(each.reshape(-1, size) for each in at_nodes.direct_estimates())
    shares = answers - floors[owners]
    reals = [found.mean, found.std, found.log_evidence]
    mean, std, evidence = _between(nodes, reals, owners, shares)
    quantiles = [each[owners, 0] for each in found[2:5]]
    # from the first node's on, one more where a count has too little
    rises = [each[:, -1] - each[:, 0] for each in found[2:5]]
    asked = [(number, step) for number, rise in enumerate(rises) for step in range(int(rise.max(initial=0)))]
    if asked:
        starts = [found[2 + number][:, 0] + step for number, step in asked]
        chances = at_nodes.chances(np.repeat(np.array(starts), size, axis=1))
        at_answers = _between(nodes, chances.reshape(len(asked), -1, size), owners, shares)
        for (number, step), own in zip(asked, at_answers, strict=True):
            missing = own < _QUANTILES[number] * (1 - TIE)
            quantiles[number][missing & (step < rises[number][owners])] += 1
    median, low, high = quantiles
    return CellEstimates(mean, std, median, low, high, evidence)


def _between(nodes: Reals, several: Sequence[Reals] | Reals, owners: Counts, shares: Reals) -> Reals:
    """The polynomials through several values at nodes, by the barycentric formula.

    Shapes: several (rows, nodes); result (several, answers).
    """
    signs = (-1.0) ** np.arange(nodes.size)
    signs[[0, -1]] /= 2
    found = np.empty((len(several), shares.size))
    for start in range(0, shares.size, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        apart = shares[some, None] - nodes
        at_node = apart == 0
        weights = signs / np.where(at_node, 1.0, apart)
        weights = np.where(at_node.any(axis=1)[:, None], at_node, weights)
        weights /= weights.sum(axis=1)[:, None]
        for one, values in zip(found, several, strict=True):
            one[some] = np.einsum("an,an->a", weights, values[owners[some]])
    return found
