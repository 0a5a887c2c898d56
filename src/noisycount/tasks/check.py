"""Checks of a data set: the content of its records compared with its configuration and its ledger description.

If everything fits and the privacy unit is stated, `examine` stores the description of the records in the ledger, and
`examine_tables` that of several tables, whose persons and links it checks together.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from noisycount.catalog.catalog import ROW, Catalog, DatasetRecord, part_name
from noisycount.catalog.folder import Copies, EngineCertificates, make_private
from noisycount.catalog.sources import CheckedFiles
from noisycount.catalog.table_group import GroupTable, TableGroup
from noisycount.config.config import Config, DatasetConfig
from noisycount.config.places import source_text
from noisycount.display.texts import toml_key
from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.finding import Finding, Severity
from noisycount.engines.places import ServedTable, files_of, state_of
from noisycount.engines.table_checks import PersonCheck, TablesCheck
from noisycount.errors import ConfigError, SourceError
from noisycount.frozen import frozen
from noisycount.ledger.ledger import Ledger
from noisycount.release.records import UTF, findings_about_records, findings_about_table
from noisycount.tasks.opening import catalog_of, existing_ledger, records_of, stated_settings

_MANY = 20  # units; with fewer units most columns have a value for nearly each of them
_HALF = 2


@frozen
class EarlierAccount:
    """The account under which answers about a file were charged before a configuration described the file."""

    account: str  # name of the account in the ledger
    url: str | None  # address of the ledger; None: that of the present configuration
    unit: str  # privacy unit: a column with the distinct values to count, or `row`


@frozen
class Inspection:
    """The content of a data set's records, and whether questions about them are answered."""

    dataset: DatasetConfig  # configuration by the owner
    check: Check  # content of the records
    is_configured: bool  # True if a configuration names the data set
    is_unit_stated: bool  # True if the privacy unit is stated in the configuration or the ledger
    is_changed: bool = False  # True if the columns differ from those in the ledger
    folder: Path = field(default_factory=Path.cwd)  # folder of the configuration, or of the one to write
    former: EarlierAccount | None = None  # account of earlier answers; None: there are no answers from before
    same_unit: tuple[str, ...] = ()  # other data sets whose privacy unit is a column of the same name
    answered_otherwise: int = 0  # number of answers about former records, or about records that were read differently
    group: str | None = None  # name of the data set of several tables that the table belongs to; None: it is alone

    @property
    def unit(self) -> str | None:
        """Column that identifies the person; None if every row is one unit, or if the unit is not stated."""
        return None if self.dataset.unit == ROW else self.dataset.unit

    @property
    def block(self) -> str | None:
        """Name of the configuration block that describes one of several tables; None if the data set is one table."""
        return None if self.group is None else f"{toml_key(self.group)}.tables.{toml_key(self.dataset.name)}"

    @property
    def source(self) -> str:
        """Path of the records as a configuration writes it."""
        return source_text(self.dataset.source, self.folder)

    def reason_unused(self, column: ColumnCheck) -> str | None:
        """Return the reason why questions may not use a column; None if they may use it."""
        chosen = self.dataset.columns
        if column.name == self.unit:
            return "the unit"
        if chosen is not None and column.name not in chosen:
            return "not among columns"
        if column.kind is None:
            return f"no kind for {column.type}"
        return "unreadable" if column.is_refused else None

    @property
    def findings_about_records(self) -> list[Finding]:
        """Findings about the records. A finding about a column that questions may not use has the severity "note"."""
        reasons = {None, "unreadable", "the unit"}
        used = {None, *(column.name for column in self.check.columns if self.reason_unused(column) in reasons)}
        return [
            finding if finding.column in used else replace(finding, severity=Severity.NOTE)
            for finding in self.check.findings
        ]

    @property
    def unstated_encoding(self) -> str | None:
        """Encoding that the owner must state before the file can be counted; None if the file needs no statement."""
        form = self.check.form
        if form is None or self.dataset.form.encoding is not None or form.encoding in UTF:
            return None
        return form.encoding

    @property
    def persons(self) -> int | None:
        """Number of distinct persons; None if every row is one unit, or if the unit is not stated."""
        return None if self.unit is None else self.check.units

    @property
    def units(self) -> int | None:
        """Number of persons, or of rows if every row is one unit; None if the unit is not stated."""
        if not self.is_unit_stated:
            return None
        return self.check.rows if self.persons is None else self.persons

    @property
    def nearly_unique(self) -> tuple[ColumnCheck, ...]:
        """Columns that questions may use and that nearly identify a person, such as names.

        Such a column has more than half as many distinct texts as there are units. Columns of mostly short numbers,
        columns that look like another kind, and columns with a choice of formats are not included; they have findings
        of their own. The result is empty for fewer than 20 units, or if the unit is not stated.
        """
        units = self.units
        if units is None or units < _MANY:
            return ()
        return tuple(
            column
            for column in self.check.columns
            if column.distinct is not None
            and column.distinct * _HALF > units
            and not (column.is_measured or column.looks_like or column.choices)
            and self.reason_unused(column) is None
        )

    @property
    def fits(self) -> bool:
        """True if questions are answered."""
        is_blocked = any(finding.severity is Severity.BLOCKS for finding in self.findings_about_records)
        return not (is_blocked or self.unstated_encoding or self.is_changed)


