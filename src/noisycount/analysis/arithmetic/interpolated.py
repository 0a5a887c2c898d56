"""A smooth function between its values on a lattice."""

import math
from dataclasses import dataclass

import numpy as np

from noisycount.model.laws.expansion import Reals

__all__ = ["Interpolated"]

_POINTS = 12  # whose polynomial tells a smooth logarithm over an eighth of a deviation to 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class Interpolated:
    """The polynomial through the twelve points around each place.

    Attributes:
        first: The place of the first value.
        stride: From one place to the next.
        values: At least twelve.
    """

    first: float
    stride: float
    values: Reals

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last place."""
        return self.first, self.first + self.stride * (self.values.size - 1)

    def __call__(self, places: Reals) -> Reals:
        """The values at places, shape as given."""
        steps = (np.asarray(places, dtype=np.float64) - self.first) / self.stride
        last = max(self.values.size - _POINTS, 0)
        starts = np.clip(np.floor(steps) - _POINTS // 2 + 1, 0, last).astype(np.int64)
        within = steps - starts
        total = np.zeros(within.shape)
        for node in range(_POINTS):
            others = [other for other in range(_POINTS) if other != node]
            weight = np.prod([within - other for other in others], axis=0)
            scale = math.prod(node - other for other in others)
            total += weight / scale * self.values[starts + node]
        return total
