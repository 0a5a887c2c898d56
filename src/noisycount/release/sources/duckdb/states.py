"""What tells cheaply whether a file may have changed."""

from pathlib import Path

from noisycount.errors import SourceError

__all__ = ["state_of"]


def state_of(place: Path) -> str:
    """The size and time of the file and of the write-ahead log that a DuckDB file may have."""
    log = place.with_name(f"{place.name}.wal")
    try:
        states = [file.stat() for file in (place, log) if file == place or file.exists()]
    except OSError:
        raise SourceError(f"{str(place)!r} cannot be read any more: open it again") from None
    return " ".join(f"{state.st_size}-{state.st_mtime_ns}" for state in states)
