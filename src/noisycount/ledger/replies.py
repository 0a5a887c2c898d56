"""What was replied to each request of a service, byte for byte, in the database of its ledger.

One debit of a ledger, without all others.

Some of a ledger's debits, the newest first, without a reading of all of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial

from sqlalchemy import ColumnElement, Connection, func, inspect, select

from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import DEBIT, Head
from noisycount.ledger.entries import Entry, Request, check_text
from noisycount.ledger.ledger import Ledger
from noisycount.ledger.reply import Reply, found_reply, keep_older, write_reply
from noisycount.ledger.rows import entry_under, first_made
from noisycount.ledger.state import LedgerState
from noisycount.ledger.storage import LEDGER, REPLIES
from noisycount.ledger.transactions import AttachedWrite

__all__ = ["Found", "Replies", "Selection", "entry_of_key", "entry_of_request", "selected"]


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
        """The reply to the request of a name; None where there is none."""
        check_text("name", name)
        return self.ledger.transactions.found(partial(self._found, name))

    def kept(self, reply: Reply) -> Reply:
        """The reply under its name for ever: this one, unless one was kept before."""
        check_text("name", reply.name)
        self._make()

        def kept(connection: Connection, state: LedgerState) -> Reply:
            found = self._found(reply.name, connection, state)
            if found is not None:
                return found
            write_reply(reply, self.ledger.clock(), connection, state)
            return reply

        return self.ledger.transactions.written(kept)

    def attached(self, reply: Reply) -> AttachedWrite:
        """What keeps a reply in the transaction that stores its answer, if it has none yet."""
        check_text("name", reply.name)
        self._make()

        return AttachedWrite(partial(write_reply, reply, self.ledger.clock()))

    def _make(self) -> None:
        """Make the table where there is none; that it is there is known once it is committed."""
        if not self._is_made:
            self.ledger.transactions.written(_make)
            self._is_made = True

    def _found(self, name: str, connection: Connection, state: LedgerState) -> Reply | None:
        """The reply of a name, where there are replies at all."""
        has_table = self._is_made or inspect(connection).has_table(REPLIES.name)
        return found_reply(connection, state, name, has_table=has_table)


def _make(connection: Connection, state: LedgerState) -> None:
    """Make the table of replies; those in one that is older get their rows in the ledger."""
    REPLIES.create(connection, checkfirst=True)
    keep_older(connection, state)


def entry_of_key(ledger: Ledger, key: str) -> Entry | None:
    """The debit under a key, with its answer; None where there is none.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ...         entry_of_key(ledger, "mine") is None
        True
    """
    check_text("key", key)
    return ledger.transactions.found(lambda connection, state: entry_under(connection, state, key))


def entry_of_request(
    ledger: Ledger, request: Request, formers: Sequence[Request] = ()
) -> Entry | None:
    """The debit of a request, with its answer; None where it was not made.

    Args:
        ledger: An open one.
        request: What is asked, and at what price.
        formers: As for `Ledger.reserve`.
    """
    forms = request.forms(formers)
    return ledger.transactions.found(lambda connection, state: first_made(connection, state, forms))


@frozen
class Selection:
    """Which debits are wanted.

    Args:
        datasets: About which data sets, as the ledger calls them; None: about all.
        analyst: Who asked; None: everybody.
        since: The first day in UTC; None: from the beginning.
        until: The last day in UTC; None: to the end.
    """

    datasets: frozenset[str] | None = None
    analyst: str | None = None
    since: date | None = None
    until: date | None = None

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        """What holds of the rows; times are texts whose order is theirs."""
        conditions = [LEDGER.c.kind == DEBIT]
        if self.datasets is not None:
            conditions.append(LEDGER.c.dataset.in_(sorted(self.datasets)))
        if self.analyst is not None:
            conditions.append(LEDGER.c.analyst == self.analyst)
        if self.since is not None:
            conditions.append(LEDGER.c.made >= self.since.isoformat())
        if self.until is not None and self.until < date.max:
            conditions.append(LEDGER.c.made < (self.until + timedelta(days=1)).isoformat())
        return conditions


@frozen
class Found:
    """A part of the debits that were wanted, and what the ledger knows of all.

    Attributes:
        entries: The newest first, each from rows whose hashes were checked.
        total: How many were wanted.
        datasets: What every data set has paid that was asked.
        analysts: What everybody has paid who asked.
        head: The newest row.
    """

    entries: tuple[Entry, ...]
    total: int
    datasets: Mapping[str, Loss]
    analysts: Mapping[str, Loss]
    head: Head


def selected(ledger: Ledger, selection: Selection, first: int, most: int | None) -> Found:
    """Some of the debits of an open ledger.

    Args:
        ledger: An open one.
        selection: Which are wanted.
        first: How many newer ones are left out.
        most: How many are read; None: all that are left.
    """
    conditions = selection.conditions
    query = select(LEDGER.c.key).where(*conditions).order_by(LEDGER.c.number.desc())
    with ledger.transactions.transaction(ledger.reading) as connection:
        state = ledger.transactions.state(connection)
        counted = select(func.count()).select_from(LEDGER).where(*conditions)
        total = connection.execute(counted).scalar_one()
        keys = connection.execute(query.offset(first).limit(most)).scalars().all()
        found = (entry_under(connection, state, key) for key in keys)
        return Found(
            entries=tuple(entry for entry in found if entry is not None),
            total=total,
            datasets=dict(state.datasets),
            analysts=dict(state.analysts),
            head=state.head,
        )
