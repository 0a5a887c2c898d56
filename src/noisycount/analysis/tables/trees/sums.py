"""The exact law of a sum of any cells of a tree, given all answers."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.downward import NodeLaw, table_law
from noisycount.analysis.tables.model import Counts, Model
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.summary import Summary
from noisycount.analysis.tables.sums.characteristic import law_by_characteristic
from noisycount.analysis.tables.sums.crossing import Complexes, Crossing
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

    def placed(self, level: int, position: int, split: Split) -> Reals:
        """The law of a node above the cells, at the counts of its split."""
        ...


class _Told(NamedTuple):
    """E[e^(i·t·S) | the node's count, the answers below], S the part of the sum that is in it.

    Attributes:
        low: The first count.
        values: From there on, shape (angles, counts); its modulus is at most 1.
    """

    low: int
    values: Complexes


class _Part(NamedTuple):
    """Some children of a node that is partly in the sum.

    Attributes:
        law: Of their sum, shape (sets, places).
        counts: The counts of those places if all are in the sum, from the middle of their law.
        inner: The child if it is partly in the sum; else None, as counts are if none is.
    """

    law: Reals
    counts: Counts | None = None
    inner: "_Node | None" = None

    def weighed(self, angles: Reals) -> Complexes:
        """The law times the characteristic function given the count."""
        if self.inner is not None:
            told = _at(self.inner.told(angles), self.inner.lowest, self.law.shape[-1])
            return self.law * told[:, None]
        turns = np.ones(1) if self.counts is None else np.exp(1j * angles[:, None] * self.counts)
        return np.broadcast_to(self.law * turns[..., None, :], (angles.size, *self.law.shape))


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A node that is partly in the sum, and the parts of its sum.

    Attributes:
        lowest: The lowest count in its parent's split; 0 for the root.
        low: The lowest count of its own.
        parts: Of its children.
        crossing: What averages over how its count divides.
        middle: What all counts of the sum are told from, so that angles times counts are small.
    """

    lowest: int
    low: int
    parts: tuple[_Part, ...]
    crossing: Crossing
    middle: int

    @classmethod
    def of(
        cls, solution: TreeLaws, shares: list[Reals], node: tuple[int, int], lowest: int = 0
    ) -> Self:
        """A node by its level and position, with all below it that are partly in the sum."""
        level, position = node
        split = solution.split(level, position)
        children = solution.model.children(level, position)
        own = shares[level + 1][children]
        parts, starts, middle = [], [], 0
        for whole in (False, True):
            alike = own == whole
            if alike.any():
                first, law = split.sum_of(alike)
                own_middle = round(float(law[0] @ np.arange(law.shape[-1])))
                parts.append(_Part(law, np.arange(law.shape[-1]) - own_middle if whole else None))
                starts.append(first)
                middle += whole * (int(split.lows[0, alike].sum()) + first + own_middle)
        for place in np.flatnonzero((own > 0) & (own < 1)).tolist():
            below = level + 1, int(children[place])
            inner = cls.of(solution, shares, below, int(split.lows[0, place]))
            parts.append(_Part(split.laws[0, :, place], inner=inner))
            starts.append(0)
            middle += inner.middle
        pairs = [(start, part.law) for start, part in zip(starts, parts, strict=True)]
        crossing = split.crossing(pairs, solution.placed(level, position, split))
        return cls(lowest, int(split.low[0]), tuple(parts), crossing, middle)

    def told(self, angles: Reals) -> _Told:
        """The characteristic function given the count."""
        return _Told(self.low, self.crossing.averages([one.weighed(angles) for one in self.parts]))


def tree_sum(solution: TreeLaws, is_in: NDArray[np.bool_]) -> TableLaw:
    """The law of the sum of some cells.

    Its characteristic function is one pass up the tree: that of a node given its count is the
    average of the product of those of its children over how the count divides. Nodes of which all
    cells are in the sum, or none, need no pass.

    Args:
        solution: The laws of all counts.
        is_in: Which cells are added up, shape (cells,); some but not all.
    """
    model, root = solution.model, solution.root
    summary = solution.summary(model.tree.depth - 1)
    mean = float(summary.mean[is_in].sum())
    centre = round(mean)
    shares = [np.bincount(level, is_in) / np.bincount(level) for level in model.tree.levels]
    deviation = float(np.sqrt((summary.std[is_in] ** 2).sum()))
    spread = max(deviation, float(_boundary(solution, shares)))
    top = _Node.of(solution, shares, (0, 0))

    def characteristic(angles: Reals) -> Complexes:
        values = _at(top.told(angles), root.low, root.law.size) @ root.law
        turned: Complexes = values * np.exp(1j * angles * (top.middle - centre))
        return turned

    reach = -centre, root.low + root.law.size - 1 - centre
    low, law = law_by_characteristic(characteristic, mean - centre, spread, reach)
    return table_law(NodeLaw(centre + low, law))


def _boundary(solution: TreeLaws, shares: list[Reals]) -> float:
    """The root of the summed variances of the largest nodes that are wholly in the sum."""
    variance = 0.0
    for level, share in enumerate(shares):
        whole = share == 1
        if level:
            whole &= shares[level - 1][solution.model.tree.parents(level)] < 1
        variance += float((solution.summary(level).std[whole] ** 2).sum())
    return float(np.sqrt(variance))


def _at(told: _Told, low: int, width: int) -> Complexes:
    """The values at so many counts from the lowest on, 0 where there are none."""
    values = np.zeros((told.values.shape[0], width), dtype=np.complex128)
    first = max(low, told.low)
    after = max(first, min(low + width, told.low + told.values.shape[1]))
    values[:, first - low : after - low] = told.values[:, first - told.low : after - told.low]
    return values
