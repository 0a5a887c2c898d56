"""Private records that are open: what a question about them means, and the desk that counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from noisycount.release.desk import Dataset, Desk
from noisycount.release.ledger.entries import Analyst
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.question.normal_form import normal_form
from noisycount.release.question.parser import parse
from noisycount.release.question.schema import Kind
from noisycount.release.question.text import english
from noisycount.release.slot import Slot
from noisycount.release.sources.closing import Closing
from noisycount.release.sources.interface import Source
from noisycount.release.sources.opening import opened

__all__ = ["Records"]


@dataclass(frozen=True, slots=True)
class Records(Closing):
    r"""Records that only a desk can count; made by ``Records.open``.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "survey.csv")
        ...     _ = path.write_text("person,age\n1,31\n1,32\n2,29\n")
        ...     with Records.open(path, unit="person") as records:
        ...         records.meaning("age >= 30")
        'age is at least 30'
    """

    _source: Source

    @classmethod
    def open(
        cls,
        place: Path | str,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        table: str | None = None,
        kinds: Mapping[str, Kind] | None = None,
    ) -> Self:
        """The records at a place.

        Args:
            place: a CSV, Parquet or DuckDB file.
            unit: the column that names the person, or None where every record is one unit.
            columns: the columns that questions may use, or None for all but the unit.
            table: which table of a DuckDB file; not needed if it has only one.
            kinds: of the columns of a CSV file; None: nobody stated any.

        Raises:
            SourceError: the records cannot be read.
        """
        return cls(opened(place, unit=unit, columns=columns, table=table, kinds=kinds))

    def meaning(self, where: str) -> str:
        """A question in plain English, to follow "records where"; it depends on no record.

        Raises:
            PredicateError: the question is outside the language.
        """
        return english(normal_form(parse(where, self._source.schema)))

    def desk(
        self,
        ledger: Ledger,
        dataset: Dataset,
        slot: Slot | None = None,
        analyst: Analyst = Analyst(),  # noqa: B008 - frozen
    ) -> Desk:
        """The desk that counts these records; see ``Desk``."""
        return Desk(self._source, ledger, dataset, slot, analyst)

    def close(self) -> None:
        """The end of their use."""
        self._source.close()
