"""What a table's counts are, by two passes over its tree."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.branches import Branches
from noisycount.analysis.tables.certified import EXACT, LEARNED, Solved, solved
from noisycount.analysis.tables.downward import NodeLaw, placed, resplit, table_law
from noisycount.analysis.tables.learning import divisions_of
from noisycount.analysis.tables.level_answers import LevelAnswers
from noisycount.analysis.tables.model import Model, Settings
from noisycount.analysis.tables.prior_splits import PriorLevel
from noisycount.analysis.tables.split import Split
from noisycount.analysis.tables.summary import Summary
from noisycount.analysis.tables.trees.draws import tree_draws
from noisycount.analysis.tables.trees.sums import tree_sum
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.table_law import TableLaw

__all__ = ["TreeSolution"]


@dataclass(frozen=True, slots=True, eq=False)
class TreeSolution:
    """The laws of all counts of a tree.

    Attributes:
        model: The tree and its answers.
        levels: How counts divide.
        solved: What both passes tell.
    """

    model: Model
    levels: tuple[PriorLevel, ...]
    solved: Solved

    @classmethod
    def of(cls, model: Model, levels: tuple[PriorLevel, ...], settings: Settings) -> "TreeSolution":
        """That of a model under a prior."""
        aim = LEARNED if any(level.is_learned for level in levels) else EXACT
        return cls(model, levels, solved(model, divisions_of(levels), settings, aim))

    @property
    def rounding(self) -> float:
        """A bound of the total variation by which rounding moved any law; see `TablePosterior`."""
        return math.fsum(float(moved.sum()) for moved in self.solved.down.rounding)

    @property
    def evidence(self) -> float:
        """The logarithm of the probability of the answers."""
        return self.solved.up.evidence

    @property
    def root(self) -> NodeLaw:
        """The law of the root's count."""
        return self.solved.down.laws[0][0]

    def answers(self, level: int) -> tuple[LevelAnswers, ...]:
        """What was answered about a level, from 0, that of the root."""
        return self.model.levels[level].answers

    def summary(self, level: int) -> Summary:
        """The estimates of a level."""
        return self.solved.down.summaries[level]

    def law(self, level: int, position: int) -> TableLaw:
        """The law of a node's count."""
        laws = self.solved.down.laws
        if level < len(laws):
            return table_law(laws[level][position])
        parent = int(self.model.tree.parents(level)[position])
        split = self.split(level - 1, parent)
        above = self.placed(level - 1, parent, split)[None]
        child = int(np.flatnonzero(self.model.children(level - 1, parent) == position)[0])
        return table_law(NodeLaw(int(split.lows[0, child]), split.descent(above).laws[0, child]))

    def sum_law(self, is_in: NDArray[np.bool_]) -> TableLaw:
        """The law of the sum of some cells, but not all.

        Args:
            is_in: Which, shape (cells,).
        """
        return tree_sum(self, is_in)

    def draws(self, number: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Tables of counts of the cells, shape (number, cells)."""
        return tree_draws(self, number, random)

    def splits(self, level: int) -> Iterator[tuple[Branches, Split]]:
        """All nodes of a level above the cells, and their children."""
        divisions, settings = divisions_of(self.levels), self.solved.settings
        for some, kept in self.solved.up.branches[level]:
            yield some, kept or resplit(self.model, settings, divisions, self.solved.up, some)

    def placed(self, level: int, position: int, split: Split) -> Reals:
        """The law of a node above the cells, at the counts of its split."""
        row: Reals = placed(self.solved.down.laws[level], np.array([position]), split)[0]
        return row

    def split(self, level: int, position: int) -> Split:
        """A node and its children."""
        children = self.model.children(level, position)[None]
        some = Branches(level, np.array([position]), children)
        return resplit(
            self.model, self.solved.settings, divisions_of(self.levels), self.solved.up, some
        )
