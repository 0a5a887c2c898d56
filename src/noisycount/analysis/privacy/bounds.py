"""Numbers with error bounds, and bounds of divergences. The bounds fall as ε rises, as divergences do.

`CertifiedNumber` and `BoundedProbability` are numbers with bounds. `MonotoneBounds` tightens the bounds of δ₊ and δ₋
across several ε.
"""

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

_UNDERFLOW = 1e-301  # bound of the sum of 1e7 terms that underflow, each below 1e-308
_NEXT_TO_1 = 2.0**-53  # twice the error of a float next to 1, as the float and its bound are rounded
_ROUNDED_EXPONENT = 2e-15  # relative error of an exponent: 9 roundings of 2^−52 in the sum that it is


@frozen
class CertifiedNumber:
    """A number with a bound of its error."""

    value: float
    error: float  # largest distance of the exact number from the value, not negative
    rest: "CertifiedNumber | None" = None  # 1 − value with its own error; None: 1 − value has no more digits

    @classmethod
    def probability(cls, value: float, error: float) -> "CertifiedNumber":
        """Return a number in [0, 1] that was computed as a sum of exponentials, possibly without terms below 1e-300.

        The error also covers the rounding of exponents, which grows with their size.
        """
        if value > 0:
            error -= _ROUNDED_EXPONENT * math.log(value) * value
        return cls(min(1.0, max(0.0, value)), error + _UNDERFLOW)

    @classmethod
    def more_precise(cls, value: float, error: float, complement: "CertifiedNumber | None") -> "CertifiedNumber":
        """Return a number in [0, 1], computed as 1 − complement if the complement has the smaller error."""
        if complement is None or complement.error >= error:
            return cls.probability(value, error)
        return cls(max(0.0, 1 - complement.value), complement.error + _NEXT_TO_1, complement)

    @property
    def lower(self) -> float:
        """Lower bound of the number, at least 0."""
        return max(0.0, self.value - self.error)

    @property
    def upper(self) -> float:
        """Upper bound of the number, at most 1."""
        return min(1.0, self.value + self.error)

    @property
    def below_1(self) -> tuple[float, float]:
        """Lower and upper bound of the number minus 1."""
        if self.rest is None:
            return self.lower - 1, self.upper - 1
        return -self.rest.upper, -self.rest.lower


NOTHING = CertifiedNumber(0.0, 0.0)  # exactly 0


@frozen
class BoundedProbability:
    """A probability with bounds at unequal distances."""

    value: float  # estimate, between the bounds
    lower: float  # lower bound
    upper: float  # upper bound
    below_1: tuple[float, float]  # lower and upper bound of the probability minus 1

    @classmethod
    def of_bounds(cls, lower: float, upper: float, share: float = 1.0) -> "BoundedProbability":
        """Return a number at a share of the way between two bounds, which are clipped to [0, 1]."""
        low = min(1.0, max(0.0, lower))
        high = max(low, min(1.0, upper))
        return cls(min(high, low + share * (high - low)), low, high, (low - 1, high - 1))


Bounded = CertifiedNumber | BoundedProbability  # a number with bounds that contain the exact value


def difference(gains: float, losses: float, rounding: float, uncertainty: float = 0.0) -> CertifiedNumber:
    """Return gains less losses, each a sum of terms that are not negative, with the error of rounding."""
    return CertifiedNumber(gains - losses, rounding * (gains + abs(losses)) + uncertainty)


def log_sum(logs: Reals) -> float:
    """Return ln Σ e^logs."""
    largest = float(logs.max())
    if math.isinf(largest):
        return largest
    return largest + math.log(float(np.exp(logs - largest).sum()))


def checked_epsilons(epsilon: ArrayLike) -> list[float]:
    """Return ε as a list of floats, or raise ValueError if one is negative, infinite or not a number.

    Example:
        >>> checked_epsilons(0), checked_epsilons([[0.1], [0.2]])
        ([0.0], [0.1, 0.2])
    """
    try:
        numbers = np.asarray(epsilon, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"epsilon must be a number or an array of numbers, got {epsilon!r}") from None
    if not ((numbers >= 0) & (numbers < np.inf)).all():
        raise ValueError(f"epsilon must be at least 0 and finite, got {epsilon!r}")
    return numbers.ravel().tolist()


def reshape_like(values: Sequence[float], like: ArrayLike) -> float | Reals:
    """Return the values in the shape of `like`: an array, or a float if `like` is a number."""
    shape = np.shape(like)
    return np.array(values).reshape(shape) if shape else values[0]


