# ruff: noqa: S608, E501, as all SQL here is our own, each view in one line
"""Which views are counted: those that prove that each of their rows comes from the records of one unit."""

import pytest

from noisycount.engines.views.claim import UnitClaim
from noisycount.engines.views.definition import BaseTable, UnprovenError, ViewDefinition
from noisycount.engines.views.stability import require_stable
from noisycount.errors import SourceError

RELATIONS = {
    "seen": BaseTable("seen", {"person": "integer", "town": "text", "role": "text", "x": "integer"}),
    "ill": BaseTable("ill", {"person": "integer", "day": "date", "cost": ""}),
    "names": BaseTable("names", {"person": "text", "name": "text", "floating": ""}),
    "folded": BaseTable("folded", {"person": "", "town": ""}),
    "lists": BaseTable("lists", {"person": "integer", "xs": ""}),
    "towns": BaseTable("towns", {"town": "text", "region": "text"}, (frozenset({"town"}),)),
    "years": BaseTable("years", {"town": "text", "year": "integer"}),
    "parent": BaseTable("parent", {"person": "integer"}, storages=frozenset({"1", "2"})),
    "part": BaseTable("part", {"person": "integer"}, storages=frozenset({"2"})),
    "old": ViewDefinition("old", "CREATE VIEW old AS SELECT person, town FROM seen WHERE x > 3"),
    "number": ViewDefinition(
        "number", "CREATE VIEW number (who, n) AS SELECT person, count(*) FROM ill GROUP BY person"
    ),
    "places": ViewDefinition("places", "CREATE VIEW places AS SELECT DISTINCT town FROM years"),
    "foreign_call": ViewDefinition("foreign_call", "SELECT person FROM seen", is_readable=False),
}
BOTH = "both"
UNIT = "unit"
ROW = "row"
ACCEPTED = {
    "SELECT * FROM seen": BOTH,
    "SELECT person, lower(town) AS town FROM seen WHERE x + 1 > 3 AND role IN ('a', 'b')": BOTH,
    "SELECT lower(town) AS person FROM seen": BOTH,
    "SELECT p.person FROM (SELECT person FROM seen) AS p (person)": BOTH,
    "SELECT person FROM seen UNION ALL SELECT person FROM ill": BOTH,
    "SELECT person FROM seen UNION SELECT person FROM ill": BOTH,
    "SELECT DISTINCT person, town FROM seen": BOTH,
    "SELECT person FROM seen WHERE town IN (SELECT town FROM years)": BOTH,
    "SELECT person FROM seen WHERE town NOT IN (SELECT town FROM years)": BOTH,
    "SELECT person, (SELECT max(year) FROM years) AS year FROM seen": BOTH,
    "SELECT s.person, t.region FROM seen s JOIN towns t USING (town)": BOTH,
    "SELECT s.person, t.region FROM seen s LEFT JOIN towns t ON t.town = s.town": BOTH,
    "SELECT s.person FROM seen s JOIN (SELECT town, max(year) AS y FROM years GROUP BY town) q ON q.town = s.town": BOTH,
    "SELECT s.person, t.year FROM seen s JOIN years t USING (town)": UNIT,
    "SELECT s.person FROM seen s JOIN (SELECT town, year % 2 FROM years GROUP BY town, year % 2) q ON q.town = s.town": UNIT,
    "SELECT s.person FROM seen s JOIN towns t ON s.x = t.town": UNIT,
    "SELECT s.person FROM towns t LEFT JOIN seen s ON t.town = s.town": UNIT,
    "SELECT s.person FROM seen s CROSS JOIN years": UNIT,
    "SELECT a.person, b.role FROM seen a JOIN seen b ON a.person = b.person": UNIT,
    "SELECT b.person FROM seen a, seen b WHERE a.person = b.person AND a.town = b.town": UNIT,
    "SELECT a.person FROM (seen a CROSS JOIN seen b) WHERE a.person = b.person": UNIT,
    "SELECT a.person FROM (seen a JOIN ill b USING (person)) CROSS JOIN years": UNIT,
    "SELECT a.person FROM seen a LEFT JOIN ill b ON a.person = b.person LEFT JOIN ill c ON b.person = c.person": UNIT,
    "SELECT coalesce(a.person, b.person) AS person FROM seen a FULL JOIN ill b ON a.person = b.person": UNIT,
    "SELECT a.person FROM seen a JOIN number n ON n.who = a.person AND n.n > 2": UNIT,
    "WITH few AS (SELECT * FROM old), seen AS (SELECT * FROM few) SELECT * FROM seen JOIN ill USING (person)": UNIT,
    "SELECT person FROM seen SEMI JOIN ill USING (person)": UNIT,
    "SELECT person FROM seen ANTI JOIN ill USING (person)": UNIT,
    "SELECT person FROM seen WHERE person IN (SELECT person FROM ill)": UNIT,
    "SELECT person FROM seen WHERE person = ANY (SELECT person FROM ill)": UNIT,
    "SELECT person FROM seen WHERE EXISTS (SELECT 1 FROM ill WHERE ill.person = seen.person AND ill.cost > 1)": UNIT,
    "SELECT person FROM seen s WHERE NOT EXISTS (SELECT 1 FROM ill i WHERE s.person = i.person) OR x > 1": UNIT,
    "SELECT person, (SELECT count(*) FROM ill i WHERE i.person = s.person) AS n FROM seen s": UNIT,
    "SELECT person FROM seen EXCEPT SELECT person FROM ill": UNIT,
    "SELECT person FROM seen INTERSECT SELECT person FROM ill": UNIT,
    "SELECT person FROM seen UNION ALL SELECT person FROM seen": UNIT,
    "SELECT person FROM parent UNION ALL SELECT person FROM part": UNIT,
    "SELECT person, count(*) AS n, sum(x) AS s FROM seen GROUP BY person HAVING n > 2": UNIT,
    "SELECT person, town, max(x) AS m FROM seen GROUP BY ALL": UNIT,
    "SELECT person, sum(CAST(cost AS DECIMAL(9, 2))) AS s FROM ill GROUP BY 1": UNIT,
    "SELECT person, rank() OVER (PARTITION BY person ORDER BY x DESC) AS place FROM seen QUALIFY place = 1": UNIT,
    "SELECT person, sum(x) OVER (PARTITION BY town, person) AS s FROM seen": UNIT,
    "SELECT l.person, u.x FROM lists l, unnest(l.xs) AS u (x)": UNIT,
    "SELECT person, unnest(xs) AS x FROM lists": UNIT,
    "SELECT DISTINCT town FROM seen": ROW,
    "SELECT town, region FROM towns": ROW,
    "SELECT region FROM towns JOIN places USING (town)": ROW,
}
JOINED = "it joins a with b other than by their units"
GROUPED = "it groups, numbers or adds up rows of several units"
QUERIED = "reads the records of other units"
MIXED = "mixes the rows of several units"
ORDERED = "depends on the order of equal rows"
REFUSED = {
    "SELECT a.person FROM seen a JOIN seen b ON a.town = b.town WHERE b.role = 'ill'": JOINED,
    "SELECT b.person, a.role FROM seen a JOIN seen b ON a.town = b.town": JOINED,
    "SELECT a.person FROM seen a JOIN seen b ON a.person = b.person OR a.town = b.town": JOINED,
    "SELECT a.person FROM seen a JOIN seen b ON a.person = b.x": JOINED,
    "SELECT a.person FROM seen a JOIN seen b ON a.person = b.person + 1": JOINED,
    "SELECT a.person FROM seen a LEFT JOIN ill b ON a.town > b.day": JOINED,
    "SELECT a.person FROM seen a RIGHT JOIN ill b ON a.x = b.cost WHERE a.person = b.person": JOINED,
    "SELECT a.person FROM seen a LEFT JOIN seen b ON NOT a.person = b.person": JOINED,
    "SELECT a.person FROM folded a JOIN folded b ON a.person = b.person": JOINED,
    "SELECT a.person FROM seen a JOIN names b ON a.person = b.person": JOINED,
    "SELECT coalesce(a.person, b.x) AS person FROM seen a FULL JOIN seen b ON a.person = b.person": "is not one column",
    "SELECT coalesce(a.person, 0) AS person FROM seen a RIGHT JOIN towns b USING (town)": "a right or full join with USING",
    "SELECT a.person FROM seen a, ill b RIGHT JOIN ill c ON b.person = c.person": "a comma beside a right",
    "SELECT s.person FROM seen s JOIN (SELECT town, count(*) AS n FROM seen GROUP BY town) q USING (town)": GROUPED,
    "SELECT town, max(person) AS person FROM seen GROUP BY town": "is not one column",
    "SELECT person FROM seen ORDER BY count(*)": "it is ordered by what it computes",
    "SELECT person FROM folded GROUP BY person": GROUPED,
    "SELECT DISTINCT person FROM folded": "is not one column",
    "SELECT person, town FROM seen GROUP BY person": "may be of any row of a group",
    "SELECT lower(town) AS person FROM seen GROUP BY lower(town)": "is not one column",
    "SELECT town AS person, x FROM seen GROUP BY person, x": "is the name of two columns",
    "SELECT person, count(*) OVER (PARTITION BY town) AS n FROM seen": GROUPED,
    "SELECT person, count(*) OVER () AS n FROM seen": GROUPED,
    "SELECT person, row_number() OVER (PARTITION BY person ORDER BY x) AS n FROM seen": ORDERED,
    "SELECT person, sum(x) OVER (PARTITION BY person ORDER BY x ROWS 1 PRECEDING) AS n FROM seen": ORDERED,
    "SELECT person, first(town) AS town FROM seen GROUP BY person": ORDERED,
    "SELECT DISTINCT ON (person) person, town FROM seen": ORDERED,
    "SELECT person, sum(cost) AS s FROM ill GROUP BY person": "the last digits of",
    "SELECT person FROM seen WHERE x = (SELECT max(x) FROM seen)": QUERIED,
    "SELECT person FROM seen WHERE person NOT IN (SELECT person FROM ill)": QUERIED,
    "SELECT person FROM seen WHERE x > 1 OR person IN (SELECT person FROM ill)": QUERIED,
    "SELECT person FROM seen WHERE town IN (SELECT town FROM seen WHERE role = 'ill')": "chooses by the records of other",
    "SELECT person FROM seen WHERE EXISTS (SELECT 1 FROM ill WHERE day > '2026-01-01')": QUERIED,
    "SELECT person FROM seen WHERE EXISTS (SELECT ill.day AS x FROM ill WHERE ill.person = x)": "without its relation",
    "SELECT day.person FROM seen AS day WHERE EXISTS (SELECT 1 FROM ill WHERE ill.person = day.person)": "the name of a relation",
    "SELECT person FROM seen FULL JOIN ill USING (person)": "a right or full join with USING",
    "WITH x AS (SELECT person FROM ill), ill AS (SELECT x AS person FROM seen) SELECT person FROM x": "itself or a later one",
    "SELECT * EXCLUDE (seen.person), seen.x AS person FROM seen JOIN towns t USING (town)": "by EXCLUDE",
    "SELECT person FROM seen s WHERE EXISTS (SELECT 1 FROM ill i WHERE i.person = s.person OR i.cost = 1)": QUERIED,
    "SELECT person FROM seen s WHERE EXISTS (SELECT 1 FROM (SELECT ill.person FROM ill) i WHERE i.person = s.x)": QUERIED,
    "SELECT person FROM seen UNION ALL SELECT x FROM seen": MIXED,
    "SELECT person FROM seen UNION ALL SELECT person FROM names": MIXED,
    "SELECT person FROM seen EXCEPT SELECT x FROM seen": MIXED,
    "SELECT person FROM foreign_call": "functions that are not the engine's own",
    "SELECT person FROM seen LIMIT 3": "it has LIMIT",
    "SELECT person FROM seen NATURAL JOIN ill": "it has NATURAL JOIN",
    "SELECT person FROM seen ASOF JOIN ill ON seen.person = ill.person AND seen.x > ill.cost": "it has ASOF JOIN",
    "SELECT person, odd(town) AS town FROM seen": "of which nothing can be proved",
    "SELECT person FROM seen t, LATERAL (SELECT 1 FROM ill) u": "of which nothing can be proved",
    "SELECT missing AS person FROM seen": "none of its columns",
    "SELECT town FROM seen": "none of its columns are named 'person'",
    "SELECT * FROM seen a JOIN ill b ON a.person = b.person": "several of its columns have one name",
    "SELECT a.person FROM seen a JOIN years b ON a.x = (SELECT max(x) FROM seen)": QUERIED,
    "SELECT a.person FROM seen a SEMI JOIN years b ON a.x = (SELECT max(x) FROM seen)": QUERIED,
    "SELECT person FROM seen GROUP BY person, (SELECT max(x) FROM seen)": QUERIED,
    "SELECT t.year AS person FROM seen s JOIN years t USING (town)": "is not one column",
    "SELECT u.x AS person FROM lists l, unnest(l.xs) AS u (x)": "is not one column",
    "SELECT unnest(xs) AS person FROM lists": "is not one column",
    "SELECT z AS person FROM (SELECT person AS z FROM seen UNION ALL SELECT x FROM seen)": MIXED,
    "SELECT z AS person FROM (SELECT person AS z FROM seen UNION ALL SELECT x + 1 FROM seen)": MIXED,
    "SELECT a.person FROM seen a CROSS JOIN number d JOIN (ill b JOIN number c ON person = who) ON true": "joins a with d",
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
}
UNREADABLE = (
    "SELECT person FROM read_csv('seen.csv')",
    "SELECT person FROM 'seen.csv'",
    "SELECT FROM WHERE",
    "DROP TABLE seen",
    "WITH RECURSIVE a AS (SELECT person FROM seen UNION ALL SELECT person FROM a) SELECT person FROM nowhere",
    "SELECT person FROM elsewhere.seen.seen",
)


