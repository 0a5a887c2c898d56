# ruff: noqa: S608, as all SQL here is our own
"""Views of DuckDB and SQLite files whose rows may come from several persons, or change by themselves, are refused."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.views.claim import UnitClaim
from noisycount.errors import SourceError
from noisycount.query.language import parse
from tests.sources import database

MADE = (
    "CREATE TABLE seen (person INTEGER, town TEXT, role TEXT)",
    "INSERT INTO seen VALUES (1, 'Bern', 'ill'), (2, 'Bern', 'well'), (3, 'Bern', 'well')",
    "CREATE TABLE towns (town TEXT PRIMARY KEY, region TEXT)",
    "INSERT INTO towns VALUES ('Bern', 'Mittelland')",
    "CREATE VIEW shared AS SELECT a.person, b.role FROM seen a JOIN seen b ON a.town = b.town",
    "CREATE VIEW own AS SELECT a.person, b.role FROM seen a JOIN seen b ON a.person = b.person",
    "CREATE VIEW placed AS SELECT s.person, t.region FROM seen s JOIN towns t ON s.town = t.town",
    "CREATE VIEW chance AS SELECT person, random() AS lot FROM seen",
    "CREATE VIEW outer_chance AS SELECT person FROM chance",
    "CREATE VIEW late AS SELECT person FROM seen WHERE current_timestamp IS NOT NULL",
)


@pytest.fixture(params=["duckdb", "sqlite"])
def any_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same tables and views in a file of both kinds."""
    path = tmp_path / f"records.{request.param}"
    if request.param == "duckdb":
        with database(path) as connection:
            for statement in MADE:
                connection.execute(statement)
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(";".join(MADE))
    return path


def count(path: Path, table: str, where: str, **stated: object) -> int:
    """Return how many persons there are in a view."""
    unit = str(stated.pop("unit", "person"))
    claim = UnitClaim(unit, **stated)
    with DuckDBSource.open(path, table=table, unit=unit, claim=claim) as source:
        return source.count([parse(where, source.schema)])[0]


def test_one_record_moves_no_count_through_a_join(any_file: Path) -> None:
    """The owner is told what would help; a join by the person is counted, or one that the owner vouches for."""
    with pytest.raises(SourceError, match=r"'shared' is a view, .* from one value of 'person' .*: it joins a with b"):
        count(any_file, "shared", "role = 'ill'")
    assert count(any_file, "own", "role = 'ill'") == 1
    assert count(any_file, "shared", "role = 'ill'", vouched="nobody shares a town") == 3
    with pytest.raises(SourceError, match="it joins s with t"):
        count(any_file, "placed", "region = 'Mittelland'")
    assert count(any_file, "placed", "region = 'Mittelland'", public_tables=("towns",)) == 3
    with pytest.raises(SourceError, match="comes from one record is not proved"):
        DuckDBSource.open(any_file, table="own")


@pytest.mark.parametrize("table", ["chance", "outer_chance", "late"])
def test_a_view_that_changes_by_itself_is_refused(any_file: Path, table: str) -> None:
    """Whatever is vouched for: its version would not tell that it shows other rows."""
    for stated in ({}, {"vouched": "one row a person"}):
        with pytest.raises(
            SourceError, match=r"has '.*', which may give other rows for the same records: make it a table"
        ):
            count(any_file, table, "true", **stated)
    with pytest.raises(SourceError, match="gives other rows"):
        DuckDBSource.checked(any_file, table=table)


def test_a_macro_or_a_generated_column_is_judged_too(tmp_path: Path) -> None:
    """A macro may have the name of a function; a generated column is computed when it is read."""
    path = tmp_path / "x.duckdb"
    with database(path) as connection:
        connection.execute("CREATE TABLE seen (person INTEGER, lot DOUBLE GENERATED ALWAYS AS (random()))")
        connection.execute("CREATE TABLE ill (person INTEGER, next INTEGER GENERATED ALWAYS AS (person + 1))")
        connection.execute("CREATE TABLE old AS SELECT 7 AS person; INSERT INTO ill VALUES (7)")
        connection.execute("CREATE VIEW v AS SELECT person, person + 1 AS x FROM old")
    with pytest.raises(SourceError, match=r"(?i)'seen' has '.*random.*', which may give other rows"):
        DuckDBSource.open(path, table="seen", unit="person")
    assert count(path, "ill", "next = 8") == count(path, "v", "x = 8") == 1
    with database(path) as connection:
        connection.execute('CREATE MACRO "+"(x, y) AS (SELECT max(person) FROM ill)')
    with pytest.raises(SourceError, match="'v' calls functions that are not the engine's own"):
        DuckDBSource.open(path, table="v", unit="person")
    with pytest.raises(SourceError, match="which may give other rows"):
        DuckDBSource.open(path, table="ill", unit="person")


@pytest.mark.parametrize("kind", ["TEXT COLLATE NOCASE", "BLOB", "REAL", ""])
def test_values_that_are_equal_but_not_the_same_name_no_person(tmp_path: Path, kind: str) -> None:
    """Such as 'Ann' and 'ann' without case, or 1 and 1.0: a join would mix two persons."""
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"CREATE TABLE seen (person {kind}, role TEXT);"
            "CREATE VIEW v AS SELECT a.person, b.role FROM seen a JOIN seen b ON a.person = b.person;"
            "CREATE VIEW w AS SELECT person, role FROM seen WHERE role > 'a'"
        )
    with pytest.raises(SourceError, match="it joins a with b"):
        count(path, "v", "true")
    assert count(path, "w", "true") == 0
