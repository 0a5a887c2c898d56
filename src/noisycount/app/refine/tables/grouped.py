"""Rows with keys as a table of levels: by the names of their levels, or by what is empty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from noisycount.app.refine.tables.published import PublishedLevel, Rows
from noisycount.errors import NoisyCountError
from noisycount.model.mechanism import Mechanism
from noisycount.model.tables.margins import TOTAL
from noisycount.shown.label import ALL_KEYS, OTHER_KEYS, label_text

__all__ = ["OTHER", "GroupedRows", "grouped_by_empty", "grouped_by_name"]

OTHER = "other"
"""What `count --by` calls the level of the cell of all other keys."""

_RANGES = "ranges of "
Key = int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """The rows of a table, level by level.

    Attributes:
        keys: What people read for the keys of each row.
        levels: For each level, the cells first: its name, its rows, its key columns.
        of_cell: For each level of ranges the range that each cell is in.
    """

    keys: Sequence[tuple[str, ...]] = field(repr=False)
    levels: Sequence[tuple[str, Rows, tuple[int, ...]]]
    of_cell: Mapping[str, Rows] = field(default_factory=dict, repr=False)

    def with_noises(self, noises: Sequence[Mechanism], place: str) -> tuple[PublishedLevel, ...]:
        """The levels, each with its noise.

        Args:
            noises: One for each level, in their order.
            place: Where the table is, for a refusal.

        Raises:
            NoisyCountError: There are not as many as levels.
        """
        if len(noises) != len(self.levels):
            names = "; ".join(name for name, _, _ in self.levels)
            number = "one level" if len(self.levels) == 1 else f"{len(self.levels)} levels"
            given = "1 is given" if len(noises) == 1 else f"{len(noises)} are given"
            given = given if noises else "the file does not say them"
            raise NoisyCountError(
                f"{place} needs the noise of {number} ({names}), and {given}: "
                "give --epsilon, or --noise and --scale, once for each in this order"
            )
        return tuple(
            PublishedLevel(name, rows, noise, columns, self.of_cell.get(name))
            for (name, rows, columns), noise in zip(self.levels, noises, strict=True)
        )


def grouped_by_name(keys: Sequence[Sequence[Key]], names: Sequence[str]) -> GroupedRows:
    """Rows by the names of their levels, as `count --by` writes them.

    Args:
        keys: Those of each row; None where its level sums over the column, and for missing values.
        names: The level of each row, that of the cells first.

    Example:
        >>> found = grouped_by_name([("a",), (None,), (None,)], ["town", "town", "total"])
        >>> found.keys, [name for name, _, _ in found.levels]
        ([('a',), ('(missing)',), ('all',)], ['town', 'total'])
    """
    first = names[0] if names else ""
    places: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        places.setdefault(first if name == OTHER else name, []).append(row)
    levels: list[tuple[str, Rows, tuple[int, ...]]] = []
    texts: list[tuple[str, ...]] = [()] * len(keys)
    ranges: dict[str, Rows] = {}
    for name, rows in places.items():
        is_range = name.startswith(_RANGES) and name != first
        kept = () if is_range else _kept([keys[row] for row in rows], is_cells=name == first)
        for row in rows:
            texts[row] = _texts(keys[row], kept, is_other=names[row] == OTHER, is_range=is_range)
        if is_range:
            ranges[name] = np.arange(len(places[first])) // int(name.removeprefix(_RANGES))
        levels.append((name, np.array(rows, dtype=np.int64), kept))
    return GroupedRows(texts, levels, ranges)


def grouped_by_empty(keys: Sequence[Sequence[str | None]], names: Sequence[str]) -> GroupedRows:
    """Rows by the columns in which they have keys: a sum runs over what is empty.

    Args:
        keys: Those of each row.
        names: Of the key columns.

    Raises:
        NoisyCountError: No row has all keys.

    Example:
        >>> rows = [("a", "m"), ("a", "f"), ("a", None), (None, None)]
        >>> [name for name, _, _ in grouped_by_empty(rows, ["town", "sex"]).levels]
        ['town,sex', 'town', 'total']
    """
    found: dict[tuple[int, ...], list[int]] = {tuple(range(len(names))): []}
    for row, cells in enumerate(keys):
        kept = tuple(place for place, key in enumerate(cells) if key is not None)
        found.setdefault(kept, []).append(row)
    if not next(iter(found.values())):
        raise NoisyCountError(
            f"no row has a key in each of {', '.join(names)}: name columns that every cell has"
        )
    levels = [
        (",".join(names[at] for at in kept) or TOTAL, np.array(rows, dtype=np.int64), kept)
        for kept, rows in found.items()
    ]
    texts = [tuple(ALL_KEYS if key is None else key for key in cells) for cells in keys]
    return GroupedRows(texts, levels)


def _kept(keys: Sequence[Sequence[Key]], *, is_cells: bool) -> tuple[int, ...]:
    """The columns that tell the counts of a level apart."""
    columns = range(len(keys[0]))
    if is_cells:
        return tuple(columns)
    return tuple(at for at in columns if any(row[at] is not None for row in keys))


def _texts(
    keys: Sequence[Key], kept: Sequence[int], *, is_other: bool, is_range: bool
) -> tuple[str, ...]:
    """What people read for the keys of one row."""
    if is_other:
        return (OTHER_KEYS,) * len(keys)
    if is_range:
        return tuple(map(label_text, keys))
    return tuple(label_text(key) if at in kept else ALL_KEYS for at, key in enumerate(keys))
