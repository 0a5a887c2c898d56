"""Records that can be exchanged, with a table of the law of their count."""

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

# The most records whose counts are kept one by one: a table of them takes 0.8 GB.
LARGEST_TABLE = 10**8
_SUM_TOLERANCE = 1e-9  # what rounding to ten digits leaves of a sum; beyond it is a mistake


@frozen(init=False, eq=False, repr=False)
class Tabulated(Exchangeable):
    """Records that can be exchanged, with any law of the count.

    Args:
        probabilities: P[K = k] for k = 0..size, not negative, with sum 1 within 1e-9 (they are divided by their sum);
            shape (size + 1,).

    Raises:
        ValueError: If the probabilities are not such numbers.

    Source: Breutigam and Reischuk, section 3, for databases that can be exchanged.

    Example:
        >>> import noisycount as nc
        >>> nc.Tabulated([0.25, 0.5, 0.25]).law().mean
        1.0
    """

    log_probabilities: Reals = field()
    _mean: Fraction = field(repr=False)

    def __init__(self, probabilities: Sequence[float] | Reals) -> None:
        table = _checked_table(probabilities)
        with np.errstate(divide="ignore"):
            logs = np.log(table / float(table.sum()))
        object.__setattr__(self, "log_probabilities", logs)
        object.__setattr__(self, "_mean", _mean_of(table))

    @classmethod
    def of_logs(cls, log_weights: Reals) -> Self:
        """The population whose law is proportional to e^log_weights, which are not all −inf."""
        population = object.__new__(cls)
        relative = log_weights - log_weights.max()
        weights = np.exp(relative)
        logs = relative - math.log(float(weights.sum()))
        object.__setattr__(population, "log_probabilities", logs)
        object.__setattr__(population, "_mean", _mean_of(weights))
        return population

    @property
    def size(self) -> int:
        """The number of records."""
        return self.log_probabilities.size - 1

    @property
    def has_chances(self) -> bool:
        """It does: they are kept."""
        return True

    def log_chances(self, first: int, last: int) -> Reals:
        """A part of the table, with first >= 0 and last <= size."""
        return self.log_probabilities[first : last + 1]

    @property
    def expected_positives(self) -> Fraction:
        """E[K], to twice the digits of a float."""
        return self._mean

    @property
    def moments(self) -> Moments:
        """The means of the count and of its pairs of unlike records."""
        return Moments.of_table(np.exp(self.log_probabilities))

    def _facts(self) -> dict[str, object]:
        return {"size": self.size, "probabilities": np.exp(self.log_probabilities)}

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are."""
        return weighted_table(0, self.log_probabilities, likelihoods)

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Counts drawn for a simulation, shape (runs,)."""
        below = np.cumsum(np.exp(self.log_probabilities))
        levels = generator.random(runs) * below[-1]
        return np.searchsorted(below, levels, side="right").astype(np.float64)

    def given(self, known: int, positives: int) -> Informed:
        """What somebody knows who holds some records.

        P[j others positive] ∝ P[K = positives + j]·C(positives + j, positives)·C(size − positives − j,
        known − positives).
        """
        held, positive = known_records(known, positives, self.size)
        possible = slice(positive, self.size - (held - positive) + 1)
        if self.log_probabilities[possible].max() == -math.inf:
            raise ValueError(f"positives cannot be {positives} of {known}: the table gives that probability 0")
        seen = sample_likelihood(positive, held, self.size)
        told = weighted_table(0, self.log_probabilities, [seen])
        return Informed(Tabulated.of_logs(told.log_weights), held, positive)


def _checked_table(probabilities: Sequence[float] | Reals) -> Reals:
    """A table of probabilities, whose sum may be a little off 1."""
    try:
        table = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("probabilities must be numbers, one a count: give a list") from None
    if table.ndim != 1 or not 1 <= table.size <= LARGEST_TABLE + 1:
        raise ValueError(f"probabilities must be one row of 1 to 10**8 numbers, got shape {table.shape}")
    total = float(table.sum())
    if not (table >= 0).all() or not abs(total - 1) <= _SUM_TOLERANCE:
        smallest = float(table.min())
        raise ValueError(
            f"probabilities must not be negative and add up to 1, got a smallest of {smallest!r} and a sum of {total!r}"
        )
    return table


def _mean_of(table: Reals) -> Fraction:
    """The mean place in a table of weights, from the largest one: n less it keeps its digits."""
    centre = int(np.argmax(table))
    offsets = np.arange(table.size, dtype=np.float64) - centre
    high = table.astype(np.float32).astype(np.float64)  # products with offsets are exact
    products = np.concatenate([high * offsets, (table - high) * offsets])
    return centre + _precise_sum(products) / _precise_sum(table)


def _precise_sum(terms: Reals) -> Fraction:
    """The sum with what rounding loses of each pair."""
    lost = 0.0
    while terms.size > 1:
        terms = np.append(terms, 0.0) if terms.size % 2 else terms
        first, second = terms[::2], terms[1::2]
        terms = first + second
        moved = terms - first
        lost += float(((first - (terms - moved)) + (second - moved)).sum())
    return Fraction(float(terms[0])) + Fraction(lost)
