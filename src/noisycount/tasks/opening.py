"""The records of a data set, opened as its owner configured them, and the ledger that pays."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Self

from noisycount.catalog.catalog import ROW, Catalog, DatasetSettings
from noisycount.config.config import Config, DatasetConfig
from noisycount.errors import ConfigError, LedgerError, PredicateError
from noisycount.frozen import frozen
from noisycount.ledger.address import LedgerAddress, require_no_row
from noisycount.ledger.budget import ApproximateBudget, Loss, NeighbourRelation
from noisycount.ledger.chain import Verification
from noisycount.ledger.entries import Analyst, Entry, Head
from noisycount.ledger.ledger import Ledger
from noisycount.query.query import Query
from noisycount.release.dataset import RemainingBudget
from noisycount.release.desk import Attach, Desk
from noisycount.release.query_plan import CountPlan, Forms, QueryPlan
from noisycount.release.records import Records
from noisycount.release.reply_tick import ReplyTick
from noisycount.tasks.question import impossible_hints, plan_in


def dataset_asked(configuration: Config, source: str, unit: str | None, option: str = "--unit") -> DatasetConfig:
    """The data set that SOURCE means, counted by the unit that the asker names."""
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
    """What was written down of data sets; where no ledger is or comes to be, no folder does."""
    return Catalog.of(ledger, configuration.data_folder if ledger or makes else None)


def records_of(dataset: DatasetConfig, catalog: Catalog, *, renews: bool = False) -> Records:
    """The open records of a data set."""
    return Records.open(dataset.source, statement_of(dataset, renews=renews), catalog)


def as_configured(dataset: DatasetConfig, configuration: Config, catalog: Catalog) -> DatasetConfig:
    """The data set as its owner configured it, where a path holds the same records.

    A copy of a file is the data set that the ledger has by its content: what its owner configured
    of that (the columns, the budget, the size) holds for the copy too.
    """
    if not dataset.is_path or dataset.account != dataset.name:
        return dataset
    account = Records.account_of(dataset.source, statement_of(dataset), catalog)
    owned = (each for each in configuration.datasets.values() if each.account == account)
    found = next(owned, None)
    if account == dataset.account or found is None:
        return replace(dataset, account=account)
    return replace(found, source=dataset.source, unit=dataset.unit or found.unit)


def statement_of(dataset: DatasetConfig, *, renews: bool = False) -> DatasetSettings:
    """What the owner of a data set says of its records."""
    return DatasetSettings(
        name=dataset.account,
        is_path=dataset.is_path and dataset.account == dataset.name,
        unit=dataset.unit,
        columns=dataset.columns,
        table=dataset.table,
        kinds=dataset.kinds,
        form=dataset.form,
        renews=renews,
    )


def debits(configuration: Config) -> list[Entry]:
    """Every debit, oldest first; none where nothing was asked yet."""
    with existing_ledger(configuration) as ledger:
        return ledger.entries() if ledger else []


def verification(configuration: Config, known_head: Head | None) -> Verification | None:
    """What became of reading the whole ledger; None: there is none yet."""
    with existing_ledger(configuration, anchored=False) as ledger:
        if ledger is not None:
            return ledger.verify(known_head)
    require_no_row(known_head)
    return None


@contextmanager
def existing_ledger(configuration: Config, *, anchored: bool = True, makes: bool = False) -> Iterator[Ledger | None]:
    """The ledger; None where nothing was asked yet."""
    place = LedgerAddress.read(configuration.ledger_url).file  # refuses what `Ledger.open` would
    known_head = configuration.known_head if anchored else None
    # A link that leads nowhere may lead to a disk not mounted: that is for the ledger to refuse.
    if place is not None and not _is_there(place) and known_head is None:
        yield None
        return
    create = makes and place is not None and known_head is None
    with Ledger.open(configuration.ledger_url, create=create, known_head=known_head) as ledger:
        yield ledger if ledger.is_made() else None


def _is_there(place: Path) -> bool:
    """Whether something lies there, be it a link that leads nowhere."""
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        shown = repr(str(place))
        raise LedgerError(f"ledger {shown} cannot be opened ({error.strerror}): mend that") from None
    return True


@frozen
class DatasetSession:
    """What is open while a data set is asked; whoever opened it closes it."""

    dataset: DatasetConfig  # as its owner configured it
    records: Records  # the open records
    ledger: Ledger | None  # the open ledger; None where nothing was asked yet
    configuration: Config  # where the ledger is

    @property
    def account(self) -> DatasetConfig:
        """The data set under the name by which the ledger books its spending."""
        return replace(self.dataset, account=self.records.name)

    @property
    def ledger_file(self) -> Path | None:
        """The file of the ledger; None for a server."""
        return self.configuration.ledger_file

    def plan(self, query: Query, analyst: Analyst | None = None) -> QueryPlan:
        """The plan of a question, at the price that it needs."""
        dataset, records = self.dataset, self.records
        budgets = [dataset.budget, *filter(None, [analyst and analyst.budget])]
        for_keys = min(each.for_keys if isinstance(each, ApproximateBudget) else Fraction(0) for each in budgets)
        is_replacement = NeighbourRelation.of_size(dataset.size) is NeighbourRelation.REPLACEMENT
        return plan_in(query, records.schema, records.unit, is_replacement=is_replacement, for_keys=for_keys)

    def require_possible(self, plan: QueryPlan, analyst: Analyst) -> list[str]:
        """What no record can satisfy of a question that the analyst paid for."""
        hints = impossible_hints(plan.predicates)
        if hints and not self.is_free(analyst, self.records.requests(plan)):
            raise PredicateError(f"where asks in vain: {'; '.join(hints)}")
        return hints

    def earlier(self, plan: CountPlan, analyst: Analyst) -> list[Entry]:
        """The debits that asked the same count of these very records, at any price."""
        if self.ledger is None:
            return []
        wordings = plan.wordings
        texts = map(json.dumps, wordings)  # as questions hold them
        asked = [entry for text in texts for entry in self.ledger.asking(self.records.name, text)]
        return [each for each in self.records.earlier(wordings, asked) if analyst.may_see(each)]

    def is_free(self, analyst: Analyst, requests: Forms) -> bool:
        """Whether an analyst asked for the same before, and so may know that it is free."""
        entry = None if self.ledger is None else self.ledger.entry_of(*requests)
        return entry is not None and analyst.may_see(entry)

    def desk(self, analyst: Analyst, slot: ReplyTick | None = None, attach: Attach | None = None) -> Desk:
        """The desk that charges an analyst's questions to an open ledger."""
        if self.ledger is None:
            raise ValueError("ledger must be open before a desk is, got None: make it first")
        paying = self.dataset.for_desk(self.records.name)
        return self.records.desk(self.ledger, paying, slot, analyst, attach)

    @contextmanager
    def charging(self) -> Iterator["DatasetSession"]:
        """The session with a ledger, which is made if nothing was asked yet."""
        if self.ledger is not None:
            yield self
            return
        self.records.prepare()
        self.configuration.make_ledger_folder()
        with Ledger.open(self.configuration.ledger_url) as ledger:
            yield replace(self, ledger=ledger)


