"""Inputs of an average over counts and answers, and the averages of every estimate except the posterior mean.

The estimates are the answer itself, the answer rounded to a possible count, and the posterior median and mode, which
are step functions of the answer.
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
from noisycount.model.laws.smooth_law import POINTS, gram_sum_rule
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import ErrorLaw, SymmetricNoise
from noisycount.model.populations.population import Population
from noisycount.model.searches import first_true, first_wholes, roots

# Distance in records that exceeds every answer. Divided by the smallest scale and squared, it does not overflow.
FAR = 1e100
_WIDEST = 4_000_000  # largest number of counts of a table; such tables take some hundred megabytes


@frozen(eq=False)
class Case:
    """The distributions of a count and of its noisy answer, and the count distribution that the estimator assumes."""

    size: int  # number of records
    truth: Sides  # counts of the true distribution on each side of an answer
    belief: Sides  # counts of the assumed distribution; the same object as `truth` if nothing else is assumed
    errors: ErrorLaw
    reach: float  # integer number of records: a larger error of the answer has a negligible probability
    # Smallest and largest answer that matter, both integers. For Laplace noise, continuous or discrete, they are the
    # smallest and the largest count of both tables: the posterior distribution is the same for all answers beyond.
    span: tuple[float, float]
    is_smooth: bool  # True if the distributions of the count and, except for a kink at 0, of the noise are smooth

    @property
    def chances(self) -> Reals:
        """Probabilities P[K = k] of the counts of the true table, shape (counts,)."""
        return self.truth.table.chances

    @property
    def counts(self) -> Reals:
        """Counts k of the true table, shape (counts,)."""
        return self.truth.table.counts

    @property
    def inner_integers(self) -> Reals:
        """Integers from the smallest to the largest count of the true and the assumed table."""
        tables = self.truth.table, self.belief.table
        first, last = min(t.first for t in tables), max(t.last for t in tables)
        return np.arange(first, last + 1, dtype=np.float64)

    @property
    def density_scale(self) -> float:
        """Factor that turns the weights of `truth` into joint densities, or probabilities, of count and answer.

        The weights contain the noise density only up to a constant.
        """
        return self.errors.peak * math.exp(-float(self.errors.log_density(np.zeros(1))[0]))

    @property
    def gap(self) -> float:
        """Distance from an answer to the next larger possible one, in records; 0 if the noise is continuous."""
        return 1.0 if self.errors.is_discrete else 0.0

    def chances_between(self, counts: Reals, starts: Reals, stops: Reals) -> Reals:
        """Return P[start <= Y < stop | K = count], or 0 if start >= stop. The arrays are broadcast."""
        counts, starts, stops = np.broadcast_arrays(counts, starts, stops)
        is_run = starts < stops
        ends = (np.clip(values[is_run] - counts[is_run], -FAR, FAR) for values in (starts, stops))
        upper, lower = map(self.errors.exceedance, ends)
        chances = np.zeros(is_run.shape)
        chances[is_run] = np.maximum(upper - lower, 0)
        return chances


def case_of(population: Population, noise: SymmetricNoise, assumed: Population | None) -> Case:
    """Return the case of additive noise. Without an assumed population, the estimator knows the true one."""
    reach = float(math.ceil(noise.error_with_tail(-DEPTH)))
    errors = noise.errors.tabulated(reach)
    table = table_of(population.law(), population.size)
    span = (table.first - reach, table.last + reach)
    believed = table if assumed is None else assumed_table(assumed, noise, span)
    if errors.is_geometric:
        span = (float(min(table.first, believed.first)), float(max(table.last, believed.last)))
    is_smooth = errors.spread >= 1
    is_smooth &= population.smooth_prior is not None and (assumed is None or assumed.smooth_prior is not None)
    truth = sides_of(table, errors, span)
    belief = truth if assumed is None else sides_of(believed, errors, span)
    return Case(population.size, truth, belief, errors, reach, span, is_smooth)


def table_of(law: CountDistribution, size: int) -> CountTable:
    """Return the table of the counts whose probability is above e^−80 of the largest one."""
    return _table_of_range(law, *_bulk_of_counts(law, size))


def _bulk_of_counts(law: CountDistribution, size: int) -> tuple[int, int]:
    """Return the first and the last count with a probability above e^−min(80, law.depth) of the largest one."""
    depth = min(DEPTH, law.depth)
    return bulk_end(law, depth, 0), bulk_end(law, depth, size)


def _table_of_range(law: CountDistribution, first: int, last: int) -> CountTable:
    """Return the table of the counts first..last. Raise ValueError if there are more than `_WIDEST`."""
    if last - first >= _WIDEST:
        raise ValueError(
            f"population must leave at most {_WIDEST:,} counts to sum, got {last - first + 1:,}: "
            "take a smaller size, or simulate"
        )
    return CountTable.between(law, first, last)


def assumed_table(assumed: Population, mechanism: Mechanism, span: tuple[float, float]) -> CountTable:
    """Return the assumed distribution at all counts that are probable given some answer in `span`."""
    size = assumed.size
    ends = [assumed.law(mechanism.likelihood(answer, size)) for answer in span]
    firsts, lasts = zip(*(_bulk_of_counts(law, size) for law in ends), strict=True)
    law = assumed.deep_prior()
    if any(not np.isfinite(law.log_pmf(likely_given_answers.mode)) for likely_given_answers in ends):
        raise ValueError(
            f"assumed must not be so far from the population that its probabilities underflow: got {assumed!r}"
        )
    return _table_of_range(law, min(firsts), max(lasts))


_LONGEST = 1 << 24  # records of spread: a run of a sum has at most half as many integers


@frozen
class RawAnswer:
    """The answer itself as the estimate."""

    error: float  # E|Z| of the noise Z, in records
    improvement: float = 0.0  # 0: the answer is never closer to the count than itself
    tie: float = 1.0  # 1: the answer is always as close to the count as itself


@frozen(eq=False)
class RoundedAnswer:
    """The integer of 0..n that is nearest to the answer, as the estimate.

    In the formulas n is the number of records, k the count, and Z the noise.
    """

    case: Case

    @property
    def error(self) -> float:
        """Mean over k of Σ_{j=1}^{n−k} P[Z >= j − 1/2] + Σ_{j=1}^{k} P[Z <= 1/2 − j] with noise Z.

        Here n is the number of records and k the count. If the noise is discrete, the terms are P[Z >= j] and P[Z <=
        −j].
        """
        half = (1 - self.case.gap) / 2
        return self._mean_over_counts(lambda steps: self.case.errors.exceedance(steps + 1 - half), None)

    @property
    def improvement(self) -> float:
        """Probability that rounding moves the answer towards the count, or back to an end of 0..n.

        Given k it is Σ_{j=0}^{n−k−1} P[j < Z < j + 1/2] + P[Z > n − k], and its mirror image. If the noise is discrete,
        the sum is 0.
        """
        errors, gap = self.case.errors, self.case.gap

        def tail_probability(distances: Reals) -> Reals:
            return errors.exceedance(distances + gap)

        if gap:
            return self._mean_over_counts(np.zeros_like, tail_probability)
        return self._mean_over_counts(lambda steps: errors.between(steps, np.full(1, 0.5)), tail_probability)

    @property
    def tie(self) -> float:
        """Probability that rounding does not change the answer: that it lies in 0..n; 0 if the noise is continuous."""
        if not self.case.gap:
            return 0.0
        widths = np.full(1, self.case.size + 1.0)
        return float(self.case.chances @ self.case.errors.between(-self.case.counts, widths))

    def _mean_over_counts(self, term: Callable[[Reals], Reals], last: Callable[[Reals], Reals] | None) -> float:
        """Return the mean of Σ_{j=0}^{x−1} term(j) + last(x), summed over x = k and x = n − k; None: last(x) is 0.

        It is a mean over the count k of n records.
        """
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
    """Return Σ term(j) for j = 0..last, by quadrature over runs of integers that grow up to half the noise's spread."""
    longest = max(POINTS, int(min(spread, _LONGEST) / 2))
    edges, length = [0.0], POINTS
    while edges[-1] <= last:
        edges.append(min(edges[-1] + length, last + 1))
        length = min(2 * length, longest)
    points, weights = gram_sum_rule(np.array(edges))
    return float(term(points) @ weights)


