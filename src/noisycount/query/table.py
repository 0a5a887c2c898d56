"""A table as it is asked: its parts, cells and levels, and what a ledger keeps of them."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noisycount.display.values import short
from noisycount.errors import PredicateError
from noisycount.frozen import frozen
from noisycount.model.tables.levels import OTHER, TOTAL, Label, Level, cell_level, margin_levels, range_levels
from noisycount.query.grouping import CellQuestion, Edges, KeyQuestion, KeySet, Part, Period, Plain, Span
from noisycount.query.key_sets import in_one_order, written_keys
from noisycount.query.predicate import Column, Predicate, canonical_text, columns
from noisycount.query.query import Item, Query
from noisycount.query.schema import Kind, Schema, close_names

MOST_PARTS = 8
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_REAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_SPANS = {span.name.lower(): span for span in Span}
Margins: TypeAlias = tuple[tuple[str, ...], ...]


def parts_of(by: str | Sequence[str | Item], schema: Mapping[str, Kind], unit: str | None) -> tuple[Part, ...]:
    """The parts of a table.

    Args:
        by: names of columns, such as "town,sex" or ["town", "sex"]; "age:0,18,65" groups numbers by
            edges, "visit:month" days or times by month, quarter or year.
        schema: the columns that questions may use.
        unit: the column that names the person; None: every record is one unit.
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
        raise PredicateError(f"by names {name!r}, the unit: a table would name persons; leave it out")
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


