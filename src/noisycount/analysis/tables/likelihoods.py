"""What the answers of a level say of the counts of its nodes, and where those counts lie."""

from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisycount.analysis.tables.level_answers import NO_END, Bounds, LevelAnswers
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

__all__ = ["Anchor", "LevelLikelihood", "likelihoods"]

Counts = NDArray[np.int64]


@frozen(eq=False)
class Anchor:
    """A logarithm of lines and parabolas relative to one count, exact before it is rounded.

    It never rises with the distance from that count, so that its pieces add up without loss.

    Attributes:
        centre: The count.
        sides: Below and above it, by the distance.
        reach: Where the count lies, as far as the answers tell.
    """

    centre: int
    sides: tuple["_Side", "_Side"]
    reach: tuple[int, int]

    @classmethod
    def of(cls, centre: int, logarithm: Callable[[int], Fraction], bends: Sequence[int]) -> Self:
        """That of a logarithm that bends at some counts alone, or next to them."""

        def side(sign: int) -> _Side:
            largest, starts = logarithm(centre), {max(sign * (bend - centre), 0) for bend in bends}
            return _Side.of(
                lambda far: logarithm(centre + sign * far) - largest, sorted({0, *starts})
            )

        return cls(centre, (side(-1), side(1)), (centre, centre))

    def __call__(self, low: int, width: int) -> Reals:
        """The logarithms of so many counts."""
        offsets = np.arange(low - self.centre, low - self.centre + width)
        below, above = self.sides
        return np.where(offsets < 0, below(-offsets), above(offsets))


@frozen(eq=False)
class _Side:
    """A logarithm by the distance from a count, as parabolas.

    Attributes:
        starts: The distances from which on they hold, from 0.
        terms: The value at the start, the first step and half the change from each step to the
            next, shape (3, parabolas).
    """

    starts: Reals
    terms: Reals

    @classmethod
    def of(cls, logarithm: Callable[[int], Fraction], starts: Sequence[int]) -> Self:
        """That of a logarithm, from three of its values each."""
        terms = []
        for start in starts:
            first, second, third = (logarithm(start + step) for step in range(3))
            bend = (third - 2 * second + first) / 2
            terms.append([float(first), float(second - first), float(bend)])
        return cls(np.array(starts, dtype=np.float64), np.array(terms).T)

    def __call__(self, distances: NDArray[np.integer]) -> Reals:
        """The logarithms at distances; at negative ones anything."""
        piece = np.maximum(np.searchsorted(self.starts, distances, "right") - 1, 0)
        base, step, bend = self.terms[:, piece]
        beyond = distances - self.starts[piece]
        logs: Reals = base + beyond * (step + (beyond - 1) * bend)
        return logs


@frozen(eq=False)
class LevelLikelihood:
    """The answers of one level, of which a node may have none or several.

    Args:
        answers: Those of the level.
        bounds: Between which counts its nodes lie for certain.
        anchors: What the logarithms are told relative to, of each node; None: to nothing.
    """

    answers: tuple[LevelAnswers, ...]
    bounds: Bounds
    anchors: tuple[Anchor, ...] | None = None
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
        if self.anchors is not None:
            return self._anchored_reach(self.anchors, widened)
        low = np.full(self.bounds.low.size, NO_END)
        high = np.full(self.bounds.low.size, -1)
        for one in self.answers:
            first, last = one.reach()
            low[one.nodes] = np.minimum(low[one.nodes], first)
            high[one.nodes] = np.maximum(high[one.nodes], last)
        extra = np.where(self.is_answered, (high - low + 1) * widened, 0)
        low, high = np.maximum(low - extra, 0), high + extra
        return self._within_bounds(low, high)

    def _anchored_reach(self, anchors: tuple[Anchor, ...], widened: Counts) -> Bounds:
        """The same about the anchors."""
        low, high = (np.array(ends) for ends in zip(*(one.reach for one in anchors), strict=True))
        extra = (high - low + 1) * widened
        low = np.maximum(low - extra, self.bounds.low)
        return Bounds(low, np.minimum(high + extra, self.bounds.high))

    def _within_bounds(self, low: Counts, high: Counts) -> Bounds:
        """Windows cut off at the bounds, moved to them where they lie beyond."""
        width = high - low
        first = np.minimum(low, np.maximum(self.bounds.high - width, self.bounds.low))
        last = np.maximum(high, np.minimum(self.bounds.low + width, self.bounds.high))
        first = np.where(self.is_answered, np.maximum(first, self.bounds.low), self.bounds.low)
        last = np.where(self.is_answered, np.minimum(last, self.bounds.high), self.bounds.high)
        return Bounds(first, last)

    def logs(self, nodes: Counts, lows: Counts, width: int) -> Reals:
        """The logarithm of the likelihood of so many counts of some nodes, relative to anchors.

        Args:
            nodes: Positions in the level.
            lows: The first count of each.
            width: How many counts.

        Returns:
            Shape (nodes, width).
        """
        if self.anchors is None:
            return self.own_logs(nodes, lows, width)
        total = self._added(lows, nodes, width, LevelAnswers.log_rest)
        main = [
            self.anchors[node](low, width)
            for node, low in zip(nodes.tolist(), lows.tolist(), strict=True)
        ]
        total += np.array(main)
        return total

    def own_logs(self, nodes: Counts, lows: Counts, width: int) -> Reals:
        """The same relative to nothing."""
        return self._added(lows, nodes, width, LevelAnswers.log_likelihood)

    def _added(
        self,
        lows: Counts,
        nodes: Counts,
        width: int,
        logs: Callable[[LevelAnswers, Counts, Counts], Reals],
    ) -> Reals:
        """The sums of logarithms over the answers of each node."""
        counts = lows[:, None] + np.arange(width)
        total = np.zeros((nodes.size, width))
        for one, places in zip(self.answers, self._places, strict=True):
            which = places[nodes]
            told = which >= 0
            if told.all():
                total += logs(one, which, counts)
            elif told.any():
                total[told] += logs(one, which[told], counts[told])
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
