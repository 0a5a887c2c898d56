"""The state that all requests share: configuration, ledger, open records, queue, clocks and limits."""

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from fastapi import Depends, Path, Request

from noisycount.config.config import Config, DatasetConfig
from noisycount.errors import OverrunError, without_traceback
from noisycount.ledger.entries import Analyst
from noisycount.ledger.ledger import Ledger
from noisycount.release.reply_tick import ReplyTick
from noisycount.service.errors import InFlightError, StoppingError, UnknownError
from noisycount.service.keys import User

if TYPE_CHECKING:
    from noisycount.release.records import Records
    from noisycount.tasks.opening import DatasetSession


Result = TypeVar("Result")
_MINUTE = 60.0
_NOT_READY = (
    "the answer was not ready in time; its price may be charged: ask the same question again,"
    " which is charged only once"
)


@dataclass(slots=True, eq=False)
class RateLimiter:
    """A token bucket for each name, with at most `rate` tokens, which are refilled in a minute."""

    rate: int
    clock: Callable[[], float] = time.monotonic
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def wait(self, name: str, tokens: float = 1.0) -> int:
        """Take tokens from a bucket and return 0, or return the number of seconds until it has enough."""
        with self._lock:
            now = self.clock()
            level, then = self._levels.get(name, (float(self.rate), now))
            level = min(float(self.rate), level + (now - then) * self.rate / _MINUTE)
            if level < tokens:
                return math.ceil((tokens - level) * _MINUTE / self.rate)
            self._levels[name] = level - tokens, now
            return 0


