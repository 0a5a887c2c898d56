"""Drafts of a data set of several tables: the files of a folder, or the tables of a database or of a server.

`find_places` and `server_places` list the tables. `join_tables` finds the column of persons, links and look-ups by
names of columns. `group_section` composes the text; proposals that only the owner can judge are comments in it.
"""

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from noisycount.catalog.catalog import ROW
from noisycount.config.config import DatasetConfig
from noisycount.config.places import suggest_name
from noisycount.display.texts import toml_key, toml_value
from noisycount.engines.finding import Proposal
from noisycount.engines.places import COLUMNAR, ServedTable, ServerPlace
from noisycount.errors import ConfigError, SeveralTablesError, SourceError
from noisycount.frozen import frozen
from noisycount.query.predicate import KEYWORDS
from noisycount.query.schema import Kind
from noisycount.release.records import can_have_tables, column_names, is_known_file, server_table_names
from noisycount.tasks.check import Inspection
from noisycount.tasks.init import DRAFTS, Draft

Examined = tuple[Inspection, tuple[Proposal, ...]]  # check of a table, and the proposals that it applied
Examine = Callable[[DatasetConfig], Examined]

_ENOUGH = 2  # tables that make a data set of several
_MOST_TABLES = 50  # more Parquet files are parts of one table
_ID_KINDS = {Kind.INTEGER.value, Kind.TEXT.value}  # kinds of columns that join tables
_KEY_SHARE = 0.9  # a column with at least this share of different values is the key of its table

_WIDTH = 98  # characters of a comment


@frozen
class TablePlace:
    """The place of one of several tables."""

    name: str  # name in questions
    place: Path | ServedTable
    table: str | None = None  # table of a database or sheet of a workbook

    def dataset(self, unit: str | None) -> DatasetConfig:
        """Return the table as a data set with a unit."""
        return DatasetConfig(self.name, self.place, table=self.table, unit=unit)


def find_places(place: Path, examine: Examine, without: Path | None = None) -> list[TablePlace]:
    """Return the tables of a folder or of a file; empty if the place is one table.

    A folder of Parquet files with the same columns is one table, and so is a folder whose folders are named by columns.

    Args:
        place: The folder or the file.
        examine: Returns the check of a table.
        without: The file of the ledger, which is no table.
    """
    if not place.is_dir():
        if not can_have_tables(place):
            return []
        places = _tables_of(place, examine)
        return _with_distinct_names(places) if len(places) >= _ENOUGH else []
    entries = [entry for entry in sorted(place.iterdir()) if entry != without and _is_table(entry)]
    if len(entries) < _ENOUGH or any(entry.is_dir() and "=" in entry.name for entry in entries):
        return []
    if all(entry.is_dir() or entry.suffix.lower() in COLUMNAR for entry in entries) and (
        len(entries) > _MOST_TABLES or len({*map(column_names, entries)}) == 1
    ):
        return []
    return _with_distinct_names([table for entry in entries for table in _tables_of(entry, examine)])


def server_places(address: str) -> list[TablePlace]:
    """Return the tables of a server that one data set can join. Raises ConfigError if there are fewer than two."""
    server = ServerPlace.read_server(address)
    names = server_table_names(server)
    if len(names) < _ENOUGH:
        raise ConfigError(
            f"{server.shown!r} has {len(names)} tables in the schema of this account: name one behind a #, as in "
            f"{server.shown}#visits"
        )
    return _with_distinct_names([TablePlace(name, ServedTable(server.with_table(name))) for name in names])


def _is_table(entry: Path) -> bool:
    """Return True if an entry of a folder is a file of a known format, or a folder of Parquet files."""
    if entry.name.startswith("."):
        return False
    return any(entry.rglob("*.parquet")) if entry.is_dir() else is_known_file(entry)


def _tables_of(place: Path, examine: Examine) -> list[TablePlace]:
    """Return the tables of a file: the file itself, or the tables of a database or the sheets of a workbook."""
    if not can_have_tables(place):
        return [TablePlace(suggest_name(place), place)]
    try:
        examine(DatasetConfig(str(place), place))
    except SeveralTablesError as error:
        return [TablePlace(name, place, name) for name in error.names]
    return [TablePlace(suggest_name(place), place)]


def _with_distinct_names(places: Sequence[TablePlace]) -> list[TablePlace]:
    """Return the tables with distinct names that are valid in questions."""
    names: dict[str, TablePlace] = {}
    for place in places:
        plain = re.sub(r"\W", "_", place.name)
        plain = f"table_{plain}" if not plain[:1].isalpha() or plain.lower() in KEYWORDS else plain
        name, number = plain, 1
        while name.casefold() in names:
            number += 1
            name = f"{plain}_{number}"
        names[name.casefold()] = replace(place, name=name)
    return list(names.values())


@frozen
class JoinedTable:
    """A table, and the way in which it is joined to the others."""

    examined: Examined
    unit: str | None  # column of persons; None: it has none
    lines: tuple[str, ...]  # lines that join it
    doubt: str | None = None  # what the owner must decide before the table is used; None: nothing

    @property
    def name(self) -> str:
        """Name of the table in questions."""
        return self.examined[0].dataset.name


