"""What was replied to each request of a service, byte for byte, in the database of its ledger."""

from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Connection, inspect

from noisycount.release.ledger.arguments import check_text
from noisycount.release.ledger.book import Book
from noisycount.release.ledger.enclosure import Enclosure
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.ledger.reply import Reply, found_reply, keep_older, write_reply
from noisycount.release.ledger.table import REPLIES

__all__ = ["Replies", "Reply"]


@dataclass(slots=True, eq=False)
class Replies:
    """The replies of a service, in a table beside the ledger's; it decides no charge.

    Attributes:
        ledger: Open while the replies are used.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ...         replies = Replies(ledger)
        ...         first = replies.kept(Reply("ana:1", "survey", "a digest", b"103"))
        ...         second = replies.kept(Reply("ana:1", "survey", "another", b"99"))
        ...         found = replies.of("ana:2")
        >>> first.content, second.request, found
        (b'103', 'a digest', None)
    """

    ledger: Ledger
    _is_made: bool = field(default=False, repr=False)

    def of(self, name: str) -> Reply | None:
        """The reply to the request of a name; None where there is none.

        Raises:
            ValueError: The name is not printable.
            LedgerError: The ledger cannot be read, or the reply is not as it was given.
        """
        check_text("name", name)
        return self.ledger.turns.found(partial(self._found, name))

    def kept(self, reply: Reply) -> Reply:
        """The reply under its name for ever: this one, unless one was kept before.

        Raises:
            ValueError: The name is not printable.
            LedgerError: The ledger cannot be written, or what was kept is not as it was given.
        """
        check_text("name", reply.name)
        self._make()

        def kept(connection: Connection, book: Book) -> Reply:
            found = self._found(reply.name, connection, book)
            if found is not None:
                return found
            write_reply(reply, self.ledger.clock(), connection, book)
            return reply

        return self.ledger.turns.written(kept)

    def enclosure(self, reply: Reply) -> Enclosure:
        """What keeps a reply in the transaction that stores its answer, unless one was kept before.

        Raises:
            ValueError: The name is not printable.
            LedgerError: The ledger cannot be written.
        """
        check_text("name", reply.name)
        self._make()

        return Enclosure(partial(write_reply, reply, self.ledger.clock()))

    def _make(self) -> None:
        """Make the table where there is none; that it is there is known once it is committed."""
        if not self._is_made:
            self.ledger.turns.written(_make)
            self._is_made = True

    def _found(self, name: str, connection: Connection, book: Book) -> Reply | None:
        """The reply of a name, where there are replies at all."""
        has_table = self._is_made or inspect(connection).has_table(REPLIES.name)
        return found_reply(connection, book, name, has_table=has_table)


def _make(connection: Connection, book: Book) -> None:
    """Make the table of replies; those in one that is older get their rows in the ledger."""
    REPLIES.create(connection, checkfirst=True)
    keep_older(connection, book)
