"""Whole tables drawn from the joint law of all counts of a tree, given all answers."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from noisycount.analysis.tables.branches import Branches
from noisycount.analysis.tables.downward import NodeLaw
from noisycount.analysis.tables.model import Counts, Model
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.sums.drawing import drawn_places
from noisycount.analysis.tables.sums.halves import drawn_summands
from noisycount.model.laws.expansion import Reals

__all__ = ["DrawnTree", "tree_draws"]

_AT_ONCE = 1 << 23  # counts of the cells that are drawn down a tree at a time
_TOGETHER = 1 << 21  # counts that are drawn of one level at a time


class DrawnTree(Protocol):
    """The laws of all counts of a tree."""

    @property
    def model(self) -> Model:
        """The tree and its answers."""
        ...

    @property
    def root(self) -> NodeLaw:
        """The law of the root's count."""
        ...

    def splits(self, level: int) -> Iterator[tuple[Branches, Split]]:
        """All nodes of a level and their children."""
        ...


def tree_draws(solution: DrawnTree, number: int, random: np.random.Generator) -> Counts:
    """Tables of counts of the cells, shape (number, cells).

    Down from the root each count divides among the children of its node: which set of parameters
    it does so by is drawn given the count, then the children given both.

    Args:
        solution: The laws of all counts.
        number: How many tables.
        random: What draws uniform numbers.
    """
    tables = np.empty((number, solution.model.tree.cells), np.int64)
    step = max(1, _AT_ONCE // tables.shape[1])
    for start in range(0, number, step):
        some = tables[start : start + step]
        some[:] = _drawn(solution, len(some), random)
    return tables


def _drawn(solution: DrawnTree, number: int, random: np.random.Generator) -> Counts:
    """A few of them."""
    sizes = solution.model.tree.sizes
    root = solution.root
    counts = root.low + drawn_places(root.law[None], np.zeros((number, 1), np.int64), random)
    for level, size in enumerate(sizes[1:]):
        below = np.empty((number, size), np.int64)
        for some, split in solution.splits(level):
            nodes, children = some.children.shape
            step = max(1, _TOGETHER // (number * children))
            told = split.messages_of_sets
            for start in range(0, nodes, step):
                part = np.arange(start, min(start + step, nodes))
                own = counts[:, some.nodes[part]]
                kind = _kinds(split, told, part, own, random)
                drawn = _children(split, part, own, kind, random)
                below[:, some.children[part].ravel()] = drawn
        counts = below
    return counts


def _kinds(
    split: Split, told: Reals, nodes: Counts, counts: Counts, random: np.random.Generator
) -> Counts:
    """The law of the children by which each count divides, shape (draws, nodes).

    Args:
        split: The nodes.
        told: Messages of each set, shape (nodes, sets, counts).
        nodes: Of which counts are divided.
        counts: Shape (draws, nodes).
        random: What draws uniform numbers.
    """
    logs = told[nodes, :, counts - split.low[nodes]]
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True)).reshape(counts.size, -1)
    own = drawn_places(weights, np.arange(counts.size), random).reshape(counts.shape)
    targets = split.targets.reshape(len(split.lows), -1)[nodes]
    ends = (targets[:, 1:] + targets[:, :-1]) / 2
    zone = (counts[..., None] > ends).sum(axis=-1)
    kinds: Counts = own * targets.shape[1] + zone
    return kinds


def _children(
    split: Split, nodes: Counts, counts: Counts, kind: Counts, random: np.random.Generator
) -> Counts:
    """The counts of the children of nodes, given those of the nodes, shape (draws, children)."""
    laws, lows = split.laws[nodes], split.lows[nodes]
    family = np.arange(nodes.size) * laws.shape[1] + kind
    sums = counts - lows.sum(axis=-1)
    places = drawn_summands(laws.reshape(-1, *laws.shape[2:]), family.ravel(), sums.ravel(), random)
    drawn: Counts = lows + places.reshape(*counts.shape, -1)
    return drawn.reshape(len(counts), -1)
