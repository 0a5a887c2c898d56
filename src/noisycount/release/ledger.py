"""The durable budget: append-only debits and answers in a SQL database."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from sqlalchemy import (
    URL,
    Column,
    ColumnElement,
    Connection,
    Engine,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Row,
    Table,
    Text,
    create_engine,
    event,
    insert,
    make_url,
    select,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from noisycount.errors import BudgetError, LedgerError
from noisycount.release.budget import exact_text, exact_value
from noisycount.release.entries import Entry, Request, check_text

__all__ = ["Entry", "Ledger", "Request"]

_SECONDS_TO_WAIT_FOR_A_LOCK = "30"

_OPTIONS = {"timeout": r"[0-9]+(\.[0-9]+)?", "uri": "true", "mode": "ro|rw|rwc"}

_TABLES = MetaData()
_DEBITS = Table(
    "debits",
    _TABLES,
    Column("number", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("dataset", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("spent", Text, nullable=False),
    Column("made", Text, nullable=False),
    Index("debits_of_a_dataset", "dataset", "number"),
)
_ANSWERS = Table(
    "answers",
    _TABLES,
    Column("key", Text, ForeignKey(_DEBITS.c.key), primary_key=True),
    Column("answer", Text, nullable=False),
)
_RESTORE = "restore it from a copy that holds every debit"
# What SQLite's primary result codes mean to the owner of the file, and what to do about it.
_FAILURES = {
    3: "may not be used by this account; mend its permissions",
    5: "is locked by another process; wait for it and ask again",
    6: "is locked by another process; wait for it and ask again",
    8: "is read-only; make the file and its folder writable",
    10: "met a disk error; make room on the disk, or mend it, and ask again",
    11: f"is damaged; {_RESTORE}",
    13: "has no room to grow; make room on the disk and ask again",
    14: "cannot be opened; check that the file and its folder exist and may be used",
    23: "may not be used by this account; mend its permissions",
    26: "is not a ledger; name another file",
}
_UNKNOWN_FAILURE = "cannot be used; check that noisycount wrote it"


@dataclass(frozen=True, slots=True)
class Ledger:
    """What every data set has spent, and every answer that was bought.

    Use `open`, not the constructor. A ledger may be used by many threads and processes at once;
    each process opens its own.

    Args:
        place: What messages call the ledger.
        reading: The engine whose transactions only read.
        writing: The same engine, whose transactions lock out every other writer.

    Example:
        >>> import tempfile
        >>> request = Request("survey", "age > 40", Fraction(1, 10))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
        ...         entry, charged = ledger.reserve("mine", request, Fraction(1))
        ...         entry = ledger.store(entry, 103)
        ...         again, charged_again = ledger.reserve("mine", request, Fraction(1))
        >>> charged, charged_again, again.answer
        (Fraction(1, 10), Fraction(0, 1), 103)
    """

    place: str
    reading: Engine
    writing: Engine

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Self:
        """Give the ledger at an address.

        Args:
            url: Such as ``sqlite:///ledger.db``; ``?timeout=5`` is how many seconds a lock is
                waited for (30 if left out), ``sqlite:///file:ledger.db?mode=ro&uri=true`` is
                read-only.
            create: Whether to make the file or its tables where they are missing.

        Raises:
            LedgerError: The address is not a file's, or the ledger cannot be opened.
        """
        place, engine = _engine(url, create=create)
        ledger = cls(place, engine, engine.execution_options(begin="BEGIN IMMEDIATE"))
        try:
            with ledger._transaction(ledger.writing if create else ledger.reading) as connection:
                if create:
                    _TABLES.create_all(connection)
        except LedgerError:
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

    def reserve(self, key: str, request: Request, budget: Fraction) -> tuple[Entry, Fraction]:
        """Give the debit of a request, and what this call charged for it.

        A request that was made before, under this key or another, is not charged again.

        Args:
            key: What the asker calls the request; at most 200 printable characters.
            request: What is asked, and at what price.
            budget: The most that the data set may pay in all.

        Raises:
            BudgetError: The price exceeds what is left; nothing was charged.
            LedgerError: The key belongs to another request, or the ledger cannot be written;
                nothing may be counted.
        """
        check_text("key", key)
        with self._transaction(self.writing) as connection:
            known = _entry(connection, _DEBITS.c.key == key)
            if known is not None and known.request != request:
                raise LedgerError(f"key {key!r} was used for another question; choose another key")
            known = known or _entry(connection, _DEBITS.c.digest == request.digest)
            if known is not None:
                return known, Fraction(0)
            before = _spent(connection, request.dataset)
            if before + request.epsilon > budget:
                raise BudgetError(_overspend(request, budget, before))
            entry = Entry(key, request, before + request.epsilon, datetime.now(UTC), answer=None)
            connection.execute(insert(_DEBITS).values(_debit(entry)))
        return entry, request.epsilon

    def store(self, entry: Entry, answer: int) -> Entry:
        """Give the entry with its answer for ever: this one, unless one was stored before.

        Args:
            entry: What `reserve` gave.
            answer: The noisy count, in units; of any size.

        Raises:
            LedgerError: The ledger holds no such entry, or cannot be written.
        """
        with self._transaction(self.writing) as connection:
            stored = _entry(connection, _DEBITS.c.key == entry.key)
            if stored is None:
                raise LedgerError(f"key {entry.key!r} has no debit here; reserve before you store")
            if stored.answer is not None:
                return stored
            connection.execute(insert(_ANSWERS).values(key=entry.key, answer=str(answer)))
        return replace(stored, answer=answer)

    def spent(self, dataset: str) -> Fraction:
        """Give the exact total that a data set has paid.

        Raises:
            LedgerError: The ledger cannot be read.
        """
        with self._transaction(self.reading) as connection:
            return _spent(connection, dataset)

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """Give every debit, oldest first; of one data set if it is named.

        Raises:
            LedgerError: The ledger cannot be read.
        """
        query = _ENTRIES.order_by(_DEBITS.c.number)
        if dataset is not None:
            query = query.where(_DEBITS.c.dataset == dataset)
        with self._transaction(self.reading) as connection:
            return [_read(row) for row in connection.execute(query)]

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        """Give one transaction, and our own text for whatever the database refuses."""
        with _refusals(self.place), engine.begin() as connection:
            yield connection


@event.listens_for(_TABLES, "after_create")
def _make_append_only(
    _: MetaData, connection: Connection, *, tables: list[Table], **_options: object
) -> None:
    """Let nobody change or delete a row of the tables that were just made."""
    for table in tables:
        for change in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(
                f"CREATE TRIGGER {table.name}_refuse_{change.lower()}"
                f" BEFORE {change} ON {table.name}"
                f" BEGIN SELECT RAISE(ABORT, '{table.name} are append-only'); END"
            )


_ENTRIES = select(_DEBITS, _ANSWERS.c.answer).join_from(_DEBITS, _ANSWERS, isouter=True)


def _entry(connection: Connection, which: ColumnElement[bool]) -> Entry | None:
    """Give the newest entry of which a condition holds, if there is one."""
    newest = _ENTRIES.where(which).order_by(_DEBITS.c.number.desc()).limit(1)
    row = connection.execute(newest).one_or_none()
    return None if row is None else _read(row)


def _spent(connection: Connection, dataset: str) -> Fraction:
    """Give the running total in the newest debit of a data set."""
    newest = _entry(connection, _DEBITS.c.dataset == dataset)
    return Fraction(0) if newest is None else newest.spent


def _read(row: Row[Any]) -> Entry:
    """Give the entry that a row holds, if the ledger wrote it."""
    try:
        request = Request(row.dataset, row.question, exact_value(row.epsilon))
        spent, made = exact_value(row.spent), datetime.fromisoformat(row.made)
        answer = None if row.answer is None else int(row.answer)
        entry = Entry(row.key, request, spent, made, answer)
    except ValueError:
        entry = None
    if entry is None or entry.request.digest != row.digest:
        raise LedgerError(f"row {row.number} of the ledger is damaged; {_RESTORE}")
    return entry


def _overspend(request: Request, budget: Fraction, spent: Fraction) -> str:
    """Give the refusal of a price that exceeds what is left."""
    left = exact_text(max(budget - spent, Fraction(0)))
    return (
        f"epsilon {exact_text(request.epsilon)} exceeds the {left} that is left of the budget"
        f" {exact_text(budget)} of {request.dataset!r}; ask at a lower price, or repeat an old"
        " question free of charge"
    )


def _debit(entry: Entry) -> dict[str, str]:
    """Give the row that keeps an entry."""
    return {
        "key": entry.key,
        "digest": entry.request.digest,
        "dataset": entry.request.dataset,
        "question": entry.request.question,
        "epsilon": exact_text(entry.request.epsilon),
        "spent": exact_text(entry.spent),
        "made": entry.made.isoformat(),
    }


def _engine(url: str, *, create: bool) -> tuple[str, Engine]:
    """Give what messages call the database of an address, and its connections."""
    try:
        address = make_url(url)
    except ArgumentError:
        address = URL.create("unreadable")
    if not _names_a_file(address):
        shown = url.rpartition("@")[2]  # what precedes it may be a password
        raise LedgerError(f"ledger must be a file, such as sqlite:///ledger.db, got {shown!r}")
    options = {"timeout": _SECONDS_TO_WAIT_FOR_A_LOCK, **address.query}
    if "uri" not in options:
        _check_path(Path(str(address.database)), create=create)
    elif not create and options.get("mode") != "ro":
        options["mode"] = "rw"
    engine = create_engine(address.set(query=options), connect_args={"isolation_level": None})
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return f"ledger {address.database!r}", engine


def _names_a_file(address: URL) -> bool:
    """Tell whether an address is a SQLite file's, with no option that could lose a debit."""
    database = address.database or ":memory:"
    return (
        address.drivername == "sqlite"
        and ":memory:" not in database
        and database.isprintable()
        and all(
            re.fullmatch(_OPTIONS.get(name, "(?!)"), str(value))
            for name, value in address.query.items()
        )
        and ("uri" in address.query) >= ("mode" in address.query)
        and ("uri" in address.query) == database.startswith("file:")
    )


def _check_path(path: Path, *, create: bool) -> None:
    """Refuse a path at which no ledger is and none shall or can be made."""
    if not path.parent.is_dir():
        raise LedgerError(f"ledger folder {str(path.parent)!r} does not exist; make it first")
    if not create and not path.exists():
        raise LedgerError(f"ledger {str(path)!r} does not exist; the first count makes it")


def _configure(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    """Make every commit outlast a power cut; the write-ahead log of many SQLites does not."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = DELETE")
    cursor.execute("PRAGMA synchronous = EXTRA")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    """Begin a transaction; one that will write takes the lock before it reads."""
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))


@contextmanager
def _refusals(place: str) -> Iterator[None]:
    """Replace what the database says by one line of ours."""
    try:
        yield
    except DBAPIError as error:
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF  # the rest is an extended code
        raise LedgerError(f"{place} {_FAILURES.get(code, _UNKNOWN_FAILURE)}") from None
