"""What is public about the records that a list of answers is about."""

from dataclasses import dataclass
from pathlib import Path

from noisycount.app.refine.assumption import Rate

__all__ = ["Known"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is public about the records.

    Attributes:
        size: Their number; None: that of the data set.
        rate: The rate of the only question; None where there are several.
        atoms: The file of the atoms; None where there is one question.
        least: The number of records from which on a group is large.
    """

    size: int | None
    rate: Rate | None
    atoms: Path | None
    least: float
