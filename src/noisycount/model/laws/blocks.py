"""A weight on consecutive integers, cut into blocks that few points sum exactly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.gram import POINTS, gram_rule

__all__ = ["Blocks", "blocks_between"]

_CHANGE_A_BLOCK = 4.0  # nats over which the rule for POINTS nodes keeps the digits of a double
_NEGLIGIBLE = 50.0  # nats below the largest weight: e^-50 of a sum is beyond a double
_MOST_CHANGE = 256.0  # nats that are divided at once: most parts of a steeper block are left out
_DYADIC = POINTS * (2.0 ** np.arange(50) - 1)  # lengths up to 2^54, beyond any number of records

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
    log_weight: LogWeight, low: float, high: float, cuts: Sequence[float] = ()
) -> Blocks:
    """Blocks for the sum of e^log_weight over the integer offsets low..high, low <= high.

    Each piece between cuts is halved towards both of its ends, down to `POINTS` integers, which
    are summed term by term. Blocks that lie e^50 below the largest weight are left out, but for
    those next to offset 0; the others are divided until the weight changes by at most e^4.
    Relative error of a sum: 1e-14.

    Args:
        log_weight: The logarithm of the weight at real offsets: smooth and monotone between cuts.
        low: The smallest offset.
        high: The largest offset.
        cuts: Integer offsets after which a piece ends.
    """
    inner = sorted({cut for cut in cuts if low <= cut < high})
    firsts = [low, *(cut + 1 for cut in inner)]
    lasts = [*inner, high]
    pieces = [_dyadic(first, last) for first, last in zip(firsts, lasts, strict=True)]
    starts = np.concatenate(pieces)
    ends = np.append(starts[1:] - 1, high)
    while True:
        logs = log_weight(np.concatenate([starts, ends])).reshape(2, -1)
        kept = logs.max(axis=0) >= logs.max() - _NEGLIGIBLE
        kept |= (starts <= 1) & (ends >= -1)
        starts, ends, logs = starts[kept], ends[kept], logs[:, kept]
        changes = np.abs(logs[0] - logs[1])
        steep = (changes > _CHANGE_A_BLOCK) & (ends - starts >= POINTS)
        if not steep.any():
            return _summed(log_weight, starts, ends - starts + 1)
        starts, ends = _divided(starts, ends, np.where(steep, np.minimum(changes, _MOST_CHANGE), 0))


def _dyadic(first: float, last: float) -> Reals:
    """The first offsets of blocks whose lengths double from both ends of first..last."""
    length = last - first + 1
    rising = _DYADIC[(length > 2 * _DYADIC) | (_DYADIC == POINTS) & (length > POINTS)]
    falling = _DYADIC[1:][2 * _DYADIC[1:] < length]
    return np.unique(np.concatenate([first + rising, last + 1 - falling]))


def _divided(starts: Reals, ends: Reals, changes: Reals) -> tuple[Reals, Reals]:
    """Each block in a power of two of nearly equal parts, for a change of e^4 a part on average."""
    lengths = ends - starts + 1
    parts = 2 ** np.ceil(np.log2(np.maximum(changes / _CHANGE_A_BLOCK, 1)))
    parts = np.maximum(np.minimum(parts, 2 ** np.floor(np.log2(lengths))), 1).astype(int)
    owners = np.repeat(np.arange(starts.size), parts)
    within = np.arange(owners.size) - np.repeat(np.cumsum(parts) - parts, parts)
    size = np.maximum(np.ceil(lengths / parts), np.where(parts > 1, POINTS, 0))[owners]
    new_starts = starts[owners] + within * size
    new_ends = np.minimum(new_starts + size - 1, ends[owners])
    inside = new_starts <= ends[owners]
    return new_starts[inside], new_ends[inside]


def _summed(log_weight: LogWeight, starts: Reals, lengths: Reals) -> Blocks:
    """The blocks with their points and weights."""
    rules = [gram_rule(int(length)) for length in lengths]
    offsets = starts[:, None] + np.array([nodes for nodes, _ in rules])
    logs = log_weight(offsets)
    peak = float(logs.max())
    weights = np.exp(logs - peak) * np.array([weights for _, weights in rules])
    return Blocks(starts, lengths, peak, offsets, weights)
