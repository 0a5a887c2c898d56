"""Divergences that fall with ε, as those of all laws do, whatever rounding does to their bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from noisycount.analysis.privacy.certified import Between, Bounded
from noisycount.analysis.privacy.divergences import Divergences, OneAnswer
from noisycount.analysis.privacy.worst_case import priced_delta

__all__ = ["Falling"]

_LARGEST = 350.0  # ε: the square of its exponential does not overflow
_ANCHORS = (4.0, 10.0)  # ε: rounding is multiplied by e^ε, and hides nearly all of a small δ
_FAR = (300.0,)  # ε at which nothing of one answer is hidden by what underflows
_LAST = 600.0  # ε up to which no threshold of one answer overflows


@dataclass(frozen=True, slots=True, eq=False)
class Falling:
    """Bounds of δ₊ and δ₋ of which none rises with ε.

    sup_A P[A] − e^ε·R[A] falls with ε. So its upper bound at one ε holds for all larger ones, and
    its lower bound for all smaller ones.

    Attributes:
        divergences: Whose bounds may rise, as rounding is multiplied by e^ε.
        price: The ε of differential privacy of all answers together, where no record tells of
            others; None: there is none, or it does not bind.
        anchors: Further ε that are looked at below a larger one.
        largest: The last ε that is looked at.
    """

    divergences: Divergences
    price: float | None = None
    anchors: tuple[float, ...] = _ANCHORS
    largest: float = _LARGEST

    @classmethod
    def of_one(cls, answer: OneAnswer) -> "Falling":
        """Those of one answer, whose bounds are close up to an ε of some hundreds."""
        return cls(answer, answer.price, _FAR, _LAST)

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Bounds of δ₊ and δ₋, for each ε."""
        if not epsilons:
            return [], []
        kept = {min(epsilon, self.largest) for epsilon in epsilons}
        asked = sorted(kept | {one for one in self.anchors if one < epsilons[-1]})
        plus, minus = self.divergences.directions(asked)
        return self._fallen(epsilons, asked, plus), self._fallen(epsilons, asked, minus)

    def _fallen(
        self, epsilons: list[float], asked: list[float], found: Sequence[Bounded]
    ) -> list[Bounded]:
        """The bounds of one direction at each ε, from those at the ε that were looked at."""
        known = [((one.lower, one.upper), one.below_1) for one in found]
        bounds, below_1 = (_falling(ends) for ends in zip(*known, strict=True))
        place = {epsilon: number for number, epsilon in enumerate(asked)}
        told: list[Bounded] = []
        for epsilon in epsilons:
            number = place[min(epsilon, self.largest)]
            one, most = found[number], self._most(epsilon)
            lower, upper = _at_most(bounds[number], most)
            least, largest = _at_most(below_1[number], most - 1)
            if epsilon > self.largest:
                lower, least = 0.0, -1.0
            if ((lower, upper), (least, largest)) == known[number]:
                told.append(one)
            else:
                value = min(max(one.value, lower), upper)
                told.append(Between(value, lower, upper, (least, largest)))
        return told

    def _most(self, epsilon: float) -> float:
        """What the price leaves at most."""
        return 1.0 if self.price is None else priced_delta(self.price, epsilon)


def _falling(bounds: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The bounds of what falls, each as close as those before and after it allow."""
    uppers = accumulate((upper for _, upper in bounds), min)
    lowers = list(accumulate((lower for lower, _ in reversed(bounds)), max))[::-1]
    return list(zip(lowers, uppers, strict=True))


def _at_most(bounds: tuple[float, float], most: float) -> tuple[float, float]:
    """The bounds of what is at most this, the lower one not above the upper one."""
    upper = min(bounds[1], most)
    return min(bounds[0], upper), upper
