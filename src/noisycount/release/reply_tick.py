"""What becomes of work that may take longer than its asker waits.

When replies leave: at fixed ticks, so that no duration tells anything about the records.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from threading import Event, Thread
from typing import Generic, Self, TypeVar

from noisycount.errors import OverrunError, without_traceback
from noisycount.frozen import frozen

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
            self.error = without_traceback(error)
        except BaseException:  # noqa: BLE001 - a thread cannot pass it on, and would print it
            return
        self.finished.set()

    def now(self) -> Result:
        """The result, or raise the error, if there is one by now."""
        if not self.finished.is_set():
            raise OverrunError(
                "the answer was not ready when replies left; its price may be charged: ask the same"
                " question again, which is charged once, however often it is asked"
            )
        if self.error is not None:
            raise self.error
        return self.results[0]


SHORTEST, LONGEST = 0.001, 3600.0


@frozen
class ReplyTick:
    """Lets the reply to a request of one slot leave at the end of the next slot, never between.

    Slots follow each other without gaps and are the same for all requests. Work has one to two
    slots of time. Work that takes longer is not waited for: its asker gets a fixed text at the tick
    at which any reply would have left, and what the work stores is there for a later request.
    Refusals and answers that are known already wait as well: whoever asked for them all the time
    could else tell when the work of another request ended.

    Raises:
        ValueError: The length is out of range, or no number.

    Example:
        >>> ReplyTick(0.01).reply(lambda: 42)
        42
    """

    seconds: float  # the length of a slot: from 0.001 to 3600 s

    def __post_init__(self) -> None:
        seconds = self.seconds
        is_number = isinstance(seconds, Real) and not isinstance(seconds, bool)
        if not is_number or not SHORTEST <= seconds <= LONGEST:
            raise ValueError(f"slot must be from {SHORTEST} to {LONGEST:.0f} s, got {seconds!r}")
        object.__setattr__(self, "seconds", float(seconds))

    def leaving(self, arrival: float) -> float:
        """The tick at which the reply to a request leaves: that after the next."""
        return (math.floor(arrival / self.seconds) + 2) * self.seconds

    def reply(self, work: Callable[[], Result]) -> Result:
        """What work gives, when the reply may leave; what it raises is raised then."""
        leaving = self.leaving(time.monotonic())
        outcome = Outcome.of(work)
        while (left := leaving - time.monotonic()) > 0:
            time.sleep(left)
        return outcome.now()
