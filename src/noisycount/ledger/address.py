"""Addresses of ledgers, creation of new ledgers, and the upgrade of ledgers of the older form.

`LedgerAddress` reads an address and connects to it, `make_file` makes a SQLite file, and `upgrade` adds hashes to rows.
"""

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote, unquote

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import ArgumentError

from noisycount.errors import BY_THE_SERVICE, LedgerError, install_hint
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import answer_columns, answer_of, damaged_row_error, debit_columns, debit_of
from noisycount.ledger.entries import ANALYST, Head
from noisycount.ledger.state import NO_LOSS, LedgerState
from noisycount.ledger.storage import (
    RESTORE,
    as_ledger_errors,
    begin,
    configure_sqlite,
    follow_file,
    is_made,
    make,
    write,
)
from noisycount.validation import exact_text, exact_value, optional_text, parse_url, stat_or_none

_WAIT = "30"
_SECONDS = r"[0-9]{1,6}(\.[0-9]{1,3})?"
_NAME = r"[^@?&=;:,]*"  # without the characters that part of a mistyped password or option would contain
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
    """Address of a ledger: a SQLite file or a PostgreSQL database."""

    url: URL  # the address with its options
    place: str  # name of the ledger in messages; it holds no password
    wait: str  # longest wait for a lock, in seconds, as text

    @classmethod
    def read(cls, text: str) -> "LedgerAddress":
        """Read an address from its text. Raise LedgerError, without a part of a password, if it is not an address."""
        url = _parsed_url(text)
        wait = str(url.query.get("timeout", _WAIT))
        if _is_file_url(url):
            return cls(url, f"ledger {url.database!r}", wait)
        if _is_database_url(url):
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
        raise LedgerError(f"ledger must {remedy}, got {_harmless_part(text)}")

    @property
    def file(self) -> Path | None:
        """File of a SQLite ledger; None for a PostgreSQL database."""
        if self.url.drivername != "sqlite":
            return None
        database = str(self.url.database)
        if "uri" not in self.url.query:
            return Path(database)
        return Path(unquote(re.sub(r"\Afile:(//(localhost)?(?=/))?", "", database)))

    @property
    def allows_new_ledger(self) -> bool:
        """True if the options of the address allow making a new ledger."""
        return self.url.query.get("mode", "rwc") == "rwc"

    def engine(self) -> Engine:
        """Return the SQLAlchemy engine of the ledger. Its connections make no file."""
        if self.file is None:
            return self._postgresql_engine()
        return self.sqlite_engine(self.file, "ro" if self.url.query.get("mode") == "ro" else "rw")

    def sqlite_engine(self, file: Path, mode: str) -> Engine:
        """Return the engine of a SQLite file. Mode `ro` reads, `rw` also writes, `rwc` also makes the file."""
        url = URL.create(
            "sqlite", database=f"file:{quote(str(file))}", query={"uri": "true", "mode": mode, "timeout": self.wait}
        )
        engine = create_engine(
            url,
            connect_args={"isolation_level": None},
            pool_timeout=float(self.wait),
            execution_options={"wait": float(self.wait)},
        )
        event.listen(engine, "connect", configure_sqlite)
        follow_file(engine, file)
        event.listen(engine, "begin", begin)
        return engine

    def _postgresql_engine(self) -> Engine:
        options = {name: value for name, value in self.url.query.items() if name != "timeout"}
        url = self.url.set(drivername="postgresql+psycopg", query={"connect_timeout": "10", **options})
        milliseconds = round(float(self.wait) * 1000)
        statements = {
            "begin": ("SET TRANSACTION READ ONLY",),
            "begin_writing": (
                "SET LOCAL synchronous_commit = 'on'",
                f"SET LOCAL lock_timeout = '{max(1, milliseconds)}ms'",
            ),
        }
        try:
            engine = create_engine(
                url,
                isolation_level="READ COMMITTED",  # each statement sees all transactions committed before it
                pool_pre_ping=True,
                pool_timeout=float(self.wait),
                connect_args={"prepare_threshold": None},
                hide_parameters=True,
                execution_options=statements,
            )
        except ImportError:
            raise LedgerError(f"{self.place} needs the package psycopg; {install_hint('postgres')}") from None
        event.listen(engine, "begin", begin)
        return engine


