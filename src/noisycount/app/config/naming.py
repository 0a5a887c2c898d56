"""What to call a data set that has no name yet, and how a configuration names its place."""

import re
from pathlib import Path

from noisycount.app.config.place import Source
from noisycount.release.register.served_table import ServedTable
from noisycount.release.sources.servers import ServerPlace

__all__ = ["NAME", "name_of", "source_text"]

NAME = re.compile(r"[\w-]+")
"""A name that can be typed as it stands."""


def name_of(place: Source) -> str:
    """A name for the records at a place.

    Example:
        >>> name_of(Path("Umfrage 2025 (final).csv")), name_of(Path("visits/*.parquet"))
        ('Umfrage-2025-final', 'visits')
    """
    if isinstance(place, ServedTable):
        table = str(place).rpartition("#")[2].rstrip("/").rpartition("/")[2]
        return "-".join(NAME.findall(table.rpartition(".")[2]) or ["data"])
    stem = place.name.removesuffix(".gz")
    stem = stem[: -len(Path(stem).suffix)] if Path(stem).suffix else stem
    words = NAME.findall(stem) or NAME.findall(place.parent.name) or ["data"]
    return "-".join(words)


def source_text(place: Source, folder: Path) -> str:
    """The path or the address of records as a configuration in a folder writes it: no password."""
    if isinstance(place, ServedTable):
        address = place.place
        return address.without_password if isinstance(address, ServerPlace) else str(place)
    below = place.is_relative_to(folder)
    return (place.relative_to(folder) if below else place).as_posix()
