"""The averages of the answer as it is, and rounded to a possible count."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noisycount.analysis.evaluation.case import Case
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.gram import POINTS, gram_points

__all__ = ["RawAnswer", "RoundedAnswer"]

_LONGEST = 1 << 24  # records of spread, beyond which runs grow no longer


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """The answer as the estimate.

    Attributes:
        error: E|Z|, in records.
        improvement: 0, as the answer is never nearer than itself.
        tie: 1, as it is always as near.
    """

    error: float
    improvement: float = 0.0
    tie: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class RoundedAnswer:
    """The integer of 0..size that is nearest to the answer.

    Attributes:
        case: The law of the count and of the noise.
    """

    case: Case

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
