"""Numbers with bounds of their error, and divergences whose bounds fall with ε as they do."""

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from noisycount.frozen import frozen
from noisycount.model.exact import Exact
from noisycount.model.laws.gamma import Reals
from noisycount.model.noises.additive import SymmetricNoise

_UNDERFLOW = 1e-301  # as much as 1e7 terms that underflow, each below 1e-308
_NEXT_TO_1 = 2.0**-53  # twice what a float next to 1 is off, as it and a bound of it are rounded
_ROUNDED_EXPONENT = 2e-15  # of an exponent: 9 roundings of 2^−52 in the sum that it is


@frozen
class Certified:
    """A number, and a bound of its error."""

    value: float
    error: float  # how far the exact number may lie from it, not negative
    rest: "Certified | None" = None  # 1 less it, with an error of its own; None: that has no more digits

    @classmethod
    def probability(cls, value: float, error: float) -> "Certified":
        """A number in [0, 1], from a sum of exponentials that may lack terms below 1e-300.

        Exponents are rounded in proportion to their size.
        """
        if value > 0:
            error -= _ROUNDED_EXPONENT * math.log(value) * value
        return cls(min(1.0, max(0.0, value)), error + _UNDERFLOW)

    @classmethod
    def closer(cls, value: float, error: float, complement: "Certified | None") -> "Certified":
        """A number in [0, 1], or 1 less its complement where that is known better."""
        if complement is None or complement.error >= error:
            return cls.probability(value, error)
        return cls(max(0.0, 1 - complement.value), complement.error + _NEXT_TO_1, complement)

    @property
    def lower(self) -> float:
        """The least that it can be, not negative."""
        return max(0.0, self.value - self.error)

    @property
    def upper(self) -> float:
        """The most that it can be, at most 1."""
        return min(1.0, self.value + self.error)

    @property
    def below_1(self) -> tuple[float, float]:
        """The least and the most that it can be less 1."""
        if self.rest is None:
            return self.lower - 1, self.upper - 1
        return -self.rest.upper, -self.rest.lower


NOTHING = Certified(0.0, 0.0)  # exactly 0


@frozen
class Between:
    """A probability with bounds that lie unequally far from it."""

    value: float  # what it is about, between the bounds
    lower: float  # the least that it can be
    upper: float  # the most that it can be
    below_1: tuple[float, float]  # the least and the most that it can be less 1

    @classmethod
    def of_bounds(cls, lower: float, upper: float, share: float = 1.0) -> "Between":
        """A number that lies at a share of the way between two bounds, which are kept in [0, 1]."""
        low = min(1.0, max(0.0, lower))
        high = max(low, min(1.0, upper))
        return cls(min(high, low + share * (high - low)), low, high, (low - 1, high - 1))


Bounded = Certified | Between  # a number and bounds that contain what it stands for


def difference(gains: float, losses: float, rounding: float, uncertainty: float = 0.0) -> Certified:
    """Gains less losses, each a sum of terms that are not negative."""
    return Certified(gains - losses, rounding * (gains + abs(losses)) + uncertainty)


def log_sum(logs: Reals) -> float:
    """The logarithm of Σ e^logs."""
    largest = float(logs.max())
    if math.isinf(largest):
        return largest
    return largest + math.log(float(np.exp(logs - largest).sum()))


def checked_epsilons(epsilon: ArrayLike) -> list[float]:
    """ε as a list of numbers.

    Example:
        >>> checked_epsilons(0), checked_epsilons([[0.1], [0.2]])
        ([0.0], [0.1, 0.2])
    """
    try:
        numbers = np.asarray(epsilon, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"epsilon must be numbers, got {epsilon!r}") from None
    if not ((numbers >= 0) & (numbers < np.inf)).all():
        raise ValueError(f"epsilon must be at least 0 and finite, got {epsilon!r}")
    return numbers.ravel().tolist()


def shaped(values: Sequence[float], like: ArrayLike) -> float | Reals:
    """The values in the shape of an argument; a float for a number."""
    shape = np.shape(like)
    return np.array(values).reshape(shape) if shape else values[0]


