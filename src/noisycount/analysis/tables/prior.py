"""How counts divide before any answer: as stated, or as was learned."""

from decimal import Decimal
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.split import Dirichlet, Division, LogWeights, Multinomial
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.tables.cells import CellLaw, CellSums
from noisycount.model.tables.splits import LevelSplit

Counts = NDArray[np.int64]


@frozen(eq=False)
class StatedLevel:
    """A stated division."""

    split: LevelSplit  # the weights of the children
    is_learned: ClassVar[bool] = False

    def division(self, children: Counts) -> Division:
        """That of some nodes by the concentrations or rates of their children. Shapes: children (nodes, children)."""
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
    """A mixture of concentrations, shared among children as their numbers of cells."""

    concentrations: Reals  # possible ones of an average child, shape (sets,)
    chances: Reals  # how often each was met, shape (sets,)
    cells: Reals  # how many cells each child has, level by level, shape (nodes of the level below,)
    is_learned: ClassVar[bool] = True

    def division(self, children: Counts) -> Division:
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
    """Cells that were independent draws of one law before their sum was known."""

    law: CellLaw  # of the count of each cell
    # how many cells add up to a count of which other things were known before; None: what they add up to is free
    given: int | None
    is_learned: ClassVar[bool] = True

    def division(self, children: Counts) -> Division:  # noqa: ARG002  (all are alike)
        """By the probabilities of the cells' counts."""
        return self

    @property
    def log_chances(self) -> Reals:
        """One set, which is certain."""
        return np.zeros(1)

    def tilt(self, counts: Reals, children: int) -> Reals:  # noqa: ARG002  (a law is level enough)
        """None."""
        return np.zeros((counts.size, 1))

    def weights(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """The probabilities of the counts of each child."""
        logs = self.law.log_pmf_near(lows[..., None] + np.arange(width))
        leaning = tilt[..., None, None] * np.arange(width)
        return LogWeights(logs[:, None, :, 0], (logs - logs[..., :1])[:, None] + leaning)

    def factor(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """1 over the probability of the sum that is given; 1 where it is free."""
        leaning = tilt[..., None] * np.arange(width)
        if self.given is None:
            return LogWeights(np.zeros((lows.size, 1)), -leaning)
        sums = CellSums(self.law, self.given)
        logs = np.array([sums.log_pmf(low, width) for low in lows.tolist()])
        return LogWeights(-logs[:, :1], (logs[:, :1] - logs)[:, None] - leaning)

    def scaled(self, factor: float) -> "CellLevel":  # noqa: ARG002  (its means fit the answers)
        """The same: a law of a cell has no concentration."""
        return self

    @property
    def words(self) -> str:
        """The mean of the law."""
        mean = Decimal(f"{self.law.mean:.3g}")
        return f"as independent counts of {mean:,f} on average"

    @property
    def parameters(self) -> dict[str, object]:
        """Those of the law."""
        return self.law.to_dict()


# How the counts of the nodes of a level divide among their children.
PriorLevel: TypeAlias = StatedLevel | LearnedLevel | CellLevel


@frozen(eq=False, repr=False)
class TablePrior(Shown):
    """How counts divide among the children of the nodes of each level, before any answer."""

    levels: tuple[PriorLevel, ...]  # for each level above the cells
    names: tuple[str, ...]  # what the levels below those are called

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
