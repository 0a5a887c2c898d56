"""What the cells of a table are, where they are independent draws of one law."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.polynomial.chebyshev import chebpts2
from numpy.typing import NDArray

from noisycount.analysis.tables.answers import LevelAnswers
from noisycount.analysis.tables.fast_sums import Complexes, law_by_characteristic
from noisycount.analysis.tables.independent_cells import QUANTILES, CellEstimates, IndependentCells
from noisycount.analysis.tables.passes import NodeLaw, Summary, table_law
from noisycount.analysis.tables.wide_laws import lattice_sum
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE, CountDistribution, TableLaw
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.tables.cells import CellLaw

Counts = NDArray[np.int64]
_WIDEST, _KINDS = 64.0, 32  # records, laws: of sums that are wider, and of fewer, by transforms


@frozen(eq=False)
class CellSolution:
    """The laws of independent cells."""

    cells: IndependentCells  # the cells and their answers
    estimates: CellEstimates  # what is told of each

    @classmethod
    def of(cls, number: int, law: CellLaw, answers: Sequence[LevelAnswers]) -> Self:
        """That of so many cells."""
        cells = IndependentCells(number, law, answers)
        return cls(cells, smooth_estimates(cells) or cells.estimates())

    @property
    def evidence(self) -> float:
        """The logarithm of the probability of the answers."""
        return float(self.estimates.log_evidence.sum())

    def answers(self, level: int) -> tuple[LevelAnswers, ...]:
        """What was answered about a level; about the sum of all cells nothing was."""
        return tuple(self.cells.answers) if level else ()

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
            return self.cells.law_of(position)
        return self.sum_law(np.ones(self.cells.cells, dtype=np.bool_))

    def sum_law(self, is_in: NDArray[np.bool_]) -> CountDistribution:
        """The law of the sum of some cells; of wide ones on every h-th count: see `lattice_sum`.

        Shapes: is_in (cells,).
        """
        laws = list(self.cells.laws_of(is_in))
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
        return table_law(NodeLaw(centre + low, law))

    def draws(self, number: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Tables of counts of the cells, shape (number, cells)."""
        return self.cells.draws(number, random)


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
    answers = cells.answers[0]
    if len(cells.answers) > 1 or answers.nodes.size < cells.cells:
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
    rest = cells.beside(answers.answers[~held]).estimates()
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
    found = CellEstimates._make(each.reshape(-1, size) for each in at_nodes.estimates())
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
            missing = own < QUANTILES[number] * (1 - TIE)
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
