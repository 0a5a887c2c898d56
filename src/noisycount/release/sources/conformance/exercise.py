"""What an engine is asked about one table of made-up records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from noisycount.release.question.keys import CellQuestion, KeyQuestion
from noisycount.release.question.schema import Kind
from noisycount.release.question.tree import Predicate
from noisycount.release.sources.conformance.cells import Feature
from noisycount.release.sources.truth import Record

__all__ = ["Exercise", "TableQuestion", "narrowed"]

TableQuestion = CellQuestion | KeyQuestion


@dataclass(frozen=True, slots=True, eq=False)
class Exercise:
    """Records and questions about them.

    Attributes:
        name: What the records are about.
        schema: The kind of every column of theirs.
        records: A value, or None, of each column.
        unit: The column that names the person; None: every record is one unit.
        predicates: What is counted.
        tables: Which tables are counted.
        is_optional: Whether an engine may refuse to hold the records.
        is_refused: Whether it must refuse to count them.
    """

    name: str
    schema: Mapping[str, Kind]
    records: Sequence[Record]
    unit: str | None = None
    predicates: Sequence[Predicate] = ()
    tables: Sequence[TableQuestion] = ()
    is_optional: bool = False
    is_refused: bool = False

    @property
    def questions(self) -> int:
        """How many there are."""
        return len(self.predicates) + len(self.tables)


@cache
def narrowed(exercise: Exercise, features: tuple[Feature, ...]) -> Exercise:
    """An exercise with missing values where cells have one of some features."""
    if not features:
        return exercise
    records = [
        {
            name: None if any(each.covers(cell) for each in features) else cell
            for name, cell in record.items()
        }
        for record in exercise.records
    ]
    return replace(exercise, records=records)
