"""Keys that somebody lists as the rows of a table of pandas, Polars or Arrow.

The cells of a table, from the keys that an asker lists.

What a reader sees of the keys of a table.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date
from itertools import islice
from math import prod
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.texts import ALL_KEYS, OTHER_KEYS, label_text, listed_text, summed_texts
from noisycount.display.values import short
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.model.tables.levels import Codes, Level, range_bounds
from noisycount.query.grouping import MOST_CELLS, Key, KeySet, Part

__all__ = [
    "Keys",
    "Label",
    "TableLabels",
    "found_keys",
    "in_one_order",
    "key_set",
    "written_key",
    "written_keys",
]


def is_frame(keys: object) -> bool:
    """Whether keys are a table with named columns."""
    return hasattr(keys, "columns") and hasattr(keys, "__getitem__")


def rows_of_frame(keys: Any, parts: Sequence[Part]) -> list[tuple[object, ...]]:  # noqa: ANN401
    """The keys of each cell, in the order of the parts; NaN stands for missing values, too.

    Args:
        keys: a table whose columns are those that the table is grouped by.
        parts: what it is grouped by.

    Raises:
        PredicateError: its columns are others.
    """
    names = list(map(str, getattr(keys, "column_names", keys.columns)))
    wanted = [part.column.name for part in parts]
    if sorted(names) != sorted(wanted):
        raise PredicateError(
            f"keys have the columns {', '.join(names)[:80]}: give a table of {', '.join(wanted)}"
        )
    return list(zip(*(_values(keys[name]) for name in wanted), strict=True))


def _values(column: Any) -> list[object]:  # noqa: ANN401 - of any library
    """The values of a column in types of Python."""
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return [None if value != value else value for value in values]  # noqa: PLR0124 - NaN


Keys: TypeAlias = Mapping[str, Iterable[object]] | Iterable[object]


"""The keys of each column, by its name; or the keys of each cell."""


def key_set(parts: Sequence[Part], keys: Keys | None) -> KeySet:
    """The cells that are asked for, in the order in which they are.

    Args:
        parts: what the table is grouped by.
        keys: the keys of each part by the name of its column, every combination of which is a cell;
            or one sequence of keys a cell (of a single part the keys themselves), or a table of
            pandas, Polars or Arrow with a row a cell. Ranges of numbers and booleans need none.

    Raises:
        PredicateError: keys are missing, stand twice or are of another kind, a name is none of the
            parts, or there are too many cells.

    Example:
        >>> from noisycount.query.grouping import Plain
        >>> from noisycount.query.predicate import Column
        >>> from noisycount.query.schema import Kind
        >>> town, poor = Plain(Column("town", Kind.TEXT)), Plain(Column("poor", Kind.BOOLEAN))
        >>> cells = key_set([town, poor], {"town": ["a", "b"]})
        >>> [cells.key(cell) for cell in range(len(cells))]
        [('a', False), ('a', True), ('b', False), ('b', True)]
    """
    if isinstance(keys, str | bytes):
        raise PredicateError(f"keys must be a list, or lists by column, got {short(keys)}")
    if keys is None or isinstance(keys, Mapping):
        return _grid(parts, keys or {})
    if is_frame(keys):
        return _listed(parts, rows_of_frame(keys, parts))
    return _listed(parts, list(keys))


def _grid(parts: Sequence[Part], keys: Mapping[str, Iterable[object]]) -> KeySet:
    """Every combination of the keys of the parts."""
    listed = {_part_named(name, parts): given for name, given in keys.items()}
    values = tuple(_values_key_sets(part, listed.get(part)) for part in parts)
    sizes = [len(each) for each in values]
    _require_few(prod(sizes))
    codes = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1).T
    return KeySet(tuple(parts), values, np.ascontiguousarray(codes))


def _part_named(name: str, parts: Sequence[Part]) -> Part:
    """The part that keys are listed for.

    Raises:
        PredicateError: there is none of that name.
    """
    for part in parts:
        if name in {part.text, part.column.name}:
            return part
    names = ", ".join(part.column.name for part in parts)
    raise PredicateError(f"keys name {short(name)}, which is not in by: give keys of {names}")


def _values_key_sets(part: Part, listed: Iterable[object] | None) -> tuple[Key, ...]:
    """The keys of one part, each once."""
    if listed is None and part.implied is not None:
        return part.implied
    if listed is None or isinstance(listed, str | bytes):
        raise PredicateError(
            f"keys of {part.text} are missing: list them, --keys {part.column.name}=a,b,c (in "
            "Python keys=)"
        )
    values = [part.checked(_plain(key)) for key in listed]
    if values == [None] and part.implied is not None:
        return (*part.implied, None)
    if not values:
        raise PredicateError(f"keys of {part.text} are none: list at least one")
    _require_single(part.text, values)
    return tuple(values)


def _listed(parts: Sequence[Part], keys: Sequence[object]) -> KeySet:
    """The cells whose keys are listed one by one."""
    _require_few(len(keys))
    if not keys:
        raise PredicateError("keys are none: list at least one cell")
    cells = _coded(
        parts, [_row(parts, key) for key in keys], lambda part, key: part.checked(_plain(key))
    )
    first = np.unique(cells.codes, axis=0, return_index=True)[1]
    if len(first) < len(keys):
        twice = min(set(range(len(keys))) - set(first.tolist()))
        raise _twice("the table", cells.key(twice))
    return cells


def _plain(key: object) -> object:
    """A key in Python's own types."""
    return key.item() if isinstance(key, np.generic) else key


