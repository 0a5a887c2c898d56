"""All that a ledger tells an officer: each data set, its releases, what is spent and left."""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from fractions import Fraction

from noisycount.catalog.catalog import ROW, DatasetRecord
from noisycount.config.config import Config
from noisycount.display.texts import redacted_names
from noisycount.engines.views.claim import UnitClaim
from noisycount.frozen import frozen
from noisycount.ledger.address import require_no_row
from noisycount.ledger.budget import Loss, NeighbourRelation
from noisycount.ledger.chain import DESCRIPTION
from noisycount.ledger.entries import Entry, Head, asked_part
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.price import RunningTotal, odds_of_all, unit_noun
from noisycount.ledger.storage import Row
from noisycount.ledger.verification import Verification, entries_of
from noisycount.release.stored_question import StoredQuestion
from noisycount.tasks.ledger import Account, accounts_of_analysts, accounts_of_datasets
from noisycount.tasks.opening import existing_ledger
from noisycount.tasks.unproven import UnprovenTopUp, unproven_top_ups


@frozen
class Versions:
    """The numbers of the versions of each data set, from 1 on, in the order in which they come.

    A ledger tells versions apart by hashes of the content, and who knows all records but one could try its values: so
    none of them is told.
    """

    known: dict[str, list[str]] = field(default_factory=dict)  # the versions that came, by the name of the data set

    def number(self, dataset: str, version: str | None) -> str | None:
        """The number of a version; None where there is none."""
        if version is None:
            return None
        known = self.known.setdefault(dataset, [])
        if version not in known:
            known.append(version)
        return str(known.index(version) + 1)


def questions_of(entries: Iterable[Entry], versions: Versions | None = None) -> tuple[StoredQuestion, ...]:
    """Return the questions of entries in their order, with the numbers of the versions of the records."""
    known = versions or Versions()
    return tuple(
        StoredQuestion(entry, known.number(entry.request.dataset, asked_part(entry, "version"))) for entry in entries
    )


@frozen
class DatasetReport:
    """What is told of one data set."""

    account: Account  # its name as it is told, its budget, and what all its answers have cost together
    unit: str | None  # the column that names the person; None: every record is one unit
    size: int | None  # the number of units where it is public, else None
    version: str | None  # the number of that of the records as they were written down last; None: they never were
    releases: tuple[StoredQuestion, ...]  # oldest first
    is_intact: bool  # whether every row of the ledger is as it was written
    why: str | None = None  # the reason of the budget, in the owner's words; None: none was said
    claim: UnitClaim = UnitClaim()  # what the owner states about the rows of a view
    # the top-ups that may rest on answers about other records: a ledger of a development version can hold some
    unproven: tuple[UnprovenTopUp, ...] = ()

    @property
    def neighbours(self) -> NeighbourRelation:
        """How data sets differ that the answers shall hardly tell apart, as the owner says now."""
        return NeighbourRelation.of_size(self.size)

    @property
    def otherwise(self) -> tuple[StoredQuestion, ...]:
        """The releases whose price was made for other neighbours than those of now."""
        return tuple(each for each in self.releases if each.relation not in {None, self.neighbours})

    @property
    def replaced(self) -> Loss:
        """What all answers lose together where one unit takes the place of another."""
        lost = sum((each.replaced for each in self.releases), Loss())
        return lost + Loss(sum((each.excess * self._factor(each.entry) for each in self.unproven), Fraction(0)))

    def _factor(self, entry: Entry) -> Fraction:
        """Return by what an entry costs more where one unit takes the place of another."""
        charged, lost = entry.request.epsilon, StoredQuestion(entry).replaced.epsilon
        return lost / charged if charged and lost else Fraction(1)

    @property
    def lost_now(self) -> Loss:
        """What all answers lose together for the neighbours of now: never less than was charged."""
        if self.neighbours is NeighbourRelation.REPLACEMENT:
            return self.replaced
        return self.account.spent + Loss(sum((each.excess for each in self.unproven), Fraction(0)))

    @property
    def rho_delta(self) -> Fraction | None:
        """The δ at which the budget takes ρ for ε; None: it names none."""
        return None if self.account.budget is None else self.account.budget.rho_delta

    @property
    def protected(self) -> str:
        """Whom the answers protect: "person" or "row"."""
        return unit_noun(self.unit)

    @property
    def odds(self) -> str | None:
        """Running total of the data set and what it means for one person or row; None: the ledger is broken.

        The words are those of every answer. The loss for replacement is bounded by twice what was charged; `replaced`
        is that of the questions that were asked.
        """
        if not self.is_intact:
            return None
        is_replacement = self.neighbours is NeighbourRelation.REPLACEMENT
        return RunningTotal(
            self.lost_now, self.protected, is_replacement=is_replacement, rho_delta=self.rho_delta
        ).words

    @property
    def whole(self) -> str | None:
        """What all of the budget would mean for one person or row; None: there is none."""
        budget = self.account.budget
        if budget is None or not self.is_intact:
            return None
        is_replacement = self.neighbours is NeighbourRelation.REPLACEMENT
        return odds_of_all(budget, self.protected, is_replacement=is_replacement)

    @property
    def failures(self) -> tuple[StoredQuestion, ...]:
        """What was charged and never answered."""
        return tuple(each for each in self.releases if each.is_failed)

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


@frozen
class Report:
    """All that is told of a ledger."""

    made: datetime  # when, in UTC
    found: Verification  # whether every row is as it was written, and the newest that is
    datasets: tuple[DatasetReport, ...]  # those that are configured or were asked
    analysts: tuple[Account, ...] = ()  # those that are configured or have asked; none where nobody was named
    # what somebody wrote down of the ledger, with which it was compared; None: with nothing
    known_head: Head | None = None

    @property
    def is_verified(self) -> bool:
        """Whether every row is as it was written."""
        return self.found.broken is None


def report_of(configuration: Config, known_head: Head | None = None) -> Report:
    """The report on the ledger of a configuration."""
    with existing_ledger(configuration, anchored=False) as ledger:
        return report_on(ledger, configuration, known_head)


def report_on(ledger: Ledger | None, configuration: Config, known_head: Head | None = None) -> Report:
    """The report on an open ledger; of a broken one on the rows before the first broken row.

    None: nothing was asked yet; without a known head it is compared with that of the configuration.
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
    written = {row["dataset"]: DatasetRecord.read(row["question"]) for row in rows if row["kind"] == DESCRIPTION}
    configured = {each.account: each for each in configuration.datasets.values()}
    asked: dict[str, list[Entry]] = {}
    for entry in entries:
        asked.setdefault(entry.request.dataset, []).append(entry)
    found = []
    unproven = unproven_top_ups(rows, configuration)
    for account in accounts_of_datasets(configuration, entries):
        name, versions = account.name, Versions()
        described, owned, own = written.get(name), configured.get(name), asked.get(name, [])
        unit = owned.unit if owned else None
        if described is not None or own:
            unit = described.unit if described else asked_part(own[-1], "unit")
        releases = questions_of(own, versions)
        dataset = DatasetReport(
            account=account,
            unit=None if unit == ROW else unit,
            size=None if owned is None else owned.size,
            version=versions.number(name, None if described is None else described.version),
            releases=releases,
            is_intact=is_intact,
            why=None if owned is None else owned.why,
            claim=UnitClaim() if owned is None else owned.claim,
            unproven=tuple(each for each in unproven if each.entry.request.dataset == name),
        )
        found.append(dataset)
    told = redacted_names(each.account.name for each in found)
    return [replace(each, account=replace(each.account, name=told[each.account.name])) for each in found]
