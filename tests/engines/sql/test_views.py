# ruff: noqa: S608, as all SQL here is our own
"""Views of a server whose rows may come from several persons are refused, by their definitions at each count."""

from collections.abc import Callable

import pytest

from noisycount.engines.sql.relations import ServerRelations
from noisycount.engines.sql.source import SqlSource
from noisycount.engines.views.relations import UnitClaim
from noisycount.errors import SourceError
from noisycount.query.language import parse
from tests.helpers.postgresql import Server
from tests.helpers.server_tables import made_by, place_of

COLUMNS = "person int, town text, role varchar(9)"
SEEN = ("1, 'Bern', 'ill'", *(f"{person}, 'Bern', 'well'" for person in range(2, 12)))
JOINED = "SELECT a.person, b.role FROM {0} AS a JOIN {0} AS b ON a.town = b.town"


def made(server: Server, query: str, *more: str, kind: str = "VIEW", rows: tuple[str, ...] = SEEN) -> str:
    """Return the name of a view of a new table of these rows; `{0}` is the table, and `{1}` a table of regions."""
    table = made_by(server, COLUMNS, *rows)
    with server.shell("postgres") as shell:
        shell.execute(f"CREATE TABLE {table}_towns (town text PRIMARY KEY, region text)".encode())
        shell.execute(f"INSERT INTO {table}_towns VALUES ('Bern', 'Mittelland')".encode())
        for statement in more:
            shell.execute(statement.format(table, f"{table}_towns").encode())
        shell.execute(f"CREATE {kind} {table}_v AS {query.format(table, f'{table}_towns')}".encode())
    return f"{table}_v"


def opened(server: Server, view: str, unit: str | None = "person", **stated: object) -> SqlSource:
    """Return the records of a view, with what its owner states about it."""
    return SqlSource.open(place_of(server, view), unit=unit, columns=None, claim=UnitClaim(unit, **stated))


def refused(work: Callable[[], object], words: str) -> None:
    """Check that some work is refused in one line."""
    with pytest.raises(SourceError, match=words) as caught:
        work()
    assert (caught.value.__cause__, "\n" in str(caught.value)) == (None, False)


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_one_record_moves_no_count_through_a_join(postgresql: Server, kind: str) -> None:
    """The count of those who shared a town with somebody ill would move by eleven."""
    view = made(postgresql, JOINED, kind=kind)
    refused(lambda: opened(postgresql, view), f"'{view}' is a view whose .*: it joins a with b")
    with opened(postgresql, view, vouched="nobody shares a town") as source:
        assert source.count([parse("role = 'ill'", source.schema)]) == [11]


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_joins_by_the_person_and_with_public_tables_are_counted(postgresql: Server, kind: str) -> None:
    """Texts of limited length too, which the server compares by a cast."""
    view = made(postgresql, "SELECT a.person, b.role FROM {0} AS a JOIN {0} AS b USING (person)", kind=kind)
    with opened(postgresql, view) as source:
        assert source.count([parse("role = 'ill'", source.schema)]) == [1]
    refused(lambda: opened(postgresql, view, None), "comes from one record")
    view = made(postgresql, "SELECT a.role AS person FROM {0} AS a JOIN {0} AS b ON a.role = b.role", kind=kind)
    opened(postgresql, view).close()
    view = made(postgresql, "SELECT a.person, t.region FROM {0} AS a JOIN {1} AS t USING (town)", kind=kind)
    refused(lambda: opened(postgresql, view), "it joins a with t")
    for unit in ("person", None):  # the town is the key of the public table
        with opened(postgresql, view, unit, public_tables=(f"{view.removesuffix('_v')}_towns",)) as source:
            assert source.count([parse("region = 'Mittelland'", source.schema)]) == [11]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("SELECT person, count(*) AS n FROM {0} GROUP BY person", "SELECT person FROM {0} LIMIT 3"),
        (
            "SELECT person, rank() OVER (PARTITION BY person ORDER BY town) AS n FROM {0}",
            "SELECT person, rank() OVER (PARTITION BY town ORDER BY person) AS n FROM {0}",
        ),
        ("SELECT DISTINCT person, town FROM {0}", "SELECT max(person) AS person FROM {0} GROUP BY town"),
        (
            "SELECT person, extract(year FROM date '2026-01-01')::int AS year FROM {0}",
            "SELECT person, count(*) OVER () AS n FROM {0}",
        ),
        (
            "SELECT a.person FROM {0} AS a LEFT JOIN {0} AS b ON a.person = b.person",
            "SELECT person FROM {0} AS a WHERE NOT EXISTS (SELECT FROM {0} AS b WHERE b.person = a.person)",
        ),
    ],
)
def test_a_materialised_view_is_judged_by_the_same_rule(postgresql: Server, right: str, wrong: str) -> None:
    """It may compute what it likes of the records of one person."""
    opened(postgresql, made(postgresql, right, kind="MATERIALIZED VIEW")).close()
    refused(lambda: opened(postgresql, made(postgresql, wrong, kind="MATERIALIZED VIEW")), "does not prove that each")


