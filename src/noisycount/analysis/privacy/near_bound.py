"""Sums for Laplace noise at an ε just below 1/scale, where others cancel."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from noisycount.analysis.privacy.certified import Certified
from noisycount.analysis.privacy.pairs.pair import Advantage, Pair
from noisycount.analysis.privacy.sums import difference, log_sum
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.mesh import MeshPoints
from noisycount.model.noises.error_law import CertifiedErrorLaw

__all__ = ["NearBound"]

_NEAR = 1 / 8
_LARGEST = 700.0


@dataclass(frozen=True, slots=True, eq=False)
class NearBound:
    """The noise as one exponential, r = 1/scale, less what it lacks above the answer y.

    For P₊ that is P₋ moved by one record, Σ Q·w·e^(r·(k − y)) = (e^r − e^ε)·Σ P₋·e^(r·(k − y)):
    that holds the small number e^r − e^ε as a factor.

    Attributes:
        pair: The two laws.
        errors: The law of the noise.
        epsilon: ε.
        advantage: w of that ε.
        points: Points that sum over Q.
    """

    pair: Pair
    errors: CertifiedErrorLaw
    epsilon: float
    advantage: Advantage
    points: MeshPoints

    @staticmethod
    def applies(pair: Pair, errors: CertifiedErrorLaw, epsilon: float) -> bool:
        """Whether the noise is Laplace noise, and ε within an eighth of its bound."""
        if not pair.is_shift or not errors.is_geometric:
            return False
        return epsilon > (1 - _NEAR) / errors.spread

    def log_odds(self, answer: float) -> float:
        """Ln of (e^r − e^ε)·Σ P₋·e^(r·(k − y)) over 2·Σ_{k > y} Q·w·sinh(r·(k − y))."""
        rises, above = self._rises(answer)
        if not above.any():
            return math.inf
        with np.errstate(divide="ignore"):
            minus = np.log(self.pair.ratio_minus(self.points.offsets))
        gains = self._log_gap + log_sum(self.points.log_weights + rises + minus)
        values = self.advantage.at(self.points.offsets[above])
        logs = self.points.log_weights[above] + rises[above]
        largest = float(logs.max())
        lacks = float(values @ (np.exp(logs - largest) * -np.expm1(-2 * rises[above])))
        return gains - largest - math.log(lacks) if lacks > 0 else math.inf

    def beyond(self, answer: float) -> Certified:
        """P₊[Y >= y] − e^ε·P₋[Y >= y].

        (e^r − e^ε)·Σ P₋·e^(r·(k − y))/2 − Σ_{k > y} Q·w·(cosh(r·(k − y)) − 1) of continuous noise.
        """
        rises, above = self._rises(answer)
        logs = self.points.log_weights + rises
        if float(logs.max()) > _LARGEST:
            return Certified(0.0, math.inf)
        weights = np.exp(logs)
        gains = math.exp(self._log_gap) * float(
            weights @ self.pair.ratio_minus(self.points.offsets)
        )
        offsets = self.points.offsets[above]
        values = weights[above] * self.advantage.at(offsets)
        shrunk = math.exp(-self._rate)
        missing = -np.expm1(-rises[above])
        if self.errors.is_discrete:
            lacks = missing * (1 - shrunk * np.exp(-rises[above]))
            whole = 1 + shrunk
        else:
            lacks, whole = missing**2, 2.0
        losses = float(values @ lacks)
        uncertainty = self.advantage.uncertainty(offsets, weights[above] * lacks)
        return difference(gains / whole, losses / whole, self.pair.rounding, uncertainty / whole)

    @property
    def _rate(self) -> float:
        return float(self.errors.steepest or 0)

    @property
    def _log_gap(self) -> float:
        """The logarithm of e^r − e^ε."""
        return self.epsilon + math.log(math.expm1(self._below_bound))

    @property
    def _below_bound(self) -> float:
        """The gap r − ε, without cancellation."""
        return float((self.errors.steepest or 0) - Fraction(self.epsilon))

    def _rises(self, answer: float) -> tuple[Reals, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        """The rise r·(k − y) at each point, and where it is positive."""
        rises = (self.points.offsets - answer) * self._rate
        return rises, rises > 0
