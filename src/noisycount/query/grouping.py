"""Groupings of tables by keys: by values, ranges of numbers, months, quarters or years.

`resolve_group_by` reads them. `CellQuestion` and `KeyQuestion` are the requests that a source of records answers.
"""

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import date
from functools import cached_property, lru_cache
from itertools import pairwise
from math import inf, isfinite, isnan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.values import shortened_repr
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.model.tables.levels import Codes, Level
from noisycount.query.close_names import did_you_mean
from noisycount.query.language import parse_value
from noisycount.query.normal_form import normal_form
from noisycount.query.person_values import EVERY_ROW, Function, PersonValue
from noisycount.query.predicate import Column, Predicate, column_of
from noisycount.query.readings import FUNCTIONS
from noisycount.query.schema import INTEGERS, Kind, Schema, key_to_json, schema_of
from noisycount.query.typed import PERIODS, ColumnGrouping, PeriodLength, call_end, join_edges, split_list

Key: TypeAlias = int | str | bool | date | None  # key of a group; None: the group of missing values

# Key of values that belong to no group: numbers below the first edge, and days that are infinite or outside the years 1
# to 9999.
OUTSIDE = -(2**62)
_MOST_EDGES = 4096  # largest number of edges of a column


@frozen
class GroupBy(ABC):
    """A column by which a table groups, and the rule that gives each value the key of its group."""

    column: Column  # column whose values are grouped

    @property
    @abstractmethod
    def text(self) -> str:
        """The grouping as an analyst writes it, such as `age:0,18,65`."""

    @property
    def known_keys(self) -> tuple[Key, ...] | None:
        """The keys in order, if the grouping alone determines them; else None."""
        return None

    @property
    def keys_example(self) -> str:
        """Example of a list of keys, for error messages."""
        return {Kind.INTEGER: "1,2,3", Kind.DATE: "2026-01-31,2026-02-28"}.get(self.column.kind, "a,b,c")

    @abstractmethod
    def key(self, value: Any) -> Key:  # noqa: ANN401 - of the kind of the column
        """Return the key of the group to which a value belongs."""

    @abstractmethod
    def canonical_key(self, key: object) -> Key:
        """Return a key of a query in its canonical form, the form that `key` returns.

        Raises:
            PredicateError: The key is invalid.
        """

    @abstractmethod
    def label(self, key: Key) -> int | str | bool | None:
        """Return the text or value that stands for a key in results."""

    def _key_error(self, key: object, remedy: str) -> PredicateError:
        return PredicateError(f"keys of {self.text} have {shortened_repr(key)}: {remedy}")


@frozen
class EachValue(GroupBy):
    """A grouping in which each value is a group of its own."""

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
        """Name of the column."""
        return self.column.name

    @property
    def known_keys(self) -> tuple[Key, ...] | None:
        """The keys false and true of a boolean column; None for every other kind."""
        return self.column.kind.known_keys

    def key(self, value: Any) -> Key:  # noqa: ANN401 - of the kind of the column
        """Return the value, which is its own key."""
        return value  # type: ignore[no-any-return]  # of one of four types

    def canonical_key(self, key: object) -> Key:
        """Return a key as a value of the kind of the column; a date may be a text, or the midnight of its day."""
        key = self.column.kind.key(self.normalise(key) if isinstance(key, str) else key)
        if key is not None and not self.column.kind.is_key(key):
            raise self._key_error(key, f"write {self.column.kind.example}, or null")
        return key  # type: ignore[return-value]  # its type has just been checked

    def label(self, key: Key) -> int | str | bool | None:
        """Return the key; a date in the form of ISO 8601."""
        return key_to_json(key)


@frozen
class NumberRanges(GroupBy):
    """A grouping by ranges of numbers: each from its edge to below the next edge, the last one without an upper end.

    The key of a range is its index, from 0. NaN belongs to the last range, since NaN is greater than every number.

    Example:
        >>> age = NumberRanges(Column("age", Kind.INTEGER), (0, 18, 65))
        >>> [age.key(value) for value in (0, 17, 18, 99)], age.label(1)
        ([0, 0, 1, 2], '18 to 64')
    """

    # lower ends of the ranges, in increasing order; a number below the first belongs to none
    edges: tuple[int | float, ...]

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
        """Name of the column with the edges."""
        return f"{self.column.name}:{','.join(map(_number_text, self.edges))}"

    @property
    def known_keys(self) -> tuple[Key, ...] | None:
        """The indices of all ranges."""
        return tuple(range(len(self.edges)))

    def key(self, value: Any) -> Key:  # noqa: ANN401 - of the kind of the column
        """Return the index of the range that contains the value, or `OUTSIDE`."""
        if value is None:
            return None
        placed = bisect_right(self.edges, inf if isnan(value) else value) - 1
        return OUTSIDE if placed < 0 else placed

    def canonical_key(self, key: object) -> Key:
        """Return the index of a range, from its index or its label."""
        if isinstance(key, str):
            key = _range_indices(self).get(key, key)
        if key is None or (type(key) is int and 0 <= key < len(self.edges)):
            return key
        raise self._key_error(key, "they follow from the edges, so leave them out, or add null")

    def label(self, key: Key) -> int | str | bool | None:
        """Return the range in words, such as "18 to 64"."""
        if key is None:
            return None
        low, *later = self.edges[int(key) :]  # type: ignore[arg-type]  # index of a range
        if not later:
            return f"{_number_text(low)} or more"
        if self.column.kind is Kind.INTEGER:
            return str(low) if later[0] - 1 == low else f"{low} to {later[0] - 1}"
        return f"{_number_text(low)} to under {_number_text(later[0])}"


