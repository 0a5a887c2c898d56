"""The law of a count: what every representation answers."""

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.mesh import MeshPoints

__all__ = ["LOG_TIE", "TIE", "CountDistribution"]

TIE = 1e-14
"""A quantile's level counts as reached within this of it, so that symmetric ties hold."""

LOG_TIE = 1e-12
"""In nats: what rounding moves a difference of log-weights, and more."""


class CountDistribution(ABC):
    """A law on a run of integers."""

    __slots__ = ()

    @property
    @abstractmethod
    def mean(self) -> float:
        """The expected count, in records."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the count, in records²."""

    @property
    @abstractmethod
    def mode(self) -> int:
        """The smallest count of the largest probability."""

    @property
    @abstractmethod
    def support(self) -> tuple[int, int]:
        """The first and the last count of the run."""

    @cached_property
    def deviation(self) -> float:
        """The standard deviation, in records."""
        return math.sqrt(self.variance)

    @property
    def depth(self) -> float:
        """How far below the largest log-probability the others keep their digits, in nats."""
        return 640.0

    @property
    def rounding(self) -> float:
        """A bound of the relative error of a probability within that depth."""
        return 3e-13

    @property
    def median(self) -> int:
        """The smallest count k with P[K <= k] >= 1/2."""
        return self.quantile(0.5)

    @abstractmethod
    def quantile(self, level: float) -> int:
        """The smallest count k with P[K <= k] >= level, for a level in (0, 1)."""

    @abstractmethod
    def log_probability(self, low: float, high: float) -> float:
        """The logarithm of P[low <= K <= high], −inf for 0; in the far tails of smooth laws too."""

    @abstractmethod
    def log_pmf(self, counts: ArrayLike) -> Reals:
        """The logarithm of P[K = k] for each count k, shape as given, −inf for 0."""

    def probability(self, low: float, high: float) -> float:
        """P[low <= K <= high]."""
        return min(1.0, math.exp(self.log_probability(low, high)))

    def pmf(self, counts: ArrayLike) -> Reals:
        """P[K = k] for each count k, shape as given; 0 for what the count cannot be."""
        return np.exp(self.log_pmf(counts))

    @abstractmethod
    def moved(self, by: int) -> Self:
        """The law of the count plus a constant."""

    @property
    @abstractmethod
    def mirrored(self) -> Self:
        """The law of the negative count."""

    @abstractmethod
    def points(
        self, fine: tuple[float, float] | None, highest: float, coarsest: float = math.inf
    ) -> MeshPoints:
        """Points whose weights are probabilities, for sums that may bend in a run of counts.

        They leave out what is e^−80 of the largest probability to the left, and of that at
        `highest` to the right.

        Args:
            fine: The first and the last count of the run; None: sums do not bend.
            highest: The count up to which sums reach.
            coarsest: How far apart points may lie where the law is smooth, times 24, in records.
        """

    def for_ratios(self, rarity: float) -> Self:  # noqa: ARG002  (a table has every point)
        """The same law, with points for sums of ratios whose logarithm may be as low as this."""
        return self

    @abstractmethod
    def reach(self, depth: float) -> tuple[float, float]:
        """The counts on both sides of the mode at which the law has fallen by e^depth."""

    @abstractmethod
    def log_tail_bound(self, count: float) -> float:
        """A bound of the logarithm of the mass from a count on, which lies right of the mean."""
