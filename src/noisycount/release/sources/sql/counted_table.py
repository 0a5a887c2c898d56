"""A table of a server, as it was at its opening."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnClause,
    Connection,
    TableClause,
    column,
    func,
    literal_column,
    quoted_name,
    select,
    table,
)

from noisycount.errors import SourceError
from noisycount.release.question.schema import Kind, Schema
from noisycount.release.sources.check import Check, ColumnCheck
from noisycount.release.sources.sql.algebra import SqlAlgebra, type_of
from noisycount.release.sources.sql.dialect import Dialect, Expression
from noisycount.release.sources.sql.kinds import Form, FoundColumn, FoundName, require_unit
from noisycount.release.sources.sql.records import Records
from noisycount.release.sources.sql.units import Person

__all__ = ["CountedTable"]


@dataclass(frozen=True, slots=True)
class CountedTable:
    """A table whose records are counted.

    Attributes:
        dialect: What its server says in its own way.
        name: The table.
        columns: Those that questions may use, and the unit.
        unit: The column that names the person, or None where every record is one unit.
        uses_indexes: Whether only records that match are read, which is faster and tells.

    Raises:
        SourceError: The unit is of a type that names nobody.
    """

    dialect: Dialect
    name: FoundName
    columns: tuple[FoundColumn, ...]
    unit: str | None
    uses_indexes: bool

    def __post_init__(self) -> None:
        if self.unit is not None:
            require_unit(self._unit)

    @property
    def records(self) -> Records:
        """What statements read."""
        algebra = SqlAlgebra(
            self.dialect,
            {each.name: (each, self._column(each)) for each in self.columns},
        )
        return Records(self._clause, algebra, self._person, self.uses_indexes)

    def require_same(self, connection: Connection) -> None:
        """The refusal of a table that is not as it was, or may not be read.

        It is read first, of which nothing comes: from then on the transaction keeps its columns
        from changing.

        Raises:
            SourceError: It is such a one.
        """
        columns: list[Expression] = [self._column(each) for each in self.columns]
        connection.execute(
            select(*(columns or [literal_column("1")])).select_from(self._clause).limit(0)
        )
        if not set(self.columns) <= set(self.dialect.columns(connection, self.name)):
            raise SourceError(
                f"the columns of {self.name.name!r} changed since its opening: open it again"
            )

    def require_units(self, connection: Connection) -> None:
        """The refusal of records without a unit; where the server allows none, it is not asked.

        Raises:
            SourceError: There are such, or the table cannot be read.
        """
        self.require_same(connection)
        if self.unit is None or self._unit.is_required:
            return
        value = self._column(self._unit)
        missing = select(func.count()).select_from(self._clause).where(value.is_(None))
        if connection.execute(missing).scalar():
            raise SourceError(
                f"unit column {self.unit!r} has missing values, and a record without a person "
                "cannot be counted for anybody: fill them in or remove those records"
            )

    def check(self, connection: Connection, schema: Schema, unit: str | None) -> Check:
        """What is in the columns that questions may use, and how many persons, for the owner."""
        held = {each.name: each for each in self.columns}
        persons = [] if unit not in held else [self._person_of(held[unit]).value.distinct()]
        counts = [func.count(), *(func.count(self._column(held[name])) for name in schema)]
        asked = [*counts, *map(func.count, persons)]
        rows, *told = connection.execute(select(*asked).select_from(self._clause)).one()
        given, units = told[: len(schema)], told[-1] if persons else None
        columns = [
            ColumnCheck(name, kind, held[name].type, None, rows - cells, reason=held[name].reason)
            for (name, kind), cells in zip(schema.items(), given, strict=True)
        ]
        unused = [ColumnCheck(name, None, type_, None, 0) for name, type_ in schema.others.items()]
        return Check(rows, (*columns, *unused), units=units)

    @property
    def _unit(self) -> FoundColumn:
        return next(each for each in self.columns if each.name == self.unit)

    @property
    def _person(self) -> Person | None:
        """Who a record is of; texts are told apart as they are compared."""
        return None if self.unit is None else self._person_of(self._unit)

    def _person_of(self, found: FoundColumn) -> Person:
        """Who a record is of, by a column that names persons."""
        value = self._column(found)
        is_text = found.kind is Kind.TEXT and found.form is not Form.NAMED
        told = self.dialect.text(value) if is_text else value
        return Person(told, found.kind, self.dialect, found.is_required)

    @property
    def _clause(self) -> TableClause:
        columns: list[ColumnClause[Any]] = [
            column(quoted_name(each.name, self.dialect.quote)) for each in self.columns
        ]
        schema = self.name.schema and quoted_name(self.name.schema, self.dialect.quote)
        return table(quoted_name(self.name.name, self.dialect.quote), *columns, schema=schema)

    def _column(self, found: FoundColumn) -> Expression:
        return column(quoted_name(found.name, self.dialect.quote), type_of(found.kind))
