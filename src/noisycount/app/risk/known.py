"""What is public about the records that a list of answers is about."""

from dataclasses import dataclass
from pathlib import Path

from noisycount.app.refine.assumption import Rate
from noisycount.errors import NoisyCountError

__all__ = ["Known", "check_known"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is public about the records.

    Attributes:
        size: Their number; None: that of the data set.
        rate: The rate of the only question; None where there are several.
        atoms: The file of the atoms; None where there is one question.
        least: The number of records from which on a group is large.
        held: How many records the partly informed adversary holds; None: there is no such one.
    """

    size: int | None
    rate: Rate | None
    atoms: Path | None
    least: float
    held: int | None = None


def check_known(known: int, size: int) -> None:
    """The refusal of so many known records that nobody is left to protect.

    Raises:
        NoisyCountError: They are all.

    Example:
        >>> check_known(99, 100)
    """
    if known >= size:
        raise NoisyCountError(
            f"--known {known} leaves nobody to protect among {size} records: give at most "
            f"{size - 1}"
        )
