"""δ of a count with noise, in one direction."""

import math
from dataclasses import dataclass

import numpy as np

from noisycount.analysis.privacy.certified import NOTHING, Certified
from noisycount.analysis.privacy.pairs.pair import Advantage, Pair
from noisycount.analysis.privacy.terms import Terms
from noisycount.analysis.privacy.threshold import Search, extrapolated, first_whole, root
from noisycount.model.laws.mesh import MeshPoints
from noisycount.model.noises.error_law import CertifiedErrorLaw

__all__ = ["WIDEST_MESH", "Asked", "NoisyPair"]

WIDEST_MESH = 2.0**13
_NEARBY = 40.0
_MOST_MESHES = 20
_SMOOTH = 48.0
_MOST_BLOCKS = 64
_BEFORE = 3
_TILTED = 13.0  # standard deviations about the crossing that an answer at the threshold leaves
_SHORTEST = 1e-3
_BELOW_SUPREMUM = 1e-10
_FAR_OUT = 750.0
_UNDECIDED = 1e-11


Asked = tuple[float, Advantage]


@dataclass(frozen=True, slots=True)
class Threshold:
    """Where the answers begin that a positive record makes likelier by more than e^ε.

    Attributes:
        answer: The first of them; inf if there are none.
        passed: About where the ratio is e^ε, if answers are integers, else the same.
        terms: The terms of δ around it.
    """

    answer: float
    passed: float
    terms: Terms


