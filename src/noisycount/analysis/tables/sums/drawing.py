"""Places drawn from laws that are rows of weights."""

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals

__all__ = ["drawn_places"]

Places = NDArray[np.int64]


def drawn_places(weights: Reals, rows: Places, random: np.random.Generator) -> Places:
    """Places drawn by one uniform number each, of a shape like that of the rows.

    Args:
        weights: Those of the places 0, 1, and so on; each row has a positive one; shape (laws,
            width).
        rows: The law of each draw.
        random: What draws the uniform numbers.
    """
    sums = np.cumsum(weights, axis=1)
    whole = sums[rows, -1]
    goals = np.minimum(random.random(rows.shape) * whole, np.nextafter(whole, 0))
    low, high = np.zeros(rows.shape, np.int64), np.full(rows.shape, weights.shape[1] - 1)
    for _ in range((weights.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        is_beyond = sums[rows, middle] > goals
        low, high = np.where(is_beyond, low, middle + 1), np.where(is_beyond, middle, high)
    return high