@frozen
class TableQuestion:
    """What is counted in one table.

    Args:
        keys: The cells, in the order in which they are shown; None: only the records know them.
        margins: The names of the parts of each margin that is measured beside the cells; an empty
            one is the total.
        most: In how many cells a unit may be at most; it is left in so many by a keyed hash.

    Raises:
        PredicateError: A margin is none, or these do not go together.
    """

    parts: tuple[Part, ...]  # what it is grouped by
    keys: KeySet | None
    where: Predicate | None = None  # which records are counted; None: all
    margins: Margins = ()
    has_other: bool = False  # whether records with other keys are a cell of their own
    most: int | None = None
    is_cumulative: bool = False  # whether ranges of cells are measured beside them

    def __post_init__(self) -> None:
        if self.most is not None and not (type(self.most) is int and self.most >= 1):
            raise PredicateError(f"groups_per_unit must be a whole number from 1, got {self.most!r}")
        if self.keys is None and (self.has_other or self.is_cumulative or any(self.margins)):
            raise PredicateError(
                "hidden keys have no other row, no ranges, and no margin but the total: list the "
                "keys, or leave these out"
            )
        if self.is_cumulative and (len(self.parts) != 1 or self.margins or self.has_other):
            raise PredicateError(
                "cumulative needs one column in order, without margins and without other: group by that column alone"
            )
        self._require_names()

    def _require_names(self) -> None:
        """The refusal of two kinds of rows of one name, which nobody could tell apart."""
        told = [self.name, *(",".join(each) or TOTAL for each in self.margins)]
        told += [OTHER] * self.has_other
        for name in told:
            if told.count(name) > 1:
                raise PredicateError(
                    f"by, margins and other make two kinds of rows called {name!r}: leave one out,"
                    " or give the column another name"
                )

    @property
    def columns(self) -> set[Column]:
        """The columns that it reads."""
        return {part.column for part in self.parts} | set(columns(self.where) if self.where else ())

    @property
    def name(self) -> str:
        """What a reader calls its cells."""
        return ",".join(part.column.name for part in self.parts)

    def groups(self, unit: str | None) -> int | None:
        """In how many cells one unit can be; None: in all that there are."""
        if unit is None and self.most is not None:
            raise PredicateError("groups_per_unit is for persons, and a row is in one group only: leave it out")
        if unit is None:
            return 1
        if self.is_cumulative and self.most != 1:
            raise PredicateError(
                "cumulative needs groups_per_unit = 1 where persons are counted: one who is in "
                "several groups would be in a sum several times; on the command line "
                "--groups-per-unit 1"
            )
        if self.keys is None and self.most is None:
            raise PredicateError(
                "groups_per_unit is missing: of hidden keys nobody knows how many a person can "
                "have, so say how many are kept, such as 1"
            )
        return self.most

    def levels(self) -> tuple[Level, ...]:
        """The cells first, then the margins or ranges, in the order in which they are shown."""
        assert self.keys is not None  # noqa: S101 - hidden keys have no levels before the count
        return self._levels_of(self.keys)

    def _levels_of(self, keys: KeySet) -> tuple[Level, ...]:
        names = [part.column.name for part in self.parts]
        if self.is_cumulative:
            return (cell_level(keys.codes, names), *range_levels(len(keys)))
        return (
            cell_level(keys.codes, names, has_other=self.has_other),
            *margin_levels(keys.codes, names, self.margins, has_other=self.has_other),
        )

    def canonical(self) -> "CanonicalTable":
        """The same question in an order that does not depend on how its keys were listed."""
        assert self.keys is not None  # noqa: S101 - hidden keys have an order already
        if self.is_cumulative:
            levels = self.levels()
            return CanonicalTable(self.keys, levels, [np.arange(level.size) for level in levels])
        keys, places = in_one_order(self.keys)
        if self.has_other:
            places = np.append(places, len(keys))
        theirs = self._levels_of(keys)
        return CanonicalTable(
            keys, theirs, [_same_nodes(mine, other, places) for mine, other in zip(self.levels(), theirs, strict=True)]
        )

    def facts(self, keys: KeySet | None) -> dict[str, Any]:
        """What a ledger keeps of it, of which no other table has the same."""
        return {
            "by": [part.text for part in self.parts],
            "keys": None if keys is None else written_keys(keys),
            "margins": [list(margin) for margin in self.margins],
            "other": self.has_other,
            "groups_per_unit": self.most,
            "cumulative": self.is_cumulative,
        }

    def cell_question(self, table: "CanonicalTable") -> CellQuestion:
        """What a source counts of it."""
        return CellQuestion(table.keys, self.where, table.levels, self.has_other, self.most, self._salt)

    def key_question(self) -> KeyQuestion:
        """What a source counts of it where only the records know the keys."""
        return KeyQuestion(self.parts, self.where, self.most, self._salt)

    @property
    def _salt(self) -> str:
        """The key of the hash by which a unit stays in few cells: the same for the same table.

        It rests on the question alone. A name of the records may be found by their content, and
        then one record more would draw the cells of everybody anew. It is no secret: which cells a
        unit stays in says nothing but through the counts, whose noise covers one unit.
        """
        said = json.dumps([part.text for part in self.parts])
        return hashlib.sha256(said.encode("ascii")).hexdigest()

    @property
    def where_text(self) -> str | None:
        """The canonical text of the predicate."""
        return None if self.where is None else canonical_text(self.where)


@frozen(eq=False)
class CanonicalTable:
    """A table as it is counted and kept.

    Attributes:
        places: For each level the place here of each node of the table as it was asked.
    """

    keys: KeySet  # its cells
    levels: tuple[Level, ...]  # what is counted
    places: list[NDArray[np.int64]] = field(repr=False)

    def as_asked(self, answers: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], ...]:
        """The answers in the order in which the table was asked."""
        return tuple(answer[places] for answer, places in zip(answers, self.places, strict=True))


