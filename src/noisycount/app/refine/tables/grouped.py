"""Rows with keys as a table of levels: by the names of their levels, or by what is empty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from noisycount.app.refine.tables.published import PublishedLevel, Rows
from noisycount.errors import NoisyCountError
from noisycount.model.mechanism import Mechanism
from noisycount.model.tables.margins import OTHER, TOTAL
from noisycount.model.tables.ranges import RANGES
from noisycount.shown.label import ALL_KEYS, OTHER_KEYS, label_text, summed_texts

__all__ = ["GroupedRows", "grouped_by_empty", "grouped_by_name"]

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


def grouped_by_name(
    keys: Sequence[Sequence[Key]],
    levels: Sequence[str],
    columns: Sequence[str],
    *,
    is_hidden: bool = False,
) -> GroupedRows:
    """Rows by the names of their levels, as `count --by` writes them.

    Args:
        keys: Those of each row; None where its level sums over the column, and for missing values.
        levels: The level of each row, that of the cells first.
        columns: The names of the key columns.
        is_hidden: Whether only the records know the keys, so that the total is of all of them.

    Example:
        >>> rows = [("a",), (None,), (None,)]
        >>> found = grouped_by_name(rows, ["town", "town", "total"], ["town"])
        >>> found.keys, [name for name, _, _ in found.levels]
        ([('a',), ('(missing)',), ('all of a, (missing)',)], ['town', 'total'])
    """
    first, other = levels[0] if levels else "", None if OTHER in columns else OTHER
    places: dict[str, list[int]] = {}
    for row, name in enumerate(levels):
        places.setdefault(first if name == other else name, []).append(row)
    cells = [row for row in places.get(first, []) if levels[row] != other]
    is_whole = is_hidden or len(cells) < len(places.get(first, []))
    found: list[tuple[str, Rows, tuple[int, ...]]] = []
    texts = [(OTHER_KEYS,) * len(columns) for _ in keys]
    ranges: dict[str, Rows] = {}
    for name, rows in places.items():
        named = tuple(range(len(columns))) if name == first else _kept(name, columns)
        kept = named or ()
        own = cells if name == first else rows
        told = [tuple(map(label_text, keys[row])) for row in own]
        if named is None and name.startswith(RANGES):
            ranges[name] = np.arange(len(cells)) // int(name.removeprefix(RANGES))
        elif name != first:
            kept = _differing([keys[row] for row in rows]) if named is None else named
            below = [] if is_whole and not kept else [keys[row] for row in cells]
            told = _sums([keys[row] for row in rows], below, kept)
        for row, text in zip(own, told, strict=True):
            texts[row] = text
        found.append((name, np.array(rows, dtype=np.int64), kept))
    return GroupedRows(texts, found, ranges)


def grouped_by_empty(
    keys: Sequence[Sequence[str | None]], names: Sequence[str], *, is_hidden: bool = False
) -> GroupedRows:
    """Rows by the columns in which they have keys: a sum runs over what is empty.

    Args:
        keys: Those of each row.
        names: Of the key columns.
        is_hidden: Whether only the records know the keys, so that the total is of all of them.

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
    listed = [keys[row] for row in levels[0][1].tolist()]
    texts: list[tuple[str, ...]] = [()] * len(keys)
    for _, rows, kept in levels:
        below = [] if is_hidden and not kept else listed
        for row, text in zip(
            rows.tolist(), _sums([keys[at] for at in rows], below, kept), strict=True
        ):
            texts[row] = text
    return GroupedRows(texts, levels)


def _kept(level: str, columns: Sequence[str]) -> tuple[int, ...] | None:
    """The columns that a level of sums keeps, by its name; None where it is called otherwise."""
    if level == TOTAL and TOTAL not in columns:
        return ()
    for number in range(1, len(columns)):
        for kept in combinations(range(len(columns)), number):
            if ",".join(columns[at] for at in kept) == level:
                return kept
    return None


def _differing(keys: Sequence[Sequence[Key]]) -> tuple[int, ...]:
    """The columns in which a level has keys."""
    return tuple(at for at in range(len(keys[0])) if any(row[at] is not None for row in keys))


def _sums(
    sums: Sequence[Sequence[Key]], cells: Sequence[Sequence[Key]], kept: Sequence[int]
) -> list[tuple[str, ...]]:
    """What people read for the keys of each sum of a level; of no listed cell "all"."""
    over = [at for at in range(len(sums[0])) if at not in kept]
    found = summed_texts(
        (tuple(cell[at] for at in kept), [cell[at] for at in over]) for cell in cells
    )
    told = []
    for own in sums:
        texts = found.get(tuple(own[at] for at in kept), (ALL_KEYS,) * len(over))
        both = {at: label_text(own[at]) for at in kept} | dict(zip(over, texts, strict=True))
        told.append(tuple(both[at] for at in range(len(own))))
    return told
