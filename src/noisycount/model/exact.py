"""Answers without noise: the count itself, and that an answer was below a threshold."""

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
    """No mechanism: the answer is the count itself.

    It is not differentially private; what one record can move is hidden only by what an outsider does not know about
    the other records.

    Source: Breutigam and Reischuk, statistical privacy of the pure query.

    Example:
        >>> import noisycount as nc
        >>> nc.Exact().release(42)
        42
    """

    def likelihood(self, answer: float, size: int) -> LogFactor:
        """The likelihood of a count k: 1 if it is the answer, else 0.

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

    def tail(self, answer: float, size: int, *, upper: bool) -> ValuedFactor:  # noqa: ARG002  (the count is told as it is)
        """1 for the counts on that side of the answer, 0 for the others."""
        support = (answer, math.inf) if upper else (-math.inf, answer)
        return LogFactor(np.zeros_like, support=support)

    def logpmf(self, answer: float, counts: ArrayLike, size: int | None = None) -> Reals:  # noqa: ARG002  (of every size)
        """0 for the count that is the answer, −inf for the others.

        Args:
            answer: The count, in records.
            counts: Counts k, an array of any shape.
            size: Not needed.
        """
        told = np.asarray(counts, dtype=np.float64) == real_number(answer, "answer")
        return np.where(told, 0.0, -np.inf)[()]

    def release(self, count: int) -> int:
        """The count.

        Args:
            count: The true count, a whole number.
        """
        return whole_number(count, "count")


@frozen
class Below(Shown):
    """The answer was less than a threshold."""

    threshold: float  # in records

    def last(self, mechanism: Mechanism) -> float:
        """The largest answer below the threshold: of noise that is continuous the threshold."""
        noise = getattr(mechanism, "noise", None) or mechanism
        is_continuous = isinstance(noise, SymmetricNoise) and not noise.is_discrete
        return self.threshold if is_continuous else math.ceil(self.threshold) - 1

    def likelihood(self, mechanism: Mechanism, size: int) -> ValuedFactor:
        """P[Y < t | K = k] as a function of the count k."""
        return mechanism.tail(self.last(mechanism), size, upper=False)


def below(threshold: float) -> Below:
    """An answer of which is known only that it was less than a threshold: a suppressed cell.

    It may stand wherever an answer of a count or of a table may. The noisy answer Y was below, not the count: the
    likelihood of a count k is P[Y < t | k].

    Args:
        threshold: In records: what was published had an answer of at least this.

    Raises:
        ValueError: If the threshold is not a finite number.

    Example:
        >>> import noisycount as nc
        >>> nc.below(450)
        Below(threshold=450.0)
    """
    return Below(real_number(threshold, "threshold"))
