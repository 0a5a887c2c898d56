"""Private records that are open: what a question about them means, and the desk that counts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Self

from noisycount.errors import SourceError
from noisycount.release.desk import Dataset, Desk, Enclose
from noisycount.release.ledger.asked import asked_of, asked_part
from noisycount.release.ledger.entries import Analyst, Entry, Request
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.question.reading import read
from noisycount.release.question.schema import Kind, Schema
from noisycount.release.question.text import canonical_text, english
from noisycount.release.question.tree import columns
from noisycount.release.register.certificates import Certificates
from noisycount.release.register.contents import Contents
from noisycount.release.register.described_source import DescribedSource
from noisycount.release.register.holding import Holding
from noisycount.release.register.register import Register, Statement
from noisycount.release.register.served_holding import ServedHolding
from noisycount.release.register.served_table import ServedTable
from noisycount.release.register.written import Written
from noisycount.release.slot import Slot
from noisycount.release.sources.check import Check
from noisycount.release.sources.closing import Closing
from noisycount.release.sources.forms import ColumnForm
from noisycount.release.sources.places import files_of
from noisycount.release.tables.asked.questions import OneCount
from noisycount.release.tables.asked.table import AskedTable
from noisycount.release.unreadable import unreadable_as_missing
from noisycount.shown.told import told_name
from noisycount.shown.value import Shown

__all__ = ["Records"]


@dataclass(frozen=True, slots=True, repr=False)
class Records(Shown, Closing):
    r"""Records that only a desk can count; made by ``Records.open``.

    Attributes:
        name: what the ledger calls the data set.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "survey.csv")
        ...     _ = path.write_text("person,age\n1,31\n1,32\n2,29\n")
        ...     with Records.open(path, Statement("survey", unit="person")) as records:
        ...         records.meaning("age >= 30")
        'age is at least 30'
    """

    name: str
    _source: DescribedSource
    _former: Written | None

    @classmethod
    def open(
        cls,
        place: Path | str | ServedTable,
        stated: Statement,
        register: Register = Register(),  # noqa: B008 - frozen
    ) -> Self:
        """The records at a place, under their description.

        Where all that questions need is written down already, no record is read before a count.
        Else they are read now, and what they are is written down by the first desk or check.

        Args:
            place: a file, a folder or a pattern of files that an engine reads, or a table of a
                server.
            stated: what their owner says of them.
            register: what was written down before.

        Raises:
            SourceError: the records cannot be read.
            ConfigError: their unit was never said, or another is written down, or they are there
                under another name.
        """
        if isinstance(place, ServedTable):
            name = register.name_of(stated, place.digest)
            former = register.written.get(name)
            served = ServedHolding(place, stated, former, Certificates(register.folder))
            return cls._held(served, name, stated, register)
        path = Path(place).absolute()
        content = Contents(register.folder).of(files_of(path))
        name = register.name_of(stated, content.digest)
        former, shown = register.written.get(name), repr(told_name(path))
        holding = Holding(shown, path, name, stated, content, former, register.folder)
        return cls._held(holding, name, stated, register)

    @staticmethod
    def account_of(place: Path | str | ServedTable, stated: Statement, register: Register) -> str:
        """The name of the data set that the records at a place belong to.

        Args:
            place: as for `open`.
            stated: what their owner says of them.
            register: what was written down before.

        Raises:
            SourceError: the records cannot be read.
            ConfigError: they are there under another name.
        """
        if isinstance(place, ServedTable):
            return register.name_of(stated, place.digest)
        content = Contents(register.folder).of(files_of(Path(place).absolute()))
        return register.name_of(stated, content.digest)

    @classmethod
    def _held(
        cls, holding: Holding | ServedHolding, name: str, stated: Statement, register: Register
    ) -> Self:
        """The records of a holding, by the unit and under the description that are known."""
        unit = register.unit(name, stated.unit)
        return cls(name, holding.source(unit, register.known(name, stated)), holding.former)

    @property
    def unit(self) -> str | None:
        """The column that names the person, or None where every record is one unit."""
        return self._source.unit

    @property
    def schema(self) -> Schema:
        """What questions may use, and what exists beside it."""
        return self._source.schema

    @property
    def columns(self) -> dict[str, Kind]:
        """What questions may use, and the kind of each column."""
        return dict(self._source.schema)

    @property
    def forms(self) -> dict[str, ColumnForm]:
        """What the cells of each column that questions may use stand for."""
        written = self._source.written.columns
        return {name: written[name] for name in self._source.schema}

    def unreadable_as_missing(self, where: str) -> tuple[str, ...]:
        """The columns of a question whose cells, where they could not be read, count as missing.

        Raises:
            PredicateError: the question is outside the language.
        """
        return unreadable_as_missing(columns(read(where, self._source.schema).asked), self._source)

    def meaning(self, where: str) -> str:
        """A question in plain English, to follow "records where"; it depends on no record.

        Raises:
            PredicateError: the question is outside the language.
        """
        return english(read(where, self._source.schema).normal)

    def text(self, where: str) -> str:
        """The canonical text of a question, as an answer tells it; it depends on no record.

        Raises:
            PredicateError: the question is outside the language.
        """
        return canonical_text(read(where, self._source.schema).normal)

    def wordings(self, where: str) -> set[str]:
        """The texts under which a ledger may hold a question: in normal form, and as it is asked.

        Raises:
            PredicateError: the question is outside the language.
        """
        found = read(where, self._source.schema)
        return {canonical_text(found.asked), canonical_text(found.normal)}

    def earlier(self, where: str, entries: Iterable[Entry]) -> list[Entry]:
        """Those of a ledger's entries that ask the same count of these very records, at any price.

        Args:
            where: the question in the predicate language.
            entries: of the ledger.

        Raises:
            PredicateError: the question is outside the language.
        """
        texts = self.wordings(where)
        versions = {self._source.version, *self._source.former_versions}
        return [
            entry
            for entry in entries
            if entry.request.dataset == self.name
            if (question := asked_of(entry)).get("where") in texts
            if question.get("unit") == self.unit and question.get("version") in versions
            if "table" not in question
        ]

    def answered_otherwise(self, entries: Iterable[Entry]) -> int:
        """How many of a ledger's entries are of this data set, and of another version of it.

        Args:
            entries: of the ledger.
        """
        versions = {None, self._source.version, *self._source.former_versions}
        return sum(
            asked_part(entry, "version") not in versions
            for entry in entries
            if entry.request.dataset == self.name
        )

    def requests(self, table: AskedTable) -> tuple[Request, Sequence[Request]]:
        """What asks a ledger for a table, and what it may hold in its place."""
        return table.requests(self.name, self._source)

    def count_requests(self, where: str, epsilon: Fraction) -> tuple[Request, Sequence[Request]]:
        """The same for one count at a price.

        Raises:
            PredicateError: the question is outside the language.
        """
        return OneCount.of(read(where, self._source.schema), epsilon).requests(
            self.name, self._source
        )

    def unreadable_in(self, table: AskedTable) -> tuple[str, ...]:
        """The columns of a table whose cells, where they could not be read, count as missing."""
        return unreadable_as_missing(table.read, self._source)

    def desk(
        self,
        ledger: Ledger,
        dataset: Dataset,
        slot: Slot | None = None,
        analyst: Analyst = Analyst(),  # noqa: B008 - frozen
        enclose: Enclose | None = None,
    ) -> Desk:
        """The desk that counts these records; see ``Desk``. What they are is written down now.

        Raises:
            LedgerError: the ledger cannot be written.
            SourceError: another process wrote something else down at the same time.
        """
        self.write_down(ledger)
        return Desk(self._source, ledger, dataset, slot, analyst, enclose)

    def prepare(self) -> None:
        """The refusal of records with cells that do not fit; see ``Source.prepare``."""
        self._source.prepare()

    @property
    def is_written_down(self) -> bool:
        """Whether all that is known of them was written down before they were opened."""
        return self._source.written == self._former

    def is_current(self, ledger: Ledger) -> bool:
        """Whether the records are what they were at opening, and so is what is written down.

        Args:
            ledger: Where that is.

        Raises:
            LedgerError: It cannot be read.
        """
        try:
            self._source.require_unchanged()
        except SourceError:
            return False
        return ledger.descriptions().get(self.name) == self._source.written.text

    def write_down(self, ledger: Ledger) -> None:
        """The writing down of what the records are, once.

        Raises:
            LedgerError: the ledger cannot be written.
            SourceError: another process wrote something else down at the same time.
        """
        if self.is_written_down:
            return
        text, former = self._source.written.text, self._former
        newest = ledger.describe(self.name, text, None if former is None else former.text)
        if newest != text:
            raise SourceError(
                f"{self._source.shown} was written down otherwise at the same moment: ask again"
            )

    def check(self) -> Check:
        """What is in the records; see ``Source.check``."""
        return self._source.check()

    def _facts(self) -> dict[str, object]:
        """What questions may use, and what is counted."""
        return {"unit": self._source.unit, "columns": list(self._source.schema)}

    def close(self) -> None:
        """The end of their use."""
        self._source.close()
