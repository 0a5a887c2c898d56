"""Several tables of the same persons, as their owner describes them: links, look-ups, and the schema of all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from noisycount.frozen import frozen
from noisycount.query.schema import Schema, TableTraits


@frozen
class Link:
    """A column of a table that equals a column of another table."""

    table: str  # the other table
    column: str  # column of the other table
    key: str  # column of the table that has the link


@frozen
class TableFacts:
    """A table of a data set of several tables, as its owner describes it."""

    name: str
    unit: str | None = None  # column that names the person; None: the persons are those of linked rows, or it is public
    through: Link | None = None  # link to the table whose rows name the persons
    on: Link | None = None  # link from a public look-up to the table that it explains
    is_one_row_a_unit: bool = False  # True if the owner states that each person has one row

    @property
    def links(self) -> tuple[Link, ...]:
        """Links to other tables."""
        return tuple(filter(None, (self.through, self.on)))

    @property
    def rows(self) -> str:
        """Table whose rows have the columns."""
        return self.name if self.on is None else self.on.table


def columns_to_read(name: str, tables: Iterable[TableFacts]) -> list[str]:
    """Return the columns of a table that links read."""
    found = [link.column for table in tables for link in table.links if link.table == name]
    return [*dict.fromkeys([*found, *(link.key for table in tables if table.name == name for link in table.links)])]


def traits_of(tables: Sequence[TableFacts]) -> dict[str, TableTraits]:
    """Return the facts about each table that questions depend on, by its name."""
    traits = {table.name: TableTraits(table.rows, table.is_one_row_a_unit) for table in tables}
    return {
        table.name: replace(traits[table.name], is_one_row_a_unit=traits[table.rows].is_one_row_a_unit)
        for table in tables
    }


def joined_schema(tables: Sequence[TableFacts], schemas: Mapping[str, Schema], unit: str) -> Schema:
    """Return the schema of several tables, with names such as `visits.ward`.

    Args:
        tables: The tables.
        schemas: The schema of each table, with the columns that questions may use.
        unit: The column of persons, as the data set names it.
    """

    def qualified(part: Callable[[Schema], Mapping[str, object]]) -> dict[str, object]:
        return {f"{table.name}.{name}": value for table in tables for name, value in part(schemas[table.name]).items()}

    return Schema(
        qualified(lambda schema: schema),  # type: ignore[arg-type]  # kinds
        qualified(lambda schema: schema.others),  # type: ignore[arg-type]  # names of types
        unit=unit,
        commas=frozenset(f"{table.name}.{name}" for table in tables for name in schemas[table.name].commas),
        public=qualified(lambda schema: schema.public),  # type: ignore[arg-type]  # public values
        normalisers=qualified(lambda schema: schema.normalisers),  # type: ignore[arg-type]  # functions
        missing=qualified(lambda schema: schema.missing),  # type: ignore[arg-type]  # values
        tables=traits_of(tables),
    )
