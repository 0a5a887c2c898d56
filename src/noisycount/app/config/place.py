"""Where records lie: a file, a folder, or a pattern of files."""

import os.path
from glob import glob, has_magic
from pathlib import Path

__all__ = ["is_file", "is_place", "records_at"]

_ENDINGS = {".parquet", ".pq"}  # of the files of a folder that are its records


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


def _files(path: str | Path) -> list[str]:
    """The files at a place; none where there is nothing."""
    if is_file(path):
        return [str(path)]
    if os.path.isdir(path):  # noqa: PTH112 - as above
        return [str(file) for file in Path(path).rglob("*") if file.suffix.lower() in _ENDINGS]
    if "\0" in str(path) or not has_magic(str(path)):
        return []
    return [file for file in glob(str(path), recursive=True) if is_file(file)]  # noqa: PTH207 - a path may be absolute
