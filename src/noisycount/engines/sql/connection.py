"""Connections to a server: read-only, given up in time, closed at once; its errors stay there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from threading import Event, Lock
from typing import Any, Self, TypeAlias, TypeVar

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, NoSuchTableError

from noisycount.engines.places import ServerPlace
from noisycount.engines.sql import dialect as dialects
from noisycount.engines.sql.postgresql import PostgreSQL
from noisycount.errors import SourceError, install_hint
from noisycount.frozen import frozen

Result = TypeVar("Result")
UNREACHED = "cannot be reached: check that its server runs, and the address, the account and its password"
_UNREADABLE = (
    "may not be read by this account: let its owner grant USAGE of its schema, and SELECT of the "
    "columns that questions use and of the unit"
)
_ABSENT = "does not exist: check the name of the table, and of its schema"
_LATE = "was not counted in time: state a longer timeout, or ask when the server is less busy"
_CHANGED = "has other columns than at its opening: open it again"
_FAILED = "could not be counted, and why is withheld, as it may quote a record: see the server"
_STATES = {
    **dict.fromkeys(["08", "28", "3D", "57P", "53300"], UNREACHED),
    **dict.fromkeys(["42P01", "3F000"], _ABSENT),
    **dict.fromkeys(["57014", "55P03", "25P03"], _LATE),
    "42501": _UNREADABLE,
    "42703": _CHANGED,
}
"""By the standard's codes, or the letters that they begin with."""


def without_server_errors(shown: str, work: Callable[[], Result], denied: str | None = None) -> Result:
    """The result of some work, or a refusal that keeps nothing of the server's error.

    A context manager could not serve: the refusal would have that error as its context.

    `denied`: what is said where the account has no right to it; None: that it may not read.
    """
    try:
        return work()
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - drivers raise what they like, which may quote cells
        why = _reason(error)
    if denied is not None and why is _UNREADABLE:
        why = denied
    raise SourceError(f"{shown!r} {why}")


def _reason(error: Exception) -> str:
    if isinstance(error, NoSuchTableError):
        return _ABSENT
    if isinstance(error, OSError | UnicodeError):  # of hosts that nobody knows
        return UNREACHED
    if not isinstance(error, DBAPIError):
        return _FAILED
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return UNREACHED if error.connection_invalidated or _is_lost(error) else _FAILED
    known = (_STATES.get(state[:length]) for length in (5, 3, 2))
    return next((reason for reason in known if reason), _FAILED)


def _is_lost(error: DBAPIError) -> bool:
    """Whether there is no connection: only then has an operational error no state."""
    return type(error.orig).__name__ in {"OperationalError", "ConnectionTimeout", "InterfaceError"}


_POSTGRESQL = "postgresql"
_DRIVER = "postgresql+psycopg"
_PATIENCE = {  # s, but the number: a server that is gone without a word is noticed within 30
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


def engine_of(address: str, shown: str) -> Engine:
    """The maker of connections to a server, each of which is closed after its use."""
    try:
        url = make_url(address)
        engine = create_engine(
            _with_driver(url),
            poolclass=NullPool,
            pool_reset_on_return=None,  # what is closed needs no end of its transaction
            hide_parameters=True,
            **_options(url),
        )
    except NoSuchModuleError:
        engine_name = shown.partition("://")[0]
        package = _PACKAGES.get(engine_name, f"that brings SQLAlchemy the dialect {engine_name!r}")
        refusal = f"{shown!r} needs the package {package}: install it"
    except ModuleNotFoundError as error:
        is_ours = error.name == "psycopg"
        remedy = install_hint("postgres") if is_ours else f"install the package {error.name}"
        refusal = f"{shown!r} needs a driver that is not here: {remedy}"
    except (ArgumentError, ValueError, TypeError, ImportError):
        refusal = (
            f"the address of {shown!r} cannot be read: write it as postgresql+psycopg://user@host/database#schema.table"
        )
    else:
        return engine
    raise SourceError(refusal)


def _with_driver(url: URL) -> URL:
    if url.get_backend_name() != _POSTGRESQL:
        return url
    return url.set(drivername=_DRIVER, query={**_PATIENCE, **url.query})


def _options(url: URL) -> dict[str, Any]:
    """What connections of PostgreSQL's driver are made with: no statement is prepared by name.

    A statement sees what was committed before it began, after its table was locked.
    """
    if url.get_backend_name() != _POSTGRESQL:
        return {}
    return {"isolation_level": "READ COMMITTED", "connect_args": {"prepare_threshold": None}}


@frozen
class Server:
    """A server that gives each transaction a connection of its own."""

    engine: Engine  # makes connections
    dialect: dialects.ServerDialect  # what the server says in its own way
    shown: str  # what messages call the records
    seconds: float | None = None  # after which a statement is given up; None: when the server does
    # the one set of connections in use; none once all is closed
    used: list[set[Any]] = field(default_factory=lambda: [set()])
    lock: Lock = field(default_factory=Lock)  # held while that changes

    @classmethod
    def at(cls, place: ServerPlace, seconds: float | None) -> Self:
        """The server of a place, not asked for anything yet."""
        engine = engine_of(place.url, place.shown)
        return cls(engine, dialect_of(engine.dialect.name), place.shown, seconds)

    @contextmanager
    def transaction(self, *, has_own_path: bool = False) -> Iterator[Connection]:
        """A read-only transaction; `has_own_path`: names without a schema are looked for where the account does."""
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
        """The refusal of what is closed."""
        self._connections()

    def close(self) -> None:
        """The end; what goes on is given up, and not waited for."""
        with self.lock:
            running = self.used.pop() if self.used else set()
        for driven in running:
            with suppress(Exception):  # it may have ended meanwhile, or its driver knows no end
                driven.cancel()

    def _connections(self) -> set[Any]:
        """Those in use, unless all is closed."""
        if not self.used:
            raise SourceError(f"{self.shown!r} is closed: open it again")
        return self.used[0]


@frozen
class OneConnection:
    """A connection that has temporary tables, of which each transaction is one."""

    connection: Connection  # in no transaction
    dialect: dialects.ServerDialect  # what the server says in its own way
    shown: str  # what messages call the records
    lock: Lock = field(default_factory=Lock)  # held by the one transaction
    is_closed: Event = field(default_factory=Event)  # whether there are to be no more

    @contextmanager
    def transaction(self, *, has_own_path: bool = False) -> Iterator[Connection]:
        """A read-only transaction; see `Server.transaction`."""
        with self.lock:
            self.require_open()
            with self.connection.begin() as whole:
                self.dialect.begin(self.connection, None, has_own_path=has_own_path)
                yield self.connection
                whole.rollback()

    def require_open(self) -> None:
        """The refusal of what is closed."""
        if self.is_closed.is_set():
            raise SourceError(f"{self.shown!r} is closed: open it again")

    def close(self) -> None:
        """The end; what goes on is waited for."""
        self.is_closed.set()


# What gives transactions in which nothing is changed.
ServerTransactions: TypeAlias = Server | OneConnection
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
    """What a server says in its own way."""
    return _DIALECTS.get(name, dialects.ServerDialect)()
