"""All that a ledger tells an officer: each data set, its releases, what is spent and left."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.ledger.access import existing_ledger
from noisycount.app.ledger.accounts import Account, accounts_of_analysts, accounts_of_datasets
from noisycount.app.report.released import Released, Versions
from noisycount.release.budget.loss import Loss
from noisycount.release.budget.neighbours import NeighbourRelation, neighbours_of_size
from noisycount.release.ledger.asked import asked_part
from noisycount.release.ledger.book import Verification
from noisycount.release.ledger.chain import DESCRIPTION, Head, Row
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.ledger.refusals import require_no_row
from noisycount.release.ledger.rows import entries_of
from noisycount.release.register.written import Written
from noisycount.release.tables.odds import odds_of, odds_of_all
from noisycount.shown.told import told_names

__all__ = ["DatasetReport", "Report", "report_of", "report_on"]


@dataclass(frozen=True, slots=True)
class DatasetReport:
    """What is told of one data set.

    Attributes:
        account: Its name as it is told, its budget, and what all its answers have cost together.
        unit: The column that names the person; None: every record is one unit.
        size: The number of units where it is public, else None.
        version: The number of that of the records as they were written down last; None: they never
            were.
        releases: Oldest first.
        is_intact: Whether every row of the ledger is as it was written.
        why: The reason of the budget, in the owner's words; None: none was said.
    """

    account: Account
    unit: str | None
    size: int | None
    version: str | None
    releases: tuple[Released, ...]
    is_intact: bool
    why: str | None = None

    @property
    def neighbours(self) -> NeighbourRelation:
        """How data sets differ that the answers shall hardly tell apart, as the owner says now."""
        return neighbours_of_size(self.size)

    @property
    def otherwise(self) -> tuple[Released, ...]:
        """The releases whose price was made for other neighbours than those of now."""
        return tuple(
            each for each in self.releases if each.priced.relation not in {None, self.neighbours}
        )

    @property
    def replaced(self) -> Loss:
        """What all answers lose together where one unit takes the place of another."""
        return sum((each.priced.replaced for each in self.releases), Loss())

    @property
    def lost_now(self) -> Loss:
        """What all answers lose together for the neighbours of now: never less than was charged."""
        is_replacement = self.neighbours is NeighbourRelation.REPLACEMENT
        return self.replaced if is_replacement else self.account.spent

    @property
    def rho_delta(self) -> Fraction | None:
        """The δ at which the budget takes ρ for ε; None: it names none."""
        return None if self.account.budget is None else self.account.budget.rho_delta

    @property
    def protected(self) -> str:
        """What a guess is about."""
        return "row" if self.unit is None else "person"

    @property
    def odds(self) -> str | None:
        """What all answers together mean for one person or row; None: the ledger is broken."""
        if not self.is_intact:
            return None
        told = odds_of(self.lost_now, self.protected, self.replaced, self.rho_delta)
        return f"all together, {told}"

    @property
    def whole(self) -> str | None:
        """What all of the budget would mean for one person or row; None: there is none."""
        budget = self.account.budget
        if budget is None or not self.is_intact:
            return None
        is_replacement = self.neighbours is NeighbourRelation.REPLACEMENT
        return odds_of_all(budget, self.protected, is_replacement=is_replacement)

    @property
    def failures(self) -> tuple[Released, ...]:
        """What was charged and never answered."""
        return tuple(each for each in self.releases if each.failed)

    @property
    def lost(self) -> Loss:
        """What the failures have cost together."""
        return sum((each.entry.request.price for each in self.failures), Loss())

    @property
    def left(self) -> Fraction:
        """The largest ε at which one more question may be asked; none of a broken ledger."""
        return (self.account.left if self.is_intact else None) or Fraction(0)

    @property
    def is_current(self) -> bool:
        """Whether every release is of the records as they were written down last."""
        return all(each.version in {None, self.version} for each in self.releases)


@dataclass(frozen=True, slots=True)
class Report:
    """All that is told of a ledger.

    Attributes:
        made: When, in UTC.
        found: Whether every row is as it was written, and the newest that is.
        datasets: Those that are configured or were asked.
        analysts: Those that are configured or have asked; none where nobody was named.
        known_head: What somebody wrote down of the ledger, with which it was compared; None: with
            nothing.
    """

    made: datetime
    found: Verification
    datasets: tuple[DatasetReport, ...]
    analysts: tuple[Account, ...] = ()
    known_head: Head | None = None

    @property
    def is_verified(self) -> bool:
        """Whether every row is as it was written."""
        return self.found.broken is None


def report_of(configuration: Config, known_head: Head | None = None) -> Report:
    """The report on the ledger of a configuration.

    Args:
        configuration: Where the ledger is, and what the owner wrote of the data sets.
        known_head: That somebody wrote down; None: that of the configuration, if it has one.

    Raises:
        LedgerError: It cannot be read, or it is missing though its head was written down.
    """
    with existing_ledger(configuration, anchored=False) as ledger:
        return report_on(ledger, configuration, known_head)


def report_on(
    ledger: Ledger | None, configuration: Config, known_head: Head | None = None
) -> Report:
    """The report on an open ledger; of a broken one on the rows before the first broken row.

    Args:
        ledger: None: nothing was asked yet.
        configuration: What the owner wrote of the data sets.
        known_head: That somebody wrote down; None: that of the configuration, if it has one.

    Raises:
        LedgerError: It cannot be read, or it is missing though its head was written down.
    """
    made, known_head = datetime.now(UTC), known_head or configuration.known_head
    if ledger is None:
        require_no_row(known_head)
    found = Verification(Head()) if ledger is None else ledger.verify(known_head)
    rows = [] if ledger is None else ledger.rows()[: found.head.number]
    entries = entries_of(rows)
    datasets = _datasets(rows, entries, configuration, is_intact=found.broken is None)
    analysts = accounts_of_analysts(configuration, entries)
    is_named = bool(configuration.analysts) or len(analysts) > 1
    return Report(made, found, tuple(datasets), tuple(analysts) if is_named else (), known_head)


def _datasets(
    rows: Sequence[Row], entries: Sequence[Entry], configuration: Config, *, is_intact: bool
) -> list[DatasetReport]:
    """What verified rows, and the debits that they hold, tell of each data set."""
    written = {
        row["dataset"]: Written.read(row["question"]) for row in rows if row["kind"] == DESCRIPTION
    }
    configured = {each.account: each for each in configuration.datasets.values()}
    asked: dict[str, list[Entry]] = {}
    for entry in entries:
        asked.setdefault(entry.request.dataset, []).append(entry)
    found = [
        _dataset(
            account,
            asked.get(account.name, []),
            written.get(account.name),
            configured.get(account.name),
            is_intact=is_intact,
        )
        for account in accounts_of_datasets(configuration, entries)
    ]
    told = told_names(each.account.name for each in found)
    return [
        replace(each, account=replace(each.account, name=told[each.account.name])) for each in found
    ]


def _dataset(
    account: Account,
    entries: Sequence[Entry],
    described: Written | None,
    configured: DatasetConfig | None,
    *,
    is_intact: bool,
) -> DatasetReport:
    if described is not None:
        unit = described.unit
    elif entries:
        unit = asked_part(entries[-1], "unit")
    else:
        unit = None if configured is None else configured.unit
    versions = Versions()
    releases = tuple(Released.of(entry, versions) for entry in entries)
    version = None if described is None else described.version
    return DatasetReport(
        account=account,
        unit=None if unit == "row" else unit,
        size=None if configured is None else configured.size,
        version=versions.number(account.name, version),
        releases=releases,
        is_intact=is_intact,
        why=None if configured is None else configured.why,
    )