def _parsed_url(text: object) -> URL:
    """Return the parts of an address; if it cannot be parsed, a URL that names neither a file nor a database."""
    if isinstance(text, PurePath):
        written = "sqlite:///" if _harmless_part(str(text)) == _HIDDEN else f"sqlite:///{quote(str(text))}"
        raise LedgerError(f"ledger must be an address, got a path; write {written!r}")
    if isinstance(text, str) and text.isprintable():
        with suppress(ArgumentError, ValueError):
            return parse_url(text)
    return URL.create("unreadable")


def _harmless_part(text: object) -> str:
    """Return a part of a refused address that an error may show, because it cannot belong to a password."""
    if not isinstance(text, str):
        return f"a {type(text).__name__}"
    scheme = _SCHEME.match(text)
    if scheme is not None:
        return repr(scheme[0] if scheme[0] == text else f"{scheme[0]}...")
    return repr(text) if _PLAIN_FILE.fullmatch(text) else _HIDDEN


def _is_file_url(url: URL) -> bool:
    """Return True if an address names a SQLite file on disk, with known options only."""
    database = url.database or ":memory:"
    return (
        url.drivername == "sqlite"
        and not (url.host or url.port or url.username or url.password)
        and ":memory:" not in database
        and database.isprintable()
        and _are_options_valid(url.query, _SQLITE_OPTIONS)
        and ("uri" in url.query) >= ("mode" in url.query)
        and ("uri" in url.query) == database.startswith("file:")
    )


def _is_database_url(url: URL) -> bool:
    """Return True if an address names a PostgreSQL database, with known options only."""
    return (
        url.drivername in _POSTGRESQL_DRIVERS
        and bool(url.database)
        and str(url.database).isprintable()
        and re.fullmatch(_NAME, str(url.database)) is not None
        and re.fullmatch(_HOST, url.host or "") is not None
        and (url.port is None or 0 < url.port <= _LARGEST_PORT)
        and _are_options_valid(url.query, _POSTGRESQL_OPTIONS)
    )


def _are_options_valid(query: Mapping[str, object], options: Mapping[str, str]) -> bool:
    """Return True if every option of an address is known, is given once, and has a valid value."""
    return all(
        isinstance(value, str) and value.isprintable() and re.fullmatch(options.get(name, "(?!)"), value)
        for name, value in query.items()
    )


_LONGEST_PART = 40  # characters of the name of the ledger in that of its draft, which must not become too long
_ENDING = ".new"
_OWNER_ALONE = 0o600
_ABANDONED = 60  # seconds after which a draft is removed; writing one takes a fraction of a second
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


def make_file(address: LedgerAddress, file: Path, *, create: bool, known_head: Head | None = None) -> None:
    """Make the file of a ledger if it is missing and the address allows a new ledger.

    The file is written as a draft under another name, and gets its own name when it is complete. So an empty file is
    never a new ledger, but one that lost its rows.

    Raises:
        LedgerError: The file is missing, and `create` is False or the owner states a head; or the file is empty or
            unreadable, or its folder is missing.
    """
    with as_ledger_errors(address.place):
        is_there = _require_usable_file(address, file)
        if create and address.allows_new_ledger:
            _remove_abandoned_drafts(file)
        if is_there or not address.allows_new_ledger:
            return
    require_no_row(known_head)
    if not create:
        raise LedgerError(f"ledger {str(file)!r} does not exist; the first count makes it")
    draft = file.with_name(f"{file.name[:_LONGEST_PART]}.{secrets.token_hex(8)}{_ENDING}")
    try:
        with as_ledger_errors(address.place):
            _make_draft(address, draft)
            _publish_draft(draft, file)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _require_usable_file(address: LedgerAddress, file: Path) -> bool:
    """Return True if the file exists. Raise LedgerError if it is empty or unreadable, or if its folder is missing."""
    folder, state = stat_or_none(file.parent), stat_or_none(file)
    if folder is None or not stat.S_ISDIR(folder.st_mode):
        raise LedgerError(f"ledger folder {str(file.parent)!r} does not exist; make it first")
    if state is not None and stat.S_ISREG(state.st_mode) and state.st_size == 0:
        raise LedgerError(
            f"{address.place} is empty, and a ledger never is; {RESTORE}, or remove the file if nothing was asked yet"
        )
    if state is not None and not os.access(file, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise LedgerError(f"{address.place} may be opened only by the account that owns it: {BY_THE_SERVICE}")
    return state is not None


def check_server(connection: Connection, place: str) -> None:
    """Raise LedgerError if a PostgreSQL server may lose committed rows (`fsync`) or cannot store every text (UTF-8)."""
    if connection.dialect.name != "postgresql":
        return
    for setting, needed in (("fsync", "on"), ("server_encoding", "UTF8")):
        value = connection.exec_driver_sql(f"SHOW {setting}").scalar_one()
        if value != needed:
            raise LedgerError(f"{place} has a server whose {setting} is {value!r}; set it to {needed!r}")


def make_table(connection: Connection, place: str) -> None:
    """Make the table of a ledger in a PostgreSQL database, or upgrade a SQLite file of the older form.

    Does nothing if the table exists. Raise LedgerError if a SQLite file is not a ledger.
    """
    if is_made(connection):
        return
    if connection.dialect.name != "sqlite":
        make(connection)
    elif not upgrade(connection):
        raise LedgerError(f"{place} is not a ledger; name another file")


def _make_draft(address: LedgerAddress, draft: Path) -> None:
    """Make a ledger without rows that only its owner may read. Its journal has the same permissions."""
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL, _OWNER_ALONE))
    engine = address.sqlite_engine(draft, "rwc").execution_options(writing=True)
    try:
        with engine.begin() as connection:
            make(connection)
    finally:
        engine.dispose()


