"""The table of a ledger and that of replies, for SQLite and PostgreSQL, and an older form.

What a database says when it refuses, in one line of ours.

Whether the file of a ledger is whole around its rows.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    event,
    insert,
    inspect,
    text,
)
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from noisycount.display.numbers import exact_text
from noisycount.errors import LedgerError
from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import (
    COLUMNS,
    LATER_COLUMNS,
    Head,
    answer_columns,
    chained,
    debit_columns,
    entry_of,
)
from noisycount.ledger.entries import ANALYST
from noisycount.ledger.exact import exact_value, optional_text

__all__ = [
    "LEDGER",
    "REPLIES",
    "RESTORE",
    "check_structure",
    "columns_of",
    "damaged",
    "is_made",
    "make",
    "refusals",
    "require_no_row",
    "unexpected_answer",
    "upgrade",
    "widen",
]

RESTORE = "restore it from a copy that holds every debit"
_TABLES = MetaData()

LEDGER = Table(
    "ledger",
    _TABLES,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("digest", Text, unique=True),
    *(Column(name, Text) for name in ("dataset", "analyst", "question", "epsilon")),
    *(Column(name, Text) for name in ("spent", "spent_rho", "analyst_spent", "analyst_rho")),
    Column("made", Text, nullable=False),
    Column("answer", Text),
    Column("previous", Text, nullable=False, unique=True),
    Column("hash", Text, nullable=False),
    *(Column(name, Text) for name in LATER_COLUMNS),
    Index("ledger_of_a_key", "key", "kind", unique=True),
)

# What a service replied; a ledger that no service asked has none.
REPLIES = Table(
    "replies",
    MetaData(),
    Column("name", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("reply", LargeBinary, nullable=False),
)

_NEEDED = {*COLUMNS, "hash"}
_IS_WHOLE = "ledger has all columns"  # what is remembered of a connection
_WIDENED_BY = "transaction that gave it columns"  # it may be rolled back

_SQLITE_GUARD = """
    CREATE TRIGGER ledger_refuses_{name} BEFORE {name} ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END
"""

_POSTGRESQL_FUNCTION = """
    CREATE FUNCTION ledger_refuses() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$
