"""How counts divide before any answer: as stated, or as was learned.

What was known of a table before its answers, or was learned from them.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol

import numpy as np

from noisycount.analysis.tables.divisions import CellDivision, Dirichlet, Division, Multinomial
from noisycount.analysis.tables.model import Counts
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.tables.cells import CellLaw
from noisycount.model.tables.splits import LevelSplit
from noisycount.model.tables.tree import Tree

__all__ = ["CellLevel", "LearnedLevel", "PriorLevel", "StatedLevel", "TablePrior", "cells_below"]


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

    @property
    def is_learned(self) -> bool:
        """Whether it comes from the answers."""
        ...

    @property
    def words(self) -> str:
        """It in a few words, after the name of the level below."""
        ...

    @property
    def parameters(self) -> dict[str, object]:
        """Its numbers by their names."""
        ...


@frozen(eq=False)
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
        return self if is_multinomial else StatedLevel(LevelSplit(weights * factor, is_multinomial))

    @property
    def is_learned(self) -> bool:
        """No."""
        return False

    @property
    def words(self) -> str:
        """The range of the concentrations."""
        if self.split.is_multinomial:
            return "by known rates"
        low, high = float(self.split.weights.min()), float(self.split.weights.max())
        told = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        return f"with a concentration of {told} a child"

    @property
    def parameters(self) -> dict[str, object]:
        """The concentrations, or rates; one number where they are equal."""
        name = "rates" if self.split.is_multinomial else "concentrations"
        weights = np.unique(self.split.weights)
        return {name: float(weights[0]) if weights.size == 1 else self.split.weights}


@frozen(eq=False)
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
            return Dirichlet(
                total[..., None] * shares[:, None], np.repeat(total, len(cells), 0), logs
            )
        return Dirichlet(self.concentrations[None, :, None], total, logs)

    def scaled(self, factor: float) -> "LearnedLevel":
        """All possible concentrations times a factor."""
        return LearnedLevel(self.concentrations * factor, self.chances, self.cells)

    @property
    def is_learned(self) -> bool:
        """Yes."""
        return True

    @property
    def words(self) -> str:
        """The geometric mean of the concentrations of an average child."""
        typical = float(np.exp(self.chances @ np.log(self.concentrations)))
        return f"with a concentration of about {typical:.2g} a child"

    @property
    def parameters(self) -> dict[str, object]:
        """The mixture."""
        return {"concentrations": self.concentrations, "chances": self.chances}


@frozen(eq=False)
class CellLevel:
    """Cells that were independent draws of one law before their sum was known.

    Attributes:
        law: Of the count of each cell.
        is_given: Whether something else was known of the sum beforehand.
    """

    law: CellLaw
    is_given: bool

    def division(self, nodes: Counts, children: Counts) -> Division:  # noqa: ARG002  (all are alike)
        """By the probabilities of the cells' counts."""
        return CellDivision(self.law, children.shape[1] if self.is_given else None)

    def scaled(self, factor: float) -> "CellLevel":  # noqa: ARG002  (its means fit the answers)
        """The same: a law of a cell has no concentration."""
        return self

    @property
    def is_learned(self) -> bool:
        """Yes."""
        return True

    @property
    def words(self) -> str:
        """The mean of the law."""
        mean = Decimal(f"{self.law.mean:.3g}")
        return f"as independent counts of {mean:,f} on average"

    @property
    def parameters(self) -> dict[str, object]:
        """Those of the law."""
        return self.law.to_dict()


def cells_below(tree: Tree) -> Sequence[Reals]:
    """How many cells each node of each level has."""
    return [np.bincount(level).astype(np.float64) for level in tree.levels]


@frozen(eq=False, repr=False)
class TablePrior(Shown):
    """How counts divide among the children of the nodes of each level, before any answer.

    Attributes:
        levels: For each level above the cells.
        names: What the levels below those are called.
    """

    levels: tuple[PriorLevel, ...]
    names: tuple[str, ...]

    @property
    def is_learned(self) -> bool:
        """Whether it comes from the answers."""
        return any(level.is_learned for level in self.levels)

    def scaled(self, factor: float) -> "TablePrior":
        """The same with so many times the concentration everywhere."""
        return TablePrior(tuple(level.scaled(factor) for level in self.levels), self.names)

    @property
    def words(self) -> str:
        """One line on it."""
        pairs = zip(self.names, self.levels, strict=True)
        told = ", ".join(f"{name} {level.words}" for name, level in pairs)
        return f"{'learned from the answers' if self.is_learned else 'stated'}: {told}"

    def _facts(self) -> dict[str, object]:
        """The parameters of each level by its name."""
        pairs = zip(self.names, self.levels, strict=True)
        return {"learned": self.is_learned, **{name: level.parameters for name, level in pairs}}
