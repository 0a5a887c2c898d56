"""How counts divide among the children of nodes, as weights of each child's count.

A count divides among cells that were independent draws of one law before their sum was known.
"""

from dataclasses import field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.tables.cells import CellLaw, CellSums
from noisycount.model.tables.splits import log_factorial, log_rising, log_rising_steps

__all__ = ["CellDivision", "Dirichlet", "Division", "LogWeights", "Multinomial"]

_ONE = np.zeros(1)
Counts = NDArray[np.int64]


class LogWeights(NamedTuple):
    """Logarithms of the weights of runs of counts, tilted.

    Attributes:
        at_low: Of the first count of each run, not tilted.
        above: Of each count of the run minus that, plus the tilt times its distance from the first.
    """

    at_low: Reals
    above: Reals


class Division(Protocol):
    """P[k_1, …, k_m | k] = factor(k)·Π_c weight_c(k_c) of several nodes with as many children each.

    There may be several sets of parameters, the same number for each node. A tilt, in nats a
    record, is added to the steps of weights and taken from those of the factor: it changes no
    product, and keeps the digits of weights that rise or fall steeply.
    """

    @property
    def log_chances(self) -> Reals:
        """The logarithm of the probability of each set of parameters, shape (sets,)."""
        ...

    def tilt(self, counts: Reals, children: int) -> Reals:
        """Tilts under which weights are about level if counts are shared, shape (nodes, sets)."""
        ...

    def weights(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """Of so many counts of each child, shape (nodes, sets, children, …).

        Args:
            lows: Their first counts, shape (nodes, children).
            width: How many counts.
            tilt: Shape (nodes, sets).
        """
        ...

    def factor(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """Of so many counts of each node, shape (nodes, sets, …).

        Args:
            lows: Their first counts, shape (nodes,).
            width: How many counts.
            tilt: Shape (nodes, sets).
        """
        ...


@frozen(eq=False)
class Dirichlet:
    """Dirichlet-multinomial divisions, of several possible concentrations.

    Args:
        concentrations: Of the children, shape (nodes, sets, children); where they are equal, an
            axis may have length 1.
        total: Their sums, shape (nodes, sets), or (1, sets).
        log_chances: The logarithm of the probability of each set, shape (sets,).
    """

    concentrations: Reals
    total: Reals
    log_chances: Reals = field(default_factory=lambda: _ONE)

    def tilt(self, counts: Reals, children: int) -> Reals:
        """Minus the step of an average child."""
        return -log_rising_steps(counts[:, None] / children, self.total / children)

    def weights(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """Γ(k + a)/(k!·Γ(a)) of each child."""
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
        """k!·Γ(A)/Γ(k + A)."""
        counts = lows[:, None, None] + np.arange(width - 1)
        steps = -log_rising_steps(counts, self.total[..., None]) - tilt[..., None]
        return LogWeights(-_rising(lows[:, None], self.total), _cumulated(steps))


@frozen(eq=False)
class Multinomial:
    """Divisions by known rates.

    Args:
        rates: Of the children; those of a node add up to 1; shape (nodes, children).
    """

    rates: Reals

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


def _cumulated(steps: Reals) -> Reals:
    """The sums of the steps so far on the last axis, from 0."""
    padded = np.zeros((*steps.shape[:-1], steps.shape[-1] + 1))
    np.cumsum(steps, axis=-1, out=padded[..., 1:])
    return padded


@frozen(eq=False)
class CellDivision:
    """The children's weights are the probabilities of their counts.

    Args:
        law: Of each child's count.
        given: How many children add up to a count of which other things were known before; None:
            what they add up to is free.
    """

    law: CellLaw
    given: int | None = None

    @property
    def log_chances(self) -> Reals:
        """One set, which is certain."""
        return np.zeros(1)

    def tilt(self, counts: Reals, children: int) -> Reals:  # noqa: ARG002  (a law is level enough)
        """None."""
        return np.zeros((counts.size, 1))

    def weights(self, lows: Counts, width: int, tilt: Reals) -> LogWeights:
        """The probabilities of the counts of each child."""
        first, last = int(lows.min()), int(lows.max()) + width
        counts = lows[..., None] + np.arange(width)
        if last - first <= counts.size:
            logs = self.law.log_pmf(np.arange(first, last))[counts - first]
        else:
            logs = self.law.log_pmf(counts)
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
