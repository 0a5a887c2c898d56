"""What is said of the counts of cells.

Very many answers of continuous noise: estimates by polynomials between integers.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.polynomial.chebyshev import chebpts2
from numpy.typing import NDArray

from noisycount.analysis.tables.level_answers import LevelAnswers
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import TIE
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["QUANTILES", "CellEstimates", "smooth_estimates"]

Counts = NDArray[np.int64]
QUANTILES = (0.5, 0.025, 0.975)  # the levels of median, low and high


class CellEstimates(NamedTuple):
    """What is said of each cell, one array each, shape (cells,).

    Attributes:
        mean: The expected count, in records.
        std: Its standard deviation.
        median: The smallest count with half of the probability up to it.
        low: The same with 2.5 %.
        high: The same with 97.5 %.
        log_evidence: The logarithm of the probability, or the density, of the cell's answers.
    """

    mean: Reals
    std: Reals
    median: Counts
    low: Counts
    high: Counts
    log_evidence: Reals

    def ordered(self, cells: Counts) -> "CellEstimates":
        """The estimates of these cells, in this order."""
        return CellEstimates(
            self.mean[cells],
            self.std[cells],
            self.median[cells],
            self.low[cells],
            self.high[cells],
            self.log_evidence[cells],
        )

    def followed_by(self, others: "CellEstimates") -> "CellEstimates":
        """These estimates, then those of other cells."""
        return CellEstimates(
            np.append(self.mean, others.mean),
            np.append(self.std, others.std),
            np.append(self.median, others.median),
            np.append(self.low, others.low),
            np.append(self.high, others.high),
            np.append(self.log_evidence, others.log_evidence),
        )


_FEW_NODES, _NODES = 10, 16
_SMOOTH = 4.0  # records: posteriors under noise so wide have poles far from an interval of 1
_SMOOTHEST = 16.0  # records: so far that few nodes are enough
_DENSE = 2  # answers for each node: fewer between two integers are computed one by one
_AT_ONCE = 1 << 14  # answers


class AnsweredCells(Protocol):
    """Cells with answers."""

    def estimates(self) -> CellEstimates:
        """The estimates of all."""
        ...

    def chances(self, counts: Counts) -> Reals:
        """P[K <= count] of each, of several counts, shape (several, cells)."""
        ...


def smooth_estimates(
    cells_of: Callable[[Reals], AnsweredCells], answers: LevelAnswers
) -> CellEstimates | None:
    """The estimates of very many cells with answers of continuous noise.

    For answers between two integers densities at counts have no kink, so that means, deviations,
    evidence and P[K <= k] are smooth: polynomials through 10 or 16 Chebyshev nodes. A
    quantile rises where such a probability falls below its level.

    Args:
        cells_of: The cells with these answers instead.
        answers: Of cells.

    Returns:
        In the order of the answers; None where that is no shorter, or noise is too narrow.

    Source: Berrut and Trefethen (2004), Barycentric Lagrange interpolation, eq. (4.2), (5.4).
    Numerical error: 1e-11 standard deviations in means.
    """
    size = _nodes(answers)
    floors, owners, answered = np.unique(
        np.floor(answers.answers), return_inverse=True, return_counts=True
    )
    dense = answered > _DENSE * size
    if not size or not dense.any():
        return None
    held = dense[owners]
    groups = (np.cumsum(dense) - 1)[owners[held]]
    near = _dense(cells_of, floors[dense], groups, answers.answers[held], size)
    if held.all():
        return near
    rest = cells_of(answers.answers[~held]).estimates()
    return near.followed_by(rest).ordered(np.argsort(np.argsort(~held, kind="stable")))


def _nodes(answers: LevelAnswers) -> int:
    """How many nodes hold what is between two integers; 0 where none do."""
    noise = answers.mechanism
    if not isinstance(noise, SymmetricNoise) or noise.is_discrete or answers.suppressed.any():
        return 0
    law = noise.errors
    reach = law.spread * (_SMOOTH if law.is_geometric else 1.0)
    return 0 if reach < _SMOOTH else _FEW_NODES if reach >= _SMOOTHEST else _NODES


def _dense(
    cells_of: Callable[[Reals], AnsweredCells],
    floors: Reals,
    owners: Counts,
    answers: Reals,
    size: int,
) -> CellEstimates:
    """The estimates of answers by polynomials from each floor on."""
    nodes = (1 + chebpts2(size)) / 2
    cells = cells_of((floors[:, None] + nodes).ravel())
    at_nodes = cells.estimates()
    between = _Between(nodes, owners, answers - floors[owners])
    reals = (at_nodes.mean, at_nodes.std, at_nodes.log_evidence)
    mean, std, evidence = between.of([values.reshape(-1, size) for values in reals])
    counts = (at_nodes.median, at_nodes.low, at_nodes.high)
    median, low, high = _quantiles(cells, [each.reshape(-1, size) for each in counts], between)
    return CellEstimates(mean, std, median, low, high, evidence)


def _quantiles(
    cells: AnsweredCells, at_nodes: Sequence[Counts], between: "_Between"
) -> tuple[Counts, ...]:
    """The quantiles: from the first node's on, one more where a count has too little."""
    rises = [each[:, -1] - each[:, 0] for each in at_nodes]
    asked = [
        (number, step)
        for number, rise in enumerate(rises)
        for step in range(int(rise.max(initial=0)))
    ]
    size = at_nodes[0].shape[1]
    found = tuple(each[between.owners, 0] for each in at_nodes)
    if asked:
        counts = [np.repeat(at_nodes[number][:, 0] + step, size) for number, step in asked]
        at_counts = cells.chances(np.array(counts)).reshape(len(asked), -1, size)
        for (number, step), chances in zip(asked, between.of(at_counts), strict=True):
            missing = chances < QUANTILES[number] * (1 - TIE)
            found[number][missing & (step < rises[number][between.owners])] += 1
    return found


@frozen(eq=False)
class _Between:
    """Answers between nodes.

    Attributes:
        nodes: Chebyshev points of the second kind in 0..1.
        owners: The row of values that each answer takes.
        shares: Where it lies, in 0..1.
    """

    nodes: Reals
    owners: Counts
    shares: Reals

    def of(self, several: Sequence[Reals] | Reals) -> Reals:
        """The polynomials through several values at the nodes, by the barycentric formula.

        Args:
            several: Each of shape (owners, nodes).

        Returns:
            Shape (several, answers).
        """
        signs = (-1.0) ** np.arange(self.nodes.size)
        signs[[0, -1]] /= 2
        found = np.empty((len(several), self.shares.size))
        for start in range(0, self.shares.size, _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            apart = self.shares[some, None] - self.nodes
            at_node = apart == 0
            weights = signs / np.where(at_node, 1.0, apart)
            weights = np.where(at_node.any(axis=1)[:, None], at_node, weights)
            weights /= weights.sum(axis=1)[:, None]
            for one, values in zip(found, several, strict=True):
                one[some] = np.einsum("an,an->a", weights, values[self.owners[some]])
        return found