@dataclass(slots=True, eq=False)
class LeasedRates:
    """Tokens that one worker holds for each name. It takes a second's worth at a time from the shared rate limiter.

    The limit of all workers together is never exceeded. A name may reach it early, by the tokens that other workers
    hold: at most those of a second for each worker.
    """

    shared: RateLimiter  # a proxy: each call asks another process
    rate: int  # tokens that the shared limiter refills in a minute
    _held: dict[str, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def wait(self, name: str, tokens: float = 1.0) -> int:
        """Take tokens and return 0, or return the number of seconds until the shared limiter has enough."""
        with self._lock:
            held = self._held.get(name, 0.0)
            if held < tokens:
                lease = max(tokens, self.rate / _MINUTE)
                if self.shared.wait(name, lease):
                    return self.shared.wait(name, tokens)
                held += lease
            self._held[name] = held - tokens
            return 0


@dataclass(slots=True, eq=False)
class InFlight:
    """The names of requests in progress in this process. Between processes, the ledger prevents a second answer."""

    _names: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold a name while its request is in progress. Raise InFlightError if it is held already."""
        with self._lock:
            if name in self._names:
                raise InFlightError
            self._names.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._names.remove(name)


class WorkQueue:
    """The work of all requests.

    At most `max_running` tasks run at once, including those whose client no longer waits.
    """

    def __init__(self, max_running: int) -> None:
        self._threads = ThreadPoolExecutor(max_running, "work")
        self._admitted: set[Future[Any]] = set()
        self._is_stopping = False
        self._lock = Lock()  # held while work is admitted

    def admit(self, work: Callable[[], Result]) -> Future[Result]:
        """Admit work, and return the future of its result; `stop` waits for its end.

        Raises:
            StoppingError: If the service is stopping.
        """
        with self._lock:
            if self._is_stopping:
                raise StoppingError
            future = self._threads.submit(_run_without_traceback, work)
            self._admitted.add(future)
        future.add_done_callback(self._admitted.discard)
        return future

    def refuse(self) -> None:
        """Admit no further work."""
        self._is_stopping = True

    def stop(self, seconds: float) -> bool:
        """Admit no further work, and wait some seconds. Return True if all admitted work has ended."""
        self.refuse()
        with self._lock:
            admitted = list(self._admitted)
        is_done = not wait(admitted, seconds).not_done
        self._threads.shutdown(wait=is_done)
        return is_done


def _run_without_traceback(work: Callable[[], Result]) -> Result:
    """Return the result of some work. An error has no traceback of the work, whose frames could hold a count."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - raised again
        raise without_traceback(error) from None
    except BaseException:  # noqa: BLE001 - it must not end the thread that waits for the result
        raise OverrunError(_NOT_READY) from None


def _result_now(future: "Future[Result]") -> Result:
    """Return the result of work, or raise its error. Raise OverrunError if the work has not finished."""
    if not future.done():
        raise OverrunError(_NOT_READY)
    return future.result()


@dataclass(slots=True, eq=False)
class OpenSources:
    """Records that stay open from their first use until they change. Requests in progress keep the former records."""

    configuration: Config
    ledger: Ledger
    tick: ReplyTick | None  # delays requests that wait for an opening to the next tick; None: no delay
    _opened: dict[str, "Records"] = field(default_factory=dict)
    _locks: Mapping[str, Lock] = field(init=False)

    def __post_init__(self) -> None:
        self._locks = {name: Lock() for name in self.configuration.datasets}

    def records(self, dataset: DatasetConfig) -> "Records":
        """Return the open records of a data set, as they are now."""
        opened = self._opened.get(dataset.name)
        if opened is not None and opened.is_current(self.ledger):
            return opened  # without waiting for the lock
        with self._locks[dataset.name]:
            opened = self._opened.get(dataset.name)
            if opened is None or not opened.is_current(self.ledger):
                work = partial(self._open_current_records, dataset)
                opened = self._opened[dataset.name] = work() if self.tick is None else self.tick.hold_until_tick(work)
            return opened

    def close(self) -> None:
        """Close all records."""
        for name in list(self._opened):
            self._opened.pop(name).close()

    def _open_current_records(self, dataset: DatasetConfig) -> "Records":
        """Open the records by their description in the ledger. If the description is missing, it is written first."""
        from noisycount.tasks import opening  # noqa: PLC0415 - loads the question language

        records = opening.records_of(dataset, opening.catalog_of(self.ledger, self.configuration))
        if records.has_stored_description:
            return records
        records.store_description(self.ledger)
        return opening.records_of(dataset, opening.catalog_of(self.ledger, self.configuration))


@dataclass(slots=True, eq=False)
class ServiceState:
    """A ledger and its data sets, open for many users at once. Made by `ServiceState.open`."""

    configuration: Config
    ledger: Ledger
    tick: ReplyTick | None  # times at which replies about records leave; None: at once
    sources: OpenSources
    queue: WorkQueue
    in_flight: InFlight  # spends in progress
    rates: RateLimiter | LeasedRates  # of each user

    @classmethod
    def open(
        cls,
        configuration: Config,
        *,
        slots: bool = True,
        shared_rates: RateLimiter | None = None,
    ) -> Self:
        """Open the state of a configuration, and make a ledger if there is none. Workers have `shared_rates`."""
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
            rates=RateLimiter(service.rate) if shared_rates is None else LeasedRates(shared_rates, service.rate),
        )

    def close(self) -> bool:
        """Close everything. Return True if all work had ended."""
        is_done = self.queue.stop(self.patience)
        self.sources.close()
        self.ledger.close()
        return is_done

    def analyst(self, user: User) -> Analyst:
        """Return the analyst of a user for the ledger, with the budget that the owner configured."""
        analyst = self.configuration.analysts.get(user.name, Analyst(user.name))
        return replace(analyst, sees_all=user.reads_all)

    def datasets(self, user: User) -> list[DatasetConfig]:
        """Return the data sets that a user may see."""
        return [each for each in self.configuration.datasets.values() if user.may_see(each.name)]

    def dataset(self, user: User, name: str) -> DatasetConfig:
        """Return a data set. Raise UnknownError if it does not exist or the user may not see it."""
        if name not in self.configuration.datasets or not user.may_see(name):
            raise UnknownError
        return self.configuration.datasets[name]

    def dataset_name(self, account: str) -> str:
        """Return the name of the data set with an account in the ledger, or the account if there is none."""
        datasets = self.configuration.datasets.values()
        return next((dataset.name for dataset in datasets if dataset.account == account), account)

    def session(self, user: User, name: str) -> "DatasetSession":
        """Return a session with the open records of a data set and the ledger."""
        from noisycount.tasks.opening import DatasetSession  # noqa: PLC0415 - loads the laws

        dataset = self.dataset(user, name)
        return DatasetSession(dataset, self.sources.records(dataset), self.ledger, self.configuration)

    @property
    def patience(self) -> float:
        """Number of seconds for which a request waits for its result. The work then continues, for a later repeat."""
        deadline = self.configuration.service.deadline
        return deadline if self.tick is None else max(deadline, 3 * self.tick.seconds)

    def reply(self, work: Callable[[], Result]) -> Result:
        """Do some work in the queue, and return its result or raise its error."""
        future = self.queue.admit(work)
        wait([future], self.patience)
        return _result_now(future)

    async def reply_async(self, work: Callable[[], Result]) -> Result:
        """Do some work in the queue as `reply` does, without a waiting thread."""
        future, is_done, loop = self.queue.admit(work), asyncio.Event(), asyncio.get_running_loop()

        def wake(_: Future[Result]) -> None:
            with suppress(RuntimeError):  # the loop has ended, so that nothing waits
                loop.call_soon_threadsafe(is_done.set)

        future.add_done_callback(wake)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience):
                await is_done.wait()
        return _result_now(future)


async def state_of(request: Request) -> ServiceState:
    """Return the state of the application. As a coroutine it needs no thread."""
    state: ServiceState = request.app.state.service
    return state


State = Annotated[ServiceState, Depends(state_of)]

MOST_NAME = 200  # largest number of characters of the name of a data set in a path
Dataset = Annotated[
    str, Path(max_length=MOST_NAME, description="Name of a data set in noisycount.toml.", examples=["survey"])
]
