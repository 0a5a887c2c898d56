"""The cells of a table, from the keys that an asker lists: typed, in Python, or as a data frame."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.values import short
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.model.tables.levels import Label, TableLabels
from noisycount.query.grouping import MOST_CELLS, Edges, Key, KeySet, Part
from noisycount.query.schema import Kind

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_RANGE = re.compile(r"(.+?)\.\.(.+)")

_PERIODS = (
    (re.compile(r"([0-9]{4})-?Q([1-4])"), 4, "{0:04d}-Q{1}"),
    (re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])"), 12, "{0:04d}-{1:02d}"),
)

_TRUTHS = {"true": True, "false": False}


@frozen
class Word:
    """A key as it was typed."""

    text: str | None  # what it says; None: the missing value
    is_quoted: bool = False  # whether it stands for itself, whatever it looks like


Listed: TypeAlias = Sequence[Word]  # the keys of one column


def values_of(column: str, kind: Kind, words: Listed) -> list[Label]:
    """The values of a column that words stand for, ranges written out."""
    values: list[Label] = []
    for word in words:
        values.extend(islice(_values_of_word(column, kind, word), MOST_CELLS + 1 - len(values)))
        if len(values) > MOST_CELLS:
            raise PredicateError(f"keys of {column} are more than {MOST_CELLS:,}: list fewer")
    return values


def _spelled(part: Part, key: object) -> Iterable[object]:
    """A key in Python's own types; of a range as it was typed, each of its keys."""
    if not isinstance(key, Word):
        return [key.item() if isinstance(key, np.generic) else key]
    kind = Kind.TEXT if isinstance(part, Edges) else part.column.kind  # ranges go by their words
    return values_of(part.column.name, kind, [key])


def _values_of_word(column: str, kind: Kind, word: Word) -> Iterator[Label]:
    if word.text is None:
        yield None
        return
    ends = _RANGE.fullmatch(word.text)
    if ends is None or word.is_quoted or not (kind.is_number or kind.is_moment):
        yield _value(kind, word.text)
        return
    low, high = ends.groups()
    steps = _between(low, high)
    if steps is None:
        raise PredicateError(
            f"keys of {column} have {word.text!r}: a range is of whole numbers, days, months, "
            "quarters or years, and rises: 1..5, 2026-01..2026-12"
        )
    yield from steps


def _value(kind: Kind, text: str) -> Label:
    """One value; what does not fit stays text, which the table refuses in its own words."""
    if kind.is_number and _WHOLE.fullmatch(text):
        return int(text)
    if kind is Kind.BOOLEAN:
        return _TRUTHS.get(text.lower(), text)
    return text


