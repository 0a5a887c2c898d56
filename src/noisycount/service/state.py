"""What all requests share: the configuration, the open ledger and records, and the clock."""

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypeVar

from starlette.concurrency import run_in_threadpool

from noisycount.access.keys import Visitor
from noisycount.config.config import Config, DatasetConfig
from noisycount.ledger.entries import Analyst
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.replies import Replies
from noisycount.release.reply_tick import Slot
from noisycount.service.limits import Buckets, Deadline, Flights, Works
from noisycount.service.refusals import UnknownError
from noisycount.service.sources import Shelf

if TYPE_CHECKING:
    from noisycount.tasks.opening import Counter

__all__ = ["Office"]


Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class Office:
    """One ledger and its data sets, open for many visitors at once; made by ``Office.open``.

    Attributes:
        configuration: What the owner wrote.
        ledger: Open while the office is.
        slot: When replies about data sets leave; None: as soon as they are there.
        shelf: The open records.
        works: What is worked on.
        flights: Which spends are.
        replies: What was replied to spends.
        buckets: How often each visitor may ask.
        crew: Threads for work whose askers wait without one.
    """

    configuration: Config
    ledger: Ledger
    slot: Slot | None
    shelf: Shelf
    works: Works
    flights: Flights
    replies: Replies
    buckets: Buckets
    crew: Executor

    @classmethod
    def open(cls, configuration: Config, *, slots: bool = True) -> Self:
        """The office of a configuration; a ledger is made if there is none.

        Args:
            configuration: What the owner wrote.
            slots: Whether replies leave at ticks alone.

        Raises:
            NoisyCountError: The ledger cannot be opened or made.
        """
        known_head, service = configuration.known_head, configuration.service
        slot = Slot(service.slot) if slots else None
        configuration.make_ledger_folder()
        ledger = Ledger.open(
            configuration.ledger_url, create=known_head is None, known_head=known_head
        )
        return cls(
            configuration,
            ledger,
            slot,
            shelf=Shelf(configuration, ledger),
            works=Works(service.concurrency),
            flights=Flights(),
            replies=Replies(ledger),
            buckets=Buckets(service.rate),
            crew=ThreadPoolExecutor(service.concurrency, "work"),
        )

    def close(self) -> bool:
        """The end of all that is open; whether all work was done by then."""
        is_done = self.works.stop(self.configuration.service.deadline)
        self.crew.shutdown(wait=is_done)
        self.shelf.close()
        self.ledger.close()
        return is_done

    def analyst(self, visitor: Visitor) -> Analyst:
        """Who asks, as the ledger books it, with the budget that the owner wrote for the name."""
        asker = self.configuration.analysts.get(visitor.name, Analyst(visitor.name))
        return replace(asker, sees_all=visitor.is_owner)

    def datasets(self, visitor: Visitor) -> list[DatasetConfig]:
        """The data sets that are there for a visitor."""
        found = self.configuration.datasets.values()
        return [dataset for dataset in found if visitor.may_see(dataset.name)]

    def dataset(self, visitor: Visitor, name: str) -> DatasetConfig:
        """One of them.

        Raises:
            UnknownError: There is none of that name, or not for this visitor.
        """
        if name not in self.configuration.datasets or not visitor.may_see(name):
            raise UnknownError
        return self.configuration.datasets[name]

    def name_of(self, account: str) -> str:
        """The name of the data set that the ledger books under one; itself, where there is none."""
        found = self.configuration.datasets.values()
        return next((each.name for each in found if each.account == account), account)

    def counter(self, visitor: Visitor, name: str) -> "Counter":
        """The open records and the ledger of a data set.

        Raises:
            UnknownError: There is none of that name, or not for this visitor.
            NoisyCountError: The records cannot be opened.
        """
        from noisycount.tasks.opening import Counter  # noqa: PLC0415 - loads the laws

        dataset = self.dataset(visitor, name)
        needs_purpose = dataset.needs_purpose or self.configuration.service.purpose
        asked = replace(dataset, needs_purpose=needs_purpose)
        return Counter(asked, self.shelf.records(dataset), self.ledger, self.configuration)

    def reply(self, work: Callable[[], Result]) -> Result:
        """What work gives or refuses, when it may leave.

        All that depends on a data set is done by the work: that the name is unknown, too.

        Args:
            work: What is done meanwhile, in a thread of its own.

        Raises:
            StoppingError: The office is closing.
            OverrunError: The work was not done in time; it goes on without its asker.
        """
        clock = self.slot or self._deadline
        return clock.reply(self.works.admitted(work))

    async def awaited(self, work: Callable[[], Result]) -> Result:
        """The same as `reply`, for a route that many wait for: no thread waits for another.

        Where replies leave at ticks all are told in the same way, by `reply`.

        Args:
            work: What is done meanwhile.

        Raises:
            StoppingError: The office is closing.
            OverrunError: The work was not done in time; it goes on without its asker.
        """
        if self.slot is not None:
            return await run_in_threadpool(self.reply, work)
        return await self._deadline.awaited(self.works.admitted(work), self.crew)

    def computed(self, work: Callable[[], Result]) -> Result:
        """What work gives or refuses, as soon as it is there.

        Args:
            work: What depends on no data set, done in a thread of its own.

        Raises:
            StoppingError: The office is closing.
            OverrunError: The work was not done in time; it goes on without its asker.
        """
        return self._deadline.reply(self.works.admitted(work))

    @property
    def _deadline(self) -> Deadline:
        return Deadline(self.configuration.service.deadline)
