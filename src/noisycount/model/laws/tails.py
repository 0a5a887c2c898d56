"""How likely an answer is to lie at least as far to one side, as a function of the count."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from noisycount.model.laws.expansion import Expansion, Reals
from noisycount.model.laws.factor import LogStep

__all__ = ["Tail", "ValuedFactor", "threshold_tail"]


class ValuedFactor:
    """A factor whose logarithm is known at each count by a sum of its own."""

    __slots__ = ()

    log_value: Callable[[float], float]

    def expansion(self, centre: int) -> Expansion:
        """The differences of the logarithm."""
        at_centre = self.log_value(float(centre))

        def bend(offsets: Reals) -> Reals:
            values = [self.log_value(centre + offset) for offset in offsets.ravel().tolist()]
            return np.array(values).reshape(offsets.shape) - at_centre

        return Expansion(Decimal(0), bend)

    def log_step(self, count: int) -> float:
        """The logarithm of the value at count + 1 over that at count."""
        return self.log_value(count + 1.0) - self.log_value(float(count))

    def exact_log_step(self, count: int) -> LogStep:
        """The same, as the rational that the float stands for."""
        return LogStep(shift=Fraction(self.log_step(count)))


@dataclass(frozen=True, slots=True)
class Tail(ValuedFactor):
    """The factor P[Y >= y | K = k], or P[Y <= y | K = k], of a count k, with its absolute size.

    Attributes:
        log_value: Its logarithm at a count; real counts between integers where it is smooth there.
        kinks: The counts at which its logarithm is not smooth.
        support: The smallest and the largest count at which it is positive.
        is_log_concave: Whether its logarithm is concave.
    """

    log_value: Callable[[float], float]
    kinks: tuple[float, ...] = ()
    support: tuple[float, float] = (-math.inf, math.inf)
    is_log_concave: bool = True


def threshold_tail(lowest: float, highest: float) -> Tail:
    """The tail of a count that is told as it is: 1 between two counts, 0 elsewhere."""
    return Tail(lambda _: 0.0, support=(lowest, highest))
