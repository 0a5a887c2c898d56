"""Open private records: the plan of a query about them, and the desk that counts them.

For the owner of the records there are also a check of their content, and an examination of the engine that counts.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from noisycount.catalog.catalog import ROW, Catalog, DatasetRecord, DatasetSettings, part_name
from noisycount.catalog.contents import Content, Contents
from noisycount.catalog.folder import EngineCertificates
from noisycount.catalog.served import ServerSource
from noisycount.catalog.sources import (
    CheckedFiles,
    FileSource,
    LazySource,
    require_described,
)
from noisycount.catalog.table_group import TableGroup
from noisycount.catalog.tables import TableGroupSource
from noisycount.display.texts import redacted_name
from noisycount.display.values import Shown
from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.conformance.certificate import Certificate
from noisycount.engines.findings import with_findings
from noisycount.engines.formats import ColumnFormat, FileFormat
from noisycount.engines.interface import CheckedSource, Closeable
from noisycount.engines.opening import (
    engine_under_test,
    file_engine,
    frame_engine,
    open_served_table,
    relation_identities,
    table_names,
)
from noisycount.engines.places import ServedTable, ServerPlace
from noisycount.engines.table_checks import TablesCheck
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import EncodingError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.entries import Analyst, Entry, asked_part
from noisycount.ledger.ledger import Ledger
from noisycount.query.public_values import with_public_values
from noisycount.query.query import Query
from noisycount.query.schema import Kind, Schema
from noisycount.release.dataset import Dataset
from noisycount.release.desk import Attach, Desk
from noisycount.release.publishing import Forms, ledger_forms, unreadable_as_missing
from noisycount.release.query_plan import QueryPlan, plan_of
from noisycount.release.reply_tick import ReplyTick

if TYPE_CHECKING:
    from noisycount.engines.conformance.suite import Examination


@frozen(repr=False)
class Records(Shown, Closeable):
    r"""Records that only a desk can count; made by ``Records.open``."""

    name: str  # name of the data set in the ledger
    _source: LazySource

    @classmethod
    def open(
        cls,
        place: Path | str | ServedTable | TableGroup,
        stated: DatasetSettings,
        catalog: Catalog = Catalog(),  # noqa: B008 - frozen
        checked: CheckedFiles | Mapping[str, CheckedFiles] | None = None,
    ) -> Self:
        """Open the records of a file, a directory or a table of a server, with the owner's description of them.

        If the catalog has a complete description of the records, no record is read before a count. Else they are read
        now, and the first desk or check writes their description to the ledger.
        """
        source: LazySource
        if isinstance(place, TableGroup):
            name, source = _group_source(place, stated, catalog, checked if isinstance(checked, Mapping) else {})
        else:
            checked = checked if isinstance(checked, CheckedFiles) else None
            name, source = _named_source(place, stated, catalog, checked)
        unit = catalog.unit(name, stated.unit)
        return cls(name, source.describe(unit, catalog.known(name, stated)))

    @staticmethod
    def account_of(place: Path | str | ServedTable | TableGroup, stated: DatasetSettings, catalog: Catalog) -> str:
        """Return the name of the data set to which the records of a file or a table belong."""
        if isinstance(place, TableGroup):
            return stated.name
        if isinstance(place, ServedTable):
            return _served_name(place, stated, catalog)[0]
        return _file_name(Path(place).absolute(), stated, catalog)[0]

    @property
    def unit(self) -> str | None:
        """Column that identifies a person; None: each record is a unit."""
        return self._source.unit

    @property
    def schema(self) -> Schema:
        """Schema of the columns that queries may use. Its member `entire` has all columns."""
        return self._source.schema

    @property
    def columns(self) -> dict[str, Kind]:
        """Columns that queries may use, with their kinds."""
        return dict(self._source.schema)

    @property
    def forms(self) -> dict[str, ColumnFormat]:
        """Formats of the columns that queries may use."""
        written = self._source.record.columns
        return {name: written[name] for name in self._source.schema}

    def count_of_other_versions(self, entries: Iterable[Entry]) -> int:
        """Return the number of entries that were answered from another version of this data set."""
        versions = {None, self._source.version, *self._source.former_versions}
        return sum(
            asked_part(entry, "version") not in versions for entry in entries if entry.request.dataset == self.name
        )

    @property
    def has_exact_version(self) -> bool:
        """True if the version of the records names exactly the records that are counted."""
        return self._source.has_exact_version

    def plan(self, query: Query, *, is_replacement: bool) -> QueryPlan:
        """Return the meaning of a query for these records. Reads no record."""
        return plan_of(query, self._source.schema, self.unit, is_replacement=is_replacement)

    def requests(self, plan: QueryPlan) -> Forms:
        """Return the request for a ledger, and the forms in which the ledger may hold it."""
        return ledger_forms(plan, self.name, self._source)

    def unreadable_columns(self, plan: QueryPlan) -> tuple[str, ...]:
        """Return the columns of a query whose unreadable values count as missing."""
        return unreadable_as_missing(plan.read_columns, self._source)

    def desk(
        self,
        ledger: Ledger,
        dataset: Dataset,
        slot: ReplyTick | None = None,
        analyst: Analyst = Analyst(),  # noqa: B008 - frozen
        attach: Attach | None = None,
    ) -> Desk:
        """Return the desk that counts these records, once their description is written to the ledger."""
        self.store_description(ledger)
        return Desk(self._source, ledger, dataset, slot, analyst, attach)

    def prepare(self, columns: Collection[str] | None = None) -> None:
        """Do everything that can fail before a count, such as refusing unreadable values; see ``Source.prepare``."""
        self._source.prepare(columns)

    @property
    def has_stored_description(self) -> bool:
        """True if the ledger already had the description of the records when they were opened."""
        return self._source.record == self._source.former

    def is_current(self, ledger: Ledger) -> bool:
        """Return True if neither the records nor their description have changed since they were opened."""
        try:
            self._source.require_unchanged()
        except SourceError:
            return False
        return ledger.descriptions().get(self.name) == self._source.record.text

    def store_description(self, ledger: Ledger) -> None:
        """Write the description of the records to the ledger, unless it is there."""
        if self.has_stored_description:
            return
        text, former = self._source.record.text, self._source.former
        newest = ledger.describe(self.name, text, None if former is None else former.text)
        if newest != text:
            raise SourceError(
                f"{self._source.shown} was described differently by another process at the same moment: ask again"
            )

    def check(self) -> Check:
        """Return the findings about the records, for their owner only; see ``Source.check``."""
        return self._source.check()

    def check_tables(self) -> TablesCheck:
        """Return true numbers of persons and links of several tables, for their owner only."""
        if not isinstance(self._source, TableGroupSource):
            raise TypeError(f"records must have several tables, got {self._source.shown}")
        return self._source.check_tables()

    def _facts(self) -> dict[str, object]:
        return {"unit": self._source.unit, "columns": list(self._source.schema)}

    def close(self) -> None:
        """Close the records."""
        self._source.close()


def _named_source(
    place: Path | str | ServedTable, stated: DatasetSettings, catalog: Catalog, checked: CheckedFiles | None = None
) -> tuple[str, LazySource]:
    """Return the name of the data set that records belong to, and their source. Its schema is not set yet."""
    if isinstance(place, ServedTable):
        name, relations = _served_name(place, stated, catalog)
        former, certificates = catalog.written.get(name), EngineCertificates(catalog.folder)
        return name, ServerSource(repr(str(place)), stated, former, place, certificates, relations)
    path = Path(place).absolute()
    name, content = _file_name(path, stated, catalog)
    former, shown_name = catalog.written.get(name), repr(redacted_name(path))
    return name, FileSource(shown_name, stated, former, path, name, content, catalog.folder, checked)


def _group_source(
    group: TableGroup, stated: DatasetSettings, catalog: Catalog, checked: Mapping[str, CheckedFiles]
) -> tuple[str, TableGroupSource]:
    """Return the name of a data set of several tables, and its source. The schema of the source is not set yet.

    `checked` has a recent check of tables. Raise ConfigError if a table of persons belongs to another data set. A
    public look-up may belong to one.
    """
    former = catalog.written.get(stated.name)
    sources: dict[str, LazySource] = {}
    known = {}
    for table in group.tables:
        settings = replace(group.settings_to_open(table), name=stated.name, is_part=True, renews=stated.renews)
        own, own_catalog = part_name(stated.name, table.name), catalog.of_table(stated.name, table.name)
        own_settings = replace(settings, name=own)
        if table.is_public:
            _, source = _named_source(table.place, own_settings, own_catalog, checked.get(table.name))
        else:  # the catalog of all data sets refuses records of another one
            _, source = _named_source(table.place, settings, catalog, checked.get(table.name))
            source.settings, source.former = own_settings, own_catalog.written.get(own)
        if isinstance(source, FileSource):
            source.name, source.is_part = own, True
        sources[table.name] = source
        known[table.name] = own_catalog.known(own, own_settings)
    return stated.name, TableGroupSource(repr(stated.name), stated, former, group, sources, known)


def _file_name(path: Path, stated: DatasetSettings, catalog: Catalog) -> tuple[str, Content]:
    """Return the name of the data set that the records of a file belong to, and the content of the file."""
    content = Contents(catalog.folder).at(path)
    shares = partial(file_engine().shares_records, path, public_tables=stated.claim.public_tables)
    name = catalog.name_of(stated, content.digest, shares=shares)
    return name, content


def _served_name(table: ServedTable, stated: DatasetSettings, catalog: Catalog) -> tuple[str, tuple[str, ...]]:
    """Return the name of the data set to which a table of a server belongs, and the identity of the table.

    If the server cannot be reached, the stored description of the table is used: the server cannot count now either.
    """
    written = catalog.written.get(stated.name)
    try:
        relations = relation_identities(table.place, stated.claim.public_tables)
    except SourceError:
        relations = () if written is None else written.relations
    return catalog.name_of(stated, table.digest, relations), relations


_SHOWN = "frame"


def open_frame_desk(
    frame: Any,  # noqa: ANN401 - of any library
    stated: DatasetSettings,
    paying: Dataset,
    catalog: Catalog,
    ledger: Ledger,
) -> Desk:
    """Return a `Desk`, which answers queries, for a table in memory.

    All of the table is read now; its description is written at the first query.
    """
    known = catalog if stated.name else Catalog()
    unit = known.unit(stated.name or _SHOWN, stated.unit)
    source = frame_engine().open(frame, unit=unit, columns=stated.columns)
    source.schema = with_public_values(source.schema, stated.values)
    return Desk(
        source, ledger, replace(paying, label=lambda: _write_description(source, unit, stated, catalog, ledger))
    )


def _write_description(
    source: CheckedSource, unit: str | None, stated: DatasetSettings, catalog: Catalog, ledger: Ledger
) -> str:
    """Write the description of a table in memory to the ledger, and return its name.

    A table without a name is recognised by the digest of its content, which only its description holds. Its name is a
    number, because every reader of an answer sees the name.
    """
    digest = source.version
    called = DatasetSettings(stated.name or _free_name(catalog), is_path=not stated.name)
    name = catalog.name_of(called, digest)
    catalog.unit(name, ROW if unit is None else unit)
    former = catalog.written.get(name)
    if former is not None:
        require_described(_SHOWN, former, source)
    whole = source.schema.entire
    written = DatasetRecord(unit, source.forms, digest, whole.others).with_history(former)
    if written == former:
        return name
    text = ledger.describe(name, written.text, None if former is None else former.text)
    if text == written.text:
        return name
    if former is None and not stated.name:  # another process took the number
        return _write_description(source, unit, stated, Catalog.from_ledger(ledger, catalog.folder), ledger)
    raise SourceError(f"{redacted_name(name)!r} was described differently by another process meanwhile: open it again")


def _free_name(catalog: Catalog) -> str:
    """Return the first free name for a table without a name."""
    names = (f"{_SHOWN} {number}" for number in count(1))
    return next(name for name in names if name not in catalog.written)


def is_known_file(path: Path) -> bool:
    """Return True if a file has the ending of a known format."""
    return file_engine().knows(path)


def can_have_tables(path: Path) -> bool:
    """Return True if a file has the ending of a format whose files can have several tables."""
    return file_engine().can_have_tables(path)


def server_table_names(server: ServerPlace) -> list[str]:
    """Return the names of the tables of a server, in the schema of the account."""
    return table_names(server)


def column_names(path: Path) -> tuple[str, ...]:
    """Return the names of the columns of Parquet files. Reads no record."""
    with file_engine().open_unprepared(path) as source:
        whole = source.schema.entire
        return (*whole, *whole.others)


# Encodings that an owner need not state, as UTF-16 has a byte order mark; None: the file has no encoding.
UTF = {"utf-8", "utf-16", None}


def findings_about_records(  # noqa: PLR0913 - one argument for each property of the records
    place: Path | str,
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
    table: str | None = None,
    kinds: Mapping[str, ColumnFormat] | None = None,
    form: FileFormat = FileFormat(),  # noqa: B008 - frozen
    claim: UnitClaim | None = None,
    copy: Path | None = None,
) -> Check:
    """Return the findings about the records of a file, even if values are unreadable.

    If a file is not in UTF-8 and its encoding is not stated, it is read in the encoding that it most likely has. Its
    owner must state the encoding before the file can be counted. `copy` is the path for a copy of the texts; it is
    written if all values are readable, and later counts use it.
    """
    check_file = partial(
        file_engine().check_file, place, unit=unit, columns=columns, table=table, kinds=kinds, claim=claim, copy=copy
    )
    try:
        return with_findings(check_file(form=form), unit)
    except EncodingError as error:
        if form.encoding is not None:
            raise
        likely = error.likely
    return with_findings(check_file(form=replace(form, encoding=likely)), unit)


def findings_about_table(  # noqa: PLR0913 - one argument for each property of the records
    table: ServedTable,
    *,
    unit: str | None = None,
    columns: Sequence[str] | None = None,
    certificates: Collection[Certificate] = (),
    claim: UnitClaim | None = None,
    kinds: Mapping[str, ColumnFormat] | None = None,
) -> Check:
    """Return the findings about a table of a server, even if records have no unit.

    Columns that questions may not use have only their kinds, as the database account may lack the right to read them.
    """
    read = None if columns is None else [*columns, *([unit] if unit else [])]
    claim = claim or UnitClaim(unit, is_stated=False)
    with open_served_table(
        table.place, columns=read, seconds=table.seconds, certificates=certificates, claim=claim, kinds=kinds
    ) as source:
        whole = source.schema.entire
        whole.for_questions(unit, columns)
        check = source.check(unit)
    checked_names = {column.name for column in check.columns}
    unread = [
        ColumnCheck(name, kind, kind.value, None, 0, reason="the server says so")
        for name, kind in whole.items()
        if name not in checked_names
    ]
    return with_findings(replace(check, columns=(*check.columns, *unread)), unit)


def examine_engine(place: ServerPlace | None, progress: Callable[[int, int], None] | None = None) -> "Examination":
    """Examine an engine with made-up records, in tables that are deleted afterwards."""
    from noisycount.engines.conformance.suite import examine  # noqa: PLC0415  (only this function needs it)

    return examine(engine_under_test(place), progress=progress)
