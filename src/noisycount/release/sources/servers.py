"""Where records on a server or a cluster are: an address, and a table of it."""

import re
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import quote

from noisycount.errors import SourceError
from noisycount.release.sources.addresses import EXAMPLE, SPARK, Address

__all__ = ["ServerPlace", "is_server"]

_SCHEME = re.compile(r"(?P<engine>[A-Za-z][A-Za-z0-9]*)(\+[A-Za-z0-9_]+)?://")
_FILES = ("s3", "s3a", "gs", "gcs", "r2", "az", "abfss", "http", "https", "file", "sqlite")


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
        address = Address.read(text)
        if not address.table:
            raise SourceError(
                f"{address.shown!r} names no table: write it behind a #, as {EXAMPLE}"
            )
        return cls(address.url, address.table, f"{address.shown}#{address.table}")

    @property
    def engine(self) -> str:
        """What of the address says which engine answers: `postgresql`, `spark`, `sc`."""
        return self.shown.partition("://")[0]

    @property
    def is_cluster(self) -> bool:
        """Whether a cluster of Spark answers."""
        return self.engine in SPARK

    @property
    def canonical(self) -> tuple[str, ...]:
        """What is the same for two addresses of one table, as far as they tell.

        Example:
            >>> short, whole = "postgresql://ward@db/clinic#visits", "db:5432/clinic#public.visits"
            >>> whole = ServerPlace.read(f"postgresql+psycopg://{whole}")
            >>> ServerPlace.read(short).canonical == whole.canonical
            True
        """
        return self._address.canonical

    @property
    def without_password(self) -> str:
        """The address as a configuration holds it, for a password that comes from elsewhere.

        Example:
            >>> place = ServerPlace.read("postgresql://ward:secret@db/clinic?sslmode=require#visits")
            >>> place.without_password
            'postgresql://ward@db/clinic?sslmode=require#visits'
        """
        return f"{self._address.without_password}#{quote(self.table, safe='/.:')}"

    @property
    def _address(self) -> Address:
        return Address.read(f"{self.url}#{quote(self.table)}")
