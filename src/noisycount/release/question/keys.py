"""Which groups a table has: the keys that everybody knows, and the counts that a source gives."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noisycount.model.tables.levels import Level
from noisycount.model.tables.levels import Codes
from noisycount.release.question.grouping import Key, Part
from noisycount.release.question.tree import Predicate

__all__ = ["MOST_CELLS", "CellQuestion", "Codes", "KeyCounts", "KeyQuestion", "KeySet"]

MOST_CELLS = 1_000_000



@dataclass(frozen=True, eq=False)
class KeySet:
    """The cells of a table: combinations of keys, one of each part.

    Args:
        parts: what the table is grouped by.
        values: the keys of each part, each once.
        codes: the places of each cell's keys among the values, shape (cells, parts); no two rows
            are alike.
    """

    parts: tuple[Part, ...]
    values: tuple[tuple[Key, ...], ...]
    codes: Codes = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def is_grid(self) -> bool:
        """Whether it has every combination of its values, in order."""
        sizes = [len(values) for values in self.values]
        if len(self) != int(np.prod(sizes)):
            return False
        grid = np.indices(sizes).reshape(len(sizes), -1).T
        return bool((self.codes == grid).all())

    def key(self, cell: int) -> tuple[Key, ...]:
        """The keys of a cell."""
        return tuple(
            values[code] for values, code in zip(self.values, self.codes[cell], strict=True)
        )


@dataclass(frozen=True, eq=False)
class CellQuestion:
    """What a source counts for a table whose keys are known.

    A unit is in a cell where at least one of its records that match has the keys of the cell. The
    last cell, if ``has_other``, is that of records with any other keys.

    Args:
        keys: the cells.
        where: which records match; None: all.
        levels: what is counted, "other" included as the last cell of each.
            A unit is in a node where it is in at least one of its cells.
        has_other: whether other keys are a cell.
        most: in how many cells a unit is at most: it is left in those with the smallest keyed
            hashes of unit and cell; None: in all that it is in.
        salt: the key of that hash.
    """

    keys: KeySet
    where: Predicate | None
    levels: tuple[Level, ...]
    has_other: bool = False
    most: int | None = None
    salt: str = ""

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.keys) + self.has_other


@dataclass(frozen=True, slots=True)
class KeyQuestion:
    """What a source counts for a table whose keys only the records know.

    Args:
        parts: what the table is grouped by.
        where: which records match; None: all.
        most: in how many groups a unit is at most, as for ``CellQuestion``.
        salt: the key of that hash.
    """

    parts: Sequence[Part]
    where: Predicate | None
    most: int | None = None
    salt: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class KeyCounts:
    """Some groups that have units, and how many each has.

    Args:
        keys: the keys of each group, one of each part.
        counts: how many units each has, at least one; shape (groups,).
    """

    keys: list[tuple[Key, ...]]
    counts: NDArray[np.int64]
