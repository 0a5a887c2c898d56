"""What becomes of work that may take longer than its asker waits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Generic, Self, TypeVar

from noisycount.errors import OverrunError
from noisycount.release.bare_error import bare

__all__ = ["Outcome"]

Result = TypeVar("Result")


@dataclass(slots=True)
class Outcome(Generic[Result]):
    """What became of some work; errors are kept without the frames in which they arose."""

    finished: Event = field(default_factory=Event)
    results: list[Result] = field(default_factory=list)
    error: Exception | None = None

    @classmethod
    def of(cls, work: Callable[[], Result]) -> Self:
        """The outcome, one day, of work that a thread of its own begins now."""
        outcome = cls()
        Thread(target=outcome.become, args=(work,), daemon=True).start()
        return outcome

    def become(self, work: Callable[[], Result]) -> None:
        """Do the work."""
        try:
            self.results.append(work())
        except Exception as error:  # noqa: BLE001 - it is raised again where the reply leaves
            self.error = bare(error)
        except BaseException:  # noqa: BLE001 - a thread cannot pass it on, and would print it
            return
        self.finished.set()

    def now(self) -> Result:
        """The result, or raise the error, if there is one by now.

        Raises:
            OverrunError: The work goes on.
        """
        if not self.finished.is_set():
            raise OverrunError(
                "the answer was not ready when replies left; its price may be charged: ask the same"
                " question again, which is charged once, however often it is asked"
            )
        if self.error is not None:
            raise self.error
        return self.results[0]