class Divergences(Protocol):
    """Divergences δ₊ and δ₋ of one answer or of several answers."""

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return δ₊ and δ₋ for each ε, each the largest over all kinds of records."""
        ...


def largest_bounds(curves: Iterable[Sequence[Bounded]]) -> list[Bounded]:
    """Return the bounds with the largest upper end at each ε."""
    return [
        max(at_one, key=lambda one: (one.below_1[1], one.upper)) if len(at_one) > 1 else at_one[0]
        for at_one in zip(*curves, strict=True)
    ]


ROUNDING_OF_RATIONAL = 1e-15  # relative error of a rational as a float


def pure_dp_delta(price: float, epsilon: float) -> float:
    """Return the largest δ(ε) of any mechanism with pure ε-DP at `price`: (e^price − e^ε)/(1 + e^price), rounded up.

    Discrete Laplace noise attains this δ in the worst case, so the rounding must not make it smaller.

    Source: Kairouz, Oh and Viswanath, *The Composition Theorem for Differential Privacy* (2015): every such mechanism
    is post-processing of an answer that is right with odds e^price.

    Example:
        >>> round(pure_dp_delta(1.0, 0.0), 3), pure_dp_delta(1.0, 1.0), pure_dp_delta(1.0, 1e6)
        (0.462, 0.0, 0.0)
    """
    if epsilon >= price:
        return 0.0
    return min(1.0, -math.expm1(epsilon - price) / (1 + math.exp(-price)) * (1 + ROUNDING_OF_RATIONAL))


def composed_epsilon(mechanisms: Sequence[Exact | SymmetricNoise]) -> float | None:
    """Return the ε of differential privacy of all answers together, rounded up; None if one answer has none."""
    prices = [one.epsilon for one in mechanisms if isinstance(one, SymmetricNoise)]
    if len(prices) < len(mechanisms) or None in prices:
        return None
    whole = math.fsum(float(price) for price in prices if price is not None)
    return whole * (1 + ROUNDING_OF_RATIONAL * len(prices))


_LARGEST_EPSILON = 350.0  # largest ε: the square of its exponential does not overflow
_ANCHORS = (4.0, 10.0)  # further ε: rounding is multiplied by e^ε, and dominates a small δ


@frozen(eq=False)
class MonotoneBounds:
    """Bounds of δ₊ and δ₋, none of which rises with ε.

    sup_A P[A] − e^ε·R[A] falls with ε. So its upper bound at one ε holds for all larger ε, and its lower bound for all
    smaller ε.

    Attributes:
        price: ε of differential privacy of all answers together, if the records are independent of each other; None:
            there is no such ε, or it gives no bound.
    """

    divergences: Divergences  # divergences whose bounds may rise with ε, as rounding is multiplied by e^ε
    price: float | None = None
    anchors: tuple[float, ...] = _ANCHORS  # further ε at which the divergences are computed, below a larger ε
    largest: float = _LARGEST_EPSILON  # largest ε at which the divergences are computed

    def directions(self, epsilons: list[float]) -> tuple[list[Bounded], list[Bounded]]:
        """Return bounds of δ₊ and δ₋, for each ε in ascending order."""
        if not epsilons:
            return [], []
        kept = {min(epsilon, self.largest) for epsilon in epsilons}
        asked = sorted(kept | {one for one in self.anchors if one < epsilons[-1]})
        plus, minus = self.divergences.directions(asked)
        return self._bounds_between(epsilons, asked, plus), self._bounds_between(epsilons, asked, minus)

    def _bounds_between(self, epsilons: list[float], asked: list[float], found: Sequence[Bounded]) -> list[Bounded]:
        """Return the bounds of one direction at each ε, from those at the computed ε."""
        known = [((one.lower, one.upper), one.below_1) for one in found]
        bounds, below_1 = (_monotone_bounds(ends) for ends in zip(*known, strict=True))
        place = {epsilon: number for number, epsilon in enumerate(asked)}
        told: list[Bounded] = []
        for epsilon in epsilons:
            number = place[min(epsilon, self.largest)]
            one, most = found[number], self._largest_delta(epsilon)
            is_falling = (bounds[number], below_1[number]) == known[number]
            if is_falling and bounds[number][1] <= most and below_1[number][1] <= most - 1 and epsilon <= self.largest:
                told.append(one)
                continue
            lower, upper = _capped_bounds(bounds[number], most)
            least, largest = _capped_bounds(below_1[number], most - 1)
            if epsilon > self.largest:
                lower, least = 0.0, -1.0
            if ((lower, upper), (least, largest)) == known[number]:
                told.append(one)
            else:
                value = min(max(one.value, lower), upper)
                told.append(BoundedProbability(value, lower, upper, (least, largest)))
        return told

    def _largest_delta(self, epsilon: float) -> float:
        """Return the largest δ that the price allows."""
        return 1.0 if self.price is None else pure_dp_delta(self.price, epsilon)


def _monotone_bounds(bounds: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the tightest bounds that follow for a falling function from bounds at ascending arguments."""
    uppers = accumulate((upper for _, upper in bounds), min)
    lowers = list(accumulate((lower for lower, _ in reversed(bounds)), max))[::-1]
    return list(zip(lowers, uppers, strict=True))


def _capped_bounds(bounds: tuple[float, float], most: float) -> tuple[float, float]:
    """Return the bounds of a number that is at most `most`; the lower bound is at most the upper one."""
    upper = min(bounds[1], most)
    return min(bounds[0], upper), upper
