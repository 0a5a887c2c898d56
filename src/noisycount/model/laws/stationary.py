"""Where a function of a count is largest, and where it turns."""

import sys
from itertools import pairwise

import numpy as np

from noisycount.model.laws.count_law import LOG_TIE
from noisycount.model.laws.factor import Product
from noisycount.model.search import Bracket, first_whole

__all__ = ["mode_and_turns"]

_GROWTH = 1.3  # of distances between which the logarithm of a product turns at most once


def mode_and_turns(product: Product, support: tuple[int, int]) -> tuple[int, list[int]]:
    """The smallest count of the largest value, and the counts at which the function turns.

    A log-concave product turns once. Of any other, the signs of the steps are taken at counts
    whose distances to the ends and to the kinks grow by a factor of 1.3.

    Args:
        product: The function.
        support: The smallest and the largest count.
    """
    smallest, largest = support
    if product.is_log_concave:
        mode = _turn(product, smallest, largest, rising=True)
        return mode, [mode]
    grid = _grid(product, support)
    rises = (product.rises_after(grid) > 0).tolist()
    turns = [
        _turn(product, low + 1, high, rising=before)
        for (low, before), (high, after) in pairwise(zip(grid, rises, strict=True))
        if before != after
    ]
    candidates = np.array(sorted({smallest, largest, *turns}))
    changes = product.logs_around_largest(candidates.astype(np.float64), np.zeros(candidates.size))
    return int(candidates[changes >= changes.max() - LOG_TIE][0]), turns


def _turn(product: Product, smallest: int, largest: int, *, rising: bool) -> int:
    """The first count in smallest..largest − 1 whose step has the other sign, else largest."""

    def turned(count: float) -> float:
        rise = product.rise_after(int(count))
        return -rise if rising else rise or -sys.float_info.min

    return int(first_whole(turned, Bracket(smallest - 1, largest)).high)


def _grid(product: Product, support: tuple[int, int]) -> list[int]:
    """Counts below the largest, close together near the ends of the support and the kinks."""
    smallest, largest = support
    anchors = {smallest, largest, *(round(kink) for kink in product.kinks)}
    distances = [0]
    while distances[-1] < largest - smallest:
        distances.append(int(distances[-1] * _GROWTH) + 1)
    counts = {anchor + side * step for anchor in anchors for step in distances for side in (-1, 1)}
    return sorted(count for count in counts if smallest <= count < largest)
