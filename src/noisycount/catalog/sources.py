"""Records of data sets: described, opened on demand, counted, and compared with their stored description.

`LazySource` has the common part; `FileSource` reads files, `ServerSource` a table on a server. Descriptions are in
`catalog`.
"""

import time
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.catalog.catalog import ROW, DatasetRecord, DatasetSettings
from noisycount.catalog.contents import Content, Contents
from noisycount.catalog.folder import Copies, make_private
from noisycount.engines.check import Check
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import CheckedSource, Source, require_readable
from noisycount.engines.opening import file_engine
from noisycount.engines.places import COLUMNAR, files_of
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import ConfigError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.transactions import BatchQueue, TakeMore, Task
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion
from noisycount.query.predicate import Predicate
from noisycount.query.public_values import with_public_values
from noisycount.query.schema import Schema


@frozen
class CheckedFiles:
    """A check of files, reused for their description so that they are not read again."""

    state: tuple[tuple[int, ...], ...]  # sizes and times of the files before the check
    check: Check


_MAX_SHARED = 8  # largest number of predicates that share a scan with other threads
_GATHERING = 0.01  # seconds in which the threads that one commit woke reach the same scan


@dataclass(slots=True)
class LazySource(Source):
    """Described records that are opened only when they are counted."""

    shown: str  # name of the records in messages
    settings: DatasetSettings  # settings of their owner
    former: DatasetRecord | None  # former description, if there is one
    opened: CheckedSource | None = field(default=None, init=False)  # open records; None until they are needed
    compared: CheckedSource | None = field(default=None, init=False)  # those that were compared with their description
    is_closed: bool = field(default=False, init=False)  # True after `close`
    lock: Lock = field(default_factory=Lock, init=False)  # held while the records are opened or closed
    scans: BatchQueue = field(default_factory=BatchQueue, init=False)  # lets threads with few predicates share one scan
    record: DatasetRecord = field(init=False)  # present description; `describe` sets it
    schema: Schema = field(init=False)  # schema for queries; `describe` sets it

    @abstractmethod
    def describe(self, unit: str | None, known: DatasetRecord | None) -> Self:
        """Set the description and the schema of the records, and return the source.

        Args:
            unit: The column of the privacy unit; None: every row is a unit.
            known: The stored description; None: the records are read to describe them.
        """

    def _open(self) -> CheckedSource:
        """Open the records as they are described."""
        return self.open_within(None)

    @abstractmethod
    def _require_same(self) -> None:
        """Raise SourceError if the records may differ from those that were described."""

    def _make_record(self, unit: str | None, source: CheckedSource | Check, remedy: str, **known: Any) -> DatasetRecord:  # noqa: ANN401 - parts of a record
        """Return the description of records that were just opened or checked.

        Args:
            unit: The column of the privacy unit.
            source: The open records, or their check.
            remedy: The advice for an error about a column named `row`.
            known: Further fields of the description.
        """
        if isinstance(source, Check):
            forms: Mapping[str, ColumnFormat] = {
                column.name: column.form or ColumnFormat(column.kind) for column in source.columns if column.kind
            }
            others: Mapping[str, str] = {column.name: column.type for column in source.columns if column.kind is None}
        else:
            forms, others = source.forms, source.schema.entire.others
        if self.settings.unit == ROW and ROW in {*forms, *others}:
            raise ConfigError(f"{self.shown} has a column {ROW!r}, which as a unit means every row: {remedy}")
        return DatasetRecord(unit=unit, columns=forms, others=others, **known)

    def _claim(self, unit: str | None) -> UnitClaim:
        """Return the owner's statement about the rows of a view, with its unit."""
        return replace(self.settings.claim, unit=unit, is_stated=True)

    def _set_record(self, record: DatasetRecord, source: CheckedSource | None = None) -> Self:
        self.record, self.opened = record, source
        self.schema = with_public_values(record.schema(self.settings.columns), self.settings.values)
        return self

    @property
    def unit(self) -> str | None:
        """Column that identifies the person; None if every row is a privacy unit."""
        return self.record.unit

    @property
    def version(self) -> str:
        """Text that changes with the records and with the meaning of their cells."""
        return self.record.version

    @property
    def accepted(self) -> frozenset[str]:
        """Columns whose unreadable values count as missing; see ``Source.accepted``."""
        return self.record.accepted

    def require_unchanged(self) -> None:
        """Raise SourceError if the records changed or are closed; see ``Source.require_unchanged``."""
        if self.is_closed:
            raise SourceError(f"{self.shown} is closed: open it again")
        self._require_same()

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Open the records, and raise an error for unreadable or unexpected values; see ``Source.prepare``."""
        self._compared_source().prepare(columns)

    def _count_checked(self, predicates: Sequence[Predicate]) -> list[int]:
        if len(predicates) > _MAX_SHARED:
            return self._count_unchanged(predicates)
        return self.scans.result(predicates, self._count_in_one_scan)

    def _count_in_one_scan(self, tasks: list[Task[Sequence[Predicate], list[int]]], take_more: TakeMore) -> None:
        """Count the predicates of several threads in one scan. If the last scan had several, wait for further ones."""
        if self.scans.newest_size > 1:
            time.sleep(_GATHERING)
            take_more()
        predicates = [predicate for task in tasks for predicate in task.item]
        counts = iter(self._count_unchanged(predicates))
        for task in tasks:
            task.settle(lambda item: list(islice(counts, len(item))))

    def _count_unchanged(self, predicates: Sequence[Predicate]) -> list[int]:
        """Count predicates. Raise SourceError if the records changed meanwhile."""
        counts = self._source_to_count().count(predicates)
        self.require_unchanged()
        return counts

    def _count_checked_cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        counts = self._source_to_count().count_cells(question)
        self.require_unchanged()
        return counts

    def _count_checked_keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        yield from self._source_to_count().count_keys(question)
        self.require_unchanged()

    def check(self, unit: str | None = None) -> Check:
        """Return a summary of the columns and of unreadable values; see ``Source.check``."""
        self.require_unchanged()
        return self._source().check(unit)

    def close(self) -> None:
        """Close the records. Later counts raise SourceError."""
        with self.lock:
            self.is_closed = True
            self.close_opened()

    def close_opened(self) -> None:
        """Close the open records. They are opened again when they are needed."""
        if self.opened is not None:
            self.opened.close()
            self.opened = None

    @abstractmethod
    def open_within(self, session: Any) -> CheckedSource:  # noqa: ANN401 - of an engine
        """Open the records in a connection that several tables share; None: one of their own."""

    @property
    def _counted_record(self) -> DatasetRecord:
        """The description of the columns that are counted."""
        return self.record

    def require_described(self, source: CheckedSource) -> None:
        """Raise SourceError if open records are not as described, or have unreadable values."""
        require_described(self.shown, self._counted_record, source)
        require_readable(self.shown, source.used_column_checks())

    def _compared_source(self) -> CheckedSource:
        """Return the open records after a comparison with their description."""
        source = self._source()
        if source is not self.compared:
            self.require_described(source)
            self.compared = source
        return source

    def _source_to_count(self) -> CheckedSource:
        """Return the records to count. Their state was checked by `prepare`, and is checked again after the count."""
        opened = self.opened  # another thread may close and reopen the records
        return opened if opened is not None and opened is self.compared else self._compared_source()

    def _source(self) -> CheckedSource:
        """Return the open records, and open them if necessary. A copy that was removed meanwhile is made again."""
        with self.lock:
            if self.opened is not None and not self.is_closed:
                with suppress(SourceError):
                    self.opened.require_unchanged()
                    return self.opened
            self.require_unchanged()
            self.close_opened()
            self.opened = self._open()
            return self.opened


def require_described(shown: str, record: DatasetRecord, source: CheckedSource) -> None:
    """Raise SourceError if the kind of a column differs from the description."""
    whole = source.schema.entire
    for name, form in record.columns.items():
        kind = whole.kinds.get(name)
        if kind is not form.kind and name != record.unit:
            found = whole.others.get(name, "missing") if kind is None else kind.value
            raise SourceError(
                f"column {name!r} of {shown} is {found} now, but {form.kind.value} in the description that the ledger "
                "stores: restore the column, or accept its change by `noisycount check --renew`"
            )


@dataclass(slots=True)
class FileSource(LazySource):
    """Records in files, whose content is known."""

    place: Path  # path of the file or folder
    name: str  # name of the records in the ledger
    content: Content  # content of the files
    folder: Path | None  # folder beside the ledger for copies of text files; None: no copies
    checked: CheckedFiles | None = None  # recent check, which may have left a draft of a copy
    is_part: bool = False  # True for one of several tables, which are all counted in Parquet files
    copy: Content | None = field(
        default=None, init=False
    )  # content of the copy that is counted; None: the records themselves are counted
    kept_proofs: int = field(default=0, init=False)  # number of cached proofs of the content that is counted

    def describe(self, unit: str | None, known: DatasetRecord | None) -> Self:
        """Set the description and the schema, and return the source. Records that are read for this are also copied."""
        if known is not None:
            record = replace(known, content=self.content.digest, correction=self.content.reading_correction)
            return self._set_record(record.with_history(self.former))
        if self.checked is not None and self.checked.state == self.content.state:
            return self._set_record(self._make_record_and_copy(unit, self.checked.check))
        with self._read(unit) as source:
            if source.form is None:
                source.prepare(())  # checks the unit, which can never change later
            return self._set_record(self._make_record_and_copy(unit, source), source)

    def _make_record_and_copy(self, unit: str | None, source: CheckedSource | Check) -> DatasetRecord:
        """Return the description of records that were just read, and store the copy of their texts."""
        facts = {"content": self.content.digest, "correction": self.content.reading_correction, "form": source.form}
        record = self._make_record(unit, source, "rename it", table=self.settings.table, **facts).with_history(
            self.former
        )
        if self.settings.renews:  # answers that an older release may have mixed up no longer match
            record = replace(record, legacy_form=None)
        self._publish_copy(record)
        return record

    @property
    def has_exact_version(self) -> bool:
        """True: the version is a digest of the bytes of all files, which are compared before and after each count."""
        return True

    @property
    def former_versions(self) -> tuple[str, ...]:
        """Versions that older releases gave these records; none if this release reads the cells in another way."""
        has_nan_missing = any(form.nan for form in self.record.columns.values())
        is_read_otherwise = has_nan_missing or self.record.unit_form is not None
        return self.content.former_versions if self.record.form is None and not is_read_otherwise else ()

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Open the records, and raise an error for unreadable or unexpected values. A damaged copy is made again."""
        try:
            LazySource.prepare(self, columns)
        except SourceError:
            if not self.discard_copy():
                raise
            LazySource.prepare(self, columns)
        self.store_proofs()

    def discard_copy(self) -> bool:
        """Remove the copy of the values that is read, as it may be damaged. Return False if there is none."""
        if self.copy is None:
            return False
        self.copy.files[0].unlink(missing_ok=True)
        return True

    def store_proofs(self) -> None:
        """Store new proofs that columns can be read, if there are any."""
        content, place = (self.content, self.place) if self.copy is None else (self.copy, self.copy.files[0])
        if content.proof_count != self.kept_proofs:
            self.require_unchanged()
            content.require_same()
            Contents(self.folder).cache_facts(content, str(place))
            self.kept_proofs = content.proof_count

    def _open(self) -> CheckedSource:
        """Open the copy of the values if there is one, else the records themselves."""
        record = self.record
        if self._is_counted_itself:
            self.copy, self.kept_proofs = None, self.content.proof_count
            return self._open_files(record.unit, record)
        self.copy = None
        try:
            if (source := self._open_copy()) is not None:
                return source
        except SourceError:
            self.discard_copy()
        self.copy, self.kept_proofs = None, self.content.proof_count
        with self._read(record.unit, record) as source:
            self._publish_copy(record)
            return source

    @property
    def _is_counted_itself(self) -> bool:
        """True if the files themselves are counted; False for a copy of their values."""
        return self.record.form is None and not (self.is_part and not self._is_parquet)

    @property
    def _is_parquet(self) -> bool:
        return all(file.suffix.lower() in COLUMNAR for file in self.content.files)

    def _open_copy(self, session: Any = None) -> CheckedSource | None:  # noqa: ANN401 - of an engine
        """Return the copy of the values; None if there is none."""
        record = self.record
        copy = None if self._copies is None else self._copies.place(self.name, record.reading_digest)
        if copy is None or not copy.is_file():
            return None
        file_engine().require_stable(self.place, self.settings.table, self._claim(record.unit))
        self.copy = content = Contents(self.folder).read_files((copy,))
        self.kept_proofs, chosen, forms = content.proof_count, self.settings.columns, self._counted_record.columns
        return file_engine().of_copy(
            copy, forms, unit=record.unit, columns=chosen, proofs=content.proofs, session=session
        )

    @property
    def _counted_record(self) -> DatasetRecord:
        """The description of the columns that are counted.

        The copy of a database has only those that queries may use.
        """
        record, chosen = self.record, self.settings.columns
        if self.copy is None or record.form is not None or chosen is None:
            return record
        forms = {name: form for name, form in record.columns.items() if name in {*chosen, record.unit}}
        return replace(record, columns=forms)

    def open_within(self, session: Any) -> CheckedSource:  # noqa: ANN401 - of an engine
        """Open the Parquet files or the copy of the values in a connection that several tables share.

        Raises:
            SourceError: The records cannot be read, or no copy can be made.
        """
        if self._is_counted_itself:
            return self._open_files(self.record.unit, self.record, session=session)
        for _ in range(2):
            self.copy = None
            try:
                if (source := self._open_copy(session)) is not None:
                    return source
            except SourceError:
                if not self.discard_copy():
                    raise
            with self._open() as opened:  # makes the copy, unless a value cannot be read
                opened.prepare()
                self.require_described(opened)
        raise SourceError(
            f"{self.shown} is one of several tables, and its copy in the folder beside the ledger could not be "
            "written: check permissions and space, or make the table a Parquet file"
        )

    @contextmanager
    def _read(self, unit: str | None, record: DatasetRecord | None = None) -> Iterator[CheckedSource]:
        """Yield the records read from their files. On an error, close them and remove the draft of their copy."""
        draft = self._draft()
        source = None
        try:
            source = self._open_files(unit, record, draft)
            self._require_same()
            yield source
        except BaseException:
            if source is not None:
                source.close()
            if draft is not None:
                draft.unlink(missing_ok=True)
            raise

    def _open_files(
        self,
        unit: str | None,
        record: DatasetRecord | None = None,
        draft: Path | None = None,
        session: Any = None,  # noqa: ANN401 - of an engine
    ) -> CheckedSource:
        """Open the records in their files. A copy of their values is written to `draft`."""
        return file_engine().open_unprepared(
            self.place,
            unit=unit,
            columns=self.settings.columns,
            table=self.settings.table,
            kinds=self.settings.kinds if record is None else record.columns,
            form=self.settings.form if record is None or record.form is None else record.form,
            copy=draft,
            claim=self._claim(unit),
            is_known=record is not None,
            proofs=self.content.proofs,
            session=session,
            copies_types=self.is_part and draft is not None and not self._is_parquet,
        )

    def _draft(self) -> Path | None:
        """Return the path of the draft of a copy; None if no copy is made."""
        if self._copies is None:
            return None
        try:
            make_private(self._copies.folder)
        except OSError:
            return None
        return self._copies.draft(self.name)

    def _publish_copy(self, record: DatasetRecord) -> None:
        """Move the draft of a copy to its final path, and remove all older copies.

        If another process has made the same copy meanwhile, that copy stays, as it may be counted now.
        """
        if self._copies is None:
            return
        draft = self._copies.draft(self.name)
        if draft.is_file():
            place = self._copies.place(self.name, record.reading_digest)
            if place.is_file():
                draft.unlink()
            else:
                draft.replace(place)
            self._copies.remove(self.name, but=place)

    def _require_same(self) -> None:
        """Raise SourceError if a file changed, was added or was removed."""
        if files_of(self.place) != self.content.files:
            raise SourceError(f"{self.shown} changed while it was open: open it again")
        self.content.require_same()

    @property
    def _copies(self) -> Copies | None:
        """Copies beside the ledger; None if no copies are made."""
        return None if self.folder is None else Copies(self.folder)
