"""The terms of δ at one ε: what each count adds to the advantage of one law over another."""

import math
from dataclasses import dataclass, field

import numpy as np

from noisycount.analysis.privacy.certified import Certified
from noisycount.analysis.privacy.near_bound import NearBound
from noisycount.analysis.privacy.pairs.pair import Advantage, Pair
from noisycount.analysis.privacy.sums import difference, log_sum
from noisycount.model.laws.expansion import Reals
from noisycount.model.laws.mesh import MeshPoints
from noisycount.model.noises.error_law import CertifiedErrorLaw

__all__ = ["Terms"]

_CANCELLED = 100.0
_LEFT_OUT = 60.0
_FLAT = 0.5
_SMALL = 1e-250
_LARGEST = 640.0


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Sums Σ Q·w·f over counts, for answers about them with noise.

    Attributes:
        pair: The two laws.
        errors: The law of the noise.
        epsilon: ε.
        advantage: w of that ε.
        points: Points that sum over Q, exact for noise that bends where they are fine.
        around: About the answer that is asked for.
        margin: How far from there it may lie, in records.
    """

    pair: Pair
    errors: CertifiedErrorLaw
    epsilon: float
    advantage: Advantage
    points: MeshPoints
    around: float
    margin: float
    _near: slice = field(init=False, repr=False)
    _offsets: Reals = field(init=False, repr=False)
    _values: Reals = field(init=False, repr=False)
    _logs: Reals = field(init=False, repr=False)
    _negative: int = field(init=False, repr=False)
    _bound: NearBound | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        near = self._reached()
        offsets = self.points.offsets[near]
        values = self.advantage.at(offsets)
        with np.errstate(divide="ignore"):
            logs = self.points.log_weights[near] + np.log(np.abs(values))
        if logs.size:
            logs -= logs.max()
        object.__setattr__(self, "_near", near)
        object.__setattr__(self, "_offsets", offsets)
        object.__setattr__(self, "_values", self.points.weights[near] * values)
        object.__setattr__(self, "_logs", logs)
        negative = int(values.searchsorted(0.0))
        object.__setattr__(self, "_negative", negative)
        bound = None
        if NearBound.applies(self.pair, self.errors, self.epsilon):
            bound = NearBound(self.pair, self.errors, self.epsilon, self.advantage, self.points)
        object.__setattr__(self, "_bound", bound)

    def _reached(self) -> slice:
        """The points that noise can bring to answers near `around`, but for e^−60 of the sums."""
        logs, offsets = self.points.log_weights, self.points.offsets
        nearest = min(int(offsets.searchsorted(self.around)), logs.size - 1)
        distance = np.array(offsets[nearest] - self.around)
        here = float(logs[nearest] + self.errors.log_change(0.0, distance))
        reach = self.errors.reach(_LEFT_OUT + self.points.highest_log_weight - here) + self.margin
        start = offsets.searchsorted(self.around - reach)
        return slice(int(start), int(offsets.searchsorted(self.around + reach)))

    @property
    def reaches_all(self) -> bool:
        """Whether noise can bring every point there."""
        return self._near == slice(0, self.points.offsets.size)

    def log_odds(self, answer: float) -> float:
        """The logarithm of Σ Q·w·f over w > 0, over that of −w over w < 0, f the density there.

        Under wide noise, which hardly tells one count from another, Σ Q·w·(f/f* − 1) − (e^ε − 1)
        with the density f* at the crossing: that has the same sign and does not cancel.
        """
        if self._bound is not None:
            return self._bound.log_odds(answer)
        densities = self.errors.log_density(answer - self._offsets)
        if self._is_flat(densities):
            crossing = self.advantage.crossing
            changes = self.errors.log_change(answer - crossing, self._offsets - crossing)
            gains = self._values @ np.expm1(changes)
            return float(gains - math.expm1(min(self.epsilon, _LARGEST))) / float(
                np.abs(self._values).max()
            )
        logs = self._logs + densities
        if self._negative in (0, logs.size):
            return -math.inf if self._negative else math.inf
        weights = np.exp(logs)
        above = float(np.add.reduce(weights[self._negative :]))
        below = float(np.add.reduce(weights[: self._negative]))
        if min(above, below) > _SMALL:
            return math.log(above / below)
        return log_sum(logs[self._negative :]) - log_sum(logs[: self._negative])

    def _is_flat(self, densities: Reals) -> bool:
        """Whether the density changes little over all points."""
        return self.reaches_all and float(densities.max() - densities.min()) < _FLAT

    def beyond(self, answer: float) -> Certified:
        """P₊[Y >= answer] − e^ε·P₋[Y >= answer], from the sum that cancels least."""
        best = self._plain(answer)
        others = [self._from_crossing, *([] if self._bound is None else [self._bound.beyond])]
        for other in others:
            if best.error > _CANCELLED * self._rounding * best.value:
                best = min(best, other(answer), key=lambda one: one.error)
        return best

    def _plain(self, answer: float) -> Certified:
        """Σ Q·w·S(answer − k)."""
        chances = self.errors.exceedance(answer - self._offsets)
        gains = self._values[self._negative :] @ chances[self._negative :]
        losses = self._values[: self._negative] @ chances[: self._negative]
        reached = self.points.weights[self._near] * chances
        uncertainty = self.advantage.uncertainty(self._offsets, reached)
        if self._near.stop < self.points.offsets.size:  # what is beyond is certain to be exceeded
            certain = slice(self._near.stop, None)
            offsets, weights = self.points.offsets[certain], self.points.weights[certain]
            values = self.advantage.at(offsets)
            negative = int(values.searchsorted(0.0))
            gains += weights[negative:] @ values[negative:]
            losses += weights[:negative] @ values[:negative]
            uncertainty += self.advantage.uncertainty(offsets, weights)
        return self._difference(float(gains), -float(losses), uncertainty)

    def _from_crossing(self, answer: float) -> Certified:
        """Σ Q·w·(S(answer − k) − S(answer − k*)) − (e^ε − 1)·S(answer − k*), k* the crossing.

        No term of the sum is negative.
        """
        if self.epsilon > _LARGEST:
            return Certified(0.0, math.inf)
        at_crossing = np.array(answer - self.advantage.crossing)
        errors = answer - self.points.offsets
        values = self.points.weights * self.advantage.at(self.points.offsets)
        distances = self.points.offsets - self.advantage.crossing
        negative = distances < 0
        low = np.where(negative, at_crossing, errors)
        between = self.errors.between(low, np.abs(distances))
        terms = np.where(negative, -values, values) * between
        uncertain = np.abs(values) * self.errors.uncertainty(low, np.abs(distances))
        uncertainty = float(uncertain.sum())
        uncertainty += self.advantage.uncertainty(
            self.points.offsets, self.points.weights * between
        )
        losses = math.expm1(self.epsilon) * self.errors.exceedance(at_crossing)
        return self._difference(float(terms.sum()), float(losses), uncertainty)

    def _difference(self, gains: float, losses: float, uncertainty: float = 0.0) -> Certified:
        """Gains less losses, each a sum of terms that are not negative."""
        return difference(gains, losses, self._rounding, uncertainty)

    @property
    def _rounding(self) -> float:
        """The relative error of a term."""
        return self.pair.rounding + self.errors.rounding
