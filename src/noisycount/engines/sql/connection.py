"""Read-only transactions on an SQL server, with a time-out, and refusals in place of the server's errors.

Errors of a server may quote records, so their text is never shown.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from threading import Lock
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine, NullPool, Pool, create_engine
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, NoSuchTableError

from noisycount.engines.places import ServerPlace
from noisycount.engines.sql import dialect as dialects
from noisycount.engines.sql.postgresql import PostgreSQL
from noisycount.errors import SourceError, install_hint
from noisycount.frozen import frozen
from noisycount.validation import parse_url

Result = TypeVar("Result")
UNREACHED = "cannot be reached: check that its server runs, and the address, the account and its password"
_UNREADABLE = (
    "may not be read by this account: let its owner grant USAGE of its schema, and SELECT of the "
    "columns that questions use and of the unit"
)
_NOT_FOUND = "does not exist: check the name of the table, and of its schema"
_TIMED_OUT = "was not counted in time: state a longer timeout, or ask when the server is less busy"
_CHANGED = "has changed its columns since it was opened: open it again"
_FAILED = "could not be counted; the reason is withheld, as it may quote a record: see the log of the server"
_STATES = {
    **dict.fromkeys(["08", "28", "3D", "57P", "53300"], UNREACHED),
    **dict.fromkeys(["42P01", "3F000"], _NOT_FOUND),
    **dict.fromkeys(["57014", "55P03", "25P03"], _TIMED_OUT),
    "42501": _UNREADABLE,
    "42703": _CHANGED,
}
"""Reasons by SQLSTATE, or by the characters with which it begins."""


def without_server_errors(shown: str, work: Callable[[], Result], denied: str | None = None) -> Result:
    """Run some work and return its result.

    This is no context manager: its refusal would keep the server's error as its context.

    Args:
        shown: The name of the records in messages.
        work: The work.
        denied: The reason if the account lacks a right; None: that it may not read the table.

    Raises:
        SourceError: If the work fails. The message has no part of the server's error.
    """
    try:
        return work()
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - drivers raise errors of any class, which may quote cells
        reason = _failure_reason(error)
    if denied is not None and reason is _UNREADABLE:
        reason = denied
    raise SourceError(f"{shown!r} {reason}")


def _failure_reason(error: Exception) -> str:
    if isinstance(error, NoSuchTableError):
        return _NOT_FOUND
    if isinstance(error, OSError | UnicodeError):  # an unknown host
        return UNREACHED
    if not isinstance(error, DBAPIError):
        return _FAILED
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return UNREACHED if error.connection_invalidated or _is_lost(error) else _FAILED
    reasons = (_STATES.get(state[:length]) for length in (5, 3, 2))
    return next((reason for reason in reasons if reason), _FAILED)


def _is_lost(error: DBAPIError) -> bool:
    """Return True if the connection is lost. An operational error has no SQLSTATE only in this case."""
    return type(error.orig).__name__ in {"OperationalError", "ConnectionTimeout", "InterfaceError"}


_POSTGRESQL = "postgresql"
_DRIVER = "postgresql+psycopg"
_TIMEOUTS = {  # in seconds, tcp_user_timeout in ms: a server that stops answering is noticed within 30 s
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}
_PACKAGES = {
    "snowflake": "snowflake-sqlalchemy",
    "bigquery": "sqlalchemy-bigquery",
    "trino": "trino[sqlalchemy]",
    "databricks": "databricks-sqlalchemy",
}


def engine_of(address: str, shown: str, pool: type[Pool] = NullPool) -> Engine:
    """Return the SQLAlchemy engine of a server. By default, each connection is closed after its use.

    Raises:
        SourceError: If the address cannot be read, or a driver is not installed.
    """
    try:
        url, options = parse_url(address), dict[str, Any]()
        if url.get_backend_name() == _POSTGRESQL:
            url = url.set(drivername=_DRIVER, query={**_TIMEOUTS, **url.query})
            # A statement sees what was committed before it began. Statements are not prepared by name.
            options = {"isolation_level": "READ COMMITTED", "connect_args": {"prepare_threshold": None}}
        engine = create_engine(
            url,
            poolclass=pool,
            pool_reset_on_return=None,  # closing ends the transaction
            hide_parameters=True,
            **options,
        )
    except NoSuchModuleError:
        engine_name = shown.partition("://")[0]
        package = _PACKAGES.get(engine_name, f"that brings SQLAlchemy the dialect {engine_name!r}")
        refusal = f"{shown!r} needs the package {package}: install it"
    except ModuleNotFoundError as error:
        has_extra = error.name == "psycopg"
        remedy = install_hint("postgres") if has_extra else f"install the package {error.name}"
        refusal = f"{shown!r} needs a driver that is not installed: {remedy}"
    except (ArgumentError, ValueError, TypeError, ImportError):
        refusal = (
            f"the address of {shown!r} cannot be read: write it as postgresql+psycopg://user@host/database#schema.table"
        )
    else:
        return engine
    raise SourceError(refusal)


@frozen
class Server:
    """A server with a new connection for each transaction."""

    engine: Engine  # makes connections
    dialect: dialects.ServerDialect
    shown: str  # name of the records in messages
    seconds: float | None = None  # time-out of a statement; None: that of the server
    # A list with the set of connections in use; empty after `close`.
    used: list[set[Any]] = field(default_factory=lambda: [set()])
    lock: Lock = field(default_factory=Lock)  # held while `used` changes

    @classmethod
    def from_place(cls, place: ServerPlace, seconds: float | None) -> Self:
        """Return the server that a place names. It does not connect yet."""
        engine = engine_of(place.url, place.shown)
        return cls(engine, dialect_of(engine.dialect.name), place.shown, seconds)

    @contextmanager
    def transaction(self, *, has_own_path: bool = False) -> Iterator[Connection]:
        """Begin a read-only transaction; with `has_own_path`, on the search path of the account."""
        self._connections()
        with self.engine.connect() as connection:
            driven = connection.connection.driver_connection
            with self.lock:
                self._connections().add(driven)
            try:
                self.dialect.begin(connection, self.seconds, has_own_path=has_own_path)
                yield connection
            finally:
                with self.lock:
                    for used in self.used:
                        used.discard(driven)

    def require_open(self) -> None:
        """Raise SourceError if the server is closed."""
        self._connections()

    def close(self) -> None:
        """Close the server. Running statements are cancelled, and not awaited."""
        with self.lock:
            running = self.used.pop() if self.used else set()
        for driven in running:
            with suppress(Exception):  # the statement may have ended, or its driver may not cancel
                driven.cancel()

    def _connections(self) -> set[Any]:
        """Return the connections in use. Raise SourceError if the server is closed."""
        if not self.used:
            raise SourceError(f"{self.shown!r} is closed: open it again")
        return self.used[0]


_DIALECTS: dict[str, type[dialects.ServerDialect]] = {
    "bigquery": dialects.BigQuery,
    "databricks": dialects.Databricks,
    "mssql": dialects.SqlServer,
    "mysql": dialects.MySQL,
    "oracle": dialects.Oracle,
    "postgresql": PostgreSQL,
    "snowflake": dialects.Snowflake,
    "sqlite": dialects.Sqlite,
    "trino": dialects.Trino,
}


def dialect_of(name: str) -> dialects.ServerDialect:
    """Return the dialect of a server by its SQLAlchemy name."""
    return _DIALECTS.get(name, dialects.ServerDialect)()