def join_tables(places: Sequence[TablePlace], unit: str, examine: Examine) -> list[JoinedTable]:
    """Join each table to the others, by the names of columns and the numbers of their distinct values.

    Raises ConfigError if no table has the column of persons.
    """
    joins = _Joins({place.name: place for place in places}, unit, examine)
    joined = {place.name: table for place in places if (table := joins.join_by_unit(place)) is not None}
    if not joined:
        raise ConfigError(f"--unit {unit!r}: no table has such a column: name the column of persons")
    persons = [*joined]
    is_changed = True
    while is_changed:  # a table may be linked to one that is linked itself
        is_changed = False
        for place in places:
            if place.name not in joined and (table := joins.link_table(place, persons)) is not None:
                joined[place.name], is_changed = table, True
                persons.append(place.name)
    return [joined.get(place.name) or joins.propose_link(place, persons) for place in places]


@frozen
class _Joins:
    """The search for columns that join tables."""

    places: Mapping[str, TablePlace]
    unit: str
    examine: Examine

    def join_by_unit(self, place: TablePlace) -> JoinedTable | None:
        """Return a table with its column of persons, whose name may differ in case; None if it has none."""
        columns = self._kinds(place)
        unit = self.unit if self.unit in columns else self._single_column([c for c in columns if self._is_unit(c)])
        if unit is None:
            return None
        examined = self.examine(place.dataset(unit))
        lines = [] if unit == self.unit else [f"unit = {toml_value(unit)}"]
        check = examined[0].check
        if check.rows and check.units == check.rows:
            lines.append("one_row_a_unit = true")
        return JoinedTable(examined, unit, tuple(lines))

    def link_table(self, place: TablePlace, persons: Sequence[str]) -> JoinedTable | None:
        """Return a table with a column that is the key of a table of persons; None if it has none."""
        for other, column in self._shared_columns(place, persons):
            if self._is_key(self.places[other], column):
                through = f"through = {toml_value(f'{other}.{column}')}"
                return JoinedTable(self.examine(place.dataset(ROW)), None, (through,))
        return None

    def propose_link(self, place: TablePlace, persons: Sequence[str]) -> JoinedTable:
        """Return a table that cannot be joined without its owner, with a proposal for the owner if there is one."""
        columns = self._kinds(place)
        first = next(iter(columns), None)
        shared = self._shared_columns(place, persons)
        look_up = next((pair for pair in shared if pair[1] == first and self._is_key(place, pair[1])), None)
        similar = self._single_column([column for column in columns if self._resembles_unit(column)])
        other = column = ""
        if look_up is not None:
            (other, column), similar, doubt = look_up, None, "maybe_look_up"
            lines = ["public = true", f"on = {toml_value(f'{other}.{column}')}"]
        elif similar is not None:
            lines, doubt = [f"unit = {toml_value(similar)}"], "maybe_unit"
        elif shared:
            (other, column), doubt = shared[0], "maybe_linked"
            lines = [f"through = {toml_value(f'{other}.{column}')}"]
        else:
            lines, doubt = ['through = "TABLE.COLUMN"'], "not_joined"
        words = DRAFTS[doubt].format(place.name, other=other, column=column, unit=self.unit, similar=similar)
        return JoinedTable(self.examine(place.dataset(similar or ROW)), similar, tuple(lines), words)

    def _shared_columns(self, place: TablePlace, persons: Sequence[str]) -> list[tuple[str, str]]:
        """Return the columns of the same name and kind in tables of persons, each with its table."""
        own = self._kinds(place)
        return [
            (other, column)
            for other in persons
            for column, kind in self._kinds(self.places[other]).items()
            if own.get(column) == kind and kind in _ID_KINDS and not self._is_unit(column)
        ]

    def _kinds(self, place: TablePlace) -> dict[str, str]:
        """Return the kind of each column that questions can use."""
        columns = self.examine(place.dataset(None))[0].check.columns
        return {column.name: column.kind.value for column in columns if column.kind is not None}

    def _is_key(self, place: TablePlace, column: str) -> bool:
        """Return True if nearly all rows with a value in a column have different values."""
        try:
            check = self.examine(place.dataset(column))[0].check
        except SourceError:  # the kind of the column identifies nobody
            return False
        missing = next(each.missing for each in check.columns if each.name == column)
        return (check.units or 0) >= _KEY_SHARE * max(1, check.rows - missing)

    def _is_unit(self, column: str) -> bool:
        return column.casefold() == self.unit.casefold()

    def _resembles_unit(self, column: str) -> bool:
        """Return True if a name consists of the name of the unit and another word, such as patient_id for patient."""
        one, other = ("".join(filter(str.isalnum, name.casefold())) for name in (column, self.unit))
        return one in other or other in one

    def _single_column(self, columns: Sequence[str]) -> str | None:
        return columns[0] if len(columns) == 1 else None


def group_section(name: str, unit: str, tables: Sequence[JoinedTable], folder: Path) -> str:
    """Return the section of a data set of several tables, with a block for each.

    The block of a table is a comment if its owner must decide something first. `folder` is that of the configuration.
    """
    blocks = []
    for table in tables:
        inspection, applied = table.examined
        inspection = replace(inspection, folder=folder, group=name)
        block = Draft(inspection, table.name, table.unit, applied, table.lines).part
        if table.doubt is not None:
            lines = [*textwrap.wrap(table.doubt, _WIDTH), *block.rstrip().split("\n")]
            block = "".join(f"# {line}\n" if line else "#\n" for line in lines)
        blocks.append(block)
    head = f"[datasets.{toml_key(name)}]\nunit = {toml_value(unit)}\n"
    return "\n".join([head, DRAFTS["size"], DRAFTS["budget"], DRAFTS["tables"], *blocks])
