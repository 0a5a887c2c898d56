"""The averages of the answer as it is, and rounded to a possible count."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from noisycount.analysis.evaluation.case import Case
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.gram import POINTS, gram_rule
from noisycount.model.noises.error_laws import (
    DiscreteLaplaceErrors,
    ErrorLaw,
    GaussianErrors,
    LaplaceErrors,
)

__all__ = ["RawAnswer", "RoundedAnswer"]

_LONGEST = 1 << 24
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@dataclass(frozen=True, slots=True, eq=False)
class RawAnswer:
    """The answer as the estimate.

    Attributes:
        errors: The law of the noise.
        reach: How far the noise reaches, in records, whole.
    """

    errors: ErrorLaw
    reach: float

    @property
    def error(self) -> float:
        """E|Z|."""
        errors = self.errors
        match errors:
            case LaplaceErrors():
                return errors.spread
            case DiscreteLaplaceErrors():
                rate = 1 / errors.spread  # 1/sinh(rate), which does not overflow as sinh does
                return -2 * math.exp(-rate) / math.expm1(-2 * rate)
            case GaussianErrors():
                return errors.spread * math.sqrt(2 / math.pi)
        if errors.is_discrete:
            return 2 * _sum_to(errors.spread, errors.exceedance, 1.0, self.reach)
        return 2 * _integral(errors.exceedance, self.reach, errors.spread)

    @property
    def improvement(self) -> float:
        """The answer is never nearer than itself."""
        return 0.0

    @property
    def tie(self) -> float:
        """It is always as near as itself."""
        return 1.0


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
            start = _sum_to(self.case.errors.spread, term, 0.0, min(first, self.case.reach + 1) - 1)
            rest = np.cumsum(term(distances[:-1]))
            values = start + np.append(0.0, rest)
            total += float(likely @ (values if last is None else values + last(distances)))
        return total


def _sum_to(spread: float, term: Callable[[Reals], Reals], first: float, last: float) -> float:
    """Σ term(j) for j = first..last, in runs over which the noise is smooth."""
    longest = max(1, int(min(spread, _LONGEST) / 2))
    total, start = 0.0, first
    length = float(POINTS)
    while start <= last:
        run = int(min(length, last - start + 1))
        nodes, rule = gram_rule(run)
        total += float(term(start + nodes) @ rule)
        start += run
        length = min(2 * length, max(POINTS, longest))
    return total


def _integral(function: Callable[[Reals], Reals], reach: float, spread: float) -> float:
    """∫ function from 0 to the reach, in pieces that grow from a fraction of the spread."""
    edges = [0.0, *(spread / 8 * 1.5 ** np.arange(400))]
    total = 0.0
    for low, high in pairwise(edges):
        if low >= reach:
            break
        stop = min(high, reach)
        total += (
            float(function(low + (stop - low) * (1 + _NODES) / 2) @ _WEIGHTS) * (stop - low) / 2
        )
    return total
