# ruff: noqa: S608, as all SQL here is our own
"""Views of DuckDB and SQLite files whose rows may come from several persons, or change by themselves, are refused."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from noisycount.engines.duckdb.source import DuckDBSource
from noisycount.engines.views import definition
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError
from noisycount.query.language import parse
from tests.helpers.sources import database

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
    """Return a file with the tables and views, in each of the two kinds of database."""
    path = tmp_path / f"records.{request.param}"
    execute(path, *MADE)
    return path


def execute(path: Path, *statements: str) -> None:
    """Execute statements in a file of DuckDB, or of SQLite, by its ending."""
    if path.suffix == ".duckdb":
        with database(path) as connection:
            for statement in statements:
                connection.execute(statement)
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(";".join(statements))


def count(path: Path, table: str, where: str, **stated: object) -> int:
    """Return how many persons there are in a view."""
    unit = str(stated.pop("unit", "person"))
    claim = UnitClaim(unit, **stated)
    with DuckDBSource.open(path, table=table, unit=unit, claim=claim) as source:
        return source.count([parse(where, source.schema)])[0]


@pytest.mark.thorough
def test_one_record_moves_no_count_through_a_join(any_file: Path) -> None:
    """The owner is told what would help; a join by the person is counted, or one that the owner vouches for."""
    with pytest.raises(SourceError, match=r"'shared' is a view whose .* from one value of 'person': it joins a with b"):
        count(any_file, "shared", "role = 'ill'")
    assert count(any_file, "own", "role = 'ill'") == 1
    assert count(any_file, "shared", "role = 'ill'", vouched="nobody shares a town") == 3
    with pytest.raises(SourceError, match="it joins s with t"):
        count(any_file, "placed", "region = 'Mittelland'")
    assert count(any_file, "placed", "region = 'Mittelland'", public_tables=("towns",)) == 3
    with pytest.raises(SourceError, match="does not prove that each of its rows comes from one record"):
        DuckDBSource.open(any_file, table="own")


@pytest.mark.parametrize("table", ["chance", "outer_chance", "late"])
def test_a_view_that_changes_by_itself_is_refused(any_file: Path, table: str) -> None:
    """Whatever is vouched for: its version would not tell that it shows other rows."""
    for stated in ({}, {"vouched": "one row a person"}):
        with pytest.raises(
            SourceError, match=r"has '.*', which may give other rows for the same records: make it a table"
        ):
            count(any_file, table, "true", **stated)
    with pytest.raises(SourceError, match="may give other rows"):
        DuckDBSource.check_file(any_file, table=table)


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


ODD = {
    "an unnamed column that has the name of the unit": (
        "CREATE VIEW v AS SELECT (y.person), s.x, s.person FROM seen s JOIN years y ON y.town = s.town",
        "v",
    ),
    "a join that SQLite does not know": (
        "CREATE VIEW v AS SELECT town AS person FROM seen SEMI JOIN years ON years.person > 0",
        "v",
    ),
    "an aggregate of an outer query": (
        "CREATE VIEW v AS SELECT s.person, (SELECT count(s.x)) AS n FROM seen s",
        "v",
    ),
    "hidden columns": (
        "CREATE VIRTUAL TABLE docs USING fts5(b); CREATE VIEW v AS SELECT docs.*, s.person FROM docs CROSS JOIN seen s",
        "v",
    ),
    "a table that shows what another holds": (
        "CREATE VIRTUAL TABLE docs USING fts5(x, person UNINDEXED, content='seen')",
        "docs",
    ),
    "a table of a virtual table": ("CREATE VIRTUAL TABLE docs USING fts5(b)", "docs_content"),
    "a name whose capitals are a keyword": (
        "ALTER TABLE seen ADD COLUMN a\u017f; CREATE VIEW v AS SELECT a\u017f person, x FROM seen JOIN seen USING (x)",
        "v",
    ),
    "a name that may be taken for DISTINCT": (
        "ALTER TABLE seen ADD COLUMN d\u0131stinct; CREATE VIEW v AS SELECT d\u0131stinct person FROM seen",
        "v",
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_what_sqlite_reads_otherwise_is_refused(tmp_path: Path, case: str) -> None:
    """Each of these once let one person move a count by several."""
    statement, table = ODD[case]
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE seen (person INTEGER, town TEXT, x INTEGER); INSERT INTO seen VALUES (50, 'A', 1);"
            "CREATE TABLE years (person INTEGER, town TEXT); INSERT INTO years VALUES (1, 'A'), (2, 'A'), (3, 'A');"
            f"{statement}"
        )
    unit = "x" if case == "a table that shows what another holds" else "person"
    unit = "id" if table == "docs_content" else unit
    with pytest.raises(SourceError, match=r"does not prove|cannot be judged"):
        count(path, table, "true", unit=unit, public_tables=("years",))


@pytest.mark.parametrize("word", ["a\u017f", "d\u0131stinct", "di\ufb06inct"])
def test_sqlite_must_plan_the_query_that_is_judged(tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that the parser reads otherwise than SQLite is refused without a rule of its own."""
    monkeypatch.setattr(definition, "_is_quoted", lambda _token: True)
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"CREATE TABLE seen (person INTEGER, {word} INTEGER, x INTEGER); INSERT INTO seen VALUES (1, 2, 3);"
            f"CREATE VIEW v AS SELECT {word} person, x FROM seen"
        )
    with pytest.raises(SourceError, match="may take a table or function for another"):
        count(path, "v", "true")


