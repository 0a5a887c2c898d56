"""What is written with an answer, in the transaction that stores it."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from noisycount.release.ledger.book import Book

__all__ = ["Enclosure"]


@dataclass(slots=True, eq=False)
class Enclosure:
    """What goes with one answer, which is stored with it or not at all.

    Attributes:
        write: Writes it beside the ledger's rows, and the row that holds its digest; tells whether
            it could.
        is_written: Whether it was committed.
    """

    write: Callable[[Connection, Book], bool]
    is_written: bool = False
