"""What a check found, held against what is stated of a data set; written down where all fits."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field, replace
from pathlib import Path

from noisycount.catalog.catalog import ROW, Catalog, DatasetRecord
from noisycount.catalog.folder import Certificates, Copies, make_private
from noisycount.catalog.sources import CheckedFiles
from noisycount.config.config import Config, DatasetConfig
from noisycount.config.places import source_text
from noisycount.engines.check import Check, ColumnCheck
from noisycount.engines.finding import Finding, Severity
from noisycount.engines.places import ServedTable, files_of, state_of
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.ledger.ledger import Ledger
from noisycount.release.records import UTF, checked_records, checked_table
from noisycount.tasks.opening import catalog_of, existing_ledger, records_of, statement_of

_MANY = 20  # units: of fewer, most columns have another value for nearly each
_HALF = 2


@frozen
class EarlierAccount:
    """Where answers about a file were paid for before a configuration described it."""

    account: str  # what the ledger calls it
    url: str | None  # the address of the ledger; None: that of the configuration that there is
    unit: str  # what was counted: distinct values of that column, or `row`


@frozen
class Inspection:
    """What is in the records of a data set, and whether questions may be asked of it."""

    dataset: DatasetConfig  # as its owner configured it
    check: Check  # what is in the records
    is_configured: bool  # whether a configuration has its name
    is_said: bool  # whether anybody said whose rows these are
    is_changed: bool = False  # whether the columns are others than the ledger has written down
    folder: Path = field(default_factory=Path.cwd)  # that of the configuration that there is, or would be
    former: EarlierAccount | None = None  # where answers were paid for so far; None: nowhere else
    same_unit: tuple[str, ...] = ()  # other data sets whose unit is a column of the same name
    answered_otherwise: int = 0  # how many answers are of the records as they were, or were read, before

    @property
    def unit(self) -> str | None:
        """The column that names the person; None where every row is one unit, or nobody said."""
        return None if self.dataset.unit == ROW else self.dataset.unit

    @property
    def source(self) -> str:
        """The path of the records as a configuration writes it."""
        return source_text(self.dataset.source, self.folder)

    def why_unused(self, column: ColumnCheck) -> str | None:
        """Why questions may not use a column; None: they may."""
        chosen = self.dataset.columns
        if column.name == self.unit:
            return "the unit"
        if chosen is not None and column.name not in chosen:
            return "not among columns"
        if column.kind is None:
            return f"no kind for {column.type}"
        return "unreadable" if column.is_refused else None

    @property
    def record_findings(self) -> list[Finding]:
        """The findings about the records; those about columns that questions may not use are notes."""
        reasons = {None, "unreadable", "the unit"}
        used = {None, *(column.name for column in self.check.columns if self.why_unused(column) in reasons)}
        return [
            finding if finding.column in used else replace(finding, severity=Severity.NOTE)
            for finding in self.check.findings
        ]

    @property
    def unstated_encoding(self) -> str | None:
        """The encoding that must be stated before the file can be counted."""
        form = self.check.form
        if form is None or self.dataset.form.encoding is not None or form.encoding in UTF:
            return None
        return form.encoding

    @property
    def persons(self) -> int | None:
        """How many different persons there are; None: every row is one unit, or nobody said."""
        return None if self.unit is None else self.check.units

    @property
    def nearly_unique(self) -> tuple[ColumnCheck, ...]:
        """The columns that questions may use with a text of its own for most persons, as names are.

        Texts that look like numbers or dates are other values, and have findings of their own.
        """
        units = self.check.rows if self.persons is None else self.persons
        if not self.is_said or units < _MANY:
            return ()
        return tuple(
            column
            for column in self.check.columns
            if column.distinct is not None
            and column.distinct * _HALF > units
            and not (column.is_measured or column.looks_like or column.choices)
            and self.why_unused(column) is None
        )

    @property
    def fits(self) -> bool:
        """True if questions are answered."""
        is_blocked = any(finding.severity is Severity.BLOCKS for finding in self.record_findings)
        return not (is_blocked or self.unstated_encoding or self.is_changed)


def examined_place(
    dataset: DatasetConfig,
    former: EarlierAccount | None = None,
    kept: Certificates = Certificates(),  # noqa: B008 - frozen
) -> Inspection:
    """The inspection of a file or a table, whatever a ledger has written down of it."""
    is_said = dataset.unit is not None
    check = _check(dataset, kept)
    return Inspection(dataset, check, is_configured=False, is_said=is_said, former=former)


def former_of(dataset: DatasetConfig, configuration: Config) -> EarlierAccount | None:
    """Where answers about a data set were paid for; None: nowhere in a file."""
    if configuration.ledger_file is None:
        return None
    with existing_ledger(configuration) as ledger:
        catalog = catalog_of(ledger, configuration)
        if not catalog.knows(dataset.account):
            return None
        unit = catalog.unit(dataset.account, None) or ROW
    return EarlierAccount(dataset.account, configuration.ledger_url, unit)


def examined(dataset: DatasetConfig, configuration: Config, *, renews: bool = False) -> Inspection:
    """The inspection of a data set; where all fits, the ledger keeps what was found."""
    with existing_ledger(configuration) as ledger:
        catalog = catalog_of(ledger, configuration)
        is_said = dataset.unit is not None or catalog.knows(dataset.account)
        if is_said:
            dataset = replace(dataset, unit=catalog.unit(dataset.account, dataset.unit) or ROW)
        written = catalog.known(dataset.account, statement_of(dataset, renews=renews))
        former = None
        if dataset.is_path and catalog.knows(dataset.account):
            url = configuration.ledger_url if configuration.path is None else None
            former = EarlierAccount(dataset.account, url, dataset.unit or ROW)
    kept = Certificates(configuration.data_folder)
    with _copy_draft(dataset, configuration if is_said and written is None else None) as copy:
        state = _state(dataset)
        check, is_changed = _held_against(dataset, written, kept, copy)
        found = Inspection(
            dataset=dataset if written is None else replace(dataset, form=written.form or dataset.form),
            check=check,
            is_configured=dataset.name in configuration.datasets,
            is_said=is_said,
            is_changed=is_changed,
            folder=Path.cwd() if configuration.path is None else configuration.path.parent,
            former=former,
            same_unit=_same_unit(dataset, configuration),
        )
        in_doubt = written is None and not renews and bool(check.names_like_values)
        if in_doubt or not (found.fits and is_said):
            return found
        checked = None if state is None else CheckedFiles(state, check)
        others = _write_down(dataset, configuration, checked, renews=renews)
    return replace(found, answered_otherwise=others)


def _same_unit(dataset: DatasetConfig, configuration: Config) -> tuple[str, ...]:
    """Return the other data sets that name persons by a column of the same name."""
    others = (each for each in configuration.datasets.values() if each.account != dataset.account)
    unit = dataset.unit or ROW
    return tuple(
        each.name for each in others if unit != ROW != each.unit and (each.unit or "").casefold() == unit.casefold()
    )


def _state(dataset: DatasetConfig) -> tuple[tuple[int, ...], ...] | None:
    """Return the state of the files of a data set; None if it has none, or if they cannot be read."""
    if isinstance(dataset.source, ServedTable):
        return None
    try:
        return state_of(files_of(dataset.source))
    except SourceError:
        return None


@contextmanager
def _copy_draft(dataset: DatasetConfig, configuration: Config | None) -> Iterator[Path | None]:
    """Yield where a check may leave a copy of texts, beside the ledger; what the ledger does not take is removed.

    `configuration`: where the ledger is; None if the check writes nothing.
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