@frozen
class GroupInspection:
    """The content of several tables, and whether questions about them are answered."""

    dataset: DatasetConfig  # configuration by the owner
    group: TableGroup
    tables: Mapping[str, Inspection]  # check of each table
    numbers: TablesCheck | None = None  # persons and links of all tables; None: the tables cannot be joined
    refusal: str | None = None  # the reason why readable tables cannot be joined
    same_unit: tuple[str, ...] = ()  # other data sets whose privacy unit is a column of the same name
    answered_otherwise: int = 0  # number of answers about former records, or about records that were read differently

    @property
    def fits(self) -> bool:
        """True if questions are answered."""
        return self.refusal is None and all(inspection.fits for inspection in self.tables.values())

    def joint_check(self, table: str) -> PersonCheck | None:
        """Return the persons of a table in relation to the others; None if the tables cannot be joined."""
        return None if self.numbers is None else self.numbers.tables.get(table)

    @property
    def unit(self) -> str | None:
        """Column that identifies the person."""
        return self.dataset.unit

    @property
    def units(self) -> int | None:
        """Number of persons who count; None if the tables cannot be joined."""
        if self.numbers is None:
            return None
        register = self.group.persons
        return self.numbers.persons if register is None else self.numbers.tables[register].persons


def examine_place(
    dataset: DatasetConfig,
    former: EarlierAccount | None = None,
    certificates: EngineCertificates = EngineCertificates(),  # noqa: B008 - frozen
) -> Inspection:
    """Check a file or a table, without comparing it with a description in a ledger."""
    is_unit_stated = dataset.unit is not None
    check = _read_check(dataset, certificates)
    return Inspection(dataset, check, is_configured=False, is_unit_stated=is_unit_stated, former=former)


def find_earlier_account(dataset: DatasetConfig, configuration: Config) -> EarlierAccount | None:
    """Return the account under which answers about a data set were charged.

    Return None if the ledger is no file, or if it does not know the data set.
    """
    if configuration.ledger_file is None:
        return None
    with existing_ledger(configuration) as ledger:
        catalog = catalog_of(ledger, configuration)
        if not catalog.knows(dataset.account):
            return None
        unit = catalog.unit(dataset.account, None) or ROW
    return EarlierAccount(dataset.account, configuration.ledger_url, unit)


def examine(dataset: DatasetConfig, configuration: Config, *, renews: bool = False) -> Inspection:
    """Check a data set. If everything fits and the privacy unit is stated, store its description in the ledger.

    Nothing is stored if column names look like values of a record, unless the ledger already describes the data set or
    the owner renews the description (`renews`).
    """
    with existing_ledger(configuration) as ledger:
        catalog = catalog_of(ledger, configuration)
        is_unit_stated = dataset.unit is not None or catalog.knows(dataset.account)
        if is_unit_stated:
            dataset = replace(dataset, unit=catalog.unit(dataset.account, dataset.unit) or ROW)
        record = catalog.known(dataset.account, stated_settings(dataset, renews=renews))
        former = None
        if dataset.is_path and catalog.knows(dataset.account):
            url = configuration.ledger_url if configuration.path is None else None
            former = EarlierAccount(dataset.account, url, dataset.unit or ROW)
    facts: dict[str, Any] = {
        "is_configured": dataset.name in configuration.datasets,
        "is_unit_stated": is_unit_stated,
        "former": former,
        "same_unit": _same_unit(dataset, configuration),
    }
    with _inspected_records(dataset, record, configuration, copies=is_unit_stated, **facts) as (inspection, checked):
        in_doubt = record is None and not renews and bool(inspection.check.names_like_values)
        if in_doubt or not (inspection.fits and is_unit_stated):
            return inspection
        _, others = _store_description(dataset, configuration, checked, renews=renews)
    return replace(inspection, answered_otherwise=others)


