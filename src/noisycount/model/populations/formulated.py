"""Records that can be exchanged, with a formula for the law of their count."""

from abc import abstractmethod
from fractions import Fraction
from functools import lru_cache

import numpy as np

from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.factor import Factor
from noisycount.model.populations.exchangeable import Exchangeable
from noisycount.model.populations.informed import Informed
from noisycount.model.populations.moments import Moments
from noisycount.model.populations.tabulated import LARGEST_TABLE, Tabulated

__all__ = ["Formulated"]

_SUM_TOLERANCE = 1e-9  # beyond what logarithms of a million probabilities lose: a wrong formula


class Formulated(Exchangeable):
    """Records that can be exchanged, of which a new kind states its size and its law.

    Everything else comes from a table of that law: posteriors, privacy curves, evaluations, losses.
    A subclass is a frozen dataclass, as the tables of equal ones are shared.
    """

    __slots__ = ()

    @abstractmethod
    def log_pmf(self, counts: Reals) -> Reals:
        """The logarithm of P[K = k] for whole k in 0..size, shape as given, −inf for 0."""

    @property
    def table(self) -> Tabulated:
        """The same law as a table.

        Raises:
            ValueError: If there are more than 10^8 records, or the probabilities do not add up to
                1 within 1e-9.
        """
        return _table(self)

    @property
    def has_chances(self) -> bool:
        """As the table has them."""
        return True

    def log_chances(self, first: int, last: int) -> Reals:
        """A part of the table."""
        return self.table.log_chances(first, last)

    @property
    def expected_positives(self) -> Fraction:
        """E[K], summed from the most likely count."""
        return self.table.expected_positives

    @property
    def moments(self) -> Moments:
        """The means of the count and of its pairs of unlike records."""
        return self.table.moments

    def law(self, *likelihoods: Factor) -> CountDistribution:
        """The law of the count, given the answers whose likelihoods these are."""
        return self.table.law(*likelihoods)

    def draws(self, runs: int, generator: np.random.Generator) -> Reals:
        """Counts drawn for a simulation, shape (runs,)."""
        return self.table.draws(runs, generator)

    def given(self, known: int, positives: int) -> Informed:
        """What somebody knows who holds some records."""
        return self.table.given(known, positives)


@lru_cache(maxsize=2)  # that of a truth and that of an assumption: a large one takes 0.8 GB
def _table(population: Formulated) -> Tabulated:
    """The table of a formula, checked."""
    name, size = type(population).__name__, population.size
    if size > LARGEST_TABLE:
        raise ValueError(f"size must be at most 10**8 for {name}, got {size!r}")
    logs = np.asarray(population.log_pmf(np.arange(size + 1, dtype=np.float64)), dtype=np.float64)
    total = float(np.exp(logs).sum()) if logs.shape == (size + 1,) else np.nan
    if not abs(total - 1) <= _SUM_TOLERANCE:
        raise ValueError(
            f"population must have one probability for each count 0..size that add up to 1, got "
            f"{logs.shape} of the sum {total!r} from {name}.log_pmf"
        )
    return Tabulated.of_logs(logs)
