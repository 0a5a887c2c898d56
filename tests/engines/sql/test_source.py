# ruff: noqa: S608, as all SQL here is our own
"""Tables, views and names of a real server, and how it refuses."""

import threading
import time
from collections.abc import Callable

import pytest
from psycopg import sql

from noisycount.engines.memory import MemorySource
from noisycount.engines.opening import open_served_table
from noisycount.engines.places import ServerPlace
from noisycount.engines.sql.source import SqlSource
from noisycount.errors import SourceError
from noisycount.query.grouping import CellQuestion, KeyQuestion, resolve_group_by
from noisycount.query.language import parse
from noisycount.query.predicate import Column, Comparison, Literal, Membership, Not, Operator, Pattern, Range
from noisycount.query.schema import Kind
from tests.helpers.postgresql import Server
from tests.helpers.random_tables import grid, identity
from tests.helpers.server_tables import made_by, place_of, table_of


def opened(place: ServerPlace, unit: str | None = None, **options: object) -> SqlSource:
    """The records of a place."""
    return SqlSource.open(place, unit=unit, columns=None, **options)


def counted(source: SqlSource, *questions: str) -> list[int]:
    """Count the records that match each question."""
    return source.count([parse(question, source.schema) for question in questions])


NAMES = ["select", "Select", 'a"b', "50%", "%(x)s", ":x", "a.b", "é", "user", "table", " ", "(;--"]


def test_any_name_is_only_a_name(postgresql: Server) -> None:
    """Keywords, quotes, per cent, colons, and names that differ in case alone."""
    schema = dict.fromkeys(NAMES, Kind.INTEGER)
    records = [{name: number for number, name in enumerate(NAMES)}]
    with opened(table_of(postgresql, records, schema), "user") as source:
        for number, name in enumerate(NAMES):
            if name != "user":
                written = '"' + name.replace('"', '""') + '"'
                assert counted(source, f"{written} = {number}", f"{written} <> {number}") == [1, 0]
                asked = KeyQuestion(resolve_group_by([name], source.schema, "user"), None)
                assert [batch.keys for batch in source.count_keys(asked)] == [[(number,)]]


@pytest.mark.parametrize(
    ("schema", "name", "written"),
    [
        ("Odd.Schema", "Order", '"Odd.Schema".Order'),
        ("odd", "a.b", 'odd."a.b"'),
        ("odd", 'say "hi"', 'odd."say ""hi"""'),
        ("select", "100%", "select.100%25"),
    ],
)
def test_tables_are_found_by_their_names_as_they_are(postgresql: Server, schema: str, name: str, written: str) -> None:
    """Of a schema too, in quotes where dots are part of a name; another case is another table."""
    table = sql.SQL("{}.{}").format(sql.Identifier(schema), sql.Identifier(name))
    with postgresql.shell("postgres") as shell:
        shell.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        shell.execute(sql.SQL("CREATE TABLE {} AS SELECT 7 AS age").format(table))
    with opened(place_of(postgresql, written)) as source:
        assert counted(source, "age = 7") == [1]
    with pytest.raises(SourceError, match="does not exist: check the name of the table"):
        opened(place_of(postgresql, written.swapcase()))


@pytest.mark.parametrize("text", ["", "a.", ".a", 'a"b', '"a', "a..b", '""'])
def test_a_name_that_is_none_is_refused(postgresql: Server, text: str) -> None:
    """A refusal is a single line with the form of a table's address."""
    with pytest.raises(SourceError, match=r"table must be a name such as|names no table"):
        opened(place_of(postgresql, text))


def test_a_table_is_found_where_its_account_looks(postgresql: Server) -> None:
    """Only there: the same name elsewhere is another table."""
    with postgresql.shell("postgres") as shell:
        shell.execute("CREATE SCHEMA first; CREATE TABLE first.aged AS SELECT 1 AS age")
        shell.execute("CREATE SCHEMA second; CREATE TABLE second.aged AS SELECT 2 AS age")
        shell.execute("CREATE ROLE looker LOGIN; ALTER ROLE looker SET search_path = second, first")
        shell.execute("GRANT USAGE ON SCHEMA first, second TO looker")
        shell.execute("GRANT SELECT ON first.aged, second.aged TO looker")
    with opened(place_of(postgresql, "aged", "looker")) as source:
        assert counted(source, "age = 2") == [1]
    with pytest.raises(SourceError, match="does not exist"):
        opened(place_of(postgresql, "aged"))


