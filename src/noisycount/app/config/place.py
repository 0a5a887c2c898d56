"""Where records lie: a file, a folder, a pattern of files, or a table of a server."""

import os.path
from pathlib import Path

from noisycount.errors import ConfigError, SourceError
from noisycount.release.register.served_table import ServedTable
from noisycount.release.sources.lakes import LakePlace
from noisycount.release.sources.places import files_of
from noisycount.release.sources.servers import ServerPlace, is_server

__all__ = ["Source", "is_file", "is_place", "records_at", "table_at"]

Source = Path | ServedTable
"""Where the records of a data set are."""


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


def records_at(place: str | Source) -> frozenset[tuple[object, ...]]:
    """What tells the records at a place from all others, by whatever path or address one names it.

    Raises:
        ConfigError: An address names no table.
    """
    if isinstance(place, str) and is_server(place):
        place = table_at(place)
    if isinstance(place, ServedTable):
        return _records_of(place.place)
    states = map(os.stat, _files(place))
    return frozenset((state.st_dev, state.st_ino) for state in states)


def table_at(address: str) -> ServedTable:
    """The table of a server at an address that was typed.

    Raises:
        ConfigError: It names no table, or is no address.
    """
    try:
        return ServedTable(ServerPlace.read(address))
    except SourceError as error:
        raise ConfigError(f"SOURCE: {error}") from None


def _records_of(place: ServerPlace | LakePlace) -> frozenset[tuple[object, ...]]:
    """A table of a server; of a cluster the files themselves, where they lie on this machine."""
    if isinstance(place, ServerPlace) and place.is_cluster and place.table.startswith("/"):
        return records_at(Path(place.table)) or frozenset([place.canonical])
    return frozenset([place.canonical])


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
