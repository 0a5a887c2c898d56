"""What is worked on, which ends before the service does."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition
from typing import TypeVar

from noisycount.app.server.refusals import StoppingError

__all__ = ["Works"]

Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class Works:
    """The work of all requests, also of those whose askers wait no more.

    Attributes:
        most: So many are worked on at once; others take their turns.

    Example:
        >>> works = Works(1)
        >>> works.admitted(lambda: 42)(), works.stop(0.0)
        (42, True)
    """

    most: int
    _admitted: int = 0
    _running: int = 0
    _is_stopping: bool = False
    _change: Condition = field(default_factory=Condition)

    def admitted(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Work that waits for its turn, and for whose end the service waits.

        Raises:
            StoppingError: No more is taken.
        """
        with self._change:
            if self._is_stopping:
                raise StoppingError
            self._admitted += 1
        return lambda: self._done(work)

    def refuse(self) -> None:
        """The end of admissions."""
        with self._change:
            self._is_stopping = True

    def stop(self, seconds: float) -> bool:
        """Whether all that was admitted ended within some seconds; no more is taken."""
        self.refuse()
        with self._change:
            return self._change.wait_for(lambda: self._admitted == 0, seconds)

    def _done(self, work: Callable[[], Result]) -> Result:
        with self._change:
            self._change.wait_for(lambda: self._running < self.most)
            self._running += 1
        try:
            return work()
        finally:
            with self._change:
                self._running -= 1
                self._admitted -= 1
                self._change.notify_all()
