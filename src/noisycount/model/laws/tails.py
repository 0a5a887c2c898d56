"""Factors whose logarithms are known at any counts, such as the tails of answers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from noisycount.model.laws.expansion import Expansion, Reals
from noisycount.model.laws.factor import BaseFactor

__all__ = ["LogFactor", "ValuedFactor"]


class ValuedFactor(BaseFactor):
    """A factor whose logarithm is known at any counts.

    Attributes:
        log_values: Its logarithm at an array of counts, of the shape given.
    """

    __slots__ = ()

    log_values: Callable[[Reals], Reals]

    def log_value(self, count: float) -> float:
        """The logarithm of its value at a count."""
        return float(self.log_values(np.array([float(count)]))[0])

    def expansion(self, centre: int) -> Expansion:
        """The differences of the logarithm."""
        at_centre = self.log_value(centre)

        def bend(offsets: Reals) -> Reals:
            change: Reals = self.log_values(np.asarray(centre + offsets)) - at_centre
            return change

        return Expansion(Decimal(0), bend)

    def log_step(self, count: int) -> float:
        """The logarithm of the value at count + 1 over that at count."""
        return float(self.log_steps([count])[0])

    def log_steps(self, counts: Sequence[int]) -> Reals:
        """The `log_step` of each of many counts, shape (counts,)."""
        starts = np.array(counts, dtype=np.float64)
        here, there = self.log_values(np.stack([starts, starts + 1]))
        return np.asarray(there - here)


@dataclass(frozen=True, slots=True)
class LogFactor(ValuedFactor):
    """A factor that is given by its logarithm, with its absolute size.

    Attributes:
        log_values: Its logarithm at counts; at real ones between integers where it is smooth there.
        kinks: The counts at which its logarithm is not smooth.
        support: The smallest and the largest count at which it is positive.
        is_log_concave: Whether its logarithm is concave.
    """

    log_values: Callable[[Reals], Reals]
    kinks: tuple[float, ...] = ()
    support: tuple[float, float] = (-math.inf, math.inf)
    is_log_concave: bool = True