_TIE = 1e-13  # absolute tolerance of a probability, above the rounding error of a sum of weights
_ENTRIES = 1 << 19  # terms in memory at once: 4 MB
_ROWS = 64  # largest number of counts that are averaged at once


@frozen(eq=False)
class WholeEstimate:
    """An estimate that is an integer and a rising step function of the answer."""

    case: Case
    values: Reals  # the estimates, in rising order, shape (steps,)
    starts: Reals  # the smallest answer of each value except the first, shape (steps − 1,)

    @property
    def error(self) -> float:
        """Mean absolute error E|K − estimate|."""
        return (
            self._geometric_error
            if self.case.errors.is_geometric
            else self._mean_over_counts(WholeEstimate._errors_at_counts)
        )

    @property
    def _geometric_error(self) -> float:
        """E|K − estimate| under Laplace noise, continuous or discrete: Σ_m P[K <= m, Y >= s] + P[K > m, Y < s].

        The estimate exceeds m if the answer Y is at least s. As the noise Z has P[Z >= z] = P[Z >= 0]·e^(−z/scale) for
        z >= 0, one of the two sums is looked up in the sums on one side of s. The other sum follows from P[Z < z] = 1 −
        P[Z >= z].
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
        """Probability P[|K − estimate| < |K − Y|]."""
        return self._mean_over_counts(WholeEstimate._improvement_given_counts)

    @property
    def tie(self) -> float:
        """Probability P[|K − estimate| = |K − Y|]."""
        return self._mean_over_counts(WholeEstimate._tie_given_counts)

    def _mean_over_counts(self, metric: Callable[["WholeEstimate", Reals], Reals]) -> float:
        """Return the mean over the counts of a metric, which takes counts of shape (counts, 1)."""
        return sum(
            float(self.case.chances[rows] @ metric(near, self.case.counts[rows, None]))
            for rows, near in self._steps_near_counts()
        )

    def _steps_near_counts(self) -> Iterator[tuple[slice, "WholeEstimate"]]:
        """Yield slices of the counts, each with those steps whose answers the noise can reach from its counts."""
        counts, reach = self.case.counts, self.case.reach
        row = 0
        while row < counts.size:
            widest = self._steps_between(counts[row] - reach, counts[row] + reach + _ROWS)
            stop = min(counts.size, row + max(1, min(_ROWS, _ENTRIES // widest.values.size)))
            yield slice(row, stop), self._steps_between(counts[row] - reach, counts[stop - 1] + reach)
            row = stop

    def _steps_between(self, low: float, high: float) -> "WholeEstimate":
        """Return the steps for answers from low to high."""
        first = int(np.searchsorted(self.starts, low))
        last = max(first, int(np.searchsorted(self.starts, high, side="right")))
        return WholeEstimate(self.case, self.values[first : last + 1], self.starts[first:last])

    @property
    def _answer_ranges(self) -> tuple[Reals, Reals]:
        """Start and end of the answers of each value, shape (steps,) each; −FAR and FAR at the two ends."""
        return np.append(-FAR, self.starts), np.append(self.starts, FAR)

    def _errors_at_counts(self, counts: Reals) -> Reals:
        """Return E|K − estimate| given each count k.

        It is ∫ P[estimate <= t] dt over t < k plus ∫ P[estimate > t] dt over t > k.
        """
        exceedance = self.case.errors.exceedance
        rises = np.diff(self.values)
        too_low = np.clip(counts - self.values[:-1], 0, rises)
        too_high = np.clip(self.values[1:] - counts, 0, rises)
        errors = too_low * exceedance(counts - self.starts + self.case.gap)
        errors += too_high * exceedance(self.starts - counts)
        beyond = np.maximum(counts - self.values[-1], 0) + np.maximum(self.values[0] - counts, 0)
        return errors.sum(axis=1) + beyond[:, 0]

    def _improvement_given_counts(self, counts: Reals) -> Reals:
        """Return P[|K − estimate| < |K − Y|] given each count.

        If the estimate e is below the answer Y, the condition is K < (e + Y)/2; if it is above, K > (e + Y)/2.
        """
        starts, stops = self._answer_ranges
        farther = self.values + 2 * np.maximum(counts - self.values, 0) + self.case.gap
        nearer = self.values + 2 * np.minimum(counts - self.values, 0)
        chances = self.case.chances_between(counts, np.maximum(starts, farther), stops)
        chances += self.case.chances_between(counts, starts, np.minimum(stops, nearer))
        return chances.sum(axis=1)

    def _tie_given_counts(self, counts: Reals) -> Reals:
        """Return P[|K − estimate| = |K − Y|] given each count k.

        Then the answer is the estimate e or its mirror image 2k − e, which is counted only if it differs from e.
        """
        errors = self.case.errors
        chances = np.zeros((counts.size, self.values.size))
        if errors.is_discrete:
            starts, stops = self._answer_ranges
            mirrored = 2 * counts - self.values
            for answers, differ in ((self.values + 0 * counts, True), (mirrored, mirrored != counts)):
                within = (starts <= answers) & (answers < stops) & differ
                chances += np.where(within, errors.between(answers - counts, np.ones(1)), 0.0)
        return chances.sum(axis=1)


def median_estimate(case: Case) -> WholeEstimate:
    """Return the posterior median: it exceeds m at answers y with P[K > m | Y = y] > 1/2."""

    def excess(answers: Reals, counts: Reals) -> Reals:
        return case.belief.share_above(answers, counts) - 0.5 - _TIE

    return _step_estimate(case, excess)


def mode_estimate(case: Case) -> WholeEstimate:
    """Return the smallest posterior mode. It exceeds m at the answers for which a count above m is the smallest mode.

    If the assumed distribution is log-concave, that is so if m + 1 has a larger weight than m.
    """
    table, errors = case.belief.table, case.errors
    if not _is_log_concave(table.logs):
        return _step_estimate(case, lambda answers, counts: _sign_above(table, errors, answers, counts))
    rises = np.diff(table.logs)

    def excess(answers: Reals, counts: Reals) -> Reals:
        gain = errors.log_density(answers - counts - 1) - errors.log_density(answers - counts)
        return gain + rises[(counts - table.first).astype(np.int64)] - LOG_TIE

    return _step_estimate(case, excess)


_STRIDE = 32  # the answers of every 32nd count are searched in the whole span, those of the others between them


def _step_estimate(case: Case, excess: Callable[[Reals, Reals], Reals]) -> WholeEstimate:
    """Return the estimate that exceeds m at answers y with excess(y, m) > 0. `excess` rises with y and falls with m."""
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

    # The answers rise with the counts: the answers of every 32nd count, with a margin for rounding, bracket the others.
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
    """Return True if the first differences of the logarithms never grow, up to rounding; False if one is infinite."""
    if not np.isfinite(logs).all():
        return False
    return bool((np.diff(logs, 2) <= LOG_TIE * (1 + np.abs(logs[1:-1]))).all())


def _sign_above(table: CountTable, errors: ErrorLaw, answers: Reals, counts: Reals) -> Reals:
    """Return 1 if the smallest posterior mode of an answer exceeds the count, else −1."""
    modes = np.empty(answers.shape)
    step = max(1, _ENTRIES // table.logs.size)
    for begin in range(0, answers.size, step):
        some = answers[begin : begin + step, None]
        logs = table.logs + errors.log_density(some - table.counts)
        tied = logs >= logs.max(axis=1, keepdims=True) - LOG_TIE
        modes[begin : begin + step] = table.first + tied.argmax(axis=1)
    return np.where(modes > counts, 1.0, -1.0)
