"""The transactions of a server: read-only, given up in time, closed at once."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any, Protocol, Self

from sqlalchemy import Connection, Engine

from noisycount.errors import SourceError
from noisycount.release.sources.servers import ServerPlace
from noisycount.release.sources.sql.dialect import Dialect
from noisycount.release.sources.sql.dialects import dialect_of
from noisycount.release.sources.sql.engines import engine_of

__all__ = ["OneConnection", "Server", "Transactions"]


class Transactions(Protocol):
    """What gives transactions in which nothing is changed."""

    @property
    def dialect(self) -> Dialect:
        """What the server says in its own way."""
        ...

    def transaction(self, *, has_own_path: bool = False) -> AbstractContextManager[Connection]:
        """A read-only transaction.

        Args:
            has_own_path: Whether names without a schema are looked for where the account does.

        Raises:
            SourceError: All is closed.
        """
        ...

    def require_open(self) -> None:
        """The refusal of what is closed.

        Raises:
            SourceError: It is.
        """
        ...

    def close(self) -> None:
        """The end; what goes on is given up."""
        ...


@dataclass(frozen=True, slots=True)
class Server:
    """A server that gives each transaction a connection of its own.

    Attributes:
        engine: Makes connections.
        dialect: What the server says in its own way.
        shown: What messages call the records.
        seconds: After which a statement is given up; None: when the server does.
        used: The one set of connections in use; none once all is closed.
        lock: Held while that changes.
    """

    engine: Engine
    dialect: Dialect
    shown: str
    seconds: float | None = None
    used: list[set[Any]] = field(default_factory=lambda: [set()])
    lock: Lock = field(default_factory=Lock)

    @classmethod
    def at(cls, place: ServerPlace, seconds: float | None) -> Self:
        """The server of a place, not asked for anything yet.

        Raises:
            SourceError: The address names no server, or its driver is not installed.
        """
        engine = engine_of(place.url, place.shown)
        return cls(engine, dialect_of(engine.dialect.name), place.shown, seconds)

    @contextmanager
    def transaction(self, *, has_own_path: bool = False) -> Iterator[Connection]:
        """A read-only transaction; see `Transactions.transaction`."""
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


@dataclass(frozen=True, slots=True)
class OneConnection:
    """A connection that has temporary tables, of which each transaction is one.

    Attributes:
        connection: In no transaction.
        dialect: What the server says in its own way.
        shown: What messages call the records.
        lock: Held by the one transaction.
        is_closed: Whether there are to be no more.
    """

    connection: Connection
    dialect: Dialect
    shown: str
    lock: Lock = field(default_factory=Lock)
    is_closed: Event = field(default_factory=Event)

    @contextmanager
    def transaction(self, *, has_own_path: bool = False) -> Iterator[Connection]:
        """A read-only transaction; see `Transactions.transaction`."""
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
