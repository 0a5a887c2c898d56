"""What was replied to a request, as the chain of the ledger knows it."""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from itertools import chain
from typing import Any

from sqlalchemy import Connection, bindparam, inspect, select

from noisycount.errors import LedgerError
from noisycount.frozen import frozen
from noisycount.ledger.chain import reply_columns
from noisycount.ledger.entries import Entry, TableAnswer
from noisycount.ledger.rows import all_rows, append, entries_of
from noisycount.ledger.state import LedgerState
from noisycount.ledger.storage import REPLIES, RESTORE

__all__ = ["Reply", "check_older", "digests_of", "found_reply", "keep_older", "write_reply"]

_ADDED = (
    "INSERT INTO replies (name, dataset, request, reply) VALUES ({marks})"
    " ON CONFLICT (name) DO NOTHING"
)

_OF_NAME = select(REPLIES).where(REPLIES.c.name == bindparam("name"))
_QUICKLY = 1  # of zlib's levels


@frozen
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


def digests_of(connection: Connection) -> dict[str, str]:
    """The digests of all replies that are kept, by the names of their requests."""
    if not inspect(connection).has_table(REPLIES.name):
        return {}
    return {row.name: _digest(row) for row in connection.execute(select(REPLIES))}


def found_reply(
    connection: Connection, state: LedgerState, name: str, *, has_table: bool
) -> Reply | None:
    """The reply to the request of a name, as it was given; None where there is none."""
    known = state.replies.get(name)
    row = connection.execute(_OF_NAME, {"name": name}).one_or_none() if has_table else None
    if row is None and known is None:
        return None
    if row is None or (known is not None and _digest(row) != known):
        raise LedgerError(f"reply {name!r} of the ledger is not as it was given; {RESTORE}")
    if known is None:
        if state.replies:
            raise LedgerError(f"reply {name!r} is in no row of the ledger; {RESTORE}")
        _StoredAnswers.of(connection).check(row)
    return _reply(row)


def write_reply(reply: Reply, made: datetime, connection: Connection, state: LedgerState) -> bool:
    """Whether a reply was written, and the row that holds its digest, as its name was new."""
    packed = zlib.compress(reply.content, _QUICKLY)
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    query = _ADDED.format(marks=", ".join([mark] * 4))
    values = (reply.name, reply.dataset, reply.request, packed)
    if reply.name in state.replies or connection.exec_driver_sql(query, values).rowcount != 1:
        return False
    append(state, reply_columns(reply.name, _digest_of(*values), max(made, state.made)))
    return True


def keep_older(connection: Connection, state: LedgerState) -> None:
    """Let the rows of the ledger hold the digests of replies that are older than such rows.

    One that repeats no answer of the ledger stays outside: it is given to nobody.
    """
    older = {} if state.replies else digests_of(connection)
    if not older:
        return
    answers = _StoredAnswers.of(connection)
    for row in connection.execute(select(REPLIES)).all():
        if answers.fault(row) is None:
            append(state, reply_columns(row.name, older[row.name], state.made))


def check_older(connection: Connection) -> None:
    """Refuse a reply, older than the rows for replies, that repeats no answer of the ledger."""
    answers = _StoredAnswers.of(connection)
    for row in connection.execute(select(REPLIES)):
        answers.check(row)


@frozen(slots=False)
class _StoredAnswers:
    """The answers of a ledger, with which older replies are compared.

    Attributes:
        entries: Every debit, by its key.
    """

    entries: dict[str, Entry]

    @classmethod
    def of(cls, connection: Connection) -> "_StoredAnswers":
        """All of a ledger."""
        with all_rows(connection) as rows:
            return cls({entry.key: entry for entry in entries_of(rows)})

    def check(self, row: Any) -> None:  # noqa: ANN401 - of the table of replies
        """Refuse the row of a reply that repeats no answer."""
        why = self.fault(row)
        if why is not None:
            raise LedgerError(f"reply {row.name!r} of the ledger {why}; {RESTORE}")

    def fault(self, row: Any) -> str | None:  # noqa: ANN401
        """What is wrong with the row of a reply; None where it repeats an answer.

        An asker's own debit has the name of the request; the answer to a question that was asked
        before has the name of the first who asked, and any of the same data set may be meant.
        """
        try:
            told = json.loads(_reply(row).content)
            asker = row.name.rpartition(":")[0]
            if (told["key"], told["analyst"]) != (row.name, asker):
                return "is another's"
            rows = told.get("rows")
            answers = told["answer"] if rows is None else [each["answer"] for each in rows]
        except (LedgerError, ValueError, TypeError, KeyError, AttributeError):
            return "is damaged"
        own = self.entries.get(row.name)
        if isinstance(answers, list):
            tables = self._tables if own is None else list(_tables([own]))
            is_told = any(Counter(answers) <= table for table in tables)
        else:
            is_told = answers in self._counts if own is None else answers == own.answer
        return None if is_told else "tells another answer than the ledger"

    @cached_property
    def _counts(self) -> set[int]:
        return {each.answer for each in self.entries.values() if isinstance(each.answer, int)}

    @cached_property
    def _tables(self) -> list[Counter[int]]:
        return list(_tables(self.entries.values()))


def _tables(entries: Iterable[Entry]) -> Iterator[Counter[int]]:
    """The counts of each answer that is a table."""
    for entry in entries:
        if isinstance(entry.answer, TableAnswer):
            yield Counter(chain.from_iterable(level.tolist() for level in entry.answer.levels))


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
