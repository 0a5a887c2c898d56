"""The transactions of an open ledger, which its threads share where they would wait."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock, local
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine

from noisycount.errors import NoisyCountError, without_traceback
from noisycount.ledger.entries import Head
from noisycount.ledger.resuming import resumed_state
from noisycount.ledger.state import LedgerState
from noisycount.ledger.storage import HAS_WAITED, all_rows, check_columns, check_structure, refusals, write

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class Task(Generic[Item, Result]):
    """What one thread wants, and what became of it."""

    item: Item
    # what it got; none while nothing is done for it, or it was refused
    results: list[Result] = field(default_factory=list)
    refusal: NoisyCountError | None = None  # why it alone was refused
    woken: Event = field(default_factory=Event)  # set when it is done, or when its own thread shall go on with it
    leads: bool = False  # whether its thread shall go for all who wait
    is_final: bool = False  # whether nothing can undo what it got

    @property
    def is_done(self) -> bool:
        """Whether there is a result or a refusal."""
        return bool(self.results) or self.refusal is not None

    def settle(self, granted: Callable[[Item], Result]) -> None:
        """Get what is wanted; a refusal of it is nobody else's."""
        try:
            self.results.append(granted(self.item))
        except NoisyCountError as refusal:
            self.refusal = without_traceback(refusal)

    def dismiss(self) -> None:
        """Let its thread go on with what it got, whatever becomes of those who wait still."""
        self.is_final = True
        self.woken.set()

    def undo(self) -> None:
        """Forget what came of it, unless its thread went on with that."""
        if not self.is_final:
            self.results.clear()
            self.refusal = None

    def result(self) -> Result:
        """What the thread got."""
        if self.refusal is not None:
            raise self.refusal
        return self.results[0]


@dataclass(slots=True, eq=False)
class BatchQueue:
    """Lets one thread go for all that came while the one before it went.

    A commit waits for the disk, and a scan reads all records: who comes meanwhile shares the next.
    Nobody goes on before what was done for them is done. Where a shared way fails, nothing is done
    for anybody who waits still, and each goes alone: so nobody is refused for another.
    """

    lock: Lock = field(default_factory=Lock)  # held while one is added or all are taken
    waiting: list[Task[Any, Any]] = field(default_factory=list)  # for whom nobody goes yet
    led: bool = False  # whether a thread is on its way

    def result(self, item: Item, go: Callable[[Sequence[Task[Item, Result]]], None]) -> Result:
        """What a thread wants, once all is done that it takes."""
        task = Task[Item, Result](item)
        try:
            if not self._leads(task):
                task.woken.wait()
            if task.leads:
                self._go_for_all(go)
        except BaseException:
            self._withdraw(task)
            raise
        if not task.is_done:
            go([task])
        return task.result()

    def _leads(self, task: Task[Any, Any]) -> bool:
        """Whether nobody is on the way, so that the thread of a task shall go; else it waits."""
        with self.lock:
            self.waiting.append(task)
            task.leads = not self.led
            self.led = True
            return task.leads

    def _go_for_all(self, go: Callable[[Sequence[Task[Any, Any]]], None]) -> None:
        """Do what is waited for, and let the first who came meanwhile lead on."""
        with self.lock:
            tasks, self.waiting = self.waiting, []
        try:
            go(tasks)
        except BaseException as error:
            for task in tasks:
                task.undo()
            if len(tasks) == 1 or not isinstance(error, Exception):
                raise
        finally:
            with self.lock:
                self._hand_over()
            for task in tasks:
                task.woken.set()

    def _withdraw(self, task: Task[Any, Any]) -> None:
        """Let an interrupted thread hold up nobody."""
        with self.lock:
            if task in self.waiting:
                self.waiting.remove(task)
                if task.leads:
                    self._hand_over()

    def _hand_over(self) -> None:
        self.led = bool(self.waiting)
        if self.led:
            self.waiting[0].leads = True
            self.waiting[0].woken.set()


@dataclass(slots=True, eq=False)
class AttachedWrite:
    """What goes with one answer, which is stored with it or not at all."""

    # writes it beside the ledger's rows, and the row that holds its digest; tells whether it could
    write: Callable[[Connection, LedgerState], bool]
    is_written: bool = False  # whether it was committed


LOCK = 0x6E6F697379636E74  # whoever writes to a ledger of a PostgreSQL database holds this lock


