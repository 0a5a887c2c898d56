"""A sign of life while work takes long."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Done", "progress", "status"]

Done = Callable[[float], None]  # what work calls with the share of it that is done, from 0 to 1
_PATIENCE = 2.0  # seconds without a bar


@contextmanager
def progress(doing: str) -> Iterator[Done]:
    """How much is done, on a terminal; nothing where standard error is a file."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console, RenderableType  # noqa: PLC0415  (for terminals alone)
    from rich.progress import Progress  # noqa: PLC0415

    class LateProgress(Progress):
        def get_renderables(self) -> Iterator[RenderableType]:
            if all((task.elapsed or 0) > _PATIENCE for task in self.tasks):
                yield from super().get_renderables()

    with LateProgress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(doing, total=None)  # it moves, until somebody knows the share
        yield lambda share: bars.update(task, total=1.0, completed=share)


@contextmanager
def status(doing: str) -> Iterator[None]:
    """What goes on, on a terminal; nothing where standard error is a file."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415  (for terminals alone)

    with Console(stderr=True).status(doing):
        yield
