"""The exact law of a sum of any cells of a tree, given all answers."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.downward import NodeLaw, table_law
from noisycount.analysis.tables.model import Model
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.summary import Summary
from noisycount.analysis.tables.sums.characteristic import Complexes, law_by_characteristic
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.table_law import TableLaw

__all__ = ["TreeLaws", "tree_sum"]


class TreeLaws(Protocol):
    """The laws of all counts of a tree."""

    @property
    def model(self) -> Model:
        """The tree and its answers."""
        ...

    @property
    def root(self) -> NodeLaw:
        """The law of the root's count."""
        ...

    def summary(self, level: int) -> Summary:
        """The estimates of a level."""
        ...

    def split(self, level: int, position: int) -> Split:
        """A node and its children."""
        ...


class _Told(NamedTuple):
    """E[e^(i·t·S) | the node's count, the answers below], S the part of the sum that is in it.

    Attributes:
        low: The first count.
        values: From there on, shape (angles, counts); its modulus is at most 1.
    """

    low: int
    values: Complexes


def tree_sum(solution: TreeLaws, is_in: NDArray[np.bool_]) -> TableLaw:
    """The law of the sum of some cells.

    Its characteristic function is one pass up the tree: that of a node given its count is the
    average of the product of those of its children over how the count divides. Nodes of which all
    cells are in the sum, or none, need no pass.

    Args:
        solution: The laws of all counts.
        is_in: Which cells are added up, shape (cells,); some but not all.
    """
    model = solution.model
    summary = solution.summary(model.tree.depth - 1)
    centre = round(float(summary.mean[is_in].sum()))
    parts = [np.bincount(level, is_in) / np.bincount(level) for level in model.tree.levels]
    deviation = float(np.sqrt((summary.std[is_in] ** 2).sum()))
    spread = max(deviation, float(_boundary(solution, parts)))

    def characteristic(angles: Reals) -> Complexes:
        told = _told(solution, parts, (0, 0), angles)
        root = solution.root
        values = _at(told, root.low, root.law.size) @ root.law
        turned: Complexes = values * np.exp(-1j * angles * centre)
        return turned

    total = solution.root.low + solution.root.law.size - 1
    low, law = law_by_characteristic(characteristic, spread, (-centre, total - centre))
    return table_law(NodeLaw(centre + low, law))


def _boundary(solution: TreeLaws, parts: list[Reals]) -> float:
    """The root of the summed variances of the largest nodes that are wholly in the sum."""
    variance = 0.0
    for level, part in enumerate(parts):
        whole = part == 1
        if level:
            whole &= parts[level - 1][solution.model.tree.parents(level)] < 1
        variance += float((solution.summary(level).std[whole] ** 2).sum())
    return float(np.sqrt(variance))


def _told(solution: TreeLaws, parts: list[Reals], node: tuple[int, int], angles: Reals) -> _Told:
    """The characteristic function of a node that is partly in the sum, given its count."""
    level, position = node
    split = solution.split(level, position)
    children = solution.model.children(level, position)
    own = parts[level + 1][children]
    summands: list[tuple[int, Complexes]] = []
    for whole in (False, True):
        alike = own == whole
        if alike.any():
            first, law = split.sum_of(alike)
            counts = int(split.lows[0, alike].sum()) + first + np.arange(law.shape[-1])
            turns = np.exp(1j * angles[:, None] * counts) if whole else np.ones((1, 1))
            summands.append((first, law * turns[:, None]))
    for place in np.flatnonzero((own > 0) & (own < 1)).tolist():
        inner = _told(solution, parts, (level + 1, int(children[place])), angles)
        law = split.laws[0, :, place]
        told = _at(inner, int(split.lows[0, place]), law.shape[-1])
        summands.append((0, law * told[:, None]))
    return _Told(int(split.low[0]), split.turned(summands))


def _at(told: _Told, low: int, width: int) -> Complexes:
    """The values at so many counts from the lowest on, 0 where there are none."""
    values = np.zeros((told.values.shape[0], width), dtype=np.complex128)
    first = max(low, told.low)
    after = max(first, min(low + width, told.low + told.values.shape[1]))
    values[:, first - low : after - low] = told.values[:, first - told.low : after - told.low]
    return values
