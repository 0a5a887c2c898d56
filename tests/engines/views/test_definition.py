"""The definitions of views: their base tables, and the functions that make them volatile."""

import sqlite3
from pathlib import Path

import duckdb
import pytest

from noisycount.engines.duckdb.definitions import duckdb_relations, sqlite_relations
from noisycount.engines.views.definition import base_tables, require_steady
from noisycount.engines.views.relations import UnprovenError, ViewDefinition, VolatileError

TABLES = (
    "CREATE TABLE seen (person INTEGER, town TEXT)",
    "CREATE TABLE ill (person INTEGER, day DATE)",
    "CREATE VIEW ours AS SELECT * FROM seen WHERE town ILIKE 'B%'",
    "CREATE VIEW twice AS SELECT o.person FROM ours o JOIN (SELECT person FROM ill) i ON o.person = i.person",
    "CREATE VIEW hidden AS WITH seen AS (SELECT person FROM ill) SELECT * FROM seen",
    "CREATE VIEW own AS WITH few AS (SELECT * FROM seen), seen AS (SELECT * FROM few) SELECT * FROM seen",
    "CREATE VIEW late AS SELECT * FROM seen WHERE current_date > '2026-01-01'",
    "CREATE VIEW later AS SELECT town FROM late",
)
READ = {
    "seen": {"seen"},
    "ours": {"seen"},
    "twice": {"seen", "ill"},
    "hidden": {"ill"},
    "own": {"seen"},
    "later": {"seen"},
}


def base_of(catalog: object, name: str, dialect: str) -> set[str]:
    """Return the base tables of a relation."""
    relation = catalog.named(name)
    return {table.name for table in base_tables(relation, catalog.find, dialect)}


def test_the_base_tables_of_views_are_found_in_duckdb_and_sqlite(tmp_path: Path) -> None:
    """Through other views, subqueries and common table expressions, whose names may be those of tables."""
    with duckdb.connect(tmp_path / "file.duckdb") as connection:
        for statement in TABLES:
            connection.execute(statement)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{tmp_path / 'file.duckdb'}' AS file (READ_ONLY)")
        catalog = duckdb_relations(connection)
        assert {name: base_of(catalog, name, "duckdb") for name in READ} == READ
    with sqlite3.connect(":memory:") as database:
        for statement in TABLES:
            database.execute(statement.replace("ILIKE", "LIKE"))
        catalog = sqlite_relations(database)
        assert {name: base_of(catalog, name, "sqlite") for name in READ} == READ
        later = catalog.named("later")
        with pytest.raises(VolatileError):
            require_steady(later, catalog.find, "sqlite")


def test_what_is_no_table_of_the_file_is_refused() -> None:
    """Table functions, other catalogs, and names of several tables."""
    with duckdb.connect() as connection:
        connection.execute("ATTACH ':memory:' AS file")
        connection.execute("CREATE SCHEMA file.a; CREATE SCHEMA file.b")
        connection.execute("CREATE TABLE file.a.t (x INT); CREATE TABLE file.b.t (x INT)")
        catalog = duckdb_relations(connection)
    for query in ("SELECT * FROM t", "SELECT * FROM read_csv('t.csv')", "SELECT * FROM system.a.t", "SELECT * FROM u"):
        with pytest.raises(UnprovenError):
            base_tables(ViewDefinition("v", query, schema="main"), catalog.find, "duckdb")
    for query in ("SELECT * FROM a.t", "SELECT * FROM A.T", "SELECT * FROM t"):
        view = ViewDefinition("v", query, schema="a")
        assert [table.name for table in base_tables(view, catalog.find, "duckdb")] == ["a.t"]
    with pytest.raises(UnprovenError):
        base_tables(ViewDefinition("v", "SELECT * FROM t"), catalog.find, "duckdb")