def test_functions_of_others_are_not_called(postgresql: Server) -> None:
    """An operator that somebody puts first in the path of an account decides nothing."""
    with postgresql.shell("postgres") as shell:
        shell.execute(
            "CREATE SCHEMA trap; CREATE TABLE trap.aged AS SELECT 7 AS age, 'a'::text AS town;CREATE FUNCTION "
            "trap.never(text, text) RETURNS bool LANGUAGE sql AS 'SELECT false';CREATE OPERATOR trap.= (FUNCTION = "
            "trap.never, LEFTARG = text, RIGHTARG = text);CREATE FUNCTION trap.md5(text) RETURNS text LANGUAGE sql AS "
            "$$SELECT ''$$;CREATE ROLE trapped LOGIN; ALTER ROLE trapped SET search_path = trap, pg_catalog;GRANT "
            "USAGE ON SCHEMA trap TO trapped; GRANT SELECT ON trap.aged TO trapped"
        )
    with opened(place_of(postgresql, "aged", "trapped")) as source:
        assert counted(source, "town = 'a'", "town <> 'a'") == [1, 0]


def test_views_parts_and_made_columns_are_counted(postgresql: Server) -> None:
    """A view is what it shows, a partitioned table all its parts, a made column its values."""
    base = made_by(postgresql, "age int, twice int GENERATED ALWAYS AS (age * 2) STORED, gone int", *("1", "2", "3"))
    parted = f"{base}_parted"
    with postgresql.shell("postgres") as shell:
        for statement in (
            f"ALTER TABLE {base} DROP COLUMN gone",
            f"CREATE VIEW {base}_view AS SELECT age, age AS next FROM {base} WHERE age > 1",
            f"CREATE MATERIALIZED VIEW {base}_kept AS SELECT age FROM {base}",
            f"CREATE TABLE {parted} (age int NOT NULL) PARTITION BY RANGE (age)",
            f"CREATE TABLE {parted}_1 PARTITION OF {parted} FOR VALUES FROM (0) TO (2)",
            f"CREATE TABLE {parted}_2 PARTITION OF {parted} DEFAULT",
            f"INSERT INTO {parted} VALUES (1), (1), (5)",
        ):
            shell.execute(statement.encode())
    asked = {
        base: ("twice = 4", 1),
        f"{base}_view": ("next > 1", 2),
        f"{base}_kept": ("age > 1", 2),
        parted: ("age >= 1", 3),
    }
    for name, (question, number) in asked.items():
        with opened(place_of(postgresql, name)) as source:
            assert counted(source, question) == [number]
    with opened(place_of(postgresql, parted), "age") as source:
        assert counted(source, "true") == [2]


def test_policies_hide_records_from_an_account(postgresql: Server) -> None:
    """Rows that a policy hides from an account are not counted for it."""
    table = made_by(postgresql, "ward text, age int", "'a', 1", "'a', 2", "'b', 3")
    with postgresql.shell("postgres") as shell:
        shell.execute(
            f"CREATE ROLE ward_a LOGIN; GRANT SELECT ON {table} TO ward_a;"
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
            f"CREATE POLICY own ON {table} FOR SELECT TO ward_a USING (ward = 'a')".encode()
        )
    with opened(place_of(postgresql, table, "ward_a")) as source:
        assert counted(source, "true", "age = 3") == [2, 0]


def test_an_account_needs_only_the_columns_of_questions(postgresql: Server) -> None:
    """And the unit: others may be kept from it, and then no question can use them."""
    table = made_by(postgresql, "who int, age int, secret text", "1, 31, 'canary-a9'")
    with postgresql.shell("postgres") as shell:
        shell.execute(f"CREATE ROLE narrow LOGIN; GRANT SELECT (who, age) ON {table} TO narrow".encode())
    place = place_of(postgresql, table, "narrow")
    with SqlSource.open(place, unit="who", columns=["age"]) as source:
        assert counted(source, "age = 31") == [1]
    require_refused(lambda: opened(place, "who"), "may not be read by this account: let its owner")


