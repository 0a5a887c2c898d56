"""Priors of the division of counts: stated, a learned mixture of concentrations, or a learned distribution of cells.

A level of each kind gives the `Division` of some nodes; `split` multiplies it by the likelihoods.
"""

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
    """Logarithms of the weights of the counts of some ranges, under a tilt."""

    at_low: Reals  # of the first count of each range, not tilted
    above: Reals  # of each count of the range minus `at_low`, plus the tilt times its distance from the first


@frozen(eq=False)
class Dirichlet:
    """Dirichlet-multinomial division of a count k among children: the shares have a Dirichlet distribution.

    P[k_1, …, k_m | k] = k!·Γ(A)/Γ(k + A)·Π_c Γ(k_c + a_c)/(k_c!·Γ(a_c)), where a_c is the concentration of child c and
    A = Σ a_c. With several sets of concentrations, the division is a mixture of such distributions. For k = 2 and two
    children:

    | a_1 = a_2 | P[(2, 0)] | P[(1, 1)] | P[(0, 2)] |
    | --- | --- | --- | --- |
    | 0.5 | 3/8 | 1/4 | 3/8 |
    | 1 | 1/3 | 1/3 | 1/3 |
    | ∞ | 1/4 | 1/2 | 1/4 |
    """

    # concentrations of the children, shape (nodes, sets, children); an axis of equal values may have length 1
    concentrations: Reals
    total: Reals  # sums of the concentrations, shape (nodes, sets) or (1, sets)
    # log probability of each set, shape (sets,)
    log_chances: Reals = field(default_factory=lambda: _ONE)

    def tilt(self, counts: Reals, children: int) -> Reals:
        """Return the tilt under which the weights of an average child are level, shape (nodes, sets)."""
        return -log_rising_steps(counts[:, None] / children, self.total / children)

    def weights(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """Return the log weight ln(Γ(k + a)/(k!·Γ(a))) of `width` counts k of each child with concentration a."""
        nodes, children = lows.shape
        shape = nodes, self.total.shape[1], children
        at_low = np.broadcast_to(log_rising(lows[:, None], self.concentrations), shape)
        counts = lows[:, None, :, None] + np.arange(width - 1)
        steps = log_rising_steps(counts, self.concentrations[..., None])
        steps = np.broadcast_to(steps, (*shape, width - 1)) + tilt[..., None, None]
        return LogWeights(at_low, _cumulative_sums(steps))

    def factor(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """Return ln(k!·Γ(A)/Γ(k + A)) of `width` counts k of each node, A the concentration of all children."""
        counts = lows[:, None, None] + np.arange(width - 1)
        steps = -log_rising_steps(counts, self.total[..., None]) - tilt[..., None]
        return LogWeights(-log_rising(lows[:, None], self.total), _cumulative_sums(steps))


@frozen(eq=False)
class Multinomial:
    """Multinomial division of a count k among children: each record falls into child c with probability q_c.

    P[k_1, …, k_m | k] = k!·Π_c q_c^k_c/k_c!, with Σ q_c = 1. For k = 2 and rates (1/4, 3/4), P[(2, 0)] = 1/16,
    P[(1, 1)] = 6/16 and P[(0, 2)] = 9/16.
    """

    rates: Reals  # rates of the children, which add up to 1 for each node, shape (nodes, children)

    @property
    def log_chances(self) -> Reals:
        """Log probability of the only set of parameters."""
        return _ONE

    def tilt(self, counts: Reals, children: int) -> Reals:  # noqa: ARG002  (rates are shares already)
        """Return ln k, as q/(k·q) is the step of a child that has its share q of a count k."""
        return np.log(np.maximum(counts, 1.0))[:, None]

    def weights(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """Return ln(q^k/k!) of `width` counts k of each child with rate q."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.rates)
        first = np.where(lows > 0, lows, 1.0)
        at_low = np.where(lows > 0, first * logs - log_factorial(first), 0.0)
        counts = lows[..., None] + np.arange(width - 1.0)
        steps = logs[..., None] + tilt[..., None] - np.log1p(counts)
        return LogWeights(at_low[:, None], _cumulative_sums(steps)[:, None])

    def factor(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """Return ln(k!) of `width` counts k of each node."""
        counts = lows[:, None, None] + np.arange(width - 1.0)
        at_low = log_factorial(lows[:, None].astype(np.float64))
        return LogWeights(at_low, _cumulative_sums(np.log1p(counts) - tilt[..., None]))


@lru_cache(maxsize=1)
def _log_sums(law: CellLaw, cells: int, lows: tuple[int, ...], width: int) -> Reals:
    """Return the log probabilities of sums of cells, shape (lows, width). The cache serves all tilts of a split."""
    sums = CellSums(law, cells)
    return np.array([sums.log_pmf(low, width) for low in lows])


def _cumulative_sums(steps: Reals) -> Reals:
    """Return the sums of steps on the last axis, beginning with 0."""
    padded = np.zeros((*steps.shape[:-1], steps.shape[-1] + 1))
    np.cumsum(steps, axis=-1, out=padded[..., 1:])
    return padded


@frozen(eq=False)
class StatedLevel:
    """Division of the counts of a level among their children, as the caller states it.

    The division is `Multinomial` with the weights as rates, or `Dirichlet` with the weights as concentrations.
    """

    weights: Reals  # concentration of each child, or its rate within its parent
    is_multinomial: bool  # True if the weights are rates
    is_learned: ClassVar[bool] = False

    def division(self, children: Counts) -> "Division":
        """Return the division of some nodes. Shapes: children (nodes, children)."""
        weights = self.weights[children]
        if self.is_multinomial:
            return Multinomial(weights)
        if np.ptp(weights) == 0:
            total = np.full((1, 1), weights[0].sum())
            return Dirichlet(weights[:1, None, :1], total)
        return Dirichlet(weights[:, None], weights.sum(axis=1)[:, None])

    def scaled(self, factor: float) -> "StatedLevel":
        """Return the level with concentrations times a factor; rates do not change."""
        return self if self.is_multinomial else StatedLevel(self.weights * factor, is_multinomial=False)

    @property
    def words(self) -> str:
        """Range of the concentrations, in words."""
        if self.is_multinomial:
            return "by known rates"
        low, high = float(self.weights.min()), float(self.weights.max())
        concentration = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        return f"with a concentration of {concentration} a child"

    @property
    def parameters(self) -> dict[str, object]:
        """Concentrations or rates; one number if they are equal."""
        name = "rates" if self.is_multinomial else "concentrations"
        weights = np.unique(self.weights)
        return {name: float(weights[0]) if weights.size == 1 else self.weights}


@frozen(eq=False)
class LearnedLevel:
    """Learned division of the counts of a level: a mixture of Dirichlet-multinomial distributions.

    Component s has probability p_s and the concentration m·a_s of all m children of a node. Each child c has a part of
    it in proportion to its number n_c of cells, a_c = m·a_s·n_c/Σ n. Concentrations and probabilities are learned.
    """

    concentrations: Reals  # concentrations of an average child, shape (sets,)
    chances: Reals  # probability of each concentration, shape (sets,)
    cells: Reals  # number of cells of each node of the level below
    is_learned: ClassVar[bool] = True

    def division(self, children: Counts) -> "Division":
        """Return the division of nodes, a set of parameters a concentration. Shapes: children (nodes, children)."""
        logs = np.log(self.chances)
        number = children.shape[1]
        cells = self.cells[children]
        total = (self.concentrations * number)[None]
        if np.ptp(cells, axis=1).any():
            shares = cells / cells.sum(axis=1, keepdims=True)
            return Dirichlet(total[..., None] * shares[:, None], np.repeat(total, len(cells), 0), logs)
        return Dirichlet(self.concentrations[None, :, None], total, logs)

    def scaled(self, factor: float) -> "LearnedLevel":
        """Return the level with all concentrations times a factor."""
        return LearnedLevel(self.concentrations * factor, self.chances, self.cells)

    @property
    def words(self) -> str:
        """Geometric mean of the concentrations of an average child, in words."""
        typical = float(np.exp(self.chances @ np.log(self.concentrations)))
        return f"with a concentration of about {typical:.2g} a child"

    @property
    def parameters(self) -> dict[str, object]:
        """Concentrations of the mixture and their probabilities."""
        return {"concentrations": self.concentrations, "chances": self.chances}


@frozen(eq=False)
class CellLevel:
    """Division of a flat table: the counts of m cells are independent draws from one distribution g, given their sum.

    P[k_1, …, k_m | k] = Π_c g(k_c)/P[K_1 + … + K_m = k].
    """

    law: CellLaw  # distribution of the count of each cell
    # number of cells whose sum has a distribution of its own; None: the sum is that of independent cells
    given: int | None
    is_learned: ClassVar[bool] = True

    def division(self, children: Counts) -> "Division":  # noqa: ARG002  (all are alike)
        """Return this level, as all cells are alike."""
        return self

    @property
    def log_chances(self) -> Reals:
        """Log probability of the only set of parameters."""
        return _ONE

    def tilt(self, counts: Reals, children: int) -> Reals:  # noqa: ARG002  (there is no tilt)
        """Return 0: the distribution of a cell needs no tilt."""
        return np.zeros((counts.size, 1))

    def weights(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """Return the log probabilities of the counts of each child."""
        logs = self.law.log_pmf_of_close_counts(lows[..., None] + np.arange(width))
        tilted = tilt[..., None, None] * np.arange(width)
        return LogWeights(logs[:, None, :, 0], (logs - logs[..., :1])[:, None] + tilted)

    def factor(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """Return minus the log probability of the sum if `given` is set, otherwise 0."""
        tilted = tilt[..., None] * np.arange(width)
        if self.given is None:
            return LogWeights(np.zeros((lows.size, 1)), -tilted)
        logs = _log_sums(self.law, self.given, tuple(lows.tolist()), width)
        return LogWeights(-logs[:, :1], (logs[:, :1] - logs)[:, None] - tilted)

    def scaled(self, factor: float) -> "CellLevel":  # noqa: ARG002  (its means fit the answers)
        """Return this level: a distribution of cells has no concentration."""
        return self

    @property
    def words(self) -> str:
        """Mean of the distribution, in words."""
        mean = Decimal(f"{self.law.mean:.3g}")
        return f"as independent counts of {mean:,f} on average"

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters of the distribution of a cell."""
        return self.law.to_dict()


# P[k_1, …, k_m | k] = factor(k)·Π_c weight_c(k_c) for several nodes with the same number of children. There may be
# several sets of parameters, with the logarithms of their probabilities. A tilt, in nats a record, is added to the
# steps of the weights and subtracted from those of the factor. It changes no product, and keeps the digits of weights
# that rise or fall steeply.
Division: TypeAlias = Dirichlet | Multinomial | CellLevel
# Prior of the division of the nodes of a level.
PriorLevel: TypeAlias = StatedLevel | LearnedLevel | CellLevel


@frozen(eq=False, repr=False)
class TablePrior(Shown):
    """Prior of the division of counts, level by level."""

    levels: tuple[PriorLevel, ...]  # of each level above the cells
    names: tuple[str, ...]  # names of the levels below those

    @property
    def is_learned(self) -> bool:
        """True if the prior was learned from the answers."""
        return any(level.is_learned for level in self.levels)

    def scaled(self, factor: float) -> "TablePrior":
        """Return the prior with all concentrations times a factor."""
        return TablePrior(tuple(level.scaled(factor) for level in self.levels), self.names)

    @property
    def words(self) -> str:
        """Description of the prior in one line."""
        pairs = zip(self.names, self.levels, strict=True)
        levels = ", ".join(f"{name} {level.words}" for name, level in pairs)
        return f"{'learned from the answers' if self.is_learned else 'stated'}: {levels}"

    def _facts(self) -> dict[str, object]:
        pairs = zip(self.names, self.levels, strict=True)
        return {"learned": self.is_learned, **{name: level.parameters for name, level in pairs}}