@pytest.mark.parametrize("test", ["IS NOT NULL", "NOTNULL", "IS NOT 3", "NOT IN (3)", "NOT BETWEEN 3 AND 4", "IS NULL"])
def test_ordinary_conditions_are_planned_as_they_are_judged(tmp_path: Path, test: str) -> None:
    """A SQLite view with them is counted."""
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE seen (person INTEGER, x INTEGER); INSERT INTO seen VALUES (1, 1), (2, NULL);"
            "CREATE TABLE ill (person INTEGER, x INTEGER); INSERT INTO ill VALUES (1, 1);"
            f"CREATE VIEW v AS SELECT s.person, i.x FROM seen s LEFT JOIN ill i ON i.person = s.person WHERE i.x {test}"
        )
    assert count(path, "v", "true") == (1 if test != "IS NOT 3" else 2)


def test_names_may_have_letters_beyond_ascii(tmp_path: Path) -> None:
    """A name of which no spelling is ASCII is no keyword."""
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE seen (person INTEGER, größe INTEGER); INSERT INTO seen VALUES (1, 180), (2, 170);"
            "CREATE VIEW v AS SELECT person, größe FROM seen WHERE größe > 0"
        )
    assert count(path, "v", "größe > 175") == 1


def test_names_differ_in_more_than_ascii_letters_alone(tmp_path: Path) -> None:
    """DuckDB takes 'Ärzte' and 'ärzte' for two relations, and so do we."""
    path = tmp_path / "x.duckdb"
    with database(path) as connection:
        connection.execute('CREATE TABLE seen AS SELECT 1 AS person; CREATE VIEW "ärzte" AS SELECT random() AS person')
        connection.execute('CREATE VIEW v AS WITH "Ärzte" AS (SELECT * FROM seen) SELECT person FROM "ärzte"')
        connection.execute('CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS person; CREATE TABLE "s.t" AS FROM s.t')
        connection.execute('CREATE VIEW w AS SELECT a.person FROM seen a CROSS JOIN "s.t" b')
    for stated in ({}, {"vouched": "one row a person"}):
        with pytest.raises(SourceError, match="may give other rows"):
            count(path, "v", "true", **stated)
    with pytest.raises(SourceError, match="it joins a with b"):
        count(path, "w", "true", public_tables=("s.t",))


def test_a_generated_column_of_an_unknown_function_is_refused(tmp_path: Path) -> None:
    """It could change by itself."""
    path = tmp_path / "x.duckdb"
    with database(path) as connection:
        connection.execute("CREATE TABLE g (person INTEGER, q BIGINT GENERATED ALWAYS AS (current_query_id() % 2))")
    with pytest.raises(SourceError, match=r"(?i)'g' has 'current_query_id\(\)', which may give other rows"):
        DuckDBSource.open(path, table="g", unit="person")


PLACES = (
    "SELECT person, town, 1 AS rowid FROM seen WHERE seen.rowid <= 6",
    "SELECT person, town, seen.rowid AS rowid FROM seen",
    "SELECT a.person, p.town FROM seen a JOIN places p ON a.rowid = p.rowid",
    "SELECT person, count(*) AS rowid FROM seen GROUP BY person HAVING rowid > 1",
)


