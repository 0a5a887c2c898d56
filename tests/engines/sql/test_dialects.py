"""The statements of servers that these tests do not have: all are compiled, SQLite runs some.

Tests of `engines/sql/dialect.py`.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from hashlib import md5

import numpy as np
import pytest
from sqlalchemy import create_engine
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql, sqlite
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.expression import ClauseElement

from noisycount.engines.conformance.predicates import predicates_on_parsed_columns
from noisycount.engines.conformance.records import SPELLED
from noisycount.engines.counts import (
    cell_counts,
    cells_statement,
    count_statement,
    key_counts,
    keys_statement,
)
from noisycount.engines.expressions import StatementRecords
from noisycount.engines.memory import MemorySource
from noisycount.engines.sql.connection import dialect_of
from noisycount.engines.sql.source import CountedTable
from noisycount.engines.sql.table import Form, FoundColumn, FoundName
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError
from noisycount.query.grouping import CellQuestion, KeyQuestion, resolve_group_by
from noisycount.query.language import parse
from noisycount.query.predicate import Column
from noisycount.query.readings import FUNCTIONS
from noisycount.query.schema import Kind
from tests.helpers.random_tables import grid, identity, total

SCHEMA = {
    "who": Kind.INTEGER,
    "age": Kind.INTEGER,
    "cost": Kind.REAL,
    "town": Kind.TEXT,
    "smoker": Kind.BOOLEAN,
    "born": Kind.DATE,
    "seen": Kind.TIMESTAMP,
}
FORMS = {"cost": Form.DECIMAL, "town": Form.CAST, "seen": Form.ZONED}
COLUMNS = tuple(FoundColumn(name, kind.value, kind, FORMS.get(name, Form.PLAIN)) for name, kind in SCHEMA.items())
COMPILERS = {
    "postgresql": postgresql.psycopg.dialect,
    "mssql": mssql.dialect,
    "mysql": mysql.dialect,
    "oracle": oracle.dialect,
    "sqlite": sqlite.dialect,
    "snowflake": DefaultDialect,
    "bigquery": DefaultDialect,
    "trino": DefaultDialect,
    "databricks": DefaultDialect,
    "teradata": DefaultDialect,
}
QUESTIONS = [
    *("true", "false or smoker", "not (smoker and age >= 31234) or smoker = false", "smoker is null"),
    *("age in (31234, 31235) or age > 31234.5", "cost between 31234 and 31235"),
    *("town = 'canary' and town <> 'it''s canary' and town < 'canary\\'", "town like 'canary%_[a-c]\\'"),
    "born >= '1990-01-31' and seen < '2020-01-31T12:00'",
    "number(town) >= 31234 or date(town) between '1990-01-31' and '2020-01-31' or number(town) < cost",
]


def records(name: str, *, has_persons: bool) -> StatementRecords:
    """A table of a server."""
    unit = "who" if has_persons else None
    table = CountedTable(dialect_of(name), FoundName("ward", "visits"), COLUMNS, unit, False)  # noqa: FBT003 - a state
    return table.records


def compiled(name: str, statement: ClauseElement) -> str:
    """The SQL of a statement, with its values beside it."""
    return str(statement.compile(dialect=COMPILERS[name]()))


def counted(name: str) -> ClauseElement:
    """The counts of all questions."""
    return count_statement([parse(text, SCHEMA) for text in QUESTIONS], records(name, has_persons=False))


def statements(name: str, *, has_persons: bool) -> Sequence[ClauseElement]:
    """Counts of predicates, of listed cells with their levels, and of hidden keys."""
    whole = records(name, has_persons=has_persons)
    where = parse("smoker and town <> 'canary'", SCHEMA)
    parts = resolve_group_by(["town", "smoker", "born", "age:18,65", "seen:quarter"], SCHEMA, None)
    values = [["canary", None], [True, False], [None], [0, 1], [8080]]
    cells = grid(parts, values)
    most = 2 if has_persons else None
    asked = CellQuestion(cells, where, (identity(8), total(8)), max_groups=most, salt="canary")
    return [
        count_statement([parse(text, SCHEMA) for text in QUESTIONS], whole),
        cells_statement(asked, whole),
        keys_statement(KeyQuestion(parts, where, most, "canary"), whole),
    ]


@pytest.mark.parametrize("has_persons", [False, True])
@pytest.mark.parametrize("name", COMPILERS)
def test_statements_compile_for_every_server_with_all_values_bound(
    name: str,
    has_persons: bool,  # noqa: FBT001 - a case
) -> None:
    """No literal of a question and no key is a part of a text."""
    for statement in statements(name, has_persons=has_persons):
        text = compiled(name, statement)
        assert not re.search("canary|31234|31235|1990|2020-", text)
        assert "GROUP BY" in text or "count(" in text


def hashed(text: str) -> bytes:
    """The hash that truncation is by."""
    return md5(text.encode(), usedforsecurity=False).digest()


def with_functions() -> sqlite3.Connection:
    """SQLite with a hash, which it lacks."""
    connection = sqlite3.connect(":memory:")
    connection.create_function("md5", 1, lambda text: hashed(text).hex())
    connection.execute("ATTACH ':memory:' AS ward")
    return connection


@pytest.mark.parametrize("most", [1, 2])
def test_persons_stay_in_the_groups_of_the_smallest_hashes(most: int) -> None:
    """The statement for servers, run by SQLite, orders the bytes of a hash from the last on."""
    towns = ("Bern", "Biel", "Chur", "Genf")

    def place(town: str, person: int) -> bytes:
        """The hash of a person in a town, the last byte first, by its definition."""
        tag = hashed(hashed("canary").hex() + f"{len(town)}:{town}").hex()
        return hashed(tag + str(person))[::-1]

    kept = Counter(town for person in range(300) for town in sorted(towns, key=lambda town: place(town, person))[:most])
    parts, visits = resolve_group_by(["town"], SCHEMA, None), records("sqlite", has_persons=True)
    hidden = KeyQuestion(parts, None, most, "canary")
    listed = CellQuestion(grid(parts, [towns]), None, (identity(4),), max_groups=most, salt="canary")
    with create_engine("sqlite://", creator=with_functions).connect() as connection:
        columns = ", ".join(SCHEMA)
        connection.exec_driver_sql(f"CREATE TABLE ward.visits ({columns})")
        rows = [(person, town) for person in range(300) for town in towns]
        connection.exec_driver_sql("INSERT INTO ward.visits (who, town) VALUES (?, ?)", rows)
        rows = [*connection.execute(keys_statement(hidden, visits))]
        found = key_counts(hidden, visits.dialect, rows)
        rows = np.array([*connection.execute(cells_statement(listed, visits))], np.object_)
        (cells,) = cell_counts(listed, visits, rows.T[:3])
    assert dict(zip(found.keys, found.counts, strict=True)) == {(t,): n for t, n in kept.items()}
    assert cells.tolist() == [kept[town] for town in towns]


@pytest.mark.thorough
def test_texts_spell_the_same_numbers_and_days_without_a_function_of_their_own() -> None:
    """The statement for servers that replace one text at a time, run by SQLite, against plain Python."""
    visits, town = records("sqlite", has_persons=False), {"town": Kind.TEXT}
    texts = [text for text in SPELLED if "\0" not in text]
    columns = [Column("town", kind, is_parsed=True) for kind in FUNCTIONS.values()]
    asked = [*predicates_on_parsed_columns(columns, texts)]
    with create_engine("sqlite://", creator=with_functions).connect() as connection:
        connection.exec_driver_sql(f"CREATE TABLE ward.visits ({', '.join(SCHEMA)})")
        connection.exec_driver_sql("INSERT INTO ward.visits (town) VALUES (?)", [(text,) for text in texts])
        found = [connection.execute(count_statement([each], visits)).one()[0] for each in asked]
    with MemorySource([{"town": text} for text in texts], town) as reference:
        assert found == reference.count(asked)


@pytest.mark.parametrize("name", COMPILERS)
def test_counts_of_predicates_are_one_scan_without_a_filter(name: str) -> None:
    """The time of a scan without a filter does not reveal the count; the owner may allow indexes."""
    text = compiled(name, counted(name))
    assert text.count("FROM ward.visits") + text.count('FROM "ward"."visits"') == 1
    assert "WHERE" not in text
    assert text.count("count(CASE") == len(QUESTIONS)


@pytest.mark.parametrize("name", ["mssql", "mysql", "oracle", "sqlite"])
def test_truth_is_a_number_where_a_server_has_none(name: str) -> None:
    """Conditions are comparisons there, also of a column alone."""
    text = compiled(name, counted(name))
    assert "smoker = 1" in text
    assert not re.search(r"WHEN \(?\w*smoker\)? THEN", text)
    assert " true" not in text.lower()


@pytest.mark.parametrize(
    ("name", "collation"),
    [
        ("postgresql", 'COLLATE "C"'),
        ("mssql", "COLLATE Latin1_General_100_BIN2_UTF8"),
        ("mysql", "COLLATE utf8mb4_0900_bin"),
        ("oracle", 'COLLATE "BINARY"'),
        ("sqlite", 'COLLATE "BINARY"'),
        ("snowflake", "COLLATE utf8"),
        ("databricks", 'COLLATE "UTF8_BINARY"'),
    ],
)
def test_texts_are_compared_by_a_collation_that_is_named(name: str, collation: str) -> None:
    """Wherever one stands: in predicates, in keys, and where persons are texts."""
    count, cells, keys = (compiled(name, each) for each in statements(name, has_persons=True))
    assert collation in count
    assert collation in cells
    assert collation in keys


def test_no_character_escapes_in_a_pattern() -> None:
    """If a dialect cannot switch escapes off, its escape character is named and escaped itself."""
    pattern = parse("town like 'a[\\%'", SCHEMA)
    bound = {
        name: statement.compile(dialect=COMPILERS[name]()).params
        for name in ("postgresql", "mssql", "mysql")
        for statement in [count_statement([pattern], records(name, has_persons=False))]
    }
    assert {name: [*values.values()] for name, values in bound.items()} == {
        "postgresql": ["a[\\%"],
        "mssql": ["a\\[\\\\%"],
        "mysql": ["a[\\\\%"],
    }


def test_too_many_keys_for_a_server_are_refused() -> None:
    """On a server without arrays each key is a value of its own, so the number of keys is limited."""
    parts = resolve_group_by("age", SCHEMA, None)
    keys = grid(parts, [range(5_000)])
    question = CellQuestion(keys, None, (identity(5_000),))
    assert cells_statement(question, records("postgresql", has_persons=False)) is not None
    with pytest.raises(SourceError, match="more than 1000 listed keys cannot be counted on this"):
        cells_statement(question, records("mssql", has_persons=False))


def test_lists_that_hold_nothing_are_lists() -> None:
    """A table without cells, or of missing keys alone, has rows all the same."""
    parts = resolve_group_by("age", SCHEMA, None)
    for name in COMPILERS:
        question = CellQuestion(grid(parts, [[None]]), None, (identity(1),))
        assert compiled(name, cells_statement(question, records(name, has_persons=True)))


def test_what_another_server_computes_is_of_no_question() -> None:
    """Its views are refused, whatever they are, and so are columns that it does not store."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        for statement in (
            (
                "CREATE TABLE t (w TEXT, stored INT GENERATED ALWAYS AS (w + 1) STORED, "
                "made INT GENERATED ALWAYS AS (w + 1) VIRTUAL)"
            ),
            "CREATE VIEW Seen AS SELECT w FROM t",
        ):
            connection.exec_driver_sql(statement)
        dialect = dialect_of("sqlite")
        columns = dialect.columns(connection, FoundName(None, "t"))
        assert [(each.name, each.kind) for each in columns] == [
            ("w", Kind.TEXT),
            ("stored", Kind.INTEGER),
            ("made", None),
        ]
        for name in ("Seen", "seen"):
            with pytest.raises(SourceError, match=f"'{name}' is a view, which computes cells .*ta"):
                dialect.columns(connection, FoundName(None, name))


def test_a_materialised_view_of_another_server_is_refused_unless_its_owner_vouches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is known of its definition; where there are no such views, every table is one."""
    dialect, table = dialect_of("sqlite"), FoundName(None, "Latest")
    with create_engine("sqlite://").connect() as connection:
        dialect.require_stable(connection, table, UnitClaim("person"))
        monkeypatch.setattr(type(connection.dialect), "get_materialized_view_names", lambda *_, **__: ["latest"])
        with pytest.raises(SourceError, match=r"'Latest' is a view.* its definition is not read on this server"):
            dialect.require_stable(connection, table, UnitClaim("person"))
        dialect.require_stable(connection, table, UnitClaim("person", vouched="one row a person"))
        dialect.require_stable(connection, FoundName(None, "visits"), UnitClaim("person"))