@dataclass(frozen=True, slots=True)
class NoisyPair:
    """Two laws of a count and noise that is added to it.

    Attributes:
        pair: The laws of the count.
        errors: The law of the noise.
    """

    pair: Pair
    errors: CertifiedErrorLaw

    def hockey_sticks(self, asked: list[Asked]) -> list[Certified]:
        """sup_S P₊[Y in S] − e^ε·P₋[Y in S] for each ε of a rising list, given w of each.

        The supremum is reached by the answers from a threshold on, at which the densities have the
        ratio e^ε: δ depends on the threshold only in second order.
        """
        common = self._common_points(asked)
        values: list[Certified] = []
        path: list[tuple[float, float]] = []
        for one in asked:
            threshold = self._threshold(one, *self._expected(one, path), common)
            values.append(self._supremum(threshold))
            if math.isfinite(threshold.passed):
                path = [*path[1 - _BEFORE :], (one[0], threshold.passed)]
        return values

    def _common_points(self, asked: list[Asked]) -> MeshPoints | None:
        """Points for all ε, if the noise does not bend or all thresholds lie together."""
        crossing = asked[-1][1].crossing
        if self.errors.smooth_over >= max(_SMOOTH, self.pair.base.deviation / _MOST_BLOCKS):
            beyond = crossing + _TILTED * self.pair.base.deviation
            return self.pair.base.points(None, beyond, self.errors.smooth_over)
        if len(asked) == 1:
            return None
        first = self._threshold(asked[0], *self._expected(asked[0], []), None).answer
        last = self._threshold(asked[-1], *self._expected(asked[-1], []), None).answer
        if not math.isfinite(last) or last - first > WIDEST_MESH:
            return None
        return self.pair.base.points(
            (math.floor(first), math.ceil(last)), self._highest(last, asked[-1][1])
        )

    def _threshold(
        self, asked: Asked, around: float, step: float, common: MeshPoints | None
    ) -> Threshold:
        """The answer at which the densities have the ratio e^ε."""
        epsilon, advantage = asked
        deviation = self.pair.base.deviation
        for again in range(_MOST_MESHES):
            points = common or self.pair.base.points(
                (math.floor(around), math.ceil(around)), self._highest(around, advantage)
            )
            margin = self._margin * 4.0**again
            if common is not None and again == 0:
                margin = min(_NEARBY, 16 * step + 1)
            terms = Terms(self.pair, self.errors, epsilon, advantage, points, around, margin)
            margin = math.inf if terms.reaches_all else margin
            search = Search(around, step, self._limit, margin, self._lowest)
            if self.errors.is_discrete:
                answer, passed = first_whole(terms.log_odds, search)
            else:
                length = max(_SHORTEST, min(self.errors.spread, max(1.0, deviation)))
                answer = passed = root(terms.log_odds, search, length)
            away = abs(answer - around)
            fits = common is not None or points.is_every_integer or away <= _NEARBY
            if math.isinf(answer) or (fits and away <= margin):
                return Threshold(answer, passed, terms)
            around, step = answer, max(self.errors.spread / 16, away / 16)
        raise ArithmeticError(f"no threshold was found at epsilon = {epsilon!r}")

    def _without_tie(self, found: Certified, threshold: Threshold) -> Certified:
        """δ without an answer whose ratio is e^ε up to rounding: it adds nothing but rounding."""
        rest = threshold.terms.beyond(threshold.answer + 1)
        if rest.error > found.error / 2:
            return found
        return Certified(rest.value, found.error + abs(found.value - rest.value))

    def _below_lowest(self, terms: Terms) -> Certified:
        """δ where no answer is less likely if the record is positive: 0, but for rounding.

        As P₊ − e^ε·P₋ is at most 0 in all, its positive part is at most its negative part, and that
        is negative by rounding alone.
        """
        values = terms.advantage.at(terms.points.offsets)
        losses = float(terms.points.weights @ np.maximum(-values, 0.0))
        return Certified.probability(0.0, _UNDECIDED * losses)

    def _beyond_limit(self, terms: Terms) -> Certified:
        """δ where no answer below the limit has a ratio of e^ε: exactly 0 under Laplace noise.

        Its ratios no longer change there; ε can lie within rounding of the last one.
        """
        is_bounded = self.errors.steepest is not None
        if is_bounded and terms.log_odds(self._limit) >= -_UNDECIDED:
            return Certified.probability(0.0, _UNDECIDED)
        return NOTHING if self.errors.is_geometric else Certified.probability(0.0, 0.0)

    @property
    def _margin(self) -> float:
        """How far a threshold may lie from where it was expected before all is seen from there."""
        return max(_NEARBY, self.errors.spread)

    @property
    def _limit(self) -> float:
        """An answer that all counts exceed with a probability below 1e-300."""
        return self.pair.base.support[1] + self._reach

    @property
    def _lowest(self) -> float:
        """An answer that no count falls short of, with a probability above 1e-300."""
        return self.pair.base.support[0] - self._reach

    @property
    def _reach(self) -> float:
        """An error that noise exceeds with a probability below 1e-300."""
        return min(self.errors.reach(_FAR_OUT), 2 * _FAR_OUT * self.errors.spread)

    def _highest(self, answer: float, advantage: Advantage) -> float:
        """The offset up to which sums reach: just below 1/scale of Laplace noise, far beyond."""
        tilted = self.pair.is_shift and self.errors.steepest is not None
        beyond = _TILTED * self.pair.base.deviation if tilted else 0.0
        return max(answer, advantage.crossing) + beyond

    def _expected(self, asked: Asked, path: list[tuple[float, float]]) -> tuple[float, float]:
        """About the threshold, and about how far off that is, from three as far apart before.

        The first guess is that for laws that are about normal, near the crossing.
        """
        spread = self.errors.spread
        is_even = len(path) == _BEFORE and asked[0] - path[2][0] < 2 * (path[2][0] - path[1][0])
        if not is_even:
            crossing = asked[1].crossing
            deviation = max(self.pair.base.deviation, _SHORTEST)
            beyond, most = crossing * (spread / deviation) ** 2, 3 * spread
            if self.errors.steepest is not None:
                most = min(most, deviation)
            return crossing + max(-most, min(most, beyond)), max(most, _SHORTEST)
        answer, correction = extrapolated(path, asked[0])
        return answer, max(abs(correction) / 4, spread / 256, _SHORTEST)

    def _supremum(self, threshold: Threshold) -> Certified:
        """δ at a threshold, which is the supremum but for what the threshold is off."""
        if math.isinf(threshold.answer):
            is_below = threshold.answer < 0
            return (self._below_lowest if is_below else self._beyond_limit)(threshold.terms)
        found = threshold.terms.beyond(threshold.answer)
        if self.errors.is_discrete and abs(threshold.terms.log_odds(threshold.answer)) < _UNDECIDED:
            found = self._without_tie(found, threshold)
        return Certified.probability(found.value, found.error + _BELOW_SUPREMUM * abs(found.value))
