"""δ of a count with noise, in one direction."""

import math
from dataclasses import dataclass

from noisycount.analysis.curves.certified import NOTHING, Certified
from noisycount.analysis.curves.pair import Advantage, Pair
from noisycount.analysis.curves.terms import Terms
from noisycount.analysis.curves.threshold import first_whole, root
from noisycount.model.error_laws import ErrorLaw
from noisycount.model.laws.mesh import MeshPoints

__all__ = ["NoisyPair"]

_WIDEST_MESH = 2.0**13
_NEARBY = 40.0
_MOST_MESHES = 20
_SMOOTH = 48.0
_BELOW_SUPREMUM = 1e-10
_FAR_OUT = 60.0


Asked = tuple[float, Advantage]


@dataclass(frozen=True, slots=True)
class NoisyPair:
    """Two laws of a count and noise that is added to it.

    Attributes:
        pair: The laws of the count.
        errors: The law of the noise.
    """

    pair: Pair
    errors: ErrorLaw

    def hockey_sticks(self, epsilons: list[float]) -> list[Certified]:
        """sup_S P₊[Y in S] − e^ε·P₋[Y in S] for each ε >= 0 of a rising list.

        The supremum is reached by the answers from a threshold on, at which the densities have the
        ratio e^ε: δ depends on the threshold only in second order.
        """
        steepest = self.errors.steepest if self.pair.is_shift else None
        bounded = [one for one in epsilons if steepest is None or one < steepest]
        advantages = [self.pair.advantage(epsilon) for epsilon in bounded]
        last = self.pair.base.support[1]
        open_ones = [
            one for one in zip(bounded, advantages, strict=True) if one[1].crossing <= last
        ]
        found = self._sequence(open_ones) if open_ones else []
        return found + [NOTHING] * (len(epsilons) - len(found))

    def _sequence(self, asked: list[Asked]) -> list[Certified]:
        """The same for ε at which some count has a higher ratio, with what each count adds."""
        common = self._common_points(asked)
        values: list[Certified] = []
        path: list[tuple[float, float]] = []
        for one in asked:
            answer, terms = self._threshold(one, *self._expected(one, path), common)
            values.append(self._supremum(answer, terms))
            if math.isfinite(answer):
                path = [*path[-1:], (one[0], answer)]
        return values

    def _common_points(self, asked: list[Asked]) -> MeshPoints | None:
        """Points for all ε, if the noise does not bend or all thresholds lie together."""
        crossing = asked[-1][1].crossing
        if self.errors.smooth_over >= _SMOOTH:
            return self.pair.base.points(None, crossing, self.errors.smooth_over)
        if len(asked) == 1:
            return None
        first, _ = self._threshold(asked[0], *self._expected(asked[0], []), None)
        last, _ = self._threshold(asked[-1], *self._expected(asked[-1], []), None)
        if not math.isfinite(last) or last - first > _WIDEST_MESH:
            return None
        return self.pair.base.points((math.floor(first), math.ceil(last)), max(last, crossing))

    def _threshold(
        self, asked: Asked, around: float, step: float, common: MeshPoints | None
    ) -> tuple[float, Terms]:
        """The answer at which the densities have the ratio e^ε, and the terms around it."""
        epsilon, advantage = asked
        bounded, deviation = self.errors.steepest is not None, self.pair.base.deviation
        limit = self.pair.base.support[1] + _FAR_OUT * self.errors.spread if bounded else math.inf
        for _ in range(_MOST_MESHES):
            points = common or self.pair.base.points(
                (math.floor(around), math.ceil(around)), max(around, advantage.crossing)
            )
            terms = Terms(self.pair, self.errors, epsilon, advantage, points, around)
            if self.errors.is_discrete:
                answer = first_whole(terms.log_odds, around, step, limit)
            else:
                length = min(self.errors.spread, max(1.0, deviation))
                answer = root(terms.log_odds, around, step, length, limit)
            fits = points.is_every_integer and terms.reaches_all
            if fits or math.isinf(answer) or abs(answer - around) <= _NEARBY:
                return answer, terms
            around, step = answer, self.errors.spread / 16
        raise ArithmeticError(f"no threshold was found at epsilon = {epsilon!r}")

    def _expected(self, asked: Asked, path: list[tuple[float, float]]) -> tuple[float, float]:
        """About the threshold, and about how far off that is: from those before, if there are two.

        The first guess is that for laws that are about normal, near the crossing.
        """
        spread = self.errors.spread
        if len(path) > 1:
            (epsilon, answer), (last_epsilon, last_answer) = path
            move = last_answer - answer
            move *= (asked[0] - last_epsilon) / (last_epsilon - epsilon)
            return last_answer + move, max(abs(move) / 64, spread / 256)
        crossing = asked[1].crossing
        beyond = crossing * (spread / self.pair.base.deviation) ** 2
        return crossing + max(-3 * spread, min(3 * spread, beyond)), spread

    def _supremum(self, answer: float, terms: Terms) -> Certified:
        """δ at a threshold, which is the supremum but for what the threshold is off."""
        if math.isinf(answer):
            return NOTHING
        found = terms.beyond(answer)
        return Certified.probability(found.value, found.error + _BELOW_SUPREMUM * abs(found.value))
