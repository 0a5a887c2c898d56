# ruff: noqa: S608, as all SQL here is our own
"""Views, policies and types of a server: definitions that could fail at a single record are refused."""

import itertools
from collections.abc import Callable

import pytest

from noisycount.engines.sql.source import SqlSource
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import PredicateError, SourceError
from noisycount.query.grouping import KeyQuestion, resolve_group_by
from noisycount.query.language import parse
from tests.helpers.postgresql import Server
from tests.helpers.server_tables import made_by, place_of

COLUMNS = (
    "person int, town text, w text, kind varchar(9), code char(4), age int, ward smallint, "
    "cost numeric(8,2), size real, seen timestamp, at timestamptz, born date, ok boolean, id uuid"
)
USUAL = (
    "1, 'Bern', '30', 'a', 'x', 31, 1, 2.5, 1.5, '2026-01-01 10:00', '2026-01-01 10:00', "
    "'1995-05-05', true, '00000000-0000-0000-0000-000000000000'"
)
ODD = "2, 'Chur', 'n/a', '', '', 2147483647, 32767, 'NaN', 'NaN', 'infinity', '-infinity', 'infinity', NULL, NULL"
CERTAIN = (
    "SELECT * FROM {}",
    "SELECT person AS who, town AS place, 1 AS one, 'x' AS word, NULL::text AS nothing FROM {}",
    (
        "SELECT age::bigint, age::text AS t, kind::text, code::text AS c, size::float8, ok::text, "
        "ward::numeric, seen::date AS day, at::date AS other, at::timestamp AS moment, id::text, "
        "town::varchar(2) AS short, '2026-01-01'::date AS fixed FROM {}"
    ),
    (
        "SELECT CASE WHEN age >= 65 THEN 'old' WHEN ok THEN 'ok' END AS grade, coalesce(age, 0), "
        "coalesce(kind, '?') AS k, age > ward AS more, town IS NULL AS away, ok IS NOT TRUE AS no, "
        "NOT (town = 'Bern' OR cost < 2.5) AS rest FROM {}"
    ),
    (
        "SELECT town FROM {} WHERE town IN ('Bern', 'Chur') AND kind IN ('a', '') AND age > -5 "
        "AND code = 'x' AND seen >= '2026-01-01' AND size < 1e9 AND (ok OR born IS NULL)"
    ),
    "SELECT a.town, b.age FROM {} AS a LEFT JOIN {} AS b ON a.person = b.ward",
    "SELECT a.person, b.town FROM {} AS a JOIN {} AS b USING (person) CROSS JOIN {} AS c",
    "SELECT a.town FROM {} AS a, {} AS b WHERE a.person = b.person",
    "SELECT x.town FROM (SELECT town, w::int AS weight FROM {} WHERE age > 1) AS x",
    "SELECT town, age FROM {} UNION ALL SELECT kind, ward FROM {}",
    "SELECT person FROM {} WHERE kind = current_user",
    f"SELECT town FROM {{}} WHERE {' AND '.join(f'age <> {n}' for n in range(1500))}",
)
UNCERTAIN = (
    "SELECT DISTINCT town, w::int AS weight FROM {}",
    "SELECT w::int AS weight, town FROM {} UNION ALL SELECT 1, 'Bern'",
    "SELECT town FROM {} WHERE w::int > 3",
    "SELECT town FROM {} WHERE w <> 'n/a' AND w::int > 3",
    "SELECT town FROM {} WHERE age + 1 > 3",
    "SELECT a.town FROM {} AS a JOIN {} AS b ON a.person = b.w::int",
    "SELECT town, to_number(w, '99') AS weight FROM {}",
    "SELECT town, 1 / random() AS chance FROM {}",
    "SELECT town, unnest(ARRAY[1, 2]) AS part FROM {}",
    "SELECT town, (SELECT person FROM {}) AS whom FROM {}",
    "SELECT count(*) AS number, town FROM {} GROUP BY town",
    "SELECT town, row_number() OVER () AS place FROM {}",
    "SELECT town FROM {} ORDER BY w::int LIMIT 1",
    "SELECT town FROM {} AS t, LATERAL (SELECT t.w::int) AS b",
    "SELECT town FROM {}, generate_series(1, 2)",
    "SELECT town FROM {} TABLESAMPLE SYSTEM (50)",
    "WITH a AS (SELECT town FROM {}) SELECT town FROM a",
    "SELECT town FROM {} WHERE EXISTS (SELECT FROM {} AS b WHERE b.w::int = 1)",
    "SELECT town FROM {} WHERE CASE town WHEN 'Chur' THEN 1 ELSE 2 END = 1",
    "VALUES (1, 'Bern')",
)
COMPUTED = (
    *("w::int", "age + 1", "-age", "100 / ward", "cost::float8", "cost::numeric(2, 1)", "age::smallint"),
    *("born::timestamp", "CASE WHEN w <> 'n/a' THEN w::int END", "coalesce(age, w::int)", "w::int > 3", "town || w"),
)
"""What might fail, without a function: such a column alone is one that no question can use."""

