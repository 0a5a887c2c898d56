"""Files that a command writes."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from noisycount.errors import NoisyCountError
from noisycount.validation import state_at

__all__ = ["check_regular", "draft", "new_file", "writing"]


@contextmanager
def new_file(path: Path, option: str) -> Iterator[TextIO]:
    """A text file that was not there before."""
    try:
        with path.open("x", encoding="utf-8") as file:
            yield file
    except FileExistsError:
        raise NoisyCountError(f"{option} {str(path)!r} exists already: name another file") from None
    except OSError as error:
        raise NoisyCountError(
            f"{option} {str(path)!r} cannot be written ({error.strerror})"
        ) from None


def check_regular(file: Path) -> None:
    """The refusal of what is there and neither a file nor a folder: a pipe would wait for ever."""
    state = state_at(file)
    if state is not None and not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        raise NoisyCountError(f"{str(file)!r} is no regular file: name another file")


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """The refusal of a file that what is done inside cannot write."""
    try:
        check_regular(file)
        yield
    except OSError as error:
        raise NoisyCountError(
            f"{str(file)!r} cannot be written ({error.strerror}): name another file"
        ) from None


@contextmanager
def draft(file: Path) -> Iterator[Path]:
    """Another file of the same ending, which takes the place of a file when all is written.

    Whatever happens inside, an older file stays whole, and no part of a new one is left.
    """
    part = file.with_name(f".{os.getpid()}.{file.name}")
    with writing(file):
        try:
            yield part
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
