"""What all requests share: the configuration, the open ledger and records, clocks and limits."""

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Condition, Event, Lock, Thread
from typing import TYPE_CHECKING, Annotated, Generic, Self, TypeVar

from fastapi import Depends, Path, Request

from noisycount.config.config import Config, DatasetConfig
from noisycount.errors import OverrunError, without_traceback
from noisycount.ledger.entries import Analyst
from noisycount.ledger.ledger import Ledger
from noisycount.release.reply_tick import ReplyTick
from noisycount.service.errors import InFlightError, RateError, StoppingError, UnknownError
from noisycount.service.keys import User

if TYPE_CHECKING:
    from noisycount.release.records import Records
    from noisycount.tasks.opening import DatasetSession


Result = TypeVar("Result")
_MINUTE = 60.0


@dataclass(slots=True)
class Outcome(Generic[Result]):
    """What became of some work; errors are kept without the frames in which they arose."""

    finished: Event = field(default_factory=Event)
    results: list[Result] = field(default_factory=list)
    error: Exception | None = None

    @classmethod
    def of(cls, work: Callable[[], Result]) -> Self:
        """The outcome, one day, of work that a thread of its own begins now."""
        outcome = cls()
        Thread(target=outcome.become, args=(work,), daemon=True).start()
        return outcome

    def become(self, work: Callable[[], Result]) -> None:
        """Do the work."""
        try:
            self.results.append(work())
        except Exception as error:  # noqa: BLE001 - it is raised again where the reply leaves
            self.error = without_traceback(error)
        except BaseException:  # noqa: BLE001 - a thread cannot pass it on, and would print it
            return
        self.finished.set()

    def now(self) -> Result:
        """The result, or raise the error, if there is one by now."""
        if not self.finished.is_set():
            raise OverrunError(
                "the answer was not ready in time; its price may be charged: ask the same"
                " question again, which is charged once, however often it is asked"
            )
        if self.error is not None:
            raise self.error
        return self.results[0]


@dataclass(slots=True, eq=False)
class RateLimiter:
    """A bucket of tokens for each name: a full one holds `rate`, those of a minute."""

    rate: int
    clock: Callable[[], float] = time.monotonic
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def take(self, name: str, tokens: float = 1.0) -> None:
        """Take some tokens of a bucket, or a part of one; raise RateError if it has fewer."""
        if seconds := self.wait(name, tokens):
            raise RateError(seconds)

    def wait(self, name: str, tokens: float = 1.0) -> int:
        """Take some tokens of a bucket and return 0, or return the seconds until it has so many."""
        with self._lock:
            now = self.clock()
            level, then = self._levels.get(name, (float(self.rate), now))
            level = min(float(self.rate), level + (now - then) * self.rate / _MINUTE)
            if level < tokens:
                return math.ceil((tokens - level) * _MINUTE / self.rate)
            self._levels[name] = level - tokens, now
            return 0


@dataclass(slots=True, eq=False)
class InFlight:
    """The names of requests worked on in this process; of two processes the ledger keeps one from a second answer."""

    _names: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """The time in which a request is worked on, at most one of a name."""
        with self._lock:
            if name in self._names:
                raise InFlightError
            self._names.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._names.remove(name)


