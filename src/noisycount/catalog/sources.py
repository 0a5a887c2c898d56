"""Records under their description: how they are described, opened to be counted, and prepared."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisycount.catalog.catalog import ROW, DatasetRecord, DatasetSettings
from noisycount.catalog.contents import Content, Contents
from noisycount.catalog.folder import Certificates, Copies, make_private
from noisycount.engines.check import Check
from noisycount.engines.formats import ColumnFormat
from noisycount.engines.interface import CheckedSource, CountedSource, require_readable
from noisycount.engines.opening import files, served
from noisycount.engines.places import ServedTable, files_of
from noisycount.engines.views.claim import UnitClaim
from noisycount.errors import ConfigError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.transactions import BatchQueue, Task
from noisycount.query.grouping import CellQuestion, KeyCounts, KeyQuestion
from noisycount.query.predicate import Predicate
from noisycount.query.public_values import with_public_values
from noisycount.query.schema import Schema


@frozen
class CheckedFiles:
    """A check of the files of a place, whose description need not read them again."""

    state: tuple[tuple[int, ...], ...]  # their sizes and times before the check read them
    check: Check


_FEW = 8  # predicates; who asks for more has a scan of their own


@dataclass(slots=True)
class LazySource(CountedSource):
    """Records of which all is known that a question needs; they are opened to be counted."""

    shown: str  # what messages call the records
    settings: DatasetSettings  # what their owner says of them
    former: DatasetRecord | None  # what was written down of them before
    opened: CheckedSource | None = field(default=None, init=False)  # the open records, from the first need of them on
    is_closed: bool = field(default=False, init=False)  # whether their use has ended
    lock: Lock = field(default_factory=Lock, init=False)  # held while they are opened or closed
    scans: BatchQueue = field(default_factory=BatchQueue, init=False)  # lets threads that ask little share one scan
    record: DatasetRecord = field(init=False)  # what is written down of them now; `describe` sets it
    schema: Schema = field(init=False)  # what questions may use of them

    @abstractmethod
    def describe(self, unit: str | None, known: DatasetRecord | None) -> Self:
        """The same, described."""

    @abstractmethod
    def _open(self) -> CheckedSource:
        """The records, opened as they are described."""

    @abstractmethod
    def _require_same(self) -> None:
        """The refusal of records that may not be those of the description any more."""

    @property
    def former_versions(self) -> tuple[str, ...]:
        """What their version was called before contents were hashed."""
        return ()

    def _recorded(self, unit: str | None, source: CheckedSource | Check, remedy: str, **known: Any) -> DatasetRecord:  # noqa: ANN401 - parts of a record
        """Return the description of records that were just opened or checked. `remedy`: for a column named `row`."""
        if isinstance(source, Check):
            forms: Mapping[str, ColumnFormat] = {
                each.name: each.form or ColumnFormat(each.kind) for each in source.columns if each.kind
            }
            others: Mapping[str, str] = {each.name: each.type for each in source.columns if each.kind is None}
        else:
            forms, others = source.forms, source.schema.entire.others
        if self.settings.unit == ROW and ROW in {*forms, *others}:
            raise ConfigError(f"{self.shown} has a column {ROW!r}, which as a unit means every row: {remedy}")
        return DatasetRecord(unit=unit, columns=forms, others=others, **known)

    def _claim(self, unit: str | None) -> UnitClaim:
        """Return what the owner states about the rows of a view."""
        return replace(self.settings.claim, unit=unit, is_stated=True)

    def _described_as(self, record: DatasetRecord, source: CheckedSource | None = None) -> Self:
        self.record, self.opened = record, source
        self.schema = with_public_values(record.schema(self.settings.columns), self.settings.values)
        return self

    @property
    def unit(self) -> str | None:
        """The column that names the person, or None where every record is one unit."""
        return self.record.unit

    @property
    def version(self) -> str:
        """A text that changes with the records, and with what their cells stand for."""
        return self.record.version

    @property
    def accepted(self) -> frozenset[str]:
        """The columns whose cells that do not fit count as missing; see ``Source.accepted``."""
        return self.record.accepted

    def require_unchanged(self) -> None:
        """The refusal of records that changed; see ``Source.require_unchanged``."""
        if self.is_closed:
            raise SourceError(f"{self.shown} is closed: open it again")
        self._require_same()

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Open the records, and refuse what does not fit or cannot be read; see ``Source.prepare``."""
        self._checked().prepare(columns)

    def _counts(self, predicates: Sequence[Predicate]) -> list[int]:
        if len(predicates) > _FEW:
            counts = self._checked().count(predicates)
        else:
            counts = self.scans.result(predicates, self._scan)
        self.require_unchanged()
        return counts

    def _scan(self, tasks: Sequence[Task[Sequence[Predicate], list[int]]]) -> None:
        """Count for several threads at once."""
        asked = [predicate for task in tasks for predicate in task.item]
        counts = iter(self._checked().count(asked))
        for task in tasks:
            task.settle(lambda predicates: list(islice(counts, len(predicates))))

    def _cells(self, question: CellQuestion) -> list[NDArray[np.int64]]:
        counts = self._checked().count_cells(question)
        self.require_unchanged()
        return counts

    def _keys(self, question: KeyQuestion) -> Iterator[KeyCounts]:
        return self._told(self._checked(), question)

    def _told(self, source: CheckedSource, question: KeyQuestion) -> Iterator[KeyCounts]:
        yield from source.count_keys(question)
        self.require_unchanged()

    def check(self, unit: str | None = None) -> Check:
        """What is in the records; see ``Source.check``."""
        return self._source().check(unit)

    def close(self) -> None:
        """The end of their use."""
        with self.lock:
            self.is_closed = True
            if self.opened is not None:
                self.opened.close()

    def _checked(self) -> CheckedSource:
        """The open records, once they are seen to be as they were described."""
        source = self._source()
        require_described(self.shown, self.record, source)
        require_readable(self.shown, source.used())
        return source

    def _source(self) -> CheckedSource:
        """The open records; a copy that was removed meanwhile is made again."""
        with self.lock:
            self.require_unchanged()
            if self.opened is not None and not _is_there(self.opened):
                self.opened.close()
                self.opened = None
            if self.opened is None:
                self.opened = self._open()
            return self.opened


