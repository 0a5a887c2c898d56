"""Where a ledger is, how it is connected to, and how it comes to be.

What a database says when it refuses, in one line of ours.
"""

import errno
import os
import re
import secrets
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from urllib.parse import quote, unquote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from noisycount.errors import LedgerError, extra_words
from noisycount.frozen import frozen
from noisycount.ledger.chain import RESTORE, Head
from noisycount.ledger.storage import is_made, make, require_no_row, upgrade
from noisycount.validation import state_at

_WAIT = "30"
_SECONDS = r"[0-9]{1,6}(\.[0-9]{1,3})?"
_NAME = r"[^@?&=;:,]*"  # no character that a mistyped password or option could bring along
_HOST = rf"({_NAME}|[0-9a-fA-F.]*(:[0-9a-fA-F.]*){{2,7}}(%\w+)?)"
_SQLITE_OPTIONS = {"timeout": _SECONDS, "uri": "true", "mode": "ro|rw|rwc"}

_POSTGRESQL_OPTIONS = {
    "timeout": _SECONDS,
    "connect_timeout": "[0-9]{1,4}",
    "host": rf"{_HOST}(,{_HOST})*",
    "port": "[0-9]{1,5}",
    "sslmode": "disable|allow|prefer|require|verify-ca|verify-full",
    **dict.fromkeys(("sslrootcert", "sslcert", "sslkey", "passfile"), ".+"),
}

_SCHEME = re.compile(r"[A-Za-z][\w+.-]{,30}://")
_PLAIN_FILE = re.compile(r"[\w./\\+~-]{,100}")
_HIDDEN = "what is not shown, as it may hold a password"
_POSTGRESQL_DRIVERS = ("postgresql", "postgresql+psycopg")
_LARGEST_PORT = 65535


@frozen
class LedgerAddress:
    """Where a ledger is."""

    url: URL  # with the options that its driver takes
    place: str  # what messages call the ledger; no password
    wait: str  # how many seconds a lock is waited for

    @classmethod
    def read(cls, text: str) -> "LedgerAddress":
        """The address that a text denotes."""
        url = _url(text)
        wait = str(url.query.get("timeout", _WAIT))
        if _names_a_file(url):
            return cls(url, f"ledger {url.database!r}", wait)
        if _names_a_database(url):
            host = url.host or url.query.get("host") or "localhost"
            return cls(url, f"ledger {f'{host}/{url.database}'!r}", wait)
        if "@" in f"{url.host}{url.database}":
            remedy = "have no @ in its host or its name; write an @ of a password as %40"
        else:
            remedy = (
                "be a file, such as sqlite:///ledger.db, or a PostgreSQL database, such as"
                " postgresql+psycopg://user@host/name"
            )
            if url.query:
                options = _SQLITE_OPTIONS if url.drivername == "sqlite" else _POSTGRESQL_OPTIONS
                remedy += f", with no option but {', '.join(options)}, once each and well-formed"
        raise LedgerError(f"ledger must {remedy}, got {_shown(text)}")

    @property
    def file(self) -> Path | None:
        """The file of a SQLite ledger, None for a server."""
        if self.url.drivername != "sqlite":
            return None
        database = str(self.url.database)
        if "uri" not in self.url.query:
            return Path(database)
        return Path(unquote(re.sub(r"\Afile:(//(localhost)?(?=/))?", "", database)))

    @property
    def writable(self) -> bool:
        """Whether the address allows to make a ledger where there is none."""
        return self.url.query.get("mode", "rwc") == "rwc"

    def engine(self) -> Engine:
        """The connections to a ledger; they make no file."""
        if self.file is None:
            return self._postgresql_engine()
        return self.sqlite_engine(self.file, "ro" if self.url.query.get("mode") == "ro" else "rw")

    def sqlite_engine(self, file: Path, mode: str) -> Engine:
        """The connections to a SQLite file: `ro` reads, `rw` also writes, `rwc` also makes."""
        url = URL.create(
            "sqlite", database=f"file:{quote(str(file))}", query={"uri": "true", "mode": mode, "timeout": self.wait}
        )
        engine = create_engine(url, connect_args={"isolation_level": None}, pool_timeout=float(self.wait))
        event.listen(engine, "connect", _configure_sqlite)
        _follow(engine, file)
        event.listen(engine, "begin", _begin)
        return engine.execution_options(begin=("BEGIN",), begin_writing=("BEGIN IMMEDIATE",))

    def _postgresql_engine(self) -> Engine:
        options = {name: value for name, value in self.url.query.items() if name != "timeout"}
        url = self.url.set(drivername="postgresql+psycopg", query={"connect_timeout": "10", **options})
        try:
            engine = create_engine(
                url,
                isolation_level="READ COMMITTED",  # each statement sees what was committed before
                pool_pre_ping=True,
                pool_timeout=float(self.wait),
                connect_args={"prepare_threshold": None},
                hide_parameters=True,
            )
        except ImportError:
            raise LedgerError(f"{self.place} needs the package psycopg; {extra_words('postgres')}") from None
        event.listen(engine, "begin", _begin)
        milliseconds = round(float(self.wait) * 1000)
        return engine.execution_options(
            begin=("SET TRANSACTION READ ONLY",),
            begin_writing=(
                "SET LOCAL synchronous_commit = 'on'",
                f"SET LOCAL lock_timeout = '{max(1, milliseconds)}ms'",
            ),
        )