NUMBERS = itertools.count()


def viewed(server: Server, query: str, *rows: str, before: str = "") -> str:
    """The name of a new view of a table of these rows; `{}` is the table."""
    table = made_by(server, COLUMNS, *rows, before=before)
    view = f"view_{next(NUMBERS)}"
    with server.shell("postgres") as shell:
        shell.execute(f"CREATE VIEW {view} AS {query.replace('{}', table)}".encode())
    return view


def opened(server: Server, table: str, user: str = "owner") -> SqlSource:
    """The records of a table or view; its owner states that each row is of one unit, which is judged elsewhere."""
    claim = UnitClaim(vouched="made up")
    return SqlSource.open(place_of(server, table, user), unit=None, columns=None, claim=claim)


def refused(work: Callable[[], object], words: str) -> str:
    """Run an action that must be refused in a single line, without the server's error."""
    with pytest.raises(SourceError, match=words) as caught:
        work()
    assert (caught.value.__cause__, "\n" in str(caught.value)) == (None, False)
    return str(caught.value)


def test_no_question_about_a_view_finds_a_record(postgresql: Server) -> None:
    """A record whose weight is no number changes no reply, whichever town is asked about."""
    query = "SELECT person, town, w::int AS weight FROM {}"
    replies = []
    for rows in ((USUAL,), (USUAL, ODD)):
        with opened(postgresql, viewed(postgresql, query, *rows)) as source:
            assert set(source.schema) == {"person", "town"}
            assert source.count([parse("town = 'Bern'", source.schema)]) == [1]
            told = []
            for town in ("Bern", "Chur"):
                with pytest.raises(PredicateError) as caught:
                    parse(f"town = '{town}' and weight >= 30", source.schema)
                told.append(str(caught.value))
            replies.append(told)
    assert replies[0] == replies[1] == [replies[0][0]] * 2
    assert "'weight', whose type integer (computed when it is read) no question can use" in told[0]


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("query", CERTAIN, ids=range(len(CERTAIN)))
def test_what_cannot_fail_is_counted(postgresql: Server, query: str) -> None:
    """Columns, renamed, chosen, joined, compared: no odd cell is an error, in any question."""
    with opened(postgresql, viewed(postgresql, query, USUAL, ODD, ODD)) as source:
        assert not set(source.schema.others) - {"id"}
        tests = [f"{name} is not null" for name in source.schema]
        assert len(source.count([parse(test, source.schema) for test in tests])) == len(tests)
        for name in source.schema:
            if source.schema[name].value not in {"real", "timestamp"}:
                asked = KeyQuestion(resolve_group_by([name], source.schema, None), None)
                list(source.count_keys(asked))


@pytest.mark.thorough
@pytest.mark.always
@pytest.mark.parametrize("query", UNCERTAIN)
@pytest.mark.parametrize("rows", [(), (USUAL,), (USUAL, ODD)], ids=["none", "usual", "odd"])
def test_a_view_whose_records_might_fail_is_refused(postgresql: Server, query: str, rows: tuple[str, ...]) -> None:
    """By its definition: there may be such a record, or none at all; in views of it too."""
    view = viewed(postgresql, query, *rows)
    words = f"'{view}' is a view that does more than choose, join and compare columns.*: name a"
    refused(lambda: opened(postgresql, view), words)
    outer = viewed(postgresql, f"SELECT * FROM {view}")
    refused(lambda: opened(postgresql, outer), words)


