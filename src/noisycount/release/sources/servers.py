"""Where records on a server or a cluster are: an address, and a table of it."""

import re
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit

from noisycount.errors import SourceError

__all__ = ["ServerPlace", "is_server"]

_SCHEME = re.compile(r"(?P<engine>[A-Za-z][A-Za-z0-9]*)(\+[A-Za-z0-9_]+)?://")
_SPARK = ("spark", "sc")
_FILES = ("s3", "s3a", "gs", "gcs", "r2", "az", "abfss", "http", "https", "file", "sqlite")
_EXAMPLE = "postgresql+psycopg://user@host/database#schema.table"


def is_server(text: str) -> bool:
    """Whether a text is the address of a server or a cluster, and no path.

    Example:
        >>> is_server("postgresql+psycopg://ward@db/clinic#visits"), is_server("visits.csv")
        (True, False)
    """
    match = _SCHEME.match(text)
    return match is not None and match["engine"].lower() not in _FILES


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """A table of a server or a cluster.

    Attributes:
        url: The address of the server, which may hold a password: never shown.
        table: Which table of it, with its schema before a dot; or a folder or an address of Parquet
            files that a cluster reads.
        shown: What messages and the ledger call it: without a password and options.
    """

    url: str = field(repr=False)
    table: str
    shown: str

    @classmethod
    def read(cls, text: str) -> Self:
        """The place that a text denotes.

        Raises:
            SourceError: It names no table, or is no address.

        Example:
            >>> ServerPlace.read("postgresql+psycopg://ward:secret@db:5433/clinic#visits").shown
            'postgresql://db:5433/clinic#visits'
        """
        url, _, table = text.partition("#")
        split = _split(url)
        engine = split.scheme.split("+")[0].lower()
        address = f"{engine}://{split.netloc.rpartition('@')[2]}{split.path.rstrip('/')}"
        if not table:
            raise SourceError(f"{address!r} names no table: write it behind a #, as {_EXAMPLE}")
        return cls(url, unquote(table), f"{address}#{unquote(table)}")

    @property
    def engine(self) -> str:
        """What of the address says which engine answers: `postgresql`, `spark`, `sc`."""
        return self.shown.partition("://")[0]

    @property
    def is_cluster(self) -> bool:
        """Whether a cluster of Spark answers."""
        return self.engine in _SPARK


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise SourceError(
            f"the address of the server cannot be read: write it as {_EXAMPLE}"
        ) from None
