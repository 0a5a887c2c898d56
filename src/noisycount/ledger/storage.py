"""Tables of a ledger in SQLite and PostgreSQL.

The functions here make the tables, read and write rows, begin transactions, and turn database errors into LedgerError.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from noisycount.errors import LedgerError

RESTORE = "restore it from a copy that holds every debit (Back up, restore, monitor: noisycount docs how-to/backup)"
Row = Mapping[str, Any]
# Columns that the hash of every row covers: all of the first form except the hash itself.
COLUMNS = (
    *("number", "kind", "key", "digest", "dataset", "analyst", "question", "epsilon"),
    *("spent", "spent_rho", "analyst_spent", "analyst_rho", "made", "answer", "previous"),
)
# Columns of a later form, which the hash also covers if the row has a value in one of them.
PRICE_COLUMNS = ("rho", "delta", "spent_delta", "analyst_delta")
# Columns that the hash also covers if the row has a purpose. Tables of older ledgers lack some of these columns.
LATER_COLUMNS = (*PRICE_COLUMNS, "purpose")

_TABLES = sa.MetaData()
_AT_ONCE = 20  # rows that are fetched together: few, as each may hold a table of a million counts
_WRITTEN_AT_ONCE = 40  # rows in a statement: older versions of SQLite take at most 999 values

_SCANS = ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan")  # PostgreSQL's scans that read an index

LEDGER = sa.Table(
    "ledger",
    _TABLES,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, unique=True),
    *(sa.Column(name, sa.Text) for name in ("dataset", "analyst", "question", "epsilon")),
    *(sa.Column(name, sa.Text) for name in ("spent", "spent_rho", "analyst_spent", "analyst_rho")),
    sa.Column("made", sa.Text, nullable=False),
    sa.Column("answer", sa.Text),
    sa.Column("previous", sa.Text, nullable=False, unique=True),
    sa.Column("hash", sa.Text, nullable=False),
    *(sa.Column(name, sa.Text) for name in LATER_COLUMNS),
    sa.Index("ledger_of_a_key", "key", "kind", unique=True),
)


class _Bytes(sa.LargeBinary):
    """Bytes as the driver returns them. SQLAlchemy before 2.0.40 fails at a text, which a damaged row may hold."""

    cache_ok = True

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> None:
        """Convert no value."""


# Replies of a service. A ledger that no service has used has no such table.
REPLIES = sa.Table(
    "replies",
    sa.MetaData(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("reply", _Bytes, nullable=False),
)

_NEEDED = {*COLUMNS, "hash"}
_IS_WHOLE = "ledger has all columns"  # a key of `connection.info`
HAS_WAITED = "another process had the lock"
_RETRY = 0.001  # seconds from one attempt to lock a file to the next
_WIDENED_BY = "transaction that gave it columns"  # while this transaction runs, the columns may be rolled back

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


def is_made(connection: sa.Connection) -> bool:
    """Return True if a database holds a ledger."""
    return sa.inspect(connection).has_table(LEDGER.name)


def make(connection: sa.Connection) -> None:
    """Create the table of the ledger, append-only, in a database that has none."""
    _TABLES.create_all(connection, checkfirst=False)


def columns_of(connection: sa.Connection) -> list[sa.Column[Any]]:
    """Return the columns of the ledger's table. An older ledger lacks some of the later columns.

    Raise LedgerError if a column is missing that every ledger has.
    """
    if connection.info.get(_IS_WHOLE):
        return list(LEDGER.columns)
    names = connection.exec_driver_sql("SELECT * FROM ledger LIMIT 0").keys()
    if missing := sorted(_NEEDED.difference(names)):
        raise LedgerError(f"the ledger has no column {missing[0]!r}; {RESTORE}")
    columns = [column for column in LEDGER.columns if column.name in names]
    is_whole = len(columns) == len(LEDGER.columns)
    is_lasting = connection.info.get(_WIDENED_BY) is not connection.get_transaction()
    connection.info[_IS_WHOLE] = is_whole and is_lasting
    return columns


def add_missing_columns(connection: sa.Connection, names: Sequence[str]) -> None:
    """Add the named later columns to the table of an older ledger, if they are missing. Its rows stay unchanged."""
    present_names = {column.name for column in columns_of(connection)} if names else set()
    for name in names:
        if name not in present_names:
            connection.info[_WIDENED_BY] = connection.get_transaction()
            connection.exec_driver_sql(f"ALTER TABLE {LEDGER.name} ADD COLUMN {name} TEXT")


def unexpected_answer(key: str) -> LedgerError:
    """Return the error for an answer that is a count where the question asks for a table, or the other way round."""
    return LedgerError(f"key {key!r} of the ledger has an answer that does not fit its question; {RESTORE}")


@sa.event.listens_for(LEDGER, "after_create")
def _make_append_only(_: sa.Table, connection: sa.Connection, **_options: object) -> None:
    """Add triggers to the new table that refuse every change and deletion of rows."""
    postgresql = connection.dialect.name == "postgresql"
    if postgresql:
        connection.exec_driver_sql(_POSTGRESQL_FUNCTION)
    guard = _POSTGRESQL_GUARD if postgresql else _SQLITE_GUARD
    for name in ("update", "delete", *(["truncate"] if postgresql else [])):
        connection.exec_driver_sql(guard.format(name=name))


def check_structure(connection: sa.Connection, place: str) -> None:
    """Raise LedgerError if the pages or indexes of a SQLite file are damaged, or its columns are not those of a ledger.

    No hash covers pages and indexes. One changed byte of a page can hide the newest rows, and the rest of the chain
    still looks intact. A PostgreSQL server checks its own files.
    """
    if connection.dialect.name != "sqlite":
        return
    if connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() != "ok":
        raise LedgerError(f"{place} is damaged; {RESTORE}")
    check_columns(connection, place)


def check_columns(connection: sa.Connection, place: str) -> None:
    """Raise LedgerError if the columns of a SQLite file are not those of a ledger. Reads no row."""
    if connection.dialect.name != "sqlite":
        return
    for table in (LEDGER, REPLIES):
        kinds = {column.name: column.type.compile(connection.dialect) for column in table.columns}
        for _, name, kind, *_ in connection.exec_driver_sql(f"PRAGMA table_info({table.name})"):
            if kinds.get(name) != kind:
                raise LedgerError(f"{place} has a column {name!r} of {kind!r}, which no ledger has; {RESTORE}")


@contextmanager
def all_rows(connection: sa.Connection, first: int = 1) -> Iterator[Iterator[Row]]:
    """Yield the stored rows from a number on, oldest first, read from the table itself and not through an index.

    SQLite keeps the table in the order of the numbers. For PostgreSQL index scans are switched off, so that it sorts.
    """
    is_on_server = connection.dialect.name == "postgresql"
    for scan in _SCANS if is_on_server else ():
        connection.exec_driver_sql(f"SET LOCAL {scan} = off")
    query = sa.select(*columns_of(connection)).order_by(LEDGER.c.number)
    if first > 1:
        query = query.where(LEDGER.c.number >= first)
    with connection.execute(query.execution_options(yield_per=_AT_ONCE)) as rows:
        names = list(rows.keys())
        yield (dict(zip(names, row, strict=True)) for row in rows)  # in half the time of the mappings of SQLAlchemy
    for scan in _SCANS if is_on_server else ():
        connection.exec_driver_sql(f"SET LOCAL {scan} = DEFAULT")


def newest_number(connection: sa.Connection) -> int:
    """Return the number of the newest row; 0 if there is none."""
    ((number,),) = execute(connection, "SELECT max(number) FROM ledger")
    if not isinstance(number, int | None):  # a damaged schema of SQLite reads another column
        raise LedgerError(f"the ledger {_DAMAGED}")
    return number or 0


def has_follower(connection: sa.Connection, row_hash: str) -> bool:
    """Return True if a row follows the row with a hash. Searches the index of the column `previous`.

    A damaged page of the table can hide the newest rows, but does not remove their entries in the index.
    """
    query = "SELECT number FROM ledger WHERE previous = {mark} LIMIT 1"
    return bool([*execute(connection, query, [row_hash])])


def row_at(connection: sa.Connection, number: int) -> Row | None:
    """Return the stored row with a number, or None if there is none."""
    return next(_rows(connection, "= {mark}", number), None)


def rows_from(connection: sa.Connection, number: int) -> Iterator[Row]:
    """Yield the row with a number and all later rows, oldest first."""
    return _rows(connection, ">= {mark} ORDER BY ledger.number", number)


def later_columns(row: Row) -> tuple[str, ...]:
    """Return the later columns that the hash of a row covers: up to the last group in which the row has a value.

    The number of the hashed items differs between the forms, so that rows of two forms never hash the same items.
    """
    if row.get("purpose") is not None:
        return LATER_COLUMNS
    if {*map(row.get, PRICE_COLUMNS)} != {None}:
        return PRICE_COLUMNS
    return ()


def write(connection: sa.Connection, unwritten: Sequence[Row], replies: Sequence[Sequence[object]] = ()) -> None:
    """Insert new rows into the table of the ledger, and rows into the table of replies.

    Later columns are added to an older table only if a row has a value in them.
    """
    if unwritten:
        add_missing_columns(connection, list(dict.fromkeys(chain.from_iterable(map(later_columns, unwritten)))))
        names = [column.name for column in columns_of(connection)]
        _insert_rows(connection, LEDGER.name, names, list(map(itemgetter(*names), unwritten)))
    _insert_rows(connection, REPLIES.name, REPLIES.c.keys(), replies)


def _insert_rows(
    connection: sa.Connection, table: str, names: Sequence[str], unwritten: Sequence[Sequence[object]]
) -> None:
    """Insert rows, many in one statement, because each statement makes this thread wait for other threads."""
    marks = f"({', '.join(['{mark}'] * len(names))})"
    for first in range(0, len(unwritten), _WRITTEN_AT_ONCE):
        rows = unwritten[first : first + _WRITTEN_AT_ONCE]
        query = (
            f"INSERT INTO {table} ({', '.join(names)})"  # noqa: S608 - names of our own
            f" VALUES {', '.join([marks] * len(rows))}"
        )
        execute(connection, query, list(chain.from_iterable(rows)))


def _rows(connection: sa.Connection, which: str, number: int) -> Iterator[Row]:
    names = [column.name for column in columns_of(connection)]
    query = f"SELECT ledger.{', ledger.'.join(names)} FROM ledger WHERE ledger.number {which}"  # noqa: S608 - our names
    return (dict(zip(names, row, strict=True)) for row in execute(connection, query, [number]))


def execute(
    connection: sa.Connection, statement: str, values: Sequence[object] = ()
) -> sqlite3.Cursor | sa.CursorResult[Any]:
    """Execute a statement with a `{mark}` for each value, and return its rows, which also state their number.

    The statement is not compiled, and for SQLite the driver itself executes it: SQLAlchemy takes longer to describe the
    columns than to read a row.
    """
    if connection.dialect.name != "sqlite":
        return connection.exec_driver_sql(statement.replace("{mark}", "%s"), tuple(values))
    driver: Any = connection.connection.driver_connection
    rows: sqlite3.Cursor = driver.execute(statement.replace("{mark}", "?"), values)
    return rows


def configure_sqlite(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    """Make every commit survive a power cut. The write-ahead log of many versions of SQLite does not."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = DELETE")
    cursor.execute("PRAGMA synchronous = EXTRA")
    cursor.close()


