"""The open records of a data set, and the ledger that pays for what is counted in them."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from noisycount.app.config.config import Config, DatasetConfig
from noisycount.app.count.opening import as_configured, records_of, register_of
from noisycount.app.ledger.access import existing_ledger
from noisycount.release.desk import Desk, Enclose
from noisycount.release.ledger.entries import Analyst, Entry, Request
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.ledger.lookup import entry_of_request
from noisycount.release.records import Records
from noisycount.release.slot import Slot

__all__ = ["Counter", "counter_of"]


@dataclass(frozen=True, slots=True)
class Counter:
    """What is open while a data set is asked; whoever opened it closes it.

    Attributes:
        dataset: As its owner configured it.
        records: The open records.
        ledger: The open ledger; None where nothing was asked yet.
        configuration: Where the ledger is.
    """

    dataset: DatasetConfig
    records: Records
    ledger: Ledger | None
    configuration: Config

    @property
    def account(self) -> DatasetConfig:
        """The data set under the name by which the ledger books its spending."""
        return replace(self.dataset, account=self.records.name)

    @property
    def ledger_file(self) -> Path | None:
        """The file of the ledger; None for a server."""
        return self.configuration.ledger_file

    def earlier(self, where: str, analyst: Analyst) -> list[Entry]:
        """The debits that asked the same count of these very records, at any price.

        Args:
            where: The question in the predicate language.
            analyst: Who looks; what only others asked is left out.

        Raises:
            NoisyCountError: It is outside the language, or the ledger cannot be read.
        """
        if self.ledger is None:
            return []
        texts = map(json.dumps, self.records.wordings(where))  # as questions hold them
        asked = [entry for text in texts for entry in self.ledger.asking(self.records.name, text)]
        return [each for each in self.records.earlier(where, asked) if analyst.may_see(each)]

    def is_free(self, analyst: Analyst, requests: tuple[Request, Sequence[Request]]) -> bool:
        """Whether an analyst asked for the same before, and so may know that it is free.

        Args:
            analyst: Who looks.
            requests: What asks for it, and its other forms, as `Records` gives them.

        Raises:
            LedgerError: The ledger cannot be read.
        """
        entry = None if self.ledger is None else entry_of_request(self.ledger, *requests)
        return entry is not None and analyst.may_see(entry)

    def desk(
        self, analyst: Analyst, slot: Slot | None = None, enclose: Enclose | None = None
    ) -> Desk:
        """The desk that charges an analyst's questions to an open ledger.

        Args:
            analyst: Who asks.
            slot: When replies leave; None: as soon as they are there.
            enclose: Gives what is written with a new answer; None: nothing is.

        Raises:
            ValueError: There is no ledger yet.
            NoisyCountError: What the records are cannot be written down.
        """
        if self.ledger is None:
            raise ValueError("ledger must be open before a desk is, got None: make it first")
        paying = self.dataset.paying(self.records.name)
        return self.records.desk(self.ledger, paying, slot, analyst, enclose)

    @contextmanager
    def charging(self) -> Iterator["Counter"]:
        """The counter with a ledger, which is made if nothing was asked yet.

        Raises:
            NoisyCountError: The records cannot be asked, or the ledger cannot be made.
        """
        if self.ledger is not None:
            yield self
            return
        self.records.prepare()
        self.configuration.make_ledger_folder()
        with Ledger.open(self.configuration.ledger_url) as ledger:
            yield replace(self, ledger=ledger)


@contextmanager
def counter_of(
    dataset: DatasetConfig, configuration: Config, *, makes: bool = False
) -> Iterator[Counter]:
    """The counter of a data set; its records and its ledger are closed with it.

    Args:
        dataset: Whose records are counted.
        configuration: Where the ledger is.
        makes: Whether a ledger is to come of it, as `Counter.charging` makes one; nowhere but
            where a link leads to is one made now.

    Raises:
        NoisyCountError: The records or the ledger cannot be opened.
    """
    with ExitStack() as opened:
        ledger = opened.enter_context(existing_ledger(configuration, makes=makes))
        register = register_of(ledger, configuration, makes=makes)
        dataset = as_configured(dataset, configuration, register)
        records = opened.enter_context(records_of(dataset, register))
        yield Counter(dataset, records, ledger, configuration)
