"""Connections that hold private records: names, paths, locks, cursors and the errors of DuckDB."""

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
    """A name between double quotes."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def quoted_text(text: str) -> str:
    """A text between single quotes."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def require_single_names(names: Iterable[str], where: str) -> None:
    """The refusal of names that stand there twice, if only in another case."""
    places: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        first = places.setdefault(name.lower(), place)
        if first != place:  # without the name: where names were left out it is a cell
            raise SourceError(
                f"{where} one name for columns {first:,} and {place:,}, in whatever case: give each a name of its own"
            )
    if not places:
        raise SourceError(f"{where} no columns: give it some")


Result = TypeVar("Result")


def without_engine_errors(work: Callable[[], Result], refusal: str, without_memory: str | None = None) -> Result:
    """The result of some work, or a refusal that keeps nothing of the engine's error.

    A context manager could not serve: the refusal would have that error as its context.

    `without_memory`: its text where memory did not suffice; None: the same.
    """
    try:
        return work()
    except duckdb.OutOfMemoryException:
        message = without_memory or refusal
    except (duckdb.Error, OSError, RuntimeError):  # RuntimeError: names of columns that are not UTF-8
        message = refusal
    raise SourceError(message)


Connection: TypeAlias = duckdb.DuckDBPyConnection


def readable_place(path: Path) -> Path:
    """The absolute path of a file that can be read, or of a folder or pattern of Parquet files."""
    if not is_several(path):
        return readable_file(path)
    place = Path(os.path.abspath(path))  # noqa: PTH100 - a pattern is resolved by no disk
    for file in files_of(place):
        if file.suffix.lower() not in COLUMNAR:
            raise SourceError(
                f"{str(path)!r} matches {file.name!r}, but only Parquet files are read as one: "
                "name the one file, or a pattern such as data/*.parquet"
            )
        readable_file(file)
    return place


def readable_file(path: Path) -> Path:
    """The absolute path of a file that can be read."""
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
    """The path as a pattern that matches nothing else: DuckDB expands patterns in paths."""
    return re.sub(r"[*?\[]", r"[\g<0>]", place.as_posix())


# Statistics and pushed-down filters would let the time of a count tell which values occur.
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
    """A connection whose tables stay in memory.

    Nothing private may spill to a disk, where it would stay after a kill.
    """
    connection = duckdb.connect(":memory:", config={"temp_directory": ""})
    connection.create_function("compatible_text", compatible_text, ["VARCHAR"], "VARCHAR")
    return connection


def lock(connection: Connection) -> None:
    """The end of all access of a connection to anything but what it has open."""
    for setting in _LOCKS:
        connection.execute(f"SET {setting}")


@dataclass(slots=True)
class Cursors:
    """A cursor of its own for each query."""

    connection: duckdb.DuckDBPyConnection
    _lock: Lock = field(default_factory=Lock)
    _running: list[duckdb.DuckDBPyConnection] = field(default_factory=list)
    _is_closed: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether a query runs."""
        return bool(self._running)

    def require_open(self) -> None:
        """The refusal to go on once they are closed."""
        if self._is_closed:
            raise SourceError("the records are closed: open the source again")

    @contextmanager
    def one(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for one query."""
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


_AGAIN = 0.05  # s; an interruption between two statements meets neither


@contextmanager
def limited(cursor: Connection, seconds: float | None) -> Iterator[None]:
    """A block in which all that a cursor does is interrupted from some time on."""
    if seconds is None:
        yield
        return
    done = Event()

    def interrupt() -> None:
        wait = seconds
        while not done.wait(wait):
            cursor.interrupt()
            wait = _AGAIN

    Thread(target=interrupt, daemon=True).start()
    try:
        yield
    finally:
        done.set()
