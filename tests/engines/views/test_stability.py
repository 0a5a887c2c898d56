# ruff: noqa: S608, E501, as all SQL here is our own, each view in one line
"""Which views are counted: those that prove that each of their rows comes from the records of one unit."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import duckdb
import pytest

from noisycount.engines.duckdb.definitions import duckdb_relations
from noisycount.engines.views.relations import BaseTable, UnitClaim, ViewDefinition
from noisycount.engines.views.stability import require_stable
from noisycount.errors import SourceError

MADE = """
CREATE TABLE seen (person INTEGER, town TEXT, role TEXT, x INTEGER);
CREATE TABLE ill (person INTEGER, day DATE, cost DECIMAL(9, 2));
CREATE TABLE names (person TEXT, name TEXT, floating DOUBLE);
CREATE TABLE folded (person TEXT COLLATE NOCASE, town TEXT COLLATE NOCASE);
CREATE TABLE lists (person INTEGER, xs INTEGER[], st STRUCT(f INTEGER, g INTEGER));
CREATE TABLE towns (town TEXT PRIMARY KEY, region TEXT);
CREATE TABLE years (town TEXT, year INTEGER);
CREATE TABLE "ärzte" (town TEXT);
CREATE TABLE parent (person INTEGER);
CREATE TABLE part (person INTEGER);
CREATE VIEW old AS SELECT person, town FROM seen WHERE x > 3;
CREATE VIEW number (who, n) AS SELECT person, count(*) FROM ill GROUP BY person;
CREATE VIEW places AS SELECT DISTINCT town FROM years;
CREATE VIEW foreign_call AS SELECT person FROM seen;
CREATE VIEW either AS SELECT person AS z FROM seen UNION ALL SELECT x FROM seen;
CREATE VIEW either_computed AS SELECT person AS z FROM seen UNION ALL SELECT x + 1 FROM seen;
CREATE VIEW lower_names AS SELECT lower(town) AS who, x FROM seen;
CREATE VIEW folded_names AS SELECT coalesce(person, '') AS person FROM folded;
"""
Judge = Callable[..., str | None]
BOTH = "both"
UNIT = "unit"
ROW = "row"
ACCEPTED = {
    "SELECT person, date_trunc('month', day) AS m, extract(year FROM day) AS y FROM ill": BOTH,
    "SELECT * FROM seen": BOTH,
    "SELECT s.* FROM seen s JOIN towns t USING (town)": BOTH,
    "SELECT person, lower(town) AS town FROM seen WHERE x + 1 > 3 AND role IN ('a', 'b') ORDER BY town": BOTH,
    "SELECT person FROM seen UNION ALL SELECT person FROM ill": BOTH,
    "(SELECT person FROM seen WHERE x > 1) UNION ALL SELECT person FROM ill UNION ALL SELECT year FROM years": BOTH,
    "SELECT s.person, t.region FROM seen s JOIN towns t USING (town)": BOTH,
    "SELECT person, region FROM seen JOIN towns ON seen.town = towns.town": BOTH,
    "SELECT s.person, t.region FROM seen s LEFT JOIN towns t ON t.town = s.town": BOTH,
    "SELECT s.person, t.year FROM seen s JOIN years t USING (town)": UNIT,
    "SELECT s.person FROM seen s JOIN towns t ON s.x = t.town": UNIT,
    "SELECT s.person FROM towns t JOIN seen s ON t.town = s.town": UNIT,
    "SELECT s.person FROM seen s CROSS JOIN years": UNIT,
    "SELECT s.person, p.town AS place FROM seen s JOIN places p ON p.town = s.town": UNIT,
    "SELECT a.person, b.role FROM seen a JOIN seen b ON a.person = b.person": UNIT,
    "SELECT b.person FROM seen a, seen b WHERE a.person = b.person AND a.town = b.town": UNIT,
    "SELECT a.person FROM (seen a CROSS JOIN seen b) WHERE a.person = b.person": UNIT,
    "SELECT a.person FROM ((seen a JOIN seen b USING (person)) JOIN ill c USING (person))": UNIT,
    "SELECT a.person FROM (seen a JOIN ill b USING (person)) CROSS JOIN years": UNIT,
    "SELECT person, day FROM seen JOIN ill USING (person) JOIN old USING (person)": UNIT,
    "SELECT a.person FROM seen a LEFT JOIN ill b ON a.person = b.person LEFT JOIN ill c ON a.person = c.person": UNIT,
    "SELECT a.person FROM seen a JOIN number n ON n.who = a.person AND n.n > 2": UNIT,
    "SELECT person FROM seen UNION ALL SELECT person FROM seen": UNIT,
    "SELECT person FROM parent UNION ALL SELECT person FROM part": UNIT,
    "SELECT person, count(*) AS n, sum(x) AS s FROM seen GROUP BY person HAVING n > 2": UNIT,
    "SELECT person, sum(CASE WHEN role = 'ill' THEN 1 ELSE 0 END) AS n FROM seen GROUP BY person": UNIT,
    "SELECT person, town, max(x) AS m, count(*) FILTER (WHERE x > 1) AS n FROM seen GROUP BY ALL": UNIT,
    "SELECT person, year(day) AS y, count(*) AS n FROM ill GROUP BY person, year(day)": UNIT,
    "SELECT person, max(CAST(cost AS BIGINT)) AS s FROM ill GROUP BY 1": UNIT,
    "SELECT person, rank() OVER (PARTITION BY person ORDER BY x DESC) AS place FROM seen QUALIFY place = 1": UNIT,
    "SELECT person, sum(x) OVER (PARTITION BY town, person) AS s FROM seen": UNIT,
    "SELECT DISTINCT person, town FROM seen": UNIT,
    "SELECT town AS person, region FROM towns": BOTH,
    "SELECT towns.region AS person FROM towns JOIN places USING (town)": BOTH,
}
JOINED = "it joins a with b other than by their units"
GROUPED = "it groups rows of several units"
NESTED = "it has a query in a query: join, or make the inner one a view"
MIXED = "mixes the rows of several units"
ORDERED = "depends on the order of"
NOT_ONE = "is not one column"
JOIN = "write JOIN or LEFT JOIN"
REFUSED = {
    "SELECT person, cost FROM ill GROUP BY person, cost": "it groups by 'cost', whose equal values may differ",
    "SELECT person, count(*) AS n FROM ill GROUP BY person, cost * 2": "whose equal values may differ",
    "SELECT person, sum(x * 100000000000000000000000000000000000000000) AS n FROM seen GROUP BY person": ORDERED,
    "SELECT lower(town) AS person FROM seen": NOT_ONE,
    "SELECT a.who AS person FROM lower_names a": NOT_ONE,
    "SELECT x AS person, town AS x FROM seen WHERE person > 3": NOT_ONE,
    "SELECT a.person FROM seen a JOIN ill b USING (person) JOIN (years c JOIN old d USING (town)) ON true": JOIN,
    "SELECT a.person FROM seen a JOIN ill b USING (person), years c JOIN old d USING (town)": "a comma beside a join",
    "SELECT person, rowid AS place FROM seen": "'rowid' is none of its columns",
    "SELECT person FROM seen WHERE role = current_role": "'current_role' is none of its columns",
    "SELECT 1 AS person FROM seen HAVING true": GROUPED,
    "SELECT a.person FROM seen a JOIN seen b ON a.town = b.town WHERE b.role = 'ill'": JOINED,
    "SELECT b.person, a.role FROM seen a JOIN seen b ON a.town = b.town": JOINED,
    "SELECT a.person FROM seen a JOIN seen b ON a.person = b.person OR a.town = b.town": JOINED,
    "SELECT a.person FROM seen a JOIN seen b ON a.person = b.x": JOINED,
    "SELECT a.person FROM seen a JOIN seen b ON a.person = b.person + 1": JOINED,
    "SELECT a.person FROM seen a LEFT JOIN ill b ON a.x > 3 WHERE a.person = b.person": JOINED,
    "SELECT a.person FROM seen a LEFT JOIN seen b ON NOT a.person = b.person": JOINED,
    "SELECT a.person FROM folded a JOIN folded b ON a.person = b.person": JOINED,
    "SELECT a.person FROM folded_names a JOIN folded_names b ON a.person = b.person": JOINED,
    "SELECT a.person FROM seen a JOIN names b ON a.person = b.person": JOINED,
    "SELECT s.person FROM towns t LEFT JOIN seen s ON t.town = s.town": "which remain without a unit",
    "SELECT b.person FROM seen a LEFT JOIN ill b ON a.person = b.person": NOT_ONE,
    "SELECT a.person FROM seen a RIGHT JOIN ill b ON a.person = b.person": JOIN,
    "SELECT coalesce(a.person, b.person) AS person FROM seen a FULL JOIN ill b ON a.person = b.person": JOIN,
    "SELECT person FROM seen SEMI JOIN ill USING (person)": JOIN,
    "SELECT a.person FROM seen a ANTI JOIN ill b ON a.person = b.person": JOIN,
    "SELECT a.person FROM seen a LEFT JOIN (ill b JOIN ill c ON b.person = c.person) ON a.person = b.person": JOIN,
    "SELECT town, max(person) AS person FROM seen GROUP BY town": NOT_ONE,
    "SELECT person FROM seen ORDER BY x + 1": "its ORDER BY has an expression other than a column",
    "SELECT person FROM folded GROUP BY person": "it groups by 'person', whose equal values may differ",
    "SELECT DISTINCT person FROM folded": "its DISTINCT has a column whose equal values may differ",
    "SELECT DISTINCT person, cost FROM ill": "its DISTINCT has a column whose equal values may differ",
    "SELECT max(person) AS person FROM seen": GROUPED,
    "SELECT lower(town) AS person FROM seen GROUP BY lower(town)": "whose equal values may differ",
    "SELECT person, count(*) OVER (PARTITION BY town) AS n FROM seen": "its window takes rows of several units",
    "SELECT person, count(*) OVER () AS n FROM seen": "its window takes rows of several units",
    "SELECT person, row_number() OVER (PARTITION BY person ORDER BY x) AS n FROM seen": ORDERED,
    "SELECT person, sum(x) OVER (PARTITION BY person ORDER BY x ROWS 1 PRECEDING) AS n FROM seen": "of which nothing can be proved",
    "SELECT person, count(*), rank() OVER (PARTITION BY person ORDER BY count(*)) AS n FROM seen GROUP BY person": "make it two",
    "SELECT person, first(town) AS town FROM seen GROUP BY person": ORDERED,
    "SELECT DISTINCT ON (person) person, town FROM seen": "it has ON",
    "SELECT person, sum(cost) AS s FROM ill GROUP BY person": ORDERED,
    "SELECT person, max(cost) AS s FROM ill GROUP BY person": ORDERED,
    "SELECT person, max(x, 2) AS xs FROM seen GROUP BY person": "it has max of several values",
    "SELECT person FROM seen WHERE x = (SELECT max(x) FROM seen)": NESTED,
    "SELECT person FROM seen WHERE person IN (SELECT person FROM ill)": NESTED,
    "SELECT person FROM seen WHERE EXISTS (SELECT 1 FROM ill WHERE ill.person = seen.person)": NESTED,
    "SELECT person FROM (SELECT person FROM seen)": NESTED,
    "WITH a AS (SELECT * FROM seen) SELECT person FROM a": NESTED,
    'WITH "Ärzte" AS (SELECT * FROM years) SELECT s.person FROM seen s JOIN "ärzte" k ON k.town = s.town': NESTED,
    "SELECT * EXCLUDE (x) FROM seen": "it has EXCEPT",
    "SELECT * REPLACE (x AS person) FROM seen": "it has REPLACE",
    "SELECT * FROM seen a JOIN towns b ON a.town = b.town": "it selects * from several tables or from a struct",
    "SELECT a.person FROM seen a, seen b, years b WHERE a.person = b.person": "several of its relations are named 'b'",
    "SELECT person, st.* FROM lists st": "it selects * from several tables or from a struct",
    "SELECT st.f AS person FROM lists AS st JOIN lists AS b ON st.person = b.person": JOINED.replace(
        "a with", "st with"
    ),
    "SELECT person FROM seen UNION ALL SELECT x FROM seen": MIXED,
    "SELECT person FROM seen UNION ALL SELECT person FROM names": MIXED,
    "SELECT person FROM seen UNION SELECT person FROM ill": "it has UNION",
    "SELECT person FROM seen EXCEPT SELECT person FROM ill": "it has EXCEPT",
    "SELECT person FROM seen INTERSECT SELECT person FROM ill": "it has INTERSECT",
    "SELECT person FROM foreign_call": "functions that are not the engine's own",
    "SELECT person FROM seen LIMIT 3": "it has LIMIT",
    "SELECT person FROM seen NATURAL JOIN ill": "it has NATURAL JOIN",
    "SELECT person FROM seen ASOF JOIN ill ON seen.person = ill.person AND seen.x > ill.cost": "it has ASOF JOIN",
    "SELECT person, unnest(xs) AS x FROM lists": "of which nothing can be proved",
    "SELECT l.person, u.x FROM lists l, unnest(l.xs) AS u (x)": "of which nothing can be proved",
    "SELECT a.p AS person FROM seen AS a (p)": "renames the columns of 'a'",
    "SELECT town FROM seen": "none of its columns is named 'person'",
    "SELECT t.year AS person FROM seen s JOIN years t USING (town)": NOT_ONE,
    "SELECT z AS person FROM either": MIXED,
    "SELECT z AS person FROM either_computed": NOT_ONE,
    "SELECT a.person FROM seen a CROSS JOIN number d JOIN ill b ON b.person = d.who": "joins a with d",
    "SELECT 1 AS person": "it reads no table",
    "SELECT s.person, date_trunc(role, day) AS d FROM seen s JOIN ill i ON i.person = s.person": "a part of time",
    "SELECT i.person, date_trunc(year, i.day) AS d FROM ill i JOIN years y ON true": "a part of time or a column",
}
VOLATILE = {
    "SELECT person FROM seen WHERE random() < 0.5": "random()",
    "SELECT person, now() AS n FROM seen": "",
    "SELECT person FROM ill WHERE day > current_date": "",
    "SELECT person, uuid() AS n FROM seen": "",
    "SELECT person FROM (SELECT person, age(day) AS a FROM ill)": "",
    "SELECT person FROM seen WHERE EXISTS (SELECT 1 FROM towns WHERE region = current_user)": "",
    "SELECT person FROM seen USING SAMPLE 10%": "",
    "WITH a AS (SELECT nextval('s') AS n) SELECT person FROM seen, a": "",
    "SELECT person FROM seen WHERE current_query_id() % 2 = 1": "current_query_id()",
    "SELECT person, odd(town) AS town FROM seen": "odd(town)",
    "SELECT person FROM read_csv('seen.csv')": "read_csv",
}
UNREADABLE = (
    "SELECT person FROM seen WHERE\u00a0x = 1",
    "SELECT person FROM seen\0 WHERE x = 1",
    "SELECT person FROM 'seen.csv'",
    "SELECT FROM WHERE",
    "DROP TABLE seen",
    "WITH RECURSIVE a AS (SELECT person FROM seen UNION ALL SELECT person FROM a) SELECT person FROM nowhere",
    "SELECT person FROM elsewhere.seen.seen",
)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database with tables and views."""
    with duckdb.connect() as connection:
        connection.execute("ATTACH ':memory:' AS file; USE file")
        connection.execute(MADE)
        yield connection


