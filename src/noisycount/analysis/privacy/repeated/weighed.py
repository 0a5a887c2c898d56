"""The counts around the threshold, weighed by what they tell: v = P₊ − e^ε·P₋."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from noisycount.analysis.privacy.certified import Certified
from noisycount.analysis.privacy.hockey_stick import hockey_sticks
from noisycount.analysis.privacy.pairs.pair import Pair
from noisycount.model.laws.expansion import Reals

__all__ = ["Closeness", "Weighed", "weighed", "window"]

Closeness = Callable[[Reals], Reals]
"""The logarithm of Σ_y √(L_y(k)·L_y(k + d)) for distances d, L the law of all answers."""

_OVERFLOW = 700.0  # ε whose exponential does not overflow
_APART = -16.0  # e^−16 of what noise hides is less than the bounds are apart
_UNDERFLOW = 1e-300  # below every weight but 0, so that ratios stay finite


@dataclass(frozen=True, eq=False)
class Weighed:
    """Weights v of the counts in a window around the threshold t: v < 0 below it, v >= 0 from t on.

    With answers of the likelihood L_y(k), δ₊ = Σ_y (Σ_k v_k·L_y(k))₊ is Σ_{k >= t} v_k, δ₊ without
    noise, less Σ_y min(Σ_{k >= t} v_k·L_y(k), Σ_{k < t} −v_k·L_y(k)): what the noise hides.

    Attributes:
        known: δ₊ without noise.
        factor: e^ε.
        above: v_t, v_{t + 1}, … in the window.
        below: −v_{t − 1}, −v_{t − 2}, … in it.
        error: How far all of these may be off, added up.
    """

    known: Certified
    factor: float
    above: Reals
    below: Reals
    error: float

    @property
    def scale(self) -> float:
        """The largest weight."""
        return float(max(self.above.max(), self.below.max()))

    @property
    def is_hidden(self) -> bool:
        """Whether there is something on both sides that noise can mix up."""
        return self.above.size > 0 and self.below.size > 0

    def shortened(self, most: int, weight: float) -> "Weighed":
        """The same with fewer counts at the ends.

        Args:
            most: How many counts each side may keep.
            weight: What all that are left out for it may weigh together, on each side.
        """
        if not self.is_hidden:
            return self
        above = _without_end(self.above, weight - self._outside(self.above, 0.0))
        below = _without_end(self.below, weight - self._outside(self.below, self.factor - 1))
        return replace(self, above=above[:most], below=below[:most])

    def hidden_at_most(self, closeness: Closeness) -> float:
        """What noise hides in the window, at most.

        By Bhattacharyya's bound for each pair of counts: Σ min(a·f, b·g) <= √(a·b)·Σ √(f·g).
        """
        roots = np.convolve(np.sqrt(self.above), np.sqrt(self.below))
        likely = np.exp(closeness(np.arange(1.0, roots.size + 1)))
        return min(float(roots @ likely), float(self.above.sum()), float(self.below.sum()))

    def most(self, hidden: float) -> float:
        """The upper end of δ₊, if noise hides at least so much in the window.

        An adversary who is told all counts outside of it can only know more.
        """
        return self.known.upper + self.error - hidden

    def least(self, hidden: float, closeness: Closeness) -> float:
        """The lower end of δ₊, if noise hides at most so much in the window.

        The answers that the window would choose are some of all sets; what lies outside of it is
        misjudged most often at its ends, as the answers rise with the count, and there by
        Bhattacharyya's bound: Σ min(a·f, b·g) <= √(a·b)·Σ √(f·g).
        """
        return self.known.lower - self.error - hidden - self.missed(closeness)

    def missed(self, closeness: Closeness) -> float:
        """What is misjudged outside of the window, at most."""
        above = _misjudged(self.above, self.below, closeness)
        below = _misjudged(self.below, self.above, closeness)
        missed = above * self._outside(self.above, 0.0)
        return missed + below * self._outside(self.below, self.factor - 1)

    def _outside(self, inside: Reals, more: float) -> float:
        """The weights on one side that lie outside of the window, added up."""
        return max(0.0, self.known.upper + more - float(inside.sum())) + self.error


def _without_end(side: Reals, weight: float) -> Reals:
    """A side without the counts at its end that weigh at most so much, but for the first."""
    beyond = np.cumsum(side[::-1])[::-1]
    return side[: max(1, int(np.count_nonzero(beyond > weight)))]


def _misjudged(side: Reals, other: Reals, closeness: Closeness) -> float:
    """How likely the answers of the last count of a side speak for the other side, at most."""
    logs = 0.5 * (np.log(np.maximum(other, _UNDERFLOW)) - math.log(max(side[-1], _UNDERFLOW)))
    distances = np.arange(other.size, dtype=np.float64) + side.size
    return min(1.0, float(np.exp(np.minimum(0.0, logs + closeness(distances))).sum()))


def weighed(pair: Pair, epsilons: list[float], reach: int) -> list[Weighed]:
    """The counts around each threshold.

    Args:
        pair: The laws of the count.
        epsilons: ε >= 0, rising.
        reach: How many counts a window has on each side.
    """
    known = hockey_sticks(pair, None, epsilons)
    return [_weighed(pair, *one, reach) for one in zip(epsilons, known, strict=True)]


def window(closeness: Closeness, most: int, apart: float = _APART) -> int:
    """How many counts a window has on each side, so that no answers mix up its ends.

    Args:
        closeness: Of counts, by their distance.
        most: The most that there may be.
        apart: The logarithm of the closeness of counts that no answers mix up.
    """
    mixed = np.flatnonzero(closeness(np.arange(1.0, most + 1)) > apart)
    return min(most, int(mixed[-1]) + 2) if mixed.size else 1


def _weighed(pair: Pair, epsilon: float, known: Certified, reach: int) -> Weighed:
    """The counts around one threshold."""
    low, high = pair.base.support
    excess = pair.excess(epsilon)
    factor = math.exp(min(epsilon, _OVERFLOW))
    threshold = min(max(excess.threshold, low), high + 1)
    first, last = max(low, int(threshold) - reach), min(high, int(threshold) + reach - 1)
    if pair.base.deviation == 0 or known.value == 0 or last < threshold:
        return Weighed(known, factor, np.zeros(0), np.zeros(0), 0.0)
    offsets = np.arange(first, last + 1.0)
    masses = pair.base.pmf(offsets)
    weights = masses * excess.at(offsets)
    place = int(threshold) - first
    error = pair.rounding * float(np.abs(weights).sum()) + excess.uncertainty(offsets, masses)
    above, below = np.maximum(weights[place:], 0.0), np.maximum(-weights[:place][::-1], 0.0)
    return Weighed(known, factor, above, below, error)
