"""The logarithm of the other side of a probability.

The law of a noise at many errors at once: densities, tails and the mass between two errors.

What an answer with noise says about a count, from the law of the noise alone.
"""

import math
from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np

from noisycount.frozen import frozen
from noisycount.model.laws.factors import BaseFactor
from noisycount.model.laws.gamma import Expansion, Reals

__all__ = [
    "LOG_HALF",
    "CertifiedErrorLaw",
    "ClosedForm",
    "ErrorLaw",
    "ErrorLikelihood",
    "log_one_minus_exp",
]


LOG_HALF = -math.log(2)


"""ln(1/2): of a tail and the mass within, the one below it is the part that keeps its digits."""


def log_one_minus_exp(logarithm: float) -> float:
    """ln(1 − e^x) for x <= 0, to full relative precision at both ends."""
    if logarithm > LOG_HALF:
        return math.log(-math.expm1(logarithm)) if logarithm < 0 else -math.inf
    return math.log1p(-math.exp(logarithm))


class ErrorLaw(ABC):
    """The law of symmetric, one-peaked noise Z at arrays of errors, in records."""

    __slots__ = ()

    @property
    @abstractmethod
    def is_discrete(self) -> bool:
        """Whether Z is an integer."""

    @property
    def is_geometric(self) -> bool:
        """Whether the logarithm of the density is −|z|/spread up to a constant."""
        return False

    @property
    def is_costly(self) -> bool:
        """Whether each value takes an integral of its own."""
        return False

    @property
    @abstractmethod
    def steepest(self) -> Fraction | None:
        """The largest change of the logarithm of the density a record; None: there is no bound."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """A typical size of the noise, in records."""

    @property
    @abstractmethod
    def smooth_over(self) -> float:
        """The length in records over which the density has no bend; 0 if it has a kink."""

    @property
    @abstractmethod
    def peak(self) -> float:
        """The density at 0, or the probability of 0 if Z is discrete."""

    @abstractmethod
    def reach(self, depth: float) -> float:
        """The distance from 0, in records, at which the density has fallen by e^depth."""

    @abstractmethod
    def log_density(self, errors: Reals) -> Reals:
        """The logarithm of the density, or of the probability, up to a constant."""

    @abstractmethod
    def log_change(self, error: float, steps: Reals) -> Reals:
        """How the logarithm of the density changes from an error to error − step."""

    @abstractmethod
    def log_tail(self, distances: Reals) -> Reals:
        """The logarithm of P[|Z| >= z] for z > 0, also where the probability underflows.

        Of discrete noise it is smooth between the integers from 1 on; of continuous noise it is
        asked for at 0, too.
        """

    def log_tail_at(self, distance: float) -> float:
        """The `log_tail` of one distance, which laws take as an array without axes."""
        return float(self.log_tail(cast("Reals", np.float64(distance))))

    @abstractmethod
    def between(self, low: Reals, widths: Reals) -> Reals:
        """P[low <= Z < low + width] for widths >= 0, to full relative precision."""

    def tail(self, distances: Reals) -> Reals:
        """P[|Z| >= z] for z > 0, to full relative precision."""
        tails: Reals = np.exp(self.log_tail(distances))
        return tails

    def exceedance(self, errors: Reals) -> Reals:
        """P[Z >= error], to full relative precision; smooth between integers if Z is discrete."""
        is_above = np.asarray(errors) > 0
        tails = self.tail(np.where(is_above, errors, self.first - errors)) / 2
        return np.where(is_above, tails, 1 - tails)

    def log_exceedance(self, errors: Reals) -> Reals:
        """The logarithm of P[Z >= error], also where the probability underflows."""
        is_above = np.asarray(errors) > 0
        logs = self.log_tail(np.where(is_above, errors, self.first - errors)) - math.log(2)
        return np.where(is_above, logs, np.log1p(-np.exp(logs)))

    def within(self, reach: float) -> float:
        """P[|Z| < reach] for a reach above 0, whole if Z is discrete; also where it is tiny."""
        width = np.array([reach - self.first])
        at_zero = self.peak if self.is_discrete else 0.0
        return at_zero + 2 * float(self.between(np.array([self.first]), width)[0])

    def tabulated(self, reach: float) -> "ErrorLaw":  # noqa: ARG002  (a closed form needs no table)
        """The law for very many errors up to a distance from 0: itself where each is cheap."""
        return self

    @property
    def first(self) -> float:
        """What an error and its opposite add up to, as P[Z < z] = P[Z >= first − z]."""
        return 1.0 if self.is_discrete else 0.0


class CertifiedErrorLaw(ErrorLaw):
    """A law of noise that tells how exact its tails and masses are."""

    __slots__ = ()

    @property
    @abstractmethod
    def rounding(self) -> float:
        """The relative error of a tail or a mass, where it exceeds that of a few operations."""

    @abstractmethod
    def uncertainty(self, low: Reals, widths: Reals) -> Reals | float:
        """How far each mass of `between` may be off beyond that."""


class ClosedForm(CertifiedErrorLaw):
    """A law whose tails and masses are closed forms, exact but for a few operations."""

    rounding: ClassVar[float] = 0.0

    __slots__ = ()

    def uncertainty(self, low: Reals, widths: Reals) -> float:  # noqa: ARG002  (of no mass)
        """0."""
        return 0.0


@frozen
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
