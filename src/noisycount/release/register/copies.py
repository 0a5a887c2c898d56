"""Copies of texts that were read once, as Parquet files that only their owner may read."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from noisycount.errors import SourceError
from noisycount.release.presence import state_at

__all__ = ["Copies", "Copy", "discard"]

_NAME = re.compile(r"\.?(?P<dataset>[0-9a-f]{16})-[0-9a-f]{64}\.parquet(\..*\.part)?")


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the records of a data set.

    Attributes:
        dataset: What the ledger calls it; None: no data set that was asked for.
        path: Where it lies.
        size: How many bytes it has.
        made: When it was made, in UTC.
    """

    dataset: str | None
    path: Path
    size: int
    made: datetime


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies in the folder beside a ledger.

    Attributes:
        folder: It need not be there.
    """

    folder: Path

    def place(self, dataset: str, reading: str) -> Path:
        """Where the copy of a data set lies, read so.

        Args:
            dataset: What the ledger calls it.
            reading: What tells the copy from others of the same data set.
        """
        return self.folder / f"{_stem(dataset)}-{reading}.parquet"

    def draft(self, dataset: str) -> Path:
        """Where this process leaves a copy of a data set before it is known what it is of."""
        return self.place(dataset, hashlib.sha256(f"{os.getpid()}".encode()).hexdigest())

    def all(self, datasets: Iterable[str] = ()) -> Iterator[Copy]:
        """The copies that lie there.

        Args:
            datasets: What the ledger calls those whose copies are to be named.

        Raises:
            SourceError: The folder cannot be read.
        """
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

        Args:
            dataset: What the ledger calls it.
            but: One that is kept.

        Raises:
            SourceError: One cannot be removed.
        """
        return discard(c for c in self.all([dataset]) if c.dataset and c.path != but)


def discard(copies: Iterable[Copy]) -> int:
    """Remove copies; give how many there were.

    Raises:
        SourceError: One cannot be removed.
    """
    found = [copy.path for copy in copies]
    for path in found:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise SourceError(
                f"{str(path)!r} cannot be removed ({error.strerror}): remove it yourself"
            ) from None
    return len(found)


def _stem(dataset: str) -> str:
    """What the names of a data set's copies begin with."""
    return hashlib.sha256(dataset.encode()).hexdigest()[:16]
