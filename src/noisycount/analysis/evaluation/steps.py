"""The averages of an estimate that is a whole number: a step function of the answer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from noisycount.analysis.evaluation.case import Case
from noisycount.model.laws.expansion import Reals

__all__ = ["Steps", "chances_between", "expected"]

_ENTRIES = 1 << 19
_FAR = 1e300


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """An estimate that rises with the answer in steps.

    Attributes:
        values: The estimates, in rising order, shape (steps,).
        starts: The answers from which on each of them but the first holds, shape (steps − 1,).
    """

    values: Reals
    starts: Reals

    def near(self, low: float, high: float) -> "Steps":
        """The steps for answers from low to high."""
        first = int(np.searchsorted(self.starts, low))
        last = max(first, int(np.searchsorted(self.starts, high, side="right")))
        return Steps(self.values[first : last + 1], self.starts[first:last])

    def mean_errors(self, case: Case, counts: Reals) -> Reals:
        """E|K − estimate| given each count, counts in a column.

        It is ∫ P[estimate <= t] dt below the count and ∫ P[estimate > t] dt above it.
        """
        rises = np.diff(self.values)
        too_low = np.clip(counts - self.values[:-1], 0, rises)
        too_high = np.clip(self.values[1:] - counts, 0, rises)
        errors = too_low * case.errors.exceedance(counts - self.starts + case.gap)
        errors += too_high * case.errors.exceedance(self.starts - counts)
        beyond = np.maximum(counts - self.values[-1], 0) + np.maximum(self.values[0] - counts, 0)
        found: Reals = errors.sum(axis=1) + beyond[:, 0]
        return found

    def improvements(self, case: Case, counts: Reals) -> Reals:
        """P[|K − estimate| < |K − Y|] given each count, counts in a column.

        Where the estimate e lies below the answer, that is K < (e + Y)/2; where above, K > it.
        """
        starts, stops = np.append(-_FAR, self.starts), np.append(self.starts, _FAR)
        farther = self.values + 2 * np.maximum(counts - self.values, 0) + case.gap
        nearer = self.values + 2 * np.minimum(counts - self.values, 0)
        chances = chances_between(case, counts, np.maximum(starts, farther), stops)
        chances += chances_between(case, counts, starts, np.minimum(stops, nearer))
        found: Reals = chances.sum(axis=1)
        return found

    def ties(self, case: Case, counts: Reals) -> Reals:
        """P[|K − estimate| = |K − Y|] given each count, counts in a column."""
        chances = np.zeros((counts.size, self.values.size))
        if case.errors.is_discrete:
            starts, stops = np.append(-_FAR, self.starts), np.append(self.starts, _FAR)
            mirrored = 2 * counts - self.values
            for answers, differ in (
                (self.values + 0 * counts, True),
                (mirrored, mirrored != counts),
            ):
                within = (starts <= answers) & (answers < stops) & differ
                chances += np.where(within, case.errors.between(answers - counts, np.ones(1)), 0.0)
        found: Reals = chances.sum(axis=1)
        return found


def expected(case: Case, steps: Steps, metric: Callable[[Steps, Case, Reals], Reals]) -> float:
    """The mean over the counts of one of the metrics of the steps."""
    total = 0.0
    for rows, near in _parts(case, steps):
        total += float(case.chances[rows] @ metric(near, case, case.counts[rows, None]))
    return total


def _parts(case: Case, steps: Steps) -> Iterator[tuple[slice, Steps]]:
    """Runs of counts, each with the steps that the noise reaches from them."""
    counts = case.counts
    row = 0
    while row < counts.size:
        widest = steps.near(counts[row] - case.reach, counts[row] + case.reach + 64)
        stop = min(counts.size, row + max(1, min(64, _ENTRIES // widest.values.size)))
        yield (
            slice(row, stop),
            steps.near(counts[row] - case.reach, counts[stop - 1] + case.reach),
        )
        row = stop


def chances_between(case: Case, counts: Reals, starts: Reals, stops: Reals) -> Reals:
    """P[start <= Y < stop | K = count], 0 where they are not in order."""
    upper = case.errors.exceedance(np.clip(starts - counts, -_FAR, _FAR))
    return np.maximum(upper - case.errors.exceedance(np.clip(stops - counts, -_FAR, _FAR)), 0)
