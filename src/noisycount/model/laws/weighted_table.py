"""The law of a count that is known as a table, given answers."""

import math
from collections.abc import Sequence

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import Factor, Product
from noisycount.model.laws.table_law import TableLaw

__all__ = ["weighted_table"]


def weighted_table(first: int, log_probabilities: Reals, likelihoods: Sequence[Factor]) -> TableLaw:
    """The law of a table on first, first + 1, and so on, times likelihoods.

    Raises:
        ValueError: If the likelihoods leave no count of the table.
    """
    last = first + log_probabilities.size - 1
    low, high = Product(tuple(likelihoods)).support if likelihoods else (first, last)
    start, stop = math.ceil(max(first, low)), math.floor(min(last, high))
    logs = log_probabilities[max(0, start - first) : max(0, stop - first + 1)]
    if logs.size == 0 or logs.max() == -math.inf:
        raise ValueError(
            "answer is impossible: no count can have it under this population, "
            "so check the answer, the size and the rate"
        )
    offsets = np.arange(logs.size, dtype=np.float64)
    peak = int(np.argmax(logs + _changes(likelihoods, start, offsets)))
    return TableLaw(start, logs + _changes(likelihoods, start + peak, offsets - peak))


def _changes(likelihoods: Sequence[Factor], centre: int, offsets: Reals) -> Reals:
    """How the logarithm of the likelihoods changes around the centre, where rounding is least."""
    if not likelihoods:
        return np.zeros_like(offsets)
    return Product(tuple(likelihoods)).expansion(centre)(offsets)
