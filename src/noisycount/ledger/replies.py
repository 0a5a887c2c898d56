"""Replies of a service, stored byte for byte in the database of its ledger.

`Replies` stores and returns replies; a row of the ledger holds the digest of each. Replies that are older than such
rows are compared with the answers of the ledger.
"""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
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
from noisycount.ledger.checkpoints import UnreadRowsError
from noisycount.ledger.entries import TableAnswer, check_text
from noisycount.ledger.state import LedgerState
from noisycount.ledger.storage import REPLIES, RESTORE, all_rows, execute
from noisycount.ledger.transactions import AttachedWrite, Transactions
from noisycount.ledger.verification import entries_of

_OF_NAME = f"SELECT {', '.join(REPLIES.c.keys())} FROM replies WHERE name = {{mark}}"  # noqa: S608 - names of our own
# Level, method, window and memory of zlib. Its default memory takes longer to clear than a reply to compress.
_COMPRESSION = (1, zlib.DEFLATED, 12, 4)


@frozen
class Reply:
    """A final reply to one request."""

    name: str  # name of the request; at most 200 printable characters
    dataset: str  # name of the data set
    request: str  # digest of the request, different for every request
    content: bytes


class _StoredReply(NamedTuple):
    """A row of the table of replies."""

    name: str
    dataset: str
    request: str
    reply: bytes


@dataclass(slots=True, eq=False)
class Replies:
    """Replies of a service, in a table beside that of the ledger. No charge depends on this table.

    Example:
        >>> import tempfile
        >>> from noisycount.ledger.ledger import Ledger
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ...         first = ledger.replies.store(Reply("ana:1", "survey", "a digest", b"103"))
        ...         second = ledger.replies.store(Reply("ana:1", "survey", "another", b"99"))
        ...         missing = ledger.replies.get("ana:2")
        >>> first.content, second.request, missing
        (b'103', 'a digest', None)
    """

    transactions: Transactions  # transactions of the ledger, which must be open while the replies are used
    clock: Callable[[], datetime]  # returns the time in UTC
    _is_made: bool = field(default=False, repr=False)

    def get(self, name: str) -> Reply | None:
        """Return the reply with a name, or None if there is none."""
        check_text("name", name)
        known = self.transactions.known
        if self.transactions.needs_no_reading and known.has_replies:
            with suppress(UnreadRowsError):
                if name not in known.replies:
                    return None  # without a wait for the next batch
        return self.transactions.read(partial(self._read, name))

    def store(self, reply: Reply) -> Reply:
        """Store a reply if there is none with its name yet, and return the stored reply with that name."""
        attached = self.attached_write(reply)

        def store_reply(connection: Connection, state: LedgerState) -> Reply:
            stored_reply = self._read(reply.name, connection, state)
            if stored_reply is None:
                attached.write(state)
            return stored_reply or reply

        return self.transactions.write(store_reply)

    def attached_write(self, reply: Reply) -> AttachedWrite:
        """Return the write that stores a reply in the transaction of its answer, if there is none with its name yet."""
        check_text("name", reply.name)
        if not self._is_made:
            self.transactions.write(_make_table)
            self._is_made = True
        compressor = zlib.compressobj(*_COMPRESSION)
        content = compressor.compress(reply.content) + compressor.flush()
        row = _StoredReply(reply.name, reply.dataset, reply.request, content)
        return AttachedWrite(partial(_add_reply, row, _row_digest(row), self.clock()))

    def _read(self, name: str, connection: Connection, state: LedgerState) -> Reply | None:
        """Return the reply with a name, or None if there is none.

        Raise LedgerError if the reply differs from its digest in the ledger, or if it is older than the rows with
        digests and repeats no answer of the ledger.
        """
        known = state.replies.get(name)
        row = next((_StoredReply(*columns) for columns in state.unwritten_replies if columns[0] == name), None)
        if row is not None:
            return _decompressed_reply(row)
        if self._is_made or inspect(connection).has_table(REPLIES.name):
            row = next((_StoredReply(*columns) for columns in execute(connection, _OF_NAME, [name])), None)
        if row is None and known is None:
            return None
        if row is None or (known is not None and _row_digest(row) != known):
            raise LedgerError(f"reply {name!r} of the ledger was changed after it was given; {RESTORE}")
        if known is None:
            if state.has_replies:
                raise LedgerError(f"reply {name!r} is in no row of the ledger; {RESTORE}")
            _require_repeated_answers(connection, [row])
        return _decompressed_reply(row)