@pytest.fixture(scope="module")
def judge(database: duckdb.DuckDBPyConnection) -> Judge:
    """Give a function that returns why a view is refused; None: it is counted."""
    relations = duckdb_relations(database)
    storages = {"parent": frozenset({"1", "2"}), "part": frozenset({"2"})}

    def find(schema: str | None, name: str) -> BaseTable | ViewDefinition:
        found = relations.find(schema, name)
        if found.name in storages:
            return replace(found, storages=storages[found.name])
        return replace(found, is_readable=False) if found.name == "foreign_call" else found

    def judge(query: str, unit: str | None, **stated: object) -> str | None:
        try:
            columns = {
                name: types.get(str(type_), "") for name, type_, *_ in database.execute(f"DESCRIBE {query}").fetchall()
            }
        except duckdb.Error:
            columns = {}
        claim = UnitClaim(unit, **{"public_tables": ("Towns", "years"), **stated})
        try:
            require_stable(ViewDefinition("shown", query, columns, schema="main"), find, "duckdb", claim)
        except SourceError as error:
            return str(error)
        return None

    types = {"INTEGER": "integer", "BIGINT": "integer", "HUGEINT": "integer", "VARCHAR": "text", "DATE": "date"}
    return judge


@pytest.mark.parametrize("query", ACCEPTED)
def test_a_view_whose_rows_are_of_one_unit_each_is_counted(query: str, judge: Judge) -> None:
    """By the unit, by rows, or by both."""
    kind = ACCEPTED[query]
    assert (judge(query, "person") is None) == (kind in {BOTH, UNIT})
    assert (judge(query, None) is None) == (kind in {BOTH, ROW})


