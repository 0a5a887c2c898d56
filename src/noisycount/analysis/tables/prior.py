"""How counts divide before any answer: as stated, or as was learned."""

from dataclasses import field
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from noisycount.analysis.tables.likelihoods import Counts
from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.tables.cells import CellLaw, CellSums
from noisycount.model.tables.splits import log_factorial, log_rising, log_rising_steps

_ONE = np.zeros(1)


class LogWeights(NamedTuple):
    """Logarithms of the weights of runs of counts, tilted."""

    at_low: Reals  # of the first count of each run, not tilted
    above: Reals  # of each count of the run minus that, plus the tilt times its distance from the first


@frozen(eq=False)
class Dirichlet:
    """Dirichlet-multinomial divisions, of several possible concentrations."""

    # of the children, shape (nodes, sets, children); where they are equal, an axis may have length 1
    concentrations: Reals
    total: Reals  # their sums, shape (nodes, sets), or (1, sets)
    # the logarithm of the probability of each set, shape (sets,)
    log_chances: Reals = field(default_factory=lambda: _ONE)

    def tilt(self, counts: Reals, children: int) -> Reals:
        """Minus the step of an average child, shape (nodes, sets): weights are about level if counts are shared."""
        return -log_rising_steps(counts[:, None] / children, self.total / children)

    def weights(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """Γ(k + a)/(k!·Γ(a)) of so many counts of each child from the lows on, shape (nodes, sets, children, …)."""
        nodes, children = lows.shape
        shape = nodes, self.total.shape[1], children
        at_low = np.broadcast_to(_rising(lows[:, None], self.concentrations), shape)
        leaning = tilt[..., None, None] * np.arange(width)
        first = int(lows.min())
        span = int(lows.max()) - first + width
        if self.concentrations.size == shape[1] and span <= lows.size * width:
            counts = np.arange(first, first + span - 1)
            runs = _cumulated(log_rising_steps(counts, self.concentrations[0]))
            places = (lows - first)[:, None, :, None] + np.arange(width)
            sets = np.arange(shape[1])[:, None, None]
            return LogWeights(at_low, runs[sets, places] - runs[sets, places[..., :1]] + leaning)
        counts = lows[:, None, :, None] + np.arange(width - 1)
        steps = log_rising_steps(counts, self.concentrations[..., None])
        steps = np.broadcast_to(steps, (*shape, width - 1)) + tilt[..., None, None]
        return LogWeights(at_low, _cumulated(steps))

    def factor(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """k!·Γ(A)/Γ(k + A) of so many counts of each node, shape (nodes, sets, …)."""
        counts = lows[:, None, None] + np.arange(width - 1)
        steps = -log_rising_steps(counts, self.total[..., None]) - tilt[..., None]
        return LogWeights(-_rising(lows[:, None], self.total), _cumulated(steps))


@frozen(eq=False)
class Multinomial:
    """Divisions by known rates."""

    rates: Reals  # of the children; those of a node add up to 1; shape (nodes, children)

    @property
    def log_chances(self) -> Reals:
        """One set, which is certain."""
        return _ONE

    def tilt(self, counts: Reals, children: int) -> Reals:  # noqa: ARG002  (rates tell the shares)
        """ln(k), as q/(k·q) is the step of a child with its share of a count k."""
        return np.log(np.maximum(counts, 1.0))[:, None]

    def weights(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """q^k/k! of each child."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.rates)
        first = np.where(lows > 0, lows, 1.0)
        at_low = np.where(lows > 0, first * logs - log_factorial(first), 0.0)
        counts = lows[..., None] + np.arange(width - 1.0)
        steps = logs[..., None] + tilt[..., None] - np.log1p(counts)
        return LogWeights(at_low[:, None], _cumulated(steps)[:, None])

    def factor(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """K!."""
        counts = lows[:, None, None] + np.arange(width - 1.0)
        at_low = log_factorial(lows[:, None].astype(np.float64))
        return LogWeights(at_low, _cumulated(np.log1p(counts) - tilt[..., None]))


def _rising(counts: Counts, concentrations: Reals) -> Reals:
    """The logarithm of Γ(k + a)/(k!·Γ(a)), which is 0 where all counts are."""
    if counts.any():
        return log_rising(counts, concentrations)
    return np.zeros(np.broadcast_shapes(counts.shape, concentrations.shape))


@lru_cache(maxsize=1)
def _log_sums(law: CellLaw, cells: int, lows: tuple[int, ...], width: int) -> Reals:
    """The logarithms of the probabilities of sums of cells, shape (lows, width); kept for all tilts of a split."""
    sums = CellSums(law, cells)
    return np.array([sums.log_pmf(low, width) for low in lows])


def _cumulated(steps: Reals) -> Reals:
    """The sums of the steps so far on the last axis, from 0."""
    padded = np.zeros((*steps.shape[:-1], steps.shape[-1] + 1))
    np.cumsum(steps, axis=-1, out=padded[..., 1:])
    return padded


@frozen(eq=False)
class StatedLevel:
    """A stated division."""

    weights: Reals  # of each child: its concentration, or its rate within its parent
    is_multinomial: bool  # whether they are rates
    is_learned: ClassVar[bool] = False

    def division(self, children: Counts) -> "Division":
        """That of some nodes by the concentrations or rates of their children. Shapes: children (nodes, children)."""
        weights = self.weights[children]
        if self.is_multinomial:
            return Multinomial(weights)
        if np.ptp(weights) == 0:
            total = np.full((1, 1), weights[0].sum())
            return Dirichlet(weights[:1, None, :1], total)
        return Dirichlet(weights[:, None], weights.sum(axis=1)[:, None])

    def scaled(self, factor: float) -> "StatedLevel":
        """Rates stay as they are."""
        return self if self.is_multinomial else StatedLevel(self.weights * factor, is_multinomial=False)

    @property
    def words(self) -> str:
        """The range of the concentrations."""
        if self.is_multinomial:
            return "by known rates"
        low, high = float(self.weights.min()), float(self.weights.max())
        told = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        return f"with a concentration of {told} a child"

    @property
    def parameters(self) -> dict[str, object]:
        """The concentrations, or rates; one number where they are equal."""
        name = "rates" if self.is_multinomial else "concentrations"
        weights = np.unique(self.weights)
        return {name: float(weights[0]) if weights.size == 1 else self.weights}


@frozen(eq=False)
class LearnedLevel:
    """A mixture of concentrations, shared among children as their numbers of cells."""

    concentrations: Reals  # possible ones of an average child, shape (sets,)
    chances: Reals  # how often each was met, shape (sets,)
    cells: Reals  # how many cells each child has, level by level, shape (nodes of the level below,)
    is_learned: ClassVar[bool] = True

    def division(self, children: Counts) -> "Division":
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

    def division(self, children: Counts) -> "Division":  # noqa: ARG002  (all are alike)
        """By the probabilities of the cells' counts."""
        return self

    @property
    def log_chances(self) -> Reals:
        """One set, which is certain."""
        return _ONE

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
        logs = _log_sums(self.law, self.given, tuple(lows.tolist()), width)
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


# P[k_1, …, k_m | k] = factor(k)·Π_c weight_c(k_c) of several nodes with as many children each. There may be several
# sets of parameters, the same number for each node, with the logarithms of their chances. A tilt, in nats a record, is
# added to the steps of weights and taken from those of the factor: it changes no product, and keeps the digits of
# weights that rise or fall steeply.
Division: TypeAlias = Dirichlet | Multinomial | CellLevel
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
        pairs = zip(self.names, self.levels, strict=True)
        return {"learned": self.is_learned, **{name: level.parameters for name, level in pairs}}
