"""What files hold, told by a hash: touched, copied or renamed, they hold the same.

Copies of texts that were read once, as Parquet files that only their owner may read.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from noisycount.catalog.record import write_private
from noisycount.engines.places import state_of
from noisycount.errors import SourceError
from noisycount.frozen import frozen
from noisycount.validation import state_at

_FILE = "contents.json"
_KEPT = 1000  # places, the newest: a few hundred bytes each
_SETTLED = 2.0  # seconds: a file written again within a tick of the disk's clock keeps its state


@frozen
class Content:
    """What some files held at one moment."""

    files: tuple[Path, ...]  # where they lie
    state: tuple[tuple[int, ...], ...]  # their sizes and times then
    digest: str  # the SHA-256 of what they held, in hexadecimal digits

    @property
    def former_versions(self) -> tuple[str, ...]:
        """What one file was known by before its content was hashed: its size and its time."""
        return tuple(f"{each[0]}-{each[1]}" for each in self.state) if len(self.state) == 1 else ()

    def require_same(self) -> None:
        """The refusal of files that may hold something else by now."""
        if state_of(self.files) != self.state:
            raise SourceError(f"{self.files[0].name!r} changed while it was open: open it again")


@frozen
class Contents:
    """What was found in files, so that none is read again only to see that it is the same."""

    folder: Path | None = None  # where it is remembered; None: nowhere

    def of(self, files: tuple[Path, ...]) -> Content:
        """What the files hold.

        A file is known again by its name, its size, its inode and both of its times. What was
        written within the last two seconds is read again the next time: a disk's clock has ticks.
        """
        state, now = state_of(files), time.time()
        known = self._remembered()
        place = "\n".join(map(str, files))
        match known.get(place):
            case [_, str(digest), _] as found if found == _remembering(place, state, digest):
                return Content(files, state, digest)
        content = Content(files, state, _digest(files))
        content.require_same()
        newest = max(max(each[1], each[2]) for each in state) / 1e9
        if self.folder is not None and newest + _SETTLED < now:
            known.pop(place, None)
            kept = {
                **dict(list(known.items())[-_KEPT:]),
                place: _remembering(place, state, content.digest),
            }
            with suppress(OSError):  # what cannot be remembered is read again
                write_private(self.folder / _FILE, json.dumps(kept).encode())
        return content

    def _remembered(self) -> dict[str, list[object]]:
        """The state and the digest that the files of each place had; nothing where none is kept."""
        if self.folder is None:
            return {}
        try:
            known = json.loads((self.folder / _FILE).read_bytes())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}


def _remembering(place: str, state: tuple[tuple[int, ...], ...], digest: str) -> list[object]:
    """What is kept of a place, with a sum that tells where a byte of it changed."""
    said = [[list(each) for each in state], digest]
    return [*said, hashlib.sha256(json.dumps([place, *said]).encode("ascii")).hexdigest()]


def _digest(files: tuple[Path, ...]) -> str:
    """The SHA-256 of one file, or of those of several, whatever their names and order are."""
    try:
        found = []
        for file in files:
            with file.open("rb") as opened:
                found.append(hashlib.file_digest(opened, "sha256").hexdigest())
    except OSError:
        shown = repr(str(files[0]))
        raise SourceError(f"{shown} cannot be read: check its path and permissions") from None
    if len(found) == 1:
        return found[0]
    return hashlib.sha256(" ".join(sorted(found)).encode("ascii")).hexdigest()


_NAME = re.compile(r"\.?(?P<dataset>[0-9a-f]{16})-[0-9a-f]{64}\.parquet(\..*\.part)?")


@frozen
class Copy:
    """A copy of the records of a data set."""

    dataset: str | None  # what the ledger calls it; None: no data set that was asked for
    path: Path  # where it lies
    size: int  # how many bytes it has
    made: datetime  # when it was made, in UTC


@frozen
class Copies:
    """The copies in the folder beside a ledger."""

    folder: Path  # it need not be there

    def place(self, dataset: str, reading: str) -> Path:
        """Where the copy of a data set lies, read so."""
        return self.folder / f"{_stem(dataset)}-{reading}.parquet"

    def draft(self, dataset: str) -> Path:
        """Where this process leaves a copy of a data set before it is known what it is of."""
        return self.place(dataset, hashlib.sha256(f"{os.getpid()}".encode()).hexdigest())

    def all(self, datasets: Iterable[str] = ()) -> Iterator[Copy]:
        """The copies that lie there."""
        names = {_stem(dataset): dataset for dataset in datasets}
        try:
            is_there = state_at(self.folder) is not None
            for path in sorted(self.folder.iterdir()) if is_there else ():
                if match := _NAME.fullmatch(path.name):
                    state = path.stat()
                    made = datetime.fromtimestamp(state.st_mtime, UTC)
                    yield Copy(names.get(match["dataset"]), path, state.st_size, made)
        except OSError as error:
            raise SourceError(f"{str(self.folder)!r} cannot be read: {error.strerror}") from None

    def remove(self, dataset: str, but: Path | None = None) -> int:
        """Remove the copies of a data set; give how many there were.

        They are made again by the next question that needs them.
        """
        return discard(c for c in self.all([dataset]) if c.dataset and c.path != but)


def discard(copies: Iterable[Copy]) -> int:
    """Remove copies; give how many there were."""
    found = [copy.path for copy in copies]
    for path in found:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise SourceError(f"{str(path)!r} cannot be removed ({error.strerror}): remove it yourself") from None
    return len(found)


def _stem(dataset: str) -> str:
    """What the names of a data set's copies begin with."""
    return hashlib.sha256(dataset.encode()).hexdigest()[:16]
