"""A log-concave weight on consecutive integers, cut into blocks that few points sum exactly."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from noisycount.model.expansion import Reals
from noisycount.model.gram import POINTS, gram_rule

__all__ = ["Blocks", "blocks_between"]

_DROP_A_BLOCK = 4.0
_NEGLIGIBLE = 50.0
_STEPS = 60
_DOUBLINGS = 2.0 ** np.arange(54)

LogWeight = Callable[[Reals], Reals]


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


def blocks_between(
    log_weight: LogWeight, low: float, high: float, kink: float | None = None
) -> Blocks:
    """Blocks for the sum of e^log_weight over the integer offsets low..high, low <= high.

    From the largest weight outwards, weights fall by at most e^4 in the first block of each piece;
    a piece ends at the kink, or after its first block where the weight is e^50 below the largest
    of the range. Up to `POINTS` integers are summed term by term. Relative error of a sum: 1e-14.

    Args:
        log_weight: The logarithm of the weight at real offsets; concave, largest at offset 0, and
            smooth but for the kink.
        low: The smallest offset.
        high: The largest offset.
        kink: The offset at which the log-weight is not smooth; None if there is none.
    """
    pieces = np.array(list(_pieces(low, high, kink)))
    starts, stops = pieces[:, 0], pieces[:, 1]
    signs = np.where(stops >= starts, 1.0, -1.0)
    steps = _block_lengths(log_weight, starts, stops, signs)
    grid = starts[:, None] + (signs * steps)[:, None] * np.arange(_STEPS)
    within = (grid - stops[:, None]) * signs[:, None] <= 0
    logs = np.where(within, log_weight(np.where(within, grid, stops[:, None])), -np.inf)
    kept = logs >= logs.max() - _NEGLIGIBLE
    kept[:, 0] = True
    ends = np.minimum(steps[:, None], np.abs(stops[:, None] - grid) + 1)
    lowest = np.where(signs[:, None] > 0, grid, grid - ends + 1)
    return _summed(log_weight, lowest[kept], ends[kept])


def _pieces(low: float, high: float, kink: float | None) -> Iterator[tuple[float, float]]:
    """Runs (start, stop) on which the weight is smooth and falls from start to stop."""
    top = min(max(0.0, low), high)
    if kink is not None and top <= kink < high:
        yield top, math.floor(kink)
        yield math.floor(kink) + 1, high
    else:
        yield top, high
    if top > low:
        if kink is not None and low < kink <= top - 1:
            yield top - 1, math.ceil(kink)
            yield math.ceil(kink) - 1, low
        else:
            yield top - 1, low


def _block_lengths(log_weight: LogWeight, starts: Reals, stops: Reals, signs: Reals) -> Reals:
    """For each piece the largest power of two over which the weight falls by at most e^4."""
    spans = np.abs(stops - starts)[:, None]
    reached = starts[:, None] + signs[:, None] * np.minimum(_DOUBLINGS, spans)
    drops = log_weight(starts)[:, None] - log_weight(reached)
    fits = (drops <= _DROP_A_BLOCK) & (spans >= _DOUBLINGS)
    lengths: Reals = np.maximum(POINTS, np.where(fits, _DOUBLINGS, 0.0).max(axis=1))
    return lengths


def _summed(log_weight: LogWeight, starts: Reals, lengths: Reals) -> Blocks:
    """The blocks in rising order with their points and weights."""
    order = np.argsort(starts)
    starts, lengths = starts[order], lengths[order]
    rules = [gram_rule(int(length)) for length in lengths]
    offsets = starts[:, None] + np.array([nodes for nodes, _ in rules])
    logs = log_weight(offsets)
    peak = float(logs.max())
    weights = np.exp(logs - peak) * np.array([weights for _, weights in rules])
    return Blocks(starts, lengths, peak, offsets, weights)
