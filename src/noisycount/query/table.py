"""Tables by keys as an analyst requests them: their cells, margins and levels, and their facts for the ledger.

`key_set` reads the cells from keys that are typed, listed in Python, or in a data frame.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from math import prod
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.values import shortened_repr
from noisycount.errors import PredicateError, QueryError
from noisycount.frozen import frozen
from noisycount.model.tables.levels import OTHER, TOTAL, Level, TableLabels, all_levels
from noisycount.query.close_names import close_names, did_you_mean
from noisycount.query.grouping import CellQuestion, GroupBy, Key, KeyQuestion, KeySet, NumberRanges
from noisycount.query.impossible import Public
from noisycount.query.predicate import Column, Predicate, columns
from noisycount.query.public_values import public_keys
from noisycount.query.schema import Kind, key_to_json
from noisycount.query.syntax import tokens
from noisycount.query.typed import MAX_CELLS, Keys, TypedKey, call_end, expand_keys

Margins: TypeAlias = tuple[tuple[str, ...], ...]
_NO_VALUES: Public = MappingProxyType({})


@frozen
class TableQuestion:
    """A table by keys: its groupings, cells and sums, and the condition of its records."""

    parts: tuple[GroupBy, ...]  # groupings of the table
    keys: KeySet | None  # cells, in the order in which they are shown; None: hidden keys
    where: Predicate | None = None  # condition of the records; None: all records
    margins: Margins = ()  # columns of each margin that is measured besides the cells; the total has none
    has_other: bool = False  # True if records with other keys are one more cell
    max_groups: int | None = None  # contribution bound: the number of cells in which a unit counts
    is_cumulative: bool = False  # True if ranges of cells are measured besides the cells

    def __post_init__(self) -> None:
        """Raise PredicateError if two kinds of rows have the same name, since a reader could not distinguish them."""
        names = [self.name, *(",".join(each) or TOTAL for each in self.margins)]
        names += [OTHER] * self.has_other
        for name in names:
            if names.count(name) > 1:
                raise PredicateError(
                    f"by, margins and other make two kinds of rows called {name!r}: leave one out,"
                    " or give the column another name"
                )

    @property
    def columns(self) -> set[Column]:
        """Columns of the groupings and of the condition."""
        from_parts = {column for part in self.parts for column in part.column.stored_columns}
        return from_parts | set(columns(self.where) if self.where else ())

    @property
    def name(self) -> str:
        """Name of the level of cells: the columns, with commas between them."""
        return ",".join(part.column.name for part in self.parts)

    def groups(self, unit: str | None) -> int | None:
        """Return the number of cells in which one unit can count; None: every cell."""
        return 1 if unit is None else self.max_groups

    def levels(self, keys: KeySet | None = None) -> tuple[Level, ...]:
        """Return the levels of cells, by default of the requested ones: the cells first, then the margins or ranges."""
        keys = self.keys if keys is None else keys
        assert keys is not None  # noqa: S101 - hidden keys have no levels before the count
        names, margins = [part.column.name for part in self.parts], None if self.is_cumulative else self.margins
        return all_levels(keys.codes, names, margins, has_other=self.has_other)

    def canonical(self) -> "CanonicalTable":
        """Return the table in canonical order, which does not depend on the order in which keys are listed.

        A cumulative table keeps the listed order, since its ranges depend on that order.
        """
        assert self.keys is not None  # noqa: S101 - hidden keys have an order already
        if self.is_cumulative:
            levels = self.levels()
            return CanonicalTable(self.keys, levels, [np.arange(level.size) for level in levels])
        keys, places = in_canonical_order(self.keys)
        if self.has_other:
            places = np.append(places, len(keys))
        canonical_levels = self.levels(keys)
        return CanonicalTable(
            keys,
            canonical_levels,
            [matching_nodes(mine, other, places) for mine, other in zip(self.levels(), canonical_levels, strict=True)],
        )

    def facts(self, keys: KeySet | None) -> dict[str, Any]:
        """Return the members by which a ledger distinguishes the table from others."""
        return {
            "by": [part.text for part in self.parts],
            "keys": None if keys is None else key_set_to_json(keys),
            "margins": [list(margin) for margin in self.margins],
            "other": self.has_other,
            "groups_per_unit": self.max_groups,
            "cumulative": self.is_cumulative,
        }

    def cell_question(self, table: "CanonicalTable") -> CellQuestion:
        """Return the request to a source for the counts of known keys."""
        return CellQuestion(table.keys, self.where, table.levels, self.has_other, self.max_groups, self._hash_key)

    def key_question(self) -> KeyQuestion:
        """Return the request to a source for the counts of hidden keys."""
        return KeyQuestion(self.parts, self.where, self.max_groups, self._hash_key)

    @property
    def _hash_key(self) -> str:
        """Key of the hash that chooses the cells in which a unit counts.

        It depends on the groupings only, so that it is the same for every request of the table. If it depended on the
        content of the records, one additional record would change the cells of all units. The key need not be secret:
        the choice of cells affects only the counts, and their noise covers the privacy unit.
        """
        said = json.dumps([part.text for part in self.parts])
        return hashlib.sha256(said.encode("ascii")).hexdigest()


@frozen(eq=False)
class CanonicalTable:
    """A table in the canonical order, in which it is counted and stored."""

    keys: KeySet  # cells of the table
    levels: tuple[Level, ...]  # levels that are counted
    node_indices: list[NDArray[np.int64]] = field(repr=False)  # for each level, index here of each requested node

    def in_requested_order(self, answers: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], ...]:
        """Return answers in the order of the request."""
        return tuple(answer[places] for answer, places in zip(answers, self.node_indices, strict=True))


def matching_nodes(level: Level, other_level: Level, cell_indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index in `other_level` of each node of `level`; `cell_indices` has the index of each cell."""
    inside = level.of_cell >= 0
    same = np.zeros(level.size, dtype=np.int64)
    same[level.of_cell[inside]] = other_level.of_cell[cell_indices[inside]]
    return same


