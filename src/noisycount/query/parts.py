"""What a table is grouped by, from how it is written."""

import re
from collections.abc import Iterator, Mapping, Sequence

from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.query.grouping import Edges, Part, Period, Plain, Span
from noisycount.query.predicate import Column
from noisycount.query.schema import Kind, Schema, close_names

__all__ = ["MOST_PARTS", "Item", "parts_of"]


MOST_PARTS = 8
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")

_REAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")

_SPANS = {span.name.lower(): span for span in Span}


@frozen
class Item:
    """One of the things that a table is grouped by.

    Attributes:
        column: The name of the column.
        grouping: Edges such as `0,18,65`, or `month`, `quarter`, `year`; empty: each value.
    """

    column: str
    grouping: str = ""

    @property
    def text(self) -> str:
        """The item as one types it."""
        return f"{self.column}:{self.grouping}" if self.grouping else self.column


def parts_of(
    by: str | Sequence[str | Item], schema: Mapping[str, Kind], unit: str | None
) -> tuple[Part, ...]:
    """The parts of a table.

    Args:
        by: names of columns, such as "town,sex" or ["town", "sex"]; "age:0,18,65" groups numbers by
            edges, "visit:month" days or times by month, quarter or year.
        schema: the columns that questions may use.
        unit: the column that names the person; None: every record is one unit.

    Raises:
        PredicateError: a name is unknown, stands twice or is that of the unit, or a column cannot
            be grouped so.

    Example:
        >>> schema = {"town": Kind.TEXT, "age": Kind.INTEGER}
        >>> [part.text for part in parts_of("age:0,18,65,town", schema, None)]
        ['age:0,18,65', 'town']
    """
    listed = [by] if isinstance(by, str) else by
    written = [each.text if isinstance(each, Item) else each for each in listed]
    if not all(isinstance(each, str) for each in written):
        raise PredicateError(f"by must be names of columns, got {str(by)[:80]!r}")
    items = [item for each in written for item in items_of(each, schema)]
    if not 1 <= len(items) <= MOST_PARTS:
        raise PredicateError(f"by must name 1 to {MOST_PARTS} columns, got {len(items)}")
    parts = tuple(_part(item, schema, unit) for item in items)
    names = [part.column.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            raise PredicateError(f"by names {name!r} twice: name each column once")
    return parts


def items_of(text: str, schema: Mapping[str, Kind]) -> Iterator[str]:
    """The items of a list with commas, of which those between edges belong to their column."""
    if text in schema:
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


def _part(item: str, schema: Mapping[str, Kind], unit: str | None) -> Part:
    """One part, from its name and what follows a colon."""
    if item in schema:
        return Plain(Column(item, schema[item]))
    name, colon, how = item.rpartition(":")
    if not colon:
        name = item
    if name == unit:
        raise PredicateError(
            f"by names {name!r}, the unit: a table would name persons; leave it out"
        )
    if name not in schema:
        type_ = schema.others.get(name) if isinstance(schema, Schema) else None
        why = "which is no column" if type_ is None else f"whose type {type_} no question can use"
        close = close_names(name, list(schema))
        raise PredicateError(f"by names {name[:80]!r}, {why}: use {close}")
    column = Column(name, schema[name])
    if isinstance(schema, Schema):
        schema.require_clear(name, how.split(","), "by")
    if how.strip().lower() in _SPANS:
        return Period(column, _SPANS[how.strip().lower()])
    return Edges(column, _edges(how, column))


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
