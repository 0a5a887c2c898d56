"""Sums of a weight over consecutive integers, from the few points of a grid."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.grid import Limits, LogWeight, grid_between

__all__ = ["Blocks", "blocks_between"]

_LIMITS = Limits(
    steepest=4.0,  # nats over which the rule keeps the digits of a double
    negligible=50.0,  # nats: e^−50 of a sum is beyond a double
)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of consecutive integer offsets in rising order, and the points that sum over them.

    Attributes:
        starts: The first offset of each block, shape (blocks,).
        lengths: The number of integers in each block, shape (blocks,).
        peak: The logarithm of the largest weight at a point.
        offsets: The points of each block, shape (blocks, POINTS).
        weights: What each point adds to the sum, divided by e^peak, shape (blocks, POINTS).
    """

    starts: Reals
    lengths: Reals
    peak: float
    offsets: Reals
    weights: Reals

    @property
    def mass(self) -> float:
        """Σ w over all blocks, divided by e^peak."""
        return float(self.weights.sum())

    @property
    def mean(self) -> float:
        """The mean offset."""
        return float((self.weights * self.offsets).sum()) / self.mass

    @property
    def variance(self) -> float:
        """The variance of the offset."""
        return float((self.weights * (self.offsets - self.mean) ** 2).sum()) / self.mass

    @property
    def mirrored(self) -> "Blocks":
        """The blocks of the negative offsets."""
        return Blocks(
            (1 - self.starts - self.lengths)[::-1],
            self.lengths[::-1],
            self.peak,
            -self.offsets[::-1, ::-1],
            self.weights[::-1, ::-1],
        )


def blocks_between(
    log_weight: LogWeight, low: float, high: float, cuts: Sequence[float] = ()
) -> Blocks:
    """Blocks for the sum of e^log_weight over the integer offsets low..high, low <= high.

    Blocks that lie e^50 below the largest weight are left out, but for those next to offset 0; in
    the others the weight changes by at most e^4. Relative error of a sum: 1e-14.

    Args:
        log_weight: The logarithm of the weight at real offsets: smooth and monotone between cuts.
        low: The smallest offset.
        high: The largest offset.
        cuts: Integer offsets at which the log-weight bends or turns.
    """
    ends = float(low), float(high)
    fine = [(float(cut), float(cut)) for cut in sorted({*cuts}) if low <= cut <= high]
    grid = grid_between(log_weight, ends, ends, fine, _LIMITS)
    offsets, rules, inside = grid.points()
    logs = np.full_like(offsets, -np.inf)
    logs[inside] = log_weight(offsets[inside])
    peak = float(logs.max())
    firsts, weights = grid.firsts, np.exp(logs - peak + rules)
    return Blocks(firsts, grid.lasts - firsts + 1, peak, offsets, weights)
