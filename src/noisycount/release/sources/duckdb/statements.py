"""Statements of one question, given up together when they take too long or their source closes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

from noisycount.release.sources.duckdb.paths import Connection

__all__ = ["Statements", "limited"]

_AGAIN = 0.05  # s; an interruption between two statements meets neither


@dataclass(frozen=True, slots=True)
class Statements:
    """What is asked of one cursor.

    Attributes:
        cursor: Answers.
        require_open: Refuses to go on once the source is closed.
    """

    cursor: Connection
    require_open: Callable[[], None]

    def run(self, query: str, parameters: object = None) -> Connection:
        """The answer to a statement.

        Raises:
            SourceError: The source was closed.
        """
        self.require_open()
        return self.cursor.execute(query, parameters)


@contextmanager
def limited(cursor: Connection, seconds: float | None) -> Iterator[None]:
    """A block in which all that a cursor does is interrupted from some time on.

    Args:
        cursor: Whose statements end with an error then.
        seconds: When, from now; None: never.
    """
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
