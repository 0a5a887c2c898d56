"""Mechanisms without noise, and suppressed answers that are only known to lie below a threshold.

`Exact` returns the count; `below` states a suppressed cell. `mechanism` has the interface.
"""

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from noisycount.display.values import Shown
from noisycount.frozen import frozen
from noisycount.model.laws.factors import LogFactor, ValuedFactor
from noisycount.model.laws.gamma import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.validation import real_number, whole_number


@frozen
class Exact(Mechanism):
    """The mechanism without noise: the answer is the count itself.

    P[Y = y | K = k] = [y = k]. It is not differentially private. Only the adversary's uncertainty about the other
    records hides the effect of one record.

    Source: Breutigam and Reischuk, statistical privacy of the pure query.

    Example:
        >>> import noisycount as nc
        >>> nc.Exact().release(42)
        42
    """

    def likelihood(self, answer: float, size: int) -> LogFactor:
        """Return the likelihood of a count k: 1 if it is the answer, else 0.

        Args:
            answer: The count, in records.
            size: The number of records of the database.

        Raises:
            ValueError: If the answer is not a whole number from 0 to the size.
        """
        is_number = isinstance(answer, Real) and not isinstance(answer, bool)
        if is_number and 0 <= answer <= size and answer == math.floor(answer):
            return LogFactor(np.zeros_like, support=(int(answer), int(answer)))
        raise ValueError(f"answer must be a whole number from 0 to {size} without noise, got {answer!r}")

    def tail(self, answer: float, size: int, *, upper: bool) -> ValuedFactor:  # noqa: ARG002  (the answer is the count)
        """Return 1 for counts with k >= answer (upper) or k <= answer, else 0, as a function of the count k."""
        support = (answer, math.inf) if upper else (-math.inf, answer)
        return LogFactor(np.zeros_like, support=support)

    def logpmf(self, answer: float, counts: ArrayLike, size: int | None = None) -> Reals:  # noqa: ARG002  (of every size)
        """Return 0 for the count that equals the answer, −inf for the others.

        Args:
            answer: The count, in records.
            counts: Counts k, an array of any shape.
            size: Ignored; the answer does not depend on the number of records.
        """
        is_answer = np.asarray(counts, dtype=np.float64) == real_number(answer, "answer")
        return np.where(is_answer, 0.0, -np.inf)[()]

    def release(self, count: int) -> int:
        """Return the count.

        Args:
            count: The true count, a whole number.
        """
        return whole_number(count, "count")


@frozen
class Below(Shown):
    """The event that an answer was less than a threshold."""

    threshold: float  # in records

    def largest_answer(self, mechanism: Mechanism) -> float:
        """Return the largest possible answer below the threshold; for continuous noise, the threshold itself."""
        noise = getattr(mechanism, "noise", None) or mechanism
        is_continuous = isinstance(noise, SymmetricNoise) and not noise.is_discrete
        return self.threshold if is_continuous else math.ceil(self.threshold) - 1

    def likelihood(self, mechanism: Mechanism, size: int) -> ValuedFactor:
        """Return P[Y < t | K = k] as a function of the count k."""
        return mechanism.tail(self.largest_answer(mechanism), size, upper=False)


def below(threshold: float) -> Below:
    """Return a suppressed answer, of which only a bound is known: it was less than a threshold.

    It can be passed in place of any answer of a count or of a table. The noisy answer Y was below the threshold, not
    necessarily the count: the likelihood of a count k is P[Y < t | k].

    Args:
        threshold: The threshold t, in records; published answers were at least t.

    Raises:
        ValueError: If the threshold is not a finite number.

    Example:
        >>> import noisycount as nc
        >>> nc.below(450)
        Below(threshold=450.0)
    """
    return Below(real_number(threshold, "threshold"))
