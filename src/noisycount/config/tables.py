"""Data sets of several tables in the configuration: their blocks, links between them, and public look-ups."""

from collections.abc import Callable, Iterable
from pathlib import Path

from noisycount.catalog.catalog import ROW, DatasetSettings
from noisycount.catalog.table_group import GroupTable, TableGroup
from noisycount.config.places import SERVER_KEYS
from noisycount.config.toml_table import FILE_KEYS, TomlTable, name_suggestion, read_file_form, read_kinds, read_values
from noisycount.engines.places import ServedTable, ServerPlace
from noisycount.engines.table_facts import Link, TableFacts
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import ConfigError
from noisycount.query.predicate import KEYWORDS, SIMPLE_NAME

GROUP_KEYS = ("tables", "persons")
TABLE_KEYS = (
    *("source", "table", "unit", "columns", "kinds", "values", "public_tables", "vouched"),
    *("one_row_a_unit", "through", "public", "on", "key"),
    *FILE_KEYS,
    *SERVER_KEYS,
)


def read_group(
    dataset: TomlTable, unit: str | None, read_source: Callable[[TomlTable], Path | ServedTable]
) -> TableGroup:
    """Return the tables of a data set.

    Args:
        dataset: The block of the data set.
        unit: The column of persons, unless a table states another.
        read_source: Returns the place of the records of a block.

    Raises:
        ConfigError: A block is invalid, a link leads nowhere, or no engine can count all tables together.
    """
    for key in ("source", "table", "columns", "kinds", "values", *FILE_KEYS, *SERVER_KEYS):
        if key in dataset.values:
            raise dataset.refusal(key, f"belongs to one table: write it under [{dataset.name}.tables.NAME]")
    if unit is None or unit == ROW:
        raise dataset.refusal("unit", "is what joins the tables: name the column of persons")
    blocks = dict(dataset.table("tables").tables())
    tables = tuple(_read_table(name, block, unit, read_source) for name, block in blocks.items())
    persons = dataset.text("persons")
    private = [table.name for table in tables if not table.is_public]
    if persons is not None and persons not in private:
        raise dataset.refusal("persons", f"is no table of persons: {name_suggestion(persons, private)}")
    if not any(table.facts.unit for table in tables):
        raise dataset.refusal("tables", "have no table of persons: give one a source and leave through and public out")
    _require_links(tables, blocks)
    _require_one_engine(tables, blocks)
    return TableGroup(tables, persons)


def _read_table(
    name: str, block: TomlTable, unit: str, read_source: Callable[[TomlTable], Path | ServedTable]
) -> GroupTable:
    """Return one table of a data set."""
    if not SIMPLE_NAME.fullmatch(name) or name.lower() in KEYWORDS:
        raise ConfigError(
            f"{block.path}: [{block.name}]: the name of a table consists of letters, digits and _, begins with a "
            "letter, and is no word of the question language: rename it"
        )
    block.require_known(TABLE_KEYS)
    through, on, is_public = _read_link(block, "through"), _read_link(block, "on"), block.boolean("public") or False
    if is_public is not (on is not None):
        raise block.refusal("public", 'and on go together: write public = true and on = "TABLE.COLUMN" for a look-up')
    if through is not None and (is_public or "unit" in block.values):
        other = "public" if is_public else "unit"
        raise block.refusal("through", f"names the persons by way of another table: leave {other} out")
    if "key" in block.values and through is None and on is None:
        raise block.refusal("key", "is the column that equals that of through or on: leave it out")
    own_unit = None if through is not None or is_public else block.text("unit") or unit
    settings = DatasetSettings(
        block.name,
        unit=own_unit or ROW,
        columns=block.texts("columns"),
        table=block.text("table"),
        kinds=read_kinds(block),
        form=read_file_form(block),
        values=read_values(block),
        claim=UnitClaim(own_unit, block.texts("public_tables") or (), block.text("vouched")),
    )
    facts = TableFacts(name, own_unit, through, on, block.boolean("one_row_a_unit") or False)
    return GroupTable(facts, read_source(block), settings)


def _read_link(block: TomlTable, key: str) -> Link | None:
    """Return the link under a key, such as `through = "visits.visit_id"`."""
    text = block.text(key)
    if text is None:
        return None
    table, dot, column = text.partition(".")
    if not (table and dot and column):
        raise block.refusal(key, f'must be a table and its column, such as {key} = "visits.visit_id"')
    return Link(table, column, block.text("key") or column)


def _require_links(tables: Iterable[GroupTable], blocks: dict[str, TomlTable]) -> None:
    """Raise ConfigError if the links of a table do not lead to a table of persons, or lead back to it."""
    facts = {table.name: table.facts for table in tables}
    folded: dict[str, str] = {}
    for name in facts:
        if folded.setdefault(name.casefold(), name) != name:
            raise ConfigError(
                f"{blocks[name].path}: [{blocks[name].name}]: differs from another name only in case: rename it"
            )
    for name, table in facts.items():
        key = "on" if table.on is not None else "through"
        seen = {name}
        for link in table.links:
            place: Link | None = link
            while place is not None:
                if place.table not in facts or facts[place.table].on is not None:
                    known = [each for each, other in facts.items() if other.on is None and each != name]
                    raise blocks[name].refusal(key, f"names no table of persons: {name_suggestion(place.table, known)}")
                if place.column == facts[place.table].unit:
                    remedy = f'leave it out, and state unit = "{place.key}"' if key == "through" else "link another one"
                    raise blocks[name].refusal(key, f"names the column of persons: {remedy}")
                if place.table in seen:
                    raise blocks[name].refusal(key, "leads back to its own table: link it to a table with a unit")
                seen.add(place.table)
                place = facts[place.table].through if table.on is None else None


def _require_one_engine(tables: Iterable[GroupTable], blocks: dict[str, TomlTable]) -> None:
    """Raise ConfigError if no engine can count all tables together: one connection to a server reads all of them."""
    engines: dict[str | None, str] = {}
    for table in tables:
        place = table.place.place if isinstance(table.place, ServedTable) else None
        engines.setdefault(place.url if isinstance(place, ServerPlace) else None, table.name)
    if len(engines) > 1:
        one, other = [*engines.values()][:2]
        remedy = "export tables of a server as Parquet files, or load all tables into one server"
        if None not in engines:
            remedy = "write the same address before the # for all of them, with one account and one database"
        raise blocks[other].refusal(
            "source",
            f"is not where table {one!r} is, and one engine counts all tables of a data set: {remedy}",
        )
