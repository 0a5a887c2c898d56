"""Very many answers of continuous noise: estimates by polynomials between integers."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.polynomial.chebyshev import chebpts2
from numpy.typing import NDArray

from noisycount.analysis.tables.cell_estimates import QUANTILES, CellEstimates
from noisycount.analysis.tables.level_answers import LevelAnswers
from noisycount.model.laws.count_law import TIE
from noisycount.model.laws.expansion import Reals
from noisycount.model.noises.additive import SymmetricNoise

__all__ = ["Cells", "smooth_estimates"]

Counts = NDArray[np.int64]

_NODES = (1 + chebpts2(16)) / 2
_SIGNS = (-1.0) ** np.arange(16) * np.where(np.arange(16) % 15 == 0, 0.5, 1.0)
_SMOOTH = 1.0  # records: a law so wide is a polynomial between integers to 1e-12
_MANY = 4  # answers for each that is computed: fewer are computed one by one
_AT_ONCE = 1 << 16  # answers


class Cells(Protocol):
    """Cells with answers."""

    def estimates(self) -> CellEstimates:
        """The estimates of all."""
        ...

    def chances(self, counts: Counts) -> Reals:
        """P[K <= count] of each, of several counts, shape (several, cells)."""
        ...


def smooth_estimates(
    cells_of: Callable[[Reals], Cells], answers: LevelAnswers
) -> CellEstimates | None:
    """The estimates of very many cells with answers of continuous noise.

    For answers between two integers densities at counts have no kink, so that means, deviations,
    evidence and P[K <= k] are smooth: polynomials through 16 Chebyshev nodes. A quantile rises
    where such a probability falls below its level.

    Args:
        cells_of: The cells with these answers instead.
        answers: Of cells.

    Returns:
        In the order of the answers; None where that is no shorter, or noise is too narrow.

    Numerical error: 1e-11 standard deviations in means, for noise of a scale of 1 and more.
    """
    noise = answers.mechanism
    if not isinstance(noise, SymmetricNoise) or noise.is_discrete or answers.suppressed.any():
        return None
    floors, owners = np.unique(np.floor(answers.answers), return_inverse=True)
    if noise.errors.spread < _SMOOTH or floors.size * _NODES.size * _MANY > owners.size:
        return None
    cells = cells_of((floors[:, None] + _NODES).ravel())
    at_nodes = cells.estimates()
    shares = answers.answers - floors[owners]
    reals = (at_nodes.mean, at_nodes.std, at_nodes.log_evidence)
    mean, std, evidence = (
        _interpolated(values.reshape(floors.size, -1), owners, shares) for values in reals
    )
    counts = (at_nodes.median, at_nodes.low, at_nodes.high)
    median, low, high = (
        _quantiles(cells, values.reshape(floors.size, -1), owners, shares, level)
        for values, level in zip(counts, QUANTILES, strict=True)
    )
    return CellEstimates(mean, std, median, low, high, evidence)


def _quantiles(
    cells: Cells, at_nodes: Counts, owners: Counts, shares: Reals, level: float
) -> Counts:
    """The quantiles of a level: from the first node's on, one more where that has too little."""
    first, last = at_nodes[:, 0], at_nodes[:, -1]
    found: Counts = first[owners]
    for step in range(int((last - first).max())):
        counts = np.repeat(first + step, _NODES.size)[None]
        chances = cells.chances(counts).reshape(first.size, -1)
        missing = _interpolated(chances, owners, shares) < level * (1 - TIE)
        found += missing & (step < (last - first)[owners])
    return found


def _interpolated(values: Reals, owners: Counts, shares: Reals) -> Reals:
    """The polynomials through values at the nodes, shape (floors, 16), by Berrut and Trefethen."""
    found = np.empty(shares.size)
    for start in range(0, shares.size, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        apart = shares[some, None] - _NODES
        at_node = apart == 0
        weights = _SIGNS / np.where(at_node, 1.0, apart)
        weights = np.where(at_node.any(axis=1)[:, None], at_node, weights)
        found[some] = (weights * values[owners[some]]).sum(axis=1) / weights.sum(axis=1)
    return found
