# ruff: noqa: S608, as all SQL here is our own
"""Random views of small random tables, most of them nearly right, and databases that compute them."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import duckdb
from sqlalchemy import create_engine, text

from noisycount.engines.duckdb.definitions import duckdb_relations, sqlite_relations
from noisycount.engines.sql.relations import ServerRelations
from noisycount.engines.views.definition import Relations, ViewDefinition
from tests.postgresql import Server

Row = tuple[object, ...]
Tables = Mapping[str, Sequence[Row]]
PRIVATE = ("seen", "ill")
PUBLIC = ("towns", "years")
NAMED = frozenset({*PUBLIC, *(f"random_views.{name}" for name in PUBLIC)})
"""The names of public tables, on a server too."""
COLUMNS = ("person", "town", "x")
MADE = {
    **dict.fromkeys(("seen", "ill", "years"), "(person INTEGER, town TEXT, x INTEGER)"),
    "towns": "(person INTEGER, town TEXT PRIMARY KEY, x INTEGER)",
}


def random_tables(random: Random) -> dict[str, list[Row]]:
    """Return the records of all tables; some have no person."""

    def row() -> Row:
        person = None if random.random() < 0.05 else random.randrange(4)
        return (person, random.choice("ABC"), random.randrange(3))

    made = {name: [row() for _ in range(random.randrange(1, 7))] for name in ("seen", "ill", "years")}
    return {**made, "towns": [(random.randrange(4), town, random.randrange(3)) for town in "AB"]}


@dataclass
class Generator:
    """Random queries with the columns person, town and x."""

    random: Random
    has_semi_joins: bool = True

    def query(self, depth: int) -> str:
        """Return a query that nests others so deep."""
        kinds = (
            [self.chosen, self.joined, self.joined, self.grouped, self.windowed]
            if depth
            else [self.chosen, self.joined, self.grouped]
        )
        if depth:
            kinds += [self.combined, self.distinct, self.nested, self.nested, self.common, self.joined_thrice]
        return self.random.choice(kinds)(depth - 1 if depth else 0)

    def source(self, depth: int) -> str:
        """Return a table, or a query in brackets."""
        if depth and self.random.random() < 0.4:
            return f"({self.query(depth - 1)})"
        return self.random.choice((*PRIVATE, *PRIVATE, *PUBLIC))

    def condition(self, *aliases: str) -> str:
        """Return a condition of rows."""
        one, other = self.random.choice(aliases), self.random.choice(aliases)
        return self.random.choice(
            (
                f"{one}.x > {self.random.randrange(3)}",
                f"{one}.town = 'A'",
                f"{one}.town = {other}.town",
                f"{one}.x = {other}.person",
                f"({one}.town <> 'B' OR {other}.x IS NULL)",
                f"{one}.person = {other}.person",
                f"{one}.person IS NOT NULL",
            )
        )

    def equation(self, one: str, other: str) -> str:
        """Return a condition that joins, most often by person."""
        by = "person" if self.random.random() < 0.7 else self.random.choice(("town", "x"))
        text = f"{one}.{by} = {other}.{by}"
        if self.random.random() < 0.3:
            text += self.random.choice((" AND ", " AND ", " OR ")) + self.condition(one, other)
        return text

    def shown(self, *aliases: str) -> str:
        """Return the three columns of a result, most often each under its own name."""

        def column(name: str) -> str:
            texts = [f"{alias}.{name}" for alias in aliases]
            if len(texts) > 1 and self.random.random() < 0.3:
                return f"coalesce({', '.join(texts)})"
            return self.random.choice(texts)

        person = column("person") if self.random.random() < 0.9 else column("x")
        number = self.random.choice((column("x"), column("x"), f"{column('x')} + 1", column("person"), "7"))
        return f"{person} AS person, {column('town')} AS town, {number} AS x"

    def where(self, *aliases: str) -> str:
        """Return a clause of conditions, or none."""
        return f" WHERE {self.condition(*aliases)}" if self.random.random() < 0.4 else ""

    def chosen(self, depth: int) -> str:
        """Return a choice of rows."""
        return f"SELECT {self.shown('a')} FROM {self.source(depth)} a{self.where('a')}"

    def joined(self, depth: int) -> str:
        """Return a join of two relations."""
        one, other = self.source(depth), self.source(depth)
        kinds = ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ","]
        if self.random.random() < 0.1:
            chosen = f"a.x = (SELECT max(q.x) FROM {self.source(0)} q)"
            return (
                f"SELECT {self.shown('a', 'b')} FROM {one} a JOIN {other} b ON {self.equation('a', 'b')} AND {chosen}"
            )
        if self.random.random() < 0.2:
            joined = f"{one} a JOIN ({other} b JOIN {self.source(0)} c ON {self.equation('b', 'c')})"
            return (
                f"SELECT {self.shown('a', 'b', 'c')} FROM {joined} ON {self.equation('a', 'b')}{self.where('a', 'c')}"
            )
        kind = self.random.choice(kinds + ["SEMI JOIN", "ANTI JOIN"] * self.has_semi_joins)
        if kind in {"CROSS JOIN", ","}:
            return f"SELECT {self.shown('a', 'b')} FROM {one} a {kind} {other} b WHERE {self.equation('a', 'b')}"
        if kind in {"SEMI JOIN", "ANTI JOIN"}:
            return f"SELECT {self.shown('a')} FROM {one} a {kind} {other} b ON {self.equation('a', 'b')}"
        equation = self.equation("a", "b") if kind != "FULL JOIN" else "a.person = b.person"
        if kind != "FULL JOIN" and self.random.random() < 0.2:
            return f"SELECT person, a.town AS town, b.x AS x FROM {one} a {kind} {other} b USING (person)"
        return f"SELECT {self.shown('a', 'b')} FROM {one} a {kind} {other} b ON {equation}{self.where('a', 'b')}"

    def joined_thrice(self, depth: int) -> str:
        """Return a join of three relations."""
        kinds = [self.random.choice(("JOIN", "LEFT JOIN")) for _ in range(2)]
        near = self.random.choice(("a", "b"))
        return (
            f"SELECT {self.shown('a', 'b', 'c')} FROM {self.source(depth)} a "
            f"{kinds[0]} {self.source(0)} b ON {self.equation('a', 'b')} "
            f"{kinds[1]} {self.source(0)} c ON {self.equation(near, 'c')}{self.where('a', 'b', 'c')}"
        )

    def grouped(self, depth: int) -> str:
        """Return groups, most often by person."""
        keys = self.random.choice(("person", "person", "person, town", "town", "person, x"))
        person = "a.person" if "person" in keys else "min(a.person)"
        town = "a.town" if "town" in keys else self.random.choice(("max(a.town)", "min(a.town)"))
        number = self.random.choice(("count(*)", "sum(a.x)", "count(DISTINCT a.town)", "min(a.x)"))
        having = f" HAVING count(*) > {self.random.randrange(3)}" if self.random.random() < 0.3 else ""
        by = ", ".join(f"a.{key}" for key in keys.split(", "))
        shown = f"{person} AS person, {town} AS town, CAST({number} AS INTEGER) AS x"
        return f"SELECT {shown} FROM {self.source(depth)} a{self.where('a')} GROUP BY {by}{having}"

    def windowed(self, depth: int) -> str:
        """Return rows with what is computed of others."""
        by = self.random.choice(("PARTITION BY a.person", "PARTITION BY a.person, a.town", "PARTITION BY a.town", ""))
        order = self.random.choice(("", " ORDER BY a.x", " ORDER BY a.town"))
        called = self.random.choice(("count(*)", "max(a.x)", "sum(a.x)"))
        called = self.random.choice(("rank()", "dense_rank()")) if order and self.random.random() < 0.6 else called
        number = f"CAST({called} OVER ({by}{order}) AS INTEGER)"
        return f"SELECT a.person AS person, a.town AS town, {number} AS x FROM {self.source(depth)} a{self.where('a')}"

    def combined(self, depth: int) -> str:
        """Return two queries, one below the other or one without the other."""
        kind = self.random.choice(("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
        return f"SELECT * FROM ({self.query(depth)}) a {kind} SELECT * FROM ({self.query(depth)}) b"

    def distinct(self, depth: int) -> str:
        """Return rows without duplicates."""
        return f"SELECT DISTINCT {self.shown('a')} FROM {self.source(depth)} a{self.where('a')}"

    def nested(self, depth: int) -> str:
        """Return rows that are chosen, or described, by a query."""
        inner = self.source(depth)
        equation = self.equation("a", "q")
        conditions = (
            f"EXISTS (SELECT 1 FROM {inner} q WHERE {equation})",
            f"NOT EXISTS (SELECT 1 FROM {inner} q WHERE {equation})",
            f"a.person IN (SELECT q.person FROM {inner} q{self.where('q')})",
            f"a.person NOT IN (SELECT q.person FROM {inner} q)",
            f"(a.town = 'A' OR a.person IN (SELECT q.person FROM {inner} q))",
            f"a.town IN (SELECT q.town FROM {inner} q)",
            f"EXISTS (SELECT 1 FROM {inner} q WHERE q.x > 1)",
        )
        if self.random.random() < 0.4:
            called = self.random.choice(("count(*)", "max(q.x)", "sum(q.x)"))
            number = f"CAST((SELECT {called} FROM {inner} q WHERE {equation}) AS INTEGER)"
            return f"SELECT a.person AS person, a.town AS town, {number} AS x FROM {self.source(depth)} a"
        return f"SELECT {self.shown('a')} FROM {self.source(depth)} a WHERE {self.random.choice(conditions)}"

    def common(self, depth: int) -> str:
        """Return a query of common table expressions, one of which has the name of a table."""
        name = self.random.choice(("few", "seen"))
        joined = f"{name} a JOIN {name} b ON {self.equation('a', 'b')}"
        return f"WITH {name} AS ({self.query(depth)}) SELECT {self.shown('a', 'b')} FROM {joined}"


class DuckDatabase:
    """Tables and a view of DuckDB, read as a file of it is."""

    dialect = "duckdb"

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("ATTACH ':memory:' AS file")
        self.connection.execute("USE file")
        for name, columns in MADE.items():
            self.connection.execute(f"CREATE TABLE {name} {columns}")

    def define(self, query: str) -> tuple[ViewDefinition, Relations]:
        """Return the view of a query, as the database describes it."""
        self.connection.execute(f"CREATE OR REPLACE VIEW shown AS {query}")
        catalog = duckdb_relations(self.connection)
        return catalog.named("shown"), catalog.find

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

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        for name, columns in MADE.items():
            self.connection.execute(f"CREATE TABLE {name} {columns}")

    def define(self, query: str) -> tuple[ViewDefinition, Relations]:
        """Return the view of a query, as the database describes it."""
        self.connection.execute("DROP VIEW IF EXISTS shown")
        self.connection.execute(f"CREATE VIEW shown AS {query}")
        self.connection.execute("SELECT * FROM shown LIMIT 0")
        catalog = sqlite_relations(self.connection)
        return catalog.named("shown"), catalog.find


class ServerDatabase(DuckDatabase):
    """Tables and a view of PostgreSQL, in a schema of their own."""

    dialect = "postgres"

    def __init__(self, server: Server) -> None:
        self.connection = server.shell("postgres")
        self.connection.execute("DROP SCHEMA IF EXISTS random_views CASCADE; CREATE SCHEMA random_views")
        self.connection.execute("SET search_path = random_views")
        for name, columns in MADE.items():
            self.connection.execute(f"CREATE TABLE {name} {columns}".encode())
        self.catalog = create_engine(server.url("postgres"), isolation_level="AUTOCOMMIT").connect()
        self.catalog.execute(text("SET search_path = pg_catalog"))

    def define(self, query: str) -> tuple[ViewDefinition, Relations]:
        """Return the view of a query, as the database describes it."""
        self.connection.execute("DROP VIEW IF EXISTS shown")
        self.connection.execute(f"CREATE VIEW shown AS {query}".encode())
        relations = ServerRelations(self.catalog)
        return relations.find("random_views", "shown"), relations.find

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
    tables = random_tables(random)
    before = _rows(database, tables)
    if sources is None:
        for name in PRIVATE:
            for place in range(len(tables[name])):
                after = _rows(database, {name: [*tables[name][:place], *tables[name][place + 1 :]]})
                changed = (before - after).total() + (after - before).total()
                if changed > 1:
                    return f"record {tables[name][place]} of {name} changes {changed} rows: {tables}"
            database.fill({name: tables[name]})
        return None
    places = {names[name]: COLUMNS.index(column) for name, column in sources}
    for unit in {row[place] for name, place in places.items() for row in tables[name]}:
        after = _rows(
            database, {name: [row for row in tables[name] if row[place] != unit] for name, place in places.items()}
        )
        if _of_others(before, unit) != _of_others(after, unit):
            return f"unit {unit} changes rows of others: {tables}"
    return None


def names_of(relations: Relations, schema: str | None) -> dict[str, str]:
    """Return the private tables by the names of what stores their records."""
    found = {name: relations(schema, name) for name in PRIVATE}
    return {each: name for name, table in found.items() for each in table.storages or {table.name}}


def _rows(database: DuckDatabase, tables: Tables) -> Counter[Row]:
    """Return the rows of the view after some tables were filled anew."""
    database.fill(tables)
    return database.rows()


def _of_others(rows: Counter[Row], person: object) -> Counter[Row]:
    """Return the rows of other persons; rows without a person are refused when they are opened."""
    return Counter({row: often for row, often in rows.items() if row[0] not in {None, person}})
