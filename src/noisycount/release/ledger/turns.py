"""The transactions of an open ledger, which its threads share where they would wait."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

from noisycount.release.convoy import Convoy, Task
from noisycount.release.ledger.book import Book
from noisycount.release.ledger.refusals import refusals
from noisycount.release.ledger.shared_book import SharedBook
from noisycount.release.ledger.turn import take_turn

__all__ = ["Turns"]

Result = TypeVar("Result")

Work = Callable[[Connection, Book], Result]
"""What reads a book and appends at most one row, as the last thing that it does."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of those who use an open ledger.

    Attributes:
        place: What messages call the ledger.
        reading: The engine whose transactions only read.
        writing: The same engine, whose transactions lock out every other writer.
        read: What was read of the ledger so far.
        writers: Which threads wait to write to it.
    """

    place: str
    reading: Engine
    writing: Engine
    read: SharedBook = field(default_factory=SharedBook)
    writers: Convoy = field(default_factory=Convoy)

    @property
    def is_on_server(self) -> bool:
        """Whether the ledger is no file."""
        return self.reading.dialect.name != "sqlite"

    @contextmanager
    def transaction(self, engine: Engine) -> Iterator[Connection]:
        """One transaction, and our own text for whatever the database refuses."""
        with refusals(self.place), engine.begin() as connection:
            yield connection

    def book(self, connection: Connection) -> Book:
        """What was charged and answered before, by all who write to the ledger."""
        return self.read.read_on(connection, self.place)

    def written(self, work: Work[Result]) -> Result:
        """What some work gives once what it wrote is committed.

        Raises:
            LedgerError: The work was refused, or the ledger cannot be written.
        """
        written: Result = self.writers.result(work, self._write)
        return written

    def found(self, look: Work[Result]) -> Result:
        """What a look into the ledger gives that writes nothing.

        A file cannot be read while a commit is written to it; where threads of this process write
        one after the other, who only looks could wait for long, and so shares their turn.

        Raises:
            LedgerError: The look was refused, or the ledger cannot be read.
        """
        if self.writers.led and not self.is_on_server:
            return self.written(look)
        with self.transaction(self.reading) as connection:
            return look(connection, self.book(connection))

    def _write(self, tasks: Sequence[Task[Work[Any], Any]]) -> None:
        """Do tasks in one transaction.

        Each reads a book that ends at the row before its own: should the lock ever fail, a row that
        comes between takes the number of this one, and the database refuses it.
        """
        with self._turn() as (connection, book):
            draft = book.draft()
            before = draft.head
            for task in tasks:
                task.settle(lambda work: work(connection, draft))
        self.read.adopt(draft, before)

    @contextmanager
    def _turn(self) -> Iterator[tuple[Connection, Book]]:
        """A transaction that locks out every other writer, and what was written before it.

        The first reading of all of a server's ledger takes long: others may write meanwhile.
        """
        if self.is_on_server and not self.read.book.head.number:
            with self.transaction(self.reading) as connection:
                self.book(connection)
        with self.transaction(self.writing) as connection:
            take_turn(connection)
            yield connection, self.book(connection)