def _publish_draft(draft: Path, file: Path) -> None:
    """Give a draft the name of the ledger, unless another process has made that file first."""
    with suppress(FileExistsError):
        try:
            os.link(draft, file)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _copy_draft(draft, file)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _copy_draft(draft: Path, file: Path) -> None:
    """Copy a draft to the name of the ledger, for file systems without hard links."""
    with open(file, "xb", opener=partial(os.open, mode=_OWNER_ALONE)) as copy:
        copy.write(draft.read_bytes())
        copy.flush()
        os.fsync(copy.fileno())


def _remove_abandoned_drafts(file: Path) -> None:
    """Remove drafts, and their journals, of processes that were killed while they made a ledger."""
    stem = re.escape(file.name[:_LONGEST_PART])
    draft = re.compile(rf"{stem}\.[0-9a-f]{{16}}{re.escape(_ENDING)}(-journal)?")
    with suppress(OSError):  # drafts that cannot be removed do no harm
        for path in file.parent.iterdir():
            is_draft = draft.fullmatch(path.name) is not None
            if is_draft and path.stat().st_mtime + _ABANDONED < time.time():
                path.unlink()


_OLDER = text("SELECT debits.*, answers.answer AS answer FROM debits LEFT JOIN answers USING (key) ORDER BY number")


def upgrade(connection: Connection) -> bool:
    """Upgrade a ledger of the older form, without hashes, and return True; return False if it has another form.

    Every debit and answer keeps its key, time and total. The older form does not name the analyst: all debits are
    assigned to the default analyst, `ANALYST`.
    """
    tables = inspect(connection)
    if not (tables.has_table("debits") and tables.has_table("answers")):
        return False
    state = LedgerState()
    for row in connection.execute(_OLDER).all():
        try:
            _append_older_row(state, row)
        except (ValueError, LedgerError):
            raise damaged_row_error(row.number) from None
    make(connection)
    write(connection, state.unwritten)
    for name in ("answers", "debits"):
        connection.exec_driver_sql(f"DROP TABLE {name}")
    return True


def _append_older_row(state: LedgerState, row: Any) -> None:  # noqa: ANN401 - a row of SQLAlchemy
    """Append a debit of the older form to the state of the present form, and its answer if it has one."""
    price = Loss.from_epsilon(exact_value(row.epsilon))
    spent, analyst_spent = (
        state.datasets.get(row.dataset, NO_LOSS) + price,
        state.analysts.get(ANALYST, NO_LOSS) + price,
    )
    totals = {
        "spent_rho": exact_text(spent.rho),
        "analyst": ANALYST,
        "analyst_spent": optional_text(analyst_spent.epsilon),
        "analyst_rho": exact_text(analyst_spent.rho),
    }
    entry = debit_of({**row._mapping, **totals})  # noqa: SLF001 - public name
    state.append(debit_columns(entry), entry)
    if row.answer is not None:
        state.append(answer_columns(entry.key, answer_of(row.answer), entry.made))


def require_no_row(known_head: Head | None) -> None:
    """Raise LedgerError if a missing ledger must hold a row, as its owner states a head with a number above 0."""
    if known_head is not None and known_head.number:
        raise LedgerError(f"there is no ledger, though the stated head is row {known_head.number}; {RESTORE}")
