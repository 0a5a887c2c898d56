"""A probability with a bound of its error.

Sums that tell how exact they are.

ε as arguments: a number or an array of them, and what is told of each in the same shape.
"""

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from noisycount.frozen import frozen
from noisycount.model.laws.gamma import Reals

__all__ = [
    "NOTHING",
    "Between",
    "Bounded",
    "Certified",
    "checked_epsilons",
    "difference",
    "log_sum",
    "shaped",
]


_UNDERFLOW = 1e-301  # as much as 1e7 terms that underflow, each below 1e-308


_NEXT_TO_1 = 2.0**-53  # twice what a float next to 1 is off, as it and a bound of it are rounded


_ROUNDED_EXPONENT = 2e-15  # of an exponent: 9 roundings of 2^−52 in the sum that it is


class Bounded(Protocol):
    """A number and bounds that contain what it stands for."""

    @property
    def value(self) -> float:
        """The number."""
        ...

    @property
    def lower(self) -> float:
        """The least that it can be."""
        ...

    @property
    def upper(self) -> float:
        """The most that it can be."""
        ...

    @property
    def below_1(self) -> tuple[float, float]:
        """The least and the most that it can be less 1, with the digits it loses next to 1."""
        ...


@frozen
class Certified:
    """A number, and a bound of its error.

    Attributes:
        value: The number.
        error: How far the exact number may lie from it, not negative.
        rest: 1 less it, with an error of its own; None: that has no more digits.
    """

    value: float
    error: float
    rest: "Certified | None" = None

    @classmethod
    def probability(cls, value: float, error: float) -> "Certified":
        """A number in [0, 1], from a sum of exponentials that may lack terms below 1e-300.

        Exponents are rounded in proportion to their size.
        """
        if value > 0:
            error -= _ROUNDED_EXPONENT * math.log(value) * value
        return cls(min(1.0, max(0.0, value)), error + _UNDERFLOW)

    @classmethod
    def all_but(cls, rest: "Certified") -> "Certified":
        """1 less a number in [0, 1]."""
        return cls(max(0.0, 1 - rest.value), rest.error + _NEXT_TO_1, rest)

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


NOTHING = Certified(0.0, 0.0)


"""Exactly 0."""


@frozen
class Between:
    """A probability with bounds that lie unequally far from it.

    Attributes:
        value: What it is about, between the bounds.
        lower: The least that it can be.
        upper: The most that it can be.
        below_1: The least and the most that it can be less 1.
    """

    value: float
    lower: float
    upper: float
    below_1: tuple[float, float]

    @classmethod
    def of_bounds(cls, lower: float, upper: float, share: float = 1.0) -> "Between":
        """A number that lies at a share of the way between two bounds, which are kept in [0, 1].

        Args:
            lower: The lower bound.
            upper: The upper one.
            share: From 0 to 1.
        """
        low = min(1.0, max(0.0, lower))
        high = max(low, min(1.0, upper))
        return cls(min(high, low + share * (high - low)), low, high, (low - 1, high - 1))


def difference(gains: float, losses: float, rounding: float, uncertainty: float = 0.0) -> Certified:
    """Gains less losses, each a sum of terms that are not negative.

    Args:
        gains: The first sum.
        losses: The second sum.
        rounding: The relative error of a term.
        uncertainty: How far all terms together may be off beyond that.
    """
    return Certified(gains - losses, rounding * (gains + abs(losses)) + uncertainty)


def log_sum(logs: Reals) -> float:
    """The logarithm of Σ e^logs."""
    largest = float(logs.max())
    if math.isinf(largest):
        return largest
    return largest + math.log(float(np.exp(logs - largest).sum()))


def checked_epsilons(epsilon: ArrayLike) -> list[float]:
    """ε as a list of numbers.

    Args:
        epsilon: A number or an array of any shape.

    Raises:
        ValueError: If an ε is negative, infinite or no number.

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
    flat: list[float] = numbers.ravel().tolist()
    return flat


def shaped(values: Sequence[float], like: ArrayLike) -> float | Reals:
    """The values in the shape of an argument; a float for a number."""
    shape = np.shape(like)
    return np.array(values).reshape(shape) if shape else values[0]
