"""No unit changes the rows of others in a view that is accepted: random views, and the data sets beside each other."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import duckdb
import psycopg
import pytest
from sqlglot import exp

from noisycount.engines.duckdb.definitions import FileRelations, duckdb_relations
from noisycount.engines.views import proof
from noisycount.engines.views.proof import Proof, Sources
from noisycount.engines.views.relations import UnprovenError, ViewDefinition
from noisycount.errors import SourceError
from tests.helpers import random_views
from tests.helpers.cases import seed
from tests.helpers.random_views import (
    NAMED,
    OTHER,
    DuckDatabase,
    Generator,
    LiteDatabase,
    ServerDatabase,
    names_of,
    violation,
)

ERRORS = (duckdb.Error, sqlite3.Error, psycopg.Error)
VIEWS = {"duckdb": 12, "sqlite": 150, "postgres": 60}
ACCEPTED = 0.3
"""The share of random views that must be accepted at least, for units and for records."""


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def any_database(request: pytest.FixtureRequest) -> Iterator[DuckDatabase]:
    """Small tables, and a view of them, in each kind of database."""
    if request.param == "postgres":
        database: DuckDatabase = ServerDatabase(request.getfixturevalue("postgresql"))
    else:
        database = {"duckdb": DuckDatabase, "sqlite": LiteDatabase}[request.param]()
    yield database
    database.close()


def search(database: DuckDatabase, seeds: range, trials: int = 3) -> tuple[str | None, int, int, int]:
    """Return the first violation in random views, and how many views, proofs for units and for records there were."""
    views = units = records = 0
    for number in seeds:
        random = Random(number)  # noqa: S311 - views, no noise
        generator = Generator(random, database.schemas)
        query = generator.query(random.choice((0, 1, 1, 2)))
        try:
            view, relations = database.define(query, generator.views)
        except ERRORS:
            continue  # such as a name that is ambiguous
        views += 1
        try:
            found = Proof(database.dialect, relations, NAMED).rows(view)
        except UnprovenError:
            continue
        database.require_named_tables()
        sources = found.units.get("person")
        proved = [] if sources is None or is_computed(sources) else [sources]
        units, records = units + bool(proved), records + found.is_recordwise
        names = names_of(database, relations)
        for sources in [*proved, *([None] if found.is_recordwise else [])]:
            for _ in range(trials):
                try:
                    wrong = violation(database, random, sources, names)
                except ERRORS:
                    continue  # such as a query that gives several rows for one value
                if wrong is not None:
                    return f"{generator.views}\n{query}\n{view.definition}\n{sources}\n{wrong}", views, units, records
    return None, views, units, records


def is_computed(sources: Sources) -> bool:
    """Return True if a unit is no column of a table, so that no records can be left out by it."""
    return any(column.startswith("=") for _, column in sources)


@pytest.mark.thorough
def test_no_unit_changes_the_rows_of_others(any_database: DuckDatabase) -> None:
    """In every random view that is accepted, whoever is left out; enough of them are accepted for that to say much."""
    wrong, views, units, records = search(any_database, range(VIEWS[any_database.dialect]))
    assert wrong is None, wrong
    assert min(units, records * 2) >= ACCEPTED * views > 0


@pytest.mark.thorough
def test_no_unit_changes_the_rows_of_others_in_other_views(any_database: DuckDatabase) -> None:
    """Views that are drawn anew in each run keep the rows of other units."""
    start = int(seed()) * 1000
    wrong, *_ = search(any_database, range(start, start + 4 * VIEWS[any_database.dialect]))
    assert wrong is None, wrong


def _mixed(found: Iterable[Sources]) -> Sources:
    return frozenset[tuple[str, str]]().union(*found)


def _any_equations(clause: exp.Expr) -> Iterator[exp.Expr]:
    return clause.find_all(exp.EQ)


def _without_keys(scope: Any, *_: object) -> None:  # noqa: ANN401 - a private class
    scope.is_recordwise = False


MUTANTS: dict[str, tuple[object, str, Callable[..., object]]] = {
    "joins of two columns that name the unit": (proof, "merge_sources", _mixed),
    "groups by any column": (proof._Scope, "_keep_units_among", _without_keys),  # noqa: SLF001 - what is switched off
    "public tables with several rows": (Proof, "_fold_names", lambda *_: (frozenset(),)),
    "equations beside an OR": (proof, "inner_conditions", _any_equations),
}


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_rule_that_is_switched_off_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random views show what each rule is for."""
    place, name, wrong = MUTANTS[mutant]
    monkeypatch.setattr(place, name, wrong)
    database = LiteDatabase()
    assert search(database, range(3000))[0] is not None
    database.close()


def _as_of_the_main_schema(connection: Any) -> FileRelations:  # noqa: ANN401 - as DuckDB types it
    """Return the relations of a file in which names without a schema are looked up in the wrong one."""
    entries = duckdb_relations(connection).entries
    wrong = {
        place: replace(each, schema="main") if isinstance(each, ViewDefinition) else each
        for place, each in entries.items()
    }
    return FileRelations(wrong)


def test_a_name_that_is_looked_up_in_the_wrong_schema_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the plans of DuckDB, and by the rows of other persons."""
    database = DuckDatabase()
    database.define("SELECT * FROM other_views.v0", {"v0": (OTHER, "SELECT person, town, x FROM seen")})
    for is_wrong in (False, True):
        if is_wrong:
            monkeypatch.setattr(random_views, "duckdb_relations", _as_of_the_main_schema)
        view, relations = database.described()
        sources = Proof("duckdb", relations, NAMED).rows(view).units["person"]
        names = names_of(database, relations)
        wrong = [violation(database, Random(number), sources, names) for number in range(3)]  # noqa: S311 - as above
        assert any(each is not None for each in wrong) == is_wrong
        if not is_wrong:
            database.require_named_tables()
    with pytest.raises(SourceError, match="the engine may take a table or function"):
        database.require_named_tables()
    database.close()
