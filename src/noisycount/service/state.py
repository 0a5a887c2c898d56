"""What all requests share: the configuration, the open ledger and records, and the clock."""

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypeVar

from starlette.concurrency import run_in_threadpool

from noisycount.access.keys import User
from noisycount.config.config import Config, DatasetConfig
from noisycount.ledger.entries import Analyst
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.replies import Replies
from noisycount.release.reply_tick import ReplyTick
from noisycount.service.limits import Deadline, InFlight, RateLimiter, WorkQueue
from noisycount.service.refusals import UnknownError
from noisycount.service.sources import OpenSources

if TYPE_CHECKING:
    from noisycount.tasks.opening import Counter

__all__ = ["ServiceState"]


Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class ServiceState:
    """One ledger and its data sets, open for many users at once; made by ``ServiceState.open``.

    Attributes:
        configuration: What the owner wrote.
        ledger: State while the service is.
        slot: When replies about data sets leave; None: as soon as they are there.
        sources: The open records.
        queue: What is worked on.
        in_flight: Which spends are.
        replies: What was replied to spends.
        rates: How often each user may ask.
        crew: Threads for work whose askers wait without one.
    """

    configuration: Config
    ledger: Ledger
    slot: ReplyTick | None
    sources: OpenSources
    queue: WorkQueue
    in_flight: InFlight
    replies: Replies
    rates: RateLimiter
    crew: Executor

    @classmethod
    def open(cls, configuration: Config, *, slots: bool = True) -> Self:
        """The state of a configuration; a ledger is made if there is none.

        Args:
            configuration: What the owner wrote.
            slots: Whether replies leave at ticks alone.

        Raises:
            NoisyCountError: The ledger cannot be opened or made.
        """
        known_head, service = configuration.known_head, configuration.service
        slot = ReplyTick(service.slot) if slots else None
        configuration.make_ledger_folder()
        ledger = Ledger.open(
            configuration.ledger_url, create=known_head is None, known_head=known_head
        )
        return cls(
            configuration,
            ledger,
            slot,
            sources=OpenSources(configuration, ledger),
            queue=WorkQueue(service.concurrency),
            in_flight=InFlight(),
            replies=Replies(ledger),
            rates=RateLimiter(service.rate),
            crew=ThreadPoolExecutor(service.concurrency, "work"),
        )

    def close(self) -> bool:
        """The end of all that is open; whether all work was done by then."""
        is_done = self.queue.stop(self.configuration.service.deadline)
        self.crew.shutdown(wait=is_done)
        self.sources.close()
        self.ledger.close()
        return is_done

    def analyst(self, user: User) -> Analyst:
        """Who asks, as the ledger books it, with the budget that the owner wrote for the name."""
        asker = self.configuration.analysts.get(user.name, Analyst(user.name))
        return replace(asker, sees_all=user.is_owner)

    def datasets(self, user: User) -> list[DatasetConfig]:
        """The data sets that are there for a user."""
        found = self.configuration.datasets.values()
        return [dataset for dataset in found if user.may_see(dataset.name)]

    def dataset(self, user: User, name: str) -> DatasetConfig:
        """One of them.

        Raises:
            UnknownError: There is none of that name, or not for this user.
        """
        if name not in self.configuration.datasets or not user.may_see(name):
            raise UnknownError
        return self.configuration.datasets[name]

    def name_of(self, account: str) -> str:
        """The name of the data set that the ledger books under one; itself, where there is none."""
        found = self.configuration.datasets.values()
        return next((each.name for each in found if each.account == account), account)

    def counter(self, user: User, name: str) -> "Counter":
        """The open records and the ledger of a data set.

        Raises:
            UnknownError: There is none of that name, or not for this user.
            NoisyCountError: The records cannot be opened.
        """
        from noisycount.tasks.opening import Counter  # noqa: PLC0415 - loads the laws

        dataset = self.dataset(user, name)
        needs_purpose = dataset.needs_purpose or self.configuration.service.purpose
        asked = replace(dataset, needs_purpose=needs_purpose)
        return Counter(asked, self.sources.records(dataset), self.ledger, self.configuration)

    def reply(self, work: Callable[[], Result]) -> Result:
        """What work gives or refuses, when it may leave.

        All that depends on a data set is done by the work: that the name is unknown, too.

        Args:
            work: What is done meanwhile, in a thread of its own.

        Raises:
            StoppingError: The state is closing.
            OverrunError: The work was not done in time; it goes on without its asker.
        """
        clock = self.slot or self._deadline
        return clock.reply(self.queue.admitted(work))

    async def awaited(self, work: Callable[[], Result]) -> Result:
        """The same as `reply`, for a route that many wait for: no thread waits for another.

        Where replies leave at ticks all are told in the same way, by `reply`.

        Args:
            work: What is done meanwhile.

        Raises:
            StoppingError: The state is closing.
            OverrunError: The work was not done in time; it goes on without its asker.
        """
        if self.slot is not None:
            return await run_in_threadpool(self.reply, work)
        return await self._deadline.awaited(self.queue.admitted(work), self.crew)

    def computed(self, work: Callable[[], Result]) -> Result:
        """What work gives or refuses, as soon as it is there.

        Args:
            work: What depends on no data set, done in a thread of its own.

        Raises:
            StoppingError: The state is closing.
            OverrunError: The work was not done in time; it goes on without its asker.
        """
        return self._deadline.reply(self.queue.admitted(work))

    @property
    def _deadline(self) -> Deadline:
        return Deadline(self.configuration.service.deadline)
