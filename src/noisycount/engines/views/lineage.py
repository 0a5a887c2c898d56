"""The lineage of the rows of a query: on the records of which unit each row depends, and on how many records.

The rules are those of stable transformations (McSherry, PINQ, 2009): a query is accepted if one unit, or one record,
changes nothing but its own rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from noisycount.engines.views.definition import BaseTable
from noisycount.frozen import frozen

EXACT_TYPES = frozenset({"integer", "text", "boolean", "uuid", "date"})
"""Types whose equal values name the same unit: grouping and joining by them never mixes two units."""
COMPUTED = "="
"""The beginning of the name of a unit that is computed from a record, and stored in no column."""
_KEEPING_LEFT, _KEEPING_RIGHT = ("", "LEFT"), ("", "RIGHT")


@frozen
class UnitColumns:
    """Columns that name the unit of each row.

    If a row has a value in any of these columns, then it has no other value in them, and it depends on no private
    record but those that have this value in their own column of `sources`. A row without a value in them may depend on
    any record.
    """

    sources: frozenset[tuple[str, str]]  # the column that names the unit, with its table, in each private table
    type: str  # of the values
    columns: frozenset[int]  # the places of the columns in a row

    @property
    def is_exact(self) -> bool:
        """True if rows with equal values depend on one unit."""
        return not self.sources or self.type in EXACT_TYPES

    def merge(self, other: "UnitColumns", columns: Iterable[int]) -> "UnitColumns | None":
        """Return the unit of rows of two queries, or None if it is not one unit."""
        sources = self.sources | other.sources
        tables = {table for table, _ in sources}
        is_computed = len(tables) > 1 and any(column.startswith(COMPUTED) for _, column in sources)
        if self.type != other.type or not self.type or len(tables) < len(sources) or is_computed:
            return None
        return UnitColumns(sources, self.type, frozenset(columns))

    def within(self, columns: Iterable[int]) -> "UnitColumns":
        """Return the unit of rows of which only some columns still name it."""
        return replace(self, columns=self.columns.intersection(columns))


@frozen
class Lineage:
    """The columns of a query, and what its rows depend on."""

    names: tuple[str, ...]  # of the columns, in lower case
    types: tuple[str, ...]
    units: tuple[UnitColumns, ...]
    origins: tuple[tuple[str, str] | None, ...]  # the table and column that each column is taken from
    private: frozenset[str] = frozenset()  # the private tables that it reads
    is_recordwise: bool = True  # each row depends on one private record at most, and no two rows on the same
    is_stable: bool = True  # a private record more or less changes one row at most
    keys: tuple[frozenset[int], ...] = ()  # sets of columns that no two rows share

    @classmethod
    def of_table(cls, table: BaseTable, *, is_public: bool) -> "Lineage":
        """Return the lineage of the rows of a table."""
        storages = table.storages or frozenset({table.name})
        names, types = tuple(name.lower() for name in table.columns), tuple(table.columns.values())
        keys = tuple(frozenset(names.index(name.lower()) for name in key) for key in table.keys)
        origins = tuple((min(storages), name) for name in names)
        public = cls(names, types, (), origins, keys=keys)
        if is_public:
            return public.with_public_units()
        units = tuple(
            UnitColumns(frozenset((storage, name) for storage in storages), type_, frozenset({place}))
            for place, (name, type_) in enumerate(zip(names, types, strict=True))
        )
        return replace(public, units=units, private=storages)

    def units_of(self, name: str) -> list[UnitColumns]:
        """Return the units that a column names."""
        return [unit for unit in self.units if self.names.index(name.lower()) in unit.columns]

    def with_public_units(self) -> "Lineage":
        """Return the same with every column as a unit, as public rows depend on no private record."""
        places = enumerate(self.types)
        return replace(self, units=tuple(UnitColumns(frozenset(), type_, frozenset({n})) for n, type_ in places))

    def with_units(self, units: Iterable[UnitColumns | None]) -> "Lineage":
        """Return the same with those units that still have a column; public rows keep all of theirs."""
        kept = tuple(dict.fromkeys(unit for unit in units if unit is not None and unit.columns))
        return replace(self, units=kept) if self.private else self.with_public_units()

    def mixed(self, columns: Iterable[int]) -> "Lineage":
        """Return the lineage of rows that are computed from all rows with equal values in some columns."""
        kept = frozenset(columns)
        units = [unit.within(kept) for unit in self.units if unit.is_exact]
        is_public = not self.private
        return replace(self, is_recordwise=is_public, is_stable=is_public).with_units(units)

    def distinct(self) -> "Lineage":
        """Return the lineage of the rows without duplicates."""
        units = [unit for unit in self.units if unit.is_exact]
        keys = (*self.keys, frozenset(range(len(self.names))))
        return replace(self, is_recordwise=not self.private, keys=keys).with_units(units)

    def is_unique(self, columns: Iterable[int]) -> bool:
        """Return True if no two rows have equal values in some columns."""
        exact = {place for place in columns if self.types[place] in EXACT_TYPES}
        return any(key <= exact for key in self.keys)

    def restricted(self, other: "Lineage", pairs: Sequence[tuple[int, int]]) -> "Lineage":
        """Return the lineage of rows that depend also on those rows of another query that equal them in `pairs`."""
        if not other.private:
            return self
        units = [unit.merge(its, unit.columns) for unit, its in _linked(self.units, other.units, pairs)]
        private = self.private | other.private
        return replace(self, private=private, is_recordwise=False, is_stable=False).with_units(units)

    def joined(self, right: "Lineage", pairs: Sequence[tuple[int, int]], side: str) -> "Lineage":
        """Return the lineage of a join. `pairs`: the places, left and right, that it equates; `side`: such as LEFT."""
        count = len(self.names)
        both = Lineage(
            self.names + right.names,
            self.types + right.types,
            (),
            self.origins + right.origins,
            self.private | right.private,
            is_recordwise=self._stays(right, side, pairs, "is_recordwise"),
            is_stable=self._stays(right, side, pairs, "is_stable"),
        )
        shifted = [replace(unit, columns=frozenset(y + count for y in unit.columns)) for unit in right.units]
        moved = [(x, y + count) for x, y in pairs]
        units = [one.merge(its, one.columns | its.columns) for one, its in _linked(self.units, shifted, moved)]
        if not right.private:
            units = [*units, *self.units]
        elif not self.private:
            units = [*units, *shifted]
        return both.with_units(units)

    def _stays(self, right: "Lineage", side: str, pairs: Sequence[tuple[int, int]], name: str) -> bool:
        """Return True if a join with public rows, at most one for a record, keeps a property of the private side.

        Only columns of one type tell public rows apart: a comparison after a cast may make several keys equal.
        """
        if self.private and right.private:
            return False
        alike = [(x, y) for x, y in pairs if self.types[x] == right.types[y]]
        if self.private:
            return getattr(self, name) and side in _KEEPING_LEFT and right.is_unique(y for _, y in alike)
        if right.private:
            return getattr(right, name) and side in _KEEPING_RIGHT and self.is_unique(x for x, _ in alike)
        return True

    def combined(self, right: "Lineage", kind: str, *, is_distinct: bool) -> "Lineage":
        """Return the lineage of a set operation. `kind`: union, except or intersect."""
        types = tuple(one if one == other else "" for one, other in zip(self.types, right.types, strict=True))
        units = [
            one.merge(other, columns)
            for one in self.units
            for other in right.units
            if (columns := one.columns & other.columns) and (kind == "union" or (one.is_exact and other.is_exact))
        ]
        is_stable = self.is_stable and right.is_stable and not self.private & right.private
        if kind != "union":
            is_stable = self.is_stable and not right.private
        private = self.private | right.private
        is_recordwise = kind == "union" and self.is_recordwise and right.is_recordwise
        is_recordwise = not private or (is_recordwise and not (self.private and right.private))
        made = replace(self, types=types, private=private, is_recordwise=is_recordwise, is_stable=is_stable, keys=())
        made = made.with_units(units)
        return made.distinct() if is_distinct else made


def _linked(
    left: Sequence[UnitColumns], right: Sequence[UnitColumns], pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[UnitColumns, UnitColumns]]:
    """Yield the units of both sides that an equation links."""
    for one in left:
        for other in right:
            is_linked = any(x in one.columns and y in other.columns for x, y in pairs)
            if is_linked and one.type in EXACT_TYPES:
                yield one, other
