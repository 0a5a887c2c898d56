"""The transactions of an open ledger, which its threads share where they would wait."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

from noisycount.release.convoy import Convoy, Task
from noisycount.release.ledger.book import Book
from noisycount.release.ledger.refusals import refusals
from noisycount.release.ledger.rows import write
from noisycount.release.ledger.shared_book import SharedBook
from noisycount.release.ledger.turn import take_turn

__all__ = ["Turns"]

Result = TypeVar("Result")

Work = Callable[[Connection, Book], Result]
"""What reads a book and appends rows, as the last thing that it does."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Work that writes nothing.

    Attributes:
        work: What it reads.
    """

    work: Work[Any]

    def __call__(self, connection: Connection, book: Book) -> Any:  # noqa: ANN401 - any result
        """What it gives."""
        return self.work(connection, book)


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
        one after the other, who only looks could wait for long, and so looks at the beginning of
        their next turn.

        Raises:
            LedgerError: The look was refused, or the ledger cannot be read.
        """
        if self.writers.led and not self.is_on_server:
            shared: Work[Result] = _Look(look)
            return self.written(shared)
        with self.transaction(self.reading) as connection:
            return look(connection, self.book(connection))

    def noted(self, look: Callable[[Book], Result]) -> Result:
        """What a look into the book alone gives.

        While this process holds the lock of a file, its book is all that was committed: so long
        nobody waits who only looks. What such a look finds decides no charge.

        Raises:
            LedgerError: The look was refused, or the ledger cannot be read.
        """
        if self.read.is_newest and not self.is_on_server:
            return look(self.read.book)
        return self.found(lambda _, book: look(book))

    def _write(self, tasks: Sequence[Task[Work[Any], Any]]) -> None:
        """Do tasks in one transaction; who only looks does so before anything is written.

        Each reads a book that ends at the row before its own: should the lock ever fail, a row that
        comes between takes the number of this one, and the database refuses it.
        """
        with self._turn() as (connection, book):
            for task in tasks:
                if isinstance(task.wish, _Look):
                    task.settle(lambda look: look(connection, book))
                    task.dismiss()
            draft = book.draft()
            before = draft.head
            for task in tasks:
                if not task.is_final:
                    task.settle(lambda work: work(connection, draft))
            write(connection, draft)
        self.read.adopt(draft, before)

    @contextmanager
    def _turn(self) -> Iterator[tuple[Connection, Book]]:
        """A transaction that locks out every other writer, and what was written before it.

        The first reading of all of a server's ledger takes long: others may write meanwhile.
        """
        if self.is_on_server and not self.read.book.head.number:
            with self.transaction(self.reading) as connection:
                self.book(connection)
        try:
            with self.transaction(self.writing) as connection:
                take_turn(connection)
                book = self.book(connection)
                self.read.is_newest = True
                yield connection, book
        finally:
            self.read.is_newest = False