@pytest.mark.parametrize("query", REFUSED)
def test_a_view_that_mixes_units_is_refused_with_its_reason(query: str, judge: Judge) -> None:
    """And with what helps: a table, public tables, or the word of its owner."""
    refusal = judge(query, "person")
    assert refusal is not None
    assert "\n" not in refusal
    assert REFUSED[query] in refusal
    assert refusal.startswith("'shown' is a view whose definition does not prove that each of its rows")
    assert "list public_tables in noisycount.toml, or state there why it holds: vouched" in refusal
    assert judge(query, "person", vouched="one row a person") is None


@pytest.mark.parametrize("query", VOLATILE)
def test_a_view_that_changes_by_itself_is_refused_whatever_is_vouched(query: str, judge: Judge) -> None:
    """A volatile view is refused, as a version would stand for several sets of records."""
    for vouched in (None, "one row a person"):
        refusal = judge(query, "person", vouched=vouched)
        assert refusal is not None
        assert "may give other rows for the same records: make it a table" in refusal
        assert VOLATILE[query].lower() in refusal.lower()


@pytest.mark.parametrize("query", UNREADABLE)
def test_a_view_that_cannot_be_read_is_refused_whatever_is_vouched(query: str, judge: Judge) -> None:
    """Nothing is known of what it shows."""
    assert judge(query, "person") is not None
    refusal = judge(query, "person", vouched="one row a person")
    assert refusal is not None
    assert "is a view that cannot be judged" in refusal


