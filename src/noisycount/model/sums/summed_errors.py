"""The law of a sum of noises at many errors at once."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from noisycount.model.laws.expansion import Reals
from noisycount.model.sums.sum_law import SumLaw

__all__ = ["SummedErrors"]


@dataclass(frozen=True, slots=True)
class SummedErrors:
    """A sum of independent noises.

    Attributes:
        law: The law of the sum.
    """

    law: SumLaw

    @property
    def is_discrete(self) -> bool:
        """Whether all noises are discrete."""
        return self.law.is_on_integers

    @property
    def steepest(self) -> Fraction | None:
        """That of the widest Laplace noise: what is added to it cannot make it steeper."""
        widest = self.law.widest_laplace
        return 1 / Fraction(widest) if widest else None

    @property
    def spread(self) -> float:
        """The scale of Gaussian noise about as wide."""
        return self.law.spread

    @property
    def smooth_over(self) -> float:
        """Taken for kinked, as sums of Laplace noises are."""
        return 0.0

    def reach(self, depth: float) -> float:  # noqa: ARG002  (no bound is needed)
        """Any distance."""
        return math.inf

    def log_density(self, errors: Reals) -> Reals:
        """The logarithm of the density or of the probability; all errors on one lattice."""
        return self.law.log_density(errors, _phase(errors))

    def log_change(self, error: float, steps: Reals) -> Reals:
        """A difference of logarithms."""
        return self.log_density(error - steps) - self.log_density(np.array(error))

    def exceedance(self, errors: Reals) -> Reals:
        """P[Z >= error]; all errors on one lattice."""
        tails: Reals = np.exp(self.law.log_tail(errors, _phase(errors)))
        return tails

    def between(self, low: Reals, widths: Reals) -> Reals:
        """The difference of the smaller tails, to the precision of the larger of them."""
        lows, highs = np.broadcast_arrays(low, low + widths)
        flipped = lows + highs < 0
        masses = np.empty(lows.shape)
        masses[~flipped] = self._difference(lows[~flipped], highs[~flipped])
        shift = 1.0 if self.is_discrete else 0.0
        masses[flipped] = self._difference(shift - highs[flipped], shift - lows[flipped])
        return masses

    def _difference(self, low: Reals, high: Reals) -> Reals:
        """P[Z >= low] − P[Z >= high]."""
        return self.exceedance(low) - self.exceedance(high)


def _phase(errors: Reals) -> float:
    """The fractional part that most of the errors share."""
    return float(np.median(errors % 1.0)) if errors.size else 0.0
