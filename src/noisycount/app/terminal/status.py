"""A sign of life while work takes long."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["status"]


@contextmanager
def status(doing: str) -> Iterator[None]:
    """What goes on, on a terminal; nothing where standard error is a file."""
    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield
        return
    with terminal.status(doing):
        yield