def _row(parts: Sequence[Part], key: object) -> Sequence[object]:
    """The keys of one cell, as they were listed."""
    given: Sequence[object] = key if isinstance(key, tuple | list) else (key,)
    if len(given) != len(parts):
        names = ", ".join(part.column.name for part in parts)
        raise PredicateError(f"keys have {short(key)}: give one key for each of {names}")
    return given


def _coded(
    parts: Sequence[Part],
    rows: Sequence[Sequence[object]],
    read: Callable[[Part, object], Key],
) -> KeySet:
    """Cells of which each different key is read once."""
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in parts]
    values, codes = [], np.zeros((len(rows), len(parts)), dtype=np.int32)
    for number, (part, column) in enumerate(zip(parts, columns, strict=True)):
        written = [(type(key), key) for key in column]
        places: dict[Key, int] = {}
        try:
            of_key = {
                each: places.setdefault(read(part, each[1]), len(places))
                for each in dict.fromkeys(written)
            }
        except TypeError:
            raise PredicateError(f"keys of {part.text} must be single values, not lists") from None
        codes[:, number] = [of_key[each] for each in written]
        values.append(tuple(places))
    return KeySet(tuple(parts), tuple(values), codes)


def _require_single(whose: str, keys: Sequence[Hashable]) -> None:
    """The refusal of a key that is listed twice."""
    if len(set(keys)) < len(keys):
        raise _twice(whose, Counter(keys).most_common(1)[0][0])


def _twice(whose: str, key: object) -> PredicateError:
    return PredicateError(f"keys of {whose} have {short(key)} twice: list each once")


def _require_few(cells: int) -> None:
    """The refusal of a table that is too large."""
    if cells > MOST_CELLS:
        raise PredicateError(
            f"the table has {cells:,} cells, more than {MOST_CELLS:,}: list fewer keys"
        )


def in_one_order(keys: KeySet) -> tuple[KeySet, NDArray[np.int64]]:
    """The same cells in an order that does not depend on how they were listed.

    Returns:
        The cells, and for each cell of `keys` its place among them.
    """
    ranks = [_ranks(values) for values in keys.values]
    values = tuple(
        tuple(each[place] for place in np.argsort(rank))
        for each, rank in zip(keys.values, ranks, strict=True)
    )
    codes: Codes = np.stack(
        [rank[keys.codes[:, place]] for place, rank in enumerate(ranks)], axis=1
    ).astype(np.int32)
    order = np.lexsort(codes.T[::-1])
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return KeySet(keys.parts, values, np.ascontiguousarray(codes[order])), places


def _ranks(values: Sequence[Key]) -> NDArray[np.int64]:
    """The place of each value among all, sorted; missing values come last."""
    order = sorted(range(len(values)), key=lambda place: _sorting(values[place]))
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.arange(len(values))
    return ranks


def _sorting(key: Key) -> tuple[bool, object]:
    """What keys of one part are sorted by."""
    return (key is None, 0 if key is None else key)


def written_keys(keys: KeySet) -> dict[str, object]:
    """What a ledger keeps of the cells, in one form."""
    written = [[written_key(key) for key in values] for values in keys.values]
    if keys.is_grid:
        return {"grid": written}
    return {"values": written, "cells": keys.codes.tolist()}


def found_keys(parts: Sequence[Part], stored: Sequence[Sequence[object]]) -> KeySet:
    """The cells that records brought to light, from what a ledger keeps of their keys."""
    return _coded(parts, stored, _read)


