"""Transactions of an open ledger. Threads that wait for the same commit share one transaction (group commit).

`BatchQueue` collects the tasks of the threads, and `Transactions` reads and writes the ledger for them.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock, local
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine

from noisycount.errors import LedgerError, NoisyCountError, without_traceback
from noisycount.ledger.checkpoints import UnreadRowsError
from noisycount.ledger.entries import Head
from noisycount.ledger.resuming import resumed_state
from noisycount.ledger.state import LedgerState
from noisycount.ledger.storage import HAS_WAITED, all_rows, as_ledger_errors, check_columns, check_structure, write

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class Task(Generic[Item, Result]):
    """A task of one thread, with its result or its error."""

    item: Item
    # the result, alone in its list; empty before the task has run, and if it raised an error
    results: list[Result] = field(default_factory=list)
    refusal: NoisyCountError | None = None  # the error that this task raised
    # held in the queue until the task is done or its own thread must run it; an Event takes ten times as long to make
    turn: Lock = field(default_factory=Lock)
    leads: bool = False  # True if the thread of this task runs the tasks of all waiting threads
    is_final: bool = False  # True if `undo` must leave the result as it is

    @property
    def is_done(self) -> bool:
        """True if there is a result or an error."""
        return bool(self.results) or self.refusal is not None

    def settle(self, granted: Callable[[Item], Result]) -> None:
        """Run this task and keep its result or its own error. Other tasks of the batch are unaffected."""
        try:
            self.results.append(granted(self.item))
        except NoisyCountError as refusal:
            self.refusal = without_traceback(refusal)

    def dismiss(self) -> None:
        """Let the thread of this task continue with its result, even if the rest of the batch fails."""
        self.is_final = True
        self.wake()

    def wait(self) -> None:
        """Wait until the task is done, or until its own thread must run it."""
        self.turn.acquire()

    def wake(self) -> None:
        """Let the thread of this task go on. A second call has no effect."""
        with suppress(RuntimeError):  # the lock was released before
            self.turn.release()

    def undo(self) -> None:
        """Discard the result or the error, unless the thread of this task has already continued with it."""
        if not self.is_final:
            self.results.clear()
            self.refusal = None

    def result(self) -> Result:
        """Return the result, or raise the error of this task."""
        if self.refusal is not None:
            raise self.refusal
        return self.results[0]


# A function that adds the tasks that have arrived since to a batch, and returns them.
TakeMore = Callable[[], list[Task[Any, Any]]]
# A function that runs the tasks of a batch, and may add further tasks to it.
Run = Callable[[list[Task[Item, Result]], TakeMore], None]


@dataclass(slots=True, eq=False)
class BatchQueue:
    """Queue in which one thread runs the tasks of all threads that arrived during the previous batch.

    A commit waits for the disk, and a scan reads all records. Threads that arrive meanwhile share the next batch. Each
    waits until its own task is done. If a batch of several tasks fails, the results of the tasks that still wait are
    discarded, and each thread runs its task alone. So no task fails because of another task.
    """

    lock: Lock = field(default_factory=Lock)  # held while a task is added or all tasks are taken
    waiting: list[Task[Any, Any]] = field(default_factory=list)  # tasks that no thread runs yet
    led: bool = False  # True if a thread runs a batch now or is about to
    newest_size: int = 0  # number of tasks of the newest batch

    def result(self, item: Item, run: Run[Item, Result]) -> Result:
        """Run the task of an item with the function `run`, in a batch with other tasks, and return its result."""
        task = Task[Item, Result](item)
        task.turn.acquire()
        try:
            with self.lock:
                self.waiting.append(task)
                task.leads, self.led = not self.led, True
            if not task.leads:
                task.wait()
            if task.leads:
                self._run_waiting_tasks(run)
        except BaseException:
            self._withdraw_task(task)
            raise
        if not task.is_done:
            run([task], list)  # alone
        return task.result()

    def _run_waiting_tasks(self, run: Run[Any, Any]) -> None:
        """Run all waiting tasks, then make the first task that arrived meanwhile the leader of the next batch."""
        batch = list[Task[Any, Any]]()

        def take_more() -> list[Task[Any, Any]]:
            with self.lock:
                more, self.waiting = self.waiting, []
            batch.extend(more)
            return more

        take_more()
        try:
            run(batch, take_more)
        except BaseException as error:
            for task in batch:
                task.undo()
            if len(batch) == 1 or not isinstance(error, Exception):
                raise
        finally:
            with self.lock:
                self.newest_size = len(batch)
                self._appoint_next_leader()
            for task in batch:
                task.wake()

    def _withdraw_task(self, task: Task[Any, Any]) -> None:
        """Remove the task of an interrupted thread, and appoint another leader if it led."""
        with self.lock:
            if task in self.waiting:
                self.waiting.remove(task)
                if task.leads:
                    self._appoint_next_leader()

    def _appoint_next_leader(self) -> None:
        self.led = bool(self.waiting)
        if self.led:
            self.waiting[0].leads = True
            self.waiting[0].wake()


class StaleReadingError(LedgerError):
    """Error: another process changed what the thread had read. It reads the ledger again."""


@dataclass(slots=True, eq=False)
class AttachedWrite:
    """A write that belongs to one answer and is committed in the same transaction, or not at all."""

    # adds a row of another table and the row of the ledger that holds its digest; returns True if it added them
    write: Callable[[LedgerState], bool]
    is_written: bool = False  # True if the write was committed


LOCK = 0x6E6F697379636E74  # PostgreSQL advisory lock that every writer of a ledger holds


def lock_out_writers(connection: Connection) -> None:
    """Wait until no other process or thread writes to a PostgreSQL ledger.

    A writer of SQLite has taken its lock at the beginning of the transaction. The PostgreSQL server serves waiting
    writers in the order of their arrival.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")


