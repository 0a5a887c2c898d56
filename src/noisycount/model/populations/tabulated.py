"""Any law of a count, as a table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import Factor, Product
from noisycount.model.laws.table_law import TableLaw
from noisycount.model.populations.population import Informed, Population, known_records
from noisycount.model.subsampling import SampleLikelihood

__all__ = ["Tabulated", "weighted_table"]

_LARGEST_SIZE = 10**8
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Tabulated(Population):
    """Records that can be exchanged, with any law of the count.

    Args:
        probabilities: P[K = k] for k = 0..size, not negative, with sum 1 within 1e-9 (they are
            divided by their sum); shape (size + 1,).

    Raises:
        ValueError: If the probabilities are not such numbers.

    Source: Breutigam and Reischuk, section 3, for databases that can be exchanged.

    Example:
        >>> Tabulated([0.25, 0.5, 0.25]).law().mean
        1.0
    """

    log_probabilities: Reals

    def __init__(self, probabilities: Sequence[float] | Reals) -> None:
        object.__setattr__(self, "log_probabilities", _checked_logs(probabilities))

    @property
    def size(self) -> int:
        """The number of records."""
        return self.log_probabilities.size - 1

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are."""
        return weighted_table(0, self.log_probabilities, likelihoods)

    def given(self, known: int, positives: int) -> Informed:
        """What somebody knows who holds some records.

        P[j others positive] ∝ P[K = positives + j]·C(positives + j, positives)
        ·C(size − positives − j, known − positives).
        """
        held, positive = known_records(known, positives, self.size)
        possible = slice(positive, self.size - (held - positive) + 1)
        if self.log_probabilities[possible].max() == -math.inf:
            raise ValueError(
                f"positives cannot be {positives} of {known}: the table gives that probability 0"
            )
        seen = SampleLikelihood(positive, held, self.size)
        told = weighted_table(0, self.log_probabilities, [seen])
        return Informed(_from_logs(told.log_weights), held, positive)


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


def _from_logs(log_weights: Reals) -> Tabulated:
    """The population of these log-weights."""
    weights = np.exp(log_weights - log_weights.max())
    population = object.__new__(Tabulated)
    logs = log_weights - log_weights.max() - math.log(float(weights.sum()))
    object.__setattr__(population, "log_probabilities", logs)
    return population


def _checked_logs(probabilities: Sequence[float] | Reals) -> Reals:
    """The logarithms of a table of probabilities, divided by their sum."""
    try:
        table = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("probabilities must be numbers, one a count: give a list") from None
    if table.ndim != 1 or not 1 <= table.size <= _LARGEST_SIZE + 1:
        raise ValueError(
            f"probabilities must be one row of 1 to 10**8 numbers, got shape {table.shape}"
        )
    total = float(table.sum())
    if not (table >= 0).all() or not abs(total - 1) <= _SUM_TOLERANCE:
        smallest = float(table.min())
        raise ValueError(
            f"probabilities must not be negative and add up to 1, got a smallest of {smallest!r} "
            f"and a sum of {total!r}"
        )
    with np.errstate(divide="ignore"):
        return cast("Reals", np.log(table / total))
