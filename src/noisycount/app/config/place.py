"""Where records lie: a file, a folder, or a pattern of files."""

import os.path
from pathlib import Path

from noisycount.errors import SourceError
from noisycount.release.sources.places import files_of

__all__ = ["is_file", "is_place", "records_at"]


def is_file(path: str | Path) -> bool:
    """Whether a path leads to a file; no name of whatever length or characters is an error."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises on a name that is too long


def is_place(path: str | Path) -> bool:
    """Whether a path is that of a file or a folder, or a pattern of which there are files.

    Example:
        >>> is_place("."), is_place("no*where/*.parquet"), is_place("a" * 5000)
        (True, False, False)
    """
    return os.path.isdir(path) or bool(_files(path))  # noqa: PTH112 - as above


def records_at(path: str | Path) -> frozenset[tuple[int, int]]:
    """What tells the files at a place from all others, by whatever path or link they are named."""
    states = map(os.stat, _files(path))
    return frozenset((state.st_dev, state.st_ino) for state in states)


def _files(path: str | Path) -> tuple[str | Path, ...]:
    """The files at a place; none where there is nothing."""
    if is_file(path):
        return (path,)
    if not str(path):  # what pathlib takes for the current folder
        return ()
    try:
        return files_of(Path(path).absolute())
    except SourceError:
        return ()
