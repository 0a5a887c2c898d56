"""The law of a count that is known as a table, given answers."""

import math
from collections.abc import Sequence

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import IMPOSSIBLE, Factor, Product
from noisycount.model.laws.table_law import TableLaw

__all__ = ["weighted_table"]


def weighted_table(first: int, log_probabilities: Reals, likelihoods: Sequence[Factor]) -> TableLaw:
    """The law of a table on first, first + 1, and so on, times likelihoods.

    Raises:
        ValueError: If the likelihoods leave no count of the table.
    """
    product, last = Product(tuple(likelihoods)), first + log_probabilities.size - 1
    low, high = product.support
    start, stop = math.ceil(max(first, low)), math.floor(min(last, high))
    logs = log_probabilities[max(0, start - first) : max(0, stop - first + 1)]
    if logs.size == 0 or logs.max() == -math.inf:
        raise ValueError(IMPOSSIBLE)
    counts = start + np.arange(logs.size, dtype=np.float64)
    return TableLaw(start, product.logs_around_largest(counts, logs))
