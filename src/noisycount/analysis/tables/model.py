"""A table of which counts are asked: its tree, its answers, and how sums are computed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.count_bounds import Bounds
from noisycount.analysis.tables.divisions import Division
from noisycount.analysis.tables.likelihoods import LevelLikelihood
from noisycount.analysis.tables.zones import zone_targets
from noisycount.model.laws.expansion import Reals
from noisycount.model.populations.population import Population
from noisycount.model.tables.tree import Tree

__all__ = ["Counts", "Divisions", "Model", "Node", "Settings"]

Counts = NDArray[np.int64]
Node = tuple[int, int]
Divisions = Callable[[int, Counts, Counts], Division]
"""How counts divide: by the level, the positions of nodes, shape (nodes,), and their children's."""


@dataclass(frozen=True, eq=False)
class Model:
    """A table: its tree, what was answered, and what was known before.

    Attributes:
        tree: Its nodes.
        levels: What was answered about each level.
        total: The law of the root before any answer; None: nothing is known, or all by bounds.
        likeliest: The table that logarithms are told relative to, level by level; None: none.
        offset: The logarithm that they are told without.
    """

    tree: Tree
    levels: tuple[LevelLikelihood, ...]
    total: Population | None
    likeliest: tuple[Counts, ...] | None = None
    offset: float = 0.0

    def children(self, level: int, position: int) -> Counts:
        """The positions, in the level below, of the children of a node."""
        order, starts = self.families[level]
        return order[starts[position] : starts[position + 1]]

    def family_sizes(self, level: int) -> Counts:
        """How many children each node of a level has."""
        return np.diff(self.families[level][1])

    @cached_property
    def families(self) -> list[tuple[Counts, Counts]]:
        """For each level the nodes below it, parent by parent, and where each parent's start."""
        families = []
        for level in range(1, self.tree.depth):
            parents = self.tree.parents(level)
            starts = np.searchsorted(np.sort(parents), np.arange(self.tree.sizes[level - 1] + 1))
            families.append((np.argsort(parents, kind="stable"), starts))
        return families


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """How the passes are computed: none of it changes what they mean.

    Attributes:
        targets: About which count the law of each node is, level by level.
        spreads: About its standard deviation.
        zones: How many transforms share its counts, an odd number.
        widened: By how many times its width the reach of each node's answers is extended.
        ends: Where the laws of the cells were found to end; None: not yet.
        tilts: Those to begin with, of each node of each level above the cells, shape (sets·zones,);
            None: typical ones.
        is_bounded: Whether what transforms leave out has upper bounds in the laws.
    """

    targets: tuple[Reals, ...]
    spreads: tuple[Reals, ...]
    zones: tuple[Counts, ...]
    widened: tuple[Counts, ...]
    ends: Bounds | None = None
    tilts: tuple[tuple[Reals, ...], ...] | None = None
    is_bounded: bool = False

    @classmethod
    def start(cls, targets: Sequence[Reals]) -> Self:
        """Those of the first passes."""
        ones = tuple(np.ones(target.size, np.int64) for target in targets)
        spreads = tuple(np.ones(target.size) for target in targets)
        return cls(tuple(targets), spreads, ones, tuple(one - 1 for one in ones))

    def zoned(self, level: int, nodes: Counts) -> Reals:
        """The targets of nodes that have as many zones each, shape (nodes, zones)."""
        zones = int(self.zones[level][nodes[0]])
        return zone_targets(self.targets[level][nodes], self.spreads[level][nodes], zones)