@pytest.mark.thorough
@pytest.mark.parametrize("made", COMPUTED)
def test_a_column_that_might_fail_is_of_no_question(postgresql: Server, made: str) -> None:
    """The others are, in views of it too; who names it is told what to do."""
    view = viewed(postgresql, f"SELECT town, {made} AS made FROM {{}}", USUAL, ODD)
    outer = viewed(postgresql, f"SELECT town AS place, made AS still FROM {view}")
    for name, column in ((view, "made"), (outer, "still")):
        with opened(postgresql, name) as source:
            assert (len(source.schema), [*source.schema.others]) == (1, [column])
            assert source.count([parse("true", source.schema)]) == [2]
            assert [each.kind for each in source.check().columns if each.name == column] == [None]
        place = place_of(postgresql, name)
        for named in ({"unit": column, "columns": None}, {"unit": None, "columns": [column]}):
            words = f"column '{column}' is computed when it is read.*: leave it out, or store it in"
            refused(lambda named=named, place=place: SqlSource.open(place, **named), words)
    chosen = viewed(postgresql, f"SELECT town FROM {view} WHERE made IS NULL")
    refused(lambda: opened(postgresql, chosen), "does more than choose")


def test_what_is_stored_is_counted(postgresql: Server) -> None:
    """A materialised view and a made column that is stored failed when they were written, if so."""
    table = made_by(postgresql, "w text, n int GENERATED ALWAYS AS (w::int) STORED", "'30'")
    with postgresql.shell("postgres") as shell:
        made = f"CREATE MATERIALIZED VIEW {table}_kept AS SELECT w::int AS weight FROM {table}"
        shell.execute(made.encode())
    for name, column in ((table, "n"), (f"{table}_kept", "weight")):
        with opened(postgresql, name) as source:
            assert source.count([parse(f"{column} = 30", source.schema)]) == [1]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT snare.weighed(w) AS weight FROM {}",
        "SELECT town FROM {} WHERE w OPERATOR(snare.=) 'a'",
        "SELECT a.town FROM {} AS a JOIN {} AS b USING (w)",
        "SELECT town, w::snare.rising AS weight FROM {}",
        "SELECT town, f.w FROM {} AS t, snare.fed AS f WHERE f.w = 'a'",
    ],
)
def test_operators_and_functions_of_others_are_not_called(postgresql: Server, query: str) -> None:
    """Also where a definition does not show that they are others'."""
    snare_made = (
        "DROP SCHEMA IF EXISTS snare CASCADE; CREATE SCHEMA snare;CREATE FUNCTION snare.weighed(text) RETURNS int "
        "LANGUAGE sql AS 'SELECT $1::int';CREATE FUNCTION snare.same(text, text) RETURNS bool LANGUAGE sql AS 'SELECT "
        "$1::int = 1';CREATE OPERATOR snare.= (FUNCTION = snare.same, LEFTARG = text, RIGHTARG = text);CREATE DOMAIN "
        "snare.rising AS text CHECK (value::int > 0); CREATE TYPE snare.mood AS ENUM ('a'); CREATE TABLE snare.fed (w "
        "snare.mood); SET search_path = snare, pg_catalog, public"
    )
    table = made_by(postgresql, COLUMNS, USUAL)
    view = f"view_{next(NUMBERS)}"
    with postgresql.shell("postgres") as shell:
        shell.execute(snare_made.encode())
        shell.execute(f"CREATE VIEW public.{view} AS {query.replace('{}', table)}".encode())
    refused(lambda: opened(postgresql, view), "does more than choose, join and compare columns")


def test_a_text_that_a_function_makes_is_of_no_question(postgresql: Server) -> None:
    """An enumeration has texts of its own, until somebody casts it by what can fail."""
    mood = (
        "CREATE TYPE mood_{} AS ENUM ('calm', 'n/a');"
        "CREATE FUNCTION told_{}(mood_{}) RETURNS text LANGUAGE sql AS "
        "$$SELECT (1 / (CASE $1 WHEN 'n/a' THEN 0 ELSE 1 END))::text$$"
    )
    table = made_by(postgresql, "town text, mood mood_{}", "'Bern', 'calm'", before=mood)
    with opened(postgresql, table) as source:
        assert source.count([parse("mood = 'calm'", source.schema)]) == [1]
        before = f"CREATE CAST (mood_{table} AS text) WITH FUNCTION told_{table}(mood_{table})"
        with postgresql.shell("postgres") as shell:
            shell.execute(before.encode())
        refused(lambda: source.count([parse("mood = 'calm'", source.schema)]), "open it again")
    with opened(postgresql, table) as source:
        assert [*source.schema.others] == ["mood"]