def _url(text: object) -> URL:
    """The parts of an address; of what has none, parts that name nothing."""
    if isinstance(text, PurePath):
        written = "sqlite:///" if _shown(str(text)) == _HIDDEN else f"sqlite:///{quote(str(text))}"
        raise LedgerError(f"ledger must be an address, got a path; write {written!r}")
    if isinstance(text, str) and text.isprintable():
        with suppress(ArgumentError, ValueError):
            return make_url(text)
    return URL.create("unreadable")


def _shown(text: object) -> str:
    """What may be shown of a refused address: nothing that could be part of a password."""
    if not isinstance(text, str):
        return f"a {type(text).__name__}"
    scheme = _SCHEME.match(text)
    if scheme is not None:
        return repr(scheme[0] if scheme[0] == text else f"{scheme[0]}...")
    return repr(text) if _PLAIN_FILE.fullmatch(text) else _HIDDEN


def _names_a_file(url: URL) -> bool:
    """Whether an address is a SQLite file's, with no option that could lose a debit."""
    database = url.database or ":memory:"
    return (
        url.drivername == "sqlite"
        and not (url.host or url.port or url.username or url.password)
        and ":memory:" not in database
        and database.isprintable()
        and _allowed(url.query, _SQLITE_OPTIONS)
        and ("uri" in url.query) >= ("mode" in url.query)
        and ("uri" in url.query) == database.startswith("file:")
    )


def _names_a_database(url: URL) -> bool:
    """Whether an address is a PostgreSQL database's, with no option that we do not know."""
    return (
        url.drivername in _POSTGRESQL_DRIVERS
        and bool(url.database)
        and str(url.database).isprintable()
        and re.fullmatch(_NAME, str(url.database)) is not None
        and re.fullmatch(_HOST, url.host or "") is not None
        and (url.port is None or 0 < url.port <= _LARGEST_PORT)
        and _allowed(url.query, _POSTGRESQL_OPTIONS)
    )


def _allowed(query: Mapping[str, object], options: Mapping[str, str]) -> bool:
    """Whether every option of an address is known, given once, and has a value it may have."""
    return all(
        isinstance(value, str) and value.isprintable() and re.fullmatch(options.get(name, "(?!)"), value)
        for name, value in query.items()
    )