class Divergences(Protocol):
    """δ₊ and δ₋ of some answers."""

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """δ₊ and δ₋, each the largest over all kinds of records, for each ε."""
        ...


def largest(curves: Iterable[Sequence[Bounded]]) -> list[Bounded]:
    """At each ε that of the largest upper end."""
    return [max(at_one, key=lambda one: (one.below_1[1], one.upper)) for at_one in zip(*curves, strict=True)]


ROUNDING_OF_RATIONAL = 1e-15  # of a rational as a float


def pure_dp_delta(price: float, epsilon: float) -> float:
    """δ(ε) of whatever has the ε of differential privacy `price`: (e^price − e^ε)/(1 + e^price).

    Rounded up, as discrete Laplace noise has no less in the worst case.

    Source: Kairouz, Oh and Viswanath, *The Composition Theorem for Differential Privacy* (2015): it can be made from an
    answer that is right with odds e^price.

    Example:
        >>> round(pure_dp_delta(1.0, 0.0), 3), pure_dp_delta(1.0, 1.0), pure_dp_delta(1.0, 1e6)
        (0.462, 0.0, 0.0)
    """
    if epsilon >= price:
        return 0.0
    return min(1.0, -math.expm1(epsilon - price) / (1 + math.exp(-price)) * (1 + ROUNDING_OF_RATIONAL))


def composed_epsilon(mechanisms: Sequence[Exact | SymmetricNoise]) -> float | None:
    """The ε of differential privacy of answers together, rounded up; None: one has none."""
    prices = [one.epsilon for one in mechanisms if isinstance(one, SymmetricNoise)]
    if len(prices) < len(mechanisms) or None in prices:
        return None
    whole = math.fsum(float(price) for price in prices if price is not None)
    return whole * (1 + ROUNDING_OF_RATIONAL * len(prices))


_LARGEST_EPSILON = 350.0  # ε: the square of its exponential does not overflow
_ANCHORS = (4.0, 10.0)  # ε: rounding is multiplied by e^ε, and hides nearly all of a small δ


@frozen(eq=False)
class MonotoneBounds:
    """Bounds of δ₊ and δ₋ of which none rises with ε.

    sup_A P[A] − e^ε·R[A] falls with ε. So its upper bound at one ε holds for all larger ones, and its lower bound for
    all smaller ones.

    Attributes:
        price: The ε of differential privacy of all answers together, where no record tells of others; None: there is
            none, or it does not bind.
    """

    divergences: Divergences  # whose bounds may rise, as rounding is multiplied by e^ε
    price: float | None = None
    anchors: tuple[float, ...] = _ANCHORS  # further ε that are looked at below a larger one
    largest: float = _LARGEST_EPSILON  # the last ε that is looked at

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Bounds of δ₊ and δ₋, for each ε."""
        if not epsilons:
            return [], []
        kept = {min(epsilon, self.largest) for epsilon in epsilons}
        asked = sorted(kept | {one for one in self.anchors if one < epsilons[-1]})
        plus, minus = self.divergences.directions(asked)
        return self._fallen(epsilons, asked, plus), self._fallen(epsilons, asked, minus)

    def _fallen(self, epsilons: list[float], asked: list[float], found: Sequence[Bounded]) -> list[Bounded]:
        """The bounds of one direction at each ε, from those at the ε that were looked at."""
        known = [((one.lower, one.upper), one.below_1) for one in found]
        bounds, below_1 = (_monotone(ends) for ends in zip(*known, strict=True))
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
        return 1.0 if self.price is None else pure_dp_delta(self.price, epsilon)


def _monotone(bounds: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The bounds of what falls, each as close as those before and after it allow."""
    uppers = accumulate((upper for _, upper in bounds), min)
    lowers = list(accumulate((lower for lower, _ in reversed(bounds)), max))[::-1]
    return list(zip(lowers, uppers, strict=True))


def _at_most(bounds: tuple[float, float], most: float) -> tuple[float, float]:
    """The bounds of what is at most this, the lower one not above the upper one."""
    upper = min(bounds[1], most)
    return min(bounds[0], upper), upper
