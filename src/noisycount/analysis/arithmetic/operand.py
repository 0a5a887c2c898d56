"""What can be subtracted, compared and divided: whatever has the law of a count."""

import math
from typing import Protocol

from noisycount.model.laws.count_law import CountDistribution
from noisycount.shown.line import short

__all__ = ["Operand", "law_of", "window"]


class Operand(Protocol):
    """A posterior, a node of a table, a difference of two of them."""

    @property
    def law(self) -> CountDistribution:
        """The law of the count."""
        ...


def law_of(operand: Operand, name: str) -> CountDistribution:
    """The law of an operand.

    Raises:
        ValueError: If it has none.
    """
    law = getattr(operand, "law", None)
    if isinstance(law, CountDistribution):
        return law
    raise ValueError(
        f"{name} must be a posterior or another result with the law of a count, "
        f"got {short(operand)}"
    )


def window(law: CountDistribution, depth: float) -> tuple[int, int]:
    """The counts within which a law lies, but for what is e^depth below its top."""
    low, high = law.reach(depth)
    smallest, largest = law.support
    return max(math.floor(low), smallest), min(math.ceil(high), largest)
