"""Blocks of consecutive integers that are fine where a sum may bend, and coarse elsewhere."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.gram import POINTS, gram_rule

__all__ = ["MeshPoints", "mesh_points"]

_CHANGE_A_BLOCK = 16.0
_LEVELS = 50

Levels = NDArray[np.int_]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class MeshPoints:
    """Points that sum a weight times any function that is smooth outside the fine places.

    Attributes:
        offsets: In rising order, shape (points,).
        log_weights: The logarithm of what each point adds to a sum, shape (points,).
        weights: What it adds.
        highest_log_weight: The largest of the logarithms.
    """

    offsets: Reals
    log_weights: Reals
    weights: Reals = field(init=False, repr=False)
    highest_log_weight: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", np.exp(self.log_weights))
        object.__setattr__(self, "highest_log_weight", float(self.log_weights.max()))

    @property
    def is_every_integer(self) -> bool:
        """Whether no integer between the first and the last point is left out."""
        return bool(self.offsets.size == self.offsets[-1] - self.offsets[0] + 1)


def mesh_points(
    log_weight: Callable[[Reals], Reals],
    ends: tuple[float, float],
    support: tuple[float, float],
    fine: Sequence[tuple[float, float]],
    coarsest: float,
) -> MeshPoints:
    """The points for sums of e^log_weight times other functions over the integer offsets.

    The integers are cut into aligned blocks of 24·2^i. A block is halved until it is no longer than
    its distance to each fine place and than `coarsest`, and the log-weight changes by at most 16
    over it. Blocks of 24 integers are summed term by term, longer ones by Gauss's rule for the
    counting measure.

    Args:
        log_weight: The logarithm of the weight at real offsets.
        ends: The first and the last integer offset of the sum; wider by up to a block.
        support: The first and the last integer offset at which the weight is positive.
        fine: Runs of offsets, first and last, in which the sum may bend; the ends of the support
            are fine where they lie inside the ends.
        coarsest: The longest block, in integers.
    """
    level = max(0, int(np.log2(max(coarsest / POINTS, 1))))
    size = POINTS * 2.0**level
    starts = size * np.arange(np.floor(ends[0] / size), np.floor(ends[1] / size) + 1)
    starts = starts[(starts <= support[1]) & (starts + size > support[0])]
    levels = np.full(starts.size, level)
    places = [*fine, (support[0], support[0]), (support[1], support[1])]
    for _ in range(level):
        starts, levels = _halved(starts, levels, _is_near(starts, levels, places))
    while True:
        ends_of_blocks = np.concatenate([starts, starts + POINTS * 2.0**levels - 1])
        logs = log_weight(np.clip(ends_of_blocks, *support)).reshape(2, -1)
        steep = (np.abs(logs[0] - logs[1]) > _CHANGE_A_BLOCK) & (levels > 0)
        if not steep.any():
            return _points(log_weight, starts, levels, support)
        starts, levels = _halved(starts, levels, steep)


def _is_near(starts: Reals, levels: Levels, places: Sequence[tuple[float, float]]) -> Flags:
    """Whether a block of more than 24 is longer than its distance to a fine place."""
    lengths = POINTS * 2.0**levels
    distances = np.full(starts.size, np.inf)
    for first, last in places:
        away = np.maximum(starts - last, first - (starts + lengths - 1))
        distances = np.minimum(distances, away)
    return (levels > 0) & (distances < lengths)


def _halved(starts: Reals, levels: Levels, some: Flags) -> tuple[Reals, Levels]:
    """The blocks, some of them in two halves."""
    copies = np.where(some, 2, 1)
    levels = np.repeat(levels - some, copies)
    second = np.cumsum(copies)[some] - 1
    starts = np.repeat(starts, copies)
    starts[second] += POINTS * 2.0 ** levels[second]
    return starts, levels


def _points(
    log_weight: Callable[[Reals], Reals],
    starts: Reals,
    levels: Levels,
    support: tuple[float, float],
) -> MeshPoints:
    """The points of the blocks, of which those outside the support are left out."""
    nodes, logs = _rules()
    offsets = (starts[:, None] + nodes[levels]).ravel()
    inside = (offsets >= support[0]) & (offsets <= support[1])
    offsets, log_rules = offsets[inside], logs[levels].ravel()[inside]
    return MeshPoints(offsets, log_weight(offsets) + log_rules)


@lru_cache(maxsize=1)
def _rules() -> tuple[Reals, Reals]:
    """The nodes and the logarithms of the weights of the rules of all levels."""
    rules = [gram_rule(POINTS * 2**level) for level in range(_LEVELS)]
    return np.array([nodes for nodes, _ in rules]), np.log([weights for _, weights in rules])