@contextmanager
def session_of(dataset: DatasetConfig, configuration: Config, *, makes: bool = False) -> Iterator[DatasetSession]:
    """The session of a data set; its records and its ledger are closed with it."""
    with ExitStack() as opened:
        ledger = opened.enter_context(existing_ledger(configuration, makes=makes))
        catalog = catalog_of(ledger, configuration, makes=makes)
        dataset = as_configured(dataset, configuration, catalog)
        records = opened.enter_context(records_of(dataset, catalog))
        yield DatasetSession(dataset, records, ledger, configuration)


@frozen
class SpendingLimits:
    """What a data set and an analyst have paid; the budgets of both must pay for more."""

    dataset: DatasetConfig  # under the name by which the ledger books its spending
    analyst: Analyst  # who asks
    of_dataset: Loss  # what its answers have cost together
    of_analyst: Loss  # what the analyst's questions have

    @classmethod
    def of(cls, dataset: DatasetConfig, analyst: Analyst, ledger: Ledger | None) -> Self:
        """What was spent so far; nothing where there is no ledger."""
        if ledger is None:
            return cls(dataset, analyst, Loss(), Loss())
        return cls(dataset, analyst, ledger.paid(dataset.account), ledger.paid_by(analyst.name))

    @property
    def remains(self) -> RemainingBudget:
        """What is left of both budgets."""
        return RemainingBudget.of(self.dataset.budget, self.of_dataset, self.analyst, self.of_analyst)

    def with_more(self, price: Loss) -> Self:
        """What was spent after one more answer."""
        return replace(self, of_dataset=self.of_dataset + price, of_analyst=self.of_analyst + price)

    def admits(self, price: Loss) -> bool:
        """Whether the budgets pay for one more answer."""
        own = self.analyst.budget
        is_own = own is None or own.admits(self.of_analyst + price)
        return is_own and self.dataset.budget.admits(self.of_dataset + price)