@pytest.mark.parametrize("query", PLACES)
def test_the_place_of_a_record_is_no_column(any_file: Path, query: str) -> None:
    """It depends on the records before it, and no catalog lists it."""
    execute(any_file, "CREATE TABLE places (rowid INTEGER, town TEXT)", f"CREATE VIEW v AS {query}")
    with pytest.raises(SourceError, match="rowid' is none of its columns"):
        count(any_file, "v", "true", public_tables=("places",))


def test_a_collation_is_seen_through_numbers_and_public_views(tmp_path: Path) -> None:
    """SQLite compares a text in a column of numbers by the collation of the column."""
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE seen (person INTEGER COLLATE NOCASE, town TEXT); CREATE TABLE plain (person TEXT, town TEXT);"
            "CREATE TABLE folded (person TEXT COLLATE NOCASE);"
            "CREATE VIEW public AS SELECT person, 'x' AS town FROM folded;"
            "CREATE VIEW v AS SELECT a.person FROM seen a JOIN seen b ON a.person = b.person;"
            "CREATE VIEW u AS SELECT person, town FROM public UNION ALL SELECT person, town FROM plain;"
            "CREATE VIEW w AS SELECT a.person FROM u a JOIN plain b ON a.person = b.person"
        )
    with pytest.raises(SourceError, match="it joins a with b"):
        count(path, "v", "true")
    with pytest.raises(SourceError, match="it joins a with b"):
        count(path, "w", "true", public_tables=("public",))


SCHEMAS = (
    "CREATE SCHEMA s",
    "CREATE TABLE seen (person INTEGER, town TEXT)",
    "CREATE TABLE towns (town TEXT PRIMARY KEY, region TEXT)",
    "CREATE TABLE s.seen (person INTEGER, town TEXT)",
    "CREATE TABLE s.towns (person INTEGER, town TEXT, region TEXT)",
    "INSERT INTO s.seen SELECT i, 'A' FROM range(10) AS t (i)",
    "INSERT INTO s.towns VALUES (99, 'A', 'x')",
    "CREATE VIEW pairs AS SELECT person, town FROM s.seen",
    "CREATE VIEW s.pairs AS SELECT a.person, b.town FROM seen a JOIN seen b ON a.town = b.town",
    "CREATE VIEW chance AS SELECT person FROM s.seen",
    "CREATE VIEW s.chance AS SELECT person FROM seen WHERE random() < 0.5",
    "CREATE TABLE duckdb_tables (table_name TEXT, estimated_size BIGINT)",
)
BY_UNIT = "SELECT a.person, b.region FROM seen a JOIN towns b ON a.town = b.town"
OF_SCHEMAS = {
    "a join behind a harmless view of the same name": ("SELECT person FROM pairs", "it joins a with b"),
    "three views of one name in one query": (
        "SELECT a.person FROM pairs a JOIN main.pairs b USING (person) JOIN s.pairs c USING (person)",
        "it joins a with b",
    ),
    "a private table with the name of a public one": (BY_UNIT, "it joins a with b"),
    "a volatile view with the name of another": ("SELECT person FROM chance", "which may give other rows"),
    "a relation of the engine": ("SELECT estimated_size AS person FROM duckdb_tables", "it reads 's.duckdb_tables'"),
    "a name of the main schema alone": ("SELECT person FROM duckdb_tables, main.seen", "it reads 's.duckdb_tables'"),
}


@pytest.mark.parametrize("case", OF_SCHEMAS)
def test_a_name_in_a_view_is_one_of_its_own_schema(tmp_path: Path, case: str) -> None:
    """As DuckDB looks it up, also if the view is created after USE, or read by a view of another schema."""
    query, reason = OF_SCHEMAS[case]
    path = tmp_path / "x.duckdb"
    with database(path) as connection:
        for statement in (*SCHEMAS, "CREATE SCHEMA t", "USE s"):
            connection.execute(statement)
        connection.execute(f"CREATE VIEW v AS {query}")
        connection.execute("CREATE VIEW t.w AS SELECT person FROM s.v; CREATE VIEW main.u AS SELECT person FROM t.w")
    for table in ("s.v", "u"):
        with pytest.raises(SourceError, match=reason):
            count(path, table, "true", public_tables=("towns",))


