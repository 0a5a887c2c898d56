"""δ of a count with noise, in one direction."""

import math
from dataclasses import dataclass

from noisycount.analysis.curves.certified import NOTHING, Certified
from noisycount.analysis.curves.pair import Pair
from noisycount.analysis.curves.terms import Terms
from noisycount.analysis.curves.threshold import root
from noisycount.model.error_laws import ErrorLaw
from noisycount.model.laws.mesh import MeshPoints

__all__ = ["NoisyPair"]

_WIDEST_MESH = 2.0**13
_FINE_AROUND = 40.0
_MOST_MESHES = 20
_BELOW_SUPREMUM = 1e-10
_FAR_OUT = 60.0


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
        open_ones = [epsilon for epsilon in epsilons if not self._is_nothing(epsilon)]
        found = self._sequence(open_ones) if open_ones else []
        return found + [NOTHING] * (len(epsilons) - len(found))

    def _is_nothing(self, epsilon: float) -> bool:
        """Whether no answer can have a ratio above e^ε."""
        steepest = self.errors.steepest
        if self.pair.is_shift and steepest is not None and epsilon >= steepest:
            return True
        return self.pair.advantage(epsilon).crossing > self.pair.base.support[1]

    def _sequence(self, epsilons: list[float]) -> list[Certified]:
        """The same for ε that are open; on common points where the thresholds lie together."""
        first, at_first = self._threshold(epsilons[0], None)
        if len(epsilons) == 1:
            return [self._supremum(first, at_first)]
        last, at_last = self._threshold(epsilons[-1], first)
        common = None
        if math.isfinite(last) and last - first <= _WIDEST_MESH:
            highest = max(last, at_last.advantage.crossing)
            common = self.pair.base.points((math.floor(first), math.ceil(last)), highest)
        values, guess = [], first
        for epsilon in epsilons:
            answer, terms = self._threshold(epsilon, guess, common)
            values.append(self._supremum(answer, terms))
            guess = answer if math.isfinite(answer) else guess
        return values

    def _threshold(
        self, epsilon: float, guess: float | None, common: MeshPoints | None = None
    ) -> tuple[float, Terms]:
        """The answer at which the densities have the ratio e^ε, and the terms around it."""
        advantage = self.pair.advantage(epsilon)
        support, whole = self.pair.base.support, self.errors.is_discrete
        bounded = self.errors.steepest is not None
        limit = support[1] + _FAR_OUT * self.errors.spread if bounded else math.inf
        around = self._guess(advantage.crossing) if guess is None else guess
        step = self.errors.spread if guess is None else self.errors.spread / 16
        for _ in range(_MOST_MESHES):
            points = common or self.pair.base.points(
                (math.floor(around), math.ceil(around)), max(around, advantage.crossing)
            )
            terms = Terms(self.pair, self.errors, epsilon, advantage, points)
            answer = root(terms.log_odds, around, step, limit, whole=whole)
            is_fine = abs(answer - around) <= _FINE_AROUND or points.is_every_integer
            if common is not None or is_fine or math.isinf(answer):
                return answer, terms
            around, step = answer, self.errors.spread / 16
        raise ArithmeticError(f"no threshold was found at epsilon = {epsilon!r}")

    def _guess(self, crossing: float) -> float:
        """The threshold for laws that are about normal, near the crossing."""
        spread, deviation = self.errors.spread, self.pair.base.deviation
        beyond = crossing * (spread / deviation) ** 2
        return crossing + max(-3 * spread, min(3 * spread, beyond))

    def _supremum(self, answer: float, terms: Terms) -> Certified:
        """δ at a threshold, which is the supremum but for what the threshold is off."""
        if math.isinf(answer):
            return NOTHING
        found = terms.beyond(answer)
        value = max(0.0, found.value)
        return Certified(value, found.error + _BELOW_SUPREMUM * value)
