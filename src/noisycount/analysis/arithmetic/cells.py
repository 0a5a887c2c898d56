"""Σ_x P[X = x]·P[Y < x] over a run of counts, in few terms where both laws are smooth."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals

__all__ = ["WIDEST", "sum_below"]

WIDEST = 1 << 27
"""Counts of the narrower law that matter: standard deviations of some millions."""

_DIRECT = 1 << 15  # counts that are summed one by one
_NODES = 16  # of a cell of a sixteenth of a deviation, over which logarithms change by 2.5 at most
_CELLS_A_DEVIATION = 16
_SHORTEST, _LONGEST = 128, 1 << 14  # counts of a cell: of fewer nodes coincide; more cost memory
_SMOOTH = 1e-11  # of the largest of a cell: how well a polynomial tells the counts between nodes
_LEAST = 1e-290  # smaller probabilities have lost their digits, and matter to no sum
_MOST_KINKED = 64  # cells that are summed count by count


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """How sums over a cell of consecutive counts follow from the values at some of them.

    Attributes:
        offsets: Those counts, from the first one of the cell, shape (nodes,).
        whole: What each value adds to the sum over the cell, same shape.
        before: What it adds to the sum over the counts before each node, shape (nodes, nodes).
        between: What it adds to the values at `checks`, shape (checks, nodes).
        checks: Counts between the nodes.
    """

    offsets: Reals
    whole: Reals
    before: Reals
    between: Reals
    checks: Reals


@lru_cache(maxsize=8)  # lengths, which are powers of 2
def _rule(length: int) -> Rule:
    """The rule of polynomials through 16 Chebyshev nodes, rounded to counts."""
    middle = (length - 1) / 2
    offsets = np.round(middle * (1 + chebyshev.chebpts2(_NODES)))
    counts = np.arange(length, dtype=np.float64)
    powers = chebyshev.chebvander(counts / middle - 1, _NODES - 1)
    fit = np.linalg.inv(powers[offsets.astype(np.int64)])
    sums = np.concatenate([np.zeros((1, _NODES)), np.cumsum(powers, axis=0)])
    checks = np.array([length // 7, length // 2 + 1, length - length // 9], dtype=np.float64)
    return Rule(
        offsets,
        sums[-1] @ fit,
        sums[offsets.astype(np.int64)] @ fit,
        powers[checks.astype(np.int64)] @ fit,
        checks,
    )


def sum_below(inner: CountDistribution, outer: CountDistribution, first: int, last: int) -> float:
    """Σ_x P[X = x]·P[Y < x] for x = first..last: positive terms alone, so that digits are kept.

    Args:
        inner: The law of X, not much wider than that of Y.
        outer: The law of Y.
        first: The first x.
        last: The last x, or somewhat farther.

    Raises:
        ValueError: If the run is longer than 2^27, or the laws bend in many places.
    """
    before = outer.probability(-np.inf, first - 1)
    if last - first < _DIRECT:
        return _direct(inner, outer, (first, last), before)
    if last - first > WIDEST:
        raise ValueError(
            f"a and b must have at most 2**27 counts that matter, got {last - first}: "
            "compare their means and standard deviations"
        )
    share = inner.deviation / _CELLS_A_DEVIATION
    length = int(np.clip(2 ** np.floor(np.log2(max(share, 1))), _SHORTEST, _LONGEST))
    return _by_cells(inner, outer, np.arange(first, last + 1, length, dtype=np.float64), before)


def _by_cells(
    inner: CountDistribution, outer: CountDistribution, starts: Reals, before: float
) -> float:
    """The sum over cells from these starts on."""
    length = int(starts[1] - starts[0])
    rule = _rule(length)
    (x, y), kinked = _values(inner, outer, starts, rule)
    masses = y @ rule.whole
    direct = {
        cell: (int(starts[cell]), int(starts[cell]) + length - 1)
        for cell in np.flatnonzero(kinked).tolist()
    }
    for cell, ends in direct.items():
        masses[cell] = outer.probability(*ends)
    below = before + np.concatenate([[0.0], np.cumsum(masses)[:-1]])
    terms = (x * (below[:, None] + y @ rule.before.T)) @ rule.whole
    for cell, ends in direct.items():
        terms[cell] = _direct(inner, outer, ends, float(below[cell]))
    return float(terms.sum())


def _values(
    inner: CountDistribution, outer: CountDistribution, starts: Reals, rule: Rule
) -> tuple[tuple[Reals, Reals], NDArray[np.bool_]]:
    """The probabilities at the nodes of each cell, and the cells in which a law is not smooth."""
    values, kinked = [], np.zeros(starts.size, dtype=np.bool_)
    for law in (inner, outer):
        at_nodes = law.pmf(starts[:, None] + rule.offsets)
        checked = law.pmf(starts[:, None] + rule.checks)
        largest = at_nodes.max(axis=1, keepdims=True)
        missed = np.abs(at_nodes @ rule.between.T - checked).max(axis=1, keepdims=True)
        kinked |= ((missed > _SMOOTH * largest) & (largest > _LEAST))[:, 0]
        values.append(at_nodes)
    if kinked.sum() > _MOST_KINKED:
        raise ValueError(
            f"a and b must be smooth where they are wider than {_DIRECT} counts, got laws that "
            f"bend in {int(kinked.sum())} places"
        )
    return (values[0], values[1]), kinked


def _direct(
    inner: CountDistribution, outer: CountDistribution, ends: tuple[int, int], before: float
) -> float:
    """The sum term by term."""
    counts = np.arange(ends[0], ends[1] + 1, dtype=np.float64)
    below = before + np.concatenate([[0.0], np.cumsum(outer.pmf(counts[:-1]))])
    return float(inner.pmf(counts) @ below)