def lock_out_writers(connection: Connection) -> None:
    """Wait until nobody else writes; a writer of SQLite has waited as its transaction began.

    The server lets those who wait have their turns in the order in which they came.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")


_YIELD = 0.003  # seconds: a process that waits for a file tries to lock it several times in them
# What reads a state and appends rows, as the last thing that it does.
Work = Callable[[Connection, LedgerState], Result]


@dataclass(slots=True, eq=False)
class Transactions:
    """The transactions of those who use an open ledger."""

    place: str  # what messages call the ledger
    reading: Engine  # the engine whose transactions only read
    writing: Engine  # the same engine, whose transactions lock out every other writer
    # what was read of the ledger so far; of an empty one while nothing was read
    known: LedgerState = field(default_factory=LedgerState)
    known_head: Head | None = None  # a row that the owner wrote down, which the ledger must hold; None: none
    lock: Lock = field(default_factory=Lock)  # held while rows are added to that
    is_newest: bool = False  # whether no other process can add a row now, so that all of them are known
    writers: BatchQueue = field(default_factory=BatchQueue)  # which threads wait to write to it
    yields_until: float = 0.0  # seconds of the clock, until which the file is left to a process that waits for it
    readings: local = field(default_factory=local)  # of each thread, whether it has read since `one_reading` began

    @property
    def is_on_server(self) -> bool:
        """Whether the ledger is no file."""
        return self.reading.dialect.name != "sqlite"

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[Connection]:
        """One transaction, and our own text for whatever the database refuses."""
        engine = self.writing if writes else self.reading
        with refusals(self.place), engine.begin() as connection:
            yield connection

    def state(self, connection: Connection) -> LedgerState:
        """What was charged and answered before, by all who write to the ledger.

        The first call reads and checks the ledger from its newest checkpoint on, or the whole ledger if it has none; a
        later call only what was written since.
        """
        with self.lock:
            if self.known.sealed is not None:
                self.known.sealed.current.connection = connection
            if self.known.head.number:
                self.known.follow(connection)
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

    def written(self, work: Work[Result]) -> Result:
        """What some work gives once what it wrote is committed."""
        result: Result = self.writers.result((work, True), self._write)
        return result

    def found(self, look: Work[Result]) -> Result:
        """What a look into the ledger gives that writes nothing.

        A file cannot be read while a commit is written to it; where threads of this process write one after the other,
        who only looks could wait for long, and so looks at the beginning of their next turn.
        """
        if self.writers.led and not self.is_on_server:
            result: Result = self.writers.result((look, False), self._write)
        else:
            with self.transaction() as connection:
                result = look(connection, self.state(connection))
        self.readings.is_recent = True
        return result

    @contextmanager
    def one_reading(self) -> Iterator[None]:
        """Let this thread read the ledger once for all its looks into the state: none is older than this block."""
        self.readings.is_recent = False
        self.readings.is_shared = True
        try:
            yield
        finally:
            self.readings.is_shared = False

    def noted(self, look: Callable[[LedgerState], Result]) -> Result:
        """Return what a look into the state alone gives. It decides no charge.

        No row is read while this process holds the lock of a file, as its state is all that was committed, or after
        the first look of `one_reading`.
        """
        is_newest = self.is_newest and not self.is_on_server
        is_recent = getattr(self.readings, "is_shared", False) and self.readings.is_recent
        if (is_newest or is_recent) and self.known.sealed is None:
            return look(self.known)
        return self.found(lambda _, state: look(state))

    def _write(self, tasks: Sequence[Task[tuple[Work[Any], bool], Any]]) -> None:
        """Do tasks in one transaction; who only looks does so before anything is written.

        If another process had the file, it may have it again before the next transaction of this one. Each task reads
        a state that ends at the row before its own: should the lock ever fail, one that comes between takes the number
        of this one, and the database refuses it. The first reading of all of a server's ledger takes long: others may
        write meanwhile.
        """
        if self.is_on_server and not self.known.head.number:
            with self.transaction() as connection:
                self.state(connection)
        time.sleep(max(0.0, self.yields_until - time.monotonic()))
        try:
            with self.transaction(writes=True) as connection:
                lock_out_writers(connection)
                has_waited = connection.info.get(HAS_WAITED, False)
                state = self.state(connection)
                self.is_newest = True
                draft = state.draft()
                before = draft.head
                for task in tasks:
                    if not task.item[1]:
                        task.settle(lambda item: item[0](connection, state))
                        task.dismiss()
                for task in tasks:
                    if not task.is_final:
                        task.settle(lambda item: item[0](connection, draft))
                write(connection, draft.unwritten)
        finally:
            self.is_newest = False
        if has_waited:
            self.yields_until = time.monotonic() + _YIELD
        with self.lock:
            if self.known.head == before:  # else somebody has read those rows meanwhile
                self.known.adopt(draft)