def test_a_key_is_one_of_the_table_that_is_read(tmp_path: Path) -> None:
    """By rows, a join with a public table needs a key of that very table."""
    path = tmp_path / "x.duckdb"
    with database(path) as connection:
        for statement in (*SCHEMAS, f"CREATE VIEW s.v AS {BY_UNIT}"):
            connection.execute(statement)
        connection.execute("INSERT INTO s.towns VALUES (98, 'A', 'x'); INSERT INTO seen VALUES (1, 'A')")
        connection.execute("CREATE VIEW s.w AS SELECT a.person FROM main.seen a JOIN main.towns b ON a.town = b.town")
    claim = UnitClaim(None, public_tables=("towns", "s.towns"))
    with pytest.raises(SourceError, match="does not prove that each of its rows comes from one record"):
        DuckDBSource.open(path, table="s.v", claim=claim)
    DuckDBSource.open(path, table="s.w", claim=claim).close()


@pytest.mark.parametrize("schema", ["memory", "file", "clinic", '"a.b"', "Mixed", "s"])
def test_a_schema_may_have_any_name(tmp_path: Path, schema: str) -> None:
    """A name that DuckDB could take for a database is refused if a view of another schema writes it."""
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f'CREATE SCHEMA {schema}; CREATE TABLE {schema}."X.y" AS SELECT 7 AS person')
        connection.execute('CREATE TABLE "X.y" (person INTEGER); CREATE TABLE seen AS SELECT 1 AS person')
        connection.execute(f'CREATE VIEW {schema}.own AS SELECT person FROM "x.Y"')
        connection.execute(f'CREATE VIEW v AS SELECT person FROM {schema.upper()}."X.y"')
    own = f"{schema}.own".replace('"', "")
    assert count(path, own, "true") == 1
    if schema in {"memory", "file"}:
        with pytest.raises(SourceError, match=rf"'v' is a view that cannot be judged: .* it reads {schema}.X.y"):
            count(path, "v", "true")
    else:
        assert count(path, "v", "true") == 1


def test_a_macro_cannot_stand_for_a_function_whatever_is_vouched(tmp_path: Path) -> None:
    """It may change by itself, under the name of a function that does not."""
    path = tmp_path / "x.duckdb"
    with database(path) as connection:
        connection.execute("CREATE TABLE seen AS SELECT 1 AS person, 'A' AS town; CREATE MACRO lower(x) AS random()")
        connection.execute("CREATE VIEW v AS SELECT person FROM seen WHERE lower(town) < 0.5")
        connection.execute("CREATE VIEW w AS SELECT person FROM seen WHERE upper(town) = 'A'")
    with pytest.raises(SourceError, match=r"'v' is a view that cannot be judged: the engine may take a .* function"):
        count(path, "v", "true", vouched="one row a person")
    assert count(path, "w", "true", vouched="one row a person") == 1


def test_a_name_in_a_view_of_the_main_schema_is_one_of_that_schema(tmp_path: Path) -> None:
    """DuckDB finds views of its own before those of another schema."""
    path = tmp_path / "x.duckdb"
    with database(path) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.duckdb_tables (table_name VARCHAR, estimated_size BIGINT)")
        connection.execute("CREATE VIEW v AS SELECT table_name AS person, estimated_size AS n FROM duckdb_tables")
    with pytest.raises(SourceError, match="'duckdb_tables', which is no table of its file"):
        count(path, "v", "n = 3")


@pytest.mark.thorough
def test_the_parser_of_definitions_is_loaded_for_views_only(tmp_path: Path) -> None:
    """A table of a DuckDB or SQLite file is opened without it, also beside a view."""
    with duckdb.connect(tmp_path / "a.duckdb") as connection, closing(sqlite3.connect(tmp_path / "b.sqlite")) as lite:
        for database in (connection, lite):
            database.execute("CREATE TABLE visits AS SELECT 1 AS age")
            database.execute("CREATE VIEW adults AS SELECT * FROM visits WHERE age >= 1")
        lite.commit()
    code = (
        "import sys\n"
        "from noisycount.engines.duckdb.source import DuckDBSource\n"
        "for table in ('visits', 'adults'):\n"
        "    DuckDBSource.open(sys.argv[1], table=table).close()\n"
        "    print('sqlglot' in sys.modules)\n"
    )
    for name in ("a.duckdb", "b.sqlite"):
        run = subprocess.run(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", code, str(tmp_path / name)], check=True, capture_output=True, text=True
        )
        assert run.stdout.split() == ["False", "True"]
