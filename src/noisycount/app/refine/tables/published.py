"""A table of noisy counts as somebody published it: its rows, and the noise of each level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisycount.model.laws.expansion import Reals
from noisycount.model.mechanism import Mechanism
from noisycount.shown.columns import Cells

__all__ = ["PublishedLevel", "PublishedTable", "Rows"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedLevel:
    """Counts of which no two share a cell: the cells themselves, or sums of them.

    Attributes:
        name: What a reader calls it, such as "town" or "total".
        rows: The places of its counts among the rows of the table.
        mechanism: The noise of each.
        columns: The places of the key columns that tell its counts apart; none for the total.
        of_cell: The count that each cell is a part of, where ranges of cells were summed; None:
            the keys tell.
    """

    name: str
    rows: Rows = field(repr=False)
    mechanism: Mechanism
    columns: tuple[int, ...] = ()
    of_cell: Rows | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class PublishedTable:
    """A table of noisy counts, row by row.

    Attributes:
        subject: What was counted, and where that was read.
        names: Of the key columns.
        keys: The texts of the keys of each row; "all" where a level sums over a column.
        answers: Of each row; nan where there is none; shape (rows,).
        levels: The cells first.
        below: For each row with no answer the number that its answer is below; nan: there is none;
            shape (rows,).
        columns: What the table says of each row already, for a file.
        is_hierarchy: Whether each key column divides the one before, as county and town do.
        is_selected: Whether only answers from some threshold on were published.
        notes: What a reader should know of it.
        unit: What was counted, in the plural; "count": nobody says.
    """

    subject: str
    names: tuple[str, ...]
    keys: Sequence[tuple[str, ...]] = field(repr=False)
    answers: Reals = field(repr=False)
    levels: tuple[PublishedLevel, ...]
    below: Reals = field(repr=False)
    columns: Mapping[str, Cells] = field(repr=False)
    is_hierarchy: bool = False
    is_selected: bool = False
    notes: tuple[str, ...] = ()
    unit: str = "count"

    @property
    def cells(self) -> PublishedLevel:
        """The finest level."""
        return self.levels[0]
