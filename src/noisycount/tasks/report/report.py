"""Contents of a report for a privacy officer: each data set with its releases, total loss and remaining budget.

`report_of` reads them from the ledger of a configuration, and verifies the ledger first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from noisycount.catalog.catalog import ROW, DatasetRecord
from noisycount.config.config import Config
from noisycount.display.numbers import counted_noun
from noisycount.display.texts import redacted_names
from noisycount.engines.places import is_lake, is_server
from noisycount.engines.views.relations import UnitClaim
from noisycount.frozen import frozen
from noisycount.ledger.address import require_no_row
from noisycount.ledger.budget import Loss, NeighbourRelation
from noisycount.ledger.chain import DESCRIPTION
from noisycount.ledger.entries import Entry, Head, asked_part
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.price import RunningTotal, odds_of_all, unit_noun
from noisycount.ledger.series import EDITION, has_exact_version, identity_of
from noisycount.ledger.storage import Row
from noisycount.ledger.verification import Verification, entries_of
from noisycount.release.stored_question import StoredQuestion
from noisycount.tasks.ledger import Account, accounts_of_analysts, accounts_of_datasets
from noisycount.tasks.opening import existing_ledger
from noisycount.validation import exact_text


@frozen
class Versions:
    """Numbers of the versions of each data set, from 1 on, in the order of their first use.

    A ledger distinguishes versions by hashes of the records. An adversary who knows all records but one could compare
    the hash with that of every possible value. So a report shows numbers in place of hashes.
    """

    known: dict[str, list[str]] = field(default_factory=dict)  # versions in the order of their first use, by data set

    def number(self, dataset: str, version: str | None) -> str | None:
        """Return the number of a version, a new one at its first use; None for None."""
        if version is None:
            return None
        versions = self.known.setdefault(dataset, [])
        if version not in versions:
            versions.append(version)
        return str(versions.index(version) + 1)


def questions_of(entries: Iterable[Entry], versions: Versions | None = None) -> tuple[StoredQuestion, ...]:
    """Return the stored questions of entries in the same order, with the version number of the records of each."""
    numbering = versions or Versions()
    return tuple(
        StoredQuestion(entry, numbering.number(entry.request.dataset, asked_part(entry, "version")))
        for entry in entries
    )


@frozen
class UnprovenTopUp:
    """A stored answer that tops up another answer, which may be about other records.

    A development version topped up answers about tables of servers, files on object stores and Spark tables without an
    edition, and about files that were known by their size and time. The page "Accuracy first" has the proof of the
    bound.
    """

    entry: Entry
    bases: tuple[Entry, ...]  # the answers that it tops up, the nearest first; at least one

    @property
    def is_gaussian(self) -> bool:
        """True if its draw is independent.

        Its loss is then the charge, but the published answer may combine different counts.
        """
        return identity_of(self.entry.request).is_gaussian

    @property
    def possible_excess(self) -> Fraction:
        """Largest ε by which its loss can exceed the charge: ε₁ + ε₂ is proved, and ε₂ − ε₁ was charged."""
        return Fraction(0) if self.is_gaussian else 2 * (self.bases[0].loss.epsilon or Fraction(0))

    @property
    def proved_epsilon(self) -> Fraction | None:
        """Smallest proved ε of the answer with all answers that it tops up: 2(ε₁ + … + ε_{n-1}) + ε_n."""
        if self.is_gaussian or self.entry.loss.epsilon is None:
            return None
        return self.entry.loss.epsilon + 2 * sum(base.loss.epsilon or Fraction(0) for base in self.bases)

    @property
    def words(self) -> str:
        """The top-up in one line."""
        loss = f"key {self.entry.key}: {self.entry.loss.text} in all was charged"
        if self.proved_epsilon is None:
            return f"{loss}, and is what its draws lose; the answer may be the mean of two different counts"
        return f"{loss}, and only ε = {exact_text(self.proved_epsilon)} is proved; its ± may be wrong"

    @property
    def json(self) -> dict[str, Any]:
        """The top-up as JSON; ε is null under Gaussian noise, whose charge is proved."""
        proved = None if self.proved_epsilon is None else exact_text(self.proved_epsilon)
        return {"key": self.entry.key, "dataset": self.entry.request.dataset, "proved_epsilon": proved}


def unproven_top_ups(rows: Sequence[Row], configuration: Config) -> list[UnprovenTopUp]:
    """Return the top-ups of verified rows that may rest on answers about other records, oldest first.

    Questions state their edition since top-ups require one. For an older question, the configuration, the name of the
    data set or its description shows if it is about a server. All other data sets count as files.
    """
    entries = {entry.key: entry for entry in entries_of(rows)}
    descriptions = [(row["dataset"], DatasetRecord.read(row["question"])) for row in rows if row["kind"] == DESCRIPTION]
    server_names = {name for name, record in descriptions if record.relations}
    server_names |= {dataset.account for dataset in configuration.datasets.values() if dataset.is_served}
    editions = {(name, record.version) for name, record in descriptions if record.edition is not None}
    top_ups = []
    for entry in entries.values():
        bases = tuple(entries[key] for key in entry.replaces if entries[key].answer is not None)
        if bases and entry.answer is not None and not _is_exact(entry, server_names, editions):
            top_ups.append(UnprovenTopUp(entry, bases))
    return top_ups


def _is_exact(entry: Entry, server_names: Iterable[str], editions: Iterable[tuple[str, str]]) -> bool:
    """Return True if the version of an entry identifies the records that were counted."""
    question, name = entry.request.asked, entry.request.dataset
    if not has_exact_version(question):
        return False
    is_of_server = name in server_names or is_server(name) or is_lake(name)
    return not is_of_server or EDITION in question or (name, question["version"]) in editions


def unproven_in(configuration: Config, number: int) -> list[UnprovenTopUp]:
    """Return the unproven top-ups among the first rows of the ledger of a configuration, which were verified."""
    with existing_ledger(configuration, anchored=False) as ledger:
        if ledger is None or not ledger.has_top_up():
            return []
        return unproven_top_ups(ledger.rows()[:number], configuration)


def unproven_words(top_ups: Sequence[UnprovenTopUp]) -> list[str]:
    """Return a first line that explains unproven top-ups, then a line for each of them."""
    if not top_ups:
        return []
    number = counted_noun("top-up", len(top_ups))
    head = (
        f"{number} may rest on answers about other records, as nothing said that the records had stayed the same: "
        "their loss can exceed the charge"
    )
    return [head, *(top_up.words for top_up in top_ups)]


@frozen
class DatasetReport:
    """The part of a report about one data set."""

    account: Account  # name as readers see it, budget, and total loss as charged
    unit: str | None  # column that identifies a person; None: each row is a unit
    size: int | None  # number of units if it is public, else None
    version: str | None  # number of the version in the newest description of the records; None: no description
    releases: tuple[StoredQuestion, ...]  # oldest first
    is_intact: bool  # True if no row of the ledger is broken
    why: str | None = None  # the owner's reason for the budget; None: none is stated
    claim: UnitClaim = UnitClaim()  # the owner's statements about the rows of a view
    # top-ups of answers that may be about other records; a ledger of a development version can hold some
    unproven: tuple[UnprovenTopUp, ...] = ()

    @property
    def neighbours(self) -> NeighbourRelation:
        """Neighbour relation that the answers protect under the present configuration."""
        return NeighbourRelation.of_size(self.size)

    @property
    def differently_priced(self) -> tuple[StoredQuestion, ...]:
        """Releases that were priced for another neighbour relation than the present one."""
        return tuple(release for release in self.releases if release.relation not in {None, self.neighbours})

    @property
    def replacement_loss(self) -> Loss:
        """Total loss of all answers if one unit replaces another."""
        loss = sum((release.replacement_loss for release in self.releases), Loss())
        return loss + Loss(
            sum(
                (top_up.possible_excess * self._replacement_factor(top_up.entry) for top_up in self.unproven),
                Fraction(0),
            )
        )

    def _replacement_factor(self, entry: Entry) -> Fraction:
        """Return the ratio of the loss of an entry in ε to its charge, if one unit replaces another.

        Return 1 if the entry has no ε.
        """
        price, loss = entry.request.epsilon, StoredQuestion(entry).replacement_loss.epsilon
        return loss / price if price and loss else Fraction(1)

    @property
    def total_loss(self) -> Loss:
        """Total loss of all answers under the present neighbour relation; at least what was charged."""
        if self.neighbours is NeighbourRelation.REPLACEMENT:
            return self.replacement_loss
        return self.account.spent + Loss(sum((top_up.possible_excess for top_up in self.unproven), Fraction(0)))

    @property
    def rho_delta(self) -> Fraction | None:
        """Value δ at which the budget converts ρ to ε; None if the budget names none."""
        return None if self.account.budget is None else self.account.budget.rho_delta

    @property
    def protected(self) -> str:
        """The privacy unit that the answers protect: "person" or "row"."""
        return unit_noun(self.unit)

    @property
    def odds(self) -> str | None:
        """Running total of the data set with its odds for one person or row, in words; None if the ledger is broken.

        It is worded as in every answer. If neighbours differ by adding or removing a unit, the odds for a replaced unit
        use the bound of twice the loss. `replacement_loss` has the exact, smaller loss.
        """
        if not self.is_intact:
            return None
        is_replacement = self.neighbours is NeighbourRelation.REPLACEMENT
        return RunningTotal(
            self.total_loss, self.protected, is_replacement=is_replacement, rho_delta=self.rho_delta
        ).words

    @property
    def whole_budget_odds(self) -> str | None:
        """Odds for one person or row once the whole budget is spent; None without a budget or for a broken ledger."""
        budget = self.account.budget
        if budget is None or not self.is_intact:
            return None
        is_replacement = self.neighbours is NeighbourRelation.REPLACEMENT
        return odds_of_all(budget, self.protected, is_replacement=is_replacement)

    @property
    def failures(self) -> tuple[StoredQuestion, ...]:
        """Releases that were charged and never answered."""
        return tuple(release for release in self.releases if release.is_failed)

    @property
    def failed_loss(self) -> Loss:
        """Total charge of the failures."""
        return sum((failure.entry.request.price for failure in self.failures), Loss())

    @property
    def left(self) -> Fraction:
        """Largest ε of one more answer; 0 if the ledger is broken."""
        return (self.account.left if self.is_intact else None) or Fraction(0)

    @property
    def is_current(self) -> bool:
        """True if every release with a known version is about the newest version of the records."""
        return all(release.version in {None, self.version} for release in self.releases)


@frozen
class Report:
    """The report on a ledger."""

    made: datetime  # time of the report, in UTC
    verification: Verification  # result of the verification of the ledger
    datasets: tuple[DatasetReport, ...]  # data sets that are configured or have entries
    analysts: tuple[Account, ...] = ()  # analysts that are configured or have asked; empty without analysts
    # head stored elsewhere with which the ledger was compared; None: it was not compared
    known_head: Head | None = None

    @property
    def is_verified(self) -> bool:
        """True if no row of the ledger is broken."""
        return self.verification.broken is None


def report_of(configuration: Config, known_head: Head | None = None) -> Report:
    """Return the report on the ledger of a configuration, compared with a known head if one is given."""
    with existing_ledger(configuration, anchored=False) as ledger:
        return report_on(ledger, configuration, known_head)


def report_on(ledger: Ledger | None, configuration: Config, known_head: Head | None = None) -> Report:
    """Return the report on an open ledger. If the ledger is broken, it covers the rows before the first broken row.

    Args:
        ledger: The open ledger; None if there is none yet.
        configuration: The configuration.
        known_head: A head that was stored elsewhere; None: that of the configuration, if it has one.
    """
    made, known_head = datetime.now(UTC), known_head or configuration.known_head
    if ledger is None:
        require_no_row(known_head)
    verification = Verification(Head()) if ledger is None else ledger.verify(known_head)
    rows = [] if ledger is None else ledger.rows()[: verification.head.number]
    entries = entries_of(rows)
    datasets = _dataset_reports(rows, entries, configuration, is_intact=verification.broken is None)
    analysts = accounts_of_analysts(configuration, entries)
    is_named = bool(configuration.analysts) or len(analysts) > 1
    return Report(made, verification, tuple(datasets), tuple(analysts) if is_named else (), known_head)


def _dataset_reports(
    rows: Sequence[Row], entries: Sequence[Entry], configuration: Config, *, is_intact: bool
) -> list[DatasetReport]:
    """Return the part about each data set, from the verified rows and their debits."""
    descriptions = {row["dataset"]: DatasetRecord.read(row["question"]) for row in rows if row["kind"] == DESCRIPTION}
    settings_by_account = {dataset.account: dataset for dataset in configuration.datasets.values()}
    entries_by_dataset: dict[str, list[Entry]] = {}
    for entry in entries:
        entries_by_dataset.setdefault(entry.request.dataset, []).append(entry)
    reports = []
    unproven = unproven_top_ups(rows, configuration)
    for account in accounts_of_datasets(configuration, entries):
        name, versions = account.name, Versions()
        description, settings = descriptions.get(name), settings_by_account.get(name)
        dataset_entries = entries_by_dataset.get(name, [])
        unit = settings.unit if settings else None
        if description is not None or dataset_entries:
            unit = description.unit if description else asked_part(dataset_entries[-1], "unit")
        releases = questions_of(dataset_entries, versions)
        dataset = DatasetReport(
            account=account,
            unit=None if unit == ROW else unit,
            size=None if settings is None else settings.size,
            version=versions.number(name, None if description is None else description.version),
            releases=releases,
            is_intact=is_intact,
            why=None if settings is None else settings.why,
            claim=UnitClaim() if settings is None else settings.claim,
            unproven=tuple(top_up for top_up in unproven if top_up.entry.request.dataset == name),
        )
        reports.append(dataset)
    shown_names = redacted_names(report.account.name for report in reports)
    return [
        replace(report, account=replace(report.account, name=shown_names[report.account.name])) for report in reports
    ]
