"""The views and tables of DuckDB and SQLite files, as their catalogs describe them."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import duckdb

from noisycount.engines.duckdb.connection import Connection, quoted_name
from noisycount.engines.views.relations import (
    BaseTable,
    UnitClaim,
    UnprovenError,
    ViewDefinition,
    fold,
    unreadable_view_error,
)
from noisycount.engines.views.stability import require_stable
from noisycount.frozen import frozen

_TYPES = {
    **dict.fromkeys(["tinyint", "smallint", "integer", "bigint", "hugeint"], "integer"),
    **dict.fromkeys(["utinyint", "usmallint", "uinteger", "ubigint"], "integer"),
    "varchar": "text",
    **{name: name for name in ("boolean", "uuid", "date")},
}
_MACROS = "SELECT 1 FROM duckdb_functions() WHERE NOT internal LIMIT 1"
_RELATIONS = (
    "SELECT schema_name, table_name, sql, false FROM duckdb_tables() WHERE database_name = 'file' AND NOT internal "
    "UNION ALL SELECT schema_name, view_name, sql, true FROM duckdb_views() "
    "WHERE database_name = 'file' AND NOT internal ORDER BY ALL"
)
_COLUMNS = (
    "SELECT column_name, data_type, column_default FROM duckdb_columns() "
    "WHERE database_name = 'file' AND schema_name = ? AND table_name = ? ORDER BY column_index"
)
_KEYS = (
    "SELECT constraint_column_names FROM duckdb_constraints() WHERE database_name = 'file' AND schema_name = ? "
    "AND table_name = ? AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')"
)


@frozen
class FileRelations:
    """The relations of a database file, by their schema and name."""

    entries: Mapping[tuple[str, str], BaseTable | ViewDefinition]

    @property
    def names(self) -> dict[str, tuple[str, str]]:
        """The schema and the name of each relation, by the name that its owner writes."""
        return {relation.name: place for place, relation in self.entries.items()}

    def named(self, name: str) -> BaseTable | ViewDefinition:
        """Return a relation by the name that its owner writes."""
        return self.entries[self.names[name]]

    def find(self, schema: str | None, name: str) -> BaseTable | ViewDefinition:
        """Return the relation that a definition means; see `views.relations.Relations`."""
        matches = [
            relation
            for (its_schema, its_name), relation in self.entries.items()
            if fold(its_name, "duckdb") == fold(name, "duckdb")
            and schema is not None
            and fold(its_schema, "duckdb") == fold(schema, "duckdb")
        ]
        if len(matches) != 1:
            shown = name if schema in {None, "main"} else f"{schema}.{name}"
            raise UnprovenError(f"it reads {shown!r}, which is no table of its file")
        return matches[0]


def require_stable_duckdb(connection: Connection, relations: FileRelations, name: str, claim: UnitClaim) -> None:
    """Raise SourceError if a relation of a DuckDB file may not be counted; see `views.stability`."""

    def plan(query: str) -> object:
        connection.execute("SET explain_output = 'all'")
        return dict(connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall())["logical_plan"]

    require_stable(relations.named(name), relations.find, "duckdb", claim)
    _require_equal_plans(relations, name, "duckdb", "file", plan)


def require_stable_sqlite(database: sqlite3.Connection, relations: FileRelations, name: str, claim: UnitClaim) -> None:
    """Raise SourceError if a relation of a SQLite file may not be counted; see `views.stability`."""

    def plan(query: str) -> object:
        return database.execute(f"EXPLAIN {query}").fetchall()

    require_stable(relations.named(name), relations.find, "sqlite", claim)
    _require_equal_plans(relations, name, "sqlite", "", plan)


def _require_equal_plans(
    relations: FileRelations, name: str, dialect: str, database: str, plan: Callable[[str], object]
) -> None:
    """Raise SourceError if the engine may read other tables for a view than `FileRelations.find` returns.

    The engine must plan each view as it plans the same query with the schema of each table written out. This also
    detects a macro of the file, which the query does not find.
    """
    relation = relations.named(name)
    if isinstance(relation, BaseTable):
        return
    from noisycount.engines.views.definition import (  # noqa: PLC0415 - loads the parser
        base_tables,
        qualified_query,
        read_definitions,
    )

    for view in read_definitions(relation, relations.find, dialect):
        if not isinstance(view, ViewDefinition):
            continue
        parts = [database, *relations.names[view.name]]
        sources = [
            ".".join(quoted_name(part) for part in parts if part),
            f"({qualified_query(view, dialect, database)}\n)",
        ]
        try:
            plan_of_view, plan_of_query = (plan(f"SELECT * FROM {source}") for source in sources)  # noqa: S608 - of the file alone
            is_equal = plan_of_view == plan_of_query
        except (duckdb.Error, sqlite3.Error):
            is_equal = False
        if not is_equal:
            names = ", ".join(sorted(table.name for table in base_tables(view, relations.find, dialect)))
            raise unreadable_view_error(name, f"the engine may take a table or function for another: it reads {names}")


def duckdb_relations(connection: Connection) -> FileRelations:
    """Return the relations of a DuckDB file that is attached as `file`."""
    has_macros = connection.execute(_MACROS).fetchone() is not None  # which may stand for operators, too
    rows = connection.execute(_RELATIONS).fetchall()
    entries: dict[tuple[str, str], BaseTable | ViewDefinition] = {}
    for schema, name, sql, is_view in rows:
        shown = name if schema == "main" else f"{schema}.{name}"
        columns = connection.execute(_COLUMNS, [schema, name]).fetchall()
        types = _types_of({column: _TYPES.get(type_.lower(), "") for column, type_, _ in columns}, sql)
        may_be_public = "." not in schema + name  # else two relations could have one name
        if is_view:
            entries[schema, name] = ViewDefinition(
                shown, sql, types, is_readable=not has_macros, schema=schema, may_be_public=may_be_public
            )
            continue
        keys = connection.execute(_KEYS, [schema, name]).fetchall()
        generated = {}
        if re.search(r"(?i)\bgenerated\s+always\s+as\b", sql):  # defaults look the same, and are judged as well
            generated = {column: expression for column, _, expression in columns if expression is not None}
        entries[schema, name] = BaseTable(
            shown,
            types,
            tuple(frozenset(names) for (names,) in keys),
            computed=generated,
            is_readable=not has_macros,
            may_be_public=may_be_public,
        )
    return FileRelations(entries)


def _types_of(types: dict[str, str], sql: str) -> dict[str, str]:
    """Return the types of columns, or empty types if the statement has a collation.

    A collation can make different texts equal, so that no column of the table may identify a unit.
    """
    return dict.fromkeys(types, "") if re.search(r"(?i)\bcollate\b", sql) else types


def sqlite_relations(database: sqlite3.Connection) -> FileRelations:
    """Return the relations of a SQLite file.

    Only ordinary tables count as tables. Virtual tables, and the tables in which these keep their content, count as
    views that cannot be read.
    """
    definitions = dict(
        database.execute("SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    )
    listed = database.execute("PRAGMA table_list").fetchall()
    entries: dict[tuple[str, str], BaseTable | ViewDefinition] = {}
    for schema, name, kind, *_ in listed:
        if schema == "main" and not name.startswith("sqlite_"):
            sql = definitions.get(name) or ""
            try:
                columns = database.execute(f"PRAGMA table_xinfo({quoted_name(name)})").fetchall()
            except sqlite3.OperationalError:  # as it reads itself, or what is not there
                columns = []
            types = _types_of({column: _comparison_type(type_) for _, column, type_, *_ in columns}, sql)
            entries["main", name] = (
                BaseTable(name, types, tuple(_sqlite_keys(database, name, columns)))
                if kind == "table"
                else ViewDefinition(name, sql, types, is_readable=kind == "view", schema="main")
            )
    return FileRelations(entries)


def _sqlite_keys(database: sqlite3.Connection, name: str, columns: Sequence[Sequence[Any]]) -> Iterator[frozenset[str]]:
    """Yield sets of columns that no two rows of a table share."""
    if primary := frozenset(column for _, column, _, _, _, place, *_ in columns if place):
        yield primary
    for _, index, is_unique, _, is_partial in database.execute(f"PRAGMA index_list({quoted_name(name)})").fetchall():
        named = database.execute(f"PRAGMA index_info({quoted_name(index)})").fetchall()
        if is_unique and not is_partial and all(column is not None for _, _, column in named):
            yield frozenset(column for _, _, column in named)


def _comparison_type(type_: str) -> str:
    """Return the type by which SQLite compares a column's values: "integer" or "text".

    Return "" if equal values may have different texts.
    """
    declared = type_.upper()
    if "INT" in declared:
        return "integer"
    return "text" if any(word in declared for word in ("CHAR", "CLOB", "TEXT")) else ""