def _between(low: str, high: str) -> Iterator[Label] | None:
    """All values from one to another; None where they are of different kinds or do not rise."""
    if _WHOLE.fullmatch(low) and _WHOLE.fullmatch(high):
        return _rising(int(low), int(high))
    for pattern, periods, shape in _PERIODS:
        ends = [pattern.fullmatch(end) for end in (low, high)]
        if all(ends):
            first, last = (int(end[1]) * periods + int(end[2]) - 1 for end in ends if end)
            steps = _rising(first, last)
            return steps and (shape.format(step // periods, step % periods + 1) for step in steps)
    try:
        first_day, last_day = date.fromisoformat(low), date.fromisoformat(high)
    except ValueError:
        return None
    days = _rising(0, (last_day - first_day).days)
    return days and ((first_day + timedelta(day)).isoformat() for day in days)


def _rising(first: int, last: int) -> Iterator[int] | None:
    return iter(range(first, last + 1)) if first <= last else None


def is_frame(keys: object) -> bool:
    """Whether keys are a table with named columns."""
    return hasattr(keys, "columns") and hasattr(keys, "__getitem__")


def rows_of_frame(keys: Any, parts: Sequence[Part]) -> list[tuple[object, ...]]:  # noqa: ANN401
    """The keys of each cell, in the order of the parts; NaN stands for missing values, too."""
    names = list(map(str, getattr(keys, "column_names", keys.columns)))
    wanted = [part.column.name for part in parts]
    if sorted(names) != sorted(wanted):
        raise PredicateError(f"keys have the columns {', '.join(names)[:80]}: give a table of {', '.join(wanted)}")
    return list(zip(*(_values(keys[name]) for name in wanted), strict=True))


def _values(column: Any) -> list[object]:  # noqa: ANN401 - of any library
    """The values of a column in types of Python."""
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return [None if value != value else value for value in values]  # noqa: PLR0124 - NaN


# The keys of each column, by its name; or the keys of each cell.
Keys: TypeAlias = Mapping[str, Iterable[object]] | Iterable[object]


def key_set(parts: Sequence[Part], keys: Keys | None) -> KeySet:
    """The cells that are asked for, in the order in which they are.

    Args:
        parts: what the table is grouped by.
        keys: the keys of each part by the name of its column, every combination of which is a cell;
            or one sequence of keys a cell (of a single part the keys themselves), or a table of
            pandas, Polars or Arrow with a row a cell. Ranges of numbers and booleans need none.

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
    """The part that keys are listed for."""
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
            f"keys of {part.text} are missing: list them, --keys {part.column.name}=a,b,c (in Python keys=)"
        )
    spelled: list[object] = []
    for key in listed:
        spelled.extend(_spelled(part, key))
        if isinstance(key, Word) and len(spelled) > MOST_CELLS:
            raise PredicateError(f"keys of {part.column.name} are more than {MOST_CELLS:,}: list fewer")
    values = [part.checked(key) for key in spelled]
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
    cells = _coded(parts, [_row(parts, key) for key in keys], _checked)
    first = np.unique(cells.codes, axis=0, return_index=True)[1]
    if len(first) < len(keys):
        twice = min(set(range(len(keys))) - set(first.tolist()))
        raise _twice("the table", cells.key(twice))
    return cells


def _checked(part: Part, key: object) -> Key:
    """The one key that is meant."""
    (one,) = _spelled(part, key)
    return part.checked(one)


def _row(parts: Sequence[Part], key: object) -> Sequence[object]:
    """The keys of one cell, as they were listed."""
    given: Sequence[object] = key if isinstance(key, tuple | list) else (key,)
    if len(given) != len(parts):
        names = ", ".join(part.column.name for part in parts)
        raise PredicateError(f"keys have {short(key)}: give one key for each of {names}")
    return given


def _coded(parts: Sequence[Part], rows: Sequence[Sequence[object]], read: Callable[[Part, object], Key]) -> KeySet:
    """Cells of which each different key is read once."""
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in parts]
    values, codes = [], np.zeros((len(rows), len(parts)), dtype=np.int32)
    for number, (part, column) in enumerate(zip(parts, columns, strict=True)):
        written = [(type(key), key) for key in column]
        places: dict[Key, int] = {}
        try:
            of_key = {each: places.setdefault(read(part, each[1]), len(places)) for each in dict.fromkeys(written)}
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
        raise PredicateError(f"the table has {cells:,} cells, more than {MOST_CELLS:,}: list fewer keys")


def in_one_order(keys: KeySet) -> tuple[KeySet, NDArray[np.int64]]:
    """The same cells in an order that does not depend on how they were listed.

    Returns:
        The cells, and for each cell of `keys` its place among them.
    """
    ranks = [_ranks(values) for values in keys.values]
    values = tuple(
        tuple(each[place] for place in np.argsort(rank)) for each, rank in zip(keys.values, ranks, strict=True)
    )
    codes = np.stack([rank[keys.codes[:, place]] for place, rank in enumerate(ranks)], axis=1).astype(np.int32)
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
    return _coded(parts, stored, _stored)


def _stored(part: Part, key: object) -> Key:
    """A key that a ledger keeps."""
    kind = part.column.kind
    found: Key = kind.key(key)
    if isinstance(found, str) and not kind.is_key(found):
        raise ValueError(f"key must be of {part.column}, got {short(found)}")
    return found


def written_key(key: Key) -> int | str | bool | None:
    """A key in the types of JSON, which `Kind.key` reads again."""
    return key if key is None or isinstance(key, int | str) else str(key)


def labels_of(keys: KeySet, *, is_hidden: bool = False) -> TableLabels:
    """What a reader sees of the keys of a table."""
    return TableLabels(
        tuple(part.column.name for part in keys.parts),
        tuple(tuple(part.label(key) for key in values) for part, values in zip(keys.parts, keys.values, strict=True)),
        keys.codes,
        is_hidden,
    )