def _check(dataset: DatasetConfig, kept: Certificates, copy: Path | None = None) -> Check:
    unit = None if dataset.unit == ROW else dataset.unit
    if isinstance(dataset.source, ServedTable):
        return checked_table(
            dataset.source,
            unit=unit,
            columns=dataset.columns,
            certificates=kept.all(),
            claim=dataset.claim,
            kinds=dataset.kinds,
        )
    return checked_records(
        dataset.source,
        unit=unit,
        columns=dataset.columns,
        table=dataset.table,
        kinds=dataset.kinds,
        form=dataset.form,
        claim=dataset.claim,
        copy=copy,
    )


def _held_against(
    dataset: DatasetConfig, written: DatasetRecord | None, kept: Certificates, copy: Path | None
) -> tuple[Check, bool]:
    """Return what is in the records, and True if their columns are others than the ledger holds."""
    if written is None:
        return _check(dataset, kept, copy), False
    described = replace(dataset, form=written.form or dataset.form, kinds=written.columns)
    try:
        check = _check(described, kept)
    except SourceError:
        check = _check(dataset, kept)
    kinds = {column.name: column.kind for column in check.columns}
    is_changed = any(kinds.get(name) is not form.kind for name, form in written.columns.items() if name != written.unit)
    columns = (_with_reason(column, dataset) for column in check.columns)
    return replace(check, columns=tuple(columns)), is_changed


def _with_reason(column: ColumnCheck, dataset: DatasetConfig) -> ColumnCheck:
    """A column with its reason; what the ledger has written down was not said just now."""
    is_said = column.form is None or column.name in (dataset.kinds or {})
    if is_said or column.name == dataset.unit:
        return column
    return replace(column, reason="the ledger has it so")


def _write_down(dataset: DatasetConfig, configuration: Config, checked: CheckedFiles | None, *, renews: bool) -> int:
    """Describe checked records in the ledger, and return how many of its answers are about other records."""
    with ExitStack() as opened:
        ledger = opened.enter_context(existing_ledger(configuration, makes=True))
        if ledger is None:
            configuration.make_ledger_folder()
            ledger = opened.enter_context(Ledger.open(configuration.ledger_url))
        catalog = Catalog.of(ledger, configuration.data_folder)
        records = opened.enter_context(records_of(dataset, catalog, checked, renews=renews))
        records.write_down(ledger)
        return records.answered_otherwise(ledger.entries(records.name))
