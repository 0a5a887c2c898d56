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
    """
    choice = choices.get(path.suffix.lower())
    if choice is None:
        raise SourceError(
            f"{str(path)!r} has the unknown extension {path.suffix!r}: use {', '.join(choices)}"
        )
    return choice
