"""DuckDB connections with private records: quoting, paths, settings, cursors, and refusals in place of errors."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TypeAlias, TypeVar

import duckdb

from noisycount.engines.formats import compatible_text
from noisycount.engines.places import COLUMNAR, files_of, is_several
from noisycount.errors import BY_THE_SERVICE, SourceError


def quoted_name(name: str) -> str:
    """Return a name in double quotes, for SQL."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def quoted_text(text: str) -> str:
    """Return a text in single quotes, for SQL."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def require_single_names(names: Iterable[str], where: str) -> None:
    """Raise SourceError if there is no name, or two names are equal or differ only in case."""
    positions: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        first = positions.setdefault(name.lower(), position)
        if first != position:  # without the name: if the file has no names, it is a cell
            raise SourceError(
                f"{where} one name for columns {first:,} and {position:,}, apart from case: give each another name"
            )
    if not positions:
        raise SourceError(f"{where} no columns: give it some")


Result = TypeVar("Result")


def without_engine_errors(work: Callable[[], Result], refusal: str, without_memory: str | None = None) -> Result:
    """Run some work and return its result.

    This is no context manager: its refusal would keep the engine's error as its context.

    Args:
        work: The work.
        refusal: The message if the work fails.
        without_memory: The message if memory was not sufficient; None: `refusal`.

    Raises:
        SourceError: If the work fails. The message has no part of the engine's error.
    """
    try:
        return work()
    except duckdb.OutOfMemoryException:
        message = without_memory or refusal
    except (duckdb.Error, OSError, RuntimeError):  # RuntimeError: names of columns that are not UTF-8
        message = refusal
    raise SourceError(message)


Connection: TypeAlias = duckdb.DuckDBPyConnection


def require_readable_place(path: Path) -> Path:
    """Return the absolute path of a readable file, or of a folder or pattern of Parquet files."""
    if not is_several(path):
        return require_readable_file(path)
    place = Path(os.path.abspath(path))  # noqa: PTH100 - a pattern is no path on the disk
    for file in files_of(place):
        if file.suffix.lower() not in COLUMNAR:
            raise SourceError(
                f"{str(path)!r} matches {file.name!r}, but only Parquet files are read as one: "
                "name the one file, or a pattern such as data/*.parquet"
            )
        require_readable_file(file)
    return place


def require_readable_file(path: Path) -> Path:
    """Return the absolute path of a readable file. Raise SourceError if it cannot be read."""
    shown = repr(str(path))
    try:
        place = path.resolve(strict=True)
        str(place).encode()
        if not place.is_file():
            raise SourceError(f"{shown} is not a file: name a CSV, Parquet or DuckDB file")
        with place.open("rb"):
            pass
    except FileNotFoundError:
        raise SourceError(f"{shown} does not exist: check the path of the file") from None
    except PermissionError:
        raise SourceError(f"{shown} cannot be read: check its path and permissions, or {BY_THE_SERVICE}") from None
    except (OSError, ValueError):  # ValueError: a path that is no UTF-8, or has a NUL
        raise SourceError(f"{shown} cannot be read: check its path and permissions") from None
    if "\\" in place.as_posix():
        raise SourceError(f"{shown} has a backslash, which DuckDB reads as another character: rename it")
    return place


def path_pattern(place: Path) -> str:
    """Return a pattern that matches only this path, as DuckDB expands patterns in paths."""
    return re.sub(r"[*?\[]", r"[\g<0>]", place.as_posix())


# With statistics and pushed-down filters, the time of a count would reveal which values occur.
_LOCKS = (
    "disabled_optimizers = 'statistics_propagation,filter_pushdown'",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
    "python_enable_replacements = false",
    "enable_external_access = false",
    "lock_configuration = true",
)


def private_connection() -> Connection:
    """Return a connection whose tables stay in memory: no private data is written to a disk."""
    connection = duckdb.connect(":memory:", config={"temp_directory": ""})
    connection.create_function("compatible_text", compatible_text, ["VARCHAR"], "VARCHAR")
    return connection


def lock(connection: Connection) -> None:
    """Deny a connection all access to files and extensions, except to the files that it has open."""
    for setting in _LOCKS:
        connection.execute(f"SET {setting}")


@dataclass(slots=True)
class Cursors:
    """The cursors of a connection, one for each query."""

    connection: duckdb.DuckDBPyConnection
    _lock: Lock = field(default_factory=Lock)
    _running: list[duckdb.DuckDBPyConnection] = field(default_factory=list)
    _is_closed: bool = False
    views: int = 0  # number of views of tables that share the connection

    @property
    def is_busy(self) -> bool:
        """True while a query runs."""
        return bool(self._running)

    def new_view(self) -> str:
        """Return an unused name for a view of one of several tables."""
        self.views += 1
        return f"table_{self.views}"

    def require_open(self) -> None:
        """Raise SourceError if the cursors are closed."""
        if self._is_closed:
            raise SourceError("the records are closed: open the source again")

    @contextmanager
    def cursor_for_query(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor for one query."""
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
        """Close the cursors. Running queries are interrupted, and not awaited."""
        with self._lock:
            self._is_closed = True
            for cursor in self._running:
                cursor.interrupt()
            self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._is_closed and not self.is_busy:
            self.connection.close()


_INTERRUPT_INTERVAL = 0.05  # s; interrupting is repeated, as it may fall between two statements


@contextmanager
def time_limit(cursor: Connection, seconds: float | None) -> Iterator[None]:
    """Interrupt the statements of a cursor inside the block after some seconds; None: never."""
    if seconds is None:
        yield
        return
    done = Event()

    def interrupt() -> None:
        wait = seconds
        while not done.wait(wait):
            cursor.interrupt()
            wait = _INTERRUPT_INTERVAL

    Thread(target=interrupt, daemon=True).start()
    try:
        yield
    finally:
        done.set()