def test_foreign_records_are_refused(postgresql: Server) -> None:
    """Their cells are read by somebody else's rules, also where they are a part of a table."""
    name = f"foreign_{next(NUMBERS)}"
    with postgresql.shell("postgres") as shell:
        for statement in (
            "CREATE EXTENSION IF NOT EXISTS file_fdw",
            f"CREATE SERVER {name} FOREIGN DATA WRAPPER file_fdw",
            f"CREATE FOREIGN TABLE {name} (age int) SERVER {name} OPTIONS (filename '/dev/null')",
            f"CREATE TABLE {name}_whole (age int) PARTITION BY LIST (age)",
            (
                f"CREATE FOREIGN TABLE {name}_part PARTITION OF {name}_whole DEFAULT "
                f"SERVER {name} OPTIONS (filename '/dev/null')"
            ),
            f"CREATE TABLE {name}_parent (age int)",
            (
                f"CREATE FOREIGN TABLE {name}_child () INHERITS ({name}_parent) "
                f"SERVER {name} OPTIONS (filename '/dev/null')"
            ),
            f"CREATE VIEW {name}_view AS SELECT age FROM {name}_parent",
        ):
            shell.execute(statement.encode())
    for table in (name, f"{name}_whole", f"{name}_parent", f"{name}_view"):
        refused(lambda table=table: opened(postgresql, table), "has foreign records.*: copy them")


@pytest.mark.parametrize(
    ("policy", "is_sure"),
    [
        ("town = 'Bern'", True),
        ("kind = current_user OR town IN ('Bern', 'Chur')", True),
        ("w::int > 3", False),
        ("age = (SELECT max(1))", False),
        ("pg_backend_pid() > 0", False),
    ],
)
def test_a_policy_of_rows_only_compares(postgresql: Server, policy: str, is_sure: bool) -> None:  # noqa: FBT001 - a case
    """Of its own account alone, and of all where a view reads the table; owners have none."""
    table = made_by(postgresql, COLUMNS, USUAL, ODD)
    role = f"reader_{table}"
    with postgresql.shell("postgres") as shell:
        for statement in (
            f"CREATE ROLE {role} LOGIN",
            f"CREATE VIEW {table}_view AS SELECT town FROM {table}",
            f"GRANT SELECT ON {table}, {table}_view TO {role}, pg_monitor",
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
            f"CREATE POLICY mine ON {table} FOR SELECT TO {role} USING ({policy})",
            f"CREATE POLICY others ON {table} FOR SELECT TO pg_monitor USING (w::int > 3)",
            f"CREATE POLICY writing ON {table} FOR UPDATE TO {role} USING (w::int > 3)",
        ):
            shell.execute(statement.encode())
    words = f"'{table}' has a policy of rows that does more than compare columns.*: write it"
    if is_sure:
        with opened(postgresql, table, role) as source:
            assert source.count([parse("town is not null", source.schema)]) in ([1], [2])
    else:
        refused(lambda: opened(postgresql, table, role), words)
    opened(postgresql, table).close()
    refused(lambda: opened(postgresql, f"{table}_view", role), words)


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ("SELECT person, w::int AS age FROM {}", "'.*' changed since its opening: open it again"),
        ("SELECT person, age FROM {} WHERE w::int > 0", "is a view that does more than choose"),
    ],
)
def test_a_view_that_begins_to_compute_is_refused(postgresql: Server, then: str, words: str) -> None:
    """Before the next debit, by `prepare`, and in the transaction of a count."""
    table = made_by(postgresql, COLUMNS, USUAL, ODD)
    with postgresql.shell("postgres") as shell:
        shell.execute(f"CREATE VIEW {table}_v AS SELECT person, age FROM {table}".encode())
        with opened(postgresql, f"{table}_v") as source:
            assert source.count([parse("age > 31", source.schema)]) == [1]
            shell.execute(f"CREATE OR REPLACE VIEW {table}_v AS {then.format(table)}".encode())
            refused(source.prepare, words)
            refused(lambda: source.count([parse("age > 31", source.schema)]), words)
