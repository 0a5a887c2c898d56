"""The largest privacy loss under noise that falls like one exponential, and sums next to it."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from noisycount.analysis.privacy.bounds import Certified, difference, log_sum
from noisycount.analysis.privacy.pairs import Excess, Pair
from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals
from noisycount.model.laws.grids import MeshPoints
from noisycount.model.noises.errors import CertifiedErrorLaw

__all__ = ["BelowLargestLoss", "Mesh"]


_NEAR = 1 / 8  # of the largest loss, within which other sums cancel


_LARGEST = 700.0  # exponents up to which nothing overflows


_ULPS = 4  # of a loss that a logarithm and a sum of two may be off


Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]


@frozen(eq=False)
class LargestLoss:
    """λ = ln(M₊/M₋) with M = Σ P·e^(r·k), r = 1/scale of noise that is geometric on both sides.

    Beyond the last count the density of the answer is M·e^(−r·y) up to a constant, under both laws:
    the likelihood ratio stays at e^λ, which it nowhere exceeds. M₊ − M₋ is summed as
    Σ (P₊ − P₋)·(e^(r·k) − e^(r·k₀)), k₀ where P₊ − P₋ changes its sign: no term is negative.

    Attributes:
        loss: λ.
        error: How far it may be off; 0 where P₊ is P₋ moved up by one record, as then λ = r.
        rate: r.
        log_mass: The logarithm of M₋.
        points: Points that sum over Q.
        minus: P₋/Q at these.
    """

    loss: Fraction
    error: float
    rate: float
    log_mass: float
    points: MeshPoints
    minus: Reals

    @classmethod
    def of(cls, pair: Pair, errors: CertifiedErrorLaw, points: MeshPoints) -> Self | None:
        """The largest loss of a pair; None: under this noise there is none of this kind."""
        steepest = errors.steepest
        if not errors.is_geometric or steepest is None:
            return None
        rate, offsets = float(steepest), points.offsets
        minus = np.maximum(pair.ratio_minus(offsets), 0.0)
        tilts = points.log_weights + rate * offsets
        with np.errstate(divide="ignore"):
            log_mass = log_sum(tilts + np.log(minus))
        loss, error = steepest, 0.0
        if not pair.is_shift:
            loss, error = _loss_of_any(pair, points, rate, log_mass)
        return cls(loss, error, rate, log_mass, points, minus)

    def above(self, epsilon: float) -> float:
        """The difference λ − ε, without cancellation."""
        return float(self.loss - Fraction(epsilon))


def _loss_of_any(
    pair: Pair, points: MeshPoints, rate: float, log_mass: float
) -> tuple[Fraction, float]:
    """λ, and how far it may be off."""
    offsets = points.offsets
    differences = pair.difference(offsets)
    start = float(offsets[min(int(differences.searchsorted(0.0)), offsets.size - 1)])
    logs = points.log_weights + rate * np.maximum(offsets, start) - log_mass
    highest = float(logs.max())
    if highest < _LARGEST:
        highest = 0.0
    grown = np.exp(logs - highest) * -np.expm1(-rate * np.abs(offsets - start))
    gain = float(np.abs(differences) @ grown)
    uncertainty = 2 * pair.rounding * gain + pair.difference_uncertainty(offsets, grown)
    rest = math.exp(-highest)  # 1 on the scale of the sums
    loss = math.log1p(gain) if highest == 0 else highest + math.log(rest + gain)
    return Fraction(loss), uncertainty / (rest + gain) + _ULPS * math.ulp(loss)


@frozen(eq=False, slots=False)
class Mesh:
    """Points that sum over Q.

    Attributes:
        points: The points.
        pair: The laws of the count.
        errors: The law of the noise.
    """

    points: MeshPoints
    pair: Pair
    errors: CertifiedErrorLaw

    def largest_near(self, epsilon: float) -> LargestLoss | None:
        """The largest loss as the points give it, if that ε lies just below or above."""
        return self._largest if epsilon > self._near_from else None

    @cached_property
    def _near_from(self) -> float:
        """Seven eighths of the largest loss; inf where there is none."""
        steepest = self.errors.steepest
        if not self.pair.is_shift:
            steepest = None if self._largest is None else self._largest.loss
        return math.inf if steepest is None else (1 - _NEAR) * float(steepest)

    @cached_property
    def _largest(self) -> LargestLoss | None:
        """The largest loss; None: the noise is not geometric."""
        return LargestLoss.of(self.pair, self.errors, self.points)


@frozen(eq=False)
class BelowLargestLoss:
    """Sums of w at an ε just below λ, which hold e^λ − e^ε as a factor.

    For answers y >= k with the noise as one exponential,
    Σ Q·w·e^(r·(k − y)) = (e^λ − e^ε)·M₋·e^(−r·y); from that is taken what the noise lacks at counts
    above the answer.

    Attributes:
        largest: λ.
        gap: λ − ε; where it is not positive no answer has a ratio of e^ε.
        epsilon: ε.
        excess: w of that ε.
        is_discrete: Whether the noise is an integer.
        rounding: The relative error of a term.
    """

    largest: LargestLoss
    gap: float
    epsilon: float
    excess: Excess
    is_discrete: bool
    rounding: float

    def at_most(self, excess: Excess) -> Self:
        """The sums if λ is as much larger as it may be, and w is another one."""
        exact = replace(self.largest, error=0.0)
        return replace(self, largest=exact, gap=self.gap + self.largest.error, excess=excess)

    @property
    def is_precise(self) -> bool:
        """Whether λ is known better than a sum of terms, so that the log-odds here are better."""
        return self.largest.error <= self.rounding

    @property
    def uncertainty(self) -> float:
        """How far the logarithm of e^λ − e^ε may be off."""
        return self.largest.error / -math.expm1(-self.gap) if self.largest.error else 0.0

    def log_odds(self, answer: float) -> float:
        """Ln of (e^λ − e^ε)·M₋·e^(−r·y) over 2·Σ_{k > y} Q·w·sinh(r·(k − y)); −inf from λ on."""
        if self.gap <= 0:
            return -math.inf
        exponents, above = self._exponents(answer)
        if not above.any():
            return math.inf
        points = self.largest.points
        values = self.excess.at(points.offsets[above])
        logs = points.log_weights[above] + exponents[above]
        highest = float(logs.max())
        lacks = float(values @ (np.exp(logs - highest) * -np.expm1(-2 * exponents[above])))
        return self._log_gain(answer) - highest - math.log(lacks) if lacks > 0 else math.inf

    def log_gain(self, answer: float) -> float:
        """The logarithm of what the answers from there on would gain without that lack."""
        return self._log_gain(answer) - math.log(self._whole)

    def beyond(self, answer: float) -> Certified:
        """P₊[Y >= y] − e^ε·P₋[Y >= y]; of no use from ε = λ on.

        (e^λ − e^ε)·M₋·e^(−r·y)/2 − Σ_{k > y} Q·w·(cosh(r·(k − y)) − 1) of continuous noise.
        """
        if self.gap <= 0:
            return Certified(0.0, math.inf)
        exponents, above = self._exponents(answer)
        points = self.largest.points
        logs = points.log_weights[above] + exponents[above]
        log_gain = self._log_gain(answer)
        if max(log_gain, float(logs.max(initial=-math.inf))) > _LARGEST:
            return Certified(0.0, math.inf)
        gain, weights = math.exp(log_gain), np.exp(logs)
        lacks = weights * self._lacks(exponents[above])
        offsets = points.offsets[above]
        values = self.excess.at(offsets)
        uncertainty = self.excess.uncertainty(offsets, lacks)
        uncertainty += self.rounding * 2 * float(lacks @ np.maximum(-values, 0.0))
        uncertainty += gain * self.uncertainty
        losses = float(lacks @ values)
        whole = self._whole
        return difference(gain / whole, losses / whole, self.rounding, uncertainty / whole)

    def _lacks(self, exponents: Reals) -> Reals:
        """What the noise lacks at counts above the answer, as a share of the exponential there."""
        missing = -np.expm1(-exponents)
        if self.is_discrete:
            return missing * (1 - math.exp(-self.largest.rate) * np.exp(-exponents))
        return missing**2

    @property
    def _whole(self) -> float:
        """Over which the exponential is the tail of the noise."""
        return 1 + math.exp(-self.largest.rate) if self.is_discrete else 2.0

    def _log_gain(self, answer: float) -> float:
        """The logarithm of (e^λ − e^ε)·M₋·e^(−r·y)."""
        log_gap = self.epsilon + math.log(math.expm1(self.gap))
        return log_gap + self.largest.log_mass - self.largest.rate * answer

    def _exponents(self, answer: float) -> tuple[Reals, Flags]:
        """The exponent r·(k − y) at each point, and where it is positive."""
        exponents = (self.largest.points.offsets - answer) * self.largest.rate
        return exponents, exponents > 0
