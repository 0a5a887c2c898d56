"""The law of a count: what every representation answers."""

import math
from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisycount.model.laws.expansion import Reals

__all__ = ["TIE", "CountDistribution"]

TIE = 1e-14
"""A quantile's level counts as reached within this of it, so that symmetric ties hold."""


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