def test_a_table_is_public_only_if_its_owner_states_it(judge: Judge) -> None:
    """Also a view; the tables that it reads are public in it alone."""
    query = "SELECT s.person, t.region FROM seen s JOIN towns t USING (town)"
    assert judge(query, "person") is None
    assert "it joins s with t" in str(judge(query, "person", public_tables=()))
    query = "SELECT s.person FROM seen s JOIN places p USING (town)"
    assert judge(query, "person", public_tables=("places",)) is None
    assert judge(query, None, public_tables=("places",)) is not None  # as no key of the view is known
    query = "SELECT s.person FROM seen s JOIN years p USING (town)"
    assert judge(query, "person", public_tables=("places",)) is not None


def test_nothing_is_proved_before_the_unit_is_stated(judge: Judge) -> None:
    """A check of a file that nobody has described shows what is in it."""
    query = "SELECT a.person FROM seen a JOIN seen b ON a.town = b.town"
    assert judge(query, None, is_stated=False) is None
    assert judge("SELECT random() AS person", None, is_stated=False) is not None


@pytest.mark.thorough
def test_a_deep_definition_is_refused(judge: Judge) -> None:
    """Its tree is as deep as it has brackets."""
    query = f"SELECT person FROM seen WHERE x = {'(' * 3000}1{')' * 3000}"
    assert "cannot be read" in str(judge(query, "person"))
    many = " AND ".join(f"x <> {number}" for number in range(3000))
    assert judge(f"SELECT person FROM seen WHERE {many}", "person") is None


def test_a_rename_in_another_case_is_the_same_column(judge: Judge) -> None:
    """Names are compared as DuckDB and SQLite compare them."""
    assert judge("SELECT A.PERSON FROM Seen a JOIN SEEN b ON a.Person = b.pErson", "person") is None
