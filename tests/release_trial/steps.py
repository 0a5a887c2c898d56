"""Steps of a trial, each told in one line with the seconds that it took."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

__all__ = ["TrialError", "step", "tell"]


class TrialError(Exception):
    """Something that whoever installs the release would meet; the text says what."""


def tell(line: str) -> None:
    """Show a line at once, though another trial runs beside."""
    print(line, flush=True)  # noqa: T201 - a command


@contextmanager
def step(where: str, what: str) -> Iterator[None]:
    """Tell what was tried in the block, once it is done or has failed."""
    begun = perf_counter()
    outcome = "FAILED"
    try:
        yield
        outcome = "ok"
    finally:
        tell(f"{outcome:>6}  {perf_counter() - begun:5.1f} s  {where:<30}  {what}")
