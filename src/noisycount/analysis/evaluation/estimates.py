"""Which counts and answers matter to an average, and the averages of all estimates that are no means.

Those of the answer as it is, and rounded to a possible count; of the posterior median and mode, which
rise with the answer in steps.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from noisycount.analysis.posterior.cell_sides import Sides, sides_of
from noisycount.analysis.posterior.law import DEPTH, CountTable, bulk_end
from noisycount.frozen import frozen
from noisycount.model.laws.count_law import CountDistribution
from noisycount.model.laws.factors import LOG_TIE
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.smooth_law import POINTS, gram_points
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import ErrorLaw, SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.model.searches import first_true, first_wholes, roots

# An answer beyond all others; in the narrowest scales, and squared, it is a double still.
FAR = 1e100
MANY = 2000  # integers that a posterior mean passes, from which on runs of them take fewer values
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
    is_smooth: bool  # True if the distributions of the count and, except for a kink at 0, of the noise are smooth

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
        counts, starts, stops = np.broadcast_arrays(counts, starts, stops)
        is_run = starts < stops
        ends = (np.clip(values[is_run] - counts[is_run], -FAR, FAR) for values in (starts, stops))
        upper, lower = map(self.errors.exceedance, ends)
        chances = np.zeros(is_run.shape)
        chances[is_run] = np.maximum(upper - lower, 0)
        return chances


def case_of(population: Population, noise: SymmetricNoise, assumed: Population | None) -> Case:
    """The case of additive noise."""
    reach = float(math.ceil(noise.error_with_tail(-DEPTH)))
    errors = noise.errors.tabulated(reach)
    table = table_of(population.law(), population.size)
    span = (table.first - reach, table.last + reach)
    believed = table if assumed is None else believed_table(assumed, noise, span)
    if errors.is_geometric:
        span = (float(min(table.first, believed.first)), float(max(table.last, believed.last)))
    is_smooth = errors.spread >= 1
    is_smooth &= population.smooth_prior is not None and (assumed is None or assumed.smooth_prior is not None)
    is_sparse = is_smooth and believed.logs.size > MANY
    truth = sides_of(table, errors, span, is_sparse=is_sparse)
    belief = truth if assumed is None else sides_of(believed, errors, span, is_sparse=is_sparse)
    return Case(population.size, truth, belief, errors, reach, span, is_smooth)


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


_TIE = 1e-13  # of a probability: what rounding moves a sum of weights, and more
_ENTRIES = 1 << 19  # terms held at once: 4 MB
_ROWS = 64  # counts that are averaged at once


@frozen(eq=False)
class WholeEstimate:
    """An estimate that is a whole number."""

    case: Case  # the count and its answer
    values: Reals  # the estimates, in rising order, shape (steps,)
    starts: Reals  # the answers from which on each of them but the first holds, shape (steps − 1,)

    @property
    def error(self) -> float:
        """E|K − estimate|."""
        return self._geometric_error if self.case.errors.is_geometric else self._mean(WholeEstimate._errors)

    @property
    def _geometric_error(self) -> float:
        """Σ_m P[K <= m, Y >= s] + P[K > m, Y < s], where s is the answer from which on the estimate exceeds m.

        P[Z >= z] is P[Z >= 0]·e^(−z/scale) for z >= 0, so that a side is a look-up; the other follows from P[Z < z].
        """
        case, starts, thresholds = self.case, self.starts, self.values[:-1]
        inner = np.ceil(starts) - 1  # the last count below s
        scale = float(case.errors.exceedance(np.zeros(1))[0])
        lower = [np.exp(case.truth.lower(starts, edges).logs) for edges in (np.minimum(inner, thresholds), inner)]
        edges = np.maximum(inner, thresholds) + 1, inner + 1
        upper = [np.exp(case.truth.upper(starts, each).logs) for each in edges]
        total = scale * float((2 * lower[0] - lower[1]).sum())
        total += scale * math.exp(-case.gap / case.errors.spread) * float((2 * upper[0] - upper[1]).sum())
        up_to = np.append(0.0, np.cumsum(case.chances))
        first, last = case.truth.table.first, case.truth.table.last
        places = [(np.clip(ends, first - 1, last) - (first - 1)).astype(np.int64) for ends in (inner, thresholds)]
        total += float(np.abs(up_to[places[0]] - up_to[places[1]]).sum())
        beyond = np.maximum(self.values[0] - case.counts, 0) + np.maximum(case.counts - self.values[-1], 0)
        return total + float(case.chances @ beyond)

    @property
    def improvement(self) -> float:
        """P[|K − estimate| < |K − Y|]."""
        return self._mean(WholeEstimate._improvements)

    @property
    def tie(self) -> float:
        """P[|K − estimate| = |K − Y|]."""
        return self._mean(WholeEstimate._ties)

    def _mean(self, metric: Callable[["WholeEstimate", Reals], Reals]) -> float:
        """The mean of a metric over the counts, given in columns."""
        return sum(
            float(self.case.chances[rows] @ metric(near, self.case.counts[rows, None])) for rows, near in self._parts()
        )

    def _parts(self) -> Iterator[tuple[slice, "WholeEstimate"]]:
        """Runs of counts, each with the steps that the noise reaches from them."""
        counts, reach = self.case.counts, self.case.reach
        row = 0
        while row < counts.size:
            widest = self._near(counts[row] - reach, counts[row] + reach + _ROWS)
            stop = min(counts.size, row + max(1, min(_ROWS, _ENTRIES // widest.values.size)))
            yield slice(row, stop), self._near(counts[row] - reach, counts[stop - 1] + reach)
            row = stop

    def _near(self, low: float, high: float) -> "WholeEstimate":
        """The steps for answers from low to high."""
        first = int(np.searchsorted(self.starts, low))
        last = max(first, int(np.searchsorted(self.starts, high, side="right")))
        return WholeEstimate(self.case, self.values[first : last + 1], self.starts[first:last])

    @property
    def _ranges(self) -> tuple[Reals, Reals]:
        """The answers from which, and those up to which, each value holds."""
        return np.append(-FAR, self.starts), np.append(self.starts, FAR)

    def _errors(self, counts: Reals) -> Reals:
        """E|K − estimate| given each count.

        It is ∫ P[estimate <= t] dt below the count and ∫ P[estimate > t] dt above it.
        """
        exceedance = self.case.errors.exceedance
        rises = np.diff(self.values)
        too_low = np.clip(counts - self.values[:-1], 0, rises)
        too_high = np.clip(self.values[1:] - counts, 0, rises)
        errors = too_low * exceedance(counts - self.starts + self.case.gap)
        errors += too_high * exceedance(self.starts - counts)
        beyond = np.maximum(counts - self.values[-1], 0) + np.maximum(self.values[0] - counts, 0)
        return errors.sum(axis=1) + beyond[:, 0]

    def _improvements(self, counts: Reals) -> Reals:
        """P[|K − estimate| < |K − Y|] given each count.

        Where the estimate e lies below the answer, that is K < (e + Y)/2; where above, K > it.
        """
        starts, stops = self._ranges
        farther = self.values + 2 * np.maximum(counts - self.values, 0) + self.case.gap
        nearer = self.values + 2 * np.minimum(counts - self.values, 0)
        chances = self.case.chances_between(counts, np.maximum(starts, farther), stops)
        chances += self.case.chances_between(counts, starts, np.minimum(stops, nearer))
        return chances.sum(axis=1)

    def _ties(self, counts: Reals) -> Reals:
        """P[|K − estimate| = |K − Y|] given each count: the answer is the estimate, or its mirror.

        The mirror image of the estimate at the count, where it is another number.
        """
        errors = self.case.errors
        chances = np.zeros((counts.size, self.values.size))
        if errors.is_discrete:
            starts, stops = self._ranges
            mirrored = 2 * counts - self.values
            for answers, differ in ((self.values + 0 * counts, True), (mirrored, mirrored != counts)):
                within = (starts <= answers) & (answers < stops) & differ
                chances += np.where(within, errors.between(answers - counts, np.ones(1)), 0.0)
        return chances.sum(axis=1)


def median_estimate(case: Case) -> WholeEstimate:
    """The posterior median: it exceeds m where P[K > m | Y = y] > 1/2."""

    def excess(answers: Reals, counts: Reals) -> Reals:
        return case.belief.share_above(answers, counts) - 0.5 - _TIE

    return _estimate(case, excess)


def mode_estimate(case: Case) -> WholeEstimate:
    """The posterior mode: it exceeds m where a larger count has the largest weight."""
    table, errors = case.belief.table, case.errors
    if not _is_log_concave(table.logs):
        return _estimate(case, lambda answers, counts: _sign_above(table, errors, answers, counts))
    rises = np.diff(table.logs)

    def excess(answers: Reals, counts: Reals) -> Reals:
        gain = errors.log_density(answers - counts - 1) - errors.log_density(answers - counts)
        return gain + rises[(counts - table.first).astype(np.int64)] - LOG_TIE

    return _estimate(case, excess)


_STRIDE = 32  # counts between two whose answers are sought in the whole span


def _estimate(case: Case, excess: Callable[[Reals, Reals], Reals]) -> WholeEstimate:
    """The estimate that exceeds a count m where excess(answer, m) is positive."""
    table = case.belief.table
    low, high = case.span

    def first_kept(end: float) -> int:
        return first_true(lambda count: excess(np.full(1, end), np.full(1, float(count)))[0] <= 0, *ends)

    ends = table.first, table.last
    passed = [first_kept(end) for end in case.span]
    values = np.arange(passed[0], passed[1] + 1, dtype=np.float64)
    counts = values[:-1]

    def passes(some: Reals, lows: Reals, highs: Reals) -> Reals:
        if case.errors.is_discrete:
            return first_wholes(lambda answers: excess(answers, some) > 0, lows, highs)
        return roots(lambda answers: excess(answers, some), lows, highs)

    # The answers rise with the counts: those of some counts, with a margin for rounding, bracket those between.
    coarse = counts[::_STRIDE]
    bounds = passes(coarse, np.full(coarse.shape, low), np.full(coarse.shape, high))
    places = np.arange(counts.size) // _STRIDE
    lows = np.maximum(np.floor(bounds[places]) - 1, low)
    highs = np.minimum(np.ceil(np.append(bounds, high)[places + 1]) + 1, high)
    if not case.errors.is_discrete or not counts.size:
        starts = passes(counts, lows, highs)
    else:
        starts = np.round(np.interp(counts, coarse, bounds))
        is_wrong = (excess(starts, counts) <= 0) | ((starts > low) & (excess(starts - 1, counts) > 0))
        starts[is_wrong] = passes(counts[is_wrong], lows[is_wrong], highs[is_wrong])
    return WholeEstimate(case, values, np.maximum.accumulate(starts) if starts.size else starts)


def _is_log_concave(logs: Reals) -> bool:
    """Whether the steps of the logarithms never grow, but for rounding."""
    if not np.isfinite(logs).all():
        return False
    return bool((np.diff(logs, 2) <= LOG_TIE * (1 + np.abs(logs[1:-1]))).all())


def _sign_above(table: CountTable, errors: ErrorLaw, answers: Reals, counts: Reals) -> Reals:
    """1 where the smallest mode exceeds the count, else −1."""
    modes = np.empty(answers.shape)
    step = max(1, _ENTRIES // table.logs.size)
    for begin in range(0, answers.size, step):
        some = answers[begin : begin + step, None]
        logs = table.logs + errors.log_density(some - table.counts)
        tied = logs >= logs.max(axis=1, keepdims=True) - LOG_TIE
        modes[begin : begin + step] = table.first + tied.argmax(axis=1)
    return np.where(modes > counts, 1.0, -1.0)