def relation(schema: str | None, name: str) -> BaseTable | ViewDefinition:
    """Return a relation by its name."""
    if schema is not None or name.lower() not in RELATIONS:
        raise UnprovenError(f"it reads {name!r}, which is not there")
    return RELATIONS[name.lower()]


def judge(query: str, unit: str | None, *, dialect: str = "duckdb", **stated: object) -> str | None:
    """Return why a view is refused; None: it is counted."""
    claim = UnitClaim(unit, **{"public_tables": ("Towns", "years"), **stated})
    try:
        require_stable(ViewDefinition("shown", query), relation, dialect, claim)
    except SourceError as error:
        return str(error)
    return None


@pytest.mark.parametrize("query", ACCEPTED)
def test_a_view_whose_rows_are_of_one_unit_each_is_counted(query: str) -> None:
    """By the unit, by rows, or by both."""
    kind = ACCEPTED[query]
    assert (judge(query, "person") is None) == (kind in {BOTH, UNIT})
    assert (judge(query, None) is None) == (kind in {BOTH, ROW})


@pytest.mark.parametrize("query", REFUSED)
def test_a_view_that_mixes_units_is_refused_with_its_reason(query: str) -> None:
    """And with what helps: a table, public tables, or the word of its owner."""
    refusal = judge(query, "person")
    assert refusal is not None
    assert "\n" not in refusal
    assert REFUSED[query] in refusal
    assert refusal.startswith("'shown' is a view, and that each of its rows comes from one value of 'person' is not")
    assert "list public_tables in noisycount.toml, or state there why it holds: vouched" in refusal
    assert judge(query, "person", vouched="one row a person") is None