@frozen
class Period(GroupBy):
    """A grouping of days or times by month, quarter or year.

    The key is the index of the period from the beginning of year 0: year · n + period − 1, where n is the number of
    periods in a year.
    """

    span: PeriodLength  # length of a period

    def __post_init__(self) -> None:
        if not self.column.kind.is_moment:
            raise PredicateError(f"by groups {self.column} by {self.span.name.lower()}: that belongs to dates")

    @property
    def text(self) -> str:
        """Name of the column with the length of the period."""
        return f"{self.column.name}:{self.span.name.lower()}"

    @property
    def keys_example(self) -> str:
        """Labels of two periods."""
        first = 2026 * self.span.value
        return f"{self.label(first)},{self.label(first + 1)}"

    def key(self, value: Any) -> Key:  # noqa: ANN401 - of the kind of the column
        """Return the index of the period that contains the value."""
        if value is None:
            return None
        return int(value.year * self.span.value + (value.month - 1) * self.span.value // 12)

    def canonical_key(self, key: object) -> Key:
        """Return the index of the period that a text such as 2026, 2026-Q1 or 2026-01 names."""
        if key is None:
            return None
        is_text = isinstance(key, int | str) and not isinstance(key, bool)
        number = self.span.number(str(key)) if is_text else None
        if number is None:
            raise self._key_error(key, f"write {self.span.label(2026 * self.span.value)}, or null")
        return number

    def label(self, key: Key) -> int | str | bool | None:
        """Return the name of the period, which `canonical_key` reads."""
        return None if key is None else self.span.label(int(key))  # type: ignore[arg-type]  # an index


def are_person_values(parts: Sequence[GroupBy]) -> bool:
    """Return True if all groupings are by values of a person, so that each person is in one group."""
    return all(isinstance(part.column, PersonValue) for part in parts)


@lru_cache(maxsize=8)
def _range_indices(ranges: NumberRanges) -> dict[object, int]:
    """Return the index of each range by its label."""
    return {ranges.label(place): place for place in range(len(ranges.edges))}


def _number_text(edge: float) -> str:
    """Return an edge as text, a whole number without ".0"."""
    return str(edge).removesuffix(".0")


MAX_PARTS = 8
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_REAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def resolve_group_by(
    by: str | Sequence[str | ColumnGrouping], schema: Mapping[str, Kind], unit: str | None
) -> tuple[GroupBy, ...]:
    """Return the groupings that `by` states.

    Raises:
        PredicateError: A grouping is invalid, or names an unknown column or the unit.
    """
    listed = [by] if isinstance(by, str) else by
    written = [each.text if isinstance(each, ColumnGrouping) else each for each in listed]
    if not all(isinstance(each, str) for each in written):
        raise PredicateError(f"by must be names of columns, got {str(by)[:80]!r}")
    known = schema_of(schema)
    items = [item for each in written for item in _split_groupings(each, known)]
    if not 1 <= len(items) <= MAX_PARTS:
        raise PredicateError(f"by must name 1 to {MAX_PARTS} columns, got {len(items)}")
    parts = tuple(_parse_grouping(item, known, unit) for item in items)
    names = [part.column.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise PredicateError(f"by names {name!r} twice: name each column once")
    return parts


def _split_groupings(text: str, schema: Schema) -> list[str]:
    """Return the items of a list with commas. Numbers after a colon are edges of the column before them."""
    name, _, how = text.rpartition(":")
    is_grouped = how.strip().lower() in PERIODS or all(_REAL.fullmatch(edge.strip()) for edge in how.split(","))
    if text in schema or (name in schema and is_grouped):  # a name of a column may contain commas
        return [text]
    try:
        pieces = split_list(text)
    except ValueError:  # an unusual name of a column
        pieces = text.split(",")
    items = join_edges(pieces, _REAL)
    if not all(items):
        raise PredicateError(f"by has an empty name in {text[:80]!r}: leave it out")
    return items


def _parse_grouping(item: str, schema: Schema, unit: str | None) -> GroupBy:
    """Return one grouping, from the name of a column and the edges or period after a colon."""
    if item in schema:
        return _grouping_of_column(_grouped_column(item, schema), item, None, schema)
    if end := call_end(item):
        value = parse_value(item[:end], schema)
        value = value.with_where(normal_form(value.where))
        return _grouping_of_column(value, value.origin.name, item[end:].strip().removeprefix(":") or None, schema)
    name, colon, how = item.rpartition(":")
    if not colon:
        name = item
    if name == unit:
        raise PredicateError(f"by names {name!r}, the unit: a table would name persons; leave it out")
    if call := re.fullmatch(r"(month|quarter|year)\((.+)\)", item):
        raise PredicateError(f"by calls {call[1]}: write {call[2]}:{call[1]}")
    if call := re.fullmatch(rf"({'|'.join(FUNCTIONS)})\((.+)\)", name):
        raise PredicateError(
            f"by calls {call[1]}, which only conditions can use: its owner can state a kind for {call[2]} in "
            "noisycount.toml"
        )
    if name not in schema:
        type_ = schema.others.get(name)
        why = "which is no column" if type_ is None else f"whose type {type_} no question can use"
        raise PredicateError(f"by names {name[:80]!r}, {why}: {did_you_mean(name, list(schema))}")
    return _grouping_of_column(_grouped_column(name, schema), name, how, schema)


def _grouped_column(name: str, schema: Schema) -> Column:
    """Return the column of a grouping; for a table with one row a person, the smallest value of the person.

    Two values of one person would be two groups. The smallest one counts, so that each person is in one group.
    """
    column = column_of(schema, name)
    if column.table is None or not schema.tables[column.table].is_one_row_a_unit:
        return column
    return PersonValue(
        name=name, kind=column.kind, function=Function.SMALLEST, where=EVERY_ROW, column=column, table=column.table
    )


def _grouping_of_column(column: Column, source: str, how: str | None, schema: Schema) -> GroupBy:
    """Return the grouping of a column by edges, by a period or by each value.

    Args:
        column: The column, or a value of a person.
        source: The name of the column of the records that has the values.
        how: The text after the colon: edges or a period. None: each value is a group.
        schema: The schema of the records.

    Raises:
        PredicateError: An edge is not a number of the kind of the column, or few values of the column are equal.
    """
    if how is None:
        return EachValue(column, schema.normalisers.get(source, str))
    pieces = [piece.strip() for piece in how.split(",")]
    schema.require_clear_decimal(source, pieces, "by")
    if span := PERIODS.get(how.strip().lower()):
        return Period(column, span)
    pattern, number = (_INTEGER, int) if column.kind is Kind.INTEGER else (_REAL, float)
    if not all(map(pattern.fullmatch, pieces)):
        raise PredicateError(
            f"by groups {column} by {how[:80]!r}: write edges such as 0,18,65 for numbers, or "
            "month, quarter or year for dates"
        )
    return NumberRanges(column, tuple(map(number, pieces)))


@frozen(eq=False, slots=False)
class KeySet:
    """The cells of a table: combinations of keys, one key for each grouping."""

    parts: tuple[GroupBy, ...]  # groupings of the table
    values: tuple[tuple[Key, ...], ...]  # keys of each grouping, each once
    # index into `values` of each key of each cell, shape (cells, parts); no two rows are equal
    codes: Codes = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def is_grid(self) -> bool:
        """True if the cells are all combinations of the keys, in order."""
        sizes = [len(values) for values in self.values]
        if len(self) != int(np.prod(sizes)):
            return False
        grid = np.indices(sizes).reshape(len(sizes), -1).T
        return bool((self.codes == grid).all())

    def key(self, cell: int) -> tuple[Key, ...]:
        """Return the keys of a cell, one for each grouping."""
        return tuple(values[code] for values, code in zip(self.values, self.codes[cell], strict=True))


@frozen(eq=False, slots=False)
class CellQuestion:
    """The request for the counts of a table with known keys.

    A cell counts the units with at least one record that matches and has the keys of the cell. If `has_other`, there is
    one more cell, the last, which counts units with a matching record with any other keys.
    """

    keys: KeySet  # cells that are counted
    where: Predicate | None  # condition of the records; None: all records
    # levels that are counted; each includes "other" as its last node, if there is one. A node counts each unit that is
    # in at least one of its cells
    levels: tuple[Level, ...]
    has_other: bool = False  # True if records with other keys are a cell
    # contribution bound: the largest number of cells in which a unit counts. A unit keeps the cells with the smallest
    # keyed hash of unit and cell. None: no bound
    max_groups: int | None = None
    salt: str = ""  # key of the hash

    @property
    def size(self) -> int:
        """Number of cells, with that of other keys."""
        return len(self.keys) + self.has_other


@frozen
class KeyQuestion:
    """The request for the counts of a table with hidden keys, which are found in the records."""

    parts: Sequence[GroupBy]  # groupings of the table
    where: Predicate | None  # condition of the records; None: all records
    max_groups: int | None = None  # contribution bound, as in `CellQuestion`
    salt: str = ""  # key of the hash that chooses those groups


@frozen(eq=False)
class KeyCounts:
    """Groups with at least one unit each, and their counts of units."""

    keys: list[tuple[Key, ...]]  # keys of each group, one for each grouping
    counts: NDArray[np.int64]  # number of units of each group, at least 1; shape (groups,)
