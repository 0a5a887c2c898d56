"""The book of an open ledger, which its threads read on together."""

from dataclasses import dataclass, field
from threading import Lock

from sqlalchemy import Connection

from noisycount.release.ledger.book import Book
from noisycount.release.ledger.chain import Head
from noisycount.release.ledger.rows import follow
from noisycount.release.ledger.structure import check_structure

__all__ = ["SharedBook"]


@dataclass(slots=True, eq=False)
class SharedBook:
    """What was read of a ledger since it was opened.

    Attributes:
        book: What the rows add up to; of an empty ledger while nothing was read.
        lock: Held while rows are added.
        is_newest: Whether no other process can add a row now, so that the book holds all of them.
    """

    book: Book = field(default_factory=Book)
    lock: Lock = field(default_factory=Lock)
    is_newest: bool = False

    def read_on(self, connection: Connection, place: str) -> Book:
        """The book up to the newest row.

        The first call reads and checks the whole ledger, a later one only what was written since.

        Args:
            connection: To the ledger, in a transaction that has read nothing yet.
            place: What messages call the ledger.

        Raises:
            LedgerError: The database is damaged, or a row is not as it was written.
        """
        with self.lock:
            if self.book.head.number:
                follow(connection, self.book)
            else:
                book = Book()
                follow(connection, book)
                check_structure(connection, place)
                self.book = book
            return self.book

    def adopt(self, draft: Book, after: Head) -> None:
        """Add rows that were committed, unless somebody has read them meanwhile.

        Args:
            draft: A draft of the book, with them.
            after: The row that they follow.
        """
        with self.lock:
            if self.book.head == after:
                self.book.adopt(draft)
