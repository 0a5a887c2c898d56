"""The cursors of one connection to DuckDB, which may be closed while they are in use."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

import duckdb

from noisycount.errors import SourceError

__all__ = ["Cursors"]


@dataclass(slots=True)
class Cursors:
    """A cursor of its own for each query.

    Attributes:
        connection: Whose cursors they are.
    """

    connection: duckdb.DuckDBPyConnection
    _lock: Lock = field(default_factory=Lock)
    _running: list[duckdb.DuckDBPyConnection] = field(default_factory=list)
    _is_closed: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether a query runs."""
        return bool(self._running)

    def require_open(self) -> None:
        """The refusal to go on once they are closed.

        Raises:
            SourceError: They are.
        """
        if self._is_closed:
            raise SourceError("the records are closed: open the source again")

    @contextmanager
    def one(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for one query.

        Raises:
            SourceError: They are closed.
        """
        with self._lock:
            self.require_open()
            cursor = self.connection.cursor()
            self._running.append(cursor)
        try:
            yield cursor
        finally:
            with self._lock:
                cursor.close()
                self._running.remove(cursor)
                self._close_if_idle()

    def close(self) -> None:
        """The end of all queries: those that run are interrupted, and none is waited for."""
        with self._lock:
            self._is_closed = True
            for cursor in self._running:
                cursor.interrupt()
            self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._is_closed and not self.is_busy:
            self.connection.close()
