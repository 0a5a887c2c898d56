"""Points that sum a weight times other functions over consecutive integers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.grid import Limits, LogWeight, grid_between

__all__ = ["MeshPoints", "mesh_points"]

_STEEPEST = 16.0  # nats: the rule is exact to 1e-13 of e^(−s·k) over a block of s·L <= 16


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

    def moved(self, by: int) -> "MeshPoints":
        """The points of the weight, moved."""
        return MeshPoints(self.offsets + by, self.log_weights)

    @property
    def is_every_integer(self) -> bool:
        """Whether no integer between the first and the last point is left out."""
        return bool(self.offsets.size == self.offsets[-1] - self.offsets[0] + 1)


def mesh_points(
    log_weight: LogWeight,
    ends: tuple[float, float],
    support: tuple[float, float],
    fine: Sequence[tuple[float, float]],
    coarsest: float,
) -> MeshPoints:
    """The points for sums of e^log_weight times other functions over the integer offsets.

    Args:
        log_weight: The logarithm of the weight at real offsets.
        ends: The first and the last integer offset of the sum; wider by up to a block.
        support: The first and the last integer offset at which the weight is positive.
        fine: Runs of offsets, first and last, in which the sum may bend.
        coarsest: The longest block, in integers.
    """
    limits = Limits(_STEEPEST, coarsest)
    grid = grid_between(log_weight, ends, support, fine, limits)
    offsets, rules, inside = grid.points()
    held = offsets[inside]
    return MeshPoints(held, log_weight(held) + rules[inside])
