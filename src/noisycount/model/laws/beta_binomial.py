"""The beta-binomial law as a function of a count."""

import math
from dataclasses import dataclass
from fractions import Fraction

from noisycount.model.laws.expansion import Expansion
from noisycount.model.laws.factor import BaseFactor, LogStep
from noisycount.model.laws.log_gamma import gamma_ratio_expansion

__all__ = ["BetaBinomialFactor"]


@dataclass(frozen=True, slots=True)
class BetaBinomialFactor(BaseFactor):
    """The factor C(size, k)·B(k + alpha, size − k + beta) of a count k.

    That is Γ(k + alpha)/Γ(k + 1) · Γ(size − k + beta)/Γ(size − k + 1) up to a constant.

    Attributes:
        size: The number of records.
        alpha: The first shape, positive.
        beta: The second shape, positive.
    """

    size: int
    alpha: float
    beta: float

    @property
    def support(self) -> tuple[int, int]:
        """The smallest and the largest count that can occur."""
        return 0, self.size

    @property
    def is_log_concave(self) -> bool:
        """Where both shapes are at least 1."""
        return min(self.alpha, self.beta) >= 1

    def expansion(self, centre: int) -> Expansion:
        """From both quotients of gamma functions."""
        rising = gamma_ratio_expansion(centre, self.alpha)
        return rising + gamma_ratio_expansion(self.size - centre, self.beta).mirrored

    def log_step(self, count: int) -> float:
        """The logarithm of the factor at count + 1 over that at count, both in the support."""
        left = self.size - count
        rising = math.log((count + self.alpha) / (count + 1))
        return rising - math.log((left - 1 + self.beta) / left)

    def exact_log_step(self, count: int) -> LogStep:
        """The step, with its ratio as a fraction."""
        left = self.size - count
        rising = (count + Fraction(self.alpha)) / (count + 1)
        return LogStep(rising * left / (left - 1 + Fraction(self.beta)))
