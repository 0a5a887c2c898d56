"""The law of the count of a cell, as a mixture that a table of answers can teach."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from noisycount.model.laws.expansion import Reals
from noisycount.model.search import first_true
from noisycount.shown.value import Shown

__all__ = ["SHAPE", "CellLaw"]

SHAPE = 3
"""Of the negative binomial laws, whose standard deviations are 0.58 means or more.

A whole shape makes Γ(k + shape)/k! a polynomial, which has all digits at every count.
"""

_TABLE = 1 << 12  # counts, each summed by itself
_STEP = 1e-3  # of ln k between the knots beyond: cubic pieces are within 1e-12 of the logarithm
_FARTHEST = 1500.0  # largest means up to which there are knots: e^−4500 of the law is beyond
_AT_ONCE = 1 << 14  # counts: as many rows of a matrix of all components


@dataclass(frozen=True, eq=False, repr=False)
class CellLaw(Shown):
    """A count is 0 with some probability, else of one of several negative binomial laws.

    P[K = k] = w_0·[k = 0] + Σ_j w_j·(k + 1)(k + 2)/2·(3/(3 + m_j))³·(m_j/(3 + m_j))^k.

    Attributes:
        zero: The probability w_0 of a cell that is surely empty.
        means: The means m_j of the laws, in records, rising.
        weights: Their probabilities w_j; all add up to 1 with w_0.

    Example:
        >>> law = CellLaw(0.5, np.array([2.0]), np.array([0.5]))
        >>> law.mean, round(float(np.exp(law.log_pmf(0))), 6)
        (1.0, 0.608)
    """

    zero: float
    means: Reals
    weights: Reals

    @property
    def mean(self) -> float:
        """The expected count, in records."""
        return float(self.weights @ self.means)

    @property
    def variance(self) -> float:
        """The variance of the count, in records²."""
        squares = self.means + self.means**2 * (1 + 1 / SHAPE)
        return float(self.weights @ squares) - self.mean**2

    def log_pmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k] for each count k, shape as given, −inf for what is no count.

        Numerical error: 1e-12, absolute.
        """
        asked = np.asarray(counts, dtype=np.float64)
        logs = np.full(asked.shape, -np.inf)
        whole = (asked >= 0) & (asked == np.floor(asked))
        near = whole & (asked < _TABLE)
        logs[near] = self._near[asked[near].astype(np.int64)]
        far = whole & ~near
        logs[far] = self._log_far(asked[far])
        return logs

    def cdf(self, count: float) -> float:
        """P[K <= count]."""
        if count < 0:
            return 0.0
        return 1 - self.sf(count)

    def sf(self, count: float) -> float:
        """P[K > count] for a count from 0: at most two of count + 3 trials succeed."""
        trials = math.floor(count) + SHAPE
        odds = SHAPE / self.means
        none = np.exp(-trials * np.log1p(odds))
        tails = none * (1 + trials * odds * (1 + (trials - 1) / 2 * odds))
        return float(self.weights @ tails)

    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level, for a level in (0, 1)."""
        last = 1
        while self.cdf(last) < level:
            last *= 2
        return first_true(lambda count: self.cdf(count) >= level, 0, last)

    def end(self, depth: float) -> int:
        """A count beyond which the law weighs less than e^−depth of its largest component.

        Args:
            depth: In nats.
        """
        largest = float(self.means[self.weights > 0].max(initial=0.0))
        return math.ceil((depth + 4 * SHAPE) * (largest / SHAPE + 1))

    @cached_property
    def _near(self) -> Reals:
        """The logarithms at the first counts."""
        logs = self._log_sums(np.arange(_TABLE, dtype=np.float64))
        with np.errstate(divide="ignore"):
            logs[0] = np.logaddexp(logs[0], np.log(self.zero))
        return logs

    @cached_property
    def _far(self) -> Reals:
        """The logarithms beyond them at steps of ln k."""
        reach = math.log(max(_FARTHEST * float(self.means[-1]) / _TABLE, 2.0))
        steps = np.arange(-1.0, math.ceil(reach / _STEP) + 3)
        return self._log_sums(_TABLE * np.exp(_STEP * steps))

    def _log_far(self, counts: Reals) -> Reals:
        """The logarithms at counts beyond the table: of many by cubics through four knots."""
        if counts.size < _AT_ONCE:
            return self._log_sums(counts)
        places = np.log(counts / _TABLE) / _STEP
        beyond = places > self._far.size - 4
        first = np.where(beyond, 0, places).astype(np.int64)
        share = np.where(beyond, 0.0, places - first)
        before, own, after, last = (self._far[first + step] for step in range(4))
        outer, inner = (share + 1) * (share - 2), share * (share - 1)
        logs: Reals = (outer * ((share - 1) * own - share * after)) / 2
        logs += (inner * ((share + 1) * last - (share - 2) * before)) / 6
        logs[beyond] = self._log_sums(counts[beyond])
        return logs

    def _log_sums(self, counts: Reals) -> Reals:
        """The logarithms of the sums of all components but that of empty cells."""
        used = self.weights > 0
        if not used.any():
            return np.full(counts.shape, -np.inf)
        means, weights = self.means[used], self.weights[used]
        starts = np.log(weights) - SHAPE * np.log1p(means / SHAPE)
        slopes = np.log1p(SHAPE / means)
        logs = np.empty(counts.shape)
        for first in range(0, counts.size, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            terms = starts - counts[some, None] * slopes
            peaks = terms.max(axis=1)
            terms -= peaks[:, None]
            logs[some] = peaks + np.log(np.exp(terms).sum(axis=1))
        ways: Reals = np.log1p(counts) + np.log1p(counts / 2)
        return logs + ways