def _configure_sqlite(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    """Make every commit outlast a power cut; the write-ahead log of many SQLites does not."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = DELETE")
    cursor.execute("PRAGMA synchronous = EXTRA")
    cursor.close()


def _follow(engine: Engine, file: Path) -> None:
    """Connect again where another file took the place of the one that was opened."""

    def remember(_: DBAPIConnection, record: ConnectionPoolEntry) -> None:
        record.info["file"] = _identity(file)

    def compare(_: DBAPIConnection, record: ConnectionPoolEntry, __: object) -> None:
        if record.info["file"] != _identity(file):
            raise DisconnectionError

    event.listen(engine, "connect", remember)
    event.listen(engine, "checkout", compare)


def _identity(file: Path) -> tuple[int, int] | None:
    """What tells one file from another of its name; None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _begin(connection: Connection) -> None:
    """Begin a transaction; one that will write to SQLite takes the lock before it reads."""
    options = connection.get_execution_options()
    statements = options["begin_writing" if options.get("writing") else "begin"]
    connection.exec_driver_sql("; ".join(statements))  # one message: a server may be far


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
        raise LedgerError(f"{place} cannot be used ({why}); check its name, its folder and its disk") from None


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


_LONGEST_PART = 40  # of the ledger's name in the draft's, which may then be no longer than others
_ENDING = ".new"
_OWNER_ALONE = 0o600
_ABANDONED = 60  # seconds: a draft is written in a fraction of one
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


def make_file(address: LedgerAddress, file: Path, *, create: bool, known_head: Head | None = None) -> None:
    """Make the file of a ledger if there is none and there shall be one.

    The file is made under another name and appears under its own when it is whole: so an empty
    file is never a new ledger, but one that lost what it held.
    """
    with refusals(address.place):
        is_there = _is_there(address, file)
        if create and address.writable:
            _remove_abandoned(file)
        if is_there or not address.writable:
            return
    require_no_row(known_head)
    if not create:
        raise LedgerError(f"ledger {str(file)!r} does not exist; the first count makes it")
    draft = file.with_name(f"{file.name[:_LONGEST_PART]}.{secrets.token_hex(8)}{_ENDING}")
    try:
        with refusals(address.place):
            _make_draft(address, draft)
            _publish(draft, file)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _is_there(address: LedgerAddress, file: Path) -> bool:
    """Whether there is a file, which is not empty, or only the folder for one."""
    folder, state = state_at(file.parent), state_at(file)
    if folder is None or not stat.S_ISDIR(folder.st_mode):
        raise LedgerError(f"ledger folder {str(file.parent)!r} does not exist; make it first")
    if state is not None and stat.S_ISREG(state.st_mode) and state.st_size == 0:
        raise LedgerError(
            f"{address.place} is empty, as no ledger is; {RESTORE}, or remove the file if nothing was asked yet"
        )
    return state is not None


def check_server(connection: Connection, place: str) -> None:
    """Refuse a PostgreSQL server that may lose what it acknowledges or cannot hold every text."""
    if connection.dialect.name != "postgresql":
        return
    for setting, needed in (("fsync", "on"), ("server_encoding", "UTF8")):
        found = connection.exec_driver_sql(f"SHOW {setting}").scalar_one()
        if found != needed:
            raise LedgerError(f"{place} has a server whose {setting} is {found!r}; set it to {needed!r}")


def make_table(connection: Connection, place: str) -> None:
    """Make the table on a server that has none, or bring an older file into this form."""
    if is_made(connection):
        return
    if connection.dialect.name != "sqlite":
        make(connection)
    elif not upgrade(connection):
        raise LedgerError(f"{place} is not a ledger; name another file")


def _make_draft(address: LedgerAddress, draft: Path) -> None:
    """Make a ledger without rows, for its owner's eyes alone; its journal is made like it."""
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL, _OWNER_ALONE))
    engine = address.sqlite_engine(draft, "rwc").execution_options(writing=True)
    try:
        with engine.begin() as connection:
            make(connection)
    finally:
        engine.dispose()


def _publish(draft: Path, file: Path) -> None:
    """Give a file its own name, unless another process was quicker."""
    with suppress(FileExistsError):
        try:
            os.link(draft, file)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _copy(draft, file)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _copy(draft: Path, file: Path) -> None:
    """Write a file of the same content, where the disk knows no second names."""
    with open(file, "xb", opener=_owned) as copy:
        copy.write(draft.read_bytes())
        copy.flush()
        os.fsync(copy.fileno())


def _owned(path: str, flags: int) -> int:
    """A descriptor of a file that its owner alone may read and write."""
    return os.open(path, flags, _OWNER_ALONE)


def _remove_abandoned(file: Path) -> None:
    """Remove the drafts, and their journals, of makers that were killed."""
    stem = re.escape(file.name[:_LONGEST_PART])
    draft = re.compile(rf"{stem}\.[0-9a-f]{{16}}{re.escape(_ENDING)}(-journal)?")
    with suppress(OSError):  # an untidy folder is no reason to refuse
        for each in file.parent.iterdir():
            is_draft = draft.fullmatch(each.name) is not None
            if is_draft and each.stat().st_mtime + _ABANDONED < time.time():
                each.unlink()
