"""Sessions: the records of a data set and the ledger that pays for questions, opened together.

`session_of` opens a `DatasetSession` for a command; the service keeps its sessions open. Both are read by
`noisycount.tasks.answer` and `noisycount.tasks.preview`.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from noisycount.catalog.catalog import ROW, Catalog, DatasetSettings
from noisycount.catalog.sources import CheckedFiles
from noisycount.config.config import Config, DatasetConfig
from noisycount.errors import ConfigError, LedgerError
from noisycount.frozen import frozen
from noisycount.ledger.address import LedgerAddress
from noisycount.ledger.budget import Loss
from noisycount.ledger.entries import Analyst, Entry
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.price import RunningTotal, unit_noun
from noisycount.query.query import Query
from noisycount.release.dataset import RemainingBudget
from noisycount.release.desk import Attach, Desk
from noisycount.release.publishing import Forms
from noisycount.release.query_plan import QueryPlan
from noisycount.release.records import Records
from noisycount.release.reply_tick import ReplyTick


def dataset_of_source(configuration: Config, source: str, unit: str | None, option: str = "--unit") -> DatasetConfig:
    """Return the data set that the argument SOURCE names, with the privacy unit that the analyst states.

    Raises ConfigError if the owner configured another unit; the message names the `option`.
    """
    dataset = configuration.dataset(source)
    if unit is None or unit == dataset.unit:
        return dataset
    if not dataset.is_path:
        chosen = "counts rows" if dataset.unit == ROW else f"counts distinct {dataset.unit!r}"
        raise ConfigError(
            f"{option} {unit!r}: data set {dataset.name!r} {chosen}, as its owner configured it; leave {option} out"
        )
    return replace(dataset, unit=unit)


def catalog_of(ledger: Ledger | None, configuration: Config, *, makes: bool = False) -> Catalog:
    """Return the catalog of data sets. It has a folder only if there is a ledger, or if one is about to be made."""
    return Catalog.from_ledger(ledger, configuration.data_folder if ledger or makes else None)


def records_of(
    dataset: DatasetConfig,
    catalog: Catalog,
    checked: CheckedFiles | Mapping[str, CheckedFiles] | None = None,
    *,
    renews: bool = False,
) -> Records:
    """Open the records of a data set.

    Args:
        dataset: The data set.
        catalog: The catalog, which has the stored description of the records.
        checked: A check that was made just before, so that no file is read again. Several tables have one each.
        renews: True if the owner replaces the description of the columns in the ledger.
    """
    return Records.open(dataset.source, stated_settings(dataset, renews=renews), catalog, checked)


def configured_dataset(dataset: DatasetConfig, configuration: Config, catalog: Catalog) -> DatasetConfig:
    """Return the configured data set with the same records as a path; the data set of the path if there is none.

    The ledger knows a copy of a file by its content. The configured columns, budget and size apply to the copy too.
    """
    if not dataset.is_path or dataset.account != dataset.name:
        return dataset
    account = Records.account_of(dataset.source, stated_settings(dataset), catalog)
    configured = next((each for each in configuration.datasets.values() if each.account == account), None)
    if account == dataset.account or configured is None:
        return replace(dataset, account=account)
    return replace(configured, source=dataset.source, unit=dataset.unit or configured.unit)


def stated_settings(dataset: DatasetConfig, *, renews: bool = False) -> DatasetSettings:
    """Return the statements of the owner about the records of a data set."""
    return DatasetSettings(
        name=dataset.account,
        is_path=dataset.is_path and dataset.account == dataset.name,
        unit=dataset.unit,
        columns=dataset.columns,
        table=dataset.table,
        kinds=dataset.kinds,
        form=dataset.form,
        values=dataset.values,
        claim=dataset.claim,
        renews=renews,
    )


@contextmanager
def existing_ledger(configuration: Config, *, anchored: bool = True, makes: bool = False) -> Iterator[Ledger | None]:
    """Open the ledger, and close it at the end. Yield None if there is no ledger yet.

    Without `anchored` the ledger is not compared with the head in the configuration.
    """
    file = LedgerAddress.read(configuration.ledger_url).file  # refuses what `Ledger.open` would
    known_head = configuration.known_head if anchored else None
    is_missing = False
    if file is not None:
        try:  # a link that leads nowhere may lead to a disk that is not mounted: `Ledger.open` refuses it
            file.lstat()
        except (FileNotFoundError, NotADirectoryError):
            is_missing = known_head is None
        except OSError as error:
            message = f"ledger {str(file)!r} cannot be opened ({error.strerror}): correct its permissions"
            raise LedgerError(message) from None
    if is_missing:
        yield None
        return
    create = makes and file is not None and known_head is None
    with Ledger.open(configuration.ledger_url, create=create, known_head=known_head) as ledger:
        yield ledger if ledger.is_made() else None


@frozen
class DatasetSession:
    """The open records and the open ledger of a data set. The code that opens them must close them."""

    dataset: DatasetConfig  # the data set as its owner configured it
    records: Records  # the open records
    ledger: Ledger | None  # the open ledger; None if there is none yet
    configuration: Config  # the configuration, which names the ledger

    @property
    def account(self) -> DatasetConfig:
        """The data set under its name in the ledger."""
        return replace(self.dataset, account=self.records.name)

    def running_total(self, preview_cost: Loss | None = None, scope: str = "so far") -> RunningTotal:
        """Return the running total of the data set.

        Args:
            preview_cost: The cost of an answer that is previewed, which is added.
            scope: The answers that the total includes, in words.
        """
        spent = Loss() if self.ledger is None else self.ledger.paid(self.records.name)
        return RunningTotal(
            spent if preview_cost is None else spent + preview_cost,
            unit_noun(self.records.unit),
            is_replacement=self.dataset.size is not None,
            rho_delta=self.dataset.budget.rho_delta,
            which=scope,
        )

    def plan(self, query: Query) -> QueryPlan:
        """Return the meaning of a query, at the price that it needs."""
        return self.records.plan(query, is_replacement=self.dataset.size is not None)

    def remaining_budget(self, analyst: Analyst) -> RemainingBudget:
        """Return the remaining budgets of the data set and of an analyst."""
        return RemainingBudget.in_ledger(self.ledger, self.records.name, self.dataset.budget, analyst)

    def entries_asking(self, analyst: Analyst, requests: Forms) -> list[Entry]:
        """Return the debits for the same question, at any price, that an analyst may know."""
        return [] if self.ledger is None else self.ledger.entries_asking(*requests, analyst)

    def desk(self, analyst: Analyst, slot: ReplyTick | None = None, attach: Attach | None = None) -> Desk:
        """Return the desk of an analyst. The ledger must be open."""
        if self.ledger is None:
            raise ValueError("ledger must be open before a desk is opened, got None: open it first")
        return self.records.desk(self.ledger, self.dataset.for_desk(self.records.name), slot, analyst, attach)

    @contextmanager
    def with_ledger(self, plan: QueryPlan | None = None) -> Iterator["DatasetSession"]:
        """Yield the session with an open ledger. Make the ledger if there is none, once the question can be counted."""
        if self.ledger is not None:
            yield self
            return
        self.records.prepare(set() if plan is None else {column.name for column in plan.read_columns})
        self.configuration.make_ledger_folder()
        with Ledger.open(self.configuration.ledger_url) as ledger:
            yield replace(self, ledger=ledger)


@contextmanager
def session_of(dataset: DatasetConfig, configuration: Config, *, makes: bool = False) -> Iterator[DatasetSession]:
    """Open the records and the ledger of a data set, and close both at the end."""
    with ExitStack() as resources:
        ledger = resources.enter_context(existing_ledger(configuration, makes=makes))
        catalog = catalog_of(ledger, configuration, makes=makes)
        dataset = configured_dataset(dataset, configuration, catalog)
        records = resources.enter_context(records_of(dataset, catalog))
        yield DatasetSession(dataset, records, ledger, configuration)