def written_key(key: Key) -> int | str | bool | None:
    """A key in the types of JSON."""
    return key.isoformat() if isinstance(key, date) else key


def _read(part: Part, key: object) -> Key:
    """A key from the types of JSON."""
    is_day = isinstance(key, str) and part.column.kind.value == "date"
    return date.fromisoformat(key) if is_day else key  # type: ignore[arg-type, return-value]


Label: TypeAlias = int | str | bool | None


@frozen
class TableLabels:
    """What a reader sees of the keys of a table.

    Attributes:
        names: What the table is grouped by.
        values: The labels of the keys of each part.
        cells: The places of each cell's keys among them, shape (cells, parts); None: there are no
            sums over parts.
        is_hidden: Whether only the records know the keys, so that the total is of them all.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Label, ...], ...]
    cells: Codes | None = field(default=None, repr=False, compare=False)
    is_hidden: bool = False

    @classmethod
    def of_keys(cls, keys: KeySet, *, is_hidden: bool = False) -> Self:
        """The labels of the keys of a table."""
        return cls(
            tuple(part.column.name for part in keys.parts),
            tuple(
                tuple(part.label(key) for key in values)
                for part, values in zip(keys.parts, keys.values, strict=True)
            ),
            keys.codes,
            is_hidden,
        )

    def of(self, level: Level) -> Iterator[tuple[Label, ...]]:
        """The labels of each node; None where a part is summed over, and for missing values."""
        if level.codes is None:
            (values,) = self.values
            for first, last in range_bounds(level).tolist():
                yield (f"{values[first]} … {values[last]}",)
            return
        for codes in level.codes.tolist():
            yield tuple(
                None if code < 0 else values[code]
                for values, code in zip(self.values, codes, strict=True)
            )
        for _ in range(level.size - len(level.codes)):
            yield (None,) * len(self.names)

    def texts(self, level: Level, node: int) -> tuple[str, ...]:
        """What people read for the keys of one node; where a part is summed over, of which keys."""
        if level.codes is None:
            return tuple(map(str, next(islice(self.of(level), node, None))))
        return self._texts(level, level.codes, [node])[0]

    def all_texts(self, level: Level) -> list[tuple[str, ...]]:
        """The same of each node."""
        if level.codes is None:
            return [tuple(map(str, labels)) for labels in self.of(level)]
        return self._texts(level, level.codes, range(level.size))

    def sums(self, level: Level) -> list[str | None]:
        """Of whom each node of a level is the sum; None of cells, and of ranges, which say it."""
        if level.codes is None or not _summed(level.codes):
            return [None] * level.size
        told = self.all_texts(level)
        return [ALL_KEYS if set(texts) == {ALL_KEYS} else "; ".join(texts) for texts in told]

    def _texts(self, level: Level, codes: Codes, nodes: Sequence[int]) -> list[tuple[str, ...]]:
        """What people read for the keys of some nodes."""
        found = []
        for node, sums in zip(nodes, self._sums(level, _summed(codes), nodes), strict=True):
            summed = iter(sums)
            listed = codes[node].tolist() if node < len(codes) else []
            found.append(
                tuple(
                    next(summed) if code < 0 else label_text(values[code])
                    for values, code in zip(self.values, listed, strict=True)
                )
                if listed
                else (OTHER_KEYS,) * len(self.names)
            )
        return found

    def _sums(
        self, level: Level, summed: Sequence[int], nodes: Sequence[int]
    ) -> list[tuple[str, ...]]:
        """What stands for the parts over which nodes of a level sum."""
        cells = self.cells
        if not summed or cells is None:
            return [()] * len(nodes)
        if self.is_hidden or (level.of_cell[len(cells) :] >= 0).any():
            return [(ALL_KEYS,) * len(summed)] * len(nodes)
        if len(cells) == prod(map(len, self.values)):
            return [tuple(listed_text(self.values[part]) for part in summed)] * len(nodes)
        own = level.of_cell[: len(cells)]
        rows = np.flatnonzero(own == nodes[0]) if len(nodes) == 1 else np.arange(len(cells))
        keys = zip(own[rows].tolist(), cells[rows][:, summed].tolist(), strict=True)
        found = summed_texts(
            (node, [self.values[part][code] for part, code in zip(summed, codes, strict=True)])
            for node, codes in keys
        )
        return [found[node] for node in nodes]


def _summed(codes: Codes) -> list[int]:
    """The parts over which a level sums."""
    return np.flatnonzero((codes < 0).all(axis=0)).tolist() if len(codes) else []