"""

_POSTGRESQL_GUARD = """
    CREATE TRIGGER ledger_refuses_{name} BEFORE {name} ON ledger
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuses()
"""

_OLDER = text(
    "SELECT debits.*, answers.answer AS answer FROM debits LEFT JOIN answers USING (key)"
    " ORDER BY number"
)


def is_made(connection: Connection) -> bool:
    """Whether a database holds a ledger."""
    return inspect(connection).has_table(LEDGER.name)


def make(connection: Connection) -> None:
    """Make the table in a database that has none."""
    _TABLES.create_all(connection, checkfirst=False)


def columns_of(connection: Connection) -> list[Column[Any]]:
    """The columns of the table, which an older ledger has not all; nobody drops one."""
    if connection.info.get(_IS_WHOLE):
        return list(LEDGER.columns)
    found = connection.exec_driver_sql("SELECT * FROM ledger LIMIT 0").keys()
    if missing := sorted(_NEEDED.difference(found)):
        raise LedgerError(f"the ledger has no column {missing[0]!r}; {RESTORE}")
    columns = [column for column in LEDGER.columns if column.name in found]
    is_whole = len(columns) == len(LEDGER.columns)
    is_lasting = connection.info.get(_WIDENED_BY) is not connection.get_transaction()
    connection.info[_IS_WHOLE] = is_whole and is_lasting
    return columns


def widen(connection: Connection, names: Sequence[str]) -> None:
    """Give the table of an older ledger columns that came later; its rows stay as they are."""
    found = {column.name for column in columns_of(connection)} if names else set()
    for name in names:
        if name not in found:
            connection.info[_WIDENED_BY] = connection.get_transaction()
            connection.exec_driver_sql(f"ALTER TABLE {LEDGER.name} ADD COLUMN {name} TEXT")


def upgrade(connection: Connection) -> bool:
    """Bring a ledger of the form without hashes into this one; tell whether it was one.

    Every debit and answer is kept, with its key, time and total. Who asked is unknown: all belong
    to the analyst of nobody's name.
    """
    tables = inspect(connection)
    if not (tables.has_table("debits") and tables.has_table("answers")):
        return False
    rows = list(_upgraded(connection.execute(_OLDER).all()))
    make(connection)
    if rows:
        connection.execute(insert(LEDGER), rows)
    for name in ("answers", "debits"):
        connection.exec_driver_sql(f"DROP TABLE {name}")
    return True


def damaged(number: int) -> LedgerError:
    """The refusal of a row that the ledger did not write."""
    return LedgerError(
        f"row {number} of the ledger is damaged; {RESTORE}; `noisycount ledger verify` tells what"
        " is wrong with it, and nothing is charged until then"
    )


def unexpected_answer(key: str) -> LedgerError:
    """The refusal of an answer that has not the form that its question asks for."""
    return LedgerError(
        f"key {key!r} of the ledger has an answer that is none to its question; {RESTORE}"
    )


@event.listens_for(LEDGER, "after_create")
def _make_append_only(_: Table, connection: Connection, **_options: object) -> None:
    """Let nobody change or delete a row of the table that was just made."""
    postgresql = connection.dialect.name == "postgresql"
    if postgresql:
        connection.exec_driver_sql(_POSTGRESQL_FUNCTION)
    guard = _POSTGRESQL_GUARD if postgresql else _SQLITE_GUARD
    for name in ("update", "delete", *(["truncate"] if postgresql else [])):
        connection.exec_driver_sql(guard.format(name=name))


def _upgraded(older: Sequence[Row[Any]]) -> Iterator[dict[str, Any]]:
    """The chain that holds what older rows held."""
    head, analyst, datasets = Head(), Loss(), dict[str, Loss]()
    for row in older:
        try:
            price = Loss.of(exact_value(row.epsilon))
            analyst += price
            spent = datasets.get(row.dataset, Loss()) + price
            totals = {
                "spent_rho": exact_text(spent.rho),
                "analyst": ANALYST,
                "analyst_spent": optional_text(analyst.epsilon),
                "analyst_rho": exact_text(analyst.rho),
            }
            entry = entry_of({**row._mapping, **totals}, row.answer)  # noqa: SLF001 - public name
            if entry.spent != spent:
                raise damaged(row.number)
        except ValueError:
            raise damaged(row.number) from None
        datasets[row.dataset] = spent
        kept: list[Mapping[str, str | None]] = [debit_columns(entry)]
        if entry.answer is not None:
            kept.append(answer_columns(entry.key, entry.answer, entry.made))
        for columns in kept:
            yield (made := chained(head, columns))
            head = Head(made["number"], made["hash"])


_ACCOUNT = "may not be used by this account; mend its permissions"
_BUSY = "is busy with other questions; wait and ask again"
_LOCKED = "is locked by another process; wait for it and ask again"
_READ_ONLY = "is read-only; make it writable"
_FULL = "has no room to grow; make room on the disk and ask again"
_DISK = "met a disk error; make room on the disk, or mend it, and ask again"
_DAMAGED = f"is damaged; {RESTORE}"
_UNKNOWN = "cannot be used; check that noisycount wrote it"
_NO_SERVER = "cannot be reached; check its address, its account, and that its server runs"
_DISTURBED = "was disturbed by another process or its server; ask again"

# By SQLite's primary result codes.
_SQLITE = {
    1: f"holds a ledger no more; {RESTORE}",
    3: _ACCOUNT,
    5: _LOCKED,
    6: _LOCKED,
    8: "is read-only; make the file and its folder writable",
    10: _DISK,
    11: _DAMAGED,
    13: _FULL,
    14: "cannot be opened; check that the file and its folder exist and may be used",
    23: _ACCOUNT,
    26: "is not a ledger; name another file",
}

# By PostgreSQL's error codes, or the two letters of their class.
_POSTGRESQL = {
    "08": _NO_SERVER,
    "25006": _READ_ONLY,
    "28": _ACCOUNT,
    "3D": "does not exist; make the database first",
    "42501": _ACCOUNT,
    "42P01": "holds no ledger; the first count makes it",
    "53100": _FULL,
    "53": "has a server that is busy; wait and ask again",
    "55P03": _LOCKED,
    "57": _DISTURBED,
    "58": _DISK,
    "40": _DISTURBED,
    "23505": _DISTURBED,
    "54": _DISK,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
    "XX000": _DISK,
}


@contextmanager
def refusals(place: str) -> Iterator[None]:
    """Replace what the database of a ledger says by one line that names the ledger."""
    try:
        yield
    except SQLAlchemyError as error:
        raise LedgerError(f"{place} {_reason(error)}") from None
    except UnicodeError:  # from the driver, which looks for the host before it connects
        raise LedgerError(f"{place} {_NO_SERVER}") from None
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise LedgerError(
            f"{place} cannot be used ({why}); check its name, its folder and its disk"
        ) from None


def _reason(error: SQLAlchemyError) -> str:
    """What a refusal means to the owner of the ledger, and what to do about it."""
    if not isinstance(error, DBAPIError):
        return _BUSY if isinstance(error, PoolTimeout) else _UNKNOWN
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return _SQLITE.get(code & 0xFF, _UNKNOWN)  # the rest is an extended code
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(error.orig, sqlite3.OperationalError):
        return _DAMAGED  # a text that Python, not SQLite, could not read
    if state is None:
        return _NO_SERVER if isinstance(error, OperationalError) else _UNKNOWN
    return _POSTGRESQL.get(state, _POSTGRESQL.get(state[:2], _UNKNOWN))


def require_no_row(known_head: Head | None) -> None:
    """The refusal of a ledger that is not there, though its owner wrote down a row of it."""
    if known_head is not None and known_head.number:
        raise LedgerError(
            f"there is no ledger, though row {known_head.number} was written down; {RESTORE}"
        )


def check_structure(connection: Connection, place: str) -> None:
    """Refuse a SQLite file whose pages, indexes or columns contradict each other or a ledger's.

    No hash covers them, and one byte of a page can hide the newest rows: the chain that is left is
    an intact one. A server looks after its files itself.
    """
    if connection.dialect.name != "sqlite":
        return
    if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() != "ok":
        raise LedgerError(f"{place} is damaged; {RESTORE}")
    for table in (LEDGER, REPLIES):
        kinds = {column.name: column.type.compile(connection.dialect) for column in table.columns}
        for _, name, kind, *_ in connection.exec_driver_sql(f"PRAGMA table_info({table.name})"):
            if kinds.get(name) != kind:
                raise LedgerError(
                    f"{place} has a column {name!r} of {kind!r}, as no ledger has; {RESTORE}"
                )
