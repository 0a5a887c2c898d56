"""Several tables of the same persons, as their owner states them. `tables` opens them."""

from dataclasses import replace
from pathlib import Path

from noisycount.catalog.catalog import DatasetSettings
from noisycount.engines.places import ServedTable, ServerPlace
from noisycount.engines.table_facts import TableFacts, columns_to_read
from noisycount.frozen import frozen
from noisycount.query.schema import Stated


@frozen
class GroupTable:
    """A table of a data set of several tables, as its owner states it."""

    facts: TableFacts
    place: Path | ServedTable
    settings: DatasetSettings  # its own settings; the columns are those that questions may use

    @property
    def name(self) -> str:
        """Name of the table in questions."""
        return self.facts.name

    @property
    def is_public(self) -> bool:
        """True for a public look-up."""
        return self.facts.on is not None


@frozen
class TableGroup:
    """The tables of a data set."""

    tables: tuple[GroupTable, ...]
    persons: str | None = None  # table that has a row of every person who counts; None: persons of all tables count

    def __str__(self) -> str:
        return "tables " + ", ".join(table.name for table in self.tables)

    @property
    def facts(self) -> tuple[TableFacts, ...]:
        """Facts of each table that an engine needs to join them, in the order of `tables`."""
        return tuple(table.facts for table in self.tables)

    @property
    def values(self) -> dict[str, Stated]:
        """Public values of columns, by their names in questions."""
        return {
            f"{table.name}.{column}": values
            for table in self.tables
            for column, values in table.settings.values.items()
        }

    @property
    def private_tables(self) -> list[GroupTable]:
        """Tables with records of persons."""
        return [table for table in self.tables if not table.is_public]

    @property
    def server(self) -> ServedTable | None:
        """A table on the server or cluster that counts all tables; None if they are files or on an object store."""
        served = (each.place for each in self.tables if isinstance(each.place, ServedTable))
        return next((place for place in served if isinstance(place.place, ServerPlace)), None)

    def settings_to_open(self, table: GroupTable) -> DatasetSettings:
        """Return the settings of a table, with the columns that links read added to those that can be counted."""
        chosen = table.settings.columns
        if chosen is None:
            return table.settings
        return replace(table.settings, columns=[*dict.fromkeys([*chosen, *columns_to_read(table.name, self.facts)])])