def margins_of(margins: str | Sequence[str | Sequence[str]], parts: Sequence[GroupBy]) -> Margins:
    """Return the margins in canonical order: those with more columns first, the total last.

    Raises:
        PredicateError: A margin is unknown, repeated, or the table itself.
    """
    names = [part.column.name for part in parts]
    if margins in ("all", ["all"], ("all",)):
        found = [each for size in range(len(names)) for each in combinations(names, size)]
    else:
        found = [_margin_columns(each, names) for each in ([margins] if isinstance(margins, str) else margins)]
    for margin in found:
        if found.count(margin) > 1:
            raise PredicateError(f"margins have {_margin_text(margin)} twice: name each once")
    return tuple(sorted(found, key=lambda each: (-len(each), [names.index(one) for one in each])))


def _margin_columns(written: object, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of one margin, in the order of the table."""
    if written == TOTAL and TOTAL not in names:
        return ()
    if isinstance(written, str):
        pieces = [written] if written in names else [each.strip() for each in written.split("*")]
    else:
        pieces = list(written) if isinstance(written, Sequence) else [written]  # type: ignore[list-item]
    for piece in pieces:
        if piece not in names:
            close = close_names(str(piece), [*names, TOTAL])
            raise PredicateError(f"margins name {shortened_repr(piece)}, which is no margin: use {close}")
    if set(pieces) == set(names):
        raise PredicateError(f"margins name {_margin_text(pieces)}, the table itself: leave it out")
    return tuple(name for name in names if name in pieces)


def _margin_text(margin: Sequence[str]) -> str:
    return "*".join(margin) or TOTAL


def _expand_key(part: GroupBy, key: object) -> Iterable[object]:
    """Yield a key as a value of Python. A typed range such as 1..5 yields each key of the range."""
    if not isinstance(key, TypedKey):
        return [key.item() if isinstance(key, np.generic) else key]
    kind = Kind.TEXT if isinstance(part, NumberRanges) else part.column.kind  # a range is typed by its label
    return expand_keys(part.column.name, kind, [key])


def _rows_of_frame(keys: Any, parts: Sequence[GroupBy]) -> list[tuple[object, ...]]:  # noqa: ANN401
    """Return the keys of each cell of a data frame, in the order of the groupings; NaN is a missing value."""
    names = list(map(str, getattr(keys, "column_names", keys.columns)))
    wanted = [part.column.name for part in parts]
    if sorted(names) != sorted(wanted):
        raise PredicateError(f"keys have the columns {', '.join(names)[:80]}: give a table of {', '.join(wanted)}")
    frame_columns = (keys[name] for name in wanted)
    values = [column.to_pylist() if hasattr(column, "to_pylist") else column.to_list() for column in frame_columns]
    return [tuple(None if key != key else key for key in row) for row in zip(*values, strict=True)]  # noqa: PLR0124 - NaN


def key_set(parts: Sequence[GroupBy], keys: Keys | None, public: Public = _NO_VALUES) -> KeySet:
    """Return the cells of a table, in the order in which they are listed.

    Keys by column are combined with each other. Ranges of numbers, booleans and columns with public values need no
    list. Other keys have one entry for each cell: a sequence, or a row of a data frame.

    Args:
        parts: The groupings of the table.
        keys: The keys of each column, by its name; or the keys of each cell; None: they follow from the columns.
        public: The public values of columns.

    Raises:
        PredicateError: A key is invalid or repeated, or there are too many cells.
        QueryError: The keys of a column are missing, or a name is not in `by`.
    """
    if isinstance(keys, str | bytes):
        raise PredicateError(f"keys must be a list, or lists by column, got {shortened_repr(keys)}")
    if keys is None or isinstance(keys, Mapping):
        return _all_combinations(parts, keys or {}, public)
    if hasattr(keys, "columns") and hasattr(keys, "__getitem__"):
        return _listed_cells(parts, _rows_of_frame(keys, parts))
    return _listed_cells(parts, list(keys))


def _all_combinations(parts: Sequence[GroupBy], keys: Mapping[str, Iterable[object]], public: Public) -> KeySet:
    """Return the cells of all combinations of the keys of the columns."""
    listed = {_part_of_name(name, parts).text: column_keys for name, column_keys in keys.items()}
    values = tuple(_keys_of_part(part, listed.get(part.text), public) for part in parts)
    sizes = [len(each) for each in values]
    _require_few_cells(prod(sizes))
    codes = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1).T
    return KeySet(tuple(parts), values, np.ascontiguousarray(codes))


def _part_of_name(name: str, parts: Sequence[GroupBy]) -> GroupBy:
    """Return the grouping with a name. If none matches exactly, ignore case."""
    for part in parts:
        if name in {part.text, part.column.name} or _is_name_of(name, part):
            return part
    for part in parts:
        if name.casefold() == part.column.name.casefold():
            return part
    remedy = did_you_mean(name, [part.column.name for part in parts])
    raise QueryError("{keys} name {column}, which is not in {by}: {remedy}", column=shortened_repr(name), remedy=remedy)


def _is_name_of(name: str, part: GroupBy) -> bool:
    """Return True if a name is that of a value of a person, whatever its blanks and capital letters."""
    end = call_end(name)
    rest = name[end:].strip()
    return bool(end) and part.text.endswith(rest) and tokens(name[:end]) == tokens(part.column.text)


def _keys_of_part(part: GroupBy, listed: Iterable[object] | None, public: Public) -> tuple[Key, ...]:
    """Return the keys of one grouping, each once: the listed keys, else the keys that the column determines."""
    if listed is None:
        known = part.known_keys or public_keys(part, public.get(part.column.source_name))
        if known is not None:
            return known
    if listed is None or isinstance(listed, str | bytes):
        raise QueryError(
            "keys of {column} are missing: list them, {keys:{example}}, or show only the keys that many have, if the "
            "budget has a δ, {delta:1e-7}",
            column=part.text,
            example=f"{part.column.name}={part.keys_example}",
        )
    spelled: list[object] = []
    for key in listed:
        spelled.extend(_expand_key(part, key))
        if isinstance(key, TypedKey) and len(spelled) > MAX_CELLS:
            raise PredicateError(f"keys of {part.column.name} are more than {MAX_CELLS:,}: list fewer")
    values = [part.canonical_key(key) for key in spelled]
    if values == [None] and part.known_keys is not None:
        return (*part.known_keys, None)
    if not values:
        raise PredicateError(f"keys of {part.text} are missing: list at least one")
    if len(set(values)) < len(values):
        raise _repeated_key_error(part.text, Counter(values).most_common(1)[0][0])
    return tuple(values)


def _listed_cells(parts: Sequence[GroupBy], keys: Sequence[object]) -> KeySet:
    """Return the cells whose keys are listed one by one."""
    _require_few_cells(len(keys))
    if not keys:
        raise PredicateError("keys are missing: list at least one cell")
    rows = [key if isinstance(key, tuple | list) else (key,) for key in keys]
    for key, row in zip(keys, rows, strict=True):
        if len(row) != len(parts):
            names = ", ".join(part.column.name for part in parts)
            raise PredicateError(f"keys have {shortened_repr(key)}: give one key for each of {names}")
    cells = _encode_cells(parts, rows, _parse_key)
    first = np.unique(cells.codes, axis=0, return_index=True)[1]
    if len(first) < len(keys):
        twice = min(set(range(len(keys))) - set(first.tolist()))
        raise _repeated_key_error("the table", cells.key(twice))
    return cells


def _parse_key(part: GroupBy, key: object) -> Key:
    """Return the one key that an entry states, in canonical form."""
    (one,) = _expand_key(part, key)
    return part.canonical_key(one)


def _encode_cells(
    parts: Sequence[GroupBy], rows: Sequence[Sequence[object]], read: Callable[[GroupBy, object], Key]
) -> KeySet:
    """Return cells from their keys; each different key is read once."""
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


def _repeated_key_error(whose: str, key: object) -> PredicateError:
    return PredicateError(f"keys of {whose} have {shortened_repr(key)} twice: list each once")


def _require_few_cells(cells: int) -> None:
    """Raise PredicateError if a table has too many cells."""
    if cells > MAX_CELLS:
        raise PredicateError(f"the table has {cells:,} cells, more than {MAX_CELLS:,}: list fewer keys")


def in_canonical_order(keys: KeySet) -> tuple[KeySet, NDArray[np.int64]]:
    """Return the cells in canonical order, with the index there of each cell of `keys`."""
    ranks = [_sorted_ranks(values) for values in keys.values]
    values = tuple(
        tuple(each[place] for place in np.argsort(rank)) for each, rank in zip(keys.values, ranks, strict=True)
    )
    codes = np.stack([rank[keys.codes[:, place]] for place, rank in enumerate(ranks)], axis=1).astype(np.int32)
    order = np.lexsort(codes.T[::-1])
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return KeySet(keys.parts, values, np.ascontiguousarray(codes[order])), places


def _sorted_ranks(values: Sequence[Key]) -> NDArray[np.int64]:
    """Return the rank of each value in sorted order; a missing value comes last."""
    known = [(value is None, 0 if value is None else value) for value in values]
    order = sorted(range(len(values)), key=known.__getitem__)
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.arange(len(values))
    return ranks


def key_set_to_json(keys: KeySet) -> dict[str, object]:
    """Return the cells in the form in which the ledger stores them."""
    written = [list(map(key_to_json, values)) for values in keys.values]
    return {"grid": written} if keys.is_grid else {"values": written, "cells": keys.codes.tolist()}


def key_set_from_json(parts: Sequence[GroupBy], stored: Sequence[Sequence[object]]) -> KeySet:
    """Return the cells of hidden keys that a release shows, from the stored keys."""
    return _encode_cells(parts, stored, _parse_stored_key)


def _parse_stored_key(part: GroupBy, key: object) -> Key:
    """Return a stored key as a value of its column."""
    kind = part.column.kind
    found: Key = kind.key(key)
    if isinstance(found, str) and not kind.is_key(found):
        raise ValueError(f"key must be of {part.column}, got {shortened_repr(found)}")
    return found


def table_labels(keys: KeySet, *, is_hidden: bool = False) -> TableLabels:
    """Return the labels of a table."""
    return TableLabels(
        tuple(part.column.name for part in keys.parts),
        tuple(tuple(part.label(key) for key in values) for part, values in zip(keys.parts, keys.values, strict=True)),
        keys.codes,
        is_hidden,
    )
