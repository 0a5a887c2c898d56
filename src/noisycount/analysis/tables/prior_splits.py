"""How counts divide before any answer: as stated, or as was learned."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from noisycount.analysis.tables.divisions import Dirichlet, Division, Multinomial
from noisycount.analysis.tables.model import Counts
from noisycount.model.laws.expansion import Reals
from noisycount.model.tables.splits import LevelSplit
from noisycount.model.tables.tree import Tree

__all__ = ["LearnedLevel", "PriorLevel", "StatedLevel", "cells_below"]


class PriorLevel(Protocol):
    """How the counts of the nodes of a level divide among their children."""

    def division(self, nodes: Counts, children: Counts) -> Division:
        """That of some nodes with as many children each.

        Args:
            nodes: Their positions, shape (nodes,).
            children: The positions of their children, shape (nodes, children).
        """
        ...

    def scaled(self, factor: float) -> "PriorLevel":
        """The same with so many times the concentration."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class StatedLevel:
    """A stated division.

    Attributes:
        split: The weights of the children.
    """

    split: LevelSplit

    def division(self, nodes: Counts, children: Counts) -> Division:  # noqa: ARG002  (children tell it)
        """By the concentrations or rates of the children."""
        weights = self.split.weights[children]
        if self.split.is_multinomial:
            return Multinomial(weights)
        if np.ptp(weights) == 0:
            total = np.full((1, 1), weights[0].sum())
            return Dirichlet(weights[:1, None, :1], total)
        return Dirichlet(weights[:, None], weights.sum(axis=1)[:, None])

    def scaled(self, factor: float) -> "StatedLevel":
        """Rates stay as they are."""
        weights, is_multinomial = self.split
        return StatedLevel(LevelSplit(weights * (1.0 if is_multinomial else factor), is_multinomial))


@dataclass(frozen=True, slots=True, eq=False)
class LearnedLevel:
    """A mixture of concentrations, shared among children as their numbers of cells.

    Attributes:
        concentrations: Possible ones of an average child, shape (sets,).
        chances: How often each was met, shape (sets,).
        cells: How many cells each child has, level by level, shape (nodes of the level below,).
    """

    concentrations: Reals
    chances: Reals
    cells: Reals

    def division(self, nodes: Counts, children: Counts) -> Division:  # noqa: ARG002  (children tell it)
        """A Dirichlet-multinomial division, of one of several concentrations."""
        logs = np.log(self.chances)
        number = children.shape[1]
        cells = self.cells[children]
        total = (self.concentrations * number)[None]
        if np.ptp(cells, axis=1).any():
            shares = cells / cells.sum(axis=1, keepdims=True)
            return Dirichlet(total[..., None] * shares[:, None], np.repeat(total, len(cells), 0), logs)
        return Dirichlet(self.concentrations[None, :, None], total, logs)

    def scaled(self, factor: float) -> "LearnedLevel":
        """All possible concentrations times a factor."""
        return LearnedLevel(self.concentrations * factor, self.chances, self.cells)

    @property
    def typical(self) -> float:
        """The geometric mean of the concentrations of an average child."""
        return float(np.exp(self.chances @ np.log(self.concentrations)))


def cells_below(tree: Tree) -> Sequence[Reals]:
    """How many cells each node of each level has."""
    return [np.bincount(level).astype(np.float64) for level in tree.levels]
