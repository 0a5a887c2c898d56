"""Shares and ranks of cells, from exact draws of whole tables."""

import numpy as np
from numpy.typing import NDArray

from noisycount.app.refine.tables.estimates import Spread

__all__ = ["SEED", "number_of_draws", "ranks", "shares"]

SEED = 1
"""The same table says the same again."""

_MOST, _FEWEST = 10_000, 100
_NUMBERS = 10_000_000  # counts of all draws together, where draws are many
_BLOCK = 1_000_000  # counts that are looked at together

Counts = NDArray[np.int64]


def number_of_draws(cells: int) -> int:
    """How many tables are drawn of so many cells.

    Example:
        >>> number_of_draws(10), number_of_draws(1_000_000)
        (10000, 100)
    """
    return min(_MOST, max(_FEWEST, _NUMBERS // cells))


def shares(tables: Counts, level: float) -> Spread:
    """The mean share of each cell in the total, and its interval; 0 of a table with no record.

    Args:
        tables: Draws, shape (draws, cells).
        level: The probability of each interval.

    Example:
        >>> shares(np.array([[1, 3], [2, 2]]), 0.9).middle.tolist()
        [0.375, 0.625]
    """
    totals = np.maximum(tables.sum(axis=1), 1)
    told = np.empty((3, tables.shape[1]))
    step = max(1, _BLOCK // len(tables))
    for start in range(0, tables.shape[1], step):
        part = slice(start, start + step)
        own = tables[:, part] / totals[:, None]
        told[:, part] = own.mean(axis=0), *np.quantile(own, _tails(level), axis=0)
    return Spread(*told)


def ranks(tables: Counts, level: float) -> Spread:
    """The median rank of each cell, and its interval; 1 is the largest, equal counts share a rank.

    Args:
        tables: Draws, shape (draws, cells).
        level: The probability of each interval.

    Example:
        >>> ranks(np.array([[1, 3, 3], [2, 5, 1]]), 0.9).low.tolist()
        [2, 1, 1]
    """
    placed = np.empty(tables.shape, dtype=np.int32)
    for row, table in enumerate(tables):
        order = np.sort(table)
        placed[row] = table.size - np.searchsorted(order, table, side="right") + 1
    low, high = _tails(level)
    told = np.quantile(
        placed, [0.5, low, high], axis=0, method="inverted_cdf", overwrite_input=True
    )
    return Spread(*told.astype(np.int64))


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2