def test_functions_of_others_are_not_trusted(postgresql: Server) -> None:
    """User-defined functions are refused, as their definition need not state which data they read."""
    spy = "CREATE FUNCTION {0}_spy(int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM {0}'"
    view = made(postgresql, "SELECT person, {0}_spy(person) AS n FROM {0}", spy, kind="MATERIALIZED VIEW")
    refused(lambda: opened(postgresql, view), "functions that are not the engine's own")
    late = made(postgresql, "SELECT person, now() AS n FROM {0}", kind="MATERIALIZED VIEW")
    refused(lambda: opened(postgresql, late), "does not prove that each")
    for stored in (view, late):
        opened(postgresql, stored, vouched="checked by hand").close()


def test_a_collation_that_makes_texts_equal_names_no_person(postgresql: Server) -> None:
    """Else 'Ann' would be joined with 'ann', who is another person."""
    folded = (
        "CREATE COLLATION IF NOT EXISTS folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "ALTER TABLE {0} ALTER town TYPE text COLLATE folded",
    )
    view = made(postgresql, "SELECT a.town AS person FROM {0} AS a JOIN {0} AS b ON a.town = b.town", *folded)
    refused(lambda: opened(postgresql, view), "it joins a with b")


def test_a_part_of_a_table_is_the_table(postgresql: Server) -> None:
    """Its records would be counted twice, and a person be named by two columns."""
    parts = ("CREATE TABLE {0}_part () INHERITS ({0})",)
    view = made(postgresql, "SELECT person FROM {0} UNION ALL SELECT person FROM {0}_part", *parts)
    refused(lambda: opened(postgresql, view, None), "one of them may change several rows")
    opened(postgresql, view).close()
    table = view.removesuffix("_v")
    with postgresql.shell("postgres") as shell:
        shell.execute(
            f"CREATE VIEW {table}_w AS SELECT town AS who FROM {table} UNION ALL SELECT role FROM {table}_part".encode()
        )
    refused(lambda: opened(postgresql, f"{table}_w", "who"), "mixes the rows of several units")


def test_a_view_that_begins_to_join_is_refused(postgresql: Server) -> None:
    """Before the next debit, by `prepare`, and in the transaction of a count; also a view that it reads."""
    inner = made(postgresql, "SELECT person, town, role FROM {0}")
    table = inner.removesuffix("_v")
    with postgresql.shell("postgres") as shell:
        shell.execute(f"CREATE VIEW {table}_w AS SELECT person, role FROM {inner}".encode())
        with opened(postgresql, f"{table}_w") as source:
            ill = parse("role = 'ill'", source.schema)
            assert source.count([ill]) == [1]
            joined = f"SELECT a.person, a.town, b.role FROM {table} AS a JOIN {table} AS b ON a.town = b.town"
            shell.execute(f"CREATE OR REPLACE VIEW {inner} AS {joined}".encode())
            refused(source.prepare, "it joins a with b")
            refused(lambda: source.count([ill]), "it joins a with b")


