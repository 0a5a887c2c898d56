"""What to call a data set that has no name yet, and how a configuration names its file."""

import re
from pathlib import Path

__all__ = ["NAME", "name_of", "source_text"]

NAME = re.compile(r"[\w-]+")
"""A name that can be typed as it stands."""


def name_of(place: Path) -> str:
    """A name for the records at a place.

    Example:
        >>> name_of(Path("Umfrage 2025 (final).csv")), name_of(Path("visits/*.parquet"))
        ('Umfrage-2025-final', 'visits')
    """
    stem = place.name.removesuffix(".gz")
    stem = stem[: -len(Path(stem).suffix)] if Path(stem).suffix else stem
    words = NAME.findall(stem) or NAME.findall(place.parent.name) or ["data"]
    return "-".join(words)


def source_text(place: Path, folder: Path) -> str:
    """The path of records as a configuration in a folder writes it."""
    below = place.is_relative_to(folder)
    return (place.relative_to(folder) if below else place).as_posix()
