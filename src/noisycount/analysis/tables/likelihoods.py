"""What the answers of a level say of the counts of its nodes, and where those counts lie."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.count_bounds import NO_END, Bounds
from noisycount.analysis.tables.level_answers import LevelAnswers
from noisycount.model.laws.expansion import Reals

__all__ = ["LevelLikelihood", "likelihoods"]

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LevelLikelihood:
    """The answers of one level, of which a node may have none or several.

    Args:
        answers: Those of the level.
        bounds: Between which counts its nodes lie for certain.
    """

    answers: tuple[LevelAnswers, ...]
    bounds: Bounds
    _places: tuple[Counts, ...] = field(init=False, repr=False)
    is_answered: NDArray[np.bool_] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        size = self.bounds.low.size
        places = tuple(_places(one.nodes, size) for one in self.answers)
        answered = np.zeros(size, dtype=np.bool_)
        for one in self.answers:
            answered[one.nodes] = True
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "is_answered", answered)

    def reach(self, widened: Counts) -> Bounds:
        """Where the counts of answered nodes lie, but for e^−42 of their likelihood.

        Args:
            widened: By how many times its width the reach of each node is extended on both sides.

        Returns:
            The bounds themselves of nodes without an answer.
        """
        low = np.full(self.bounds.low.size, NO_END)
        high = np.full(self.bounds.low.size, -1)
        for one in self.answers:
            first, last = one.reach()
            low[one.nodes] = np.minimum(low[one.nodes], first)
            high[one.nodes] = np.maximum(high[one.nodes], last)
        extra = np.where(self.is_answered, (high - low + 1) * widened, 0)
        low, high = np.maximum(low - extra, 0), high + extra
        return self._within_bounds(low, high)

    def _within_bounds(self, low: Counts, high: Counts) -> Bounds:
        """Windows cut off at the bounds, moved to them where they lie beyond."""
        width = high - low
        first = np.minimum(low, np.maximum(self.bounds.high - width, self.bounds.low))
        last = np.maximum(high, np.minimum(self.bounds.low + width, self.bounds.high))
        first = np.where(self.is_answered, np.maximum(first, self.bounds.low), self.bounds.low)
        last = np.where(self.is_answered, np.minimum(last, self.bounds.high), self.bounds.high)
        return Bounds(first, last)

    def logs(self, nodes: Counts, lows: Counts, width: int) -> Reals:
        """The logarithm of the likelihood of so many counts of some nodes.

        Args:
            nodes: Positions in the level.
            lows: The first count of each.
            width: How many counts.

        Returns:
            Shape (nodes, width).
        """
        counts = lows[:, None] + np.arange(width)
        total = np.zeros((nodes.size, width))
        for one, places in zip(self.answers, self._places, strict=True):
            which = places[nodes]
            told = which >= 0
            if told.all():
                total += one.log_likelihood(which, counts)
            elif told.any():
                total[told] += one.log_likelihood(which[told], counts[told])
        return total


def likelihoods(
    answers: Sequence[LevelAnswers], bounds: Sequence[Bounds]
) -> tuple[LevelLikelihood, ...]:
    """The answers of each level."""
    return tuple(
        LevelLikelihood(tuple(one for one in answers if one.level == level), held)
        for level, held in enumerate(bounds)
    )


def _places(nodes: Counts, size: int) -> Counts:
    """Which answer is that of each node; −1: none."""
    places = np.full(size, -1)
    places[nodes] = np.arange(nodes.size)
    return places
