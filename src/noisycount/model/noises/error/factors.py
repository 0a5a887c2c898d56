"""What an answer with noise says about a count, from the law of the noise alone."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from noisycount.model.laws.expansion import Expansion
from noisycount.model.laws.factor import BaseFactor
from noisycount.model.noises.error.law import ErrorLaw

__all__ = ["ErrorLikelihood"]


@dataclass(frozen=True, slots=True)
class ErrorLikelihood(BaseFactor):
    """The density of noise at answer − k, as a factor of the count k.

    Attributes:
        answer: The answer, in records.
        errors: The law of the noise.
        is_log_concave: Whether the logarithm of the density is concave.
    """

    answer: float
    errors: ErrorLaw
    is_log_concave: bool = True

    @property
    def kinks(self) -> tuple[float, ...]:
        """The answer, unless the density is smooth and turns only there."""
        is_smooth = self.errors.smooth_over > 0 and self.is_log_concave
        return () if is_smooth else (self.answer,)

    def expansion(self, centre: int) -> Expansion:
        """All of the change as bend."""
        error = self.answer - centre
        return Expansion(Decimal(0), lambda offsets: self.errors.log_change(error, offsets))

    def log_step(self, count: int) -> float:
        """The change from this count to the next."""
        return float(self.errors.log_change(self.answer - count, np.ones(1))[0])
