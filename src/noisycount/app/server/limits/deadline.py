"""How long an asker waits where replies leave as soon as they are there."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TypeVar

from noisycount.release.outcome import Outcome

__all__ = ["Deadline"]

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Deadline:
    """Lets replies leave at once, and nobody wait longer than some seconds.

    Attributes:
        seconds: After which the asker gets a fixed text; the work goes on.

    Example:
        >>> Deadline(30.0).reply(lambda: 42)
        42
    """

    seconds: float

    def reply(self, work: Callable[[], Result]) -> Result:
        """What work gives; what it raises is raised.

        Raises:
            OverrunError: The work was not done in time; it goes on without its asker.
        """
        outcome = Outcome.of(work)
        outcome.finished.wait(self.seconds)
        return outcome.now()

    async def awaited(self, work: Callable[[], Result], crew: Executor) -> Result:
        """The same without a thread that waits.

        Args:
            work: What is done, also where its asker is gone meanwhile.
            crew: Whose threads do it.

        Raises:
            OverrunError: The work was not done in time; it goes on without its asker.
        """
        outcome = Outcome[Result]()
        done = asyncio.get_running_loop().run_in_executor(crew, outcome.become, work)
        await asyncio.wait([done], timeout=self.seconds)
        return outcome.now()
