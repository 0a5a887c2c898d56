"""A table of noisy answers, and what became of it: names and numbers, without the engine."""

from dataclasses import dataclass
from pathlib import Path

from noisycount.model.populations.population import Population
from noisycount.readers.assumption import Rate

__all__ = ["AnswerTable", "RefinedTable", "RowLaws"]


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Where answers are, and where they go with their estimates.

    Attributes:
        path: A CSV or Parquet file; each row has an answer about a count of its own.
        column: Its column of answers.
        out: The file to write.
        size: Its column of public sizes; None: all counts have one size.
        rate: Its column of rates; None: all counts have one rate, or none is known.
        is_replacing: Whether a file that is there already may be replaced.
    """

    path: Path
    column: str
    out: Path
    size: str | None = None
    rate: str | None = None
    is_replacing: bool = False


@dataclass(frozen=True, slots=True)
class RowLaws:
    """What is known about the count of each row before its answer.

    Attributes:
        whole: The population of every row; None where sizes or rates are columns.
        size: Of every row; None where sizes are a column.
        rate: Of every row; None where rates are a column, or none is known.
        words: What an answer may contradict.
    """

    whole: Population | None = None
    size: int | None = None
    rate: Rate | None = None
    words: str = "the rate"


@dataclass(frozen=True, slots=True)
class RefinedTable:
    """What was written.

    Attributes:
        rows: The number of rows.
        missing: How many of them have no answer.
        contradictions: How many answers contradict what was assumed of their counts.
        level: That of the interval from low to high.
        seconds: How long it took.
        out: The file.
        assumed: What they contradict, in words.
    """

    rows: int
    missing: int
    contradictions: int
    level: float
    seconds: float
    out: Path
    assumed: str