def _same_nodes(mine: Level, theirs: Level, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each node of a level the same node where the cells have other places."""
    inside = mine.of_cell >= 0
    same = np.zeros(mine.size, dtype=np.int64)
    same[mine.of_cell[inside]] = theirs.of_cell[places[inside]]
    return same


def margins_of(margins: str | Sequence[str | Sequence[str]], parts: Sequence[Part]) -> Margins:
    """The margins that are asked for, in one order: those of more parts first, the total last.

    Args:
        margins: "total", the name of a part, or several of them joined by "*" or as a sequence;
            "all" are all that there are.
        parts: What the table is grouped by.
    """
    names = [part.column.name for part in parts]
    if margins in ("all", ["all"], ("all",)):
        return _all_margins(names)
    listed = [margins] if isinstance(margins, str) else list(margins)
    found = [_margin(each, names) for each in listed]
    for margin in found:
        if found.count(margin) > 1:
            raise PredicateError(f"margins have {_shown(margin)} twice: name each once")
    return _in_order(found, names)


def _all_margins(names: Sequence[str]) -> Margins:
    """Every margin, the largest first, the total last."""
    every = [
        tuple(name for place, name in enumerate(names) if chosen >> place & 1) for chosen in range(2 ** len(names) - 1)
    ]
    return _in_order(every, names)


def _in_order(margins: Sequence[tuple[str, ...]], names: Sequence[str]) -> Margins:
    """Margins with more parts first, the total last."""
    return tuple(sorted(margins, key=lambda each: (-len(each), [names.index(one) for one in each])))


def _margin(written: object, names: Sequence[str]) -> tuple[str, ...]:
    """The parts of one margin, in the order of the table."""
    if written == TOTAL and TOTAL not in names:
        return ()
    if isinstance(written, str):
        pieces = [written] if written in names else [each.strip() for each in written.split("*")]
    else:
        pieces = list(written) if isinstance(written, Sequence) else [written]  # type: ignore[list-item]
    for piece in pieces:
        if piece not in names:
            close = close_names(str(piece), [*names, TOTAL])
            raise PredicateError(f"margins name {short(piece)}, which is no margin: use {close}")
    if set(pieces) == set(names):
        raise PredicateError(f"margins name {_shown(pieces)}, the table itself: leave it out")
    return tuple(name for name in names if name in pieces)


def _shown(margin: Sequence[str]) -> str:
    return "*".join(margin) or TOTAL


def query_of_stored(
    stored: Mapping[str, Any],
    schema: Mapping[str, Kind],
    epsilon: Fraction,
    delta: Fraction | None = None,
    confidence: float = 0.95,
) -> Query | None:
    """The question that a ledger holds; None where its keys or margins cannot be typed.

    Args:
        stored: What the ledger keeps of the question.
        schema: The columns that questions may use.
        epsilon: Its price.
        delta: That of a table.
        confidence: With which its errors are to be stated.
    """
    table, where = stored.get("table"), stored["where"]
    wheres = [] if where is None else [where]
    if table is None:
        return Query(wheres=wheres, epsilon=epsilon, confidence=confidence)
    delta = delta or None
    if "questions" in table:
        listed = table["questions"]
        return Query(wheres=listed, is_list=True, epsilon=epsilon, delta=delta, confidence=confidence)
    names = [name for margin in table["margins"] for name in margin]
    is_listed = table["keys"] is not None
    if (is_listed and "grid" not in table["keys"]) or {*"".join(names)} & {*",*"}:
        return None
    parts = [part for text in table["by"] for part in parts_of([text], schema, stored["unit"])]
    grid = table["keys"]["grid"] if is_listed else [None] * len(parts)
    keys = {
        part.column.name: listed
        for part, of in zip(parts, grid, strict=True)
        if (listed := _typed_keys(part, of)) is not None
    }
    return Query(
        wheres=wheres,
        by=[Item(part.column.name, part.text[len(part.column.name) + 1 :]) for part in parts],
        keys=keys or None,
        margins=["*".join(margin) or TOTAL for margin in table["margins"]],
        other=table["other"],
        groups_per_unit=table["groups_per_unit"],
        cumulative=table["cumulative"],
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
    )


def _typed_keys(part: Part, stored: Sequence[Any] | None) -> list[Label] | None:
    """The keys as one types them; None where they follow from the part, or are hidden."""
    if stored is None or tuple(stored) == part.implied:
        return None
    if isinstance(part, Edges) and None in stored:
        return [None]
    return [part.label(part.column.kind.key(key)) for key in stored]
