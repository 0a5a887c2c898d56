"""A sign of life on work that takes long."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["waiting"]


@contextmanager
def waiting(doing: str) -> Iterator[None]:
    """Show on a terminal that work goes on; nothing where standard error is a file."""
    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield
        return
    with terminal.status(doing):
        yield
