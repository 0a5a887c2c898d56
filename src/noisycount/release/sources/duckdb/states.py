"""What tells cheaply whether a file may have changed."""

from pathlib import Path

from noisycount.errors import SourceError
from noisycount.release.sources.duckdb.lake import Lake
from noisycount.release.sources.places import files_of
from noisycount.shown.told import told_name

__all__ = ["require_state", "state_of"]


def state_of(place: Path | Lake) -> str:
    """The size and time of each file of a place, and of the write-ahead log of a database.

    Raises:
        SourceError: One cannot be read any more.
    """
    if isinstance(place, Lake):
        return place.state()
    try:
        states = [file.stat() for file in files_of(place)]
    except (OSError, SourceError):
        states = []
    if not states:
        raise SourceError(f"{told_name(place)!r} cannot be read any more: open it again")
    return " ".join(f"{state.st_size}-{state.st_mtime_ns}" for state in states)


def require_state(place: Path | Lake, state: str, while_it: str) -> None:
    """The refusal of a file that is not in its state any more.

    Args:
        place: The file.
        state: As `state_of` told it.
        while_it: What went on meanwhile.

    Raises:
        SourceError: It may have changed.
    """
    if state_of(place) != state:
        raise SourceError(f"{told_name(place)!r} changed while it {while_it}: open it again")
