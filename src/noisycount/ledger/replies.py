"""What was replied to each request of a service, byte for byte, in the database of its ledger."""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import Connection, inspect, select

from noisycount.errors import LedgerError
from noisycount.frozen import frozen
from noisycount.ledger.chain import reply_columns
from noisycount.ledger.entries import TableAnswer, check_text
from noisycount.ledger.state import LedgerState
from noisycount.ledger.storage import REPLIES, RESTORE, all_rows, executed, select_rows
from noisycount.ledger.transactions import AttachedWrite, Transactions
from noisycount.ledger.verification import entries_of

_ADDED = (
    "INSERT INTO replies (name, dataset, request, reply) VALUES ({mark}, {mark}, {mark}, {mark})"
    " ON CONFLICT (name) DO NOTHING"
)

_OF_NAME = f"SELECT {', '.join(REPLIES.c.keys())} FROM replies WHERE name = {{mark}}"  # noqa: S608 - names of our own
_QUICKLY = 1  # of zlib's levels


@frozen
class Reply:
    """A reply that was given for good."""

    name: str  # what its request is called; at most 200 printable characters
    dataset: str  # which data set it is about
    request: str  # a digest of the request, of which no other has the same
    content: bytes


class _StoredReply(NamedTuple):
    """A row of the table of replies."""

    name: str
    dataset: str
    request: str
    reply: bytes


@dataclass(slots=True, eq=False)
class Replies:
    """The replies of a service, in a table beside the ledger's; it decides no charge.

    Example:
        >>> import tempfile
        >>> from noisycount.ledger.ledger import Ledger
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ...         first = ledger.replies.kept(Reply("ana:1", "survey", "a digest", b"103"))
        ...         second = ledger.replies.kept(Reply("ana:1", "survey", "another", b"99"))
        ...         found = ledger.replies.of("ana:2")
        >>> first.content, second.request, found
        (b'103', 'a digest', None)
    """

    transactions: Transactions  # those of the ledger, which is open while the replies are used
    clock: Callable[[], datetime]  # gives the time in UTC
    _is_made: bool = field(default=False, repr=False)

    def of(self, name: str) -> Reply | None:
        """Return the reply to the request of a name, or None if there is none."""
        check_text("name", name)
        return self.transactions.found(partial(self._found, name))

    def kept(self, reply: Reply) -> Reply:
        """The reply under its name for ever: this one, unless one was kept before."""
        attached = self.attached(reply)

        def kept(connection: Connection, state: LedgerState) -> Reply:
            found = self._found(reply.name, connection, state)
            if found is None:
                attached.write(connection, state)
            return found or reply

        return self.transactions.written(kept)

    def attached(self, reply: Reply) -> AttachedWrite:
        """What keeps a reply in the transaction that stores its answer, if it has none yet."""
        check_text("name", reply.name)
        if not self._is_made:
            self.transactions.written(_make)
            self._is_made = True
        return AttachedWrite(partial(_write, reply, self.clock()))

    def _found(self, name: str, connection: Connection, state: LedgerState) -> Reply | None:
        """The reply of a name, as it was given; None where there is none."""
        known, row = state.replies.get(name), None
        if self._is_made or inspect(connection).has_table(REPLIES.name):
            row = next((_StoredReply(*each) for each in select_rows(connection, _OF_NAME, [name])), None)
        if row is None and known is None:
            return None
        if row is None or (known is not None and _digest(row) != known):
            raise LedgerError(f"reply {name!r} of the ledger is not as it was given; {RESTORE}")
        if known is None:
            if state.has_replies:
                raise LedgerError(f"reply {name!r} is in no row of the ledger; {RESTORE}")
            _check(connection, [row])
        return _reply(row)


def digests_of(connection: Connection) -> dict[str, str]:
    """The digests of all replies that are kept, by the names of their requests."""
    if not inspect(connection).has_table(REPLIES.name):
        return {}
    return {row.name: _digest(row) for row in connection.execute(select(REPLIES))}


def check_older(connection: Connection) -> None:
    """Refuse a reply, older than the rows for replies, that repeats no answer of the ledger."""
    _check(connection, connection.execute(select(REPLIES)))


