"""Levels whose nodes nest in each other: a forest, whose least squares take one pass each way."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.model.tables.levels import Level

__all__ = ["NestedLevels", "Reals"]

Reals = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class NestedLevels:
    """The nodes of all levels in one row, from the cells to the coarsest level.

    Args:
        order: the place of each level among those given, from fine to coarse.
        parts: which nodes each level has, in that order.
        parents: the node that each is a part of, a later one; −1: of none.
    """

    order: tuple[int, ...]
    parts: tuple[slice, ...]
    parents: Places = field(repr=False)

    @classmethod
    def of(cls, levels: Sequence[Level]) -> Self | None:
        """The nodes of levels, the cells first; None where they overlap without nesting."""
        order = sorted(range(len(levels)), key=lambda place: (place > 0, -levels[place].size))
        starts = np.cumsum([0, *(levels[place].size for place in order)]).tolist()
        parents = []
        for rank, place in enumerate(order):
            later = range(rank + 1, len(order))
            coarser = [(levels[order[after]], starts[after]) for after in later]
            found = _parents(levels[place], coarser)
            if found is None:
                return None
            parents.append(found)
        return cls(
            tuple(order), tuple(slice(*ends) for ends in pairwise(starts)), np.concatenate(parents)
        )

    def estimates(
        self, answers: Sequence[Reals], variances: Sequence[float]
    ) -> tuple[tuple[Reals, ...], tuple[Reals, ...]]:
        """The least-squares estimates of all nodes, and their variances, level by level.

        Upwards, each node weighs its own answer with the sum of its parts; downwards, what all
        answers add to that is divided among its parts in proportion to their variances.

        Args:
            answers: independent and unbiased, one array for each level, in the order given.
            variances: of one answer of each level, positive.
        """
        total = self.parents.size
        means, spreads, sums, widths = (np.zeros(total) for _ in range(4))
        for place, here in zip(self.order, self.parts, strict=True):
            own, spread = np.asarray(answers[place], dtype=np.float64), variances[place]
            gain = widths[here] / (widths[here] + spread) if place else np.ones(own.size)
            means[here] = sums[here] + gain * (own - sums[here])
            spreads[here] = gain * spread
            inner, parents = self._inner(here)
            np.add.at(sums, parents, means[inner])
            np.add.at(widths, parents, spreads[inner])
        for here in reversed(self.parts):
            inner, parents = self._inner(here)
            share = spreads[inner] / widths[parents]
            means[inner] += share * (means[parents] - sums[parents])
            spreads[inner] -= share * share * (widths[parents] - spreads[parents])
        return self._by_level(means), self._by_level(spreads)

    def _inner(self, here: slice) -> tuple[Places, Places]:
        """The nodes of a level that are parts of others, and of which."""
        inner = here.start + np.flatnonzero(self.parents[here] >= 0)
        return inner, self.parents[inner]

    def _by_level(self, values: Reals) -> tuple[Reals, ...]:
        """The values of each level, in the order given."""
        places = np.argsort(self.order)
        return tuple(values[self.parts[place]] for place in places)


def _parents(level: Level, coarser: Sequence[tuple[Level, int]]) -> Places | None:
    """The nodes that those of a level are parts of, of the next level that has them.

    Args:
        level: whose nodes they are.
        coarser: the levels above it, and where their nodes begin.

    Returns:
        −1 for nodes of which no level has a sum; None where a node is in two of one level.
    """
    placed = np.flatnonzero(level.of_cell >= 0)
    nodes = level.of_cell[placed]
    some_cell = np.zeros(level.size, dtype=np.int64)
    some_cell[nodes] = placed
    parents = np.full(level.size, -1, dtype=np.int64)
    for above, start in coarser:
        theirs = above.of_cell[some_cell]
        if not np.array_equal(theirs[nodes], above.of_cell[placed]):
            return None
        parents = np.where((parents < 0) & (theirs >= 0), start + theirs, parents)
        if (parents >= 0).all():
            break
    return parents