_YIELD = 0.003  # seconds; long enough for a waiting process to try several times to lock the file
# A function that reads a state and may append rows, as its last step.
Work = Callable[[Connection, LedgerState], Result]


@dataclass(slots=True, eq=False)
class Transactions:
    """Transactions of the threads that use an open ledger."""

    place: str  # name of the ledger in messages
    reading: Engine  # the engine whose transactions only read
    writing: Engine  # the same engine, whose transactions lock out every other writer
    # state of the rows that were read so far; an empty state before the first reading
    known: LedgerState = field(default_factory=LedgerState)
    known_head: Head | None = None  # head that the owner wrote down; the ledger must hold its row. None: no such head
    lock: Lock = field(default_factory=Lock)  # held while rows are added to `known`
    is_newest: bool = False  # True if `known` holds every committed row, as this process holds the lock for writing
    writers: BatchQueue = field(default_factory=BatchQueue)  # threads that wait to write to the ledger
    yields_until: float = 0.0  # time of the monotonic clock until which another process may take the file
    # for each thread: `is_shared` is True inside `with_one_reading`, `is_recent` once the state there needs no reading,
    # and `unconfirmed` is the newest row of an earlier reading that the thread uses there, until `reserve` checks it
    readings: local = field(default_factory=local)

    @property
    def is_on_server(self) -> bool:
        """True if the ledger is in a PostgreSQL database, not in a SQLite file."""
        return self.reading.dialect.name != "sqlite"

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[Connection]:
        """Yield the connection of one transaction. An error of the database becomes a LedgerError with a remedy."""
        engine = self.writing if writes else self.reading
        with as_ledger_errors(self.place), engine.begin() as connection:
            try:
                yield connection
            finally:
                if self.known.sealed is not None:
                    self.known.sealed.current.connection = None

    def state(self, connection: Connection) -> LedgerState:
        """Return the state of the ledger, with the debits and answers of all processes that write to it.

        The first call reads and checks the rows from the newest checkpoint on, or all rows if the ledger has no valid
        checkpoint. A later call reads only the rows that were added since.
        """
        with self.lock:
            if self.known.sealed is not None:
                self.known.sealed.current.connection = connection
            if self.known.head.number:
                self.known.read_new_rows(connection)
                return self.known
            state = resumed_state(connection, self.known_head)
            if state is None:
                state = LedgerState()
                with all_rows(connection) as rows:
                    state.read(rows)
                check_structure(connection, self.place)
            else:
                check_columns(connection, self.place)
            self.known = state
            return self.known

    def write(self, work: Work[Result]) -> Result:
        """Run a function that may append rows, commit the rows, and return the result of the function."""
        result: Result = self.writers.result((work, True), self._write)
        return result

    def read(self, look: Work[Result]) -> Result:
        """Run a function that reads the ledger and writes nothing, and return its result.

        A SQLite file cannot be read while a commit is written to it. If threads of this process write without a pause,
        a reader could wait for long. So it reads at the beginning of their next batch.
        """
        if self.writers.led and not self.is_on_server:
            result: Result = self.writers.result((look, False), self._write)
        else:
            with self.transaction() as connection:
                result = look(connection, self.state(connection))
        self.readings.is_recent = True
        return result

    def with_one_reading(self, work: Callable[[], Result]) -> Result:
        """Run work in which all calls of `read_state` share one reading, and return its result.

        If this process has read the ledger before, its newest state serves as this reading, so that the thread waits
        for no batch. `Ledger.reserve` compares it with the ledger before it charges. If it is out of date, or if the
        work fails before, the work runs again with a reading of now.
        """
        readings, is_old = self.readings, self.known.head.number > 0
        while True:
            readings.is_shared, readings.is_recent = True, is_old
            readings.unconfirmed = self.known.head.number if is_old else None
            try:
                return work()
            except NoisyCountError as error:
                if readings.unconfirmed is None and not isinstance(error, StaleReadingError):
                    raise
            finally:
                readings.is_shared, readings.unconfirmed = False, None
            is_old = False

    def unconfirmed_reading(self) -> int | None:
        """Return the newest row of an earlier reading that this thread uses; None if it uses none. Call this once."""
        number, self.readings.unconfirmed = getattr(self.readings, "unconfirmed", None), None
        return number

    def read_state(self, look: Callable[[LedgerState], Result]) -> Result:
        """Return the result of a function of the state alone. Such a result must decide no charge.

        No row is read while this process holds the lock of the file, as its state then covers every committed row, nor
        after the first reading in `with_one_reading`, unless the result depends on rows before the checkpoint from
        which the ledger was opened.
        """
        if self.needs_no_reading:
            with suppress(UnreadRowsError):
                return look(self.known)
        return self.read(lambda _, state: look(state))

    @property
    def needs_no_reading(self) -> bool:
        """True if `known` covers every committed row, or is the shared reading of this thread."""
        is_recent = getattr(self.readings, "is_shared", False) and self.readings.is_recent
        return is_recent or (self.is_newest and not self.is_on_server)

    def _write(self, batch: list[Task[tuple[Work[Any], bool], Any]], take_more: TakeMore) -> None:
        """Run tasks in one transaction, also those that arrived while this process waited for the file.

        If this process had to wait for the file, it pauses before its next transaction, so that the other process gets
        its turn. If the lock ever failed, a row of another process would take the same number, and the database would
        refuse one of both rows. The first reading of a ledger on a server takes long, so it runs without the lock.
        """
        if self.is_on_server and not self.known.head.number:
            with self.transaction() as connection:
                self.state(connection)
        if (pause := self.yields_until - time.monotonic()) > 0:
            time.sleep(pause)
        try:
            with self.transaction(writes=True) as connection:
                lock_out_writers(connection)
                has_waited = connection.info.get(HAS_WAITED, False)
                state = self.state(connection)
                self.is_newest = True
                draft = state.draft()
                before = draft.head
                _run(batch, connection, state, draft)
                _run(take_more(), connection, state, draft)
                write(connection, draft.unwritten, draft.unwritten_replies)
        finally:
            self.is_newest = False
        if has_waited:
            self.yields_until = time.monotonic() + _YIELD
        with self.lock:
            if self.known.head == before:  # otherwise another thread has read these rows already
                self.known.adopt(draft)


def _run(
    tasks: Sequence[Task[tuple[Work[Any], bool], Any]], connection: Connection, state: LedgerState, draft: LedgerState
) -> None:
    """Run the tasks that only read, whose threads then continue, and then the tasks that may add rows to the draft.

    A task that only reads finds the committed rows. Any other task finds all rows before its own.
    """
    for task in tasks:
        if not task.item[1]:
            task.settle(lambda item: item[0](connection, state))
            task.dismiss()
    for task in tasks:
        if not task.is_final:
            task.settle(lambda item: item[0](connection, draft))