@dataclass(slots=True, eq=False)
class WorkQueue:
    """The work of all requests, of which `most` run at once, also where nobody waits for it."""

    most: int
    _admitted: int = 0
    _running: int = 0
    _is_stopping: bool = False
    _change: Condition = field(default_factory=Condition)

    def admitted(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Work that waits for its turn, and for whose end the service waits."""
        with self._change:
            if self._is_stopping:
                raise StoppingError
            self._admitted += 1
        return lambda: self._done(work)

    def refuse(self) -> None:
        """Admit no more."""
        with self._change:
            self._is_stopping = True

    def stop(self, seconds: float) -> bool:
        """Whether all that was admitted ended within some seconds; no more is taken."""
        self.refuse()
        with self._change:
            return self._change.wait_for(lambda: self._admitted == 0, seconds)

    def _done(self, work: Callable[[], Result]) -> Result:
        with self._change:
            self._change.wait_for(lambda: self._running < self.most)
            self._running += 1
        try:
            return work()
        finally:
            with self._change:
                self._running -= 1
                self._admitted -= 1
                self._change.notify_all()


@dataclass(slots=True, eq=False)
class OpenSources:
    """Records that stay open from their first use until they change; those who still use the old ones keep them."""

    configuration: Config
    ledger: Ledger
    tick: ReplyTick | None  # when those who wait for records to be opened go on; None: at once
    _opened: dict[str, "Records"] = field(default_factory=dict)
    _locks: Mapping[str, Lock] = field(init=False)

    def __post_init__(self) -> None:
        self._locks = {name: Lock() for name in self.configuration.datasets}

    def records(self, dataset: DatasetConfig) -> "Records":
        """The open records of a data set, as they are now."""
        opened = self._opened.get(dataset.name)
        if opened is not None and opened.is_current(self.ledger):
            return opened  # nobody waits for another's look into the ledger
        with self._locks[dataset.name]:
            opened = self._opened.get(dataset.name)
            if opened is None or not opened.is_current(self.ledger):
                work = partial(self._current, dataset)
                opened = self._opened[dataset.name] = work() if self.tick is None else self.tick.held(work)
            return opened

    def close(self) -> None:
        """Close all records."""
        for name in list(self._opened):
            self._opened.pop(name).close()

    def _current(self, dataset: DatasetConfig) -> "Records":
        """The records, opened under what is written down of them now."""
        from noisycount.tasks import opening  # noqa: PLC0415 - loads the question language

        records = opening.records_of(dataset, opening.catalog_of(self.ledger, self.configuration))
        if records.is_written_down:
            return records
        records.write_down(self.ledger)
        return opening.records_of(dataset, opening.catalog_of(self.ledger, self.configuration))


@dataclass(slots=True, eq=False)
class ServiceState:
    """One ledger and its data sets, open for many users at once; made by ``ServiceState.open``."""

    configuration: Config  # what the owner wrote
    ledger: Ledger  # open while the service is
    tick: ReplyTick | None  # when what was read from records may be told; None: at once
    sources: OpenSources  # the open records
    queue: WorkQueue  # what is worked on
    in_flight: InFlight  # which spends are
    rates: RateLimiter  # how often each user may ask
    threads: Executor  # for work whose askers wait without a thread

    @classmethod
    def open(
        cls,
        configuration: Config,
        *,
        slots: bool = True,
        rates: RateLimiter | None = None,
    ) -> Self:
        """Return the state of a configuration, and make a ledger if there is none. Workers share rate limits."""
        known_head, service = configuration.known_head, configuration.service
        if service.purpose:
            datasets = {name: replace(each, needs_purpose=True) for name, each in configuration.datasets.items()}
            configuration = replace(configuration, datasets=datasets)
        tick = ReplyTick(service.slot) if slots else None
        configuration.make_ledger_folder()
        ledger = Ledger.open(configuration.ledger_url, create=known_head is None, known_head=known_head)
        return cls(
            configuration,
            ledger,
            tick,
            sources=OpenSources(configuration, ledger, tick),
            queue=WorkQueue(service.concurrency),
            in_flight=InFlight(),
            rates=rates or RateLimiter(service.rate),
            threads=ThreadPoolExecutor(service.concurrency, "work"),
        )

    def close(self) -> bool:
        """Close all that is open; whether all work was done by then."""
        is_done = self.queue.stop(self.patience)
        self.threads.shutdown(wait=is_done)
        self.sources.close()
        self.ledger.close()
        return is_done

    def analyst(self, user: User) -> Analyst:
        """Who asks, as the ledger books it, with the budget that the owner wrote for the name."""
        asker = self.configuration.analysts.get(user.name, Analyst(user.name))
        return replace(asker, sees_all=user.is_owner)

    def datasets(self, user: User) -> list[DatasetConfig]:
        """The data sets that are there for a user."""
        return [each for each in self.configuration.datasets.values() if user.may_see(each.name)]

    def dataset(self, user: User, name: str) -> DatasetConfig:
        """One of them; one that is not there is refused as one that the user may not see."""
        if name not in self.configuration.datasets or not user.may_see(name):
            raise UnknownError
        return self.configuration.datasets[name]

    def dataset_name(self, account: str) -> str:
        """The name of the data set that the ledger books under one; itself, where there is none."""
        found = self.configuration.datasets.values()
        return next((each.name for each in found if each.account == account), account)

    def session(self, user: User, name: str) -> "DatasetSession":
        """The open records and the ledger of a data set."""
        from noisycount.tasks.opening import DatasetSession  # noqa: PLC0415 - loads the laws

        dataset = self.dataset(user, name)
        return DatasetSession(dataset, self.sources.records(dataset), self.ledger, self.configuration)

    @property
    def patience(self) -> float:
        """After so many seconds nobody waits for a reply: what was begun goes on, and is there for who asks again."""
        deadline = self.configuration.service.deadline
        return deadline if self.tick is None else max(deadline, 3 * self.tick.seconds)

    def reply(self, work: Callable[[], Result]) -> Result:
        """What work gives or refuses, as soon as it is there: what is read from records waits for its tick itself."""
        outcome = Outcome.of(self.queue.admitted(work))
        outcome.finished.wait(self.patience)
        return outcome.now()

    async def awaited(self, work: Callable[[], Result]) -> Result:
        """The same, but no thread waits for another."""
        outcome, loop = Outcome[Result](), asyncio.get_running_loop()
        done = loop.run_in_executor(self.threads, outcome.become, self.queue.admitted(work))
        await asyncio.wait([done], timeout=self.patience)
        return outcome.now()


async def state_of(request: Request) -> ServiceState:
    """The state of the application that was asked; it would take a thread if it were no task."""
    state: ServiceState = request.app.state.service
    return state


State = Annotated[ServiceState, Depends(state_of)]

Dataset = Annotated[str, Path(max_length=200, description="The name of a data set.", examples=["survey"])]
