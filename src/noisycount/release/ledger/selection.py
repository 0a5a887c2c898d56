"""Some of a ledger's debits, the newest first, without a reading of all of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import ColumnElement, func, select

from noisycount.release.budget.loss import Loss
from noisycount.release.ledger.chain import DEBIT, Head
from noisycount.release.ledger.entries import Entry
from noisycount.release.ledger.ledger import Ledger
from noisycount.release.ledger.rows import entry_under
from noisycount.release.ledger.table import LEDGER

__all__ = ["Found", "Selection", "selected"]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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

    Raises:
        LedgerError: The ledger cannot be read, or a row is not as it was written.
    """
    conditions = selection.conditions
    query = select(LEDGER.c.key).where(*conditions).order_by(LEDGER.c.number.desc())
    with ledger.turns.transaction(ledger.reading) as connection:
        book = ledger.turns.book(connection)
        counted = select(func.count()).select_from(LEDGER).where(*conditions)
        total = connection.execute(counted).scalar_one()
        keys = connection.execute(query.offset(first).limit(most)).scalars().all()
        found = (entry_under(connection, book, key) for key in keys)
        return Found(
            entries=tuple(entry for entry in found if entry is not None),
            total=total,
            datasets=dict(book.datasets),
            analysts=dict(book.analysts),
            head=book.head,
        )
