"""Fixed ticks at which replies leave, so that the duration of a count reveals nothing about the records.

This is a defence against timing attacks. `ReplyTick.hold_until_tick` runs a count and returns its result at its tick.
"""

import math
import time
from collections.abc import Callable
from numbers import Real
from typing import TypeVar

from noisycount.errors import without_traceback
from noisycount.frozen import frozen

Result = TypeVar("Result")


SHORTEST, LONGEST = 0.001, 3600.0


@frozen
class ReplyTick:
    """Periodic time at which replies leave, so that the duration of a count reveals nothing.

    Ticks have equal distances, called slots, and are the same for all requests. Work has one to two slots of time. Work
    that is not done by then waits for a later tick: 1, 3, 7, … slots after the first one. So a reply reveals only how
    often its work missed a tick. Nothing is stored before the tick, so that the ledger changes at ticks alone. Replies
    that need no record need not wait.

    Raises:
        ValueError: The length is out of range, or no number.

    Example:
        >>> ReplyTick(0.01).hold_until_tick(lambda: 42)
        42
    """

    seconds: float  # length of a slot, from 0.001 to 3600 s

    def __post_init__(self) -> None:
        seconds = self.seconds
        is_number = isinstance(seconds, Real) and not isinstance(seconds, bool)
        if not is_number or not SHORTEST <= seconds <= LONGEST:
            raise ValueError(f"slot must be from {SHORTEST} to {LONGEST:.0f} s, got {seconds!r}")
        object.__setattr__(self, "seconds", float(seconds))

    def reply_time(self, arrival: float, done: float | None = None) -> float:
        """Return the tick after the next one, or the first tick of the grid after the work was done.

        Example:
            >>> [ReplyTick(1).reply_time(0.5, done) for done in (1.9, 2.1, 3.1, 5.1)]
            [2.0, 3.0, 5.0, 9.0]
        """
        first, later = math.floor(arrival / self.seconds) + 2, 1
        while done is not None and (first + later - 1) * self.seconds < done:
            later *= 2
        return (first + later - 1) * self.seconds

    def hold_until_tick(self, work: Callable[[], Result]) -> Result:
        """Run some work and wait for its tick; then return its result, or raise its error."""
        arrival, refusal = time.monotonic(), None
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - raised again at the tick
            refusal = without_traceback(error)
        leaving = self.reply_time(arrival, time.monotonic())
        while (left := leaving - time.monotonic()) > 0:
            time.sleep(left)
        if refusal is not None:
            raise refusal
        return result