def follow_file(engine: sa.Engine, file: Path) -> None:
    """Reconnect if another file has replaced the file that a connection opened."""

    def remember(_: DBAPIConnection, record: ConnectionPoolEntry) -> None:
        record.info["file"] = _file_identity(file)

    def compare(_: DBAPIConnection, record: ConnectionPoolEntry, __: object) -> None:
        if record.info["file"] != _file_identity(file):
            raise DisconnectionError

    sa.event.listen(engine, "connect", remember)
    sa.event.listen(engine, "checkout", compare)


def _file_identity(file: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file, which differ if the file was replaced; None if there is no file."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def begin(connection: sa.Connection) -> None:
    """Begin a transaction. A transaction that will write to SQLite takes the lock before it reads."""
    options = connection.get_execution_options()
    if connection.dialect.name != "sqlite":
        statements = options["begin_writing" if options.get("writing") else "begin"]
        connection.exec_driver_sql("; ".join(statements))  # one message saves round trips to the server
    elif options.get("writing"):
        connection.info[HAS_WAITED] = _lock_file(connection, options["wait"])
    else:
        execute(connection, "BEGIN")


def _lock_file(connection: sa.Connection, seconds: float) -> bool:
    """Take the write lock of a SQLite file, waiting up to some seconds; return True if it had to wait.

    SQLite itself sleeps ever longer between attempts, up to a tenth of a second. A process that writes without a pause
    would then keep all others waiting for seconds.
    """
    until, has_waited = time.monotonic() + seconds, False
    execute(connection, "PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                execute(connection, "BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                has_waited = True
                time.sleep(_RETRY)
            else:
                return has_waited
    finally:
        execute(connection, f"PRAGMA busy_timeout = {round(1000 * seconds)}")


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
# Ends of messages by primary result code of SQLite.
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
# Ends of messages by error code of PostgreSQL, or by the first two characters: the class of the code.
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
def as_ledger_errors(place: str) -> Iterator[None]:
    """Replace errors of the database and of the file system in a block by a LedgerError that names the ledger."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise LedgerError(f"{place} {_error_meaning(error)}") from None
    except UnicodeError:  # raised by the driver for the name of a host
        raise LedgerError(f"{place} {_NO_SERVER}") from None
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise LedgerError(f"{place} cannot be used ({why}); check its name, its folder and its disk") from None


def _error_meaning(error: SQLAlchemyError | sqlite3.Error) -> str:
    """Return the meaning of a database error for the owner of the ledger, with the remedy."""
    refusal = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(refusal, SQLAlchemyError):
        return _BUSY if isinstance(refusal, PoolTimeout) else _UNKNOWN
    code = getattr(refusal, "sqlite_errorcode", None)
    if code is not None:
        return _SQLITE.get(code & 0xFF, _UNKNOWN)  # the low byte is the primary code
    state = getattr(refusal, "sqlstate", None)
    if isinstance(refusal, sqlite3.OperationalError):
        return _DAMAGED  # without a code of SQLite: Python could not decode a text
    if state is None:
        return _NO_SERVER if isinstance(error, OperationalError) else _UNKNOWN
    return _POSTGRESQL.get(state, _POSTGRESQL.get(state[:2], _UNKNOWN))