def _is_there(source: CheckedSource) -> bool:
    """Whether open records are what they were at opening."""
    try:
        source.require_unchanged()
    except SourceError:
        return False
    return True


def require_described(shown: str, record: DatasetRecord, source: CheckedSource) -> None:
    """The refusal of records that are not as they were described."""
    whole = source.schema.entire
    for name, form in record.columns.items():
        kind = whole.kinds.get(name)
        if kind is not form.kind and name != record.unit:
            found = whole.others.get(name, "missing") if kind is None else kind.value
            raise SourceError(
                f"column {name!r} of {shown} was written down as {form.kind.value}, and is {found} "
                "now: mend it, or write down what it is by `noisycount check --renew`"
            )


@dataclass(slots=True)
class FileSource(LazySource):
    """Records at a place, whose content is known."""

    place: Path  # where they are
    name: str  # what the ledger calls them
    content: Content  # what they hold
    folder: Path | None  # beside the ledger, for a copy of texts; None: none is made
    checked: CheckedFiles | None = None  # a check just before, which may have left the draft of a copy
    copy: Content | None = field(default=None, init=False)  # the copy that is counted; None: the records themselves
    kept_proofs: int = field(default=0, init=False)  # how many proofs of what is counted are kept beside the ledger

    def describe(self, unit: str | None, known: DatasetRecord | None) -> Self:
        """The same, described; records that are read now are those of their copy."""
        if known is not None:
            record = replace(known, content=self.content.digest, correction=self.content.correction)
            return self._described_as(record.after(self.former))
        if self.checked is not None and self.checked.state == self.content.state:
            return self._described_as(self._kept_record(unit, self.checked.check))
        with self._read(unit) as source:
            if source.form is None:
                source.prepare(())  # of the unit, which is written down for ever
            return self._described_as(self._kept_record(unit, source), source)

    def _kept_record(self, unit: str | None, source: CheckedSource | Check) -> DatasetRecord:
        """Return the description of records that were just read, and keep the copy of their texts."""
        held = {"content": self.content.digest, "correction": self.content.correction, "form": source.form}
        record = self._recorded(unit, source, "rename it", table=self.settings.table, **held).after(self.former)
        if self.settings.renews:  # answers that an older release may have confused end here
            record = replace(record, legacy_form=None)
        self._keep(record)
        return record

    @property
    def has_exact_version(self) -> bool:
        """True: the version is a digest of the bytes of all files, which are compared before and after each count."""
        return True

    @property
    def former_versions(self) -> tuple[str, ...]:
        """Return the texts that were the version of records which state their types, and are read as they ever were."""
        has_nan_missing = any(form.nan for form in self.record.columns.values())
        is_read_otherwise = has_nan_missing or self.record.unit_form is not None
        return self.content.former_versions if self.record.form is None and not is_read_otherwise else ()

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Open the records, and refuse what does not fit or cannot be read; a copy that cannot is made again."""
        try:
            LazySource.prepare(self, columns)
        except SourceError:
            if self.copy is None:
                raise
            self.copy.files[0].unlink(missing_ok=True)
            LazySource.prepare(self, columns)
        content, place = (self.content, self.place) if self.copy is None else (self.copy, self.copy.files[0])
        if content.proof_count != self.kept_proofs:
            self.require_unchanged()
            content.require_same()
            Contents(self.folder).keep(content, str(place))
            self.kept_proofs = content.proof_count

    def _open(self) -> CheckedSource:
        """The records, from the copy of their texts where there is one."""
        record, self.copy, self.kept_proofs = self.record, None, self.content.proof_count
        if record.form is None:
            return self._found(record.unit, record)
        copy = None if self._copies is None else self._copies.place(self.name, record.reading)
        if copy is not None and copy.is_file():
            files().require_stable(self.place, self.settings.table, self._claim(record.unit))
            try:
                self.copy = content = Contents(self.folder).of((copy,))
                self.kept_proofs, chosen = content.proof_count, self.settings.columns
                return files().of_copy(copy, record.columns, content.proofs, unit=record.unit, columns=chosen)
            except SourceError:
                copy.unlink(missing_ok=True)  # it is damaged, and made again
                self.copy = None
        with self._read(record.unit, record) as source:
            self._keep(record)
            return source

    @contextmanager
    def _read(self, unit: str | None, record: DatasetRecord | None = None) -> Iterator[CheckedSource]:
        """The records, which are closed, and their draft removed, where they cannot be used."""
        draft = self._draft()
        source = None
        try:
            source = self._found(unit, record, draft)
            self._require_same()
            yield source
        except BaseException:
            if source is not None:
                source.close()
            if draft is not None:
                draft.unlink(missing_ok=True)
            raise

    def _found(self, unit: str | None, record: DatasetRecord | None = None, draft: Path | None = None) -> CheckedSource:
        """The records, read from where they are; a copy of their texts is left as a draft."""
        return files().found(
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
        )

    def _draft(self) -> Path | None:
        """Where a copy is written before it is known what it is of; None: nowhere."""
        if self._copies is None:
            return None
        try:
            make_private(self._copies.folder)
        except OSError:
            return None
        return self._copies.draft(self.name)

    def _keep(self, record: DatasetRecord) -> None:
        """The copy that was just made takes its place, and all older ones go."""
        if self._copies is None:
            return
        draft = self._copies.draft(self.name)
        if draft.is_file():
            place = self._copies.place(self.name, record.reading)
            draft.replace(place)
            self._copies.remove(self.name, but=place)

    def _require_same(self) -> None:
        """The refusal of records of which a file is another, or that have one more or less."""
        if files_of(self.place) != self.content.files:
            raise SourceError(f"{self.shown} changed while it was open: open it again")
        self.content.require_same()

    @property
    def _copies(self) -> Copies | None:
        """The copies beside the ledger; None where none are kept."""
        return None if self.folder is None else Copies(self.folder)


@dataclass(slots=True)
class ServerSource(LazySource):
    """Records on a server."""

    table: ServedTable  # where they are, and how they are counted
    kept: Certificates  # the certificates of engines
    relations: tuple[str, ...]  # what identifies the table, and those whose records it shares

    @property
    def edition(self) -> str | None:
        """Name that the owner gives the records as they are now; see ``Source.edition``."""
        return self.table.edition

    @property
    def has_exact_version(self) -> bool:
        """True if the owner promises by an edition that the records stay the same."""
        return self.edition is not None

    def describe(self, unit: str | None, known: DatasetRecord | None) -> Self:
        """The same, described; where nothing is known the server is asked now."""
        if known is not None:
            record = replace(known, **self._facts)
            return self._described_as(record.after(self.former))
        source = self._served(unit, self.settings.kinds)
        try:
            remedy = "count a view of it in which that has another name"
            record = self._recorded(unit, source, remedy, **self._facts)
            return self._described_as(record.after(self.former), source)
        except BaseException:
            source.close()
            raise

    @property
    def _facts(self) -> dict[str, Any]:
        """The facts that are written down of the table."""
        return {"content": self.table.digest, "edition": self.table.edition, "relations": self.relations}

    def _require_same(self) -> None:
        """Nothing: it changes all the time, and an edition is what its owner says."""

    def _open(self) -> CheckedSource:
        return self._served(self.record.unit, {n: form for n, form in self.record.columns.items() if form.nan})

    def _served(self, unit: str | None, kinds: Mapping[str, ColumnFormat] | None) -> CheckedSource:
        """Return the records as their server has them. `kinds`: the columns in which NaN is a missing value."""
        return served(
            self.table.place,
            unit=unit,
            columns=self.settings.columns,
            seconds=self.table.seconds,
            uses_indexes=self.table.uses_indexes,
            certificates=self.kept.all(),
            claim=self._claim(unit),
            kinds=kinds,
        )