@pytest.mark.parametrize("query", VOLATILE)
def test_a_view_that_changes_by_itself_is_refused_whatever_is_vouched(query: str) -> None:
    """The same records would be counted as others under one version."""
    for vouched in (None, "one row a person"):
        refusal = judge(query, "person", vouched=vouched)
        assert refusal is not None
        assert "gives other rows for the same records: make it a table" in refusal
        assert VOLATILE[query].lower() in refusal.lower()


@pytest.mark.parametrize("query", UNREADABLE)
def test_a_view_that_cannot_be_read_is_refused_whatever_is_vouched(query: str) -> None:
    """Nothing is known of what it shows."""
    assert judge(query, "person") is not None
    refusal = judge(query, "person", vouched="one row a person")
    assert refusal is not None
    assert "is a view that cannot be judged" in refusal


def test_a_table_is_public_only_if_its_owner_states_it() -> None:
    """Also a view; the tables that it reads are public in it alone."""
    query = "SELECT s.person, t.region FROM seen s JOIN towns t USING (town)"
    assert judge(query, "person") is None
    assert "it joins s with t" in str(judge(query, "person", public_tables=()))
    query = "SELECT s.person FROM seen s JOIN places p USING (town)"
    assert judge(query, "person", public_tables=("places",)) is None
    assert judge(query, None, public_tables=("places",)) is None
    query = "SELECT s.person FROM seen s JOIN years p USING (town)"
    assert judge(query, "person", public_tables=("places",)) is not None


def test_nothing_is_proved_before_the_unit_is_stated() -> None:
    """A check of a file that nobody has described shows what is in it."""
    query = "SELECT a.person FROM seen a JOIN seen b ON a.town = b.town"
    assert judge(query, None, is_stated=False) is None
    assert judge("SELECT random() AS person", None, is_stated=False) is not None


def test_a_deep_definition_is_refused() -> None:
    """Its tree is as deep as it has brackets."""
    query = f"SELECT person FROM seen WHERE x = {'(' * 3000}1{')' * 3000}"
    assert "cannot be read" in str(judge(query, "person"))
    many = " AND ".join(f"x <> {number}" for number in range(3000))
    assert judge(f"SELECT person FROM seen WHERE {many}", "person") is None


def test_a_rename_in_another_case_is_the_same_column() -> None:
    """Names are compared as DuckDB and SQLite compare them."""
    assert judge("SELECT A.PERSON FROM Seen a JOIN SEEN b ON a.Person = b.pErson", "person") is None
