"""Exchangeable records with an arbitrary table of the probabilities of their count.

`Tabulated` is public. `binomial` has populations with a formula, `population` the interface.
"""

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from typing import Self

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution, weighted_table
from noisycount.model.laws.factors import Factor
from noisycount.model.laws.gamma import Reals
from noisycount.model.populations.population import Exchangeable, Informed, Moments, known_records
from noisycount.model.subsampling import sample_likelihood

# Largest number of records for which a table is stored: it takes 0.8 GB.
LARGEST_TABLE = 10**8
_SUM_TOLERANCE = 1e-9  # rounding probabilities to ten digits moves their sum less; a larger error is a mistake


@frozen(init=False, eq=False, repr=False)
class Tabulated(Exchangeable):
    """Exchangeable records with any distribution of their count, given as a table.

    P[K = k] = probabilities[k], k = 0..size.

    Args:
        probabilities: P[K = k] for k = 0..size, none negative, with sum 1 within 1e-9 (they are divided by their sum);
            shape (size + 1,), at most 10^8 + 1 entries.

    Raises:
        ValueError: If the probabilities are not numbers of that shape, are negative, or do not sum to 1.

    Source: Breutigam and Reischuk, section 3, for exchangeable databases.

    Example:
        >>> import noisycount as nc
        >>> nc.Tabulated([0.25, 0.5, 0.25]).law().mean
        1.0
    """

    log_probabilities: Reals = field()
    _mean_index: Fraction = field(repr=False)

    def __init__(self, probabilities: Sequence[float] | Reals) -> None:
        table = _check_table(probabilities)
        with np.errstate(divide="ignore"):
            logs = np.log(table / float(table.sum()))
        object.__setattr__(self, "log_probabilities", logs)
        object.__setattr__(self, "_mean_index", _mean_index(table))

    @classmethod
    def of_logs(cls, log_weights: Reals) -> Self:
        """Return the population with P[K = k] ∝ e^log_weights[k]; at least one weight must be finite."""
        population = object.__new__(cls)
        relative = log_weights - log_weights.max()
        weights = np.exp(relative)
        logs = relative - math.log(float(weights.sum()))
        object.__setattr__(population, "log_probabilities", logs)
        object.__setattr__(population, "_mean_index", _mean_index(weights))
        return population

    @property
    def size(self) -> int:
        """Number of records."""
        return self.log_probabilities.size - 1

    @property
    def has_chances(self) -> bool:
        """True: the probabilities are stored."""
        return True

    def log_chances(self, first: int, last: int) -> Reals:
        """Return ln P[K = k] for k = first..last, where first >= 0 and last <= size."""
        return self.log_probabilities[first : last + 1]

    @property
    def expected_positives(self) -> Fraction:
        """E[K], to twice the digits of a float."""
        return self._mean_index

    @property
    def moments(self) -> Moments:
        """E[K], E[n − K] and E[K(n − K)]."""
        return Moments.of_table(np.exp(self.log_probabilities))

    def _facts(self) -> dict[str, object]:
        return {"size": self.size, "probabilities": np.exp(self.log_probabilities)}

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """Return the distribution of the count, given the answers with these likelihoods."""
        return weighted_table(0, self.log_probabilities, likelihoods)

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Return simulated counts, shape (runs,)."""
        below = np.cumsum(np.exp(self.log_probabilities))
        levels = generator.random(runs) * below[-1]
        return np.searchsorted(below, levels, side="right").astype(np.float64)

    def given(self, known: int, positives: int) -> Informed:
        """Return the population as seen by an adversary who holds some records.

        P[j others positive] ∝ P[K = positives + j]·C(positives + j, positives)·C(size − positives − j,
        known − positives).
        """
        held, positive = known_records(known, positives, self.size)
        possible = slice(positive, self.size - (held - positive) + 1)
        if self.log_probabilities[possible].max() == -math.inf:
            raise ValueError(f"positives cannot be {positives} of {known}: the table gives that probability 0")
        likelihood = sample_likelihood(positive, held, self.size)
        posterior = weighted_table(0, self.log_probabilities, [likelihood])
        return Informed(Tabulated.of_logs(posterior.log_weights), held, positive)


def _check_table(probabilities: Sequence[float] | Reals) -> Reals:
    """Return the probabilities as an array; raise ValueError if they are negative or do not sum to 1."""
    try:
        table = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("probabilities must be numbers, one for each count: give a list") from None
    if table.ndim != 1 or not 1 <= table.size <= LARGEST_TABLE + 1:
        raise ValueError(f"probabilities must be one row of 1 to 10**8 numbers, got shape {table.shape}")
    total = float(table.sum())
    if not (table >= 0).all() or not abs(total - 1) <= _SUM_TOLERANCE:
        smallest = float(table.min())
        raise ValueError(
            f"probabilities must not be negative and add up to 1, got a smallest of {smallest!r} and a sum of {total!r}"
        )
    return table


def _mean_index(table: Reals) -> Fraction:
    """Return the mean index of a table of weights. Offsets from the largest weight keep the digits of n − mean."""
    centre = int(np.argmax(table))
    offsets = np.arange(table.size, dtype=np.float64) - centre
    high = table.astype(np.float32).astype(np.float64)  # products with offsets are exact
    products = np.concatenate([high * offsets, (table - high) * offsets])
    return centre + _precise_sum(products) / _precise_sum(table)


def _precise_sum(terms: Reals) -> Fraction:
    """Return the sum of the terms with the rounding error of each pairwise addition added back."""
    rounding_error = 0.0
    while terms.size > 1:
        terms = np.append(terms, 0.0) if terms.size % 2 else terms
        first, second = terms[::2], terms[1::2]
        terms = first + second
        moved = terms - first
        rounding_error += float(((first - (terms - moved)) + (second - moved)).sum())
    return Fraction(float(terms[0])) + Fraction(rounding_error)