def _write(reply: Reply, made: datetime, connection: Connection, state: LedgerState) -> bool:
    """Whether a reply was written, and the row that holds its digest, as its name was new."""
    packed = zlib.compress(reply.content, _QUICKLY)
    values = (reply.name, reply.dataset, reply.request, packed)
    if reply.name in state.replies or executed(connection, _ADDED, values).rowcount != 1:
        return False
    state.append(reply_columns(reply.name, _digest_of(*values), max(made, state.made)))
    return True


def _make(connection: Connection, state: LedgerState) -> None:
    """Make the table of replies; those in one that is older get their rows in the ledger.

    One that repeats no answer of the ledger stays outside: it is given to nobody.
    """
    REPLIES.create(connection, checkfirst=True)
    if not state.has_replies:
        for row, fault in _faults(connection, connection.execute(select(REPLIES)).all()):
            if fault is None:
                state.append(reply_columns(row.name, _digest(row), state.made))


def _check(connection: Connection, rows: Iterable[Any]) -> None:
    """Refuse rows of older replies of which one repeats no answer."""
    for row, fault in _faults(connection, rows):
        if fault is not None:
            raise LedgerError(f"reply {row.name!r} of the ledger {fault}; {RESTORE}")


def _faults(connection: Connection, rows: Iterable[Any]) -> Iterator[tuple[Any, str | None]]:
    """Rows of older replies, and what is wrong with each; None where it repeats an answer.

    An asker's own debit has the name of the request; the answer to a question that was asked
    before has the name of the first who asked, and any of the same data set may be meant.
    """
    with all_rows(connection) as every:
        answers = {entry.key: entry.answer for entry in entries_of(every)}
    known = _counts_and_tables(answers.values())
    for row in rows:
        is_own = row.name in answers
        yield row, _fault(row, *_counts_and_tables([answers[row.name]]) if is_own else known)


def _counts_and_tables(answers: Iterable[int | TableAnswer | None]) -> tuple[set[int], list[Counter[int]]]:
    """The counts among some answers, and how often each count is in a table."""
    counts, tables = set[int](), list[Counter[int]]()
    for answer in answers:
        if isinstance(answer, TableAnswer):
            levels = chain.from_iterable(level.tolist() for level in answer.levels)
            tables.append(Counter(levels))
        elif answer is not None:
            counts.add(answer)
    return counts, tables


def _fault(row: Any, counts: set[int], tables: Sequence[Counter[int]]) -> str | None:  # noqa: ANN401
    """What is wrong with the row of an older reply that may repeat one of some answers."""
    try:
        told = json.loads(_reply(row).content)
        if (told["key"], told["analyst"]) != (row.name, row.name.rpartition(":")[0]):
            return "is another's"
        if (rows := told.get("rows")) is None:
            is_told = told["answer"] in counts
        else:
            replied = Counter(each["answer"] for each in rows)
            is_told = any(replied <= table for table in tables)
    except (LedgerError, ValueError, TypeError, KeyError, AttributeError):
        return "is damaged"
    return None if is_told else "tells another answer than the ledger"


def _reply(row: Any) -> Reply:  # noqa: ANN401
    """The reply that a row keeps."""
    try:
        content = zlib.decompress(row.reply)
    except (zlib.error, TypeError):
        raise LedgerError(f"reply {row.name!r} of the ledger is damaged; {RESTORE}") from None
    return Reply(row.name, row.dataset, row.request, content)


def _digest(row: Any) -> str:  # noqa: ANN401
    """The digest of a row of the table of replies, whatever it holds."""
    return _digest_of(row.name, row.dataset, row.request, row.reply)


def _digest_of(name: object, dataset: object, request: object, packed: object) -> str:
    """The SHA-256 of all that is kept of a reply, in hexadecimal digits."""
    reply = packed.hex() if isinstance(packed, bytes) else [packed]
    said = json.dumps([name, dataset, request, reply], default=repr)
    return sha256(said.encode("ascii")).hexdigest()
