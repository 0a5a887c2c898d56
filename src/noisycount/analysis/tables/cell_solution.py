"""The law of independent cells, learned from their answers alone.

What the cells of a table are, where they are independent.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.answered import is_whole
from noisycount.analysis.tables.fast_sums import Complexes, law_by_characteristic
from noisycount.analysis.tables.independent_cells import IndependentCells
from noisycount.analysis.tables.level_answers import LevelAnswers
from noisycount.analysis.tables.passes import NodeLaw, Summary, table_law
from noisycount.analysis.tables.smooth_cells import CellEstimates
from noisycount.analysis.tables.wide_laws import lattice_sum
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution, TableLaw
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.tables.cells import SHAPE, CellLaw

__all__ = ["CellSolution", "learned_cell_law"]

_WIDEST, _KINDS = 64.0, 32  # records, laws: of sums that are wider, and of fewer, by transforms
_RATIO = math.sqrt(2)  # of neighbouring means: the laws are broader than their distance
_SMALLEST = 0.5  # records: the first mean
_BEYOND = 4.0  # standard deviations of the noise: the last mean above the largest answer

_PRIOR = (
    2.0  # cells beforehand, so that a few do not become one point: by simulation, see the tests
)

_EMPTY = 0.1  # of them are empty, the others go as the root of the mean: towards flat, not to 0
_GRAIN = 1 / 16  # of a standard deviation of the noise: answers so near teach the same
_MOST = 5_000  # different answers: of more an even selection stands for all
_ROUNDS = 300
_STILL = 1e-5  # the largest change of a weight at which learning ends
_NODES = 64  # of a sum over counts: all of few, else the middles of equal runs
_DEPTH = 14.0  # nats: what matters of a likelihood here
_TAIL = 7.0  # means: a negative binomial law of shape 3 has 1e-7 of its mass beyond


class _Nodes(NamedTuple):
    """Some counts in place of all: the middles of runs of equal odd length."""

    counts: NDArray[np.int64]
    run: int


class _Rows(NamedTuple):
    """Different answers under one mechanism."""

    level: LevelAnswers
    places: NDArray[np.int64]
    cells: Reals


def learned_cell_law(answers: Sequence[LevelAnswers]) -> CellLaw:
    """The law from which the counts of the cells of a table look drawn.

    Weights of a mixture over a geometric grid of means maximise the probability of the answers,
    times that of two cells more, which are spread over all means so that intervals of few cells
    cover: expectation-maximisation, each round of which raises it. Of several answers of a cell the
    most precise teaches.

    Args:
        answers: Of the cells.

    Source: Laird (1978); Dempster, Laird and Rubin (1977), section 4.3.
    Numerical error: the likelihood of a component is a sum of 64 terms, some 0.1 % off.
    """
    rows = list(_rows(answers))
    means = _means(rows)
    likelihoods = np.concatenate([_likelihoods(one, means) for one in rows])
    roots = np.sqrt(means)
    before = np.array([_EMPTY, *((1 - _EMPTY) / roots.sum() * roots)])
    weights = _weights(likelihoods, np.concatenate([one.cells for one in rows]), before)
    return CellLaw(float(weights[0]), means, weights[1:])


def _rows(answers: Sequence[LevelAnswers]) -> Iterator[_Rows]:
    """The most precise answer of each cell, equal ones together."""
    met = np.zeros(max(int(one.nodes.max(initial=0)) for one in answers) + 1, dtype=np.bool_)
    for one in sorted(answers, key=_width):
        for kept in (~one.suppressed, one.suppressed):
            places = np.flatnonzero(kept & ~met[one.nodes])
            met[one.nodes[places]] = True
            if places.size:
                yield _thinned(one, places)


def _thinned(level: LevelAnswers, places: NDArray[np.int64]) -> _Rows:
    """Answers with neighbours within a small share of the noise as one, and an even selection.

    Args:
        level: Of them.
        places: Which ones.
    """
    answers, grain = level.answers[places], _width(level) * _GRAIN
    near = np.round(answers / grain) if grain > 1 or not is_whole(level.mechanism) else answers
    _, first, cells = np.unique(near, return_index=True, return_counts=True)
    excess = max(1.0, first.size / _MOST)
    groups = (np.arange(first.size) / excess).astype(np.int64)
    middles = np.searchsorted(groups, np.arange(groups[-1] + 1)) + int((excess - 1) / 2)
    return _Rows(level, places[first[middles]], np.bincount(groups, cells).astype(np.float64))


def _width(answers: LevelAnswers) -> float:
    """The standard deviation of an answer, in records."""
    noise = answers.mechanism
    return math.sqrt(noise.variance) if isinstance(noise, SymmetricNoise) else 0.0


def _means(rows: Sequence[_Rows]) -> Reals:
    """The grid, up to beyond the largest answer."""
    tops = [float(one.level.answers.max()) + _BEYOND * _width(one.level) for one in rows]
    top = max(1.0, *tops)
    steps = max(1, math.ceil(math.log(top / _SMALLEST) / math.log(_RATIO)))
    return _SMALLEST * _RATIO ** np.arange(steps + 1.0)


def _likelihoods(rows: _Rows, means: Reals) -> Reals:
    """P[answer | component] of each row up to a factor, the empty cell first."""
    level, places = rows.level, rows.places
    nearest = np.maximum(np.round(level.answers[places]), 0).astype(np.int64)
    if level.suppressed[places[0]]:
        nearest[:] = 0
    peaks = level.log_likelihood(places, nearest[:, None])
    found = np.empty((places.size, means.size + 1))
    found[:, 0] = np.exp(level.log_likelihood(places, np.zeros((1, 1), np.int64)) - peaks)[:, 0]
    by_noise = _noise_nodes(level)
    for number, mean in enumerate(means.tolist(), 1):
        own = _component_nodes(mean)
        if level.suppressed[places[0]] or own.run <= by_noise.run:
            chances = _chances(own.counts.astype(np.float64), mean)
            logs = level.log_likelihood(places, own.counts[None]) - peaks
            found[:, number] = np.exp(logs) @ (chances / chances.sum())
        else:
            counts = nearest[:, None] + by_noise.counts
            logs = np.where(counts < 0, -np.inf, level.log_likelihood(places, counts) - peaks)
            densities = np.exp(logs) * _chances(counts.astype(np.float64), mean)
            found[:, number] = densities.sum(axis=1) * by_noise.run
    return found


def _noise_nodes(level: LevelAnswers) -> _Nodes:
    """Counts around an answer."""
    if level.is_exact:
        return _Nodes(np.zeros(1, dtype=np.int64), 1)
    reach = level.distance(_DEPTH)
    run = _run(2 * reach + 1)
    aside = math.ceil(reach / run)
    return _Nodes(run * np.arange(-aside, aside + 1), run)


def _component_nodes(mean: float) -> _Nodes:
    """Counts that a negative binomial law gives."""
    size = math.ceil(_TAIL * mean) + _NODES // 2
    run = _run(size)
    return _Nodes(run // 2 + run * np.arange(math.ceil(size / run)), run)


def _run(size: int) -> int:
    """The odd length of the runs of so many counts."""
    return 2 * (math.ceil(size / _NODES) // 2) + 1


def _chances(counts: Reals, mean: float) -> Reals:
    """The probabilities of a negative binomial law, 0 of what is no count."""
    logs = -np.maximum(counts, 0) * math.log1p(SHAPE / mean) - SHAPE * math.log1p(mean / SHAPE)
    chances: Reals = np.where(counts < 0, 0.0, np.exp(logs) * (counts + 1) * (counts + 2) / 2)
    return chances


def _weights(likelihoods: Reals, cells: Reals, before: Reals) -> Reals:
    """The weights of the components, the empty cell's first.

    Args:
        likelihoods: Of each row under each component.
        cells: How many each row stands for.
        before: The weights of the cells beforehand.
    """
    weights = before
    for _ in range(_ROUNDS):
        sums = likelihoods @ weights
        learned = weights * (likelihoods.T @ (cells / sums)) + _PRIOR * before
        learned /= learned.sum()
        still = float(np.abs(learned - weights).max()) < _STILL
        weights = learned
        if still:
            break
    return weights


@frozen(eq=False)
class CellSolution:
    """The laws of independent cells.

    Attributes:
        cells: The cells and their answers.
        estimates: What is told of each.
    """

    cells: IndependentCells
    estimates: CellEstimates

    @classmethod
    def of(cls, number: int, law: CellLaw, answers: Sequence[LevelAnswers]) -> Self:
        """That of so many cells."""
        cells = IndependentCells(number, law, answers)
        return cls(cells, cells.estimates())

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
        return Summary(
            np.array([law.mean]), np.array([law.deviation]), *(np.array([end]) for end in ends)
        )

    def law(self, level: int, position: int) -> CountDistribution:
        """The law of a cell, or of the sum of all."""
        if level:
            return self.cells.law_of(position)
        return self.sum_law(np.ones(self.cells.cells, dtype=np.bool_))

    def sum_law(self, is_in: NDArray[np.bool_]) -> CountDistribution:
        """The law of the sum of some cells; of wide ones on every h-th count: see `lattice_sum`.

        Args:
            is_in: Which, shape (cells,).
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
