"""What a table is grouped by: columns, ranges of numbers, months, quarters, years.

Which groups a table has: the keys that everybody knows, and the counts that a source gives.
"""

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date
from functools import cached_property, lru_cache
from itertools import pairwise
from math import inf, isfinite, isnan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.values import short
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.model.tables.levels import Codes, Level
from noisycount.query.predicate import Column, Predicate
from noisycount.query.readings import FUNCTIONS
from noisycount.query.schema import INTEGERS, Kind, Schema, did_you_mean, normaliser_of
from noisycount.query.typed import PERIODS, ColumnGrouping, PeriodLength

Key: TypeAlias = int | str | bool | date | None  # what stands for a group; None for missing values

# The key of what belongs to no group: numbers below the first edge, and days that are infinite or
# not of the years 1 to 9999.
OUTSIDE = -(2**62)
_MOST_EDGES = 4096  # each is compared with in a table of one part


@frozen
class GroupBy(ABC):
    """One of the things that a table is grouped by."""

    column: Column  # whose values are grouped

    @property
    @abstractmethod
    def text(self) -> str:
        """The part as an analyst writes it."""

    @property
    def known_keys(self) -> tuple[Key, ...] | None:
        """The keys that everybody knows without a list, in order; None: they must be listed."""
        return None

    @property
    def keys_example(self) -> str:
        """How its keys are listed."""
        return {Kind.INTEGER: "1,2,3", Kind.DATE: "2026-01-31,2026-02-28"}.get(self.column.kind, "a,b,c")

    @abstractmethod
    def key(self, value: Any) -> Key:  # noqa: ANN401 - of the kind of the column
        """The key of the group of a value."""

    @abstractmethod
    def checked(self, key: object) -> Key:
        """A key that somebody asks for, in its one form: as `key` gives it."""

    @abstractmethod
    def label(self, key: Key) -> int | str | bool | None:
        """What a reader sees of a key."""

    def _refused(self, key: object, remedy: str) -> PredicateError:
        return PredicateError(f"keys of {self.text} have {short(key)}: {remedy}")


