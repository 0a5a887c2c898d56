"""Threads that want the same of one place: one goes for all who came while it was busy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any, Generic, TypeVar

from noisycount.errors import NoisyCountError
from noisycount.release.bare_error import bare

__all__ = ["Convoy", "Task"]

Wish = TypeVar("Wish")
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class Task(Generic[Wish, Result]):
    """What one thread wants, and what became of it.

    Attributes:
        wish: What it wants.
        results: What it got; none while nothing is done for it, or it was refused.
        refusal: Why it alone was refused.
        woken: Set when it is done, or when its own thread shall go on with it.
        leads: Whether its thread shall go for all who wait.
        is_final: Whether nothing can undo what it got.
    """

    wish: Wish
    results: list[Result] = field(default_factory=list)
    refusal: NoisyCountError | None = None
    woken: Event = field(default_factory=Event)
    leads: bool = False
    is_final: bool = False

    @property
    def is_done(self) -> bool:
        """Whether there is a result or a refusal."""
        return bool(self.results) or self.refusal is not None

    def settle(self, granted: Callable[[Wish], Result]) -> None:
        """Get what is wanted; a refusal of it is nobody else's."""
        try:
            self.results.append(granted(self.wish))
        except NoisyCountError as refusal:
            self.refusal = bare(refusal)

    def dismiss(self) -> None:
        """Let its thread go on with what it got, whatever becomes of those who wait still."""
        self.is_final = True
        self.woken.set()

    def undo(self) -> None:
        """Forget what came of it, unless its thread went on with that."""
        if not self.is_final:
            self.results.clear()
            self.refusal = None

    def result(self) -> Result:
        """What the thread got.

        Raises:
            NoisyCountError: It was refused.
        """
        if self.refusal is not None:
            raise self.refusal
        return self.results[0]


@dataclass(slots=True, eq=False)
class Convoy:
    """Lets one thread go for all that came while the one before it went.

    A commit waits for the disk, and a scan reads all records: who comes meanwhile shares the next.
    Nobody goes on before what was done for them is done. Where a shared way fails, nothing is done
    for anybody who waits still, and each goes alone: so nobody is refused for another.

    Attributes:
        lock: Held while one is added or all are taken.
        waiting: For whom nobody goes yet.
        led: Whether a thread is on its way.
    """

    lock: Lock = field(default_factory=Lock)
    waiting: list[Task[Any, Any]] = field(default_factory=list)
    led: bool = False

    def result(self, wish: Wish, go: Callable[[Sequence[Task[Wish, Result]]], None]) -> Result:
        """What a thread wants, once all is done that it takes.

        Args:
            wish: What it wants.
            go: Settles tasks in their order, each or none.

        Raises:
            NoisyCountError: The wish was refused, or the way to it failed.
        """
        task = Task[Wish, Result](wish)
        try:
            if not self._leads(task):
                task.woken.wait()
            if task.leads:
                self._go_for_all(go)
        except BaseException:
            self._withdraw(task)
            raise
        if not task.is_done:
            go([task])
        return task.result()

    def _leads(self, task: Task[Any, Any]) -> bool:
        """Whether nobody is on the way, so that the thread of a task shall go; else it waits."""
        with self.lock:
            self.waiting.append(task)
            task.leads = not self.led
            self.led = True
            return task.leads

    def _go_for_all(self, go: Callable[[Sequence[Task[Any, Any]]], None]) -> None:
        """Do what is waited for, and let the first who came meanwhile lead on."""
        with self.lock:
            tasks, self.waiting = self.waiting, []
        try:
            go(tasks)
        except BaseException as error:
            for task in tasks:
                task.undo()
            if len(tasks) == 1 or not isinstance(error, Exception):
                raise
        finally:
            with self.lock:
                self._hand_over()
            for task in tasks:
                task.woken.set()

    def _withdraw(self, task: Task[Any, Any]) -> None:
        """Let an interrupted thread hold up nobody."""
        with self.lock:
            if task in self.waiting:
                self.waiting.remove(task)
                if task.leads:
                    self._hand_over()

    def _hand_over(self) -> None:
        self.led = bool(self.waiting)
        if self.led:
            self.waiting[0].leads = True
            self.waiting[0].woken.set()
