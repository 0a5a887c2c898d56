"""Which counts and answers matter to an average, and the weights that they have."""

import math
from dataclasses import dataclass

import numpy as np

from noisycount.analysis.posterior.count_table import DEPTH, CountTable, bulk_end
from noisycount.analysis.posterior.sides import Sides, sides_of
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.expansion import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.error.law import ErrorLaw
from noisycount.model.populations.population import Population

__all__ = ["FAR", "Case", "believed_table", "case_of", "table_of"]

FAR = 1e100
"""An answer beyond all others; in the narrowest scales, and squared, it is a double still."""

_WIDEST = 4_000_000  # counts, for which tables take some hundred megabytes


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A count, its answer, and what the estimator believes.

    Attributes:
        size: The number of records.
        truth: The counts of the true law on each side of an answer.
        belief: Those of the law that the estimator believes in; the same object if it is the true.
        errors: The law of the noise.
        reach: How far the noise reaches, in records, whole.
        span: The smallest and the largest answer that matter, whole; for Laplace noise those
            between which all counts lie, as the estimate is constant beyond.
    """

    size: int
    truth: Sides
    belief: Sides
    errors: ErrorLaw
    reach: float
    span: tuple[float, float]

    @property
    def chances(self) -> Reals:
        """P[K = k] for the counts of the table."""
        return self.truth.table.chances

    @property
    def counts(self) -> Reals:
        """The counts of the table."""
        return self.truth.table.counts

    @property
    def inner_integers(self) -> Reals:
        """The integers between which all counts lie that are true or believed in."""
        tables = self.truth.table, self.belief.table
        first, last = min(t.first for t in tables), max(t.last for t in tables)
        return np.arange(first, last + 1, dtype=np.float64)

    @property
    def density_scale(self) -> float:
        """What makes the weights of the truth a density of answers."""
        return self.errors.peak * math.exp(-float(self.errors.log_density(np.zeros(1))[0]))

    @property
    def gap(self) -> float:
        """The distance from an answer to the next larger one, in records; 0 if there is none."""
        return 1.0 if self.errors.is_discrete else 0.0

    def chances_between(self, counts: Reals, starts: Reals, stops: Reals) -> Reals:
        """P[start <= Y < stop | K = count], 0 where they are not in order."""
        upper = self.errors.exceedance(np.clip(starts - counts, -FAR, FAR))
        return np.maximum(upper - self.errors.exceedance(np.clip(stops - counts, -FAR, FAR)), 0)


def case_of(population: Population, noise: SymmetricNoise, assumed: Population | None) -> Case:
    """The case of additive noise.

    Raises:
        ValueError: If a law is too wide to be summed count by count, or the assumed one too far off
            for its digits.
    """
    reach = float(math.ceil(noise.error_with_tail(-DEPTH)))
    errors = noise.errors.tabulated(reach)
    table = table_of(population.law(), population.size)
    span = (table.first - reach, table.last + reach)
    believed = table if assumed is None else believed_table(assumed, noise, span)
    if errors.is_geometric:
        span = (
            float(min(table.first, believed.first)),
            float(max(table.last, believed.last)),
        )
    truth = sides_of(table, errors, span)
    belief = truth if assumed is None else sides_of(believed, errors, span)
    return Case(population.size, truth, belief, errors, reach, span)


def table_of(law: CountDistribution, size: int) -> CountTable:
    """The counts within e^80 of the most probable one."""
    return _table(law, *_bulk(law, size))


def _bulk(law: CountDistribution, size: int) -> tuple[int, int]:
    """The first and the last of these counts."""
    depth = min(DEPTH, law.depth)
    return bulk_end(law, depth, 0), bulk_end(law, depth, size)


def _table(law: CountDistribution, first: int, last: int) -> CountTable:
    """The counts first..last of a law."""
    if last - first >= _WIDEST:
        raise ValueError(
            f"population must leave at most {_WIDEST:,} counts to sum, got {last - first + 1:,}: "
            "take a smaller size, or simulate"
        )
    return CountTable.between(law, first, last)


def believed_table(
    assumed: Population, mechanism: Mechanism, span: tuple[float, float]
) -> CountTable:
    """The counts that any answer of a span makes probable under the assumed law."""
    size = assumed.size
    ends = [assumed.law(mechanism.likelihood(answer, size)) for answer in span]
    firsts, lasts = zip(*(_bulk(law, size) for law in ends), strict=True)
    law = assumed.deep_law()
    if any(not np.isfinite(law.log_pmf(told.mode)) for told in ends):
        raise ValueError(
            "assumed must not be so far from the population that its probabilities underflow: "
            f"got {assumed!r}"
        )
    return _table(law, min(firsts), max(lasts))
