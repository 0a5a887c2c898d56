"""A table of noisy answers, and what became of it: names and numbers, without the engine."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["AnswerTable", "RefinedTable"]


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Where answers are, and where they go with their estimates.

    Attributes:
        path: A CSV or Parquet file; each row has an answer about a count of its own.
        column: Its column of answers.
        out: The file to write.
    """

    path: Path
    column: str
    out: Path


@dataclass(frozen=True, slots=True)
class RefinedTable:
    """What was written.

    Attributes:
        rows: The number of rows.
        missing: How many of them have no answer.
        level: That of the interval from low to high.
        seconds: How long it took.
        out: The file.
    """

    rows: int
    missing: int
    level: float
    seconds: float
    out: Path