def test_a_source_says_what_it_is(postgresql: Server) -> None:
    """Its identity, its forms, its version, which follows kinds and not the records."""
    table = made_by(postgresql, "who text, age int, scan bytea", "'ann', 31, NULL", "'bob', NULL, ''")
    place = place_of(postgresql, table)
    with opened(place, "who") as source:
        version = source.version
        assert str(source.identity).startswith("postgresql ")
        assert (source.former_versions, source.accepted, source.form) == ((), frozenset(), None)
        assert [*source.used_column_checks()] == []
        assert {name: form.kind for name, form in source.forms.items()} == {"who": Kind.TEXT, "age": Kind.INTEGER}
        check = source.check()
        assert (check.rows, check.units) == (2, 2)
        assert [(each.name, each.type, each.missing) for each in check.columns] == [
            ("age", "integer", 1),
            ("scan", "bytea", 0),
        ]
    with postgresql.shell("postgres") as shell:
        shell.execute(f"INSERT INTO {table} VALUES ('eve', 7), ('eve', 8)".encode())
    with opened(place, None) as source:
        assert [source.check(unit).units for unit in (None, "who", "age", "scan")] == [None, 3, 3, None]
    with opened(place, "who", uses_indexes=True, seconds=5) as source:
        assert source.version == version
        assert counted(source, "true", "age = 7") == [3, 1]
    with postgresql.shell("postgres") as shell:
        shell.execute(f"ALTER TABLE {table} ALTER age TYPE numeric".encode())
    with opened(place, "who") as source:
        assert source.version != version


@pytest.mark.parametrize("uses_indexes", [False, True], ids=["all", "indexed"])
def test_missing_units_are_refused(postgresql: Server, uses_indexes: bool) -> None:  # noqa: FBT001 - a case
    """At the opening, and at every count where they came later, also of other records alone."""
    table = made_by(postgresql, "who int, age int", "1, 31")
    questions = resolve_group_by("age", {"age": Kind.INTEGER}, "who")
    with opened(place_of(postgresql, table), "who", uses_indexes=uses_indexes) as source:
        with postgresql.shell("postgres") as shell:
            shell.execute(f"INSERT INTO {table} VALUES (NULL, 99)".encode())
        young = parse("age = 31", source.schema)
        listed = grid(questions, [[31]])
        cells = CellQuestion(listed, young, (identity(1),))
        for ask in (
            lambda: counted(source, "age = 31"),
            lambda: counted(source, "age = 31", "age = 32"),
            lambda: [*source.count_keys(KeyQuestion(questions, None))],
            lambda: [*source.count_keys(KeyQuestion(questions, young))],
            lambda: source.count_cells(cells),
        ):
            require_refused(ask, "records without a unit were added since the opening")
    require_refused(lambda: opened(place_of(postgresql, table), "who"), "'who' has missing values, and a record")


def test_a_unit_that_cannot_be_missing_is_not_looked_for(postgresql: Server) -> None:
    """The server itself keeps units from missing: no scan at the opening."""
    table = made_by(postgresql, "who int PRIMARY KEY, age int", "1, 31")
    with opened(place_of(postgresql, table), "who"), postgresql.shell("postgres") as shell:
        asked = shell.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%IS NULL%' AND pid <> pg_backend_pid()"
        ).fetchone()
        assert asked == (0,)


def require_refused(ask: Callable[[], object], words: str) -> None:
    """The refusal of all but one line that says something, and of all that a server said."""
    with pytest.raises(SourceError) as caught:
        ask()
    error = caught.value
    assert words in str(error)
    assert str(error).isprintable()
    assert not any(secret in str(error) for secret in ("canary", "psycopg.", "sqlalche.me"))
    assert error.__cause__ is None
    assert error.__context__ is None


