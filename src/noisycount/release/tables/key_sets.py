"""The cells of a table, from the keys that an asker lists."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.errors import PredicateError
from noisycount.release.question.grouping import Key, Part
from noisycount.release.question.keys import MOST_CELLS, Codes, KeySet
from noisycount.release.tables.key_frames import is_frame, rows_of_frame
from noisycount.shown.line import short

__all__ = ["Keys", "found_keys", "in_one_order", "key_set", "written_key", "written_keys"]

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
        >>> from noisycount.release.question.grouping import Plain
        >>> from noisycount.release.question.operands import Column
        >>> from noisycount.release.question.schema import Kind
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
    values = tuple(_values(part, listed.get(part)) for part in parts)
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


def _values(part: Part, listed: Iterable[object] | None) -> tuple[Key, ...]:
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
