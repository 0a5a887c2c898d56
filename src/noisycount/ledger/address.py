"""Where a ledger is, how it comes to be, and how one of an older form is brought into this one."""

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote, unquote

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, make_url, text
from sqlalchemy.exc import ArgumentError

from noisycount.errors import BY_THE_SERVICE, LedgerError, install_hint
from noisycount.frozen import frozen
from noisycount.ledger.budget import Loss
from noisycount.ledger.chain import answer_columns, chained, damaged, debit_columns, entry_of
from noisycount.ledger.entries import ANALYST, Head
from noisycount.ledger.storage import LEDGER, RESTORE, begin, configure_sqlite, follow_file, is_made, make, refusals
from noisycount.validation import exact_text, exact_value, optional_text, stat_or_none

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
        event.listen(engine, "connect", configure_sqlite)
        follow_file(engine, file)
        event.listen(engine, "begin", begin)
        return engine.execution_options(wait=float(self.wait))

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
            raise LedgerError(f"{self.place} needs the package psycopg; {install_hint('postgres')}") from None
        event.listen(engine, "begin", begin)
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
    folder, state = stat_or_none(file.parent), stat_or_none(file)
    if folder is None or not stat.S_ISDIR(folder.st_mode):
        raise LedgerError(f"ledger folder {str(file.parent)!r} does not exist; make it first")
    if state is not None and stat.S_ISREG(state.st_mode) and state.st_size == 0:
        raise LedgerError(
            f"{address.place} is empty, as no ledger is; {RESTORE}, or remove the file if nothing was asked yet"
        )
    if state is not None and not os.access(file, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise LedgerError(f"{address.place} is for its owner's account alone: {BY_THE_SERVICE}")
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
    with open(file, "xb", opener=partial(os.open, mode=_OWNER_ALONE)) as copy:
        copy.write(draft.read_bytes())
        copy.flush()
        os.fsync(copy.fileno())


def _remove_abandoned(file: Path) -> None:
    """Remove the drafts, and their journals, of makers that were killed."""
    stem = re.escape(file.name[:_LONGEST_PART])
    draft = re.compile(rf"{stem}\.[0-9a-f]{{16}}{re.escape(_ENDING)}(-journal)?")
    with suppress(OSError):  # an untidy folder is no reason to refuse
        for each in file.parent.iterdir():
            is_draft = draft.fullmatch(each.name) is not None
            if is_draft and each.stat().st_mtime + _ABANDONED < time.time():
                each.unlink()


_OLDER = text("SELECT debits.*, answers.answer AS answer FROM debits LEFT JOIN answers USING (key) ORDER BY number")


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


def _upgraded(older: Sequence[Any]) -> Iterator[dict[str, Any]]:
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


def require_no_row(known_head: Head | None) -> None:
    """The refusal of a ledger that is not there, though its owner wrote down a row of it."""
    if known_head is not None and known_head.number:
        raise LedgerError(f"there is no ledger, though row {known_head.number} was written down; {RESTORE}")
