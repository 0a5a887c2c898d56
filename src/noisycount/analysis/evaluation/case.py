"""Which counts and answers matter to an average, and the weights that they have.

The averages of the answer as it is, and rounded to a possible count.
"""

import math
from collections.abc import Callable

import numpy as np

from noisycount.analysis.posterior.laplace_cells import Sides, sides_of
from noisycount.analysis.posterior.law import DEPTH, CountTable, bulk_end
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import POINTS, gram_points
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import ErrorLaw, SymmetricNoise
from noisycount.model.populations.population import Population

# An answer beyond all others; in the narrowest scales, and squared, it is a double still.
FAR = 1e100
_WIDEST = 4_000_000  # counts, for which tables take some hundred megabytes


@frozen(eq=False)
class Case:
    """A count, its answer, and what the estimator believes."""

    size: int
    truth: Sides  # the counts of the true law on each side of an answer
    belief: Sides  # those of the law that the estimator believes in; the same object if it is the true
    errors: ErrorLaw
    reach: float  # how far the noise reaches, in records, whole
    # the smallest and the largest answer that matter, whole; for Laplace noise those between which all counts lie,
    # as the estimate is constant beyond
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
    """The case of additive noise."""
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


def believed_table(assumed: Population, mechanism: Mechanism, span: tuple[float, float]) -> CountTable:
    """The counts that any answer of a span makes probable under the assumed law."""
    size = assumed.size
    ends = [assumed.law(mechanism.likelihood(answer, size)) for answer in span]
    firsts, lasts = zip(*(_bulk(law, size) for law in ends), strict=True)
    law = assumed.deep_law()
    if any(not np.isfinite(law.log_pmf(told.mode)) for told in ends):
        raise ValueError(
            f"assumed must not be so far from the population that its probabilities underflow: got {assumed!r}"
        )
    return _table(law, min(firsts), max(lasts))


_LONGEST = 1 << 24  # records of spread, beyond which runs grow no longer


@frozen
class RawAnswer:
    """The answer as the estimate."""

    error: float  # E|Z|, in records
    improvement: float = 0.0  # 0, as the answer is never nearer than itself
    tie: float = 1.0  # 1, as it is always as near


@frozen(eq=False)
class RoundedAnswer:
    """The integer of 0..size that is nearest to the answer."""

    case: Case  # the law of the count and of the noise

    @property
    def error(self) -> float:
        """Σ_{j=1}^{n−k} P[Z >= j − 1/2] + Σ_{j=1}^{k} P[Z <= 1/2 − j], of integers P[Z >= j]."""
        half = (1 - self.case.gap) / 2
        return self._mean(lambda steps: self.case.errors.exceedance(steps + 1 - half), None)

    @property
    def improvement(self) -> float:
        """What is rounded towards the count, or brought back to the end of 0..n.

        Given k it is Σ_{j=0}^{n−k−1} P[j < Z < j + 1/2] + P[Z > n − k], and its mirror image.
        """
        errors, gap = self.case.errors, self.case.gap

        def beyond(distances: Reals) -> Reals:
            return errors.exceedance(distances + gap)

        if gap:
            return self._mean(np.zeros_like, beyond)
        return self._mean(lambda steps: errors.between(steps, np.full(1, 0.5)), beyond)

    @property
    def tie(self) -> float:
        """An answer of 0..n is its own rounding, if the noise is discrete."""
        if not self.case.gap:
            return 0.0
        widths = np.full(1, self.case.size + 1.0)
        return float(self.case.chances @ self.case.errors.between(-self.case.counts, widths))

    def _mean(self, term: Callable[[Reals], Reals], last: Callable[[Reals], Reals] | None) -> float:
        """The mean of Σ_{j=0}^{x−1} term(j) + last(x) over x = k and x = n − k."""
        total = 0.0
        counts, chances = self.case.counts, self.case.chances
        mirrored = (self.case.size - counts)[::-1]
        for distances, likely in ((counts, chances), (mirrored, chances[::-1])):
            first = float(distances[0])
            start = _sum_to(self.case.errors.spread, term, min(first, self.case.reach + 1) - 1)
            rest = np.cumsum(term(distances[:-1]))
            values = start + np.append(0.0, rest)
            total += float(likely @ (values if last is None else values + last(distances)))
        return total


def _sum_to(spread: float, term: Callable[[Reals], Reals], last: float) -> float:
    """Σ term(j) for j = 0..last, in runs over which the noise is smooth, ever longer ones."""
    longest = max(POINTS, int(min(spread, _LONGEST) / 2))
    edges, length = [0.0], POINTS
    while edges[-1] <= last:
        edges.append(min(edges[-1] + length, last + 1))
        length = min(2 * length, longest)
    points, weights = gram_points(np.array(edges))
    return float(term(points) @ weights)
