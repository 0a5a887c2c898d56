"""The durable budget: append-only debits and answers in a SQL database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from operator import index
from types import UnionType
from typing import Any, Self

from sqlalchemy import Connection, Engine, select

from noisycount.errors import BudgetError, LedgerError
from noisycount.release.budget.budgets import Budget, Loss, budget_of
from noisycount.release.budget.exact import exact_text
from noisycount.release.ledger.address import Address
from noisycount.release.ledger.chain import (
    Head,
    Row,
    Verification,
    answer_columns,
    debit_columns,
    row_hash,
    verification,
)
from noisycount.release.ledger.entries import Analyst, Entry, Request, check_text
from noisycount.release.ledger.making import check_server, make_file
from noisycount.release.ledger.refusals import refusals
from noisycount.release.ledger.rows import (
    ENTRIES,
    append,
    entry_in,
    entry_where,
    made_at,
    newest_row,
    paid_by,
    paid_for,
)
from noisycount.release.ledger.table import LEDGER, is_made, make, upgrade

__all__ = ["Analyst", "Entry", "Ledger", "Request"]

_LONGEST_ANSWER = 14_000  # bits; Python writes no integer of more than 4300 digits
_DRIFT = timedelta(minutes=1)  # between the clocks of machines that share a ledger


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What every data set has spent, and every answer that was bought.

    Use `open`, not the constructor. A ledger may be used by many threads and processes at once;
    each process opens its own. Each row carries the hash of the one before.

    Args:
        place: What messages call the ledger.
        reading: The engine whose transactions only read.
        writing: The same engine, whose transactions lock out every other writer.
        clock: Gives the time in UTC.

    Example:
        >>> import tempfile
        >>> request = Request("survey", "age > 40", Fraction(1, 10))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ...         entry, charged = ledger.reserve("mine", request, Fraction(1))
        ...         entry = ledger.store(entry, 103)
        ...         again, charged_again = ledger.reserve("mine", request, Fraction(1))
        ...         head = ledger.verify().head
        >>> charged, charged_again, again.answer, head.number
        (Fraction(1, 10), Fraction(0, 1), 103, 2)
    """

    place: str
    reading: Engine
    writing: Engine
    clock: Callable[[], datetime] = _now

    @classmethod
    def open(cls, url: str, *, create: bool = True, written: Head | None = None) -> Self:
        """Give the ledger at an address; one of the older form is brought into this one.

        Args:
            url: Such as ``sqlite:///ledger.db`` or ``postgresql+psycopg://user@host/name``;
                ``?timeout=5`` is how many seconds a lock is waited for (30 if left out),
                ``sqlite:///file:ledger.db?mode=ro&uri=true`` is read-only.
            create: Whether to make the ledger where there is none.
            written: A head that the owner wrote down; the ledger must hold that row.

        Raises:
            ValueError: `written` is no head.
            LedgerError: The address is neither a file's nor a PostgreSQL database's, or the ledger
                cannot be opened, or it does not hold the row that was written down.
        """
        address = Address.read(url)
        _check_type("written", written, Head | None)
        if address.file is not None:
            make_file(address, address.file, create=create)
        with refusals(address.place):
            engine = address.engine()
        ledger = cls(address.place, engine, engine.execution_options(writing=True))
        try:
            ledger._prepare(create=create and address.file is None)
            if written is not None:
                ledger._check_written(written)
        except Exception:
            ledger.close()
            raise
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; what was written stays."""
        self.reading.dispose()

    def reserve(
        self,
        key: str,
        request: Request,
        budget: Fraction | Budget,
        analyst: Analyst = Analyst(),  # noqa: B008 - frozen
    ) -> tuple[Entry, Fraction]:
        """Give the debit of a request, and what this call charged for it.

        A request that was made before, under this key or another, is not charged again.

        Args:
            key: What the asker calls the request; at most 200 printable characters.
            request: What is asked, and at what price.
            budget: The most that the data set may pay in all; a number is a budget in ε.
            analyst: Who asks; the price must fit the analyst's budget as well.

        Raises:
            ValueError: An argument is of another type or out of range; nothing was charged.
            BudgetError: The price exceeds what is left; nothing was charged.
            LedgerError: The key belongs to another request, or the ledger cannot be written;
                nothing may be counted.
        """
        check_text("key", key)
        _check_type("request", request, Request)
        _check_type("analyst", analyst, Analyst)
        limit = budget_of(budget)
        with self._transaction(self.writing) as connection:
            known = entry_where(connection, LEDGER.c.key == key)
            if known is not None and known.request != request:
                raise LedgerError(f"key {key!r} was used for another question; choose another key")
            known = known or entry_where(connection, LEDGER.c.digest == request.digest)
            if known is not None:
                return known, Fraction(0)
            # Read before the totals: should the lock ever fail, a row that comes between takes the
            # number of this one, and the database refuses it.
            newest = newest_row(connection)
            price = Loss.of(request.epsilon)
            paid = paid_for(connection, request.dataset)
            by_analyst = paid_by(connection, analyst.name)
            _check_budget(request, limit, paid, repr(request.dataset))
            if analyst.budget is not None:
                own = budget_of(analyst.budget)
                _check_budget(request, own, by_analyst, f"analyst {analyst.name!r}")
            totals = (paid + price, by_analyst + price)
            entry = Entry(key, request, totals[0], self.clock(), None, analyst.name, totals[1])
            return self._debited(connection, newest, entry), request.epsilon

    def store(self, entry: Entry, answer: int) -> Entry:
        """Give the entry with its answer for ever: this one, unless one was stored before.

        Args:
            entry: What `reserve` gave.
            answer: The noisy count, in units; of any size below 2^14000.

        Raises:
            ValueError: The answer is no whole number, or too large; nothing was stored.
            LedgerError: The ledger holds no such entry, or cannot be written.
        """
        _check_type("entry", entry, Entry)
        answer = _whole(answer)
        with self._transaction(self.writing) as connection:
            stored = entry_where(connection, LEDGER.c.key == entry.key)
            if stored is None or stored.request != entry.request:
                raise LedgerError(f"key {entry.key!r} has no debit here; reserve before you store")
            if stored.answer is not None:
                return stored
            newest = newest_row(connection)
            made = max(self.clock(), made_at(newest))
            append(connection, newest, answer_columns(entry.key, answer, made))
        return replace(stored, answer=answer)

    def spent(self, dataset: str) -> Fraction:
        """Give the exact sum of the ε that a data set has paid.

        Raises:
            ValueError: The name is not printable.
            LedgerError: The ledger cannot be read.
        """
        return self.paid(dataset).epsilon

    def paid(self, dataset: str) -> Loss:
        """Give what the answers about a data set have cost together.

        Raises:
            ValueError: The name is not printable.
            LedgerError: The ledger cannot be read.
        """
        check_text("dataset", dataset)
        with self._transaction(self.reading) as connection:
            return paid_for(connection, dataset)

    def paid_by(self, analyst: str) -> Loss:
        """Give what the questions of an analyst have cost together, over all data sets.

        Raises:
            ValueError: The name is not printable.
            LedgerError: The ledger cannot be read.
        """
        check_text("analyst", analyst)
        with self._transaction(self.reading) as connection:
            return paid_by(connection, analyst)

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """Give every debit, oldest first; of one data set if it is named.

        Raises:
            ValueError: The name is not printable.
            LedgerError: The ledger cannot be read.
        """
        query = ENTRIES.order_by(LEDGER.c.number)
        if dataset is not None:
            check_text("dataset", dataset)
            query = query.where(LEDGER.c.dataset == dataset)
        with self._transaction(self.reading) as connection:
            return [entry_in(dict(row)) for row in connection.execute(query).mappings()]

    def rows(self) -> list[dict[str, Any]]:
        """Give every row as it is stored, oldest first, whether the chain is intact or not.

        Raises:
            LedgerError: The ledger cannot be read.
        """
        query = select(LEDGER).order_by(LEDGER.c.number)
        with self._transaction(self.reading) as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def verify(self, written: Head | None = None) -> Verification:
        """Read the whole chain, and name its first broken row if there is one.

        Args:
            written: A head that the owner wrote down.

        Raises:
            ValueError: `written` is no head.
            LedgerError: The ledger cannot be read.
        """
        _check_type("written", written, Head | None)
        query = select(LEDGER).order_by(LEDGER.c.number)
        with (
            self._transaction(self.reading) as connection,
            connection.execution_options(yield_per=1000).execute(query) as rows,
        ):
            return verification(map(dict, rows.mappings()), written)

    def is_made(self) -> bool:
        """Tell whether there is a ledger at the address.

        Raises:
            LedgerError: The database cannot be read.
        """
        with self._transaction(self.reading) as connection:
            return is_made(connection)

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        """Give one transaction, and our own text for whatever the database refuses."""
        with refusals(self.place), engine.begin() as connection:
            yield connection

    def _prepare(self, *, create: bool) -> None:
        """Make or upgrade the tables, if there is need."""
        with self._transaction(self.reading) as connection:
            check_server(connection, self.place)
            if is_made(connection):
                return
        server = self.reading.dialect.name != "sqlite"
        if server and not create:
            return
        with self._transaction(self.writing) as connection:
            if is_made(connection):
                return
            if server:
                make(connection)
            elif not upgrade(connection):
                raise LedgerError(f"{self.place} is not a ledger; name another file")

    def _check_written(self, written: Head) -> None:
        """Refuse a ledger that does not hold the row that the owner wrote down."""
        if written.number == 0:
            return
        query = select(LEDGER).where(LEDGER.c.number == written.number)
        with self._transaction(self.reading) as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None or row["hash"] != row_hash(dict(row)) or not written.names(row["hash"]):
            raise LedgerError(
                f"{self.place} does not hold row {written.number} as it was written down: it is an"
                " older copy, or another ledger; restore the newest copy"
            )

    def _debited(self, connection: Connection, newest: Row | None, entry: Entry) -> Entry:
        """Write a debit, unless the clock jumped back."""
        last = made_at(newest)
        if entry.made + _DRIFT < last:
            raise LedgerError(
                f"the clock says {entry.made:%Y-%m-%d %H:%M} UTC, but {self.place} was written at"
                f" {last:%Y-%m-%d %H:%M} UTC; set the clock right and ask again"
            )
        entry = replace(entry, made=max(entry.made, last))
        append(connection, newest, debit_columns(entry))
        return entry


def _check_type(name: str, value: object, kind: type | UnionType) -> None:
    """Refuse an argument of another type."""
    if not isinstance(value, kind):
        wanted = getattr(kind, "__name__", kind)
        raise ValueError(f"{name} must be of type {wanted}, got a {type(value).__name__}")  # noqa: TRY004


def _whole(answer: int) -> int:
    """Give an answer as an integer of Python's own."""
    try:
        whole = index(answer)
    except TypeError:
        whole = None
    if whole is None or isinstance(answer, bool):
        raise ValueError(f"answer must be a whole number, got {repr(answer)[:80]}")
    if whole.bit_length() > _LONGEST_ANSWER:
        raise ValueError(f"answer must be below 2^{_LONGEST_ANSWER}, got one that is not")
    return whole


def _check_budget(request: Request, limit: Budget, spent: Loss, whose: str) -> None:
    """Refuse a price that exceeds what is left of one budget."""
    if limit.admits(spent + Loss.of(request.epsilon)):
        return
    raise BudgetError(
        f"epsilon {exact_text(request.epsilon)} exceeds the {exact_text(limit.left(spent))} that is"
        f" left of the budget {limit.text} of {whose}; ask at a lower price, or repeat an old"
        " question free of charge"
    )
