"""The posterior median and mode: whole numbers that rise with the answer in steps."""

from collections.abc import Callable, Iterator

import numpy as np

from noisycount.analysis.evaluation.case import FAR, Case
from noisycount.analysis.posterior.laplace_cells import mean_of
from noisycount.analysis.posterior.law import CountTable
from noisycount.frozen import frozen
from noisycount.model.laws.factors import LOG_TIE
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import ErrorLaw
from noisycount.model.searches import first_wholes, roots

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
        return self._mean(WholeEstimate._errors)

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
        found: Reals = errors.sum(axis=1) + beyond[:, 0]
        return found

    def _improvements(self, counts: Reals) -> Reals:
        """P[|K − estimate| < |K − Y|] given each count.

        Where the estimate e lies below the answer, that is K < (e + Y)/2; where above, K > it.
        """
        starts, stops = self._ranges
        farther = self.values + 2 * np.maximum(counts - self.values, 0) + self.case.gap
        nearer = self.values + 2 * np.minimum(counts - self.values, 0)
        chances = self.case.chances_between(counts, np.maximum(starts, farther), stops)
        chances += self.case.chances_between(counts, starts, np.minimum(stops, nearer))
        found: Reals = chances.sum(axis=1)
        return found

    def _ties(self, counts: Reals) -> Reals:
        """P[|K − estimate| = |K − Y|] given each count: the answer is the estimate, or its mirror.

        The mirror image of the estimate at the count, where it is another number.
        """
        errors = self.case.errors
        chances = np.zeros((counts.size, self.values.size))
        if errors.is_discrete:
            starts, stops = self._ranges
            mirrored = 2 * counts - self.values
            for answers, differ in (
                (self.values + 0 * counts, True),
                (mirrored, mirrored != counts),
            ):
                within = (starts <= answers) & (answers < stops) & differ
                chances += np.where(within, errors.between(answers - counts, np.ones(1)), 0.0)
        found: Reals = chances.sum(axis=1)
        return found


def median_estimate(case: Case) -> WholeEstimate:
    """The posterior median: it exceeds m where P[K > m | Y = y] > 1/2."""

    def excess(answers: Reals, counts: Reals) -> Reals:
        total, _ = mean_of(answers, case.belief.around(answers))
        outside = counts + 1 >= answers
        shares = np.empty(answers.shape)
        above = case.belief.upper(answers[outside], counts[outside] + 1)
        below = case.belief.lower(answers[~outside], counts[~outside])
        shares[outside] = np.exp(above.logs - total[outside])
        shares[~outside] = 1 - np.exp(below.logs - total[~outside])
        return shares - 0.5 - _TIE

    return _estimate(case, excess)


def mode_estimate(case: Case) -> WholeEstimate:
    """The posterior mode: it exceeds m where a larger count has the largest weight."""
    table, errors = case.belief.table, case.errors
    if not _is_log_concave(table.logs):
        return _estimate(case, lambda answers, counts: _sign_above(table, errors, answers, counts))
    rises = np.diff(table.logs)

    def excess(answers: Reals, counts: Reals) -> Reals:
        gain = errors.log_density(answers - counts - 1) - errors.log_density(answers - counts)
        found: Reals = gain + rises[(counts - table.first).astype(np.int64)] - LOG_TIE
        return found

    return _estimate(case, excess)


def _estimate(case: Case, excess: Callable[[Reals, Reals], Reals]) -> WholeEstimate:
    """The estimate that exceeds a count m where excess(answer, m) is positive."""
    table = case.belief.table
    low, high = case.span
    candidates = table.counts[:-1]
    passed = [int((excess(np.full(candidates.shape, end), candidates) > 0).sum()) for end in case.span]
    counts = candidates[passed[0] : passed[1]]
    values = table.first + np.arange(passed[0], passed[1] + 1, dtype=np.float64)
    lows, highs = np.full(counts.shape, low), np.full(counts.shape, high)
    if case.errors.is_discrete:
        starts = first_wholes(lambda answers: excess(answers, counts) > 0, lows, highs)
    else:
        starts = roots(lambda answers: excess(answers, counts), lows, highs)
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
