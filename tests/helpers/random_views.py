# ruff: noqa: S608, as all SQL here is our own
"""Random views of small random tables, most of them nearly right, and databases that compute them."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import duckdb
from sqlalchemy import create_engine, text

from noisycount.engines.duckdb.definitions import (
    duckdb_relations,
    require_stable_duckdb,
    require_stable_sqlite,
    sqlite_relations,
)
from noisycount.engines.sql.relations import ServerRelations
from noisycount.engines.views.relations import Relations, UnitClaim, ViewDefinition
from noisycount.engines.views.stability import require_stable
from tests.helpers.postgresql import Server

Row = tuple[object, ...]
Tables = Mapping[str, Sequence[Row]]
PRIVATE = ("seen", "ill")
PUBLIC = ("towns", "years")
OTHER = "other_views"
"""A second schema, whose tables have the same names, and of which none is public."""
NAMED = frozenset({*PUBLIC, *(f"random_views.{name}" for name in PUBLIC)})
"""The names of public tables, on a server too."""
COLUMNS = ("person", "town", "x")
VOUCHED = UnitClaim("person", vouched="so that nothing is proved")
MADE = {
    **dict.fromkeys(("seen", "ill", "years"), "(person INTEGER, town TEXT, x INTEGER)"),
    "towns": "(person INTEGER, town TEXT PRIMARY KEY, x INTEGER)",
}


def random_tables(random: Random, schemas: Sequence[str]) -> dict[str, list[Row]]:
    """Return the records of all tables in one or two schemas; some have no person."""

    def row() -> Row:
        person = None if random.random() < 0.05 else random.randrange(4)
        return (person, random.choice("ABC"), random.randrange(3))

    made = {name: [row() for _ in range(random.randrange(1, 7))] for name in ("seen", "ill", "years")}
    made["towns"] = [(random.randrange(4), town, random.randrange(3)) for town in "AB"]
    if OTHER in schemas:
        made |= {f"{OTHER}.{name}": [row() for _ in range(random.randrange(1, 4))] for name in MADE}
    return made


ALIASES = ("a", "b", "c", '"A"', "person", "town", "x", "seen", "semi", "v0")
"""Names of relations in a query; some are those of columns, tables, or words of SQL."""


@dataclass
class Generator:
    """Random views with the columns person, town and x."""

    random: Random
    schemas: Sequence[str] = ("main",)  # the tables of the second are named in full, or in a view of that schema
    schema: str = ""  # of the view whose query is written; empty: the first
    views: dict[str, tuple[str, str]] = field(default_factory=dict)  # schema and query, in the order of creation

    def query(self, depth: int) -> str:
        """Return a query that reads views of views so deep."""
        kinds = [self.chosen, self.joined, self.joined, self.grouped, self.windowed, self.distinct, self.combined]
        if depth:
            kinds += [self.joined_thrice, self.combined, self.refused]
        return self.random.choice(kinds)(max(depth - 1, 0))

    def source(self, depth: int) -> str:
        """Return a table, or a new view."""
        outer = self.schema or self.schemas[0]
        schema = outer if len(self.schemas) == 1 else self.random.choice((outer, *self.schemas))
        if not depth or self.random.random() < 0.4:
            name = self.random.choice((*PRIVATE, *PRIVATE, *PUBLIC))
        else:
            self.schema = schema
            query = self.query(depth - 1)
            self.schema = outer
            name = f"v{len(self.views)}"
            self.views[name] = schema, query
        return name if schema == outer else f"{schema}.{name}"

    def aliases(self, number: int) -> list[str]:
        """Return the names of so many relations."""
        return self.random.sample(ALIASES, number) if self.random.random() < 0.5 else list("abc"[:number])

    def column(self, name: str, *aliases: str) -> str:
        """Return a column, most often with its relation."""
        return name if self.random.random() < 0.1 else f"{self.random.choice(aliases)}.{name}"

    def condition(self, *aliases: str) -> str:
        """Return a condition of rows."""
        person, town, x = (self.column(name, *aliases) for name in COLUMNS)
        return self.random.choice(
            (
                f"{x} > {self.random.randrange(3)}",
                f"{town} = 'A'",
                f"{town} = {self.column('town', *aliases)}",
                f"{x} = {person}",
                f"({town} <> 'B' OR {x} IS NULL)",
                f"{person} = {self.column('person', *aliases)}",
                f"{person} IS NOT NULL",
            )
        )

    def equation(self, one: str, other: str) -> str:
        """Return a condition that joins, most often by person."""
        by = "person" if self.random.random() < 0.7 else self.random.choice(("town", "x"))
        its = by if self.random.random() < 0.9 else self.random.choice(("person", "x"))
        text = f"{one}.{by} = {other}.{its}"
        if self.random.random() < 0.3:
            text += self.random.choice((" AND ", " AND ", " OR ")) + self.condition(one, other)
        return text

    def shown(self, *aliases: str) -> str:
        """Return the three columns of a result, most often each under its own name."""
        person = self.column("person" if self.random.random() < 0.9 else "x", *aliases)
        town, x = self.column("town", *aliases), self.column("x", *aliases)
        number = self.random.choice((x, x, f"{x} + 1", self.column("person", *aliases), f"coalesce({x}, 7)", "7"))
        return f"{person} AS person, {town} AS town, {number} AS x"

    def where(self, *aliases: str) -> str:
        """Return a clause of conditions, or none."""
        return f" WHERE {self.condition(*aliases)}" if self.random.random() < 0.4 else ""

    def chosen(self, depth: int) -> str:
        """Return a choice of rows."""
        (a,) = self.aliases(1)
        shown = "*" if self.random.random() < 0.2 else self.shown(a)
        return f"SELECT {shown} FROM {self.source(depth)} AS {a}{self.where(a)}"

    def joined(self, depth: int) -> str:
        """Return a join of two relations."""
        one, other, (a, b) = self.source(depth), self.source(depth), self.aliases(2)
        kind = self.random.choice(["JOIN"] * 3 + ["LEFT JOIN"] * 2 + ["RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ","])
        shown = f"{a}.*" if self.random.random() < 0.1 else self.shown(a, b)
        if kind in {"CROSS JOIN", ","}:
            return f"SELECT {shown} FROM {one} AS {a} {kind} {other} AS {b} WHERE {self.equation(a, b)}"
        if self.random.random() < 0.2:
            shown = f"person, {a}.town AS town, {b}.x AS x"
            return f"SELECT {shown} FROM {one} AS {a} {kind} {other} AS {b} USING (person)"
        equation = f"{a}.person = {b}.person" if kind == "FULL JOIN" else self.equation(a, b)
        return f"SELECT {shown} FROM {one} AS {a} {kind} {other} AS {b} ON {equation}{self.where(a, b)}"

    def joined_thrice(self, depth: int) -> str:
        """Return a join of three relations."""
        kinds = [self.random.choice(("JOIN", "JOIN", "LEFT JOIN")) for _ in range(2)]
        a, b, c = self.aliases(3)
        near = self.random.choice((a, b))
        one, other, third = self.source(depth), self.source(0), self.source(0)
        if self.random.random() < 0.3:
            inner = f"({other} AS {b} JOIN {third} AS {c} ON {self.equation(b, c)})"
            joined = f"{one} AS {a} {kinds[0]} {inner} ON {self.equation(a, b)}"
        else:
            joined = f"{one} AS {a} {kinds[0]} {other} AS {b} ON {self.equation(a, b)}"
            joined += f" {kinds[1]} {third} AS {c} ON {self.equation(near, c)}"
        return f"SELECT {self.shown(a, b, c)} FROM {joined}{self.where(a, b, c)}"

    def grouped(self, depth: int) -> str:
        """Return groups, most often by person."""
        (a,) = self.aliases(1)
        keys = self.random.choice((["person"], ["person"], ["person", "town"], ["town"], ["person", "x"]))
        person = self.column("person", a) if "person" in keys else f"min({a}.person)"
        towns = (f"max({a}.town)", f"min({a}.town)", f"{a}.town" if self.random.random() < 0.2 else f"max({a}.town)")
        town = f"{a}.town" if "town" in keys else self.random.choice(towns)
        number = self.random.choice(("count(*)", f"sum({a}.x)", f"count(DISTINCT {a}.town)", f"min({a}.x)"))
        having = f" HAVING count(*) > {self.random.randrange(3)}" if self.random.random() < 0.3 else ""
        by = ", ".join(self.column(key, a) for key in keys) if self.random.random() < 0.8 else "1"
        shown = f"{person} AS person, {town} AS town, CAST({number} AS INTEGER) AS x"
        return f"SELECT {shown} FROM {self.source(depth)} AS {a}{self.where(a)} GROUP BY {by}{having}"

    def windowed(self, depth: int) -> str:
        """Return rows with what is computed of others."""
        (a,) = self.aliases(1)
        keys = self.random.choice((["person"], ["person", "town"], ["town"], []))
        by = f"PARTITION BY {', '.join(self.column(key, a) for key in keys)}" if keys else ""
        order = self.random.choice(("", f" ORDER BY {a}.x", f" ORDER BY {a}.town"))
        called = self.random.choice(("count(*)", f"max({a}.x)", f"sum({a}.x)"))
        called = self.random.choice(("rank()", "dense_rank()")) if order and self.random.random() < 0.6 else called
        number = f"CAST({called} OVER ({by}{order}) AS INTEGER)"
        shown = f"{a}.person AS person, {a}.town AS town, {number} AS x"
        return f"SELECT {shown} FROM {self.source(depth)} AS {a}{self.where(a)}"

    def combined(self, depth: int) -> str:
        """Return two queries, one below the other or one without the other."""
        kind = self.random.choice(["UNION ALL"] * 4 + ["UNION", "EXCEPT", "INTERSECT"])
        parts = []
        for _ in range(2):
            (a,) = self.aliases(1)
            shown = "*" if self.random.random() < 0.3 else self.shown(a)
            parts.append(f"SELECT {shown} FROM {self.source(depth)} AS {a}{self.where(a)}")
        return f" {kind} ".join(parts)

    def distinct(self, depth: int) -> str:
        """Return rows without duplicates."""
        (a,) = self.aliases(1)
        return f"SELECT DISTINCT {self.shown(a)} FROM {self.source(depth)} AS {a}{self.where(a)}"

    def refused(self, depth: int) -> str:
        """Return a query in a query, as none is accepted."""
        inner = self.source(depth)
        return self.random.choice(
            (
                f"SELECT * FROM seen WHERE EXISTS (SELECT 1 FROM {inner} AS q WHERE q.person = seen.person)",
                f"SELECT * FROM seen WHERE person IN (SELECT q.person FROM {inner} AS q)",
                f"SELECT person, town, (SELECT max(q.x) FROM {inner} AS q) AS x FROM seen",
                f"SELECT * FROM (SELECT * FROM {inner}) AS q",
                f"WITH seen AS (SELECT * FROM {inner}) SELECT * FROM seen",
                f"SELECT person, town, x FROM {inner} ORDER BY x LIMIT 2",
            )
        )


class DuckDatabase:
    """Tables and a view of DuckDB, read as a file of it is."""

    dialect = "duckdb"
    schemas: tuple[str, ...] = ("main", OTHER)

    def __init__(self) -> None:
        self.connection: Any = duckdb.connect(config={"threads": 1})
        self.connection.execute("ATTACH ':memory:' AS file")
        self.connection.execute("USE file")
        self.connection.execute(f"CREATE SCHEMA {OTHER}")
        for name, columns in MADE.items():
            self.connection.execute(f"CREATE TABLE {name} {columns}")
            self.connection.execute(f"CREATE TABLE {OTHER}.{name} {columns.replace(' PRIMARY KEY', '')}")

    @property
    def private(self) -> dict[str, tuple[str, str]]:
        """The schema and the name of each private table, by the name that statements give it."""
        first, *others = self.schemas
        named = {name: (first, name) for name in PRIVATE}
        return named | {f"{schema}.{name}": (schema, name) for schema in others for name in MADE}

    def define(self, query: str, views: Mapping[str, tuple[str, str]]) -> tuple[ViewDefinition, Relations]:
        """Return the view of a query, as the database describes it. `views`: those that it reads, by name."""
        for name in ["shown", *(f"v{number}" for number in reversed(range(10)))]:
            for schema in self.schemas:
                self.execute(f"DROP VIEW IF EXISTS {schema}.{name}")
        for name, (schema, its) in {**views, "shown": (self.schemas[0], query)}.items():
            self.create(schema, name, its)
        return self.described()

    def create(self, schema: str, name: str, query: str) -> None:
        """Create a view, which looks up names in its own schema."""
        self.execute(f"CREATE VIEW {schema}.{name} AS {query}")

    def described(self) -> tuple[ViewDefinition, Relations]:
        """Return the view, as the database describes it."""
        catalog = duckdb_relations(self.connection)
        return catalog.named("shown"), catalog.find

    def require_named_tables(self) -> None:
        """Raise SourceError if the database may read other tables for the view than its definition names."""
        require_stable_duckdb(self.connection, duckdb_relations(self.connection), "shown", VOUCHED)

    def execute(self, statement: str) -> None:
        """Change the records."""
        self.connection.execute(statement)

    def close(self) -> None:
        """End the connection."""
        self.connection.close()

    def fill(self, tables: Tables) -> None:
        """Fill the tables."""
        for name, rows in tables.items():
            self.execute(f"DELETE FROM {name}")
            if rows:
                self.execute(f"INSERT INTO {name} VALUES {', '.join(map(_written, rows))}")

    def rows(self) -> Counter[Row]:
        """Return the rows of the view, and how often each is there."""
        return Counter(map(tuple, self.connection.execute("SELECT * FROM shown").fetchall()))


class LiteDatabase(DuckDatabase):
    """Tables and a view of SQLite."""

    dialect = "sqlite"
    schemas = ("main",)

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", cached_statements=0)  # as a plan is kept with its statement
        for name, columns in MADE.items():
            self.connection.execute(f"CREATE TABLE {name} {columns}")

    def described(self) -> tuple[ViewDefinition, Relations]:
        """Return the view, as the database describes it."""
        self.connection.execute("SELECT * FROM shown LIMIT 0")
        catalog = sqlite_relations(self.connection)
        return catalog.named("shown"), catalog.find

    def require_named_tables(self) -> None:
        """Raise SourceError if the database may read other tables for the view than its definition names."""
        require_stable_sqlite(self.connection, sqlite_relations(self.connection), "shown", VOUCHED)


class ServerDatabase(DuckDatabase):
    """Tables and a view of PostgreSQL, in a schema of their own."""

    dialect = "postgres"
    schemas = ("random_views", OTHER)

    def __init__(self, server: Server) -> None:
        self.connection = server.shell("postgres")
        for schema in self.schemas:
            self.connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}".encode())
        self.connection.execute("SET search_path = random_views")
        for name, columns in MADE.items():
            self.connection.execute(f"CREATE TABLE {name} {columns}".encode())
            self.connection.execute(f"CREATE TABLE {OTHER}.{name} {columns.replace(' PRIMARY KEY', '')}".encode())
        self.catalog = create_engine(server.url("postgres"), isolation_level="AUTOCOMMIT").connect()
        self.catalog.execute(text("SET search_path = pg_catalog"))

    def described(self) -> tuple[ViewDefinition, Relations]:
        """Return the view, as the database describes it."""
        relations = ServerRelations(self.catalog)
        return relations.find("random_views", "shown"), relations.find

    def require_named_tables(self) -> None:
        """Raise SourceError if the database may read other tables for the view than its definition names."""
        relations = ServerRelations(self.catalog)
        require_stable(relations.find("random_views", "shown"), relations.find, "postgres", VOUCHED)
        relations.require_recorded("random_views", "shown")

    def create(self, schema: str, name: str, query: str) -> None:
        """Create a view, whose names are looked up in its own schema when it is created."""
        self.execute(f"SET search_path = {schema}; CREATE VIEW {name} AS {query}; SET search_path = random_views")

    def execute(self, statement: str) -> None:
        """Change the records."""
        self.connection.execute(statement.encode())

    def close(self) -> None:
        """End the connections."""
        self.connection.close()
        self.catalog.close()
        self.catalog.engine.dispose()


def _written(row: Row) -> str:
    """Return a row as SQL writes it."""
    return f"({', '.join('NULL' if value is None else repr(value) for value in row)})"


def violation(
    database: DuckDatabase, random: Random, sources: frozenset[tuple[str, str]] | None, names: Mapping[str, str]
) -> str | None:
    """Return what one unit, or one record, changes of the rows of others in a view; None: nothing was found.

    `sources`: the column that names the unit in each private table; None: every record is a unit. `names`: the tables
    that `sources` names.
    """
    tables = random_tables(random, database.schemas)
    before = _rows(database, tables)
    if sources is None:
        for name in database.private:
            for place in range(len(tables[name])):
                after = _rows(database, {name: [*tables[name][:place], *tables[name][place + 1 :]]})
                changed = (before - after).total() + (after - before).total()
                if changed > 1:
                    return f"record {tables[name][place]} of {name} changes {changed} rows: {tables}"
            database.fill({name: tables[name]})
        return None
    places = {names[name]: COLUMNS.index(column) for name, column in sources}
    unnamed = [name for name in database.private if name not in places]
    without = _rows(database, dict.fromkeys(unnamed, ()))
    if _of_others(before, None) != _of_others(without, None):
        return f"records of one of {unnamed} change rows: {tables}"
    database.fill({name: tables[name] for name in unnamed})
    for unit in {row[place] for name, place in places.items() for row in tables[name]}:
        after = _rows(
            database, {name: [row for row in tables[name] if row[place] != unit] for name, place in places.items()}
        )
        if _of_others(before, unit) != _of_others(after, unit):
            return f"unit {unit} changes rows of others: {tables}"
    return None


def names_of(database: DuckDatabase, relations: Relations) -> dict[str, str]:
    """Return the private tables by the names of what stores their records."""
    found = {name: relations(*place) for name, place in database.private.items()}
    return {each: name for name, table in found.items() for each in table.storages or {table.name}}


def _rows(database: DuckDatabase, tables: Tables) -> Counter[Row]:
    """Return the rows of the view after some tables were filled anew."""
    database.fill(tables)
    return database.rows()


def _of_others(rows: Counter[Row], person: object) -> Counter[Row]:
    """Return the rows of other persons; rows without a person are refused when they are opened."""
    return Counter({row: often for row, often in rows.items() if row[0] not in {None, person}})