def _examined_table(
    table: GroupTable, dataset: DatasetConfig, configuration: Config, catalog: Catalog, *, renews: bool
) -> AbstractContextManager[tuple[Inspection, CheckedFiles | None]]:
    """Check one of several tables of a data set, and compare it with its description in the ledger."""
    settings, name = table.settings, part_name(dataset.account, table.name)
    stated = DatasetConfig(
        table.name,
        table.place,
        account=name,
        unit=settings.unit,
        columns=None if settings.columns is None else tuple(settings.columns),
        table=settings.table,
        kinds=settings.kinds,
        form=settings.form,
        values=settings.values,
        public_tables=tuple(settings.claim.public_tables),
        vouched=settings.claim.vouched,
    )
    record = catalog.of_table(dataset.account, table.name).known(name, replace(settings, renews=renews))
    return _inspected_records(
        stated, record, configuration, is_configured=True, is_unit_stated=True, group=dataset.name
    )


@contextmanager
def _inspected_records(
    dataset: DatasetConfig,
    record: DatasetRecord | None,
    configuration: Config,
    *,
    copies: bool = True,
    **facts: Any,  # noqa: ANN401 - other fields of the inspection
) -> Iterator[tuple[Inspection, CheckedFiles | None]]:
    """Check one file or table, and compare it with its description in the ledger.

    Yield the inspection, and the check of files that have no description yet. If texts are copied, the draft of the
    copy is removed at the end of the context, unless the ledger keeps it.
    """
    with _copy_draft(dataset, configuration if copies and record is None else None) as copy:
        state = _file_state(dataset)
        check, is_changed = _compare_with_description(
            dataset, record, EngineCertificates(configuration.data_folder), copy
        )
        described = dataset if record is None else replace(dataset, form=record.form or dataset.form)
        folder = Path.cwd() if configuration.path is None else configuration.path.parent
        inspection = Inspection(described, check, is_changed=is_changed, folder=folder, **facts)
        yield inspection, None if state is None else CheckedFiles(state, check)


def examine_tables(dataset: DatasetConfig, configuration: Config, *, renews: bool = False) -> GroupInspection:
    """Check a data set of several tables. If everything fits, store its description in the ledger.

    Nothing is stored if column names look like values of a record, unless the ledger already describes the data set or
    the owner renews the description (`renews`).
    """
    group = dataset.source
    if not isinstance(group, TableGroup):
        raise TypeError(f"dataset must have several tables, got {group}")
    with ExitStack() as drafts:
        with existing_ledger(configuration) as ledger:
            catalog = catalog_of(ledger, configuration)
            catalog.unit(dataset.account, dataset.unit)
            is_described = dataset.account in catalog.written
            examined = {
                table.name: drafts.enter_context(_examined_table(table, dataset, configuration, catalog, renews=renews))
                for table in group.tables
            }
        tables = {name: table for name, (table, _) in examined.items()}
        inspection = GroupInspection(dataset, group, tables, same_unit=_same_unit(dataset, configuration))
        if not inspection.fits:
            return inspection
        is_in_doubt = any(table.check.names_like_values for table in tables.values())
        writes = is_described or renews or not is_in_doubt
        checked = {name: files for name, (_, files) in examined.items() if files is not None}
        try:
            numbers, others = _store_description(dataset, configuration, checked, renews=renews, writes=writes)
        except (ConfigError, SourceError) as error:
            return replace(inspection, refusal=str(error))
    return replace(inspection, numbers=numbers, answered_otherwise=others)


