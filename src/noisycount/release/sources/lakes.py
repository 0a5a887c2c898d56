"""Where Parquet files on an object store are: an address, which may be a folder or a pattern."""

import re
from dataclasses import dataclass, field
from typing import Self

from noisycount.errors import SourceError

__all__ = ["LakePlace", "is_lake"]

_SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "http", "https")
_SAME = {"s3a": "s3", "gcs": "gs", "abfss": "abfs"}
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z0-9]+)://(?P<rest>[^?#]+)(\?[^#]*)?")


def is_lake(text: str) -> bool:
    """Whether a text is an address of files on an object store or a server of files.

    Example:
        >>> is_lake("s3://bucket/visits/*.parquet"), is_lake("visits/*.parquet")
        (True, False)
    """
    return text.partition("://")[0].lower() in _SCHEMES and "://" in text


@dataclass(frozen=True, slots=True)
class LakePlace:
    """Parquet files on an object store.

    Attributes:
        url: Their address, which may hold a signature: never shown.
        shown: What messages and the ledger call them: without what logs in.
    """

    url: str = field(repr=False)
    shown: str

    @classmethod
    def read(cls, text: str) -> Self:
        """The place that a text denotes.

        Raises:
            SourceError: It is no such address.

        Example:
            >>> LakePlace.read("https://files.example.org/visits.parquet?signature=x").shown
            'https://files.example.org/visits.parquet'
        """
        match = _ADDRESS.fullmatch(text)
        if match is None or not match["rest"].strip("/"):
            raise SourceError(
                "the address of the files cannot be read: write it as s3://bucket/visits/*.parquet"
            )
        scheme, rest = match["scheme"].lower(), match["rest"]
        if scheme in {"http", "https"}:
            rest = rest.rpartition("@")[2]
        return cls(text, f"{scheme}://{rest}")

    @property
    def canonical(self) -> tuple[str, ...]:
        """What is the same for two addresses of the same files, as far as they tell."""
        scheme, _, rest = self.shown.partition("://")
        folder = re.sub(r"(/\*\*)?(/\*\.(parquet|pq))?/*$", "", rest)
        return (_SAME.get(scheme, scheme), folder if folder.strip("/") else rest)
