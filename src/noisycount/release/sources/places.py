"""Which files a place holds: one file, the Parquet files of a folder, or those of a pattern."""

import re
from pathlib import Path

from noisycount.errors import SourceError
from noisycount.release.presence import state_at

__all__ = ["files_of", "is_several", "state_of"]

_COLUMNAR = (".parquet", ".pq")


def files_of(place: Path) -> tuple[Path, ...]:
    """The files that hold the records of a place, with the write-ahead log of a database.

    Args:
        place: A file, taken literally; a folder, with all Parquet files below it; or a pattern
            such as `data/*.parquet`.

    Raises:
        SourceError: There is none.
    """
    try:
        if place.is_file():
            log = place.with_name(f"{place.name}.wal")
            return (place, log) if log.is_file() else (place,)
        if place.is_dir():
            found = [file for file in place.rglob("*") if file.suffix.lower() in _COLUMNAR]
        else:
            found = list(Path(place.anchor).glob(str(place.relative_to(place.anchor))))
        files = tuple(sorted(file for file in found if file.is_file()))
    except (OSError, ValueError, NotImplementedError):
        files = ()
    if not files:
        raise SourceError(
            f"{str(place)!r} does not exist, or holds no Parquet file: check its path"
        )
    return files


def is_several(place: Path) -> bool:
    """Whether a path stands for several files: a folder, or a pattern that is no file itself.

    Example:
        >>> is_several(Path("data/*.parquet")), is_several(Path("data.parquet"))
        (True, False)
    """
    try:
        is_pattern = re.search(r"[*?\[]", str(place)) is not None
        return place.is_dir() or (is_pattern and state_at(place) is None)
    except (OSError, ValueError):
        return False


def state_of(files: tuple[Path, ...]) -> tuple[tuple[int, ...], ...]:
    """What changes whenever one of the files is written, put in another's place or touched.

    Raises:
        SourceError: One of them cannot be read any more.
    """
    try:
        found = [file.stat() for file in files]
    except OSError:
        raise SourceError(f"{files[0].name!r} cannot be read any more: open it again") from None
    return tuple((each.st_size, each.st_mtime_ns, each.st_ctime_ns, each.st_ino) for each in found)
