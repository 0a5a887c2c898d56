"""The divergences of the laws of what is answered, for all kinds of records: what δ is made of.

δ of several answers for somebody who knows all other records, whatever was asked, and why.

Divergences that fall with ε, as those of all laws do, whatever rounding does to their bounds.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Protocol

from noisycount.analysis.privacy.bounds import Between, Bounded
from noisycount.analysis.privacy.noisy import hockey_sticks
from noisycount.analysis.privacy.pairs import Pair
from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.noises.errors import CertifiedErrorLaw

__all__ = ["Divergences", "Falling", "OneAnswer", "largest", "priced_delta", "whole_price"]


_ROUNDING = 1e-15  # of a rational as a float


class Divergences(Protocol):
    """δ₊ and δ₋ of some answers."""

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋, each the largest over all kinds of records, for each ε.

        Args:
            epsilons: ε >= 0, rising.
        """
        ...


@frozen(eq=False)
class OneAnswer:
    """Those of one answer about one count.

    Attributes:
        pairs: The laws of the count for each kind of record.
        errors: The law of the noise; None: there is none.
    """

    pairs: tuple[Pair, ...]
    errors: CertifiedErrorLaw | None

    @property
    def price(self) -> float | None:
        """The ε of differential privacy, rounded up, if each record moves the count by one alone.

        None: the noise has none, or a record may tell about others.
        """
        steepest = None if self.errors is None else self.errors.steepest
        if steepest is None or not all(pair.is_shift for pair in self.pairs):
            return None
        return float(steepest) * (1 + _ROUNDING)

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋, for each ε."""
        mirrored = [pair.mirrored for pair in self.pairs]
        return self._largest(self.pairs, epsilons), self._largest(mirrored, epsilons)

    def _largest(self, pairs: Sequence[Pair], epsilons: list[float]) -> list[Bounded]:
        """The largest δ of any pair in its first direction, for each ε."""
        return largest(hockey_sticks(pair, self.errors, epsilons) for pair in pairs)


def largest(curves: Iterable[Sequence[Bounded]]) -> list[Bounded]:
    """At each ε that of the largest upper end."""
    return [
        max(at_one, key=lambda one: (one.below_1[1], one.upper))
        for at_one in zip(*curves, strict=True)
    ]


def priced_delta(price: float, epsilon: float) -> float:
    """δ(ε) of whatever has the ε of differential privacy `price`: (e^price − e^ε)/(1 + e^price).

    Rounded up, as discrete Laplace noise has no less in the worst case.

    Args:
        price: The ε that was paid.
        epsilon: The ε asked for, at least 0.

    Source: Kairouz, Oh and Viswanath, *The Composition Theorem for Differential Privacy* (2015):
    it can be made from an answer that is right with odds e^price.

    Example:
        >>> round(priced_delta(1.0, 0.0), 3), priced_delta(1.0, 1.0), priced_delta(1.0, 1e6)
        (0.462, 0.0, 0.0)
    """
    if epsilon >= price:
        return 0.0
    return min(1.0, -math.expm1(epsilon - price) / (1 + math.exp(-price)) * (1 + _ROUNDING))


def whole_price(mechanisms: Sequence[Exact | SymmetricNoise]) -> float | None:
    """The ε of differential privacy of answers together, rounded up; None: one has none.

    Args:
        mechanisms: How each answer is made.
    """
    prices = [one.epsilon for one in mechanisms if isinstance(one, SymmetricNoise)]
    if len(prices) < len(mechanisms) or None in prices:
        return None
    whole = math.fsum(float(price) for price in prices if price is not None)
    return whole * (1 + _ROUNDING * len(prices))


_LARGEST = 350.0  # ε: the square of its exponential does not overflow


_ANCHORS = (4.0, 10.0)  # ε: rounding is multiplied by e^ε, and hides nearly all of a small δ


_FAR = (300.0,)  # ε at which nothing of one answer is hidden by what underflows


_LAST = 600.0  # ε up to which no threshold of one answer overflows


@frozen(eq=False)
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