@frozen
class EachValue(GroupBy):
    """Each value a group of its own."""

    # function that returns the normal form of a text of the column
    normalise: Callable[[str], str] = field(default=str, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.column.kind.grouping is not None:
            raise PredicateError(
                f"by names {self.column}, of which few are equal: "
                f"group it as '{self.column.name}:{self.column.kind.grouping}'"
            )

    @property
    def text(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def known_keys(self) -> tuple[Key, ...] | None:
        """False and true, where that is all that there is."""
        return self.column.kind.known_keys

    def key(self, value: Any) -> Key:  # noqa: ANN401 - of the kind of the column
        """The value itself."""
        return value  # type: ignore[no-any-return]  # of one of four types

    def checked(self, key: object) -> Key:
        """A value of the kind of the column; a date may be a text, or the midnight of its day."""
        key = self.column.kind.key(self.normalise(key) if isinstance(key, str) else key)
        if key is not None and not self.column.kind.is_key(key):
            raise self._refused(key, f"write {self.column.kind.example}, or null")
        return key  # type: ignore[return-value]  # its type was just looked at

    def label(self, key: Key) -> int | str | bool | None:
        """The value itself; a date as ISO 8601 writes it."""
        return self.column.kind.label(key)


@frozen
class NumberRanges(GroupBy):
    """Ranges of numbers: each from one edge to below the next, the last one without end.

    The key of a range is its number, from 0; NaN is in the last range, as it follows every number.

    Example:
        >>> age = NumberRanges(Column("age", Kind.INTEGER), (0, 18, 65))
        >>> [age.key(value) for value in (0, 17, 18, 99)], age.label(1)
        ([0, 0, 1, 2], '18 to 64')
    """

    edges: tuple[int | float, ...]  # where ranges begin, rising; what is below the first is in none

    def __post_init__(self) -> None:
        if not self.column.kind.is_number:
            raise PredicateError(f"by gives edges to {self.column}: edges belong to numbers")
        if not 1 <= len(self.edges) <= _MOST_EDGES:
            raise PredicateError(
                f"edges of {self.column.name} must be 1 to {_MOST_EDGES} numbers such as 0,18,65, got {len(self.edges)}"
            )
        if not all(e in INTEGERS if type(e) is int else isfinite(e) for e in self.edges):
            raise PredicateError(f"edges of {self.column.name} must be finite numbers within 64 bits: 0,18,65")
        if self.column.kind is Kind.INTEGER and not all(type(e) is int for e in self.edges):
            raise PredicateError(f"edges of {self.column} must be whole numbers: 0,18,65")
        for low, high in pairwise(self.edges):
            if low >= high:
                raise PredicateError(f"edges of {self.column.name} must rise, got {low} before {high}: sort them")

    @property
    def text(self) -> str:
        """The name of the column, and the edges."""
        return f"{self.column.name}:{','.join(map(_number_text, self.edges))}"

    @property
    def known_keys(self) -> tuple[Key, ...] | None:
        """Every range."""
        return tuple(range(len(self.edges)))

    def key(self, value: Any) -> Key:  # noqa: ANN401 - of the kind of the column
        """The number of the range that the value is in."""
        if value is None:
            return None
        placed = bisect_right(self.edges, inf if isnan(value) else value) - 1
        return OUTSIDE if placed < 0 else placed

    def checked(self, key: object) -> Key:
        """The number of a range, or its label."""
        if isinstance(key, str):
            key = _places(self).get(key, key)
        if key is None or (type(key) is int and 0 <= key < len(self.edges)):
            return key
        raise self._refused(key, "they follow from the edges, so leave them out, or add null")

    def label(self, key: Key) -> int | str | bool | None:
        """The range in words."""
        if key is None:
            return None
        low, *later = self.edges[int(key) :]  # type: ignore[arg-type]  # the number of a range
        if not later:
            return f"{_number_text(low)} or more"
        if self.column.kind is Kind.INTEGER:
            return str(low) if later[0] - 1 == low else f"{low} to {later[0] - 1}"
        return f"{_number_text(low)} to under {_number_text(later[0])}"


@frozen
class Period(GroupBy):
    """Days or times by the month, quarter or year that they are in.

    The key is the number of the period from the beginning of year 0: year·periods + period − 1.
    """

    span: PeriodLength  # how long a period is

    def __post_init__(self) -> None:
        if not self.column.kind.is_moment:
            raise PredicateError(f"by groups {self.column} by {self.span.name.lower()}: that belongs to dates")

    @property
    def text(self) -> str:
        """The name of the column, and the length of a period."""
        return f"{self.column.name}:{self.span.name.lower()}"

    @property
    def keys_example(self) -> str:
        """Two periods."""
        first = 2026 * self.span.value
        return f"{self.label(first)},{self.label(first + 1)}"

    def key(self, value: Any) -> Key:  # noqa: ANN401 - of the kind of the column
        """The number of the period."""
        if value is None:
            return None
        return int(value.year * self.span.value + (value.month - 1) * self.span.value // 12)

    def checked(self, key: object) -> Key:
        """The number of the period that a text names, such as 2026, 2026-Q1 or 2026-01."""
        if key is None:
            return None
        is_text = isinstance(key, int | str) and not isinstance(key, bool)
        number = self.span.number(str(key)) if is_text else None
        if number is None:
            raise self._refused(key, f"write {self.span.label(2026 * self.span.value)}, or null")
        return number

    def label(self, key: Key) -> int | str | bool | None:
        """The period as `checked` reads it."""
        return None if key is None else self.span.label(int(key))  # type: ignore[arg-type]  # a number


@lru_cache(maxsize=8)
def _places(ranges: NumberRanges) -> dict[object, int]:
    """The number of each range by its label."""
    return {ranges.label(place): place for place in range(len(ranges.edges))}


def _number_text(edge: float) -> str:
    """An edge as one writes it, whole where it is whole."""
    return str(edge).removesuffix(".0")


MAX_PARTS = 8
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_REAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def resolve_group_by(
    by: str | Sequence[str | ColumnGrouping], schema: Mapping[str, Kind], unit: str | None
) -> tuple[GroupBy, ...]:
    """The parts of a table."""
    listed = [by] if isinstance(by, str) else by
    written = [each.text if isinstance(each, ColumnGrouping) else each for each in listed]
    if not all(isinstance(each, str) for each in written):
        raise PredicateError(f"by must be names of columns, got {str(by)[:80]!r}")
    items = [item for each in written for item in _items_of(each, schema)]
    if not 1 <= len(items) <= MAX_PARTS:
        raise PredicateError(f"by must name 1 to {MAX_PARTS} columns, got {len(items)}")
    parts = tuple(_part(item, schema, unit) for item in items)
    names = [part.column.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise PredicateError(f"by names {name!r} twice: name each column once")
    return parts


def _items_of(text: str, schema: Mapping[str, Kind]) -> Iterator[str]:
    """The items of a list with commas, of which those between edges belong to their column."""
    name, _, how = text.rpartition(":")
    is_grouped = how.strip().lower() in PERIODS or all(_REAL.fullmatch(edge.strip()) for edge in how.split(","))
    if text in schema or (name in schema and is_grouped):  # whatever commas its name has
        yield text
        return
    item = ""
    for piece in text.split(","):
        goes_on = ":" in item and _REAL.fullmatch(piece.strip())
        if item and not goes_on:
            yield item
            item = ""
        item = f"{item},{piece.strip()}" if goes_on else piece.strip()
        if not item:
            raise PredicateError(f"by has an empty name in {text[:80]!r}: leave it out")
    yield item


def _part(item: str, schema: Mapping[str, Kind], unit: str | None) -> GroupBy:
    """One part, from its name and what follows a colon."""
    if item in schema:
        return EachValue(Column(item, schema[item]), normaliser_of(schema, item))
    name, colon, how = item.rpartition(":")
    if not colon:
        name = item
    if name == unit:
        raise PredicateError(f"by names {name!r}, the unit: a table would name persons; leave it out")
    if call := re.fullmatch(r"(month|quarter|year)\((.+)\)", item):
        raise PredicateError(f"by calls {call[1]}: write {call[2]}:{call[1]}")
    if call := re.fullmatch(rf"({'|'.join(FUNCTIONS)})\((.+)\)", name):
        raise PredicateError(
            f"by calls {call[1]}, which is for questions alone: its owner can state a kind for {call[2]} in "
            "noisycount.toml"
        )
    if name not in schema:
        type_ = schema.others.get(name) if isinstance(schema, Schema) else None
        why = "which is no column" if type_ is None else f"whose type {type_} no question can use"
        raise PredicateError(f"by names {name[:80]!r}, {why}: {did_you_mean(name, list(schema))}")
    column = Column(name, schema[name])
    if isinstance(schema, Schema):
        schema.require_clear(name, how.split(","), "by")
    if how.strip().lower() in PERIODS:
        return Period(column, PERIODS[how.strip().lower()])
    return NumberRanges(column, _edges(how, column))


def _edges(text: str, column: Column) -> tuple[int | float, ...]:
    """The numbers where ranges begin."""
    pieces = [piece.strip() for piece in text.split(",")]
    pattern = _INTEGER if column.kind is Kind.INTEGER else _REAL
    if not all(map(pattern.fullmatch, pieces)):
        raise PredicateError(
            f"by groups {column} by {text[:80]!r}: write edges such as 0,18,65 for numbers, or "
            "month, quarter or year for dates"
        )
    return tuple(map(int if column.kind is Kind.INTEGER else float, pieces))


@frozen(eq=False, slots=False)
class KeySet:
    """The cells of a table: combinations of keys, one of each part."""

    parts: tuple[GroupBy, ...]  # what the table is grouped by
    values: tuple[tuple[Key, ...], ...]  # the keys of each part, each once
    # the places of each cell's keys among the values, shape (cells, parts); no two rows are alike
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
        return tuple(values[code] for values, code in zip(self.values, self.codes[cell], strict=True))


@frozen(eq=False, slots=False)
class CellQuestion:
    """What a source counts for a table whose keys are known.

    A unit is in a cell where at least one of its records that match has the keys of the cell. The
    last cell, if ``has_other``, is that of records with any other keys.
    """

    keys: KeySet  # the cells
    where: Predicate | None  # which records match; None: all
    # what is counted, "other" included as the last cell of each. A unit is in a node where it is in at least one of
    # its cells
    levels: tuple[Level, ...]
    has_other: bool = False  # whether other keys are a cell
    # in how many cells a unit is at most: it is left in those with the smallest keyed hashes of unit and cell; None:
    # in all that it is in
    max_groups: int | None = None
    salt: str = ""  # the key of that hash

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.keys) + self.has_other


@frozen
class KeyQuestion:
    """What a source counts for a table whose keys only the records know."""

    parts: Sequence[GroupBy]  # what the table is grouped by
    where: Predicate | None  # which records match; None: all
    max_groups: int | None = None  # in how many groups a unit is at most, as for ``CellQuestion``
    salt: str = ""  # the key of that hash


@frozen(eq=False)
class KeyCounts:
    """Some groups that have units, and how many each has."""

    keys: list[tuple[Key, ...]]  # the keys of each group, one of each part
    counts: NDArray[np.int64]  # how many units each has, at least one; shape (groups,)
