"""An answer that was not told because it was small."""

from dataclasses import dataclass

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


def below(threshold: float) -> Below:
    """An answer of which is known only that it was less than a threshold: a suppressed cell.

    It may stand wherever an answer of a table may. The noisy answer Y was below, not the count:
    the likelihood of a count k is P[Y < t | k].

    Args:
        threshold: In records: what was published had an answer of at least this.

    Raises:
        ValueError: If the threshold is not a finite number.

    Example:
        >>> below(450)
        Below(threshold=450.0)
    """
    return Below(real_number(threshold, "threshold"))