def _same_unit(dataset: DatasetConfig, configuration: Config) -> tuple[str, ...]:
    """Return the other data sets whose privacy unit is a column of the same name."""
    others = (each for each in configuration.datasets.values() if each.account != dataset.account)
    unit = dataset.unit or ROW
    return tuple(
        each.name for each in others if unit != ROW != each.unit and (each.unit or "").casefold() == unit.casefold()
    )


def _file_state(dataset: DatasetConfig) -> tuple[tuple[int, ...], ...] | None:
    """Return the state of the files of a data set; None if it is on a server, or if its files cannot be read."""
    if not isinstance(dataset.source, Path):
        return None
    try:
        return state_of(files_of(dataset.source))
    except SourceError:
        return None


@contextmanager
def _copy_draft(dataset: DatasetConfig, configuration: Config | None) -> Iterator[Path | None]:
    """Yield a path for a copy of the texts that the check writes. Remove a copy that the ledger does not keep.

    `configuration` states where the ledger is; the copy lies in its data folder. Yield None if `configuration` is None,
    or if there is no folder and none can be made.
    """
    folder = None if configuration is None else configuration.data_folder
    try:
        if folder is not None:
            make_private(folder)
    except OSError:
        folder = None  # a later count makes the copy, or none is made
    if folder is None:
        yield None
        return
    draft = Copies(folder).draft(dataset.account)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)
        with suppress(OSError):  # the folder holds something else
            folder.rmdir()


def _read_check(dataset: DatasetConfig, certificates: EngineCertificates, copy: Path | None = None) -> Check:
    settings: dict[str, Any] = {name: getattr(dataset, name) for name in ("columns", "kinds", "claim")}
    settings["unit"] = None if dataset.unit == ROW else dataset.unit
    if isinstance(dataset.source, ServedTable):
        return findings_about_table(dataset.source, certificates=certificates.all(), **settings)
    if isinstance(dataset.source, TableGroup):
        raise TypeError(f"dataset must have one table, got {dataset.source}: examine_tables examines several")
    return findings_about_records(dataset.source, table=dataset.table, form=dataset.form, copy=copy, **settings)


def _compare_with_description(
    dataset: DatasetConfig, record: DatasetRecord | None, certificates: EngineCertificates, copy: Path | None
) -> tuple[Check, bool]:
    """Return the check of the records, and True if the kind of a column differs from the one in the ledger.

    The column of the unit is not compared.
    """
    if record is None:
        return _read_check(dataset, certificates, copy), False
    described = replace(dataset, form=record.form or dataset.form, kinds=record.columns)
    try:
        check = _read_check(described, certificates)
    except SourceError:
        check = _read_check(dataset, certificates)
    kinds = {column.name: column.kind for column in check.columns}
    is_changed = any(kinds.get(name) is not form.kind for name, form in record.columns.items() if name != record.unit)
    columns = (_with_reason(column, dataset) for column in check.columns)
    return replace(check, columns=tuple(columns)), is_changed


def _with_reason(column: ColumnCheck, dataset: DatasetConfig) -> ColumnCheck:
    """Return a column. If its kind comes from the ledger, the stated reason for the kind says so."""
    is_unit_stated = column.form is None or column.name in (dataset.kinds or {})
    if is_unit_stated or column.name == dataset.unit:
        return column
    return replace(column, reason="the ledger has it so")


def _store_description(
    dataset: DatasetConfig,
    configuration: Config,
    checked: CheckedFiles | Mapping[str, CheckedFiles] | None,
    *,
    renews: bool,
    writes: bool = True,
) -> tuple[TablesCheck | None, int]:
    """Describe checked records in the ledger, unless `writes` is false.

    Return true numbers of persons and links if there are several tables, and the number of the ledger's answers about
    other records.
    """
    with ExitStack() as opened:
        ledger = opened.enter_context(existing_ledger(configuration, makes=True))
        catalog = catalog_of(ledger, configuration, makes=True)
        records = opened.enter_context(records_of(dataset, catalog, checked, renews=renews))
        numbers = records.check_tables() if isinstance(dataset.source, TableGroup) else None
        if not writes:
            return numbers, 0
        if ledger is None:
            configuration.make_ledger_folder()
            ledger = opened.enter_context(Ledger.open(configuration.ledger_url))
        records.store_description(ledger)
        return numbers, records.count_of_other_versions(ledger.entries(records.name))