def test_a_server_that_is_not_there_is_told_in_one_line(postgresql: Server) -> None:
    """With nothing of the account or its password."""
    addresses = [
        "postgresql+psycopg://ann:canary@127.0.0.1:9/clinic",
        "postgresql+psycopg://ann:canary@no-such-host.invalid/clinic",
        f"postgresql+psycopg://ann:canary@/postgres?host={postgresql.folder}",
        f"postgresql+psycopg://owner:canary@/no_such_database?host={postgresql.folder}",
    ]
    for address in addresses:
        require_refused(lambda at=address: opened(ServerPlace.read(f"{at}#visits")), "cannot be reached")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("DROP TABLE {}", "does not exist: check the name of the table"),
        ("ALTER TABLE {} DROP COLUMN age", "columns"),
        ("ALTER TABLE {} ALTER age TYPE bigint", "changed since its opening: open it again"),
        ("ALTER TABLE {} RENAME age TO years", "columns"),
        ("REVOKE SELECT ON {} FROM reader", "may not be read by this account"),
        ("REVOKE USAGE ON SCHEMA public FROM public", "may not be read by this account"),
    ],
)
def test_what_changed_since_the_opening_is_refused(postgresql: Server, change: str, words: str) -> None:
    """Before the debit by `prepare`, and after it by the count, which nothing can slip between."""
    name = postgresql.database()
    with postgresql.shell(name) as shell:
        shell.execute("DO $$ BEGIN CREATE ROLE reader LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        shell.execute("CREATE TABLE visits AS SELECT 31 AS age, 'canary' AS note")
        shell.execute("GRANT SELECT ON visits TO reader")
        place = ServerPlace.read(f"{postgresql.url(name, 'reader')}#visits")
        with opened(place) as source:
            source.prepare()
            shell.execute("ALTER TABLE visits ADD COLUMN more int")
            assert counted(source, "age = 31") == [1]
            shell.execute(change.format("visits").encode())
            require_refused(source.prepare, words)
            require_refused(lambda: counted(source, "age = 31"), words)
            asked = KeyQuestion(resolve_group_by("age", source.schema, None), None)
            require_refused(lambda: [*source.count_keys(asked)], words)


@pytest.mark.usefixtures("unguarded")
def test_a_count_that_takes_too_long_is_given_up(postgresql: Server) -> None:
    """By the server itself, which goes on with nothing."""
    table = made_by(postgresql, "age int", "1")
    slow = f"CREATE VIEW {table}_slow AS SELECT age, pg_sleep(20)::text AS note FROM {table}"
    with postgresql.shell("postgres") as shell:
        shell.execute(slow.encode())
    with opened(place_of(postgresql, f"{table}_slow"), seconds=0.2) as source:
        begun = time.monotonic()
        require_refused(lambda: counted(source, "note is null"), "was not counted in time")
        assert time.monotonic() - begun < 10


@pytest.mark.usefixtures("unguarded")
def test_a_closed_source_gives_up_its_counts(postgresql: Server) -> None:
    """They are not waited for, and closing again does nothing."""
    table = made_by(postgresql, "age int", "1")
    slow = f"CREATE VIEW {table}_slow AS SELECT age, pg_sleep(20)::text AS note FROM {table}"
    with postgresql.shell("postgres") as shell:
        shell.execute(slow.encode())
        source = opened(place_of(postgresql, f"{table}_slow"))
        thread = threading.Thread(target=require_refused, args=(lambda: counted(source, "note = ''"), ""))
        thread.start()
        sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        while shell.execute(sleeping).fetchone() == (0,):
            time.sleep(0.01)
        begun = time.monotonic()
        source.close()
        thread.join(timeout=10)
        assert time.monotonic() - begun < 10
    source.close()
    require_refused(source.require_unchanged, "is closed: open it again")
    require_refused(source.prepare, "is closed: open it again")


def test_texts_that_no_server_holds_equal_nothing(postgresql: Server) -> None:
    """Half a pair of surrogates has its place among texts all the same."""
    schema = {"x": Kind.TEXT}
    cells = ["a", "a\ud7ff", "a\ue000", "a\U0001f44d", "b", None]
    records = [{"x": cell} for cell in cells]
    column, half = Column("x", Kind.TEXT), Literal(Kind.TEXT, "a\udc00z")
    known = Literal(Kind.TEXT, "b")
    questions = [
        *(Comparison(column, operator, half) for operator in Operator),
        Range(column, half, known),
        Membership(column, (half, known)),
        Membership(column, (half,)),
        Pattern(column, "a\udc00%"),
    ]
    questions += [*map(Not, questions)]
    with MemorySource(records, schema) as reference, opened(table_of(postgresql, records, schema)) as source:
        assert source.count(questions) == reference.count(questions)


def test_large_questions_are_counted(postgresql: Server) -> None:
    """Of 500 tokens, 20 deep, and a hundred of them in one scan."""
    records = [{"age": age, "town": str(age)} for age in range(50)]
    schema = {"age": Kind.INTEGER, "town": Kind.TEXT}
    deep = "age = 0"
    for depth in range(1, 13):
        deep = f"{'not ' * (depth % 2)}({deep} {'and' if depth % 3 else 'or'} age <> {depth})"
    wide = f"town in ({', '.join(repr(str(n)) for n in range(200))})"
    texts = [deep, wide, *(f"age >= {n} and town <> '{n}'" for n in range(98))]
    with MemorySource(records, schema) as reference, opened(table_of(postgresql, records, schema)) as source:
        questions = [parse(text, schema) for text in texts]
        assert source.count(questions) == reference.count(questions)


def test_a_server_is_opened_only_with_a_certificate(postgresql: Server) -> None:
    """Ours is certified by our tests; of another encoding nobody knows."""
    table = made_by(postgresql, "age int", "1")
    with open_served_table(place_of(postgresql, table), columns=["age"], seconds=9) as source:
        assert source.count([parse("age = 1", source.schema)]) == [1]
    with postgresql.shell("postgres") as shell:
        shell.execute("CREATE DATABASE western2 ENCODING LATIN1 TEMPLATE template0")
    with postgresql.shell("western2") as shell:
        shell.execute("CREATE TABLE visits (age int)")
    place = ServerPlace.read(f"{postgresql.url('western2')}#visits")
    require_refused(lambda: open_served_table(place), "which is not counted, as it was never tested here")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("snowflake://ann:canary@host/db#t", "install it"),
        ("nothing://ann:canary@host/db#t", "dialect 'nothing': install it"),
        ("mssql+pyodbc://ann:canary@host/db#t", "install the package pyodbc"),
        ("mysql+pymysql://ann:canary@host:port/db#t", "cannot be read: write it as"),
    ],
)
def test_a_missing_driver_is_named(address: str, words: str) -> None:
    """Its owner installs it."""
    require_refused(lambda: opened(ServerPlace.read(address)), words)


@pytest.mark.usefixtures("unguarded")
def test_a_server_that_ends_in_the_middle_is_told(postgresql: Server) -> None:
    """A count that loses its connection is no count."""
    table = made_by(postgresql, "age int", "1")
    end = "pg_terminate_backend(pg_backend_pid())::text"
    with postgresql.shell("postgres") as shell:
        shell.execute(f"CREATE VIEW {table}_end AS SELECT age, {end} AS note FROM {table}".encode())
    with opened(place_of(postgresql, f"{table}_end")) as source:
        require_refused(lambda: counted(source, "note = ''"), "cannot be reached")
        source.prepare()


@pytest.mark.usefixtures("unguarded")
def test_no_server_errors_reach_the_log(postgresql: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Neither a driver nor a pool writes down what the server said."""
    table = made_by(postgresql, "note text", "'canary'")
    broken = f"CREATE VIEW {table}_bad AS SELECT note::int AS age FROM {table}"
    with postgresql.shell("postgres") as shell:
        shell.execute(broken.encode())
    with opened(place_of(postgresql, f"{table}_bad")) as source:
        require_refused(lambda: counted(source, "age = 1"), "could not be counted; the reason is withheld")
    assert caplog.text == ""