def digests_of(connection: Connection) -> dict[str, str]:
    """Return the digests of all stored replies, by their names."""
    if not inspect(connection).has_table(REPLIES.name):
        return {}
    return {row.name: _row_digest(row) for row in connection.execute(select(REPLIES))}


def check_older_replies(connection: Connection) -> None:
    """Raise LedgerError if a stored reply repeats no answer of the ledger. For replies older than rows with digests."""
    _require_repeated_answers(connection, connection.execute(select(REPLIES)))


def _add_reply(row: _StoredReply, digest: str, made: datetime, state: LedgerState) -> bool:
    """Add the row of a reply and the row with its digest, and return True; return False if its name is in use."""
    if row.name in state.replies:
        return False
    state.unwritten_replies.append(row)
    state.append(reply_columns(row.name, digest, max(made, state.made)))
    return True


def _make_table(connection: Connection, state: LedgerState) -> None:
    """Make the table of replies if it is missing, and append rows with digests for the replies of an older table.

    A reply that repeats no answer of the ledger gets no row, and is never returned.
    """
    REPLIES.create(connection, checkfirst=True)
    if not state.has_replies:
        for row, fault in _rows_with_faults(connection, connection.execute(select(REPLIES)).all()):
            if fault is None:
                state.append(reply_columns(row.name, _row_digest(row), state.made))


def _require_repeated_answers(connection: Connection, rows: Iterable[Any]) -> None:
    """Raise LedgerError if one of some older replies repeats no answer of the ledger."""
    for row, fault in _rows_with_faults(connection, rows):
        if fault is not None:
            raise LedgerError(f"reply {row.name!r} of the ledger {fault}; {RESTORE}")


def _rows_with_faults(connection: Connection, rows: Iterable[Any]) -> Iterator[tuple[Any, str | None]]:
    """Yield rows of older replies, each with its fault, or with None if it repeats an answer of the ledger.

    If a debit has the name of the reply, the reply must repeat its answer. If not, the question was first asked under
    another name, and the reply may repeat any answer of the ledger.
    """
    with all_rows(connection) as every:
        answers = {entry.key: entry.answer for entry in entries_of(every)}
    known = _counts_and_tables(answers.values())
    for row in rows:
        is_own = row.name in answers
        yield row, _row_fault(row, *_counts_and_tables([answers[row.name]]) if is_own else known)


def _counts_and_tables(answers: Iterable[int | TableAnswer | None]) -> tuple[set[int], list[Counter[int]]]:
    """Return the single counts among some answers, and for each table how often each count occurs in it."""
    counts, tables = set[int](), list[Counter[int]]()
    for answer in answers:
        if isinstance(answer, TableAnswer):
            levels = chain.from_iterable(level.tolist() for level in answer.levels)
            tables.append(Counter(levels))
        elif answer is not None:
            counts.add(answer)
    return counts, tables


def _row_fault(row: Any, counts: set[int], tables: Sequence[Counter[int]]) -> str | None:  # noqa: ANN401
    """Return the fault of an older reply, or None if it repeats one of the counts or tables."""
    try:
        members = json.loads(_decompressed_reply(row).content)
        if (members["key"], members["analyst"]) != (row.name, row.name.rpartition(":")[0]):
            return "is another's"
        if (rows := members.get("rows")) is None:
            is_answer = members["answer"] in counts
        else:
            replied = Counter(count_row["answer"] for count_row in rows)
            is_answer = any(replied <= table for table in tables)
    except (LedgerError, ValueError, TypeError, KeyError, AttributeError):
        return "is damaged"
    return None if is_answer else "holds another answer than the ledger"


def _decompressed_reply(row: Any) -> Reply:  # noqa: ANN401
    """Return the reply in a row. Raise LedgerError if it cannot be decompressed."""
    try:
        content = zlib.decompress(row.reply)
    except (zlib.error, TypeError):
        raise LedgerError(f"reply {row.name!r} of the ledger is damaged; {RESTORE}") from None
    return Reply(row.name, row.dataset, row.request, content)


def _row_digest(row: Any) -> str:  # noqa: ANN401
    """Return the SHA-256 of a row of the table of replies, also of a damaged row, in hexadecimal digits."""
    reply = row.reply.hex() if isinstance(row.reply, bytes) else [row.reply]
    text = json.dumps([row.name, row.dataset, row.request, reply], default=repr)
    return sha256(text.encode("ascii")).hexdigest()
