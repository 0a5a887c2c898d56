"""What the ending of a file decides."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from noisycount.errors import SourceError

__all__ = ["by_ending"]

Choice = TypeVar("Choice")


def by_ending(path: Path, choices: Mapping[str, Choice]) -> Choice:
    """The choice for a file of this ending, in whatever case.

    Raises:
        SourceError: There is none.

    Example:
        >>> by_ending(Path("answers.PQ"), {".csv": "text", ".pq": "columns"})
        'columns'
        >>> by_ending(Path("answers.csv.gz"), {".csv": "text", ".csv.gz": "packed text"})
        'packed text'
    """
    packed = path.suffix.lower() == ".gz"
    ending = "".join(path.suffixes[-2:]) if packed else path.suffix
    choice = choices.get(ending.lower())
    if choice is None:
        raise SourceError(
            f"{str(path)!r} has the unknown extension {ending!r}: use {', '.join(choices)}"
        )
    return choice
