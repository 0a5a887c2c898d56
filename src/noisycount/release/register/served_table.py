"""A table of a server, or files of a lake, with all that its owner says of how it is counted."""

import hashlib
import json
from dataclasses import dataclass

from noisycount.release.sources.lakes import LakePlace
from noisycount.release.sources.servers import ServerPlace

__all__ = ["SECONDS", "ServedTable"]

SECONDS = 600.0
"""After so many seconds a count is given up where its owner says nothing else."""


@dataclass(frozen=True, slots=True)
class ServedTable:
    """A table of a server or a cluster, or Parquet files on an object store.

    Attributes:
        place: Where it is.
        edition: What its owner calls the records as they are now; None: nothing. A table that
            changes all the time has no content of its own: an answer holds until another edition.
        seconds: After which a count is given up.
        uses_indexes: Whether a count may take indexes, which is faster, and whose time tells how
            many records match.
    """

    place: ServerPlace | LakePlace
    edition: str | None = None
    seconds: float = SECONDS
    uses_indexes: bool = False

    def __str__(self) -> str:
        return self.place.shown

    @property
    def digest(self) -> str:
        """The SHA-256 of where it is, in hexadecimal digits: the same for two names of it."""
        return hashlib.sha256(json.dumps(self.place.canonical).encode("ascii")).hexdigest()
