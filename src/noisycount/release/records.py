"""Private records that are open: what a question about them means, and the desk that counts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from noisycount.release.desk import Dataset, Desk
from noisycount.release.ledger.entries import Analyst, Entry
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.question.normal_form import normal_form
from noisycount.release.question.parser import parse
from noisycount.release.question.schema import Kind
from noisycount.release.question.text import canonical_text, english
from noisycount.release.slot import Slot
from noisycount.release.sources.closing import Closing
from noisycount.release.sources.forms import ColumnForm, FileForm
from noisycount.release.sources.interface import Source
from noisycount.release.sources.opening import opened
from noisycount.shown.value import Shown

__all__ = ["Records"]


@dataclass(frozen=True, slots=True, repr=False)
class Records(Shown, Closing):
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
    def open(  # noqa: PLR0913 - one argument a property of the records
        cls,
        place: Path | str,
        *,
        unit: str | None = None,
        columns: Sequence[str] | None = None,
        table: str | None = None,
        kinds: Mapping[str, Kind | ColumnForm] | None = None,
        form: FileForm = FileForm(),  # noqa: B008 - frozen
    ) -> Self:
        """The records at a place.

        Args:
            place: a CSV, Parquet or DuckDB file.
            unit: the column that names the person, or None where every record is one unit.
            columns: the columns that questions may use, or None for all but the unit.
            table: which table of a DuckDB file; not needed if it has only one.
            kinds: what the texts of a CSV file's columns stand for; None: nobody stated any.
            form: how the texts of a CSV file are found in it.

        Raises:
            SourceError: the records cannot be read.
        """
        return cls(opened(place, unit=unit, columns=columns, table=table, kinds=kinds, form=form))

    @property
    def columns(self) -> dict[str, Kind]:
        """What questions may use, and the kind of each column."""
        return dict(self._source.schema)

    def meaning(self, where: str) -> str:
        """A question in plain English, to follow "records where"; it depends on no record.

        Raises:
            PredicateError: the question is outside the language.
        """
        return english(normal_form(parse(where, self._source.schema)))

    def text(self, where: str) -> str:
        """The canonical text of a question, as an answer tells it; it depends on no record.

        Raises:
            PredicateError: the question is outside the language.
        """
        return canonical_text(normal_form(parse(where, self._source.schema)))

    def wordings(self, where: str) -> set[str]:
        """The texts under which a ledger may hold a question: in normal form, and as it is asked.

        Raises:
            PredicateError: the question is outside the language.
        """
        asked = parse(where, self._source.schema)
        return {canonical_text(asked), canonical_text(normal_form(asked))}

    def earlier(self, where: str, dataset: str, entries: Iterable[Entry]) -> list[Entry]:
        """Those of a ledger's entries that ask the same of these very records, at any price.

        Args:
            where: the question in the predicate language.
            dataset: what the ledger calls the records.
            entries: of the ledger.

        Raises:
            PredicateError: the question is outside the language.
        """
        texts = self.wordings(where)
        source = (self._source.unit, self._source.version)
        return [
            entry
            for entry in entries
            if entry.request.dataset == dataset
            if (question := _question(entry)).get("where") in texts
            if (question.get("unit"), question.get("version")) == source
        ]

    def desk(
        self,
        ledger: Ledger,
        dataset: Dataset,
        slot: Slot | None = None,
        analyst: Analyst = Analyst(),  # noqa: B008 - frozen
    ) -> Desk:
        """The desk that counts these records; see ``Desk``."""
        return Desk(self._source, ledger, dataset, slot, analyst)

    def _facts(self) -> dict[str, object]:
        """What questions may use, and what is counted."""
        return {"unit": self._source.unit, "columns": list(self._source.schema)}

    def close(self) -> None:
        """The end of their use."""
        self._source.close()


def _question(entry: Entry) -> dict[str, object]:
    """What an entry of a ledger asks; nothing where no desk wrote it."""
    try:
        question = json.loads(entry.request.question)
    except (ValueError, RecursionError):
        return {}
    return question if isinstance(question, dict) else {}