ATTACKS = {
    "an alias that is a word of joins": (
        "SELECT a.person FROM {0} AS semi JOIN {0} AS a ON true WHERE semi.town = 'Bern'",
        "it joins|of which nothing can be proved",
    ),
    "a cast of a text that other texts equal": (
        "SELECT a.k AS person FROM {0}_k AS a JOIN {0} AS b ON b.town = a.k",
        "it joins a with b",
    ),
    "a public table by another name": (
        'SELECT a.person FROM {0} AS a, "{0}_Towns" AS b',
        "it joins a with b",
    ),
    "names in another case": (
        'SELECT "V".x AS person FROM {0} AS "V"(x) WHERE EXISTS (SELECT FROM {0} AS v WHERE v.person = "V".x)',
        "a query in a query",
    ),
    "rows that an order repeats": (
        "SELECT person FROM {0} ORDER BY unnest(ARRAY[1, 2, 3])",
        "of which nothing can be proved|it is ordered",
    ),
    "the largest of numbers that are equal and differ": (
        "SELECT person, max(amount) AS amount FROM {0} GROUP BY person",
        "depends on the order of rows",
    ),
    "rows made by a function": ("SELECT person, regexp_matches(town, '.', 'g') AS m FROM {0}", "nothing can be proved"),
    "the place of a record by its own name": (
        "SELECT person, c FROM {0}_c",
        "is none of its columns",
    ),
    "the place of a record": ("SELECT person, ctid::text AS place FROM {0}", "is none of its columns"),
    "policies of a public table": (
        "SELECT a.person FROM {0} AS a JOIN {0}_hidden AS b ON b.person = a.person",
        "policies choose the rows",
    ),
    "a unit that is computed": (
        "SELECT coalesce(a.person, 0) AS person FROM {0} AS a UNION ALL SELECT coalesce(a.person, 0) FROM {0}_w AS a",
        "is not one column",
    ),
    "a column in brackets": (
        "SELECT a.person FROM {0} AS a JOIN {0}_k AS b ON true JOIN ({0} AS c JOIN {0}_w AS d USING (person)) ON true",
        "without brackets",
    ),
    "policies of rows": ("SELECT person FROM {0}_hidden", "policies choose the rows"),
}


@pytest.mark.parametrize("case", ATTACKS)
def test_what_the_server_reads_otherwise_is_refused(postgresql: Server, case: str) -> None:
    """Each of these once let one person move a count by several."""
    query, words = ATTACKS[case]
    before = (
        "CREATE COLLATION IF NOT EXISTS folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "ALTER TABLE {0} ADD amount numeric, ADD folded text COLLATE folded",
        "CREATE VIEW {0}_k AS SELECT folded::text AS k FROM {0}",
        'CREATE TABLE "{0}_Towns" (town text); CREATE TABLE {0}_hidden (person int)',
        "ALTER TABLE {0}_hidden ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY p ON {0}_hidden FOR SELECT USING (EXISTS (SELECT FROM {0}))",
        "CREATE VIEW {0}_c AS SELECT person, (ctid <= '(0,5)')::text AS c, 1 AS ctid FROM {0}",
        "CREATE VIEW {0}_w AS SELECT role AS town, person + 1 AS person FROM {0}",
    )
    view = made(postgresql, query, *before, kind="MATERIALIZED VIEW")
    table = view.removesuffix("_v")
    refused(lambda: opened(postgresql, view, public_tables=(f"{table}_towns", f"{table}_hidden")), words)


def test_a_view_reads_the_tables_of_its_creation_whatever_the_search_path(postgresql: Server) -> None:
    """PostgreSQL stores which relations a view reads; the path of the account chooses the view alone."""
    harmless = "SELECT person, town, role FROM {0}"
    view = made(
        postgresql,
        "SELECT person, role FROM {0}_pairs",
        f"CREATE VIEW {{0}}_pairs AS {harmless}; CREATE SCHEMA s_{{0}}; CREATE VIEW s_{{0}}.{{0}}_pairs AS {JOINED}",
    )
    name = view.removesuffix("_v")
    with postgresql.shell("postgres") as shell:
        shell.execute(
            f"SET search_path = s_{name}; CREATE VIEW {view} AS SELECT person, role FROM {name}_pairs".encode()
        )
        opened(postgresql, view).close()
        refused(lambda: opened(postgresql, f"s_{name}.{view}"), "it joins a with b")
        shell.execute(f"ALTER ROLE owner SET search_path = s_{name}, public".encode())
        try:
            refused(lambda: opened(postgresql, view), "it joins a with b")
            opened(postgresql, f"public.{view}").close()
        finally:
            shell.execute(b"ALTER ROLE owner RESET search_path")


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_what_a_definition_names_is_compared_with_what_the_server_recorded(
    postgresql: Server, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A view whose names would be read as those of other relations is refused."""
    view = made(
        postgresql,
        "SELECT person FROM public.{0}",
        "CREATE SCHEMA s_{0}; CREATE TABLE s_{0}.{0} (person int)",
        kind=kind,
    )
    opened(postgresql, view).close()
    name = view.removesuffix("_v")
    find = ServerRelations.find

    def find_other(self: ServerRelations, schema: str | None, its_name: str) -> object:
        return find(self, f"s_{name}" if its_name == name else schema, its_name)

    monkeypatch.setattr(ServerRelations, "find", find_other)
    refused(lambda: opened(postgresql, view), "the server and its definition differ about")
