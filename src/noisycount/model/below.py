"""An answer that was not told because it was small."""

import math
from dataclasses import dataclass

from noisycount.model.laws.tails import ValuedFactor
from noisycount.model.mechanism import Mechanism
from noisycount.model.noises.additive import SymmetricNoise
from noisycount.model.validation import real_number
from noisycount.shown.value import Shown

__all__ = ["Below", "below"]


@dataclass(frozen=True, slots=True)
class Below(Shown):
    """The answer was less than a threshold.

    Attributes:
        threshold: In records.
    """

    threshold: float

    def last(self, mechanism: Mechanism) -> float:
        """The largest answer below the threshold: of noise that is continuous the threshold."""
        noise = getattr(mechanism, "noise", None) or mechanism
        is_continuous = isinstance(noise, SymmetricNoise) and not noise.is_discrete
        return self.threshold if is_continuous else math.ceil(self.threshold) - 1

    def likelihood(self, mechanism: Mechanism, size: int) -> ValuedFactor:
        """P[Y < t | K = k] as a function of the count k.

        Args:
            mechanism: The law of the answer given the count.
            size: The number of records of the database.
        """
        return mechanism.tail(self.last(mechanism), size, upper=False)


def below(threshold: float) -> Below:
    """An answer of which is known only that it was less than a threshold: a suppressed cell.

    It may stand wherever an answer of a count or of a table may. The noisy answer Y was below, not
    the count: the likelihood of a count k is P[Y < t | k].

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
