"""What was replied to each request of a service, byte for byte, in the database of its ledger."""

import zlib
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import (
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    inspect,
    select,
)

from noisycount.errors import LedgerError
from noisycount.release.ledger.arguments import check_text
from noisycount.release.ledger.book import Book
from noisycount.release.ledger.enclosure import Enclosure
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.ledger.table import RESTORE

__all__ = ["Replies", "Reply"]

_TABLE = Table(
    "replies",
    MetaData(),
    Column("name", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("reply", LargeBinary, nullable=False),
)
_ADDED = (
    "INSERT INTO replies (name, dataset, request, reply) VALUES ({marks})"
    " ON CONFLICT (name) DO NOTHING"
)
_OF_NAME = select(_TABLE).where(_TABLE.c.name == bindparam("name"))
_QUICKLY = 1  # of zlib's levels


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that was given for good.

    Attributes:
        name: What its request is called; at most 200 printable characters.
        dataset: Which data set it is about.
        request: A digest of the request, of which no other has the same.
        content: The bytes.
    """

    name: str
    dataset: str
    request: str
    content: bytes


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
            LedgerError: The ledger cannot be read, or the reply is damaged.
        """
        check_text("name", name)
        return self.ledger.turns.found(lambda connection, _: self._found(connection, name))

    def kept(self, reply: Reply) -> Reply:
        """The reply under its name for ever: this one, unless one was kept before.

        Raises:
            ValueError: The name is not printable.
            LedgerError: The ledger cannot be written.
        """
        check_text("name", reply.name)
        self._make()

        def kept(connection: Connection, _: Book) -> Reply:
            found = self._found(connection, reply.name)
            if found is not None:
                return found
            _added(reply, connection)
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

        return Enclosure(partial(_added, reply))

    def _make(self) -> None:
        """Make the table where there is none; that it is there is known once it is committed."""
        if not self._is_made:
            create = lambda each, _: _TABLE.create(each, checkfirst=True)  # noqa: E731 - one use
            self.ledger.turns.written(create)
            self._is_made = True

    def _found(self, connection: Connection, name: str) -> Reply | None:
        """The reply of a name, where there are replies at all."""
        if not self._is_made and not inspect(connection).has_table(_TABLE.name):
            return None
        row = connection.execute(_OF_NAME, {"name": name}).one_or_none()
        if row is None:
            return None
        try:
            content = zlib.decompress(row.reply)
        except zlib.error:
            raise LedgerError(f"reply {name!r} of the ledger is damaged; {RESTORE}") from None
        return Reply(row.name, row.dataset, row.request, content)


def _added(reply: Reply, connection: Connection) -> bool:
    """Whether a reply was written, as its name was new."""
    packed = zlib.compress(reply.content, _QUICKLY)
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    query = _ADDED.format(marks=", ".join([mark] * 4))
    values = (reply.name, reply.dataset, reply.request, packed)
    return connection.exec_driver_sql(query, values).rowcount == 1
