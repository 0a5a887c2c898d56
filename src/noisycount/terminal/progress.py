"""A bar for work that may take long.

A sign of life while work takes long.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.progress import Progress

__all__ = ["Done", "progress", "status"]


Done = Callable[[float], None]


"""What work calls with the share of it that is done, from 0 to 1."""


_PATIENCE = 2.0


class LateProgress(Progress):
    """Bars that appear only where the work has taken more than two seconds."""

    def get_renderables(self) -> Iterator[RenderableType]:
        """Nothing at first, then the bars."""
        if all((task.elapsed or 0) > _PATIENCE for task in self.tasks):
            yield from super().get_renderables()


@contextmanager
def progress(doing: str) -> Iterator[Done]:
    """How much is done, on a terminal; nothing where standard error is a file."""
    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield lambda _: None
        return
    with LateProgress(console=terminal, transient=True) as bars:
        task = bars.add_task(doing, total=None)  # it moves, until somebody knows the share
        yield lambda share: bars.update(task, total=1.0, completed=share)


@contextmanager
def status(doing: str) -> Iterator[None]:
    """What goes on, on a terminal; nothing where standard error is a file."""
    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield
        return
    with terminal.status(doing):
        yield
